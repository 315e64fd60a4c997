package book

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/derived"
)

// script is a number of changes of contacts that run as one batch. Each records its answer.
type script struct {
	t       *testing.T
	s       *Book
	changes []func() error
	answers []contacts.Document
}

func (x *script) add(change func() (contacts.Document, error)) {
	i := len(x.changes)
	x.answers = append(x.answers, contacts.Document{})
	x.changes = append(x.changes, func() (err error) {
		x.answers[i], err = change()
		return err
	})
}

func (x *script) create(account int64, body string, mode crm.CreateMode) {
	in := input(x.t, body)
	x.add(func() (contacts.Document, error) { return x.s.CreateContact(x.t.Context(), account, in, mode) })
}

func (x *script) update(account, id int64, body string) {
	in := input(x.t, body)
	x.add(func() (contacts.Document, error) { return x.s.UpdateContact(x.t.Context(), account, id, in) })
}

func (x *script) addTags(account, id int64, tags ...string) {
	x.add(func() (contacts.Document, error) { return x.s.AddTags(x.t.Context(), account, id, tags) })
}

func (x *script) removeTags(account, id int64, tags ...string) {
	x.add(func() (contacts.Document, error) { return x.s.RemoveTags(x.t.Context(), account, id, tags) })
}

func (x *script) archive(account, id int64) {
	x.add(func() (contacts.Document, error) {
		return contacts.Document{ID: id}, x.s.ArchiveContact(x.t.Context(), account, id)
	})
}

func (x *script) restore(account, id int64) {
	x.add(func() (contacts.Document, error) { return x.s.RestoreContact(x.t.Context(), account, id) })
}

// run runs the batch, which must end with one commit.
func (x *script) run(account int64) []error {
	x.t.Helper()
	spy := spyOn(x.t, x.s)
	errs := together(x.t, x.s, account, x.changes...)
	equal(x.t, spy.commits.Load(), 1, "the batch took")
	return errs
}

// mustRun is run for changes that must not be refused.
func (x *script) mustRun(account int64) {
	x.t.Helper()
	succeed(x.t, errors.Join(x.run(account)...))
}

// wantAnswer checks which contact a change returned, and whether the change was merged into it.
func (x *script) wantAnswer(i int, id int64, merged bool) {
	x.t.Helper()
	got := x.answers[i]
	equal(x.t, got.ID, id, "change %d was answered with contact", i)
	equal(x.t, got.Merged, merged, "change %d was answered with contact", i)
}

// A change of a batch may be refused after others were decided, because of stored data or because of the other
// changes. The others stay, and the refused change leaves nothing. The end of the test compares everything that is
// stored twice.
func TestABatchKeepsExactlyWhatWasNotRefused(t *testing.T) {
	s := newFolk(t)
	account := s.Number
	other := s.another()
	tags := make([]string, 500)
	for i := range tags {
		tags[i] = fmt.Sprintf(`"t%03d"`, i)
	}
	full := s.create(`{"first_name":"Full","emails":[{"value":"full@x.org"}],"tags":[` + strings.Join(tags,
		",") + `]}`)
	theirs := other.create(`{"first_name":"Theirs"}`).ID
	made := doc.MakeID(account, 2)

	x := script{t: t, s: s.Book}
	x.create(account, `{"first_name":"One","emails":[{"value":"one@x.org"}],"tags":["new"]}`, crm.Dedupe)
	x.addTags(account, full.ID, "one more") // 1: it is at its limit
	x.create(account, `{"first_name":"Two"}`, crm.Dedupe)
	x.create(account, `{"first_name":"Full","title":"Dr.","emails":[{"value":"FULL@x.org"}],"tags":["one more"]}`,
		crm.Dedupe) // 3: merged, it would have too many
	// 4: a person has to decide about contact One
	x.create(account, `{"first_name":"Eins","emails":[{"value":"ONE@x.org"}]}`, crm.MergeSeen)
	x.archive(account, made)
	x.addTags(account, made, "late")                   // 6: it was archived just now
	x.update(account, made+7, `{"first_name":"None"}`) // 7: there is no such contact
	x.create(account, `{"first_name":"Three","emails":[{"value":"one@x.org"}]}`, crm.Dedupe)
	errs := x.run(account)
	y := script{t: t, s: s.Book}
	y.addTags(other.Number, theirs+1, "theirs") // 9: there is no such contact
	y.addTags(other.Number, theirs, "ours")
	errs = append(errs, y.run(other.Number)...)

	var invalid *doc.Invalid
	var matched *crm.Matched
	for i, err := range errs {
		refused := map[int]bool{1: errors.As(err, &invalid), 3: errors.As(err, &invalid), 4: errors.As(err, &matched),
			6: errors.Is(err, crm.ErrArchived), 7: errors.Is(err, crm.ErrNotFound), 9: errors.Is(err, crm.ErrNotFound)}
		if want, ok := refused[i]; ok && !want || !ok && err != nil {
			t.Errorf("change %d got the error %v", i, err)
		}
	}
	if matched == nil || matched.Contact.ID != made {
		t.Errorf("the match is %+v", matched)
	}
	equal(t, string(s.document(full.ID)), string(full.Append(nil)),
		"a refused change has changed a contact")
	s.wantLists([]int64{1, 3, 4}, []int64{2})
	other.wantLists([]int64{1}, nil)
	for id, want := range map[int64]string{made + 1: "Two", made + 2: "Three"} {
		equal(t, s.get(id).FirstName, want, "contact %d", id)
	}
	other.wantTags("{ours 1}")
	equal(t, len(must(s.SuggestTags(t.Context(), account, "new", 10))(t)), 0, "the tag of an archived contact counts")
	equal(t, s.create(`{"first_name":"Four"}`).ID, made+3, "the next contact has the id")
}

