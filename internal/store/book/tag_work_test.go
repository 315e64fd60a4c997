package book

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/move"
)

// fillTagged makes contacts that have a tag: some have another one before it or behind it, and every seventh is archived.
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
		return contacts.EachStored(c, account, func(row *contacts.Stored) error {
			found[strings.Join(row.Contact.Tags, " ")]++
			return row.Damage
		}, func() error { return nil })
	}))
	return found
}

func wantTagsIn(t testing.TB, s *Book, account int64, want map[string]int) {
	t.Helper()
	if diff := cmp.Diff(want, tagsIn(t, s, account)); diff != "" {
		t.Errorf("the tags of contacts (-want +got):\n%s", diff)
	}
}

func wantBusy(t testing.TB, what string, err error) {
	t.Helper()
	var refused *doc.Invalid
	if !errors.As(err, &refused) || refused.Faults[0].Rule != doc.TagBusy || refused.Faults[0].Field != "" {
		t.Errorf("%s: %v", what, err)
	}
}

func TestConcurrentTagOfFewContactsIsChangedAtOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		clock := stopClock(s)
		account, other := newAccount(t, s).Number, newAccount(t, s).Number
		fillTagged(t, s, account, 8, "old")
		fillTagged(t, s, other, 4, "old")
		clock.move(time.Hour)
		theirs := tagsIn(t, s, other)
		changed, err := s.RenameTag(t.Context(), account, "old", "new")
		if err != nil || changed.Unfinished() || changed.TagCount != (contacts.TagCount{Name: "new", Contacts: 6}) {
			t.Errorf("renamed: %+v, %v", changed, err)
		}
		wantTagsIn(t, s, account, map[string]int{"new": 6, "a new z": 2})
		wantTags(t, s, account, contacts.TagCount{Name: "new", Contacts: 6}, contacts.TagCount{Name: "a", Contacts: 1}, contacts.TagCount{Name: "z", Contacts: 1})
		for id := doc.MakeID(account, 1); id <= doc.MakeID(account, 8); id++ {
			if c, err := s.ContactRecord(t.Context(), account, id); err != nil || !c.UpdatedAt.Equal(s.Now()) {
				t.Errorf("%v: contact %d was updated at %v", err, id, c.UpdatedAt)
			}
		}
		_, err = s.RenameTag(t.Context(), account, "old", "new")
		wantError(t, "a tag that no contact has", err, crm.ErrNotFound)
		if changed, err := s.DeleteTag(t.Context(), account, "new"); err != nil || changed.Unfinished() {
			t.Errorf("deleted: %+v, %v", changed, err)
		}
		wantTagsIn(t, s, account, map[string]int{"": 6, "a z": 2})
		_, err = s.DeleteTag(t.Context(), account, "new")
		wantError(t, "a tag that no contact has any more", err, crm.ErrNotFound)
		wantTagsIn(t, s, other, theirs)
	})
}

// The server is stopped in the middle of a rename. The next one goes on by itself, and what was tagged meanwhile is renamed, too.
func TestTagOfManyContactsIsRenamedInTheBackgroundAcrossARestart(t *testing.T) {
	eachDatabase(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		account := newAccount(t, s).Number
		fillTagged(t, s, account, 2000, "old")
		active := int64(2000 - 286)
		for range 2 { // the same request again
			changed, err := s.RenameTag(store.By(t.Context(), history.ConsoleChannel, "ana@example.org"), account, "old", "new")
			if err != nil || !changed.Unfinished() || changed.TagCount != (contacts.TagCount{Name: "old", Contacts: active}) {
				t.Errorf("renamed: %+v, %v", changed, err)
			}
		}
		for range 3 {
			if busy, err := jobs.NewJobWorker(s.JobStore).Round(t.Context(), func(err error) { t.Error(err) }); err != nil || !busy {
				t.Fatal(busy, err)
			}
		}
		found := tagsIn(t, s, account)
		if done := found["new"] + found["a new z"]; done != 3*jobs.BulkUnit {
			t.Errorf("%d contacts were changed: %v", done, found)
		}
		_, err := s.DeleteTag(t.Context(), account, "old")
		wantBusy(t, "deleting a tag that is being renamed", err)
		_, err = s.RenameTag(t.Context(), account, "old", "newer")
		wantBusy(t, "another name for a tag that is being renamed", err)
		_, err = s.RenameTag(t.Context(), account, "new", "newer")
		wantBusy(t, "another name for what a tag is becoming", err)
		checkIntegrity(t, s)
		succeed(t, s.Close())

		s = open(t, o)
		create(t, s, account, `{"first_name":"Late","tags":["x","old"]}`)
		finishJobs(t, s)
		wantTagsIn(t, s, account, map[string]int{"new": 1500, "a new z": 500, "x new": 1})
		tags, found2, err := s.Tags(t.Context(), account, "", crm.PageRequest{Page: 1, PerPage: 100})
		want := []contacts.TagCount{{Name: "a", Contacts: 428}, {Name: "new", Contacts: active + 1}, {Name: "x", Contacts: 1}, {Name: "z", Contacts: 428}}
		if err != nil || found2.Total != 4 || !slices.Equal(tags, want) {
			t.Errorf("%v: %d tags: %v", err, found2.Total, tags)
		}
		_, err = s.RenameTag(t.Context(), account, "old", "new")
		wantError(t, "a tag that was renamed", err, crm.ErrNotFound)
	})
}

