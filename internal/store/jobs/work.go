package jobs

import (
	"context"
	"errors"
	"maps"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

const (
	JobLook   = time.Minute        // how often a node looks for work that another one has left
	JobLimbo  = 7 * 24 * time.Hour // an upload that no one goes on with is dropped after this
	JobUpload = time.Hour          // and one that did not come to its end
)

// OpenFiles is how many files are imported at once, one of each account, and openTurn how long one is open while others wait.
const (
	OpenFiles = 4
	OpenTurn  = time.Minute
)

// What is to be done is read for those that are worked on alone: it may be long.
const (
	SQLOpenJobs   = `SELECT account_id, id, kind, state, updated_at FROM job WHERE state IN ('uploading', 'mapping', 'waiting', 'running') ORDER BY account_id, id`
	SQLOpenJobsOf = `SELECT account_id, id, kind, state, updated_at FROM job WHERE account_id = $1 AND state IN ('uploading', 'mapping', 'waiting', 'running') ORDER BY id`
)

func ScanOpenJob(r db.Row) Job {
	return Job{Account: r.Int(0), ID: r.Int(1), Kind: JobKind(r.Text(2)), State: JobState(r.Text(3)), UpdatedAt: store.Moment(r.Int(4))}
}

// JobSteps are the kinds of jobs: each does one unit of work, by advance. A step ends the job when nothing is left to do.
var JobSteps = map[JobKind]func(ctx context.Context, w *JobWorker, j *Job) error{}

// JobWorker is what a node knows of the jobs that it works on.
type JobWorker struct {
	*JobStore
	left   map[JobOf]bool   // what has failed or is done by another node, until the next look
	looked time.Time        // when that was
	Runs   map[JobOf]jobRun // what is kept between two units of work
	Ready  chan struct{}    // something was read
}

// jobRun is what a node keeps of a job between two units of work, such as a file that is open.
type jobRun interface{ Close() }

// JobOf is a job of an account.
type JobOf struct{ Account, ID int64 }

func (j *Job) Of() JobOf { return JobOf{j.Account, j.ID} }

func NewJobWorker(s *JobStore) *JobWorker {
	return &JobWorker{JobStore: s, left: make(map[JobOf]bool), Runs: make(map[JobOf]jobRun), Ready: make(chan struct{}, 1)}
}

// WakeJobs lets the worker know of new work.
func (s *JobStore) WakeJobs() {
	select {
	case s.jobsBegun <- struct{}{}:
	default: // it is awake
	}
}

// WorkOnJobs goes on with jobs until the context ends. While others wait for the database, it rests between two rounds for as long as the
// last one took, so that they have at least half of the time. report hears what went wrong; that is tried again at the next look.
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
			s.Idle(ctx, report)
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
	w.looked = time.Now()
}

// Round does one unit of work of each job, but for those that were left. It reports whether anything may be left to do.
func (w *JobWorker) Round(ctx context.Context, report func(error)) (busy bool, err error) {
	if time.Since(w.looked) >= JobLook {
		w.LookAgain()
	}
	jobs, err := store.ListAll(ctx, w.JobStore.Base, ScanOpenJob, SQLOpenJobs, SQLOpenJobsOf)
	if err != nil {
		return false, err
	}
	w.Forget(jobs)
	for i := range jobs {
		j := &jobs[i]
		if w.left[j.Of()] || ctx.Err() != nil {
			continue
		}
		worked, err := w.Step(ctx, j)
		busy = busy || worked
		if errors.Is(err, errReading) {
			continue
		}
		if err != nil || !worked && j.Working() { // what waits for a person may go on at any time
			w.left[j.Of()] = true
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, ErrJobMoved) && !errors.Is(err, crm.ErrNotFound) {
			report(err)
		}
	}
	return busy, nil
}

// Forget drops what is kept for jobs that have ended or wait for a person. Others may have waited for that.
func (w *JobWorker) Forget(open []Job) {
	working := make(map[JobOf]bool, len(open))
	for i := range open {
		working[open[i].Of()] = open[i].Working()
	}
	maps.DeleteFunc(w.left, func(of JobOf, _ bool) bool { return !working[of] }) // a person may continue it
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

// makeRoom closes a file that has been open for long. Its import goes on when another one has ended or has been open for long; a dry run would have
// to begin again.
func (w *JobWorker) makeRoom() bool {
	for of, run := range w.Runs {
		if run, isImport := run.(*ImportRun); isImport && run.trial == nil && time.Since(run.Started) > OpenTurn {
			w.drop(of)
			return true
		}
	}
	return false
}

// mayRead tells whether the first rows of one more upload may be read. Where many wait for a large workbook, the others wait for them.
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
	case !open.Working() || JobSteps[open.Kind] == nil:
		return false, nil
	}
	j, err := w.Job(ctx, open.Account, open.ID)
	if err != nil || !j.Working() {
		return false, err
	}
	err = JobSteps[j.Kind](ctx, w, &j)
	if errors.Is(err, ErrNotOurs) {
		return false, nil
	}
	return err == nil, err
}

// errNotOurs: a job is not for this node, such as an import whose file the command line reads.
var ErrNotOurs = errors.New("another process works on the job")
