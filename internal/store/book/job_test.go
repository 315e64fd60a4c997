package book

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
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/merges"
	"donorbook/internal/store/move"
)

// tagJob is a kind of job for tests, in the place of another one: it gives the tag "seen" to the contacts of an account, a few in each unit of work.
const (
	tagJob         = jobs.SureJob
	tagJobUnit int = 4
)

// withTagJobs lets a node work on such jobs.
func withTagJobs(s *Book) *Book {
	s.Use(merges.MoveKind, move.EraseKind, jobs.Kind{Step: tagStep}, move.EraseAll, s.LookOnce)
	return s
}

func tagStep(ctx context.Context, w *jobs.JobWorker, j *jobs.Job) error {
	var at struct{ Seq int64 }
	if err := json.Unmarshal(j.Progress, &at); err != nil {
		return err
	}
	now := w.Now()
	return w.Advance(ctx, j, store.Needs{}, func(t *store.Tx, a *store.Account, next *jobs.Job) error {
		seq := at.Seq
		for range tagJobUnit {
			if seq == a.ContactSeq {
				return jobs.EndJob(t, next, jobs.JobDone)
			}
			seq++
			row, err := contacts.Load(t, j.Account, doc.MakeID(j.Account, seq))
			if err != nil {
				return err
			}
			if _, err := contacts.Change(t, row, 0, func(c crm.Contact) (crm.Contact, error) { return c.AddTags([]string{"seen"}, now) }); err != nil {
				return err
			}
		}
		next.Progress = jobs.JSONOf(struct{ Seq int64 }{seq})
		return nil
	})
}

// startJob begins a job of the kind that tests have, for contacts of whom every third has the tag already.
func startJob(t testing.TB, s *Book, contacts int) (account int64, j jobs.Job) {
	t.Helper()
	account = newAccount(t, withTagJobs(s)).Number
	for i := range contacts {
		tags := `[]`
		if i%3 == 0 {
			tags = `["seen","old"]`
		}
		create(t, s, account, fmt.Sprintf(`{"first_name":"P%d","tags":%s}`, i, tags))
	}
	succeed(t, s.UpdateAccount(store.By(t.Context(), history.ConsoleChannel, "ana@example.org"), account, func(tx *store.Tx) error {
		made := jobs.NewJob(tx, tx.Accounts[account], tagJob, jobs.JobWaiting, struct{}{})
		tx.Insert(store.JobPartTable, account, made.ID, int64(1), []byte("part"))
		jobs.SaveJob(tx, made)
		j = *made
		return nil
	}))
	return account, j
}

// finishJobs works on jobs as a server does, until all have ended.
func finishJobs(t testing.TB, stores ...*Book) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	for _, s := range stores {
		working.Go(func() { s.WorkOnJobs(ctx, func(err error) { t.Error(err) }) })
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		open, err := store.List(t.Context(), stores[0].Base, jobs.ScanOpenJob, jobs.SQLOpenJobs)
		open = slices.DeleteFunc(open, func(j jobs.Job) bool { return !j.Working() })
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
func wantJob(t testing.TB, s *Book, account, id int64, state jobs.JobState, changes int64) jobs.Job {
	t.Helper()
	j, err := s.Job(t.Context(), account, id)
	if err != nil || j.State != state {
		t.Fatalf("%v: the job is %+v, want %s", err, j, state)
	}
	succeed(t, s.Read(t.Context(), func(c db.Conn) error {
		n, err := c.Int(`SELECT count(*) FROM change WHERE account_id = $1 AND job = $2 AND revision >= $3 AND revision <= $4`, account, id, j.First, j.Last)
		if n != changes {
			t.Errorf("job %d has made %d changes, want %d", id, n, changes)
		}
		return err
	}))
	return j
}

// withTag is how many active contacts have a tag.
func withTag(t testing.TB, s *Book, account int64, name string) int64 {
	t.Helper()
	var n int64
	succeed(t, s.Read(t.Context(), func(c db.Conn) (err error) {
		n, err = c.Int(contacts.SQLTagCount, account, crm.FoldTag(name), name)
		return err
	}))
	return n
}

// A server that is killed between any two units of work goes on where it was, and no contact is changed twice.
func TestConcurrentJobGoesOnWhereItWas(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, j := startJob(t, s, 3*tagJobUnit+1)
		for units := 0; ; units++ {
			w := jobs.NewJobWorker(s.JobStore) // which knows nothing of what was done before
			busy, err := w.Round(t.Context(), func(err error) { t.Error(err) })
			if err != nil || units > 5 {
				t.Fatal(units, err)
			}
			if !busy {
				break
			}
		}
		j = wantJob(t, s, account, j.ID, jobs.JobDone, 8)
		if j.Actor != "ana@example.org" || j.Channel != history.ConsoleChannel {
			t.Errorf("the job is %+v", j)
		}
		if n := withTag(t, s, account, "seen"); n != 13 {
			t.Errorf("%d contacts have the tag", n)
		}
		if err := s.Read(t.Context(), func(c db.Conn) error {
			n, err := c.Int(`SELECT count(*) FROM job_part WHERE account_id = $1`, account)
			if n != 0 {
				t.Errorf("%d parts are left", n)
			}
			return err
		}); err != nil {
			t.Error(err)
		}

		undo, err := s.UndoJob(store.By(t.Context(), history.ConsoleChannel, "bob@example.org"), account, j.ID, "US", false)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.UndoJob(t.Context(), account, j.ID, "US", false)
		wantError(t, "undoing twice", err, crm.ErrChanged)
		finishJobs(t, s)
		wantJob(t, s, account, undo.ID, jobs.JobDone, 8)
		if n := withTag(t, s, account, "seen"); n != 5 {
			t.Errorf("%d contacts have the tag after it was undone", n)
		}
		_, err = s.UndoJob(t.Context(), account, undo.ID, "US", false)
		wantError(t, "undoing what was undone", err, crm.ErrChanged)
	})
}