func TestTheSameEmailTwiceInABatchIsOneContact(t *testing.T) {
	s := newFolk(t)
	account := s.Number
	first := doc.MakeID(account, 1)
	x := script{t: t, s: s.Book}
	x.create(account, `{"first_name":"Ana","emails":[{"value":"ana@x.org"}],"tags":["a"]}`, crm.Dedupe)
	x.create(account,
		`{"title":"Dr.","emails":[{"value":"ANA@X.ORG"}],"phones":[{"value":"212-555-0100"}],"tags":["b"]}`, crm.Dedupe)
	// by the phone of the second
	x.create(account, `{"company":"Acme","phones":[{"value":"(212) 555-0100"}],"tags":["a","c"]}`, crm.Dedupe)
	x.create(account, `{"first_name":"Ana","emails":[{"value":"ana@x.org"}]}`, crm.Force)
	x.create(account, `{"first_name":"Bo","emails":[{"value":"bo@x.org"}]}`, crm.Dedupe)
	x.mustRun(account)
	for i, want := range []struct {
		id     int64
		merged bool
	}{{first, false}, {first, true}, {first, true}, {first + 1, false}, {first + 2, false}} {
		x.wantAnswer(i, want.id, want.merged)
	}
	for i := range 2 {
		equal(t, string(x.answers[i+1].Before), string(x.answers[i].Body), "merge was made into, and not into %s",
			x.answers[i].Body)
	}
	document := s.document(first)
	equal(t, string(document), string(x.answers[2].Append(nil)), "the contact")
	if p := parse(t, document); p.Title == nil || *p.Title != "Dr." || len(p.Emails) != 1 || len(p.Phones) != 1 ||
		!slices.Equal(p.Tags, []string{"a", "b", "c"}) {
		t.Errorf("the contact is %s", document)
	}
	s.wantTags("{a 1} {b 1} {c 1}")
	equal(t, s.search(crm.Active, typed("acme ana"), 10), []int64{1}, "the search")
}

func TestATagThatABatchAddsAndRemovesIsGone(t *testing.T) {
	s := newFolk(t)
	account := s.Number
	id := s.create(`{"first_name":"Ana","tags":["kept","old"]}`).ID
	x := script{t: t, s: s.Book}
	x.addTags(account, id, "new", "newer")
	x.removeTags(account, id, "new", "old")
	x.addTags(account, id, "old")
	x.create(account, `{"first_name":"Bo","tags":["new"]}`, crm.Dedupe)
	x.removeTags(account, id+1, "new")
	x.addTags(account, id+1, "kept")
	x.mustRun(account)
	for i, want := range [][]string{{"kept", "old", "new", "newer"}, {"kept", "newer"}, {"kept", "newer", "old"},
		{"new"}, {}, {"kept"}} {
		equal(t, parse(t, x.answers[i].Append(nil)).Tags, want, "change %d was answered with the tags", i)
	}
	equal(t, s.get(id).Tags, []string{"kept", "newer", "old"}, "the tags")
	s.wantTags("{kept 2} {newer 1} {old 1}")
	equal(t, len(s.search(crm.Active, typed("tag:new"), 10)), 0, "the search finds by a tag that is gone")
}

