package db

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"donorbook/internal/guard"
)

const (
	batchLimit = 100 // changes that commit together at most; more gain nothing
	// that they read and write, after which the others wait for the next batch: some ten milliseconds of work
	batchBytes   = 1 << 20
	batchTimeout = 15 * time.Second // for a batch, up to its commit
	// in which a batch is begun again where the database says that it did not happen
	retryTime = 1500 * time.Millisecond
	patience  = time.Second // a failure that took longer is told to everyone who waits
	// a writer that takes longer waits for its account, and another one works meanwhile
	stuckTime = 200 * time.Millisecond
)

// Batch is what the caller makes of a unit of work.
type Batch interface {
	// Prepare locks and loads what the changes have said they need, in as few round trips as possible.
	Prepare(changes []*Change) error
	// Finish writes what the changes have only counted.
	Finish() error
}

// Change is one queued change.
type Change struct {
	Account int64 // in whose line it waits
	Needs   any   // what it will look up, for Prefetch

	ctx      context.Context
	line     *line
	decide   func(*Tx, Batch) error
	err      error
	finished chan struct{}
	next     *Change // who is told after this one
}

// Gone tells whether the client has left before the change got its turn.
func (c *Change) Gone() bool { return c.ctx.Err() != nil }

// queue takes changes that are waiting, runs them in one transaction, commits once and answers all: with many clients a
// flush of the disk is shared, with one client no one waits for a timer. Accounts take turns, so that the changes of
// one, many or large as they may be, delay those of another by a batch or two.
type queue struct {
	db      *DB
	begin   func(*Tx) Batch
	shares  bool // accounts share transactions; otherwise each has its own
	running sync.WaitGroup
	waiting atomic.Int64 // changes that are queued or being committed

	mu      sync.Mutex
	stopped bool
	usual   int             // writers that work at once, unless many lines wait
	working int             // writers that have a line, and are not stuck with it
	lines   map[int64]*line // that have changes, or a writer
	ready   []*line         // that have changes and no writer
	queued  int             // changes in all lines
	floor   int64           // what the next line had spent when it was taken: a new line begins there
	news    *sync.Cond      // there is a ready line, or the end
}

// line is where the changes of an account wait.
type line struct {
	number  int64
	changes []*Change
	spent   int64 // bytes that its changes have read and written
	turns   int   // how often a writer has had it
	working bool  // it has a writer, which is not stuck
	watch   *time.Timer
}

func startQueue(d *DB, begin func(*Tx) Batch, usual, most int) *queue {
	q := &queue{db: d, begin: begin, shares: most == 1, usual: usual, lines: make(map[int64]*line)}
	q.news = sync.NewCond(&q.mu)
	for range most {
		q.running.Go(q.run)
	}
	return q
}

// stop finishes what is queued; what comes later is refused.
func (q *queue) stop() {
	q.mu.Lock()
	q.stopped = true
	q.mu.Unlock()
	q.news.Broadcast()
	q.running.Wait()
}

// do queues a change and waits until it is on disk or refused. Once it has begun, a client that goes away does not
// cancel it.
func (q *queue) do(c *Change) error {
	c.finished = make(chan struct{})
	q.waiting.Add(1)
	defer q.waiting.Add(-1)
	if err := q.enqueue(c); err != nil {
		return err
	}
	<-c.finished
	if c.next != nil {
		close(c.next.finished)
	}
	return c.err
}

func (q *queue) enqueue(c *Change) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopped {
		return ErrUnavailable
	}
	l := q.lines[c.Account]
	if l == nil {
		l = &line{number: c.Account, spent: q.floor}
		q.lines[c.Account] = l
		q.offer(l)
	}
	c.line = l
	l.changes = append(l.changes, c)
	q.queued++
	return nil
}

// offer puts a line behind those that are ready.
func (q *queue) offer(l *line) {
	q.ready = append(q.ready, l)
	q.news.Signal()
}

// run is one writer.
func (q *queue) run() {
	for lines := q.next(nil); lines != nil; lines = q.next(lines) {
		var batch []*Change
		if lines, batch = q.collect(lines); len(batch) > 0 { // it may have been refused
			q.finish(lines, batch)
		}
	}
}

// next gives lines back, and waits for one that is ready; nil is the end.
func (q *queue) next(done []*line) []*line {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range done {
		q.rest(l, l.turns)
		if len(l.changes) > 0 {
			q.offer(l)
		} else {
			delete(q.lines, l.number)
		}
	}
	for len(q.ready) == 0 || !q.needsWriter() && !q.stopped {
		if q.stopped {
			return nil
		}
		q.news.Wait()
	}
	lines := q.takeLine(nil)
	q.floor = lines[0].spent
	return lines
}

