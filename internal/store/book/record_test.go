package book

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store/contacts"
)

func TestARecordIsAContactInAnyState(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, other := newAccount(t, s).Number, newAccount(t, s).Number
		id := create(t, s, account, `{"first_name":"Ana","emails":[{"value":"A@x.org"}],"tags":["a"]}`).ID
		foreign := create(t, s, other, `{"first_name":"Foreign"}`).ID
		for _, archived := range []bool{false, true} {
			c, err := s.ContactRecord(t.Context(), account, id)
			if err != nil || c.ID != id || c.FirstName != "Ana" || c.Archived() != archived || !slices.Equal(c.MatchKeys, []string{"e:a@x.org"}) {
				t.Errorf("%v: %+v", err, c)
			}
			if !archived {
				archive(t, s, account, id)
			}
		}
		for _, id := range []int64{foreign, doc.MakeID(account, 2), doc.MakeID(account, 0), 0, -1} {
			_, err := s.ContactRecord(t.Context(), account, id)
			wantError(t, fmt.Sprint(id), err, crm.ErrNotFound)
		}
	})
}

func TestAMergeTellsWhatTheContactWasBefore(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		made := create(t, s, account, `{"first_name":"Amelia","last_name":"Okafor","emails":[{"value":"a@x.org"}]}`)
		merged := create(t, s, account, `{"last_name":"Okafor-Reyes","emails":[{"value":"a@x.org"},{"value":"b@x.org"}]}`)
		if made.Before != nil || string(merged.Before) != string(made.Body) {
			t.Errorf("before the create there was %s, before the merge %s", made.Before, merged.Before)
		}
		before := must(crm.ParseContact(merged.ID, merged.Before, nil))(t)
		after, err := s.ContactRecord(t.Context(), account, merged.ID)
		want := []doc.Change{{Field: "Last name", Before: "Okafor", After: "Okafor-Reyes"}, {Field: "Email added", After: "b@x.org"}}
		if diff := cmp.Diff(want, crm.Changes(before, after)); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	})
}

// wantPages checks that the pages of a scope are the list of the API in reverse order.
func wantPages(t *testing.T, s *Book, account int64, scope crm.ContactScope, perPage int64) {
	t.Helper()
	oldest, wantTotal := page(t, s, account, scope, 1, 100)
	slices.Reverse(oldest)
	var got []int64
	for page := int64(1); ; page++ {
		contacts, result, err := s.ContactPage(t.Context(), account, scope, crm.PageRequest{Page: page, PerPage: perPage})
		if err != nil || result.Total != wantTotal || result.Count != int64(len(contacts)) {
			t.Fatalf("%s, page %d: %d contacts, %+v, %v", scope, page, len(contacts), result, err)
		}
		if len(contacts) == 0 {
			break
		}
		for _, contact := range contacts {
			got = append(got, contact.ID)
		}
	}
	if !slices.Equal(got, oldest) {
		t.Errorf("%s, %d a page: got %v, want %v", scope, perPage, got, oldest)
	}
}

func TestPagesOfContactsBeginWithTheNewest(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		for n := range 23 {
			create(t, s, account, fmt.Sprintf(`{"first_name":"P%d"}`, n))
			if n%3 == 1 {
				archive(t, s, account, doc.MakeID(account, int64(n)))
			}
			if n%7 == 0 || n == 22 {
				for _, scope := range []crm.ContactScope{crm.Active, crm.Archived, crm.All} {
					for _, perPage := range []int64{1, 4, 23, 100} {
						wantPages(t, s, account, scope, perPage)
					}
				}
			}
		}
		counts, err := s.Counts(t.Context(), account)
		_, active := page(t, s, account, crm.Active, 1, 1)
		if want := (contacts.Counts{Active: active, Archived: 23 - active}); err != nil || counts != want || counts.Archived == 0 {
			t.Errorf("%v: the counts are %+v, want %+v", err, counts, want)
		}
		_, err = s.Counts(t.Context(), 999_999)
		wantError(t, "counts of no account", err, crm.ErrNotFound)
		_, _, err = s.ContactPage(t.Context(), 999_999, crm.All, crm.PageRequest{Page: 1, PerPage: 20})
		wantError(t, "a page of no account", err, crm.ErrNotFound)
	})
}

func TestGrowthCountsWhatWasMadeBeforeEachMoment(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, empty := newAccount(t, s).Number, newAccount(t, s).Number
		now := stopClock(s)
		start := now.time()
		var made []time.Time
		for range 37 {
			now.move(time.Duration(rand.IntN(3)) * time.Hour)
			made = append(made, now.time())
			create(t, s, account, `{"first_name":"A"}`)
		}
		archive(t, s, account, doc.MakeID(account, 5)) // it is no contact that the list shows
		var moments []time.Time
		var want []int64
		for hour := -2; hour < 120; hour++ {
			moment := start.Add(time.Duration(hour) * time.Hour)
			before := slices.IndexFunc(made, func(at time.Time) bool { return !at.Before(moment) })
			if before < 0 {
				before = len(made)
			}
			if before >= 5 {
				before--
			}
			moments, want = append(moments, moment), append(want, int64(before))
		}
		spy := spyOn(t, s)
		got, err := s.Growth(t.Context(), account, moments)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%v: got %v, want %v", err, got, want)
		}
		if rows := spy.rows.Load(); rows > 2+int64(len(made)) { // the tally, the archive, and a contact at most once, no matter how many moments are after it
			t.Errorf("%d rows were read", rows)
		}
		if got, err := s.Growth(t.Context(), empty, moments[:3]); err != nil || !slices.Equal(got, []int64{0, 0, 0}) {
			t.Errorf("%v: an empty account has grown like %v", err, got)
		}
		if got, err := s.Growth(t.Context(), account, nil); err != nil || len(got) != 0 {
			t.Errorf("%v: no moments are %v", err, got)
		}
	})
}
