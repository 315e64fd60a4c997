package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
	"donorbook/internal/guard"
	"donorbook/internal/store"
)

const (
	JobLook   = time.Minute        // how often a node looks for work that another one has left
	JobLimbo  = 7 * 24 * time.Hour // an upload that no one goes on with is dropped after this
	JobUpload = time.Hour          // and one that did not come to its end
)

// OpenFiles is how many files are imported at once, one of each account, and openTurn how long one is open while others
// wait.
const (
	OpenFiles = 4
	OpenTurn  = time.Minute
)

// What is to be done is read for those that are worked on alone: it may be long.
const (
	SQLOpenJobs = `SELECT account_id, id, kind, state, updated_at FROM job
		WHERE state IN ('uploading', 'mapping', 'waiting', 'running') ORDER BY account_id, id`
	SQLOpenJobsOf = `SELECT account_id, id, kind, state, updated_at FROM job WHERE account_id = $1
		AND state IN ('uploading', 'mapping', 'waiting', 'running') ORDER BY id`
)

func ScanOpenJob(r db.Row) Job {
	return Job{Account: r.Int(0), ID: r.Int(1), Kind: JobKind(r.Text(2)), State: JobState(r.Text(3)),
		UpdatedAt: store.Moment(r.Int(4))}
}

// JobWorker is what a node knows of the jobs that it works on.
type JobWorker struct {
	*JobStore
	left   map[JobOf]bool   // what has failed or is done by another node, until the next look
	looked time.Time        // when that was
	Runs   map[JobOf]jobRun // what is kept between two units of work
	sizes  map[JobOf]int    // of their next units of work
	Ready  chan struct{}    // something was read
	turns  jobTurns
}

// jobRun is what a node keeps of a job between two units of work, such as a file that is open.
type jobRun interface{ Close() }

// JobOf is a job of an account.
type JobOf struct{ Account, ID int64 }

func (j *Job) Of() JobOf { return JobOf{j.Account, j.ID} }

func NewJobWorker(s *JobStore) *JobWorker {
	return &JobWorker{JobStore: s, left: make(map[JobOf]bool), Runs: make(map[JobOf]jobRun), sizes: make(map[JobOf]int),
		Ready: make(chan struct{}, 1),
		turns: jobTurns{used: make(map[int64]time.Duration), last: make(map[int64]int64)}}
}

// WakeJobs lets the worker know of new work.
func (s *JobStore) WakeJobs() {
	select {
	case s.jobsBegun <- struct{}{}:
	default: // it is awake
	}
}

// WorkOnJobs goes on with jobs until the context ends. While others wait for the database, it rests between two rounds
// for as long as the last one took, so that they have at least half of the time. report hears what went wrong; that is
// tried again at the next look.
func (s *JobStore) WorkOnJobs(ctx context.Context, report func(error)) {
	w := NewJobWorker(s)
	defer w.Forget(nil)
	for ctx.Err() == nil {
		start := time.Now()
		busy, err := w.Round(ctx, report)
		if err != nil && ctx.Err() == nil {
			report(err)
		}
		var rest time.Duration
		var woken, ready chan struct{}
		switch {
		case !busy:
			rest, woken, ready = JobLook, s.jobsBegun, w.Ready
			s.idle(ctx, report)
		case s.Waiting() > 0:
			rest = time.Since(start)
		}
		select {
		case <-ctx.Done():
		case <-woken:
			w.LookAgain()
		case <-ready:
		case <-time.After(rest):
		}
	}
}

// LookAgain goes on with what was left.
func (w *JobWorker) LookAgain() {
	clear(w.left)
	w.looked = w.Now()
}

// Round does one unit of work of each account that has jobs, but for those jobs that were left. The jobs of an account
// take turns. It reports whether anything may be left to do.
func (w *JobWorker) Round(ctx context.Context, report func(error)) (busy bool, err error) {
	if w.Now().Sub(w.looked) >= JobLook {
		w.LookAgain()
	}
	jobs, err := store.ListAll(ctx, w.JobStore.Store, ScanOpenJob, SQLOpenJobs, SQLOpenJobsOf)
	if err != nil {
		return false, err
	}
	w.Forget(jobs)
	waiting := make(map[int64][]*Job)
	for i := range jobs {
		switch j := &jobs[i]; {
		case !j.Working(): // what waits for a person may go on at any time
			_, err := w.Step(ctx, j)
			w.failed(ctx, j, err, report)
		case !w.left[j.Of()]:
			waiting[j.Account] = append(waiting[j.Account], j)
		}
	}
	for _, account := range w.turns.next(waiting) {
		begun, worked := w.Now(), false
		for _, j := range waiting[account] {
			if worked || ctx.Err() != nil {
				break
			}
			worked, err = w.Step(ctx, j)
			switch {
			case errors.Is(err, errReading):
			case err != nil || !worked:
				w.left[j.Of()] = true
				w.failed(ctx, j, err, report)
			}
			w.turns.last[account] = j.ID
		}
		w.turns.took(account, w.Now().Sub(begun), worked)
		busy = busy || worked
	}
	return busy || w.turns.passed, nil
}

