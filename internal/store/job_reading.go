package store

import (
	"bytes"
	"context"
	"errors"
	"time"
)

// The file of an import is read beside the worker, so that no job waits for the file of another: it may take minutes to count the rows of a
// workbook, or to come to the row at which an import goes on. Files are opened in turns, one at a time, so that they keep no more than one
// processor busy.

// readingTurn is how long a file is read while others wait to be opened.
const readingTurn = 20 * time.Millisecond

// errReading: the next rows of a job's file are not there yet.
var errReading = errors.New("the file is being read")

// reading is a file that is read beside the worker.
type reading struct {
	turns chan struct{} // of the worker: a turn lasts from a send to a receive, and those who wait get it in their order
	since time.Time     // when the present turn began; zero where the file is open
	ready chan struct{} // of the worker
	stop  context.CancelFunc
	found Job  // as it was when its file was opened
	taken bool // rows of it were taken
}

func (r *reading) begin() {
	r.turns <- struct{}{}
	r.since = time.Now()
}

// pass lets others read, if the turn was long enough.
func (r *reading) pass() {
	if !r.since.IsZero() && time.Since(r.since) > readingTurn {
		<-r.turns
		r.begin()
	}
}

func (r *reading) end() {
	<-r.turns
	r.since = time.Time{}
}

// tell tells the worker that rows are there.
func (r *reading) tell() {
	select {
	case r.ready <- struct{}{}:
	default: // the worker will look anyway
	}
}

// take is the next unit, nil where it is not ready.
func (r *reading) take(ahead chan *importUnit) *importUnit {
	select {
	case u := <-ahead:
		r.taken = true
		return u
	default:
		return nil
	}
}

// overtaken tells whether the job has moved on while its file was opened: another node works on it.
func (r *reading) overtaken(j *Job) bool {
	return !r.taken && (j.State != r.found.State || !bytes.Equal(j.Progress, r.found.Progress) || !bytes.Equal(j.Spec, r.found.Spec))
}
