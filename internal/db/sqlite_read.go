package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// sqliteReadTime is how long one request reads at most, so that no bad plan keeps a reader for good.
const sqliteReadTime = time.Minute

func (e *sqliteEngine) reader(ctx context.Context) (conn, error) {
	open := false
	select {
	case _, open = <-e.read:
	default: // to wait costs an allocation, so only where it is needed
		select {
		case _, open = <-e.read:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if !open {
		return nil, fmt.Errorf("%w: the store is closed", ErrUnavailable)
	}
	e.mu.Lock()
	if last := len(e.idle) - 1; last >= 0 {
		defer e.mu.Unlock()
		c := e.idle[last]
		e.idle = e.idle[:last]
		c.serve(ctx)
		return c, nil
	}
	e.mu.Unlock()
	c, err := e.open()
	if err != nil {
		e.read <- struct{}{}
		return nil, e.translate(err)
	}
	c.serve(ctx)
	return c, nil
}

// reading is what a reader does for a request. SQLite asks now and then whether it goes on.
type reading struct {
	context.Context
	now    func() time.Time
	until  time.Time // zero before the first time that it is asked
	isLong bool      // it has as much time as it takes
}

func (r *reading) Err() error {
	if err := r.Context.Err(); err != nil || r.isLong {
		return err
	}
	switch now := r.now(); {
	case r.until.IsZero():
		r.until = now.Add(sqliteReadTime)
	case now.After(r.until):
		return context.DeadlineExceeded
	}
	return nil
}

// serve has statements end when a client leaves, or reads for too long.
func (c *sqliteConn) serve(ctx context.Context) {
	c.reading = reading{Context: ctx, now: c.engine.now}
	c.db.SetInterrupt(&c.reading)
}

func (c *sqliteConn) takeTime(context.Context) { c.reading.isLong = true }

// translate is the engine's, which does not know why a read has ended early.
func (c *sqliteConn) translate(err error) error {
	switch {
	case err == nil || !errors.Is(err, sqlite3.INTERRUPT) || c.reading.Context == nil:
		return c.engine.translate(err)
	case c.reading.Context.Err() != nil:
		return c.reading.Context.Err()
	}
	return because(ErrUnavailable, err)
}