// failed reports what went wrong with a job, and notes it.
func (w *JobWorker) failed(ctx context.Context, j *Job, err error, report func(error)) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrJobMoved) && !errors.Is(err, crm.ErrNotFound) &&
		!errors.Is(err, crm.ErrImporting) {
		report(errors.Join(err, w.noteTrouble(ctx, j.Of(), err)))
	}
}

// jobTurns says whose turn it is. Accounts share the time that is worked, however many jobs each of them has and
// however long their units of work take: who had more than another one passes until that one had as much.
type jobTurns struct {
	used   map[int64]time.Duration // by accounts that have jobs
	last   map[int64]int64         // the job of an account that had its turn last
	passed bool                    // someone passes
}

// next is whose turn it is among accounts with jobs that wait, oldest first. These are in the order of their turns
// then.
func (t *jobTurns) next(waiting map[int64][]*Job) (accounts []int64) {
	gone := func(account int64) bool { return len(waiting[account]) == 0 }
	maps.DeleteFunc(t.used, func(account int64, _ time.Duration) bool { return gone(account) })
	maps.DeleteFunc(t.last, func(account, _ int64) bool { return gone(account) })
	least := time.Duration(0)
	if len(t.used) > 0 {
		least = slices.Min(slices.Collect(maps.Values(t.used)))
	}
	t.passed = false
	for account, jobs := range waiting {
		if _, had := t.used[account]; !had {
			t.used[account] = least
		}
		if t.used[account] >= least+unitTime {
			t.passed = true
			continue
		}
		accounts = append(accounts, account)
		if at := slices.IndexFunc(jobs, func(j *Job) bool { return j.ID > t.last[account] }); at > 0 {
			waiting[account] = slices.Concat(jobs[at:], jobs[:at])
		}
	}
	slices.Sort(accounts)
	return accounts
}

// took notes how long an account had its turn. Who has nothing to do now does not save time up for later.
func (t *jobTurns) took(account int64, used time.Duration, worked bool) {
	if t.used[account] += used; !worked {
		for _, other := range t.used {
			t.used[account] = max(t.used[account], other)
		}
	}
}

// JobTries is how often a step of a job may fail, one time after the other, before the job fails: once a minute. A
// database that takes no changes does not count.
const JobTries = 10

// Trouble is why a job has failed, or does not get on. It stands beside its progress, so that a step that succeeds
// forgets it.
type Trouble struct {
	Tries int    `json:"tries,omitempty"`
	Error string `json:"error,omitempty"`
}

// Trouble is what was noted of a job that has failed or does not get on.
func (j *Job) Trouble() (found Trouble) {
	_ = json.Unmarshal(j.Progress, &found) // what cannot be read says less
	return found
}

// noteTrouble notes that a step has failed, and lets the job fail where it was tried often enough.
func (w *JobWorker) noteTrouble(ctx context.Context, of JobOf, cause error) error {
	_, err := w.ChangeJob(ctx, of.Account, of.ID, func(u store.Unit, j *Job) error {
		var progress map[string]json.RawMessage
		if err := json.Unmarshal(j.Progress, &progress); err != nil || !j.Working() {
			return err
		}
		tries := j.Trouble().Tries + 1
		progress["tries"], progress["error"] = JSONOf(tries), JSONOf(saysWhy(cause))
		if j.Progress = JSONOf(progress); tries < JobTries {
			return nil
		}
		return EndJob(u.Tx, j, JobFailed)
	})
	return err
}

// saysWhy is what a person may know of an error. The log has the rest.
func saysWhy(err error) string {
	var damaged *store.Damaged
	var refused *doc.Invalid
	switch {
	case errors.As(err, &damaged):
		return damaged.Error()
	case errors.As(err, &refused):
		return refused.Error()
	}
	return "The server could not go on. Its log says why."
}

// Retryable tells whether a person may let a job that has failed go on. An undo is continued, and a file that cannot be
// read is sent again.
func (j *Job) Retryable() bool {
	return j.State == JobFailed && j.Kind != ImportJob && j.Kind != UndoingJob
}

