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

// Gate is the one way of reads that may take a processor for a while: long lists, files, histories. Accounts take
// turns, and each has one of them in work at a time, so that many requests of one account delay another account's by
// one piece of work at most. Half of the processors and of the connections stay free for everything else.
type Gate struct {
	Mu      sync.Mutex
	Free    int                 // places
	Working map[int64]bool      // accounts that have a place
	Lines   map[int64][]*waiter // accounts that wait, each in the order of its requests
	Turns   []int64             // the same accounts, the next one first
	Waiting int                 // requests in all lines
}

// waiter is a request in a line; its channel is closed when it has a place.
type waiter struct{ called chan struct{} }

// How many may wait: a client that asks for more at once gains nothing by waiting.
const (
	AccountWaits = 16
	AllWait      = 256
	gatePatience = 30 * time.Second // for the first place; an answer must be sent in a minute
)

// LightRows is how many rows a read may walk through without a turn: some milliseconds of work.
const LightRows = 5000

func NewGate(places int) *Gate {
	return &Gate{Free: places, Working: make(map[int64]bool), Lines: make(map[int64][]*waiter)}
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

// Through does work when it is the account's turn. Where too many wait already, it is refused at once.
func (g *Gate) Through(ctx context.Context, account int64, work func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, gatePatience, crm.ErrCrowded)
	defer cancel()
	return g.enter(ctx, account, AccountWaits, AllWait, work)
}

// Again is through for the next piece of work that was let in before: it waits for its turn as long as it takes.
func (g *Gate) Again(ctx context.Context, account int64, work func() error) error {
	return g.enter(ctx, account, math.MaxInt, math.MaxInt, work)
}

func (g *Gate) enter(ctx context.Context, account int64, most, all int, work func() error) error {
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
func (g *Gate) join(account int64, most, all int) (*waiter, error) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	switch {
	case len(g.Lines[account]) >= most:
		return nil, crm.ErrTooMany
	case g.Waiting >= all:
		return nil, crm.ErrCrowded
	}
	w := &waiter{called: make(chan struct{})}
	if len(g.Lines[account]) == 0 {
		g.Turns = append(g.Turns, account)
	}
	g.Lines[account] = append(g.Lines[account], w)
	g.Waiting++
	g.call()
	return w, nil
}

// quit takes a request out of its line; it is false where it is no longer in it.
func (g *Gate) quit(account int64, w *waiter) bool {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	at := slices.Index(g.Lines[account], w)
	if at >= 0 {
		g.remove(account, at)
	}
	return at >= 0
}

// leave gives a place back.
func (g *Gate) leave(account int64) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	delete(g.Working, account)
	g.Free++
	g.call()
}

// call gives free places to the accounts whose turn it is. One that is called goes behind all others.
func (g *Gate) call() {
	for i := 0; i < len(g.Turns) && g.Free > 0; {
		account := g.Turns[i]
		if g.Working[account] {
			i++
			continue
		}
		w := g.Lines[account][0]
		g.remove(account, 0)
		if at := slices.Index(g.Turns, account); at >= 0 {
			g.Turns = append(slices.Delete(g.Turns, at, at+1), account)
		}
		g.Free--
		g.Working[account] = true
		close(w.called)
	}
}

// remove takes a request out of a line, and an account whose line is empty out of the turns.
func (g *Gate) remove(account int64, at int) {
	g.Waiting--
	if g.Lines[account] = slices.Delete(g.Lines[account], at, at+1); len(g.Lines[account]) == 0 {
		delete(g.Lines, account)
		g.Turns = slices.DeleteFunc(g.Turns, func(a int64) bool { return a == account })
	}
}

// errHeavy: a read has found out that it must wait for its turn.
var errHeavy = errors.New("the read must wait for its turn")

// Admit is told how many rows a read will walk through, before it does.
type Admit func(rows int64) error

// InItsTurn admits a read that has waited for its turn, whatever it walks through.
func InItsTurn(int64) error { return nil }

// InTurn runs a read that may be a heavy one, which it tells by weigh: then it begins again when it is the account's
// turn. A light one does not wait.
func (s *Store) InTurn(ctx context.Context, account int64, read func(Admit) error) error {
	err := read(func(rows int64) error {
		if rows > s.Light {
			return errHeavy
		}
		return nil
	})
	if !errors.Is(err, errHeavy) {
		return err
	}
	return s.Heavy.Through(ctx, account, func() error { return read(InItsTurn) })
}
