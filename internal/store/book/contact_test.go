package book

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/rig"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
)

// wantLists checks every scope: the sequence numbers of the contacts that are active and archived.
func wantLists(t testing.TB, s *Book, account int64, active, archived []int64) {
	t.Helper()
	rig.WantLists(t, func(scope crm.ContactScope) ([]int64, int64) { return page(t, s, account, scope, 1, 100) },
		active, archived)
}

func TestIDsThatAreNotOnesOwnAreForbidden(t *testing.T) {
	ctx := t.Context()
	s := newFolk(t)
	account := s.Number
	other := s.another()
	own := s.create(`{"first_name":"Own","tags":["a"]}`).ID
	archived := s.create(`{"first_name":"Archived","tags":["a"]}`).ID
	s.archive(archived)
	foreign := other.create(`{"first_name":"Foreign","tags":["a"]}`).ID
	foreignArchived := other.create(`{"first_name":"Foreign","tags":["a"]}`).ID
	other.archive(foreignArchived)
	before, _ := s.listBytes(crm.All, 1, 100)
	beforeOther, _ := other.listBytes(crm.All, 1, 100)

	in, tags := input(t, `{"first_name":"X","tags":[]}`), []string{"x"}
	use := func(account, id int64) map[string]error {
		_, get := s.Contact(ctx, account, id, nil)
		_, update := s.UpdateContact(ctx, account, id, in)
		_, add := s.AddTags(ctx, account, id, tags)
		_, sync := s.SyncTags(ctx, account, id, tags)
		_, remove := s.RemoveTags(ctx, account, id, []string{"a"})
		return map[string]error{"get": get, "check": s.CheckContact(ctx, account, id), "update": update,
			"add tags":  add,
			"sync tags": sync, "remove tags": remove, "archive": s.ArchiveContact(ctx, account, id)}
	}
	for _, id := range []int64{
		foreign, foreignArchived, archived, doc.MakeID(account, 3), doc.MakeID(account, 0),
		doc.MakeID(account, doc.MaxSeq),
		0, -1, -own, math.MaxInt64, math.MinInt64, doc.MakeID(account+1, 0), doc.MakeID(account+2, 1),
		doc.MakeID(1_000_000, 1), 999_999_000_000_001,
	} {
		for what, err := range use(account, id) {
			want := crm.ErrNotFound
			if id == archived {
				want = crm.ErrArchived
			}
			wantError(t, fmt.Sprintf("%s %d", what, id), err, want)
		}
		if id != archived {
			wantError(t, fmt.Sprintf("restore %d", id), errOf(s.RestoreContact(ctx, account, id)),
				crm.ErrNotFound)
		}
	}
	for what, err := range use(999_999, doc.MakeID(999_999, 1)) { // a key of an account that no longer exists
		wantError(t, what+" in no account", err, crm.ErrNotFound)
	}
	wantError(t, "create in no account", errOf(s.CreateContact(ctx, 999_999, in, crm.Dedupe)),
		crm.ErrNotFound)
	wantError(t, "create in no account", errOf(s.CreateContact(ctx, 999_999, in, crm.Force)), crm.ErrNotFound)

	if after, _ := s.listBytes(crm.All, 1, 100); after != before {
		t.Errorf("the account has changed from\n%s\nto\n%s", before, after)
	}
	if after, _ := other.listBytes(crm.All, 1, 100); after != beforeOther {
		t.Errorf("the other account has changed from\n%s\nto\n%s", beforeOther, after)
	}
}

// An answer reveals nothing about a foreign id, not even by the time it takes.
func TestAForeignIDIsKnownBeforeAnyLookUp(t *testing.T) {
	ctx := t.Context()
	s := newFolk(t)
	account := s.Number
	other := s.another()
	foreign := other.create(`{"first_name":"Foreign"}`).ID
	spy := spyOn(t, s.Book)
	for _, id := range []int64{foreign, 0, -1, doc.MakeID(account, 0), doc.MakeID(other.Number, 0), doc.MakeID(1_000_000, 1),
		999_999_000_000_001, math.MaxInt64} {
		wantError(t, fmt.Sprint("get ", id), errOf(s.Contact(ctx, account, id, nil)), crm.ErrNotFound)
		wantError(t, fmt.Sprint("add tags ", id), errOf(s.AddTags(ctx, account, id, []string{"x"})),
			crm.ErrNotFound)
		wantError(t, fmt.Sprint("restore ", id), errOf(s.RestoreContact(ctx, account, id)), crm.ErrNotFound)
	}
	equal(t, spy.conns.Load(), 0, "the database was asked times")
}

