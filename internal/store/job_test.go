package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// tagJob is a kind of job for tests: it gives the tag "seen" to the contacts of an account, a few in each unit of work.
const (
	tagJob     JobKind = "test"
	tagJobUnit int     = 4
)

func init() {
	jobSteps[tagJob] = func(ctx context.Context, w *jobWorker, j *Job) error {
		var at struct{ Seq int64 }
		if err := json.Unmarshal(j.Progress, &at); err != nil {
			return err
		}
		now := w.now()
		return w.advance(ctx, j, needs{}, func(t *tx, a *accountUnit, next *Job) error {
			seq := at.Seq
			for range tagJobUnit {
				if seq == a.contactSeq {
					return t.endJob(next, JobDone)
				}
				seq++
				row, err := t.load(j.Account, crm.MakeID(j.Account, seq))
				if err != nil {
					return err
				}
				if _, err := t.change(row, 0, func(c crm.Contact) (crm.Contact, error) { return c.AddTags([]string{"seen"}, now) }); err != nil {
					return err
				}
			}
			next.Progress = jsonOf(struct{ Seq int64 }{seq})
			return nil
		})
	}
}

// startJob begins a job of the kind that tests have, for contacts of whom every third has the tag already.
func startJob(t testing.TB, s *Store, contacts int) (account int64, j Job) {
	t.Helper()
	account = newAccount(t, s).Number
	for i := range contacts {
		tags := `[]`
		if i%3 == 0 {
			tags = `["seen","old"]`
		}
		create(t, s, account, fmt.Sprintf(`{"first_name":"P%d","tags":%s}`, i, tags))
	}
	err := s.updateAccount(By(t.Context(), crm.ConsoleDoor, "ana@example.org"), account, func(tx *tx) error {
		made := tx.newJob(tx.accounts[account], tagJob, JobWaiting, struct{}{})
		tx.Insert(jobPartTable, account, made.ID, int64(1), []byte("part"))
		tx.saveJob(made)
		j = *made
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return account, j
}

// finishJobs works on jobs as a server does, until all have ended.
func finishJobs(t testing.TB, stores ...*Store) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	for _, s := range stores {
		working.Go(func() { s.WorkOnJobs(ctx, func(err error) { t.Error(err) }) })
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		open, err := list(t.Context(), stores[0].Base, scanOpenJob, sqlOpenJobs)
		open = slices.DeleteFunc(open, func(j Job) bool { return !j.Working() })
		if err != nil || len(open) == 0 || time.Now().After(deadline) {
			if err != nil || len(open) > 0 {
				t.Errorf("%v: %d jobs have not ended", err, len(open))
			}
			break
		}
	}
	stop()
	working.Wait()
}

// wantJob checks where a job stands, and how many changes it has made.
func wantJob(t testing.TB, s *Store, account, id int64, state JobState, changes int64) Job {
	t.Helper()
	j, err := s.Job(t.Context(), account, id)
	if err != nil || j.State != state {
		t.Fatalf("%v: the job is %+v, want %s", err, j, state)
	}
	err = s.read(t.Context(), func(c db.Conn) error {
		n, err := c.Int(`SELECT count(*) FROM change WHERE account_id = $1 AND job = $2 AND revision >= $3 AND revision <= $4`, account, id, j.First, j.Last)
		if n != changes {
			t.Errorf("job %d has made %d changes, want %d", id, n, changes)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// withTag is how many active contacts have a tag.
func withTag(t testing.TB, s *Store, account int64, name string) int64 {
	t.Helper()
	var n int64
	err := s.read(t.Context(), func(c db.Conn) (err error) {
		n, err = c.Int(sqlTagCount, account, crm.FoldTag(name), name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A server that is killed between any two units of work goes on where it was, and no contact is changed twice.
func TestAJobGoesOnWhereItWas(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		account, j := startJob(t, s, 3*tagJobUnit+1)
		for units := 0; ; units++ {
			w := newJobWorker(s.JobStore) // which knows nothing of what was done before
			busy, err := w.round(t.Context(), func(err error) { t.Error(err) })
			if err != nil || units > 5 {
				t.Fatal(units, err)
			}
			if !busy {
				break
			}
		}
		j = wantJob(t, s, account, j.ID, JobDone, 8)
		if j.Actor != "ana@example.org" || j.Door != crm.ConsoleDoor {
			t.Errorf("the job is %+v", j)
		}
		if n := withTag(t, s, account, "seen"); n != 13 {
			t.Errorf("%d contacts have the tag", n)
		}
		if err := s.read(t.Context(), func(c db.Conn) error {
			n, err := c.Int(`SELECT count(*) FROM job_part WHERE account_id = $1`, account)
			if n != 0 {
				t.Errorf("%d parts are left", n)
			}
			return err
		}); err != nil {
			t.Error(err)
		}

		undo, err := s.UndoJob(By(t.Context(), crm.ConsoleDoor, "bob@example.org"), account, j.ID, "US")
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.UndoJob(t.Context(), account, j.ID, "US")
		wantError(t, "undoing twice", err, crm.ErrChanged)
		finishJobs(t, s)
		wantJob(t, s, account, undo.ID, JobDone, 8)
		if n := withTag(t, s, account, "seen"); n != 5 {
			t.Errorf("%d contacts have the tag after it was undone", n)
		}
		_, err = s.UndoJob(t.Context(), account, undo.ID, "US")
		wantError(t, "undoing what was undone", err, crm.ErrChanged)
	})
}

func TestTwoNodesWorkOnAJob(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Store) {
		account, j := startJob(t, a, 40)
		finishJobs(t, b, a)
		wantJob(t, a, account, j.ID, JobDone, 26)
		undo, err := b.UndoJob(t.Context(), account, j.ID, "US")
		if err != nil {
			t.Fatal(err)
		}
		finishJobs(t, a, b)
		wantJob(t, a, account, undo.ID, JobDone, 26)
		if n := withTag(t, a, account, "seen"); n != 14 {
			t.Errorf("%d contacts have the tag", n)
		}
	})
}

// A job that was canceled does nothing more. What it did can be undone, but for contacts that were changed since: they are listed.
func TestAJobIsCanceledAndUndone(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		account, j := startJob(t, s, 3*tagJobUnit)
		w := newJobWorker(s.JobStore)
		for range 2 {
			if _, err := w.round(t.Context(), func(err error) { t.Error(err) }); err != nil {
				t.Fatal(err)
			}
		}
		_, err := s.UndoJob(t.Context(), account, j.ID, "US")
		wantError(t, "undoing a job that runs", err, crm.ErrChanged)
		if _, err := s.CancelJob(t.Context(), account, j.ID); err != nil {
			t.Fatal(err)
		}
		_, err = s.CancelJob(t.Context(), account, j.ID)
		wantError(t, "canceling twice", err, crm.ErrChanged)
		if busy, err := w.round(t.Context(), func(err error) { t.Error(err) }); busy || err != nil {
			t.Error(busy, err)
		}
		j = wantJob(t, s, account, j.ID, JobCanceled, 5)
		changed := crm.MakeID(account, 2)
		if _, err := s.AddTags(t.Context(), account, changed, []string{"later"}); err != nil {
			t.Fatal(err)
		}
		undo, err := s.UndoJob(t.Context(), account, j.ID, "US")
		if err != nil {
			t.Fatal(err)
		}
		finishJobs(t, s)
		undo = wantJob(t, s, account, undo.ID, JobDone, 4)
		var at UndoProgress
		if err := json.Unmarshal(undo.Progress, &at); err != nil || at.Undone != 4 || at.Kept != 1 {
			t.Errorf("%v: undone: %s", err, undo.Progress)
		}
		rows, err := s.JobRows(t.Context(), account, undo.ID, 0, 10)
		if err != nil || len(rows) != 1 || rows[0].Contact != changed || rows[0].Outcome != ChangedSince {
			t.Errorf("%v: kept: %+v", err, rows)
		}
		if tags := get(t, s, account, changed).Tags; !slices.Equal(tags, []string{"seen", "later"}) {
			t.Errorf("the contact that was changed since has %q", tags)
		}
		if tags := get(t, s, account, crm.MakeID(account, 3)).Tags; len(tags) != 0 {
			t.Errorf("a contact still has %q", tags)
		}
	})
}

func TestJobsAreListedNewestFirst(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		account, other := newAccount(t, s).Number, newAccount(t, s).Number
		for range 5 {
			if err := s.updateAccount(t.Context(), account, func(tx *tx) error {
				tx.saveJob(tx.newJob(tx.accounts[account], BulkJob, JobDone, struct{}{}))
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		for page, want := range [][]int64{1: {5, 4}, 2: {3, 2}, 3: {1}, 4: nil} {
			if page == 0 {
				continue
			}
			jobs, result, err := s.Jobs(t.Context(), account, crm.PageRequest{Page: int64(page), PerPage: 2})
			if ids := collect(jobs, func(j Job) int64 { return j.ID }); err != nil || result.Total != 5 || !slices.Equal(ids, want) {
				t.Errorf("%v: page %d has %v of %d", err, page, ids, result.Total)
			}
		}
		if _, err := s.Job(t.Context(), other, 1); !errors.Is(err, crm.ErrNotFound) {
			t.Errorf("a job of another account: %v", err)
		}
	})
}

// Files that no one goes on with are dropped.
func TestAnUploadThatIsLeftAloneIsDropped(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		clock := stopClock(s)
		account := newAccount(t, s).Number
		for _, state := range []JobState{JobUploading, JobMapping} {
			if err := s.updateAccount(t.Context(), account, func(tx *tx) error {
				tx.saveJob(tx.newJob(tx.accounts[account], ImportJob, state, struct{}{}))
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		for _, step := range []struct {
			after time.Duration
			want  [2]JobState
		}{{0, [2]JobState{JobUploading, JobMapping}}, {2 * jobUpload, [2]JobState{JobCanceled, JobMapping}}, {jobLimbo, [2]JobState{JobCanceled, JobCanceled}}} {
			clock.move(step.after)
			if _, err := newJobWorker(s.JobStore).round(t.Context(), func(err error) { t.Error(err) }); err != nil {
				t.Fatal(err)
			}
			wantJob(t, s, account, 1, step.want[0], 0)
			wantJob(t, s, account, 2, step.want[1], 0)
		}
	})
}

// TestAnUndoThatWasStoppedGoesOn: what it has taken back so far does not count as a change by someone else, but what people have changed while it
// rested does.
func TestAnUndoThatWasStoppedGoesOn(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		account, j := startJob(t, s, 160)
		finishJobs(t, s)
		wantJob(t, s, account, j.ID, JobDone, 106) // more than one unit of work takes back
		undo, err := s.UndoJob(By(t.Context(), crm.ConsoleDoor, "ana@example.org"), account, j.ID, "US")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := newJobWorker(s.JobStore).step(t.Context(), &undo); err != nil {
			t.Fatal(err)
		}
		_, err = s.UndoJob(t.Context(), account, undo.ID, "US")
		wantError(t, "continuing an undo that runs", err, crm.ErrChanged)
		if _, err := s.CancelJob(t.Context(), account, undo.ID); err != nil {
			t.Fatal(err)
		}
		wantJob(t, s, account, undo.ID, JobCanceled, int64(undoUnit))
		changed := crm.MakeID(account, 2)
		if _, err := s.AddTags(t.Context(), account, changed, []string{"later"}); err != nil {
			t.Fatal(err)
		}
		if undo, err = s.UndoJob(By(t.Context(), crm.ConsoleDoor, "bob@example.org"), account, undo.ID, "US"); err != nil {
			t.Fatal(err)
		}
		finishJobs(t, s)
		undo = wantJob(t, s, account, undo.ID, JobDone, 105)
		var at UndoProgress
		if err := json.Unmarshal(undo.Progress, &at); err != nil || at.Undone != 105 || at.Kept != 1 || undo.Actor != "bob@example.org" {
			t.Errorf("%v: undone: %s by %s", err, undo.Progress, undo.Actor)
		}
		if n := withTag(t, s, account, "seen"); n != 54+1 {
			t.Errorf("%d contacts have the tag", n)
		}
		_, err = s.UndoJob(t.Context(), account, undo.ID, "US")
		wantError(t, "continuing an undo that has ended", err, crm.ErrChanged)
	})
}
