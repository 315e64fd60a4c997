package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"donorbook/internal/crm"
)

// gate lets so many through at once, and of each account one. A list that is sifted may take a processor for a while: one client must not
// take all of them, and one organization must not keep the others waiting.
type gate struct {
	places chan struct{}
	mu     sync.Mutex
	queues map[int64]*accountQueue
}

// accountQueue is where the lists of an account wait for each other.
type accountQueue struct {
	place chan struct{}
	users int // lists that wait or work
}

func newGate(places int) *gate {
	return &gate{places: make(chan struct{}, places), queues: make(map[int64]*accountQueue)}
}

// siftPatience is how long a list waits for its turn.
const siftPatience = 10 * time.Second

func (g *gate) through(ctx context.Context, account int64, work func() error) error {
	q := g.join(account)
	defer g.quit(account, q)
	patience := time.NewTimer(siftPatience)
	defer patience.Stop()
	for _, place := range []chan struct{}{q.place, g.places} {
		select {
		case place <- struct{}{}:
			defer func() { <-place }()
		case <-patience.C:
			return fmt.Errorf("other lists with filters take too long: %w", crm.ErrUnavailable)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return work()
}

func (g *gate) join(account int64) *accountQueue {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.queues[account]
	if q == nil {
		q = &accountQueue{place: make(chan struct{}, 1)}
		g.queues[account] = q
	}
	q.users++
	return q
}

func (g *gate) quit(account int64, q *accountQueue) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if q.users--; q.users == 0 {
		delete(g.queues, account)
	}
}
