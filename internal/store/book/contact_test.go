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
	other := s.another()
	own, archived := s.person(`{"first_name":"Own","tags":["a"]}`), s.person(`{"first_name":"Archived","tags":["a"]}`)
	s.archive(archived)
	foreign, gone := other.person(`{"first_name":"Foreign","tags":["a"]}`),
		other.person(`{"first_name":"F","tags":["a"]}`)
	other.archive(gone)
	state := func() string {
		mine, _ := s.listBytes(crm.All, 1, 100)
		theirs, _ := other.listBytes(crm.All, 1, 100)
		return mine + theirs
	}
	before := state()
	in, tags := input(t, `{"first_name":"X","tags":[]}`), []string{"x"}
	use := func(account, id int64, want error) {
		t.Helper()
		no := refuses(t, fmt.Sprint(id, " of ", account), want)
		no(s.Contact(ctx, account, id, nil))
		no(s.UpdateContact(ctx, account, id, in))
		no(s.AddTags(ctx, account, id, tags))
		no(s.SyncTags(ctx, account, id, tags))
		no(s.RemoveTags(ctx, account, id, []string{"a"}))
		no(s.CheckContact(ctx, account, id))
		no(s.ArchiveContact(ctx, account, id))
	}
	for _, id := range []int64{
		foreign, gone, doc.MakeID(s.Number, 3), doc.MakeID(s.Number, 0), doc.MakeID(s.Number, doc.MaxSeq),
		0, -1, -own, math.MaxInt64, math.MinInt64, doc.MakeID(s.Number+1, 0), doc.MakeID(s.Number+2, 1),
		doc.MakeID(1_000_000, 1), 999_999_000_000_001,
	} {
		use(s.Number, id, crm.ErrNotFound)
		refuses(t, "restore", crm.ErrNotFound)(s.RestoreContact(ctx, s.Number, id))
	}
	use(s.Number, archived, crm.ErrArchived)
	use(999_999, doc.MakeID(999_999, 1), crm.ErrNotFound) // a key of an account that no longer exists
	refuses(t, "create in no account", crm.ErrNotFound)(s.CreateContact(ctx, 999_999, in, crm.Dedupe))
	refuses(t, "create in no account", crm.ErrNotFound)(s.CreateContact(ctx, 999_999, in, crm.Force))
	equal(t, state(), before, "what is in both accounts")
}

// An answer reveals nothing about a foreign id, not even by the time it takes.
func TestAForeignIDIsKnownBeforeAnyLookUp(t *testing.T) {
	ctx := t.Context()
	s := newFolk(t)
	other := s.another()
	foreign := other.person(`{"first_name":"Foreign"}`)
	spy := spyOn(t, s.Book)
	no := refuses(t, "an id that is not its own", crm.ErrNotFound)
	for _, id := range []int64{foreign, 0, -1, doc.MakeID(s.Number, 0), doc.MakeID(other.Number, 0),
		doc.MakeID(1_000_000, 1), 999_999_000_000_001, math.MaxInt64} {
		no(s.Contact(ctx, s.Number, id, nil))
		no(s.AddTags(ctx, s.Number, id, []string{"x"}))
		no(s.RestoreContact(ctx, s.Number, id))
	}
	equal(t, spy.conns.Load(), 0, "the database was asked times")
}

func TestAChangeThatChangesNothingWritesNothing(t *testing.T) {
	o := newDatabase(t)
	s := folkOf(t, open(t, o))
	now := stopClock(s.Book)
	body := `{"first_name":"A","emails":[{"value":"a@x.org"}],"tags":["a"],"dob":"1/2/1980","addresses":[{"city":"Rome"}]}`
	made := s.create(body)
	spy := spyOn(t, s.Book)
	now.move(time.Hour)
	for what, change := range map[string]func() store.ContactDocument{
		"an empty update": func() store.ContactDocument { return s.update(made.ID, `{}`) },
		"its own values":  func() store.ContactDocument { return s.update(made.ID, body) },
		"the same again":  func() store.ContactDocument { return s.create(body) },
		"a tag it has":    func() store.ContactDocument { return s.addTags(made.ID, "a") },
		"a tag it lacks": func() store.ContactDocument {
			return must(s.RemoveTags(t.Context(), s.Number, made.ID, []string{"b"}))(t)
		},
		"a restore": func() store.ContactDocument {
			return must(s.RestoreContact(t.Context(), s.Number, made.ID))(t)
		},
	} {
		d := change()
		equal(t, d.ID, made.ID, "%s", what)
		equal(t, string(d.Body), string(made.Body), "%s", what)
		// If a commit waits for other servers, nothing is acknowledged without a commit: what was found must be there
		// too.
		equal(t, spy.commits.Swap(0), store.Flag(o.Database != ""), "%s: commits", what)
	}
}