// Organizations share the time of the worker, however many jobs one of them has and however long its units of work take, and the jobs of one of them take turns.
func TestJobsOfOrganizationsTakeTurns(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		many, one, idle := newAccount(t, s).Number, newAccount(t, s).Number, newAccount(t, s).Number
		takes, steps, worked := make(map[int64]time.Duration), make(map[int64]int), make(map[jobs.JobOf]bool)
		s.Use(merges.MoveKind, move.EraseKind, jobs.Kind{Step: func(_ context.Context, _ *jobs.JobWorker, j *jobs.Job) error {
			if j.Account == idle {
				return jobs.ErrNotOurs
			}
			time.Sleep(takes[j.Account])
			steps[j.Account]++
			worked[j.Of()] = true
			return nil
		}}, move.EraseAll, s.LookOnce)
		begin := func(account int64, n int) {
			succeed(t, s.UpdateAccount(t.Context(), account, func(t *store.Tx) error {
				for range n {
					jobs.SaveJob(t, jobs.NewJob(t, t.Account(account), jobs.SureJob, jobs.JobWaiting, struct{}{}))
				}
				return nil
			}))
		}
		w := jobs.NewJobWorker(s.JobStore)
		rounds := func(n int) {
			clear(steps)
			for range n {
				if busy, err := w.Round(t.Context(), func(err error) { t.Error(err) }); err != nil || !busy {
					t.Fatal(busy, err)
				}
			}
		}
		takes[many], takes[one] = 20*time.Millisecond, 20*time.Millisecond
		begin(many, 20)
		begin(idle, 1)
		rounds(10)
		begin(one, 1)
		rounds(10)
		if steps[one] < 3 || steps[many] < 3 {
			t.Errorf("of two whose units take as long, one had %d turns, and the other %d", steps[one], steps[many])
		}
		for range 100 {
			if len(worked) < 21 {
				rounds(1)
			}
		}
		if len(worked) != 21 {
			t.Errorf("%d of 21 jobs were worked on", len(worked))
		}
		takes[many], takes[one] = 100*time.Millisecond, 5*time.Millisecond // far more than a busy machine needs for the rest
		rounds(20)
		if steps[many] == 0 || steps[one] < 3*steps[many] {
			t.Errorf("one whose units are long had %d turns, and the other %d", steps[many], steps[one])
		}
	})
}

func TestConcurrentTwoNodesWorkOnAJob(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		account, j := startJob(t, a, 40)
		finishJobs(t, withTagJobs(b), a)
		wantJob(t, a, account, j.ID, jobs.JobDone, 26)
		undo := must(b.UndoJob(t.Context(), account, j.ID, "US", false))(t)
		finishJobs(t, a, b)
		wantJob(t, a, account, undo.ID, jobs.JobDone, 26)
		if n := withTag(t, a, account, "seen"); n != 14 {
			t.Errorf("%d contacts have the tag", n)
		}
	})
}

// A job that was canceled does nothing more. What it did can be undone, but for contacts that were changed since: they are listed.
func TestConcurrentJobIsCanceledAndUndone(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, j := startJob(t, s, 3*tagJobUnit)
		w := jobs.NewJobWorker(s.JobStore)
		for range 2 {
			must(w.Round(t.Context(), func(err error) { t.Error(err) }))(t)
		}
		_, err := s.UndoJob(t.Context(), account, j.ID, "US", false)
		wantError(t, "undoing a job that runs", err, crm.ErrChanged)
		must(s.CancelJob(t.Context(), account, j.ID))(t)
		_, err = s.CancelJob(t.Context(), account, j.ID)
		wantError(t, "canceling twice", err, crm.ErrChanged)
		if busy, err := w.Round(t.Context(), func(err error) { t.Error(err) }); busy || err != nil {
			t.Error(busy, err)
		}
		j = wantJob(t, s, account, j.ID, jobs.JobCanceled, 5)
		changed := doc.MakeID(account, 2)
		must(s.AddTags(t.Context(), account, changed, []string{"later"}))(t)
		undo := must(s.UndoJob(t.Context(), account, j.ID, "US", false))(t)
		finishJobs(t, s)
		undo = wantJob(t, s, account, undo.ID, jobs.JobDone, 4)
		var at jobs.UndoProgress
		if err := json.Unmarshal(undo.Progress, &at); err != nil || at.Undone != 4 || at.Kept != 1 {
			t.Errorf("%v: undone: %s", err, undo.Progress)
		}
		rows, err := s.JobRows(t.Context(), account, undo.ID, 0, 10)
		if err != nil || len(rows) != 1 || rows[0].Contact != changed || rows[0].Outcome != jobs.ChangedSince {
			t.Errorf("%v: kept: %+v", err, rows)
		}
		if tags := get(t, s, account, changed).Tags; !slices.Equal(tags, []string{"seen", "later"}) {
			t.Errorf("the contact that was changed since has %q", tags)
		}
		if tags := get(t, s, account, doc.MakeID(account, 3)).Tags; len(tags) != 0 {
			t.Errorf("a contact still has %q", tags)
		}
	})
}

