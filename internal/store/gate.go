package store

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"donorbook/internal/crm"
)

// gate is the one way of reads that may take a processor for a while: long lists, files, histories. Accounts take turns, and each has one of
// them in work at a time, so that many requests of one account delay another account's by one piece of work at most. Half of the processors
// and of the connections stay free for everything else.
type gate struct {
	mu      sync.Mutex
	free    int                 // places
	working map[int64]bool      // accounts that have a place
	lines   map[int64][]*waiter // accounts that wait, each in the order of its requests
	turns   []int64             // the same accounts, the next one first
	waiting int                 // requests in all lines
}

// waiter is a request in a line; its channel is closed when it has a place.
type waiter struct{ called chan struct{} }

// How many may wait: a client that asks for more at once gains nothing by waiting.
const (
	accountWaits = 16
	allWait      = 256
	gatePatience = 30 * time.Second // for the first place; an answer must be sent in a minute
)

// lightRows is how many rows a read may walk through without a turn: some milliseconds of work.
const lightRows = 5000

func newGate(places int) *gate {
	return &gate{free: places, working: make(map[int64]bool), lines: make(map[int64][]*waiter)}
}

// gatePlaces leaves half of the processors and half of the readers to what is cheap.
func gatePlaces(pools []Pool) int {
	places := runtime.GOMAXPROCS(0)
	for _, pool := range pools {
		if pool.Name == "read" {
			places = min(places, int(pool.Max))
		}
	}
	return max(1, places/2)
}

// through does work when it is the account's turn. Where too many wait already, it is refused at once.
func (g *gate) through(ctx context.Context, account int64, work func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, gatePatience, crm.ErrCrowded)
	defer cancel()
	return g.enter(ctx, account, accountWaits, allWait, work)
}

// again is through for the next piece of work that was let in before: it waits for its turn as long as it takes.
func (g *gate) again(ctx context.Context, account int64, work func() error) error {
	return g.enter(ctx, account, math.MaxInt, math.MaxInt, work)
}

func (g *gate) enter(ctx context.Context, account int64, most, all int, work func() error) error {
	w, err := g.join(account, most, all)
	if err != nil {
		return err
	}
	select {
	case <-w.called:
	case <-ctx.Done():
		if !g.quit(account, w) {
			g.leave(account) // it was called meanwhile
		}
		return context.Cause(ctx)
	}
	defer g.leave(account)
	return work()
}

// join puts a request at the end of its account's line.
func (g *gate) join(account int64, most, all int) (*waiter, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case len(g.lines[account]) >= most:
		return nil, crm.ErrTooMany
	case g.waiting >= all:
		return nil, crm.ErrCrowded
	}
	w := &waiter{called: make(chan struct{})}
	if len(g.lines[account]) == 0 {
		g.turns = append(g.turns, account)
	}
	g.lines[account] = append(g.lines[account], w)
	g.waiting++
	g.call()
	return w, nil
}

// quit takes a request out of its line; it is false where it is no longer in it.
func (g *gate) quit(account int64, w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := slices.Index(g.lines[account], w)
	if at >= 0 {
		g.remove(account, at)
	}
	return at >= 0
}

// leave gives a place back.
func (g *gate) leave(account int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.working, account)
	g.free++
	g.call()
}

// call gives free places to the accounts whose turn it is. One that is called goes behind all others.
func (g *gate) call() {
	for i := 0; i < len(g.turns) && g.free > 0; {
		account := g.turns[i]
		if g.working[account] {
			i++
			continue
		}
		w := g.lines[account][0]
		g.remove(account, 0)
		if at := slices.Index(g.turns, account); at >= 0 {
			g.turns = append(slices.Delete(g.turns, at, at+1), account)
		}
		g.free--
		g.working[account] = true
		close(w.called)
	}
}

// remove takes a request out of a line, and an account whose line is empty out of the turns.
func (g *gate) remove(account int64, at int) {
	g.waiting--
	if g.lines[account] = slices.Delete(g.lines[account], at, at+1); len(g.lines[account]) == 0 {
		delete(g.lines, account)
		g.turns = slices.DeleteFunc(g.turns, func(a int64) bool { return a == account })
	}
}

// errHeavy: a read has found out that it must wait for its turn.
var errHeavy = errors.New("the read must wait for its turn")

// weigh is told how many rows a read will walk through, before it does.
type weigh func(rows int64) error

// inTurn runs a read that may be a heavy one, which it tells by weigh: then it begins again when it is the account's turn. A light one does
// not wait.
func (s *Base) inTurn(ctx context.Context, account int64, read func(weigh) error) error {
	err := read(func(rows int64) error {
		if rows > s.light {
			return errHeavy
		}
		return nil
	})
	if !errors.Is(err, errHeavy) {
		return err
	}
	return s.heavy.through(ctx, account, func() error { return read(func(int64) error { return nil }) })
}
