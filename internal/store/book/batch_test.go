package book

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store"
)

// script is a number of changes that run as one batch. Each records its answer.
type script struct {
	t       *testing.T
	s       *Book
	changes []func() error
	answers []store.ContactDocument
}

func (x *script) add(change func() (store.ContactDocument, error)) {
	i := len(x.changes)
	x.answers = append(x.answers, store.ContactDocument{})
	x.changes = append(x.changes, func() (err error) {
		x.answers[i], err = change()
		return err
	})
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

// batch runs changes as one batch. Each line says what is done to which contact, by its number
// and with what, and after an arrow how that is answered: by which contact, and whether the change was merged; or that
// it is refused.
func (s *folk) batch(lines string) []store.ContactDocument {
	s.Helper()
	ctx := s.Context()
	x := script{t: s.T, s: s.Book}
	var want, got []string
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		done, answer, _ := strings.Cut(strings.TrimSpace(line), " -> ")
		want = append(want, answer)
		verb, what, _ := strings.Cut(done, " ")
		number, tags, _ := strings.Cut(what, " ")
		seq, _ := strconv.ParseInt(number, 10, 64)
		id := doc.MakeID(s.Number, seq)
		var change func() (store.ContactDocument, error)
		if mode, creates := map[string]crm.CreateMode{"create": crm.Dedupe, "force": crm.Force,
			"ask": crm.MergeSeen}[verb]; creates {
			in := input(s, what)
			change = func() (store.ContactDocument, error) { return s.CreateContact(ctx, s.Number, in, mode) }
		}
		switch verb {
		case "update":
			in := input(s, tags)
			change = func() (store.ContactDocument, error) { return s.UpdateContact(ctx, s.Number, id, in) }
		case "tag":
			change = func() (store.ContactDocument, error) {
				return s.AddTags(ctx, s.Number, id,
					strings.Split(tags, ","))
			}
		case "untag":
			change = func() (store.ContactDocument, error) {
				return s.RemoveTags(ctx, s.Number, id, strings.Split(tags, ","))
			}
		case "archive":
			change = func() (store.ContactDocument, error) {
				return store.ContactDocument{ID: id}, s.ArchiveContact(ctx, s.Number, id)
			}
		case "restore":
			change = func() (store.ContactDocument, error) { return s.RestoreContact(ctx, s.Number, id) }
		}
		x.add(change)
	}
	for i, err := range x.run(s.Number) {
		var invalid *doc.Invalid
		var matched *crm.Matched
		answer := fmt.Sprint(doc.IDSeq(x.answers[i].ID), map[bool]string{true: " merged"}[x.answers[i].Merged])
		switch {
		case errors.As(err, &invalid):
			answer = "invalid"
		case errors.As(err, &matched):
			answer = fmt.Sprint("is it ", doc.IDSeq(matched.Contact.ID))
		case err != nil:
			answer = err.Error()
		}
		got = append(got, answer)
	}
	equal(s, got, want, "the answers")
	return x.answers
}

// A change of a batch may be refused after others were decided, because of stored data or because of the other
// changes. The others stay, and the refused change leaves nothing. The end of the test compares everything that is
// stored twice.
func TestABatchKeepsExactlyWhatWasNotRefused(t *testing.T) {
	s := newFolk(t)
	other := s.another()
	full := s.create(fullOfTags("full"))
	other.create(`{"first_name":"Theirs"}`)
	s.batch(`
		create {"first_name":"One","emails":[{"value":"one@x.org"}],"tags":["new"]} -> 2
		tag 1 one more -> invalid
		create {"first_name":"Two"} -> 3
		create {"first_name":"Full","title":"Dr.","emails":[{"value":"FULL@x.org"}],"tags":["one more"]} -> invalid
		ask {"first_name":"Eins","emails":[{"value":"ONE@x.org"}]} -> is it 2
		archive 2 -> 2
		tag 2 late -> ` + crm.ErrArchived.Error() + `
		update 9 {"first_name":"None"} -> ` + crm.ErrNotFound.Error() + `
		create {"first_name":"Three","emails":[{"value":"one@x.org"}]} -> 4
	`)
	other.batch(`
		tag 2 theirs -> ` + crm.ErrNotFound.Error() + `
		tag 1 ours -> 1
	`)
	equal(t, string(s.document(full.ID)), string(full.Append(nil)), "a refused change has changed a contact")
	s.wantLists([]int64{1, 3, 4}, []int64{2})
	other.wantLists([]int64{1}, nil)
	for seq, name := range map[int64]string{3: "Two", 4: "Three"} {
		equal(t, s.get(doc.MakeID(s.Number, seq)).FirstName, name)
	}
	other.wantTags("{ours 1}")
	equal(t, len(must(s.SuggestTags(t.Context(), s.Number, "new", 10))(t)), 0, "the tag of an archived contact counts")
	equal(t, s.create(`{"first_name":"Four"}`).ID, doc.MakeID(s.Number, 5), "the next contact has the id")
}

