package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"donorbook/internal/crm"
)

const (
	batchLimit   = 100                     // changes that commit together at most; more gain nothing
	batchTimeout = 15 * time.Second        // for a batch, up to its commit
	retryTime    = 1500 * time.Millisecond // in which a batch is begun again where the database says that it did not happen
	patience     = time.Second             // a failure that took longer is told to everybody who waits
)

// writer is the one that changes the database. It takes whatever is waiting, runs it in one transaction, commits once
// and answers all: with many clients a flush of the disk is shared, with one client nobody waits for a timer.
type writer struct {
	engine  engine
	done    chan struct{}
	waiting atomic.Int64 // changes that are queued or being committed

	mu      sync.RWMutex // guards the end of the queue
	stopped bool
	queue   chan *change
}

// change is one queued update.
type change struct {
	ctx      context.Context
	account  int64
	needs    needs
	fn       func(*tx) error
	err      error
	finished chan struct{}
	next     *change // who is told after this one
}

func startWriter(e engine) *writer {
	w := &writer{engine: e, queue: make(chan *change, 4*batchLimit), done: make(chan struct{})}
	go w.run()
	return w
}

// stop finishes what is queued; what comes later is refused.
func (w *writer) stop() {
	w.mu.Lock()
	w.stopped = true
	close(w.queue)
	w.mu.Unlock()
	<-w.done
}

// do queues a change and waits until it is on disk or refused. Once it has begun, a client that goes away does not
// cancel it.
func (w *writer) do(ctx context.Context, account int64, needs needs, fn func(*tx) error) error {
	c := &change{ctx: ctx, account: account, needs: needs, fn: fn, finished: make(chan struct{})}
	w.waiting.Add(1)
	defer w.waiting.Add(-1)
	if err := w.enqueue(c); err != nil {
		return err
	}
	<-c.finished
	if c.next != nil {
		close(c.next.finished)
	}
	return c.err
}

func (w *writer) enqueue(c *change) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.stopped {
		return crm.ErrUnavailable
	}
	select {
	case w.queue <- c:
		return nil
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
}

func (w *writer) run() {
	defer close(w.done)
	batch := make([]*change, 0, batchLimit)
	for first := range w.queue {
		batch = w.collect(append(batch[:0], first))
		start := time.Now()
		err := w.commit(batch)
		release(batch)
		clear(batch)
		if errors.Is(err, crm.ErrUnavailable) && time.Since(start) > patience {
			w.refuse(err)
		}
	}
}

// release tells a batch how it went: the first ones, each of which tells the next. Were all told at once, they would stand in
// the way of everybody else who wants a processor, such as those who only read.
func release(batch []*change) {
	for i, c := range batch {
		if i+releases < len(batch) {
			c.next = batch[i+releases]
		}
	}
	for _, c := range batch[:min(releases, len(batch))] {
		close(c.finished)
	}
}

// releases is how many of a batch go on at once.
const releases = 2

// refuse tells everybody who waits that the database is away. To let each of them find out by itself would make the last
// one wait for all the others.
func (w *writer) refuse(err error) {
	for range len(w.queue) {
		c := <-w.queue
		c.err = err
		close(c.finished)
	}
}

// collect takes what is waiting, without waiting for more: but whoever is about to queue a change, and only wants a processor
// for it, gets one first. A larger batch costs less than two.
func (w *writer) collect(batch []*change) []*change {
	for {
		runtime.Gosched()
		before := len(batch)
		if batch = w.take(batch); len(batch) == before || len(batch) == batchLimit {
			return batch
		}
	}
}

// take takes what is in the queue.
func (w *writer) take(batch []*change) []*change {
	for len(batch) < batchLimit {
		select {
		case c, open := <-w.queue:
			if !open {
				return batch
			}
			batch = append(batch, c)
		default:
			return batch
		}
	}
	return batch
}

// commit runs the batch together; where one of it spoils the transaction, each runs alone.
func (w *writer) commit(batch []*change) (err error) {
	// Every node locks accounts in the same order, so that no two wait for each other.
	slices.SortStableFunc(batch, func(a, b *change) int { return cmp.Compare(a.account, b.account) })
	err = w.persist(batch)
	if !errors.Is(err, errSpoiled) {
		return err
	}
	for i, change := range batch {
		if len(batch) > 1 {
			err = w.persist(batch[i : i+1])
		}
		if err != nil && change.err == nil { // it did not notice that its transaction had failed
			change.err = err
		}
	}
	return err
}

// persist tries a batch again while the database says that it did not happen, for a moment.
func (w *writer) persist(batch []*change) (err error) {
	start := time.Now()
	for wait := 10 * time.Millisecond; ; wait *= 2 {
		err = w.attempt(batch)
		if !errors.Is(err, errAgain) || time.Since(start)+wait > retryTime {
			return err
		}
		time.Sleep(wait/2 + rand.N(wait))
	}
}