// takeLine adds a line that is ready to those of a writer: of those that have spent least, the one that waits longest.
func (q *queue) takeLine(lines []*line) []*line {
	next := 0
	for i, l := range q.ready {
		if l.spent < q.ready[next].spent {
			next = i
		}
	}
	l := q.ready[next]
	q.ready = slices.Delete(q.ready, next, next+1)
	q.work(l)
	return append(lines, l)
}

// work counts the writer of a line, until it gives the line back or is stuck: writers that wait for accounts which are
// locked elsewhere must not keep those from working that other accounts need. With a single writer there is no other.
func (q *queue) work(l *line) {
	q.working++
	l.turns++
	l.working = true
	if turn := l.turns; !q.shares {
		l.watch = time.AfterFunc(stuckTime, func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.rest(l, turn)
			q.news.Signal()
		})
	}
}

// rest no longer counts the writer that had a line at a turn.
func (q *queue) rest(l *line, turn int) {
	if l.turns != turn || !l.working {
		return
	}
	l.working = false
	q.working--
	if l.watch != nil {
		l.watch.Stop()
	}
}

// needsWriter tells whether one more writer is worth it. Few writers find more changes of an account waiting, which
// cost less together; many accounts with a change each would only wait for each other.
func (q *queue) needsWriter() bool { return q.working < q.usual || len(q.ready) > 2*q.working }

// finish commits a batch, and tells it how that went. What was too much for it waits for the next one, ahead of what
// has come since.
func (q *queue) finish(lines []*line, batch []*Change) {
	start := time.Now()
	done, err := q.commit(batch)
	q.putBack(batch[done:])
	release(batch[:done])
	clear(batch)
	if errors.Is(err, ErrUnavailable) && time.Since(start) > patience {
		q.refuse(lines, err)
	}
}

func (q *queue) putBack(changes []*Change) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range slices.Backward(changes) {
		c.line.changes = slices.Insert(c.line.changes, 0, c)
	}
	q.queued += len(changes)
}

// release tells a batch how it went: the first ones, each of which tells the next. Were all told at once, they would
// stand in the way of those who only read and want a processor, too.
func release(batch []*Change) {
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

// refuse tells those who wait that the database is away: the lines of a writer, or everyone where the trouble is not of
// one account. If each of them had to find out by itself, the last one would wait for all the others.
func (q *queue) refuse(lines []*line, err error) {
	ofOne := errors.Is(err, errHeld) || errors.Is(err, errUndone)
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, other := range q.lines {
		if ofOne && !slices.Contains(lines, other) {
			continue
		}
		for _, c := range other.changes {
			c.err = err
			close(c.finished)
		}
		q.queued -= len(other.changes)
		other.changes = nil
	}
}

// collect takes what is waiting, without waiting for more: but a client that is about to queue a change, and only wants
// a processor for it, gets one first. A larger batch costs less than two. Where accounts share a batch, each has a
// change in it before any has another one.
func (q *queue) collect(lines []*line) (_ []*line, batch []*Change) {
	for before, n := 0, 1; n > before && n < batchLimit; {
		runtime.Gosched()
		q.mu.Lock()
		if before, n = n, q.queued; !q.shares {
			n = len(lines[0].changes)
		}
		q.mu.Unlock()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.shares && len(q.ready) > 0 && len(lines) < batchLimit {
		lines = q.takeLine(lines)
	}
	for round, before := 0, -1; len(batch) > before; round++ {
		before = len(batch)
		for _, l := range lines {
			if round < len(l.changes) && len(batch) < batchLimit {
				batch = append(batch, l.changes[round])
			}
		}
	}
	for _, c := range batch {
		c.line.changes = c.line.changes[1:]
	}
	q.queued -= len(batch)
	return lines, batch
}

// commit runs the batch together, and returns how many of its changes that were. Where one of them poisons the
// transaction, each runs alone.
func (q *queue) commit(batch []*Change) (done int, err error) {
	err = retried(func() (err error) {
		done, err = q.attempt(batch)
		return err
	})
	if !errors.Is(err, errPoisoned) {
		return done, err
	}
	for i, change := range batch[:done] {
		if len(batch) > 1 {
			err = retried(func() error {
				_, err := q.attempt(batch[i : i+1])
				return err
			})
		}
		if err != nil && change.err == nil { // it did not notice that its transaction had failed
			change.err = err
		}
	}
	return done, err
}

// retried tries a transaction again while the database says that it did not happen, for a moment; once more, however
// late, where it was taken back: the database waits before it looks for transactions that are in each other's way.
func retried(attempt func() error) (err error) {
	start, undone := time.Now(), false
	for wait := 10 * time.Millisecond; ; wait *= 2 {
		err = attempt()
		late := time.Since(start)+wait > retryTime
		if errors.Is(err, errUndone) && !undone {
			undone, late = true, false
		}
		if !errors.Is(err, errRetry) || late {
			return err
		}
		time.Sleep(wait/2 + rand.N(wait))
	}
}

// attempt runs changes in one transaction, as many as fit into it, and returns how many. Each one's error is in the
// change; the error returned is of the whole. Where the database itself panics, all of them fail: they may be on disk.
func (q *queue) attempt(batch []*Change) (done int, err error) {
	err = guard.Do(func() (err error) {
		done, err = q.transact(batch)
		return err
	})
	var panicked *guard.Panicked
	if errors.As(err, &panicked) && !errors.Is(err, errPoisoned) {
		return len(batch), failAll(batch, err)
	}
	return done, err
}

func (q *queue) transact(batch []*Change) (done int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), batchTimeout)
	defer cancel()
	for _, change := range batch {
		change.err = nil // of an earlier attempt
	}
	tell(q.db.observer.Writing)
	c, err := q.db.engine.writer(ctx)
	if err == nil {
		defer q.db.engine.release(c)
		err = c.begin(true)
	}
	if err != nil {
		return len(batch), failAll(batch, err)
	}
	defer c.rollback()
	t := newTx(c, q.db.observer)
	work := q.begin(t)
	if err = guarded(t, func() error { return work.Prepare(batch) }); err == nil {
		done, err = t.decide(work, batch)
		batch = batch[:done]
	} else {
		done, err = len(batch), poisoned(err) // what one change needs and cannot be read must not fail the others
	}
	if err == nil && slices.ContainsFunc(batch, func(c *Change) bool { return c.err == nil }) {
		if err = guarded(t, work.Finish); err == nil {
			err = t.commit()
		}
	}
	if err != nil && !errors.Is(err, errPoisoned) {
		return done, failAll(batch, err)
	}
	return done, err
}