func TestTheSameEmailTwiceInABatchIsOneContact(t *testing.T) {
	s := newFolk(t)
	answers := s.batch(`
		create {"first_name":"Ana","emails":[{"value":"ana@x.org"}],"tags":["a"]} -> 1
		create {"title":"Dr.","emails":[{"value":"ANA@X.ORG"}],"phones":[{"value":"212-555-0100"}],"tags":["b"]} -> 1 merged
		create {"company":"Acme","phones":[{"value":"(212) 555-0100"}],"tags":["a","c"]} -> 1 merged
		force {"first_name":"Ana","emails":[{"value":"ana@x.org"}]} -> 2
		create {"first_name":"Bo","emails":[{"value":"bo@x.org"}]} -> 3
	`)
	for i := range 2 {
		equal(t, string(answers[i+1].Before), string(answers[i].Body), "merge %d was made into", i)
	}
	document := s.document(doc.MakeID(s.Number, 1))
	equal(t, string(document), string(answers[2].Append(nil)), "the contact")
	p := parse(t, document)
	expect(t, "the contact", "Dr. 1 1 [a b c]", *p.Title, len(p.Emails), len(p.Phones), p.Tags)
	s.wantTags("{a 1} {b 1} {c 1}")
	equal(t, s.search(crm.Active, typed("acme ana"), 10), []int64{1}, "the search")
}

func TestATagThatABatchAddsAndRemovesIsGone(t *testing.T) {
	s := newFolk(t)
	s.create(`{"first_name":"Ana","tags":["kept","old"]}`)
	var tags []string
	for _, answer := range s.batch(`
		tag 1 new,newer -> 1
		untag 1 new,old -> 1
		tag 1 old -> 1
		create {"first_name":"Bo","tags":["new"]} -> 2
		untag 2 new -> 2
		tag 2 kept -> 2
	`) {
		tags = append(tags, strings.Join(parse(t, answer.Append(nil)).Tags, " "))
	}
	equal(t, strings.Join(tags, ", "), "kept old new newer, kept newer, kept newer old, new, , kept", "the answers")
	equal(t, s.get(doc.MakeID(s.Number, 1)).Tags, []string{"kept", "newer", "old"}, "the tags")
	s.wantTags("{kept 2} {newer 1} {old 1}")
	equal(t, len(s.search(crm.Active, typed("tag:new"), 10)), 0, "the search finds by a tag that is gone")
}

// If a contact is archived, restored, or gets another email, the rest of its batch finds it in its new state.
func TestAChangeMeetsAContactAsItsBatchHasLeftIt(t *testing.T) {
	s := newFolk(t)
	s.create(`{"first_name":"Old","emails":[{"value":"old@x.org"}]}`)
	s.batch(`
		archive 1 -> 1
		create {"first_name":"Young","emails":[{"value":"old@x.org"}]} -> 2
		update 2 {"emails":[{"value":"young@x.org"}]} -> 2
		restore 1 -> 1
		create {"title":"Dr.","emails":[{"value":"OLD@x.org"}]} -> 1 merged
		create {"title":"Dr.","emails":[{"value":"YOUNG@x.org"}]} -> 2 merged
		archive 2 -> 2
		restore 2 -> 2
		archive 2 -> 2
		create {"title":"Prof.","emails":[{"value":"young@x.org"}]} -> 3
		update 1 {"emails":[{"value":"moved@x.org"}]} -> 1
		create {"title":"Prof.","emails":[{"value":"old@x.org"}]} -> 4
		tag 1 last -> 1
		archive 1 -> 1
		tag 1 late -> ` + crm.ErrArchived.Error() + `
		tag 3 a -> 3
		tag 3 b -> 3
		create {"emails":[{"value":"young@x.org"}],"tags":["c"]} -> 3 merged
		tag 3 d -> 3
	`)
	s.wantLists([]int64{3, 4}, []int64{1, 2})
	for scope, want := range map[crm.ContactScope][]int64{crm.Active: {3}, crm.Archived: {2}} {
		equal(t, s.search(scope, typed("young@x.org"), 10), want, "%s: the search", scope)
	}
	equal(t, s.get(doc.MakeID(s.Number, 3)).Tags, []string{"a", "b", "c", "d"})
	equal(t, parse(t, s.restore(doc.MakeID(s.Number, 1)).Append(nil)).Tags, []string{"last"})
}