// attempt runs changes in one transaction. Each one's error is in the change; the error returned is of the whole.
func (w *writer) attempt(batch []*change) error {
	ctx, cancel := context.WithTimeout(context.Background(), batchTimeout)
	defer cancel()
	for _, change := range batch {
		change.err = nil // of an earlier attempt
	}
	c, err := w.engine.writer(ctx)
	if err == nil {
		defer w.engine.release(c)
		err = c.begin(true)
	}
	if err != nil {
		return failAll(batch, err)
	}
	defer c.rollback()
	d := w.engine.dialect()
	t := &tx{conn: c, forUpdate: d.forUpdate, distant: d.distant, search: &d.search}
	if t.distant {
		if err := t.lookAhead(batch); errors.Is(err, errSpoiled) {
			return err
		} else if err != nil {
			return failAll(batch, err)
		}
	}
	for _, change := range batch {
		if change.err = change.ctx.Err(); change.err != nil {
			continue // the client left before its turn
		}
		t.wrote = false
		change.err = runChange(t, change.fn)
		if errors.Is(change.err, errAgain) || errors.Is(change.err, crm.ErrUnavailable) {
			return failAll(batch, change.err)
		}
		if change.err != nil && t.wrote || errors.Is(change.err, errSpoiled) {
			return fmt.Errorf("%w: %w", errSpoiled, change.err)
		}
	}
	succeeded := slices.ContainsFunc(batch, func(c *change) bool { return c.err == nil })
	if !t.changed && !(succeeded && w.engine.dialect().confirms) {
		return nil
	}
	if err = t.saveTallies(); err == nil {
		err = c.commit()
	}
	if err != nil && !errors.Is(err, errSpoiled) {
		return failAll(batch, fmt.Errorf("%w: commit: %w", crm.ErrUnavailable, err))
	}
	return err
}

// failAll gives every change the error of the whole. That holds for one that was refused too: what it was refused for
// may be what another one of the batch had done.
func failAll(batch []*change, err error) error {
	for _, change := range batch {
		if !errors.Is(change.err, context.Canceled) {
			change.err = err
		}
	}
	return err
}

// runChange turns a panic into an error: the writer must go on for everybody else.
func runChange(t *tx, fn func(*tx) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			t.wrote = true // nobody knows how far it came
			err = fmt.Errorf("panic in a change: %v\n%s", p, debug.Stack())
		}
	}()
	return fn(t)
}

// tx is a write transaction, shared by the changes of a batch.
type tx struct {
	conn
	forUpdate string
	distant   bool
	search    *searchDialect
	wrote     bool // by the change that runs
	changed   bool // by any change of the batch
	tallies   []*tally
	ahead     ahead
}

func (t *tx) exec(sql string, args ...any) (int64, error) {
	t.wrote = true
	n, err := t.conn.exec(sql, args...)
	t.changed = t.changed || n > 0
	return n, err
}

// post is exec for a statement that surely changes something and whose outcome nobody has to know before the commit.
func (t *tx) post(sql string, args ...any) error {
	t.wrote, t.changed = true, true
	return t.conn.later(nil, sql, args...)
}

// tally is the row that every write of an account locks: read once a transaction, written once.
type tally struct {
	account          int64
	revision         int64
	contactSeq       int64
	contactActive    int64
	keySeq           int64
	campaignRevision int64
	tags             map[string]int64 // how many more active contacts have a tag, or fewer
	dirty            bool
}

const (
	sqlTally = `SELECT revision, contact_seq, contact_active, key_seq, campaign_revision FROM account_tally WHERE account_id = $1`

	sqlSaveTally = `UPDATE account_tally SET revision = $2, contact_seq = $3, contact_active = $4, key_seq = $5, campaign_revision = $6
		WHERE account_id = $1`
)

func readTally(c conn, account int64, forUpdate string) (*tally, error) {
	t := &tally{account: account}
	found, err := one(c, t.read, sqlTally+forUpdate, account)
	if err == nil && !found {
		err = crm.ErrNotFound
	}
	return t, err
}

func (row *tally) read(r rows) {
	row.revision, row.contactSeq, row.contactActive = r.int(0), r.int(1), r.int(2)
	row.keySeq, row.campaignRevision = r.int(3), r.int(4)
}

// tally locks the account's row for the rest of the transaction.
func (t *tx) tally(account int64) (*tally, error) {
	for _, known := range t.tallies {
		if known.account == account {
			return known, nil
		}
	}
	row, err := readTally(t.conn, account, t.forUpdate)
	if err != nil {
		return nil, err
	}
	t.tallies = append(t.tallies, row)
	return row, nil
}

// saveTallies writes what was counted. A transaction that has changed nothing writes all the same: only then does its
// commit wait for the servers that must have what it found.
func (t *tx) saveTallies() error {
	if !t.changed && len(t.tallies) == 0 {
		_, err := t.exec(sqlProbe, int64(len(migrations)))
		return err
	}
	confirm := !t.changed
	for _, row := range t.tallies {
		if err := t.saveTags(row); err != nil {
			return err
		}
		if !row.dirty && !confirm {
			continue
		}
		if err := t.post(sqlSaveTally, row.account, row.revision, row.contactSeq, row.contactActive, row.keySeq, row.campaignRevision); err != nil {
			return err
		}
	}
	return nil
}
