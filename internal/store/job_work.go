package store

import (
	"context"
	"errors"
	"maps"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

const (
	jobLook   = time.Minute        // how often a node looks for work that another one has left
	jobLimbo  = 7 * 24 * time.Hour // an upload that no one goes on with is dropped after this
	jobUpload = time.Hour          // and one that did not come to its end
)

// openFiles is how many files are imported at once, one of each account, and openTurn how long one is open while others wait.
const (
	openFiles = 4
	openTurn  = time.Minute
)

// What is to be done is read for those that are worked on alone: it may be long.
const sqlOpenJobs = `SELECT account_id, id, kind, state, updated_at FROM job WHERE state IN ('uploading', 'mapping', 'waiting', 'running') ORDER BY account_id, id`

func scanOpenJob(r db.Row) Job {
	return Job{Account: r.Int(0), ID: r.Int(1), Kind: JobKind(r.Text(2)), State: JobState(r.Text(3)), UpdatedAt: moment(r.Int(4))}
}

// jobSteps are the kinds of jobs: each does one unit of work, by advance. A step ends the job when nothing is left to do.
var jobSteps = map[JobKind]func(ctx context.Context, w *jobWorker, j *Job) error{}

// jobWorker is what a node knows of the jobs that it works on.
type jobWorker struct {
	*JobStore
	left   map[jobOf]bool   // what has failed or is done by another node, until the next look
	looked time.Time        // when that was
	runs   map[jobOf]jobRun // what is kept between two units of work
	ready  chan struct{}    // something was read
}

// jobRun is what a node keeps of a job between two units of work, such as a file that is open.
type jobRun interface{ close() }

// jobOf is a job of an account.
type jobOf struct{ account, id int64 }

func (j *Job) of() jobOf { return jobOf{j.Account, j.ID} }

func newJobWorker(s *JobStore) *jobWorker {
	return &jobWorker{JobStore: s, left: make(map[jobOf]bool), runs: make(map[jobOf]jobRun), ready: make(chan struct{}, 1)}
}

// wakeJobs lets the worker know of new work.
func (s *JobStore) wakeJobs() {
	select {
	case s.jobsBegun <- struct{}{}:
	default: // it is awake
	}
}

// WorkOnJobs goes on with jobs until the context ends. While others wait for the database, it rests between two rounds for as long as the
// last one took, so that they have at least half of the time. report hears what went wrong; that is tried again at the next look.
func (s *JobStore) WorkOnJobs(ctx context.Context, report func(error)) {
	w := newJobWorker(s)
	defer w.forget(nil)
	for ctx.Err() == nil {
		start := time.Now()
		busy, err := w.round(ctx, report)
		if err != nil && ctx.Err() == nil {
			report(err)
		}
		var rest time.Duration
		var woken, ready chan struct{}
		switch {
		case !busy:
			rest, woken, ready = jobLook, s.jobsBegun, w.ready
		case s.Waiting() > 0:
			rest = time.Since(start)
		}
		select {
		case <-ctx.Done():
		case <-woken:
			w.lookAgain()
		case <-ready:
		case <-time.After(rest):
		}
	}
}

// lookAgain goes on with what was left.
func (w *jobWorker) lookAgain() {
	clear(w.left)
	w.looked = time.Now()
}

// round does one unit of work of each job, but for those that were left. It reports whether anything may be left to do.
func (w *jobWorker) round(ctx context.Context, report func(error)) (busy bool, err error) {
	if time.Since(w.looked) >= jobLook {
		w.lookAgain()
	}
	jobs, err := list(ctx, w.JobStore.Base, scanOpenJob, sqlOpenJobs)
	if err != nil {
		return false, err
	}
	w.forget(jobs)
	for i := range jobs {
		j := &jobs[i]
		if w.left[j.of()] || ctx.Err() != nil {
			continue
		}
		worked, err := w.step(ctx, j)
		busy = busy || worked
		if errors.Is(err, errReading) {
			continue
		}
		if err != nil || !worked && j.Working() { // what waits for a person may go on at any time
			w.left[j.of()] = true
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, errJobMoved) && !errors.Is(err, crm.ErrNotFound) {
			report(err)
		}
	}
	return busy, nil
}

// forget drops what is kept for jobs that have ended or wait for a person. Others may have waited for that.
func (w *jobWorker) forget(open []Job) {
	working := make(map[jobOf]bool, len(open))
	for i := range open {
		working[open[i].of()] = open[i].Working()
	}
	maps.DeleteFunc(w.left, func(of jobOf, _ bool) bool { return !working[of] }) // a person may continue it
	for of := range w.runs {
		if !working[of] {
			w.drop(of)
			clear(w.left)
		}
	}
}

// mayOpen tells whether a job may have a file open beside those of the others.
func (w *jobWorker) mayOpen(of jobOf) bool {
	others := 0
	for other, run := range w.runs {
		if _, isImport := run.(*importRun); !isImport {
			continue
		}
		if other.account == of.account && other != of {
			return false
		}
		others++
	}
	return w.runs[of] != nil || others < openFiles || w.makeRoom()
}

// makeRoom closes a file that has been open for long. Its import goes on when another one has ended or has been open for long; a dry run would have
// to begin again.
func (w *jobWorker) makeRoom() bool {
	for of, run := range w.runs {
		if run, isImport := run.(*importRun); isImport && run.trial == nil && time.Since(run.started) > openTurn {
			w.drop(of)
			return true
		}
	}
	return false
}

// mayRead tells whether the first rows of one more upload may be read. Where many wait for a large workbook, the others wait for them.
func (w *jobWorker) mayRead() bool {
	n := 0
	for _, run := range w.runs {
		if _, isUpload := run.(*uploadRun); isUpload {
			n++
		}
	}
	return n < 2*openFiles
}

// drop ends what is kept for a job.
func (w *jobWorker) drop(of jobOf) {
	if run := w.runs[of]; run != nil {
		run.close()
	}
	delete(w.runs, of)
}

// step does one unit of work of a job that is open. It reports whether there was any.
func (w *jobWorker) step(ctx context.Context, open *Job) (worked bool, err error) {
	age := w.now().Sub(open.UpdatedAt)
	switch {
	case open.State == JobMapping && age > jobLimbo, open.State == JobUploading && age > jobUpload:
		_, err := w.CancelJob(ctx, open.Account, open.ID)
		return false, err
	case !open.Working() || jobSteps[open.Kind] == nil:
		return false, nil
	}
	j, err := w.Job(ctx, open.Account, open.ID)
	if err != nil || !j.Working() {
		return false, err
	}
	err = jobSteps[j.Kind](ctx, w, &j)
	if errors.Is(err, errNotOurs) {
		return false, nil
	}
	return err == nil, err
}

// errNotOurs: a job is not for this node, such as an import whose file the command line reads.
var errNotOurs = errors.New("another process works on the job")
