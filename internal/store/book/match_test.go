package book

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/rig"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
)

func atOnce(n int, do func(i int)) { rig.AtOnce(n, do) }

// wantOne checks that the account has one contact, with n different tags, and that all but one create was merged.
func wantOne(t *testing.T, s *Book, account int64, documents []contacts.Document, n int) person {
	t.Helper()
	merged := 0
	for _, d := range documents {
		if d.ID != doc.MakeID(account, 1) {
			t.Errorf("a create was answered with contact %d", d.ID)
		}
		if d.Merged {
			merged++
		}
	}
	wantLists(t, s, account, []int64{1}, nil)
	p := get(t, s, account, doc.MakeID(account, 1))
	if tags := slices.Compact(slices.Sorted(slices.Values(p.Tags))); len(tags) != n || len(p.Tags) != n || merged != len(documents)-1 {
		t.Errorf("%d tags, %d merged", len(tags), merged)
	}
	return p
}

func TestConcurrentTheSameEmailAtOnceIsOneContact(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		documents := make([]contacts.Document, 64)
		atOnce(64, func(i int) {
			value := "ana@x.org"
			if i%2 == 1 {
				value = strings.ToUpper(value)
			}
			documents[i] = create(t, s, account, fmt.Sprintf(`{"first_name":"Ana","emails":[{"value":%q}],"tags":["t%d"]}`, value, i))
		})
		if p := wantOne(t, s, account, documents, 64); len(p.Emails) != 1 {
			t.Errorf("the contact has the emails %v", p.Emails)
		}
	})
}

func TestConcurrentTheSamePhoneInAnySpellingIsOneContact(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		spellings := []string{"2125550100", "212-555-0100", "(212) 555-0100", "+12125550100", "+1 212 555 0100", "1-212-555-0100", "212.555.0100", "tel:+1-212-555-0100"}
		documents := make([]contacts.Document, 64)
		atOnce(64, func(i int) {
			documents[i] = create(t, s, account, fmt.Sprintf(`{"first_name":"Ana","phones":[{"value":%q}],"tags":["t%d"]}`, spellings[i%len(spellings)], i))
		})
		if p := wantOne(t, s, account, documents, 64); len(p.Phones) != 1 || !slices.Contains(spellings, p.Phones[0].Value) {
			t.Errorf("the contact has the phones %v", p.Phones)
		}
	})
}

func TestConcurrentForceNeverMerges(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		body := `{"first_name":"Ana","emails":[{"value":"a@x.org"}],"phones":[{"value":"212-555-0100"}]}`
		create(t, s, account, body)
		atOnce(16, func(int) {
			if d := createAs(t, s, account, body, crm.Force); d.Merged {
				t.Error("a forced create was merged")
			}
		})
		if ids, total := page(t, s, account, crm.Active, 1, 100); total != 17 || len(ids) != 17 {
			t.Errorf("%d contacts, %d in all", len(ids), total)
		}
		if d := create(t, s, account, body); !d.Merged || doc.IDSeq(d.ID) != 1 {
			t.Errorf("of many that match, %d was taken", doc.IDSeq(d.ID))
		}
	})
}

func TestCreateFindsWhoItIsAbout(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, other := newAccount(t, s).Number, newAccount(t, s).Number
		email := `"emails":[{"value":"a@x.org"}]`
		phone := `"phones":[{"value":"212-555-0100"}]`
		first := create(t, s, account, `{"first_name":"Ana","last_name":"Diaz",`+phone+`}`).ID
		second := createAs(t, s, account, `{"first_name":"Bo","last_name":"Ek",`+email+`}`, crm.Force).ID
		third := createAs(t, s, account, `{"first_name":"Cy","last_name":"Fox",`+email+`}`, crm.Force).ID

		match := func(what, body string, account, want int64) {
			t.Helper()
			in := input(t, body)
			d, err := s.CreateContact(t.Context(), account, in, crm.Dedupe)
			if err != nil || (want != 0) != d.Merged || want != 0 && d.ID != want {
				t.Errorf("%s: got %d, merged is %v, %v; want %d", what, d.ID, d.Merged, err, want)
			}
		}
		match("an email before a phone and a name", `{"first_name":"Ana","last_name":"Diaz",`+email+`,`+phone+`}`, account, second)
		archive(t, s, account, second) // it has the phone by now as well
		match("never an archived one", `{"title":"Dr",`+email+`}`, account, third)
		restore(t, s, account, second)
		match("the same name among emails", `{"first_name":"CY","last_name":"fox",`+email+`}`, account, third)
		match("the lowest id among emails", `{"first_name":"Dee",`+email+`}`, account, second)
		match("never a name alone", `{"first_name":"Dee","last_name":"Diaz"}`, account, 0)
		match("never in another account", `{"first_name":"Ana",`+email+`,`+phone+`}`, other, 0)

		must(s.UpdateContact(t.Context(), account, first, input(t, `{"phones":[{"value":"+44 20 7946 0958"}]}`)))(t)
		match("by the new phone", `{"phones":[{"value":"+442079460958"}]}`, account, first)
		must(s.UpdateContact(t.Context(), account, first, input(t, `{"phones":[]}`)))(t)
		match("not by a phone it no longer has", `{"phones":[{"value":"+442079460958"}]}`, account, 0)
	})
}