// decide lets each change decide and write in its turn, until the batch is full, and returns how many have had theirs.
// It is the turn of the account that has caused the least work so far.
func (t *Tx) decide(work Batch, batch []*Change) (done int, err error) {
	t.counted = t.bytes() // what was read in advance has its own limit
	for i := range batch {
		if i > 0 && t.Full() {
			return i, nil
		}
		cheapestFirst(batch[i:])
		change := batch[i]
		if change.err = change.ctx.Err(); change.err != nil {
			continue // the client left before its turn
		}
		t.wrote = false
		before := t.bytes()
		change.err = guarded(t, func() error { return change.decide(t, work) })
		change.line.spent += 1 + t.bytes() - before
		if errors.Is(change.err, errRetry) || errors.Is(change.err, ErrUnavailable) {
			return i + 1, change.err
		}
		if change.err != nil && t.wrote || t.failed != nil || errors.Is(change.err, errPoisoned) {
			return i + 1, because(errPoisoned, change.err)
		}
	}
	return len(batch), nil
}

// cheapestFirst moves the change to the front whose account has caused the least work; the others stay in their order.
func cheapestFirst(changes []*Change) {
	first := 0
	for i, c := range changes {
		if c.line.spent < changes[first].line.spent {
			first = i
		}
	}
	c := changes[first]
	copy(changes[1:first+1], changes[:first])
	changes[0] = c
}

// commit writes what is left and commits. A transaction that has changed nothing may have to write all the same: only
// then does its commit wait for the servers that must have what it found. Otherwise there is nothing to commit.
func (t *Tx) commit() error {
	if !t.changed && !t.dialect.confirms {
		return nil
	}
	confirm := func() error {
		if t.changed {
			return nil
		}
		return t.queue(statement{sql: t.dialect.touch})
	}
	write := func() error { return guarded(t, t.write) }
	err := First(write, confirm, t.observer.committing, t.conn.commit)
	if err != nil && !errors.Is(err, errPoisoned) {
		err = fmt.Errorf("%w: commit: %w", ErrUnavailable, err)
	}
	return err
}

// failAll gives every change the error of the whole. That holds for one that was refused, too: it may have been refused
// for what another one of the batch had done.
func failAll(batch []*Change, err error) error {
	for _, change := range batch {
		if !errors.Is(change.err, context.Canceled) {
			change.err = err
		}
	}
	return err
}

// guarded turns a panic into an error: the queue must go on for all others. A statement that has failed is the reason,
// whatever else is said.
func guarded(t *Tx, fn func() error) (err error) {
	var panicked *guard.Panicked
	if err = guard.Do(fn); errors.As(err, &panicked) {
		t.wrote = true // it is unknown how far it came
		return because(errPoisoned, err)
	}
	return t.heard(err)
}