// If more contacts have an email than are loaded, those with the same name are searched for, including those of the
// same batch.
func TestANameOfTheSameBatchTellsContactsApart(t *testing.T) {
	s := newFolk(t)
	script := ""
	for i := range store.FewCandidates + 4 {
		script += fmt.Sprintf(`force {"first_name":"P%d","last_name":"Ek","emails":[{"value":"ek@x.org"}]} -> %d`+"\n",
			i,
			i+1)
	}
	s.batch(script +
		`create {"first_name":"p10","last_name":"EK","emails":[{"value":"ek@x.org"}],"tags":["t"]} -> 11 merged
		create {"first_name":"P99","last_name":"Ek","emails":[{"value":"ek@x.org"}],"tags":["t"]} -> 1 merged
	`)
	s.wantTags("{t 2}")
}

// A disk page that cannot be read affects the change that needs it, and not the others of its batch.
func TestConcurrentDamagedPageDoesNotDisturbABatch(t *testing.T) {
	t.Parallel()
	o := store.Options{Data: t.TempDir()}
	s := folkOf(t, must(Open(t.Context(), o))(t))
	bad := s.person(largeContact(200))
	two := s.another()
	two.create(`{"first_name":"Z"}`)
	succeed(t, s.Close())
	file := filepath.Join(o.Data, "donorbook.db")
	raw := must(os.ReadFile(file))(t)
	n := 0
	for at := 4096; at < len(raw); at += 4096 {
		if bytes.Contains(raw[at:at+4096], []byte(`"address_2":"`)) { // of the document, and of nothing else
			if n++; n == 3 {
				copy(raw[at:], []byte{0, 0, 0, 0})
			}
		}
	}
	succeed(t, os.WriteFile(file, raw, 0o600))
	s.Book = must(Open(t.Context(), o))(t)
	two.Book = s.Book
	closeAfter(t, s.Book)
	errs := two.together(func() error {
		return errOf(s.AddTags(t.Context(), s.Number, bad, []string{"x"}))
	}, two.creating("Innocent"), two.creating("Innocent2"))
	says(t, "the change that needs it", "")(errs[0])
	succeed(t, errors.Join(errs[1:]...))
}

// TestUpdatedAtNeverGoesBack: a client that asks what changed since its last visit must find what changed after the
// clock was set back.
func TestUpdatedAtNeverGoesBack(t *testing.T) {
	s := newFolk(t)
	clock := stopClock(s.Book)
	id := s.person(`{"first_name":"A","emails":[{"value":"a@x.org"}]}`)
	mustImport(t, s.Book, s.Account, `[{"title":"Gala","slug":"gala"}]`)
	created := s.get(id).Updated
	clock.move(-48 * time.Hour)
	s.create(`{"company":"New","emails":[{"value":"a@x.org"}]}`)
	mustImport(t, s.Book, s.Account, `[{"title":"Gala","slug":"gala","raised":5}]`)
	equal(t, s.get(id).Updated, created, "a contact was updated")
	s.archive(id)
	s.restore(id)
	equal(t, s.get(id).Updated, created, "a contact was restored")
	gala := campaignsSeen(t, s.Book, s.Account, campaign.OwnCampaigns, 10)[0]
	expect(t, "the campaign", "2026-01-31 12:00:00 5", gala.UpdatedAt, gala.Raised)
	clock.move(49 * time.Hour)
	equal(t, parse(t, s.addTags(id, "t").Append(nil)).Updated > created, true, "an hour later")
}