// fullOfTags is a contact with as many tags as one may have.
func fullOfTags(name string) string {
	var tags []string
	for i := range 500 {
		tags = append(tags, fmt.Sprintf(`"t%03d"`, i))
	}
	return fmt.Sprintf(`{"first_name":%q,"emails":["%[1]s@x.org"],"tags":[%s]}`, name, strings.Join(tags, ","))
}

func TestARefusedChangeChangesNothing(t *testing.T) {
	ctx := t.Context()
	s := newFolk(t)
	made := s.create(fullOfTags("full"))
	spy := spyOn(t, s.Book)
	for _, err := range []error{
		errOf(s.CreateContact(ctx, s.Number, input(t,
			`{"first_name":"B","emails":[{"value":"full@x.org"}],"tags":["one more"]}`), crm.Dedupe)),
		errOf(s.AddTags(ctx, s.Number, made.ID, []string{"one more"})),
	} {
		var invalid *doc.Invalid
		equal(t, errors.As(err, &invalid) && invalid.Faults[0].Field == "tags", true, "the error is %v", err)
	}
	equal(t, string(s.document(made.ID)), string(made.Append(nil)))
	equal(t, spy.commits.Load(), 0, "commits")
}

func TestARecordIsAContactInAnyState(t *testing.T) {
	s := newFolk(t)
	id := s.person(`{"first_name":"Ana","emails":[{"value":"A@x.org"}],"tags":["a"]}`)
	foreign := s.another().person(`{"first_name":"Foreign"}`)
	for _, archived := range []bool{false, true} {
		c := s.record(id)
		expect(t, "the record", fmt.Sprint(id, " Ana ", archived, " [e:a@x.org]"), c.ID, c.FirstName, c.Archived(),
			c.MatchKeys)
		if !archived {
			s.archive(id)
		}
	}
	for _, id := range []int64{foreign, doc.MakeID(s.Number, 2), doc.MakeID(s.Number, 0), 0, -1} {
		refuses(t, fmt.Sprint(id), crm.ErrNotFound)(s.ContactRecord(t.Context(), s.Number, id))
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
	if want := (store.Counts{Active: active, Archived: 23 - active}); err != nil || counts != want ||
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
func (s *folk) wantOne(documents []store.ContactDocument, n int) person {
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
	documents := make([]store.ContactDocument, 64)
	atOnce(64, func(i int) {
		value := []string{"ana@x.org", "ANA@X.ORG"}[i%2]
		documents[i] = s.create(fmt.Sprintf(`{"first_name":"Ana","emails":[{"value":%q}],"tags":["t%d"]}`, value, i))
	})
	equal(t, len(s.wantOne(documents, 64).Emails), 1, "the contact has the emails")
}

func TestConcurrentTheSamePhoneInAnySpellingIsOneContact(t *testing.T) {
	s := newFolk(t)
	spellings := strings.Split(
		`2125550100,212-555-0100,(212) 555-0100,+12125550100,+1 212 555 0100,1-212-555-0100,212.555.0100,tel:+1-212-555-0100`, ",")
	documents := make([]store.ContactDocument, 64)
	atOnce(64, func(i int) {
		documents[i] = s.create(fmt.Sprintf(`{"first_name":"Ana","phones":[{"value":%q}],"tags":["t%d"]}`,
			spellings[i%len(spellings)], i))
	})
	phones := s.wantOne(documents, 64).Phones
	equal(t, len(phones), 1, "the phones")
	equal(t, slices.Contains(spellings, phones[0].Value), true, "the phones %v", phones)
}

func TestConcurrentForceNeverMerges(t *testing.T) {
	s := newFolk(t)
	body := `{"first_name":"Ana","emails":[{"value":"a@x.org"}],"phones":[{"value":"212-555-0100"}]}`
	s.create(body)
	atOnce(16, func(int) { equal(t, s.createAs(body, crm.Force).Merged, false, "a forced create was merged") })
	ids, total := s.page(crm.Active, 1, 100)
	expect(t, "contacts, and in all", "17 17", len(ids), total)
	d := s.create(body)
	expect(t, "of many that match", fmt.Sprint("true ", ids[0]), d.Merged, d.ID)
}

// The look-up takes a few keys per statement; every key counts, whichever statement it is in.
func TestCreateFindsWhoItIsAbout(t *testing.T) {
	s := newFolk(t)
	email := `"emails":[{"value":"a@x.org"}]`
	phone := `"phones":[{"value":"212-555-0100"}]`
	first := s.create(`{"first_name":"Ana","last_name":"Diaz",` + phone + `}`).ID
	second := s.person(`{"first_name":"Bo","last_name":"Ek",` + email + `}`)
	third := s.person(`{"first_name":"Cy","last_name":"Fox",` + email + `}`)
	match := func(s *folk, body string, want int64) { // 0 is none
		t.Helper()
		d := s.create(body)
		equal(t, d.Merged, want != 0, body)
		equal(t, want == 0 || d.ID == want, true, "%s is of contact %d", body, d.ID)
	}
	// an email before a phone and a name
	match(s, `{"first_name":"Ana","last_name":"Diaz",`+email+`,`+phone+`}`, second)
	s.archive(second)                           // it has the phone by now as well
	match(s, `{"title":"Dr",`+email+`}`, third) // never an archived one
	s.restore(second)
	match(s, `{"first_name":"CY","last_name":"fox",`+email+`}`, third) // the same name among emails
	match(s, `{"first_name":"Dee",`+email+`}`, second)                 // the lowest id among emails
	match(s, `{"first_name":"Dee","last_name":"Diaz"}`, 0)             // never a name alone
	match(s.another(), `{"first_name":"Ana",`+email+`,`+phone+`}`, 0)  // never in another account
	s.update(first, `{"phones":[{"value":"+44 20 7946 0958"}]}`)
	match(s, `{"phones":[{"value":"+442079460958"}]}`, first) // by the new phone
	s.update(first, `{"phones":[]}`)
	match(s, `{"phones":[{"value":"+442079460958"}]}`, 0) // not by a phone it no longer has
}

func TestEveryEmailAndPhoneOfACreateCounts(t *testing.T) {
	s := newFolk(t)
	known := s.person(`{"first_name":"Ana","emails":[{"value":"known@x.org"}],"phones":[{"value":"212-555-9999"}]}`)
	for _, n := range []int{1, 7, 8, 9, 16, 17, 100} {
		for kind, value := range map[string][2]string{"emails": {"n%di%d@x.org", "KNOWN@x.org"},
			"phones": {"+12125%d5%04d", "+12125559999"}} {
			var all []string
			for i := range n - 1 {
				all = append(all, fmt.Sprintf(`{"value":"`+value[0]+`"}`, n%10, i))
			}
			in := input(t, `{"`+kind+`":[`+strings.Join(append(all, `{"value":"`+value[1]+`"}`), ",")+`]}`)
			succeed(t, s.Update(t.Context(), s.Number, store.Needs{}, func(tx *store.Tx) error {
				found, err := store.Match(tx, s.Number, &in, in.MatchKeys())
				equal(t, found != nil && found.ID == known, true, "%d %s: found %v", n, kind, found)
				return err
			}))
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
	marta := s.person(`{"first_name":"Marta","last_name":"Lopez","emails":[{"value":"m@x.org"}]}`)
	add := func(seen string, mode crm.CreateMode) (store.ContactDocument, error) {
		return s.CreateContact(t.Context(), s.Number, decide(t,
			`{"first_name":"Ana","last_name":"Diaz","emails":[{"value":"M@x.org"}],"tags":["new"]}`, seen), mode)
	}
	asked := func(what, seen string, mode crm.CreateMode, id int64) string {
		t.Helper()
		return wantMatched(t, what, errOf(add(seen, mode)), id)
	}
	seen := asked("nothing was decided", "", crm.KeepSeen, marta)
	asked("nothing was seen", "", crm.MergeSeen, marta)
	s.addTags(marta, "vip")
	for _, mode := range []crm.CreateMode{crm.MergeSeen, crm.KeepSeen} {
		asked("the match has changed", seen, mode, marta)
	}
	p := s.get(marta)
	expect(t, "what a question has left", "Marta [vip]", p.FirstName, p.Tags)
	s.wantLists([]int64{1}, nil)

	seen = asked("once more", "", crm.KeepSeen, marta)
	kept := must(add(seen, crm.KeepSeen))(t)
	expect(t, "keeping both", "false true", kept.Merged, kept.ID != marta)
	// as a form that is sent twice does
	seen = asked("the new contact matches better", seen, crm.KeepSeen, kept.ID)
	merged := must(add(seen, crm.MergeSeen))(t)
	expect(t, "merging", fmt.Sprint("true ", kept.ID), merged.Merged, merged.ID)
	s.archive(marta)
	s.archive(kept.ID)
	refuses(t, "nobody matches any more", crm.ErrChanged)(add(seen, crm.MergeSeen))
	equal(t, must(add(seen, crm.KeepSeen))(t).Merged, false, "a new contact where nobody matches")
}

func TestAPersonIsToldWhoElseHasAnEmailOrPhone(t *testing.T) {
	s := newFolk(t)
	marta := s.person(
		`{"first_name":"Marta","last_name":"Lopez","emails":[{"value":"m@x.org"}],"phones":[{"value":"212-555-0100"}]}`)
	bo := s.person(`{"first_name":"Bo","last_name":"Ek","emails":[{"value":"b@x.org"}]}`)
	edit := func(body, seen string) error {
		return errOf(s.EditContact(t.Context(), s.Number, bo, decide(t, body, seen)))
	}
	for _, body := range []string{`{"emails":[{"value":"b@x.org"},{"value":"M@X.org"}]}`,
		`{"phones":[{"value":"+1 (212) 555-0100"}]}`} {
		wantMatched(t, body, edit(body, ""), marta)
		wantMatched(t, body, edit(body, "1-nonsense"), marta)
	}
	p := s.get(bo)
	expect(t, "emails and phones after questions", "1 0", len(p.Emails), len(p.Phones))
	const both = `{"title":"Dr","emails":[{"value":"b@x.org"},{"value":"m@x.org"}]}`
	succeed(t, edit(both, wantMatched(t, "an email", edit(both, ""), marta)))
	succeed(t, edit(both, ""))
	s.archive(marta)
	succeed(t, edit(`{"phones":[{"value":"212-555-0100"}]}`, ""))
	s.archive(bo)
	refuses(t, "an archived contact", crm.ErrArchived)(edit(`{"title":"X"}`, ""))
	refuses(t, "a foreign contact", crm.ErrNotFound)(s.EditContact(t.Context(), s.Number+1, bo,
		decide(t, `{"title":"X"}`, "")))
}

// If several people add the same person at once, one succeeds, and all others are asked.
func TestConcurrentPeopleWhoAddTheSamePersonAtOnceAreAsked(t *testing.T) {
	a, b := twoFolk(t)
	made, asked := make([]error, 16), 0
	atOnce(16, func(i int) {
		in := input(t, `{"first_name":"Ana","emails":[{"value":"ana@x.org"}]}`)
		_, made[i] = []*folk{a, b}[i%2].CreateContact(t.Context(), a.Number, in, crm.KeepSeen)
	})
	for _, err := range made {
		if err != nil {
			wantMatched(t, "the same person", err, doc.MakeID(a.Number, 1))
			asked++
		}
	}
	a.wantLists([]int64{1}, nil)
	equal(t, asked, 15, "were asked")
}