// If a contact is archived, restored, or gets another email, the rest of its batch finds it in its new state.
func TestAChangeMeetsAContactAsItsBatchHasLeftIt(t *testing.T) {
	s := newFolk(t)
	account := s.Number
	old := s.create(`{"first_name":"Old","emails":[{"value":"old@x.org"}]}`).ID
	x := script{t: t, s: s.Book}
	x.archive(account, old)
	// 1: no active contact has it
	x.create(account, `{"first_name":"Young","emails":[{"value":"old@x.org"}]}`, crm.Dedupe)
	x.update(account, old+1, `{"emails":[{"value":"young@x.org"}]}`)
	x.restore(account, old)
	x.create(account, `{"title":"Dr.","emails":[{"value":"OLD@x.org"}]}`, crm.Dedupe)
	x.create(account, `{"title":"Dr.","emails":[{"value":"YOUNG@x.org"}]}`, crm.Dedupe)
	x.archive(account, old+1)
	x.restore(account, old+1)
	x.archive(account, old+1)
	x.create(account, `{"title":"Prof.","emails":[{"value":"young@x.org"}]}`, crm.Dedupe) // 9
	x.update(account, old, `{"emails":[{"value":"moved@x.org"}]}`)
	x.create(account, `{"title":"Prof.","emails":[{"value":"old@x.org"}]}`, crm.Dedupe) // 11: no contact has it anymore
	x.mustRun(account)
	x.wantAnswer(1, old+1, false)
	x.wantAnswer(4, old, true)
	x.wantAnswer(5, old+1, true)
	x.wantAnswer(9, old+2, false)
	x.wantAnswer(11, old+3, false)
	s.wantLists([]int64{1, 3, 4}, []int64{2})
	for scope, want := range map[crm.ContactScope][]int64{crm.Active: {3}, crm.Archived: {2}} {
		equal(t, s.search(scope, typed("young@x.org"), 10), want, "%s: the search", scope)
	}
}

// If more contacts have an email than are loaded, those with the same name are searched for, including those of the
// same batch.
func TestANameOfTheSameBatchTellsContactsApart(t *testing.T) {
	s := newFolk(t)
	account := s.Number
	x := script{t: t, s: s.Book}
	for i := range derived.FewCandidates + 4 {
		x.create(account, fmt.Sprintf(`{"first_name":"P%d","last_name":"Ek","emails":[{"value":"ek@x.org"}]}`, i),
			crm.Force)
	}
	x.create(account, `{"first_name":"p10","last_name":"EK","emails":[{"value":"ek@x.org"}],"tags":["t"]}`, crm.Dedupe)
	x.create(account, `{"first_name":"P99","last_name":"Ek","emails":[{"value":"ek@x.org"}],"tags":["t"]}`, crm.Dedupe)
	x.mustRun(account)
	x.wantAnswer(derived.FewCandidates+4, doc.MakeID(account, 11), true)
	x.wantAnswer(derived.FewCandidates+5, doc.MakeID(account, 1), true)
	s.wantTags("{t 2}")
}

