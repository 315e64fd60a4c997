package web

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"
)

// readsOfCaller is how many reads of one key or one user are made at once. More than that wait for each other, so that whoever asks for a
// hundred large pages at once delays everybody else by these few.
const readsOfCaller = 4

// turnPatience is how long a read waits for those before it. Its answer must be sent in a minute.
const turnPatience = 30 * time.Second

// caller is who asks: a key of the API, or a user of the console.
type caller struct{ key, user int64 }

// turns gives each caller a few places, in the order in which requests come.
type turns struct {
	mu      sync.Mutex
	callers map[caller]line
}

type line struct {
	inside  int
	waiting []chan struct{} // closed when it is their turn
}

func newTurns() *turns { return &turns{callers: make(map[caller]line)} }

func (t *turns) enter(ctx context.Context, c caller) error {
	t.mu.Lock()
	l := t.callers[c]
	if l.inside < readsOfCaller {
		l.inside++
		t.callers[c] = l
		t.mu.Unlock()
		return nil
	}
	called := make(chan struct{})
	l.waiting = append(l.waiting, called)
	t.callers[c] = l
	t.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, turnPatience, TooManyRequests(time.Second))
	defer cancel()
	select {
	case <-called:
		return nil
	case <-ctx.Done():
	}
	if !t.quit(c, called) {
		t.leave(c) // it was called meanwhile
	}
	return context.Cause(ctx)
}

// quit takes a request out of its line; it is false where it is no longer in it.
func (t *turns) quit(c caller, called chan struct{}) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.callers[c]
	at := slices.Index(l.waiting, called)
	if at >= 0 {
		l.waiting = slices.Delete(l.waiting, at, at+1)
		t.callers[c] = l
	}
	return at >= 0
}

// leave hands a place on to the next in line.
func (t *turns) leave(c caller) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.callers[c]
	if len(l.waiting) > 0 {
		close(l.waiting[0])
		l.waiting = slices.Delete(l.waiting, 0, 1)
	} else if l.inside--; l.inside == 0 {
		delete(t.callers, c)
		return
	}
	t.callers[c] = l
}

// InTurn waits until it is the turn of a read, by the key or the user that was noted. It holds its place until the answer begins: then
// it is made, and clients may be slow.
func InTurn(w http.ResponseWriter, r *http.Request) error {
	x := exchangeOf(w)
	if x.turns == nil || x.inTurn || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return nil
	}
	err := x.turns.enter(r.Context(), caller{x.key, x.user})
	x.inTurn = err == nil
	return err
}

// leaveTurn lets the next read of the caller begin.
func (x *exchange) leaveTurn() {
	if x.inTurn {
		x.inTurn = false
		x.turns.leave(caller{x.key, x.user})
	}
}