func TestArchivedContactsNeverMatch(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		body := `{"first_name":"Ana","emails":[{"value":"a@x.org"}],"phones":[{"value":"212-555-0100"}]}`
		for want := int64(1); want <= 3; want++ {
			d := create(t, s, account, body)
			if d.Merged || doc.IDSeq(d.ID) != want {
				t.Errorf("contact %d, merged is %v, want a new one with the number %d", d.ID, d.Merged, want)
			}
			archive(t, s, account, d.ID)
		}
		wantLists(t, s, account, nil, []int64{1, 2, 3})
		restore(t, s, account, doc.MakeID(account, 2))
		if d := create(t, s, account, body); !d.Merged || doc.IDSeq(d.ID) != 2 {
			t.Errorf("the restored contact is not found: %d", d.ID)
		}
	})
}

// The look-up takes a few keys per statement; every key counts, whichever statement it is in.
func TestEveryEmailAndPhoneOfACreateCounts(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		known := create(t, s, account, `{"first_name":"Ana","emails":[{"value":"known@x.org"}],"phones":[{"value":"212-555-9999"}]}`).ID
		for _, n := range []int{1, 7, 8, 9, 16, 17, 100} {
			var emails, phones []string
			for i := range n {
				emails = append(emails, fmt.Sprintf(`{"value":"n%di%d@x.org"}`, n, i))
				phones = append(phones, fmt.Sprintf(`{"value":"+1212555%04d"}`, i))
			}
			emails[n-1], phones[n-1] = `{"value":"KNOWN@x.org"}`, `{"value":"+12125559999"}`
			for _, body := range []string{`{"emails":[` + strings.Join(emails, ",") + `]}`, `{"phones":[` + strings.Join(phones, ",") + `]}`} {
				id := int64(0)
				err := s.Update(t.Context(), account, store.Needs{}, func(tx *store.Tx) error {
					in := input(t, body)
					found, err := contacts.Match(tx, account, &in, in.MatchKeys())
					if found != nil {
						id = found.ID
					}
					return err
				})
				if err != nil || id != known {
					t.Errorf("the last of %d: found %d, %v", n, id, err)
				}
			}
		}
	})
}

// decide is a create or a change by a person who has seen a match, or "" for none.
func decide(t *testing.T, body, seen string) crm.ContactInput {
	t.Helper()
	in := input(t, body)
	in.SeenMatch = seen
	return in
}

// wantMatched checks that a person was asked about a contact, and returns what they see.
func wantMatched(t *testing.T, what string, err error, id int64) (snapshot string) {
	t.Helper()
	var matched *crm.Matched
	if !errors.As(err, &matched) || matched.Contact.ID != id {
		t.Fatalf("%s: the answer is %v, and no question about contact %d", what, err, id)
	}
	return matched.Contact.Snapshot()
}