// The look-ups of a batch see what its earlier changes leave, not what was there before them.
func TestConcurrentChangeSeesWhatEarlierOnesOfItsBatchDid(t *testing.T) {
	ctx := t.Context()
	s := newFolk(t)
	account := s.Number
	old := s.create(`{"first_name":"Old","emails":[{"value":"old@x.org"}]}`).ID
	made := make([]contacts.Document, 6)
	creates := func(i int, body string) func() error {
		in := input(t, body)
		return func() (err error) {
			made[i], err = s.CreateContact(ctx, account, in, crm.Dedupe)
			return err
		}
	}
	patch := input(t, `{"emails":[{"value":"moved@x.org"}]}`)
	errs := s.together(creates(0, `{"first_name":"Ana","emails":[{"value":"ana@x.org"}]}`),
		creates(1, `{"emails":[{"value":"ana@x.org"}],"tags":["again"]}`),
		func() error {
			return errOf(s.UpdateContact(ctx, account, old, patch))
		},
		creates(2, `{"first_name":"New","emails":[{"value":"old@x.org"}]}`),
		creates(3, `{"emails":[{"value":"moved@x.org"}],"tags":["found"]}`),
		func() error {
			return errOf(s.AddTags(ctx, account, old, []string{"last"}))
		},
		func() error { return s.ArchiveContact(ctx, account, old) },
		creates(4, `{"first_name":"Other","emails":[{"value":"moved@x.org"}]}`),
		func() error {
			_, err := s.AddTags(ctx, account, old, []string{"late"})
			if !errors.Is(err, crm.ErrArchived) {
				t.Errorf("a tag for an archived contact: %v", err)
			}
			return nil
		})
	succeed(t, errors.Join(errs...))
	for i, want := range []struct {
		seq    int64
		merged bool
	}{{2, false}, {2, true}, {3, false}, {1, true}, {4, false}} {
		equal(t, doc.IDSeq(made[i].ID), want.seq, "create %d: contact (%v)", i, want)
		equal(t, made[i].Merged, want.merged, "create %d: contact (%v)", i, want)
	}
	tag := func(name string) func() error {
		return func() error {
			return errOf(s.AddTags(ctx, account, made[2].ID, []string{name}))
		}
	}
	succeed(t, errors.Join(s.together(tag("a"), tag("b"),
		creates(5, `{"emails":[{"value":"old@x.org"}],"tags":["c"]}`), tag("d"))...))
	equal(t, fmt.Sprint(s.get(made[2].ID).Tags), "[a b c d]",
		"the tags of the contact that was changed again and again")
	equal(t, fmt.Sprint(parse(t, s.restore(old).Append(nil)).Tags), "[found last]",
		"the tags of the changed contact")
}

// A disk page that cannot be read affects the change that needs it, and not the others of its batch.
func TestConcurrentDamagedPageDoesNotDisturbABatch(t *testing.T) {
	ctx := t.Context()
	t.Parallel()
	o := store.Options{Data: t.TempDir()}
	s, err := Open(ctx, o)
	succeed(t, err)
	one, two := newAccount(t, s).Number, newAccount(t, s).Number
	bad := create(t, s, one, largeContact(200)).ID
	create(t, s, two, `{"first_name":"Z"}`)
	succeed(t, s.Close())
	file := filepath.Join(o.Data, "donorbook.db")
	raw, _ := os.ReadFile(file)
	n := 0
	for at := 4096; at < len(raw); at += 4096 {
		if bytes.Contains(raw[at:at+4096], []byte(`"address_2":"`)) && n < 3 { // of the document, and of nothing else
			if n++; n == 3 {
				copy(raw[at:], []byte{0, 0, 0, 0})
			}
		}
	}
	succeed(t, os.WriteFile(file, raw, 0o600))
	if s, err = Open(ctx, o); err != nil {
		t.Fatal(err)
	}
	closeAfter(t, s)
	errs := together(t, s, two, func() error {
		return errOf(s.AddTags(ctx, one, bad, []string{"x"}))
	}, creating(t, s, two, "Innocent"), creating(t, s, two, "Innocent2"))
	if errs[0] == nil || errs[1] != nil || errs[2] != nil {
		t.Errorf("the changes got %v", errs)
	}
}

// TestUpdatedAtNeverGoesBack: a client that asks what changed since its last visit must find what changed after the
// clock was set back.
func TestUpdatedAtNeverGoesBack(t *testing.T) {
	s := newFolk(t)
	clock := stopClock(s.Book)
	id := s.create(`{"first_name":"A","emails":[{"value":"a@x.org"}]}`).ID
	mustImport(t, s.Book, s.Account, `[{"title":"Gala","slug":"gala"}]`)
	created := s.get(id).Updated
	clock.move(-48 * time.Hour)
	s.create(`{"company":"New","emails":[{"value":"a@x.org"}]}`)
	mustImport(t, s.Book, s.Account, `[{"title":"Gala","slug":"gala","raised":5}]`)
	equal(t, s.get(id).Updated, created, "a contact was updated")
	s.archive(id)
	s.restore(id)
	equal(t, s.get(id).Updated, created, "a contact was restored")
	if gala := campaignsSeen(t, s.Book, s.Account, campaign.OwnCampaigns, 10)[0]; gala.UpdatedAt != "2026-01-31 12:00:00" ||
		gala.Raised != 5 {
		t.Errorf("the campaign is %+v", gala)
	}
	clock.move(49 * time.Hour)
	if d := s.addTags(id, "t"); parse(t,
		d.Append(nil)).Updated <= created {
		t.Errorf("an hour later: %s", d.Body)
	}
}
