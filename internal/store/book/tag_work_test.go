package book

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/move"
)

// fillTagged makes contacts that have a tag: some have another one before it or behind it, and every seventh is
// archived.
func fillTagged(t testing.TB, s *Book, account int64, n int, name string) {
	t.Helper()
	atOnce(n, func(i int) {
		tags := []string{`["%s"]`, `["%s","new"]`, `["new","%s"]`, `["a","%s","z"]`}[i%4]
		made := create(t, s, account, fmt.Sprintf(`{"first_name":"P%d","tags":`+tags+`}`, i, name))
		if i%7 == 0 {
			archive(t, s, account, made.ID)
		}
	})
}

// tagsIn counts how many contacts of an account have each list of tags.
func tagsIn(t testing.TB, s *Book, account int64) map[string]int {
	t.Helper()
	found := map[string]int{}
	succeed(t, s.Db.LongView(t.Context(), func(c db.Conn) error {
		return store.EachStored(c, account, func(row *store.StoredContact) error {
			found[strings.Join(row.Contact.Tags, " ")]++
			return row.Damage
		}, func() error { return nil })
	}))
	return found
}

func wantTagsIn(t testing.TB, s *Book, account int64, want map[string]int) {
	t.Helper()
	equal(t, tagsIn(t, s, account), want, "the tags of contacts")
}

func wantBusy(t testing.TB, what string, err error) {
	t.Helper()
	var refused *doc.Invalid
	if !errors.As(err, &refused) || refused.Faults[0].Rule != doc.TagBusy || refused.Faults[0].Field != "" {
		t.Errorf("%s: %v", what, err)
	}
}

func TestConcurrentTagOfFewContactsIsChangedAtOnce(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	clock := stopClock(s)
	account, other := newAccount(t, s).Number, newAccount(t, s).Number
	fillTagged(t, s, account, 8, "old")
	fillTagged(t, s, other, 4, "old")
	clock.move(time.Hour)
	theirs := tagsIn(t, s, other)
	changed := must(s.RenameTag(ctx, account, "old", "new"))(t)
	if changed.Unfinished() || changed.TagCount != (store.TagCount{Name: "new", Contacts: 6}) {
		t.Errorf("renamed: %+v", changed)
	}
	wantTagsIn(t, s, account, map[string]int{"new": 6, "a new z": 2})
	wantTags(t, s, account, store.TagCount{Name: "new", Contacts: 6}, store.TagCount{Name: "a", Contacts: 1},
		store.TagCount{Name: "z", Contacts: 1})
	for id := doc.MakeID(account, 1); id <= doc.MakeID(account, 8); id++ {
		if c := must(s.ContactRecord(ctx, account, id))(t); !c.UpdatedAt.Equal(s.Now()) {
			t.Errorf("contact %d was updated at %v", id, c.UpdatedAt)
		}
	}
	wantError(t, "a tag that no contact has", errOf(s.RenameTag(ctx, account, "old", "new")), crm.ErrNotFound)
	if changed := must(s.DeleteTag(ctx, account, "new"))(t); changed.Unfinished() {
		t.Errorf("deleted: %+v", changed)
	}
	wantTagsIn(t, s, account, map[string]int{"": 6, "a z": 2})
	wantError(t, "a tag that no contact has any more", errOf(s.DeleteTag(ctx, account, "new")),
		crm.ErrNotFound)
	wantTagsIn(t, s, other, theirs)
}