// RetryJob lets a job that has failed go on where it was.
func (s *JobStore) RetryJob(ctx context.Context, account, id int64) (Job, error) {
	j, err := s.ChangeJob(ctx, account, id, func(_ store.Unit, j *Job) error {
		if !j.Retryable() {
			return crm.ErrChanged
		}
		var progress map[string]json.RawMessage
		if err := json.Unmarshal(j.Progress, &progress); err != nil {
			return err
		}
		delete(progress, "tries")
		delete(progress, "error")
		j.State, j.Progress = JobWaiting, JSONOf(progress)
		return nil
	})
	if err == nil {
		s.WakeJobs()
	}
	return j, err
}

// Forget drops what is kept for jobs that have ended or wait for a person. Others may have waited for that.
func (w *JobWorker) Forget(open []Job) {
	working := make(map[JobOf]bool, len(open))
	for i := range open {
		working[open[i].Of()] = open[i].Working()
	}
	maps.DeleteFunc(w.left, func(of JobOf, _ bool) bool { return !working[of] }) // a person may continue it
	maps.DeleteFunc(w.sizes, func(of JobOf, _ int) bool { return !working[of] })
	for of := range w.Runs {
		if !working[of] {
			w.drop(of)
			clear(w.left)
		}
	}
}

// mayOpen tells whether a job may have a file open beside those of the others.
func (w *JobWorker) mayOpen(of JobOf) bool {
	others := 0
	for other, run := range w.Runs {
		if _, isImport := run.(*ImportRun); !isImport {
			continue
		}
		if other.Account == of.Account && other != of {
			return false
		}
		others++
	}
	return w.Runs[of] != nil || others < OpenFiles || w.makeRoom()
}

// makeRoom closes a file that has been open for long. Its import goes on when another one has ended or has been open
// for long; a dry run would have to begin again.
func (w *JobWorker) makeRoom() bool {
	for of, run := range w.Runs {
		if run, isImport := run.(*ImportRun); isImport && run.trial == nil && time.Since(run.Started) > OpenTurn {
			w.drop(of)
			return true
		}
	}
	return false
}

// mayRead tells whether the first rows of one more upload may be read. Where many wait for a large workbook, the others
// wait for them.
func (w *JobWorker) mayRead() bool {
	n := 0
	for _, run := range w.Runs {
		if _, isUpload := run.(*uploadRun); isUpload {
			n++
		}
	}
	return n < 2*OpenFiles
}

// drop ends what is kept for a job.
func (w *JobWorker) drop(of JobOf) {
	if run := w.Runs[of]; run != nil {
		run.Close()
	}
	delete(w.Runs, of)
}

// Step does one unit of work of a job that is open. It reports whether there was any.
func (w *JobWorker) Step(ctx context.Context, open *Job) (worked bool, err error) {
	age := w.Now().Sub(open.UpdatedAt)
	switch {
	case open.State == JobMapping && age > JobLimbo, open.State == JobUploading && age > JobUpload:
		_, err := w.CancelJob(ctx, open.Account, open.ID)
		return false, err
	case !open.Working() || w.kinds[open.Kind].Step == nil:
		return false, nil
	}
	j, err := w.Job(ctx, open.Account, open.ID)
	if err != nil || !j.Working() {
		return false, err
	}
	err = guard.Do(func() error { return w.kinds[j.Kind].Step(ctx, w, &j) })
	var panicked *guard.Panicked
	if errors.As(err, &panicked) {
		w.drop(j.Of()) // what is kept of it may be half done
	}
	if errors.Is(err, ErrNotOurs) {
		return false, nil
	}
	if err == nil {
		w.setPace(&j)
	}
	return err == nil, err
}

// unitTime is for how long a unit of work may keep others from writing, about. How much is done in that time depends on
// the machine, on the database and on what is done.
const unitTime = 50 * time.Millisecond

// The sizes of units of work: the first one of a job, and between which they move.
const (
	FirstUnit = 50
	leastUnit = 10
	mostUnit  = 500
)

// UnitSize is how many changes the next unit of work of a job should make.
func (w *JobWorker) UnitSize(j *Job) int {
	if size := w.sizes[j.Of()]; size != 0 {
		return size
	}
	return FirstUnit
}

// setPace makes the next unit of work of a job larger where the last one was short, and smaller where it was long.
func (w *JobWorker) setPace(j *Job) {
	switch size := w.UnitSize(j); {
	case j.held > unitTime:
		w.sizes[j.Of()] = max(leastUnit, size/2)
	case j.held > 0 && j.held < unitTime/3:
		w.sizes[j.Of()] = min(mostUnit, size*2)
	}
}

// errNotOurs: a job is not for this node, such as an import whose file the command line reads.
var ErrNotOurs = errors.New("another process works on the job")