func TestAChangeThatChangesNothingWritesNothing(t *testing.T) {
	ctx := t.Context()
	o := newDatabase(t)
	s := folkOf(t, open(t, o))
	account := s.Number
	now := stopClock(s.Book)

	body := `{"first_name":"A","emails":[{"value":"a@x.org"}],"tags":["a"],"dob":"1/2/1980","addresses":[{"city":"Rome"}]}`
	made := s.create(body)
	spy := spyOn(t, s.Book)
	now.move(time.Hour)
	for what, change := range map[string]func() (contacts.Document, error){
		"an empty update": func() (contacts.Document, error) {
			return s.UpdateContact(ctx, account, made.ID, input(t, `{}`))
		},
		"its own values": func() (contacts.Document, error) {
			return s.UpdateContact(ctx, account, made.ID, input(t, body))
		},
		"the same again": func() (contacts.Document, error) {
			return s.CreateContact(ctx, account, input(t, body), crm.Dedupe)
		},
		"a tag it has": func() (contacts.Document, error) {
			return s.AddTags(ctx, account, made.ID,
				[]string{"a"})
		},
		"a tag it lacks": func() (contacts.Document, error) {
			return s.RemoveTags(ctx, account, made.ID,
				[]string{"b"})
		},
		"a restore": func() (contacts.Document, error) { return s.RestoreContact(ctx, account, made.ID) },
	} {
		d := must(change())(t)
		if d.ID != made.ID || string(d.Body) != string(made.Body) {
			t.Errorf("%s: %s became %s", what, made.Body, d.Body)
		}
		// If a commit waits for other servers, nothing is acknowledged without a commit: what was found must be there
		// too.
		if n, want := spy.commits.Swap(0), contacts.Flag(o.Database != ""); n != want {
			t.Fatalf("%s: %d commits, want %d", what, n, want)
		}
	}
}

func TestARefusedChangeChangesNothing(t *testing.T) {
	ctx := t.Context()
	s := newFolk(t)
	account := s.Number
	var tags []string
	for i := range 500 {
		tags = append(tags, fmt.Sprintf(`"t%d"`, i))
	}
	made := s.create(`{"first_name":"A","emails":[{"value":"a@x.org"}],"tags":[` + strings.Join(tags,
		",") + `]}`)
	spy := spyOn(t, s.Book)
	_, merge := s.CreateContact(ctx, account, input(t,
		`{"first_name":"B","emails":[{"value":"a@x.org"}],"tags":["one more"]}`), crm.Dedupe)
	_, add := s.AddTags(ctx, account, made.ID, []string{"one more"})
	for what, err := range map[string]error{"a merge": merge, "a tag": add} {
		var invalid *doc.Invalid
		if !errors.As(err, &invalid) || invalid.Faults[0].Field != "tags" {
			t.Errorf("%s: got the error %v, want a fault of tags", what, err)
		}
	}
	document := s.document(made.ID)
	if string(document) != string(made.Append(nil)) || spy.commits.Load() != 0 {
		t.Errorf("%s", document)
	}
}

func TestARecordIsAContactInAnyState(t *testing.T) {
	s := newFolk(t)
	account := s.Number
	other := s.another()
	id := s.create(`{"first_name":"Ana","emails":[{"value":"A@x.org"}],"tags":["a"]}`).ID
	foreign := other.create(`{"first_name":"Foreign"}`).ID
	for _, archived := range []bool{false, true} {
		c := s.record(id)
		if c.ID != id || c.FirstName != "Ana" || c.Archived() != archived ||
			!slices.Equal(c.MatchKeys, []string{"e:a@x.org"}) {
			t.Errorf("%+v", c)
		}
		if !archived {
			s.archive(id)
		}
	}
	for _, id := range []int64{foreign, doc.MakeID(account, 2), doc.MakeID(account, 0), 0, -1} {
		wantError(t, fmt.Sprint(id), errOf(s.ContactRecord(t.Context(), account, id)), crm.ErrNotFound)
	}
}

// wantPages checks that the pages of a scope are the list of the API in reverse order.
func (s *folk) wantPages(scope crm.ContactScope, perPage int64) {
	s.Helper()
	oldest, wantTotal := s.page(scope, 1, 100)
	slices.Reverse(oldest)
	var got []int64
	for page := int64(1); ; page++ {
		contacts, result := must2(s.ContactPage(s.Context(), s.Number, scope,
			crm.PageRequest{Page: page, PerPage: perPage}))(s)
		if result.Total != wantTotal || result.Count != int64(len(contacts)) {
			s.Fatalf("%s, page %d: %d contacts, %+v", scope, page, len(contacts), result)
		}
		if len(contacts) == 0 {
			break
		}
		for _, contact := range contacts {
			got = append(got, contact.ID)
		}
	}
	equal(s, got, oldest, "%s, %d a page", scope, perPage)
}