func TestJobsAreListedNewestFirst(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, other := newAccount(t, s).Number, newAccount(t, s).Number
		for range 5 {
			succeed(t, s.UpdateAccount(t.Context(), account, func(tx *store.Tx) error {
				jobs.SaveJob(tx, jobs.NewJob(tx, tx.Accounts[account], jobs.BulkJob, jobs.JobDone, struct{}{}))
				return nil
			}))
		}
		for page, want := range [][]int64{1: {5, 4}, 2: {3, 2}, 3: {1}, 4: nil} {
			if page == 0 {
				continue
			}
			found, result, err := s.Jobs(t.Context(), account, crm.PageRequest{Page: int64(page), PerPage: 2})
			if ids := store.Collect(found, func(j jobs.Job) int64 { return j.ID }); err != nil || result.Total != 5 || !slices.Equal(ids, want) {
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
	eachEngine(t, func(t *testing.T, s *Book) {
		clock := stopClock(s)
		account := newAccount(t, s).Number
		for _, state := range []jobs.JobState{jobs.JobUploading, jobs.JobMapping} {
			succeed(t, s.UpdateAccount(t.Context(), account, func(tx *store.Tx) error {
				jobs.SaveJob(tx, jobs.NewJob(tx, tx.Accounts[account], jobs.ImportJob, state, struct{}{}))
				return nil
			}))
		}
		for _, step := range []struct {
			after time.Duration
			want  [2]jobs.JobState
		}{{0, [2]jobs.JobState{jobs.JobUploading, jobs.JobMapping}}, {2 * jobs.JobUpload, [2]jobs.JobState{jobs.JobCanceled, jobs.JobMapping}}, {jobs.JobLimbo, [2]jobs.JobState{jobs.JobCanceled, jobs.JobCanceled}}} {
			clock.move(step.after)
			must(jobs.NewJobWorker(s.JobStore).Round(t.Context(), func(err error) { t.Error(err) }))(t)
			wantJob(t, s, account, 1, step.want[0], 0)
			wantJob(t, s, account, 2, step.want[1], 0)
		}
	})
}

// TestUndoThatWasStoppedGoesOn: what it has taken back so far does not count as a change by someone else, but what people have changed while it
// rested does.
func TestUndoThatWasStoppedGoesOn(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, j := startJob(t, s, 160)
		finishJobs(t, s)
		wantJob(t, s, account, j.ID, jobs.JobDone, 106) // more than one unit of work takes back
		undo, err := s.UndoJob(store.By(t.Context(), history.ConsoleChannel, "ana@example.org"), account, j.ID, "US", false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := jobs.NewJobWorker(s.JobStore).Step(t.Context(), &undo); err != nil {
			t.Fatal(err)
		}
		_, err = s.UndoJob(t.Context(), account, undo.ID, "US", false)
		wantError(t, "continuing an undo that runs", err, crm.ErrChanged)
		if _, err := s.CancelJob(t.Context(), account, undo.ID); err != nil {
			t.Fatal(err)
		}
		wantJob(t, s, account, undo.ID, jobs.JobCanceled, jobs.FirstUnit)
		changed := doc.MakeID(account, 2)
		if _, err := s.AddTags(t.Context(), account, changed, []string{"later"}); err != nil {
			t.Fatal(err)
		}
		if undo, err = s.UndoJob(store.By(t.Context(), history.ConsoleChannel, "bob@example.org"), account, undo.ID, "US", false); err != nil {
			t.Fatal(err)
		}
		finishJobs(t, s)
		undo = wantJob(t, s, account, undo.ID, jobs.JobDone, 105)
		var at jobs.UndoProgress
		if err := json.Unmarshal(undo.Progress, &at); err != nil || at.Undone != 105 || at.Kept != 1 || undo.Actor != "bob@example.org" {
			t.Errorf("%v: undone: %s by %s", err, undo.Progress, undo.Actor)
		}
		if n := withTag(t, s, account, "seen"); n != 54+1 {
			t.Errorf("%d contacts have the tag", n)
		}
		_, err = s.UndoJob(t.Context(), account, undo.ID, "US", false)
		wantError(t, "continuing an undo that has ended", err, crm.ErrChanged)
	})
}