// The server is stopped in the middle of a rename. The next one goes on by itself, and what was tagged meanwhile is
// renamed, too.
func TestTagOfManyContactsIsRenamedInTheBackgroundAcrossARestart(t *testing.T) {
	ctx := t.Context()
	o := newDatabase(t)
	s := open(t, o)
	account := newAccount(t, s).Number
	fillTagged(t, s, account, 2000, "old")
	active := int64(2000 - 286)
	for range 2 { // the same request again
		changed := must(s.RenameTag(store.By(ctx, history.ConsoleChannel, "ana@example.org"), account, "old",
			"new"))(t)
		if !changed.Unfinished() || changed.TagCount != (store.TagCount{Name: "old", Contacts: active}) {
			t.Errorf("renamed: %+v", changed)
		}
	}
	for range 3 {
		if busy := workRound(t, jobs.NewJobWorker(s.JobStore)); !busy {
			t.Fatal(busy)
		}
	}
	found := tagsIn(t, s, account)
	equal(t, found["new"]+found["a new z"], 3*jobs.BulkUnit, "contacts were changed: %v", found)
	wantBusy(t, "deleting a tag that is being renamed", errOf(s.DeleteTag(ctx, account, "old")))
	wantBusy(t, "another name for a tag that is being renamed",
		errOf(s.RenameTag(ctx, account, "old", "newer")))
	wantBusy(t, "another name for what a tag is becoming", errOf(s.RenameTag(ctx, account, "new", "newer")))
	checkIntegrity(t, s)
	succeed(t, s.Close())

	s = open(t, o)
	create(t, s, account, `{"first_name":"Late","tags":["x","old"]}`)
	finishJobs(t, s)
	wantTagsIn(t, s, account, map[string]int{"new": 1500, "a new z": 500, "x new": 1})
	tags, found2, err := s.Tags(ctx, account, "", crm.PageRequest{Page: 1, PerPage: 100})
	want := []store.TagCount{{Name: "a", Contacts: 428}, {Name: "new", Contacts: active + 1},
		{Name: "x", Contacts: 1}, {Name: "z", Contacts: 428}}
	succeed(t, err)
	equal(t, found2.Total, 4)
	equal(t, slices.Equal(tags, want), true)
	wantError(t, "a tag that was renamed", errOf(s.RenameTag(ctx, account, "old", "new")), crm.ErrNotFound)
}

// Two nodes that are at it do no harm.
func TestConcurrentTwoNodesWorkOnTags(t *testing.T) {
	a, b := twoNodes(t)
	account := newAccount(t, a).Number
	fillTagged(t, a, account, 700, "old")
	if changed := must(a.DeleteTag(t.Context(), account, "old"))(t); !changed.Unfinished() {
		t.Errorf("deleted: %+v", changed)
	}
	finishJobs(t, b, a)
	wantTagsIn(t, b, account, map[string]int{"": 175, "new": 350, "a z": 175})
}

func TestConcurrentNodeThatRestsIsWokenByWorkOnATag(t *testing.T) {
	t.Parallel()
	o := emptySQLite(t)
	synctest.Test(t, func(t *testing.T) { // where time goes by only when everyone waits
		s := open(t, o)
		account := newAccount(t, s).Number
		fillTagged(t, s, account, jobs.BulkAtOnce+1, "old")
		ctx, stop := context.WithCancel(t.Context())
		go s.WorkOnJobs(ctx, func(err error) { t.Error(err) })
		synctest.Wait()
		must(s.RenameTag(t.Context(), account, "old", "OLD"))(t)
		synctest.Wait()
		wantError(t, "it is done", errOf(s.RenameTag(t.Context(), account, "old", "OLD")), crm.ErrNotFound)
		stop()
		synctest.Wait()
		equal(t, tagsIn(t, s, account)["a OLD z"], 125, "contacts have the tag between two others")
	})
}

// What is to be done goes with a copy of the database.
func TestConcurrentWorkOnATagGoesOnAfterACopy(t *testing.T) {
	ctx := t.Context()
	t.Parallel()
	from, to := newSQLite(t), newPostgres(t)
	s := open(t, from)
	account := newAccount(t, s).Number
	fillTagged(t, s, account, 520, "old")
	if changed := must(s.DeleteTag(ctx, account, "old"))(t); !changed.Unfinished() {
		t.Fatal(changed)
	}
	workRound(t, jobs.NewJobWorker(s.JobStore))
	checkIntegrity(t, s)
	succeed(t, s.Close())
	must(move.Copy(ctx, from, to, move.CopyOptions{}))(t)
	copied := open(t, to)
	finishJobs(t, copied)
	wantTagsIn(t, copied, account, map[string]int{"": 130, "new": 260, "a z": 130})
}

// Contacts whose documents are very large together are not held in memory together.
func TestATagOfVeryLargeContactsIsChangedInTheBackground(t *testing.T) {
	s, account := newBookOf(t)
	line := strings.Repeat("x", 255)
	addresses := make([]string, 100)
	for i := range addresses {
		addresses[i] = fmt.Sprintf(`{"address_1":"%d%s","address_2":"%s"}`, i, line[3:], line)
	}
	large := `{"first_name":"L","tags":["old"],"addresses":[` + strings.Join(addresses, ",") + `]}`
	n := jobs.BulkBytesAtOnce/len(large) + 1
	atOnce(n, func(int) { createAs(t, s, account, large, crm.Force) })
	if changed := must(s.RenameTag(t.Context(), account, "old", "new"))(t); !changed.Unfinished() {
		t.Errorf("%d contacts of %d bytes: %+v", n, len(large), changed)
	}
	finishJobs(t, s)
	wantTags(t, s, account, store.TagCount{Name: "new", Contacts: int64(n)})
}