func TestPagesOfContactsBeginWithTheNewest(t *testing.T) {
	ctx := t.Context()
	s := newFolk(t)
	account := s.Number
	for n := range 23 {
		s.create(fmt.Sprintf(`{"first_name":"P%d"}`, n))
		if n%3 == 1 {
			s.archive(doc.MakeID(account, int64(n)))
		}
		if n%7 == 0 || n == 22 {
			for _, scope := range []crm.ContactScope{crm.Active, crm.Archived, crm.All} {
				for _, perPage := range []int64{1, 4, 23, 100} {
					s.wantPages(scope, perPage)
				}
			}
		}
	}
	counts, err := s.Counts(ctx, account)
	_, active := s.page(crm.Active, 1, 1)
	if want := (contacts.Counts{Active: active, Archived: 23 - active}); err != nil || counts != want ||
		counts.Archived == 0 {
		t.Errorf("%v: the counts are %+v, want %+v", err, counts, want)
	}
	wantError(t, "counts of no account", errOf(s.Counts(ctx, 999_999)), crm.ErrNotFound)
	wantError(t, "a page of no account", errOf2(s.ContactPage(ctx, 999_999, crm.All, crm.PageRequest{Page: 1,
		PerPage: 20})), crm.ErrNotFound)
}

func TestGrowthCountsWhatWasMadeBeforeEachMoment(t *testing.T) {
	ctx := t.Context()
	s := newFolk(t)
	account := s.Number
	empty := s.another()
	now := stopClock(s.Book)
	start, random := now.time(), rand.New(rand.NewPCG(1, 2))
	var made []time.Time
	for range 37 {
		now.move(time.Duration(random.IntN(3)) * time.Hour)
		made = append(made, now.time())
		s.create(`{"first_name":"A"}`)
	}
	s.archive(doc.MakeID(account, 5)) // it is no contact that the list shows
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
	spy := spyOn(t, s.Book)
	equal(t, must(s.Growth(ctx, account, moments))(t), want)
	// the tally, the archive, and a contact at most once, no matter how many moments are after it
	if rows := spy.rows.Load(); rows > 2+int64(len(made)) {
		t.Errorf("%d rows were read", rows)
	}
	equal(t, must(s.Growth(ctx, empty.Number, moments[:3]))(t), []int64{0, 0, 0}, "an empty account has grown like")
	equal(t, len(must(s.Growth(ctx, account, nil))(t)), 0, "no moments")
}

func atOnce(n int, do func(i int)) { rig.AtOnce(n, do) }

// wantOne checks that the account has one contact, with n different tags, and that all but one create was merged.
func (s *folk) wantOne(documents []contacts.Document, n int) person {
	s.Helper()
	merged := 0
	for _, d := range documents {
		equal(s, d.ID, doc.MakeID(s.Number, 1), "a create was answered with contact")
		if d.Merged {
			merged++
		}
	}
	s.wantLists([]int64{1}, nil)
	p := s.get(doc.MakeID(s.Number, 1))
	equal(s, len(slices.Compact(slices.Sorted(slices.Values(p.Tags)))), n)
	equal(s, len(p.Tags), n)
	equal(s, merged, len(documents)-1)
	return p
}

func TestConcurrentTheSameEmailAtOnceIsOneContact(t *testing.T) {
	s := newFolk(t)
	documents := make([]contacts.Document, 64)
	atOnce(64, func(i int) {
		value := "ana@x.org"
		if i%2 == 1 {
			value = strings.ToUpper(value)
		}
		documents[i] = s.create(fmt.Sprintf(`{"first_name":"Ana","emails":[{"value":%q}],"tags":["t%d"]}`,
			value, i))
	})
	equal(t, len(s.wantOne(documents, 64).Emails), 1, "the contact has the emails")
}

func TestConcurrentTheSamePhoneInAnySpellingIsOneContact(t *testing.T) {
	s := newFolk(t)
	spellings := []string{"2125550100", "212-555-0100", "(212) 555-0100", "+12125550100", "+1 212 555 0100",
		"1-212-555-0100", "212.555.0100", "tel:+1-212-555-0100"}
	documents := make([]contacts.Document, 64)
	atOnce(64, func(i int) {
		documents[i] = s.create(fmt.Sprintf(`{"first_name":"Ana","phones":[{"value":%q}],"tags":["t%d"]}`,
			spellings[i%len(spellings)], i))
	})
	if p := s.wantOne(documents, 64); len(p.Phones) != 1 ||
		!slices.Contains(spellings, p.Phones[0].Value) {
		t.Errorf("the contact has the phones %v", p.Phones)
	}
}