// Two nodes that are at it do no harm.
func TestConcurrentTwoNodesWorkOnTags(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		account := newAccount(t, a).Number
		fillTagged(t, a, account, 700, "old")
		if changed, err := a.DeleteTag(t.Context(), account, "old"); err != nil || !changed.Unfinished() {
			t.Errorf("deleted: %+v, %v", changed, err)
		}
		finishJobs(t, b, a)
		wantTagsIn(t, b, account, map[string]int{"": 175, "new": 350, "a z": 175})
	})
}

func TestConcurrentNodeThatRestsIsWokenByWorkOnATag(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		fillTagged(t, s, account, jobs.BulkAtOnce+1, "old")
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			s.WorkOnJobs(ctx, func(err error) { t.Error(err) })
			close(ended)
		}()
		must(s.RenameTag(t.Context(), account, "old", "OLD"))(t)
		for deadline := time.Now().Add(jobs.JobLook / 2); ; time.Sleep(5 * time.Millisecond) {
			if _, err := s.RenameTag(t.Context(), account, "old", "OLD"); errors.Is(err, crm.ErrNotFound) {
				break
			} else if err != nil || time.Now().After(deadline) {
				t.Fatalf("it is not done: %v", err)
			}
		}
		stop()
		<-ended
		if n := tagsIn(t, s, account)["a OLD z"]; n != 125 {
			t.Errorf("%d contacts have the tag between two others", n)
		}
	})
}

// What is to be done goes with a copy of the database.
func TestConcurrentWorkOnATagGoesOnAfterACopy(t *testing.T) {
	t.Parallel()
	from, to := newSQLite(t), newPostgres(t)
	s := open(t, from)
	account := newAccount(t, s).Number
	fillTagged(t, s, account, 520, "old")
	if changed, err := s.DeleteTag(t.Context(), account, "old"); err != nil || !changed.Unfinished() {
		t.Fatal(changed, err)
	}
	must(jobs.NewJobWorker(s.JobStore).Round(t.Context(), func(err error) { t.Error(err) }))(t)
	checkIntegrity(t, s)
	succeed(t, s.Close())
	must(move.Copy(t.Context(), from, to, move.CopyOptions{}))(t)
	copied := open(t, to)
	finishJobs(t, copied)
	wantTagsIn(t, copied, account, map[string]int{"": 130, "new": 260, "a z": 130})
}

// Contacts whose documents are very large together are not held in memory together.
func TestATagOfVeryLargeContactsIsChangedInTheBackground(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		line := strings.Repeat("x", 255)
		addresses := make([]string, 100)
		for i := range addresses {
			addresses[i] = fmt.Sprintf(`{"address_1":"%d%s","address_2":"%s"}`, i, line[3:], line)
		}
		large := `{"first_name":"L","tags":["old"],"addresses":[` + strings.Join(addresses, ",") + `]}`
		n := jobs.BulkBytesAtOnce/len(large) + 1
		atOnce(n, func(int) { createAs(t, s, account, large, crm.Force) })
		if changed, err := s.RenameTag(t.Context(), account, "old", "new"); err != nil || !changed.Unfinished() {
			t.Errorf("%d contacts of %d bytes: %+v, %v", n, len(large), changed, err)
		}
		finishJobs(t, s)
		wantTags(t, s, account, contacts.TagCount{Name: "new", Contacts: int64(n)})
	})
}

