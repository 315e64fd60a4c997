package store

import (
	"context"
	"errors"
	"time"

	"donorbook/internal/guard"
)

// DueRow is a row that is due, such as an email that waits to be sent.
type DueRow struct{ Account, ID int64 }

// DueWork works on rows that are due, one by one: none waits until others are done. Accounts take turns. A row that
// somebody waits for goes first; so that neither kind keeps the other from working, each has places of its own. What
// takes long leaves its place to the next row and goes on beside it.
type DueWork struct {
	// Find lists rows that are due, as many as most, of the first accounts after one and in their order: those that
	// somebody waits for, or the others.
	Find func(ctx context.Context, awaited bool, after int64, most int) ([]DueRow, error)

	// Do works on a row. Another node may do so at the same time: the row must be claimed first. An error leaves the
	// row as it was: it is tried again at the next look.
	Do func(ctx context.Context, of DueRow) error

	Report func(error) // hears these errors
}

// How many rows a node works on at once of one kind (awaited or not), and how many of these of one account.
var duePlaces = [2]int{4, 3}

const (
	dueLook = 10 * time.Second // between looks for rows that have become due, or that another node has queued
	dueLong = 5 * time.Second  // after which a row leaves its place
	dueHeld = 5                // times as many as there are places, those that take long among them
)

// dueRun is what is known while rows are worked on.
type dueRun struct {
	*DueWork
	busy   map[DueRow]dueBegun
	failed map[DueRow]bool // until the next look
	done   chan dueDone
	lines  [2]dueLine // of the rows that nobody waits for, and of the others
}

// dueLine are the rows of one kind.
type dueLine struct {
	account int64 // that had its turn last
	more    bool  // there may be rows that are due
}

type dueBegun struct {
	at      time.Time
	awaited bool
}

type dueDone struct {
	of  DueRow
	err error
}

func (w *DueWork) begin() *dueRun {
	r := &dueRun{DueWork: w, busy: make(map[DueRow]dueBegun), done: make(chan dueDone)}
	r.look()
	return r
}

// Run works on what is due until the context ends. woken says that a row was queued.
func (w *DueWork) Run(ctx context.Context, woken <-chan struct{}) {
	r := w.begin()
	for next := time.Now().Add(dueLook); ctx.Err() == nil; {
		if err := r.fill(ctx); err != nil && ctx.Err() == nil {
			w.Report(err)
		}
		select {
		case <-ctx.Done():
		case done := <-r.done:
			r.end(ctx, done)
		case <-woken:
			r.expect()
		case <-time.After(r.rest(next)):
			if !time.Now().Before(next) {
				next = time.Now().Add(dueLook)
				r.look()
			}
		}
	}
	for len(r.busy) > 0 {
		r.end(ctx, <-r.done)
	}
}

// Empty works on everything that is due now.
func (w *DueWork) Empty(ctx context.Context) error {
	r := w.begin()
	for failed := error(nil); ; {
		failed = errors.Join(failed, r.fill(ctx))
		if len(r.busy) == 0 {
			return failed
		}
		r.end(ctx, <-r.done)
	}
}

// look lets everything be found again.
func (r *dueRun) look() {
	r.failed = make(map[DueRow]bool)
	r.expect()
}

func (r *dueRun) expect() { r.lines[0].more, r.lines[1].more = true, true }

// fill gives free places to rows that are due.
func (r *dueRun) fill(ctx context.Context) error {
	for _, awaited := range []bool{true, false} {
		for r.line(awaited).more && r.fits(awaited) && ctx.Err() == nil {
			of, found, err := r.next(ctx, awaited)
			if err != nil {
				r.lines[0].more, r.lines[1].more = false, false
				return err
			}
			if !found {
				break
			}
			r.line(awaited).account = of.Account
			r.busy[of] = dueBegun{time.Now(), awaited}
			go func() { r.done <- dueDone{of, guard.Do(func() error { return r.Do(ctx, of) })} }()
		}
	}
	return nil
}

func (r *dueRun) line(awaited bool) *dueLine {
	if awaited {
		return &r.lines[1]
	}
	return &r.lines[0]
}

// next is a row of the account whose turn it is. An account that has as many in work as it may is passed over.
func (r *dueRun) next(ctx context.Context, awaited bool) (of DueRow, found bool, err error) {
	most := dueHeld*duePlaces[0] + len(r.failed) + 1 // so that one of them is new
	line, passed := r.line(awaited), false
	start := line.account
	for after, around := start, false; ; {
		rows, err := r.Find(ctx, awaited, after, most)
		if err != nil {
			return of, false, err
		}
		for _, of := range rows {
			_, busy := r.busy[of]
			switch {
			case around && of.Account > start:
				line.more = passed
				return of, false, nil
			case busy || r.failed[of]:
			case r.fitsOf(awaited, of.Account):
				return of, true, nil
			default:
				passed = true
			}
		}
		switch {
		case len(rows) > 0:
			after = rows[len(rows)-1].Account
		case !around:
			after, around = -1, true
		default:
			line.more = passed
			return of, false, nil
		}
	}
}

func (r *dueRun) fits(awaited bool) bool                  { return r.free(awaited, -1, 1) }
func (r *dueRun) fitsOf(awaited bool, account int64) bool { return r.free(awaited, account, 2) }

// free tells whether one more row can be worked on, by the first limits alone.
func (r *dueRun) free(awaited bool, account int64, limits int) bool {
	var placed, held [2]int
	for of, begun := range r.busy {
		for i, counts := range [2]bool{true, of.Account == account} {
			if !counts || begun.awaited != awaited {
				continue
			}
			held[i]++
			if time.Since(begun.at) < dueLong {
				placed[i]++
			}
		}
	}
	for i, most := range duePlaces[:limits] {
		if placed[i] >= most || held[i] >= dueHeld*most {
			return false
		}
	}
	return true
}

// rest is the time until the next look, or until a row leaves its place.
func (r *dueRun) rest(next time.Time) time.Duration {
	rest := time.Until(next)
	for _, begun := range r.busy {
		if left := dueLong - time.Since(begun.at); left > 0 {
			rest = min(rest, left)
		}
	}
	return rest
}

// end notes that a row is done.
func (r *dueRun) end(ctx context.Context, done dueDone) {
	delete(r.busy, done.of)
	if done.err != nil {
		if r.failed[done.of] = true; ctx.Err() == nil {
			r.Report(done.err)
		}
	}
}