func TestConcurrentForceNeverMerges(t *testing.T) {
	s := newFolk(t)
	body := `{"first_name":"Ana","emails":[{"value":"a@x.org"}],"phones":[{"value":"212-555-0100"}]}`
	s.create(body)
	atOnce(16, func(int) {
		if d := s.createAs(body, crm.Force); d.Merged {
			t.Error("a forced create was merged")
		}
	})
	if ids, total := s.page(crm.Active, 1, 100); total != 17 || len(ids) != 17 {
		t.Errorf("%d contacts, %d in all", len(ids), total)
	}
	d := s.create(body)
	equal(t, d.Merged, true, "of many that match")
	equal(t, doc.IDSeq(d.ID), 1, "of many that match")
}

// The look-up takes a few keys per statement; every key counts, whichever statement it is in.
func TestCreateFindsWhoItIsAbout(t *testing.T) {
	s := newFolk(t)
	account := s.Number
	other := s.another()
	email := `"emails":[{"value":"a@x.org"}]`
	phone := `"phones":[{"value":"212-555-0100"}]`
	first := s.create(`{"first_name":"Ana","last_name":"Diaz",` + phone + `}`).ID
	second := s.person(`{"first_name":"Bo","last_name":"Ek",` + email + `}`)
	third := s.person(`{"first_name":"Cy","last_name":"Fox",` + email + `}`)

	match := func(what, body string, account, want int64) {
		t.Helper()
		in := input(t, body)
		d, err := s.CreateContact(t.Context(), account, in, crm.Dedupe)
		if err != nil || (want != 0) != d.Merged || want != 0 && d.ID != want {
			t.Errorf("%s: got %d, merged is %v, %v; want %d", what, d.ID, d.Merged, err, want)
		}
	}
	match("an email before a phone and a name", `{"first_name":"Ana","last_name":"Diaz",`+email+`,`+phone+`}`,
		account, second)
	s.archive(second) // it has the phone by now as well
	match("never an archived one", `{"title":"Dr",`+email+`}`, account, third)
	s.restore(second)
	match("the same name among emails", `{"first_name":"CY","last_name":"fox",`+email+`}`, account, third)
	match("the lowest id among emails", `{"first_name":"Dee",`+email+`}`, account, second)
	match("never a name alone", `{"first_name":"Dee","last_name":"Diaz"}`, account, 0)
	match("never in another account", `{"first_name":"Ana",`+email+`,`+phone+`}`, other.Number, 0)

	s.update(first, `{"phones":[{"value":"+44 20 7946 0958"}]}`)
	match("by the new phone", `{"phones":[{"value":"+442079460958"}]}`, account, first)
	s.update(first, `{"phones":[]}`)
	match("not by a phone it no longer has", `{"phones":[{"value":"+442079460958"}]}`, account, 0)
}

