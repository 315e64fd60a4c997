// Package db knows databases, and nothing of what is kept in them: engines and their pools, transactions, tables,
// migrations, the search, and sets of rows.
package db

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"donorbook/internal/guard"
)

// Options say where a database is.
type Options struct {
	Dir     string // of SQLite's file
	URL     string // "" is SQLite in the directory
	Serving bool   // no other server may use the same directory of SQLite

	Schema   *Schema
	Begin    func(*Tx) Batch // begins a unit of work
	Now      func() time.Time
	Progress Progress // of an upgrade; may be nil
}

// Progress tells how far long work has come.
type Progress func(what string, done, total int64)

// DB is an open database.
type DB struct {
	engine   engine
	schema   *Schema
	changes  *queue
	probes   *queue // of readiness, which waits for no account
	observer *Observer
	now      func() time.Time
	probe    probe
	sizing   probe
	size     atomic.Int64 // of the database, as it was asked for last
}

// Open opens a database, makes it where there is none, and brings an older one up to date.
func Open(ctx context.Context, o Options) (*DB, error) {
	if file := o.File(); file != "" {
		if err := checkUnused(filepath.Dir(file), identityFile, DatabaseFile+"-wal", "tls", "acme"); err != nil {
			return nil, err
		}
	}
	e, err := openEngine(ctx, o)
	if err != nil {
		return nil, err
	}
	d := &DB{engine: e, schema: o.Schema, now: o.Now, observer: new(Observer)}
	if err := migrate(ctx, e, o.Schema, o.Progress); err != nil {
		return nil, errors.Join(err, e.close())
	}
	usual, most := e.writers()
	d.changes = startQueue(d, o.Begin, usual, most)
	d.probes = startQueue(d, o.Begin, 1, 1)
	return d, nil
}

func openEngine(ctx context.Context, o Options) (engine, error) {
	scheme, _, _ := strings.Cut(o.URL, ":")
	switch scheme {
	case "", "sqlite":
		return openSQLite(o.Directory(), o.Serving)
	case "postgres", "postgresql":
		return openPostgres(ctx, o.URL)
	}
	return nil,
		errors.New("the database URL must begin with postgres: or sqlite: (or be left out for SQLite in the data directory)")
}

// Directory is where SQLite keeps the database; "" where it is not in a file of ours.
func (o Options) Directory() string {
	if o.URL == "" {
		return o.Dir
	}
	if rest, ok := strings.CutPrefix(o.URL, "sqlite:"); ok {
		return strings.TrimPrefix(rest, "//")
	}
	return ""
}

// File is the file that SQLite keeps the database in; "" where it is not in a file of ours.
func (o Options) File() string {
	if o.URL != "" && !strings.HasPrefix(o.URL, "sqlite:") {
		return ""
	}
	return filepath.Join(o.Directory(), DatabaseFile)
}

// Close waits for what is being written and closes the database.
func (d *DB) Close() error {
	d.changes.stop()
	d.probes.stop()
	return d.engine.close()
}

// Read lends a connection for a single statement. fn may run again: a connection that was lost is replaced, and the
// next one may have been lost with it.
func (d *DB) Read(ctx context.Context, fn func(Conn) error) (err error) {
	for wait := time.Duration(0); wait < readRetries; wait = 2*wait + 10*time.Millisecond {
		time.Sleep(wait)
		if err = d.readOnce(ctx, fn); !errors.Is(err, errRetry) {
			return err
		}
	}
	return err
}

// readRetries is how long a read waits between two attempts at most.
const readRetries = 100 * time.Millisecond

func (d *DB) readOnce(ctx context.Context, fn func(Conn) error) error {
	tell(d.observer.Lending)
	c, err := d.engine.reader(ctx)
	if err != nil {
		return err
	}
	defer d.engine.release(c)
	tell(d.observer.Lent)
	return fn(Conn{conn: c, observer: d.observer})
}

// View runs several statements on one snapshot.
func (d *DB) View(ctx context.Context, fn func(Conn) error) error {
	return d.Read(ctx, func(c Conn) error { return c.snapshot(fn) })
}

func (c Conn) snapshot(fn func(Conn) error) error {
	if err := c.begin(false); err != nil {
		return err
	}
	defer c.rollback()
	return fn(c)
}