func TestAPersonDecidesAboutTheMatchOfACreate(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		marta := create(t, s, account, `{"first_name":"Marta","last_name":"Lopez","emails":[{"value":"m@x.org"}]}`).ID
		const typed = `{"first_name":"Ana","last_name":"Diaz","emails":[{"value":"M@x.org"}],"tags":["new"]}`
		add := func(seen string, mode crm.CreateMode) (contacts.Document, error) {
			return s.CreateContact(t.Context(), account, decide(t, typed, seen), mode)
		}
		_, err := add("", crm.KeepSeen)
		seen := wantMatched(t, "nothing was decided", err, marta)
		_, err = add("", crm.MergeSeen)
		wantMatched(t, "nothing was seen", err, marta)
		must(s.AddTags(t.Context(), account, marta, []string{"vip"}))(t)
		for _, mode := range []crm.CreateMode{crm.MergeSeen, crm.KeepSeen} {
			_, err = add(seen, mode)
			wantMatched(t, "the match has changed", err, marta)
		}
		if p := get(t, s, account, marta); p.FirstName != "Marta" || len(p.Tags) != 1 {
			t.Errorf("a question changed %+v", p)
		}
		wantLists(t, s, account, []int64{1}, nil)

		_, err = add("", crm.KeepSeen)
		seen = wantMatched(t, "once more", err, marta)
		kept, err := add(seen, crm.KeepSeen)
		if err != nil || kept.Merged || kept.ID == marta {
			t.Fatalf("keeping both: %+v, %v", kept, err)
		}
		_, err = add(seen, crm.KeepSeen) // as a form that is sent twice does
		seen = wantMatched(t, "the new contact matches better", err, kept.ID)
		merged, err := add(seen, crm.MergeSeen)
		if err != nil || !merged.Merged || merged.ID != kept.ID {
			t.Fatalf("merging: %+v, %v", merged, err)
		}
		archive(t, s, account, marta)
		archive(t, s, account, kept.ID)
		_, err = add(seen, crm.MergeSeen)
		wantError(t, "nobody matches any more", err, crm.ErrChanged)
		if again, err := add(seen, crm.KeepSeen); err != nil || again.Merged {
			t.Errorf("a new contact where nobody matches: %+v, %v", again, err)
		}
	})
}

func TestAPersonIsToldWhoElseHasAnEmailOrPhone(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		marta := create(t, s, account, `{"first_name":"Marta","last_name":"Lopez","emails":[{"value":"m@x.org"}],"phones":[{"value":"212-555-0100"}]}`).ID
		bo := create(t, s, account, `{"first_name":"Bo","last_name":"Ek","emails":[{"value":"b@x.org"}]}`).ID
		edit := func(body, seen string) error {
			_, err := s.EditContact(t.Context(), account, bo, decide(t, body, seen))
			return err
		}
		for what, body := range map[string]string{"an email": `{"emails":[{"value":"b@x.org"},{"value":"M@X.org"}]}`, "a phone": `{"phones":[{"value":"+1 (212) 555-0100"}]}`} {
			wantMatched(t, what, edit(body, ""), marta)
			wantMatched(t, what, edit(body, "1-nonsense"), marta)
		}
		if p := get(t, s, account, bo); len(p.Emails) != 1 || len(p.Phones) != 0 {
			t.Errorf("a question changed %+v", p)
		}
		const both = `{"title":"Dr","emails":[{"value":"b@x.org"},{"value":"m@x.org"}]}`
		seen := wantMatched(t, "an email", edit(both, ""), marta)
		if err := edit(both, seen); err != nil {
			t.Errorf("saving anyway: %v", err)
		}
		if err := edit(both, ""); err != nil {
			t.Errorf("an email that the contact has already: %v", err)
		}
		archive(t, s, account, marta)
		if err := edit(`{"phones":[{"value":"212-555-0100"}]}`, ""); err != nil {
			t.Errorf("the phone of an archived contact: %v", err)
		}
		archive(t, s, account, bo)
		wantError(t, "an archived contact", edit(`{"title":"X"}`, ""), crm.ErrArchived)
		_, err := s.EditContact(t.Context(), account+1, bo, decide(t, `{"title":"X"}`, ""))
		wantError(t, "a foreign contact", err, crm.ErrNotFound)
	})
}

// If several people add the same person at once, one succeeds, and all others are asked.
func TestConcurrentPeopleWhoAddTheSamePersonAtOnceAreAsked(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		account := newAccount(t, a).Number
		made, asked := make([]error, 16), 0
		atOnce(16, func(i int) {
			in := input(t, `{"first_name":"Ana","emails":[{"value":"ana@x.org"}]}`)
			_, made[i] = []*Book{a, b}[i%2].CreateContact(t.Context(), account, in, crm.KeepSeen)
		})
		for _, err := range made {
			if err != nil {
				wantMatched(t, "the same person", err, doc.MakeID(account, 1))
				asked++
			}
		}
		wantLists(t, a, account, []int64{1}, nil)
		if asked != 15 {
			t.Errorf("%d were asked", asked)
		}
	})
}