func TestEveryEmailAndPhoneOfACreateCounts(t *testing.T) {
	s := newFolk(t)
	account := s.Number
	known := s.create(`{"first_name":"Ana","emails":[{"value":"known@x.org"}],"phones":[{"value":"212-555-9999"}]}`).ID
	for _, n := range []int{1, 7, 8, 9, 16, 17, 100} {
		var emails, phones []string
		for i := range n {
			emails = append(emails, fmt.Sprintf(`{"value":"n%di%d@x.org"}`, n, i))
			phones = append(phones, fmt.Sprintf(`{"value":"+1212555%04d"}`, i))
		}
		emails[n-1], phones[n-1] = `{"value":"KNOWN@x.org"}`, `{"value":"+12125559999"}`
		for _, body := range []string{`{"emails":[` + strings.Join(emails, ",") + `]}`,
			`{"phones":[` + strings.Join(phones, ",") + `]}`} {
			id := int64(0)
			err := s.Update(t.Context(), account, store.Needs{}, func(tx *store.Tx) error {
				in := input(t, body)
				found, err := contacts.Match(tx, account, &in, in.MatchKeys())
				if found != nil {
					id = found.ID
				}
				return err
			})
			succeed(t, err)
			equal(t, id, known, "the last of %d: found", n)
		}
	}
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
	s := newFolk(t)
	account := s.Number
	marta := s.create(`{"first_name":"Marta","last_name":"Lopez","emails":[{"value":"m@x.org"}]}`).ID
	const typed = `{"first_name":"Ana","last_name":"Diaz","emails":[{"value":"M@x.org"}],"tags":["new"]}`
	add := func(seen string, mode crm.CreateMode) (contacts.Document, error) {
		return s.CreateContact(t.Context(), account, decide(t, typed, seen), mode)
	}
	_, err := add("", crm.KeepSeen)
	seen := wantMatched(t, "nothing was decided", err, marta)
	_, err = add("", crm.MergeSeen)
	wantMatched(t, "nothing was seen", err, marta)
	s.addTags(marta, "vip")
	for _, mode := range []crm.CreateMode{crm.MergeSeen, crm.KeepSeen} {
		_, err = add(seen, mode)
		wantMatched(t, "the match has changed", err, marta)
	}
	if p := s.get(marta); p.FirstName != "Marta" || len(p.Tags) != 1 {
		t.Errorf("a question changed %+v", p)
	}
	s.wantLists([]int64{1}, nil)

	_, err = add("", crm.KeepSeen)
	seen = wantMatched(t, "once more", err, marta)
	kept := must(add(seen, crm.KeepSeen))(t)
	if kept.Merged || kept.ID == marta {
		t.Fatalf("keeping both: %+v", kept)
	}
	_, err = add(seen, crm.KeepSeen) // as a form that is sent twice does
	seen = wantMatched(t, "the new contact matches better", err, kept.ID)
	merged := must(add(seen, crm.MergeSeen))(t)
	if !merged.Merged || merged.ID != kept.ID {
		t.Fatalf("merging: %+v", merged)
	}
	s.archive(marta)
	s.archive(kept.ID)
	wantError(t, "nobody matches any more", errOf(add(seen, crm.MergeSeen)), crm.ErrChanged)
	if again := must(add(seen, crm.KeepSeen))(t); again.Merged {
		t.Errorf("a new contact where nobody matches: %+v", again)
	}
}

func TestAPersonIsToldWhoElseHasAnEmailOrPhone(t *testing.T) {
	s := newFolk(t)
	account := s.Number
	marta := s.create(`{"first_name":"Marta","last_name":"Lopez","emails":[{"value":"m@x.org"}],"phones":[{"value":"212-555-0100"}]}`).ID
	bo := s.create(`{"first_name":"Bo","last_name":"Ek","emails":[{"value":"b@x.org"}]}`).ID
	edit := func(body, seen string) error {
		return errOf(s.EditContact(t.Context(), account, bo, decide(t, body, seen)))
	}
	for what, body := range map[string]string{"an email": `{"emails":[{"value":"b@x.org"},{"value":"M@X.org"}]}`,
		"a phone": `{"phones":[{"value":"+1 (212) 555-0100"}]}`} {
		wantMatched(t, what, edit(body, ""), marta)
		wantMatched(t, what, edit(body, "1-nonsense"), marta)
	}
	if p := s.get(bo); len(p.Emails) != 1 || len(p.Phones) != 0 {
		t.Errorf("a question changed %+v", p)
	}
	const both = `{"title":"Dr","emails":[{"value":"b@x.org"},{"value":"m@x.org"}]}`
	seen := wantMatched(t, "an email", edit(both, ""), marta)
	succeed(t, edit(both, seen))
	succeed(t, edit(both, ""))
	s.archive(marta)
	succeed(t, edit(`{"phones":[{"value":"212-555-0100"}]}`, ""))
	s.archive(bo)
	wantError(t, "an archived contact", edit(`{"title":"X"}`, ""), crm.ErrArchived)
	wantError(t, "a foreign contact", errOf(s.EditContact(t.Context(), account+1, bo, decide(t, `{"title":"X"}`,
		""))), crm.ErrNotFound)
}

// If several people add the same person at once, one succeeds, and all others are asked.
func TestConcurrentPeopleWhoAddTheSamePersonAtOnceAreAsked(t *testing.T) {
	a, b := twoFolk(t)
	account := a.Number

	made, asked := make([]error, 16), 0
	atOnce(16, func(i int) {
		in := input(t, `{"first_name":"Ana","emails":[{"value":"ana@x.org"}]}`)
		_, made[i] = []*Book{a.Book, b.Book}[i%2].CreateContact(t.Context(), account, in, crm.KeepSeen)
	})
	for _, err := range made {
		if err != nil {
			wantMatched(t, "the same person", err, doc.MakeID(account, 1))
			asked++
		}
	}
	a.wantLists([]int64{1}, nil)
	equal(t, asked, 15, "were asked")
}