// A contact that cannot be read is told, and the others are changed. What is left is done once it was restored.
func TestDamagedContactDoesNotStopWorkOnATag(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		closeAfter(t, s)
		account := newAccount(t, s).Number
		fillTagged(t, s, account, jobs.BulkAtOnce+1, "old")
		if _, err := s.RenameTag(t.Context(), account, "old", "new"); err != nil {
			t.Fatal(err)
		}
		id := doc.MakeID(account, 3)
		damage(t, s, `UPDATE contact SET checksum = checksum + 1 WHERE id = $1`, id)
		var told []error
		worker := jobs.NewJobWorker(s.JobStore)
		for busy := true; busy; {
			var err error
			if busy, err = worker.Round(t.Context(), func(err error) { told = append(told, err) }); err != nil {
				t.Fatal(err)
			}
		}
		if len(told) != 1 {
			t.Errorf("%d failures were told", len(told))
		}
		wantDamage(t, "the failure", errors.Join(told...), fmt.Sprintf("contact %d ", id))
		if changed, err := s.RenameTag(t.Context(), account, "old", "new"); err != nil || !changed.Unfinished() || changed.Contacts > 1 {
			t.Errorf("what is left: %+v, %v", changed, err)
		}
		damage(t, s, `UPDATE contact SET checksum = checksum - 1 WHERE id = $1`, id)
		finishJobs(t, s)
		if n := tagsIn(t, s, account); n["new"]+n["a new z"] != jobs.BulkAtOnce+1 {
			t.Errorf("the tags are %v", n)
		}
		if _, err := s.RestoreContact(t.Context(), account, id); err != nil { // one in seven is archived
			t.Fatal(err)
		}
		for _, seq := range []int64{2, 3, 4} {
			if _, err := s.AddTags(t.Context(), account, doc.MakeID(account, seq), []string{"rare"}); err != nil && !errors.Is(err, crm.ErrArchived) {
				t.Fatal(err)
			}
		}
		before, err := s.LargestTags(t.Context(), account, 100)
		if err != nil {
			t.Fatal(err)
		}
		damage(t, s, `UPDATE contact SET checksum = checksum + 1 WHERE id = $1`, id)
		_, err = s.RenameTag(t.Context(), account, "rare", "common") // few contacts, all at once or none
		wantDamage(t, "a tag of few contacts", err, fmt.Sprintf("contact %d ", id))
		wantTags(t, s, account, before...)
		damage(t, s, `UPDATE contact SET checksum = checksum - 1 WHERE id = $1`, id)
		checkIntegrity(t, s)
	})
}

// A change of a tag sees what the changes before it in the same batch have done.
func TestConcurrentChangeOfATagSeesItsBatch(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		atOnce(jobs.BulkAtOnce+1, func(i int) { create(t, s, account, fmt.Sprintf(`{"first_name":"P%d","tags":["old"]}`, i)) })
		if changed, err := s.RenameTag(t.Context(), account, "old", "new"); err != nil || !changed.Unfinished() {
			t.Fatal(changed, err)
		}
		var changes []func() error
		for seq := range int64(jobs.BulkUnit) { // those that would be next
			changes = append(changes, func() error {
				_, err := s.SyncTags(t.Context(), account, doc.MakeID(account, seq+1), []string{"few"})
				return err
			})
		}
		changes = append(changes,
			func() error {
				j, err := s.Job(t.Context(), account, 1)
				if err == nil {
					_, err = jobs.NewJobWorker(s.JobStore).Step(t.Context(), &j)
				}
				return err
			},
			func() error {
				changed, err := s.RenameTag(t.Context(), account, "few", "many")
				if changed.TagCount != (contacts.TagCount{Name: "many", Contacts: jobs.BulkUnit}) {
					t.Errorf("renamed: %+v", changed)
				}
				return err
			})
		if err := errors.Join(together(t, s, account, changes...)...); err != nil {
			t.Error(err)
		}
		finishJobs(t, s)
		wantTagsIn(t, s, account, map[string]int{"many": jobs.BulkUnit, "new": jobs.BulkAtOnce + 1 - jobs.BulkUnit})
	})
}
