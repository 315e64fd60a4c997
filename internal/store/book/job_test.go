package book

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/rig"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/merges"
	"donorbook/internal/store/move"
)

// tagJob is a kind of job for tests, in the place of another one: it gives the tag "seen" to the contacts of an
// account, a few in each unit of work.
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
	return w.Advance(ctx, j, store.Needs{}, func(u store.Unit, next *jobs.Job) error {
		seq := at.Seq
		for range tagJobUnit {
			if seq == u.ContactSeq {
				return jobs.EndJob(u.Tx, next, jobs.JobDone)
			}
			seq++
			row, err := store.Load(u.Tx, j.Account, doc.MakeID(j.Account, seq))
			if err != nil {
				return err
			}
			if _, err := store.ChangeContact(u.Tx, row, 0, func(c crm.Contact) (crm.Contact, error) {
				return c.AddTags([]string{"seen"}, now)
			}); err != nil {
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
	succeed(t, s.UpdateAccount(store.By(t.Context(), history.ConsoleChannel, "ana@example.org"), account,
		func(tx *store.Tx) error {
			made := jobs.NewJob(tx.Account(account), tagJob, jobs.JobWaiting, struct{}{})
			tx.Insert(store.JobPartTable, account, made.ID, int64(1), []byte("part"))
			jobs.SaveJob(tx, made)
			j = *made
			return nil
		}))
	return account, j
}

// workRound does a unit of work of each account that has jobs.
func workRound(t testing.TB, w *jobs.JobWorker) (busy bool) {
	t.Helper()
	return must(w.Round(t.Context(), func(err error) { t.Error(err) }))(t)
}

// finishJobs works on jobs as a server does, until all have ended.
func finishJobs(t testing.TB, stores ...*Book) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	for _, s := range stores {
		working.Go(func() { s.WorkOnJobs(ctx, func(err error) { t.Error(err) }) })
	}
	await(t, "all jobs have ended", func() bool {
		open := must(store.List(t.Context(), stores[0].Store, jobs.ScanOpenJob, jobs.SQLOpenJobs))(t)
		return !slices.ContainsFunc(open, func(j jobs.Job) bool { return j.Working() })
	})
	stop()
	working.Wait()
}

// wantJob checks where a job stands, and how many changes it has made.
func wantJob(t testing.TB, s *Book, account, id int64, state jobs.JobState, changes int64) jobs.Job {
	t.Helper()
	j, err := s.Job(t.Context(), account, id)
	succeed(t, err)
	equal(t, j.State, state, "%v", j)
	succeed(t, s.Read(t.Context(), func(c db.Conn) error {
		n, err := c.Int(
			`SELECT count(*) FROM change WHERE account_id = $1 AND job = $2 AND revision >= $3 AND revision <= $4`,
			account, id, j.First, j.Last)
		equal(t, n, changes, "job %d has made changes", id)
		return err
	}))
	return j
}

// withTag is how many active contacts have a tag.
func withTag(t testing.TB, s *Book, account int64, name string) int64 {
	t.Helper()
	var n int64
	succeed(t, s.Read(t.Context(), func(c db.Conn) (err error) {
		n, err = c.Int(store.SQLTagCount, account, crm.FoldTag(name), name)
		return err
	}))
	return n
}

// A server that is killed between any two units of work goes on where it was, and no contact is changed twice.
func TestConcurrentJobGoesOnWhereItWas(t *testing.T) {
	s := newBook(t)
	account, j := startJob(t, s, 3*tagJobUnit+1)
	units := 0
	for workRound(t, jobs.NewJobWorker(s.JobStore)) { // each knows nothing of what was done before
		units++
	}
	equal(t, units <= 5, true, "%d units", units)
	j = wantJob(t, s, account, j.ID, jobs.JobDone, 8)
	expect(t, "who began it", fmt.Sprint("ana@example.org ", history.ConsoleChannel), j.Actor, j.Channel)
	equal(t, withTag(t, s, account, "seen"), 13, "contacts have the tag")
	equal(t, keptParts(t, s, j.Of()), 0, "parts are left")

	undo := must(s.UndoJob(store.By(t.Context(), history.ConsoleChannel, "bob@example.org"), account, j.ID, "US",
		false))(t)
	changedSince(t)(s.UndoJob(t.Context(), account, j.ID, "US", false))
	finishJobs(t, s)
	wantJob(t, s, account, undo.ID, jobs.JobDone, 8)
	equal(t, withTag(t, s, account, "seen"), 5, "contacts have the tag after it was undone")
	changedSince(t)(s.UndoJob(t.Context(), account, undo.ID, "US", false))
}

// Organizations share the time of the worker, however many jobs one of them has and however long its units of work
// take, and the jobs of one of them take turns.
func TestJobsOfOrganizationsTakeTurns(t *testing.T) {
	s := newBook(t)
	many, one, idle := newAccount(t, s).Number, newAccount(t, s).Number, newAccount(t, s).Number
	clock := stopClock(s)
	takes, steps, worked := make(map[int64]time.Duration), make(map[int64]int), make(map[jobs.JobOf]bool)
	s.Use(merges.MoveKind, move.EraseKind, jobs.Kind{Step: func(_ context.Context, _ *jobs.JobWorker,
		j *jobs.Job) error {
		if j.Account == idle {
			return jobs.ErrNotOurs
		}
		clock.move(takes[j.Account])
		steps[j.Account]++
		worked[j.Of()] = true
		return nil
	}}, move.EraseAll, s.LookOnce)
	begin := func(account int64, n int) {
		for range n {
			newJob(t, s, account, jobs.SureJob, jobs.JobWaiting)
		}
	}
	w := jobs.NewJobWorker(s.JobStore)
	rounds := func(n int) {
		clear(steps)
		for range n {
			equal(t, workRound(t, w), true)
		}
	}
	takes[many], takes[one] = 20*time.Millisecond, 20*time.Millisecond
	begin(many, 20)
	begin(idle, 1)
	rounds(10)
	begin(one, 1)
	rounds(10)
	equal(t, steps[one], 10, "of two whose units take as long, one had")
	equal(t, steps[many], 10, "of two whose units take as long, one had")
	for range 100 {
		if len(worked) < 21 {
			rounds(1)
		}
	}
	equal(t, len(worked), 21, "of 21 jobs were worked on")
	takes[many], takes[one] = 100*time.Millisecond, 5*time.Millisecond
	rounds(20)
	if steps[many] == 0 || steps[one] < 3*steps[many] {
		t.Errorf("one whose units are long had %d turns, and the other %d", steps[many], steps[one])
	}
}

func TestConcurrentTwoNodesWorkOnAJob(t *testing.T) {
	a, b := twoNodes(t)
	account, j := startJob(t, a, 40)
	finishJobs(t, withTagJobs(b), a)
	wantJob(t, a, account, j.ID, jobs.JobDone, 26)
	undo := must(b.UndoJob(t.Context(), account, j.ID, "US", false))(t)
	finishJobs(t, a, b)
	wantJob(t, a, account, undo.ID, jobs.JobDone, 26)
	equal(t, withTag(t, a, account, "seen"), 14, "contacts have the tag")
}

// A job that was canceled does nothing more. What it did can be undone, but for contacts that were changed since:
// they are listed.
func TestConcurrentJobIsCanceledAndUndone(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	account, j := startJob(t, s, 3*tagJobUnit)
	w := jobs.NewJobWorker(s.JobStore)
	for range 2 {
		workRound(t, w)
	}
	changedSince(t)(s.UndoJob(ctx, account, j.ID, "US", false))
	must(s.CancelJob(ctx, account, j.ID))(t)
	changedSince(t)(s.CancelJob(ctx, account, j.ID))
	equal(t, workRound(t, w), false, "it goes on")
	j = wantJob(t, s, account, j.ID, jobs.JobCanceled, 5)
	changed := doc.MakeID(account, 2)
	must(s.AddTags(ctx, account, changed, []string{"later"}))(t)
	wantUndone(t, s, must(s.UndoJob(ctx, account, j.ID, "US", false))(t), 4, 4, changed)
	equal(t, get(t, s, account, changed).Tags, []string{"seen", "later"}, "the contact that was changed since")
	equal(t, len(get(t, s, account, doc.MakeID(account, 3)).Tags), 0, "a contact still")
}

func TestJobsAreListedNewestFirst(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	account, other := newAccount(t, s).Number, newAccount(t, s).Number
	for range 5 {
		newJob(t, s, account, jobs.BulkJob, jobs.JobDone)
	}
	for page, want := range [][]int64{{5, 4}, {3, 2}, {1}, nil} {
		found, result := must2(s.Jobs(ctx, account, crm.PageRequest{Page: int64(page) + 1, PerPage: 2}))(t)
		equal(t, store.Collect(found, func(j jobs.Job) int64 { return j.ID }), want)
		equal(t, result.Total, 5)
	}
	notFound(t)(s.Job(ctx, other, 1))
}

// Files that no one goes on with are dropped.
func TestAnUploadThatIsLeftAloneIsDropped(t *testing.T) {
	s, account := newBookOf(t)
	clock := stopClock(s)
	newJob(t, s, account, jobs.ImportJob, jobs.JobUploading)
	newJob(t, s, account, jobs.ImportJob, jobs.JobMapping)
	for _, step := range []struct {
		after         time.Duration
		first, second jobs.JobState
	}{{0, jobs.JobUploading, jobs.JobMapping}, {2 * jobs.JobUpload, jobs.JobCanceled, jobs.JobMapping},
		{jobs.JobLimbo, jobs.JobCanceled, jobs.JobCanceled}} {
		clock.move(step.after)
		workRound(t, jobs.NewJobWorker(s.JobStore))
		wantJob(t, s, account, 1, step.first, 0)
		wantJob(t, s, account, 2, step.second, 0)
	}
}

// TestUndoThatWasStoppedGoesOn: what it has taken back so far does not count as a change by someone else, but what
// people have changed while it rested does.
func TestUndoThatWasStoppedGoesOn(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	account, j := startJob(t, s, 160)
	finishJobs(t, s)
	wantJob(t, s, account, j.ID, jobs.JobDone, 106) // more than one unit of work takes back
	undoes := func(who string, id int64) jobs.Job {
		return must(s.UndoJob(store.By(ctx, history.ConsoleChannel, who), account, id, "US", false))(t)
	}
	undo := undoes("ana@example.org", j.ID)
	must(jobs.NewJobWorker(s.JobStore).Step(ctx, &undo))(t)
	changedSince(t)(s.UndoJob(ctx, account, undo.ID, "US", false))
	must(s.CancelJob(ctx, account, undo.ID))(t)
	wantJob(t, s, account, undo.ID, jobs.JobCanceled, jobs.FirstUnit)
	changed := doc.MakeID(account, 2)
	must(s.AddTags(ctx, account, changed, []string{"later"}))(t)
	undo = undoes("bob@example.org", undo.ID)
	wantUndone(t, s, undo, 105, 105, changed)
	equal(t, must(s.Job(ctx, account, undo.ID))(t).Actor, "bob@example.org")
	equal(t, withTag(t, s, account, "seen"), 54+1, "contacts have the tag")
	changedSince(t)(s.UndoJob(ctx, account, undo.ID, "US", false))
}

// workUntil works on jobs as a server does, one round after the other.
func workUntil(t testing.TB, w *jobs.JobWorker, reached func() bool) {
	t.Helper()
	await(t, "what the worker works for", func() bool {
		if !reached() && !workRound(t, w) {
			select {
			case <-w.Ready:
			case <-time.After(time.Second):
			}
		}
		return reached()
	})
}

func stateOf(t testing.TB, s *Book, im jobs.Import) jobs.JobState {
	t.Helper()
	return must(s.Import(t.Context(), im.Account, im.ID))(t).State
}

func rowsOf(t testing.TB, s *Book, im jobs.Import) int64 {
	t.Helper()
	return must(s.Import(t.Context(), im.Account, im.ID))(t).Progress.Rows
}

// TestAnImportThatAPersonThoughtAboutGoesOnAtOnce: the worker has seen it before it was begun, and has other work all
// the time. One that waits for it follows at once.
func TestAnImportThatAPersonThoughtAboutGoesOnAtOnce(t *testing.T) {
	s := newBook(t)
	account, other := newAccount(t, s).Number, newAccount(t, s).Number
	long := upload(t, s, account, "first_name,last_name\n"+strings.Repeat("Ana,Rossi\n", 100*jobs.UnitRows))
	small, next := upload(t, s, other, "first_name,last_name\nEva,Meyer\n"),
		upload(t, s, other, "first_name,last_name\nJo,Doe\n")
	begin(t, s, long, false)
	w := jobs.NewJobWorker(s.JobStore)
	defer w.Forget(nil)
	workUntil(t, w, func() bool { return stateOf(t, s, long) == jobs.JobRunning })
	begin(t, s, small, false)
	begin(t, s, next, false)
	workUntil(t, w, func() bool { return stateOf(t, s, small) == jobs.JobDone && stateOf(t, s, next) == jobs.JobDone })
	equal(t, stateOf(t, s, long), jobs.JobRunning, "the long import is when the small ones are done")
}

// TestConcurrentNodeThatWasOvertakenImportsNothingTwice: it has read the first rows while another node has imported
// them.
func TestConcurrentNodeThatWasOvertakenImportsNothingTwice(t *testing.T) {
	a, b := twoNodes(t)
	account, rows, file := newAccount(t, a).Number, int64(2*jobs.UnitRows+1), "first_name,last_name,email\n"
	for i := range rows {
		file += fmt.Sprintf("Ana,Rossi,ana%d@example.org\n", i)
	}
	im := upload(t, a, account, file)
	begin(t, a, im, false)
	late := jobs.NewJobWorker(b.JobStore)
	defer late.Forget(nil)
	workRound(t, late)
	<-late.Ready
	first := jobs.NewJobWorker(a.JobStore)
	workUntil(t, first, func() bool { return rowsOf(t, a, im) > 0 })
	first.Forget(nil) // it was killed
	workUntil(t, late, func() bool { late.LookAgain(); return stateOf(t, b, im) == jobs.JobDone })
	im, err := b.Import(t.Context(), account, im.ID)
	if want := (jobs.ImportCounts{Rows: rows, Created: rows}); err != nil || im.Progress.ImportCounts != want {
		t.Errorf("%v: %+v, want %+v", err, im.Progress, want)
	}
}

// TestConcurrentImportFollowsOneThatFailed: a file that turns out to be broken leaves its place to the next one of
// the account.
func TestConcurrentImportFollowsOneThatFailed(t *testing.T) {
	file := rig.Workbook(t, "first_name,last_name\n"+strings.Repeat("Ana,Rossi\n", jobs.PreviewRows)+"<Jo,Doe")
	s, account := newBookOf(t)
	broken := must(s.UploadImport(t.Context(), account, jobs.ImportContacts, "people.xlsx", "US",
		bytes.NewReader(file)))(t)
	next := upload(t, s, account, "first_name,last_name\nEva,Meyer\n")
	begin(t, s, broken, false)
	begin(t, s, next, false)
	stopClock(s) // the worker will not look again by itself
	workUntil(t, jobs.NewJobWorker(s.JobStore), func() bool { return stateOf(t, s, next) == jobs.JobDone })
	expect(t, "the broken import", "failed 0", stateOf(t, s, broken), rowsOf(t, s, broken))
}

// TestRowsOfOldJobsAreForgotten: what an import has rejected is there for 30 days, and then nowhere. Jobs and newer
// rows stay.
func TestRowsOfOldJobsAreForgotten(t *testing.T) {
	s := newBook(t)
	clock := stopClock(s)
	account, other := newAccount(t, s).Number, newAccount(t, s).Number
	old := importFile(t, s, account, "First name,Email\nQuetzalina,q at secretxyz\n", jobs.MergeExisting)
	succeed(t, s.UpdateAccount(t.Context(), account, func(t *store.Tx) error {
		for i := range store.SweepUnit {
			jobs.NoteRow(t, &old.Job, jobs.JobRow{Number: int64(i + 10), Outcome: jobs.RowRejected,
				Data: jobs.JSONOf(jobs.RejectedRow{Reason: "why", Cells: []string{"Quetzalina", "q at secretxyz"}})})
		}
		return nil
	}))
	clock.move(20 * 24 * time.Hour)
	newer := importFile(t, s, other, "First name,Email\nDan,dan at secretxyz\n", jobs.MergeExisting)
	rejected := func(days time.Duration, im jobs.Import) int {
		t.Helper()
		clock.move(days * 24 * time.Hour)
		succeed(t, s.SweepJobs(t.Context()))
		var file bytes.Buffer
		succeed(t, s.WriteRejected(t.Context(), &im, &file))
		return strings.Count(file.String(), "secretxyz")
	}
	equal(t, rejected(9, old), store.SweepUnit+1, "after 29 days")
	equal(t, rejected(2, old), 0, "after 31 days")
	equal(t, rejected(0, newer), 1, "of the newer import")
	im := must(s.Import(t.Context(), account, old.ID))(t)
	expect(t, "the old import", "1 done", im.Progress.Rejected, im.State)
}

// wantUndone checks what came of an undo: how many changes it has made and taken back, and the contact that it has left
// alone.
func wantUndone(t *testing.T, s *Book, undo jobs.Job, changes, undone, kept int64) {
	t.Helper()
	finishJobs(t, s)
	var at jobs.UndoProgress
	succeed(t, json.Unmarshal(wantJob(t, s, undo.Account, undo.ID, jobs.JobDone, changes).Progress, &at))
	rows := must(s.JobRows(t.Context(), undo.Account, undo.ID, 0, 10))(t)
	expect(t, "undone and kept", fmt.Sprintln(undone, 1, 1, kept, jobs.ChangedSince), fmt.Sprintln(at.Undone, at.Kept,
		len(rows), rows[0].Contact, rows[0].Outcome))
}

// newJob makes a job that stands where it never comes from by itself.
func newJob(t *testing.T, s *Book, account int64, kind jobs.JobKind, state jobs.JobState) {
	t.Helper()
	succeed(t, s.UpdateAccount(t.Context(), account, func(tx *store.Tx) error {
		jobs.SaveJob(tx, jobs.NewJob(tx.Account(account), kind, state, struct{}{}))
		return nil
	}))
}
