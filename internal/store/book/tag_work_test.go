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
func (s *folk) fillTagged(n int, name string) {
	s.Helper()
	atOnce(n, func(i int) {
		tags := []string{`["%s"]`, `["%s","new"]`, `["new","%s"]`, `["a","%s","z"]`}[i%4]
		made := s.create(fmt.Sprintf(`{"first_name":"P%d","tags":`+tags+`}`, i, name))
		if i%7 == 0 {
			s.archive(made.ID)
		}
	})
}

// tagsIn counts how many contacts of an account have each list of tags.
func (s *folk) tagsIn() map[string]int {
	s.Helper()
	found := map[string]int{}
	succeed(s, s.Db.LongView(s.Context(), func(c db.Conn) error {
		return store.EachStored(c, s.Number, func(row *store.StoredContact) error {
			found[strings.Join(row.Contact.Tags, " ")]++
			return row.Damage
		}, func() error { return nil })
	}))
	return found
}

func (s *folk) wantTagsIn(want map[string]int) {
	s.Helper()
	equal(s, s.tagsIn(), want, "the tags of contacts")
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
	s := newFolk(t)
	account := s.Number
	clock := stopClock(s.Book)
	other := s.another()
	s.fillTagged(8, "old")
	other.fillTagged(4, "old")
	clock.move(time.Hour)
	theirs := other.tagsIn()
	changed := s.rename("old", "new")
	if changed.Unfinished() || changed.TagCount != (store.TagCount{Name: "new", Contacts: 6}) {
		t.Errorf("renamed: %+v", changed)
	}
	s.wantTagsIn(map[string]int{"new": 6, "a new z": 2})
	s.wantTags("{new 6} {a 1} {z 1}")
	for id := doc.MakeID(account, 1); id <= doc.MakeID(account, 8); id++ {
		if c := s.record(id); !c.UpdatedAt.Equal(s.Now()) {
			t.Errorf("contact %d was updated at %v", id, c.UpdatedAt)
		}
	}
	wantError(t, "a tag that no contact has", errOf(s.RenameTags(ctx, account, "new", "old")), crm.ErrNotFound)
	if changed := s.deleteTag("new"); changed.Unfinished() {
		t.Errorf("deleted: %+v", changed)
	}
	s.wantTagsIn(map[string]int{"": 6, "a z": 2})
	wantError(t, "a tag that no contact has any more", errOf(s.RenameTags(ctx, account, "", "new")),
		crm.ErrNotFound)
	other.wantTagsIn(theirs)
}

// The server is stopped in the middle of a rename. The next one goes on by itself, and what was tagged meanwhile is
// renamed, too.
func TestTagOfManyContactsIsRenamedInTheBackgroundAcrossARestart(t *testing.T) {
	ctx := t.Context()
	o := newDatabase(t)
	s := folkOf(t, open(t, o))
	account := s.Number

	s.fillTagged(2000, "old")
	active := int64(2000 - 286)
	for range 2 { // the same request again
		changed := must(s.RenameTags(store.By(ctx, history.ConsoleChannel, "ana@example.org"), account, "new",
			"old"))(t)
		if !changed.Unfinished() || changed.TagCount != (store.TagCount{Name: "old", Contacts: active}) {
			t.Errorf("renamed: %+v", changed)
		}
	}
	for range 3 {
		if busy := workRound(t, jobs.NewJobWorker(s.JobStore)); !busy {
			t.Fatal(busy)
		}
	}
	found := s.tagsIn()
	equal(t, found["new"]+found["a new z"], 3*jobs.BulkUnit, "contacts were changed: %v", found)
	wantBusy(t, "deleting a tag that is being renamed", errOf(s.RenameTags(ctx, account, "", "old")))
	wantBusy(t, "another name for a tag that is being renamed",
		errOf(s.RenameTags(ctx, account, "newer", "old")))
	wantBusy(t, "another name for what a tag is becoming", errOf(s.RenameTags(ctx, account, "newer", "new")))
	checkIntegrity(t, s.Book)
	succeed(t, s.Close())

	s.Book = open(t, o)
	s.create(`{"first_name":"Late","tags":["x","old"]}`)
	s.finishJobs()
	s.wantTagsIn(map[string]int{"new": 1500, "a new z": 500, "x new": 1})
	tags, found2, err := s.Tags(ctx, account, "", crm.PageRequest{Page: 1, PerPage: 100})
	want := []store.TagCount{{Name: "a", Contacts: 428}, {Name: "new", Contacts: active + 1},
		{Name: "x", Contacts: 1}, {Name: "z", Contacts: 428}}
	succeed(t, err)
	equal(t, found2.Total, 4)
	equal(t, slices.Equal(tags, want), true)
	wantError(t, "a tag that was renamed", errOf(s.RenameTags(ctx, account, "new", "old")), crm.ErrNotFound)
}

// Two nodes that are at it do no harm.
func TestConcurrentTwoNodesWorkOnTags(t *testing.T) {
	a, b := twoFolk(t)

	a.fillTagged(700, "old")
	if changed := a.deleteTag("old"); !changed.Unfinished() {
		t.Errorf("deleted: %+v", changed)
	}
	finishJobs(t, b.Book, a.Book)
	b.wantTagsIn(map[string]int{"": 175, "new": 350, "a z": 175})
}