// LongView is View for as long as it takes.
func (d *DB) LongView(ctx context.Context, fn func(Conn) error) error {
	return longView(ctx, d.engine, fn)
}

func longView(ctx context.Context, e engine, fn func(Conn) error) error {
	c, err := e.reader(ctx)
	if err != nil {
		return err
	}
	defer e.release(c)
	c.takeTime(ctx)
	return Conn{conn: c}.snapshot(fn)
}

// Update runs a change of an account. It is queued, commits together with the others that wait, and returns when it is
// on disk. decide may run again; it must decide before it writes, so that a refused change has written nothing.
func (d *DB) Update(ctx context.Context, account int64, needs any, decide func(Batch) error) error {
	return d.changes.do(&Change{ctx: ctx, Account: account, Needs: needs,
		decide: func(_ *Tx, b Batch) error { return decide(b) }})
}

// Consider lets a change of an account decide on a snapshot, to tell what it would do. It is not queued and waits for
// no one who writes. What decide writes is dropped; it may run again.
func (d *DB) Consider(ctx context.Context, decide func(Batch) error) error {
	return d.View(ctx, func(c Conn) error {
		t := newTx(c.conn, d.observer)
		t.drops = true
		return guarded(t, func() error { return decide(d.changes.begin(t)) })
	})
}

// Ready tells whether the database can work: it must take a write, and answer. One that only answers may be on a disk
// that is full, or a server that was left behind. It writes nothing that others lock, so that no work of an account
// makes a node seem broken.
func (d *DB) Ready(ctx context.Context) error {
	return d.probe.ask(ctx, d.now, func() error {
		ctx := context.WithoutCancel(ctx)
		err := d.probes.do(&Change{ctx: ctx, decide: func(t *Tx, _ Batch) error { return t.touchDisk() }})
		if err == nil {
			err = d.engine.room()
		}
		if err != nil {
			return err
		}
		return d.Read(ctx, func(c Conn) error {
			_, err := c.Int(sqlVersion)
			return err
		})
	})
}

// Pool is a number of connections to the database.
type Pool struct {
	Name       string // read or write
	InUse, Max int64
}

// Pools tells how many connections are in use.
func (d *DB) Pools() []Pool { return d.engine.pools() }

// Size is the size of the database in bytes. Like Ready, it asks the database one question at a time, and callers do
// not wait long for a database that does not answer.
func (d *DB) Size(ctx context.Context) (int64, error) {
	err := d.sizing.ask(ctx, d.now, func() error {
		return d.Read(context.WithoutCancel(ctx), func(c Conn) error {
			size, err := c.Int(c.dialect().size)
			d.size.Store(size)
			return err
		})
	})
	return d.size.Load(), err
}

// LogSize is the size of SQLite's write-ahead log; ok is false for PostgreSQL, whose log is the server's affair.
func (d *DB) LogSize() (bytes int64, ok bool) {
	bytes = d.engine.log()
	return bytes, bytes >= 0
}

// Waiting is how many changes are queued or being committed.
func (d *DB) Waiting() int64 { return d.changes.waiting.Load() }

// probe asks the database one question at a time and remembers the answer for a moment, however many want to know.
type probe struct {
	mu      sync.Mutex
	at      time.Time
	err     error
	pending chan struct{} // closed when the answer is there; nil where no question is open
}

const (
	probeTime     = time.Second     // an answer counts for so long
	probePatience = 2 * time.Second // no caller waits for one longer
)

func (p *probe) ask(ctx context.Context, now func() time.Time, question func() error) error {
	p.mu.Lock()
	if now().Sub(p.at) < probeTime {
		defer p.mu.Unlock()
		return p.err
	}
	if p.pending == nil {
		pending := make(chan struct{})
		p.pending = pending
		go func() {
			err := guard.Do(question)
			p.mu.Lock()
			defer p.mu.Unlock()
			p.at, p.err, p.pending = now(), err, nil
			close(pending)
		}()
	}
	pending := p.pending
	p.mu.Unlock()
	select {
	case <-pending:
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.err
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(probePatience):
		return fmt.Errorf("%w: it has not answered yet", ErrUnavailable)
	}
}