// A contact that cannot be read is told, and the others are changed. What is left is done once it was restored.
func TestDamagedContactDoesNotStopWorkOnATag(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	closeAfter(t, s)
	account := newAccount(t, s).Number
	fillTagged(t, s, account, jobs.BulkAtOnce+1, "old")
	must(s.RenameTag(ctx, account, "old", "new"))(t)
	id := doc.MakeID(account, 3)
	damage(t, s, `UPDATE contact SET checksum = checksum + 1 WHERE id = $1`, id)
	var told []error
	worker := jobs.NewJobWorker(s.JobStore)
	for busy := true; busy; {
		var err error
		if busy, err = worker.Round(ctx, func(err error) { told = append(told, err) }); err != nil {
			t.Fatal(err)
		}
	}
	equal(t, len(told), 1, "failures were told")
	wantDamage(t, "the failure", errors.Join(told...), fmt.Sprintf("contact %d ", id))
	if changed := must(s.RenameTag(ctx, account, "old", "new"))(t); !changed.Unfinished() ||
		changed.Contacts > 1 {
		t.Errorf("what is left: %+v", changed)
	}
	damage(t, s, `UPDATE contact SET checksum = checksum - 1 WHERE id = $1`, id)
	finishJobs(t, s)
	n := tagsIn(t, s, account)
	equal(t, n["new"]+n["a new z"], jobs.BulkAtOnce+1, "the tags")
	if _, err := s.RestoreContact(ctx, account, id); err != nil { // one in seven is archived
		t.Fatal(err)
	}
	for _, seq := range []int64{2, 3, 4} {
		if _, err := s.AddTags(ctx, account, doc.MakeID(account, seq), []string{"rare"}); err != nil &&
			!errors.Is(err, crm.ErrArchived) {
			t.Fatal(err)
		}
	}
	before, err := s.LargestTags(ctx, account, 100)
	succeed(t, err)
	damage(t, s, `UPDATE contact SET checksum = checksum + 1 WHERE id = $1`, id)
	_, err = s.RenameTag(ctx, account, "rare", "common") // few contacts, all at once or none
	wantDamage(t, "a tag of few contacts", err, fmt.Sprintf("contact %d ", id))
	wantTags(t, s, account, before...)
	damage(t, s, `UPDATE contact SET checksum = checksum - 1 WHERE id = $1`, id)
	checkIntegrity(t, s)
}

// A change of a tag sees what the changes before it in the same batch have done.
func TestConcurrentChangeOfATagSeesItsBatch(t *testing.T) {
	ctx := t.Context()
	s, account := newBookOf(t)
	atOnce(jobs.BulkAtOnce+1, func(i int) {
		create(t, s, account, fmt.Sprintf(`{"first_name":"P%d","tags":["old"]}`,
			i))
	})
	if changed := must(s.RenameTag(ctx, account, "old", "new"))(t); !changed.Unfinished() {
		t.Fatal(changed)
	}
	var changes []func() error
	for seq := range int64(jobs.BulkUnit) { // those that would be next
		changes = append(changes, func() error {
			return errOf(s.SyncTags(ctx, account, doc.MakeID(account, seq+1), []string{"few"}))
		})
	}
	changes = append(changes,
		func() error {
			j, err := s.Job(ctx, account, 1)
			if err == nil {
				_, err = jobs.NewJobWorker(s.JobStore).Step(ctx, &j)
			}
			return err
		},
		func() error {
			changed, err := s.RenameTag(ctx, account, "few", "many")
			equal(t, changed.TagCount, (store.TagCount{Name: "many", Contacts: jobs.BulkUnit}), "renamed")
			return err
		})
	succeed(t, errors.Join(together(t, s, account, changes...)...))
	finishJobs(t, s)
	wantTagsIn(t, s, account, map[string]int{"many": jobs.BulkUnit, "new": jobs.BulkAtOnce + 1 - jobs.BulkUnit})
}