func TestConcurrentNodeThatRestsIsWokenByWorkOnATag(t *testing.T) {
	t.Parallel()
	o := emptySQLite(t)
	synctest.Test(t, func(t *testing.T) { // where time goes by only when everyone waits
		s := folkOf(t, open(t, o))
		s.fillTagged(jobs.BulkAtOnce+1, "old")
		ctx, stop := context.WithCancel(t.Context())
		go s.WorkOnJobs(ctx, func(err error) { t.Error(err) })
		synctest.Wait()
		s.rename("old", "OLD")
		synctest.Wait()
		wantError(t, "it is done", errOf(s.RenameTags(t.Context(), s.Number, "OLD", "old")), crm.ErrNotFound)
		stop()
		synctest.Wait()
		equal(t, s.tagsIn()["a OLD z"], 125, "contacts have the tag between two others")
	})
}

// What is to be done goes with a copy of the database.
func TestConcurrentWorkOnATagGoesOnAfterACopy(t *testing.T) {
	ctx := t.Context()
	t.Parallel()
	from, to := newSQLite(t), newPostgres(t)
	s := folkOf(t, open(t, from))
	s.fillTagged(520, "old")
	if changed := s.deleteTag("old"); !changed.Unfinished() {
		t.Fatal(changed)
	}
	workRound(t, jobs.NewJobWorker(s.JobStore))
	checkIntegrity(t, s.Book)
	succeed(t, s.Close())
	must(move.Copy(ctx, from, to, move.CopyOptions{}))(t)
	copied := folkIn(t, open(t, to), s.Account)
	copied.finishJobs()
	copied.wantTagsIn(map[string]int{"": 130, "new": 260, "a z": 130})
}

// Contacts whose documents are very large together are not held in memory together.
func TestATagOfVeryLargeContactsIsChangedInTheBackground(t *testing.T) {
	s := newFolk(t)
	line := strings.Repeat("x", 255)
	addresses := make([]string, 100)
	for i := range addresses {
		addresses[i] = fmt.Sprintf(`{"address_1":"%d%s","address_2":"%s"}`, i, line[3:], line)
	}
	large := `{"first_name":"L","tags":["old"],"addresses":[` + strings.Join(addresses, ",") + `]}`
	n := jobs.BulkBytesAtOnce/len(large) + 1
	atOnce(n, func(int) { s.createAs(large, crm.Force) })
	if changed := s.rename("old", "new"); !changed.Unfinished() {
		t.Errorf("%d contacts of %d bytes: %+v", n, len(large), changed)
	}
	s.finishJobs()
	s.wantTags(fmt.Sprintf("{new %d}", n))
}

// A contact that cannot be read is counted, and the others are changed. What is left can be done once it was restored.
func TestDamagedContactDoesNotStopWorkOnATag(t *testing.T) {
	s := newFolk(t)
	closeAfter(t, s.Book)
	s.fillTagged(jobs.BulkAtOnce+1, "old")
	id := doc.MakeID(s.Number, 3)
	s.damage(`UPDATE contact SET checksum = checksum + 1 WHERE id = $1`, id)
	begun := s.rename("old", "new")
	workRound(t, jobs.NewJobWorker(s.JobStore))
	s.addTags(doc.MakeID(s.Number, 2), "old") // again, where the job has been
	s.finishJobs()
	if at := s.bulkProgress(begun.Job); at.Changed != jobs.BulkAtOnce+1 || at.Unreadable != 1 || at.Already != 0 {
		t.Errorf("many: %+v", at)
	}
	if few := s.rename("old", "new"); few.Unfinished() || few.Changed != 0 || few.Unreadable != 1 {
		t.Errorf("what is left: %+v", few)
	}
	s.damage(`UPDATE contact SET checksum = checksum - 1 WHERE id = $1`, id)
	if few := s.rename("old", "new"); few.Unfinished() || few.Changed != 1 {
		t.Errorf("what is left: %+v", few)
	}
	n := s.tagsIn()
	equal(t, n["new"]+n["a new z"], jobs.BulkAtOnce+1, "the tags")
	checkIntegrity(t, s.Book)
}

// A change of a tag sees what the changes before it in the same batch have done.
func TestConcurrentChangeOfATagSeesItsBatch(t *testing.T) {
	ctx := t.Context()
	s := newFolk(t)
	account := s.Number
	atOnce(jobs.BulkAtOnce+1, func(i int) {
		s.create(fmt.Sprintf(`{"first_name":"P%d","tags":["old"]}`,
			i))
	})
	if changed := s.rename("old", "new"); !changed.Unfinished() {
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
			changed, err := s.RenameTags(ctx, account, "many", "few")
			equal(t, changed.TagCount, (store.TagCount{Name: "many", Contacts: jobs.BulkUnit}), "renamed")
			return err
		})
	succeed(t, errors.Join(s.together(changes...)...))
	s.finishJobs()
	s.wantTagsIn(map[string]int{"many": jobs.BulkUnit, "new": jobs.BulkAtOnce + 1 - jobs.BulkUnit})
}
