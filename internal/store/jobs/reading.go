package jobs

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"donorbook/internal/guard"
)

// Files that were uploaded are read in turns, so that they keep no more than one processor busy: some of one file, then
// some of the next, whichever account it belongs to. The file of an import is read beside the worker, so that no job
// waits for the file of another: it may take minutes to count the rows of a workbook, or to come to the row at which an
// import goes on.

// openedFiles bounds what all files that are being read take together.
type openedFiles struct {
	Turn    chan struct{} // a turn lasts from a send to a receive, and those who wait get it in their order
	keeping chan struct{} // parts of files that are written at once
	headers chan struct{} // uploads whose first rows are read at once
	Large   chan struct{} // workbooks with many texts, which are in memory as long as the file is open
	Waiting atomic.Int64  // others that would be open as well

	Patience time.Duration // how long someone waits for the first rows of an upload
}

func newOpenedFiles() *openedFiles {
	return &openedFiles{Turn: make(chan struct{}, 1), keeping: make(chan struct{}, 4), headers: make(chan struct{}, 4),
		Large: make(chan struct{}, 1), Patience: 5 * time.Second}
}

const (
	readingTurn = 20 * time.Millisecond // how long a file is read while others wait
	SmallTexts  = 4 << 20               // bytes that the texts of any workbook may have
	LargeTurn   = 30 * time.Second      // how long a large workbook is open while others wait
)

// within waits for a place, and is what gives it back.
func within(ctx context.Context, places chan struct{}) (leave func(), err error) {
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// errReading: the next rows of a job's file are not there yet.
var errReading = errors.New("the file is being read")

// reading is a file that is read in turns.
type reading struct {
	ctx    context.Context //nolint:containedctx // of the reading itself; io.ReaderAt has none
	files  *openedFiles
	since  time.Time // when the present turn began; zero where it is not this file's turn
	header func()    // gives the place of an upload back; nil where it has none
	Large  func()    // gives the place of a large workbook back; nil where it has none
	Opened time.Time // when it got that one
	hurry  bool      // someone waits, so that it does not wait for a large workbook of another one

	// Of an import that is read beside the worker:
	tell  func() // tells the worker that rows are there
	stop  context.CancelFunc
	found Job  // as it was when its file was opened
	taken bool // rows of it were taken
}

func (r *reading) begin() error {
	select {
	case r.files.Turn <- struct{}{}:
		r.since = time.Now()
		return nil
	case <-r.ctx.Done():
		return r.ctx.Err()
	}
}

// pass lets others read, if the turn was long enough.
func (r *reading) pass() error {
	if r.since.IsZero() || time.Since(r.since) <= readingTurn {
		return r.ctx.Err()
	}
	r.end()
	return r.begin()
}

func (r *reading) end() {
	if !r.since.IsZero() {
		<-r.files.Turn
		r.since = time.Time{}
	}
}

// errLarge: a workbook must wait until another one is read.
var errLarge = errors.New("another large workbook is open")

// hold waits until a workbook with many texts may have them in memory. Others read meanwhile.
func (r *reading) hold(bytes int64) (err error) {
	if bytes <= SmallTexts || r.Large != nil {
		return nil
	}
	if r.hurry && len(r.files.Large) == cap(r.files.Large) {
		return errLarge
	}
	r.end()
	if r.header != nil { // the place of a large workbook is scarcer, and it waits with what is small
		r.header()
		r.header = nil
	}
	r.files.Waiting.Add(1)
	defer r.files.Waiting.Add(-1)
	if r.Large, err = within(r.ctx, r.files.Large); err != nil {
		return err
	}
	r.Opened = time.Now()
	return r.begin()
}

// wanted tells whether a large workbook has been open for long and others wait to be.
func (r *reading) wanted() bool {
	return r.Large != nil && r.files.Waiting.Load() > 0 && time.Since(r.Opened) > LargeTurn
}

// Close gives back what the file holds. No row of it is read any more.
func (r *reading) Close() {
	r.end()
	for _, leave := range []*func(){&r.header, &r.Large} {
		if *leave != nil {
			(*leave)()
			*leave = nil
		}
	}
}

// tell tells the worker that something was read.
func (w *JobWorker) tell() {
	select {
	case w.Ready <- struct{}{}:
	default: // the worker will look anyway
	}
}

// ReadOn prepares the next unit beside everything else.
func (r *ImportRun) ReadOn(prepare func() *importUnit) {
	go func() {
		u := new(importUnit)
		err := guard.Do(func() error {
			if r.Beside == nil {
				u = prepare()
			} else {
				u = r.inTurn(prepare)
			}
			return nil
		})
		if err != nil {
			u = &importUnit{Err: err}
		}
		if r.Ahead <- u; r.Beside != nil {
			r.Beside.tell()
		}
	}()
}

// inTurn prepares a unit while it is the file's turn to be read.
func (r *ImportRun) inTurn(prepare func() *importUnit) *importUnit {
	if err := r.Beside.begin(); err != nil {
		return &importUnit{Err: err}
	}
	defer r.Beside.end()
	if err := r.giveWay(); err != nil {
		return &importUnit{Err: err}
	}
	return prepare()
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
	return !r.taken && (j.State != r.found.State || !bytes.Equal(j.Progress, r.found.Progress) ||
		!bytes.Equal(j.Spec, r.found.Spec))
}
