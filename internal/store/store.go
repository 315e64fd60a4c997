// Package store remembers: it opens transactions, loads, lets crm decide, and saves. It is the only room that knows a
// database. Everything above it sees contacts, campaigns, accounts and keys, and the errors of crm.
package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"donorbook/internal/crm"
)

// Options say where the data is.
type Options struct {
	Data     string // the data directory
	Database string // a database URL; "" is SQLite in the data directory
	Serving  bool   // no other server may use the same data directory of SQLite

	Now func() time.Time // the clock; nil is the machine's
}

// Store is an open database.
type Store struct {
	engine    engine
	writers   []*writer // each has some of the accounts
	keys      keyCache
	positions positionCache
	campaigns campaignCache
	probe     probe
	sizing    probe
	size      atomic.Int64 // of the database, as it was asked for last
	passwords hasher
	now       func() time.Time
	touching  sync.WaitGroup // notes of last use that are being written
}

// Open opens the database, makes it where there is none, and brings an older one up to date.
func Open(ctx context.Context, o Options) (*Store, error) {
	if file := o.file(); file != "" {
		if err := checkUnused(filepath.Dir(file), identityFile, databaseFile+"-wal", "tls", "acme"); err != nil {
			return nil, err
		}
	}
	engine, err := openEngine(ctx, o)
	if err != nil {
		return nil, err
	}
	s := &Store{engine: engine, now: o.Now, passwords: newHasher()}
	if s.now == nil {
		s.now = time.Now
	}
	if err := s.migrate(ctx); err != nil {
		return nil, errors.Join(err, engine.close())
	}
	for range engine.writers() {
		s.writers = append(s.writers, startWriter(engine))
	}
	return s, nil
}

func openEngine(ctx context.Context, o Options) (engine, error) {
	scheme, rest, _ := strings.Cut(o.Database, ":")
	switch scheme {
	case "":
		return openSQLite(o.Data, o.Serving)
	case "sqlite":
		return openSQLite(strings.TrimPrefix(rest, "//"), o.Serving)
	case "postgres", "postgresql":
		return openPostgres(ctx, o.Database)
	}
	return nil, errors.New("the database URL must begin with postgres: or sqlite: (or be left out for SQLite in the data directory)")
}

// Close waits for what is being written and closes the database.
func (s *Store) Close() error {
	s.touching.Wait()
	for _, w := range s.writers {
		w.stop()
	}
	return s.engine.close()
}

// Ready tells whether the database can work: it must take a write, and answer. One that only answers may be on a disk that is full,
// or a server that was left behind.
func (s *Store) Ready(ctx context.Context) error {
	return s.probe.ask(ctx, s.now, func() error {
		ctx := context.WithoutCancel(ctx)
		err := s.update(ctx, 0, func(t *tx) error {
			_, err := t.exec(sqlProbe, int64(len(migrations)))
			return err
		})
		if err != nil {
			return err
		}
		return s.read(ctx, func(c conn) error {
			_, err := one(c, func(rows) {}, sqlVersion)
			return err
		})
	})
}

// probe asks the database one question at a time and remembers the answer for a moment, however many want to know.
type probe struct {
	mu      sync.Mutex
	at      time.Time
	err     error
	pending chan struct{} // closed when the answer is there; nil where nobody asks
}

const (
	probeTime     = time.Second     // an answer counts for so long
	probePatience = 2 * time.Second // nobody waits for one longer
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
			err := question()
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
		return fmt.Errorf("%w: the database has not answered yet", crm.ErrUnavailable)
	}
}

// read lends a connection for a single statement. fn may run again: a connection that was lost is replaced, and the next
// one may have been lost with it.
func (s *Store) read(ctx context.Context, fn func(conn) error) (err error) {
	for wait := time.Duration(0); wait < readRetries; wait = 2*wait + 10*time.Millisecond {
		time.Sleep(wait)
		if err = s.readOnce(ctx, fn); !errors.Is(err, errAgain) {
			return err
		}
	}
	return err
}

// readRetries is how long a read waits between two attempts at most.
const readRetries = 100 * time.Millisecond

func (s *Store) readOnce(ctx context.Context, fn func(conn) error) error {
	c, err := s.engine.reader(ctx)
	if err != nil {
		return err
	}
	defer s.engine.release(c)
	return fn(c)
}

// view runs several statements on one snapshot.
func (s *Store) view(ctx context.Context, fn func(conn) error) error {
	return s.read(ctx, func(c conn) error { return snapshot(c, fn) })
}

func snapshot(c conn, fn func(conn) error) error {
	if err := c.begin(false); err != nil {
		return err
	}
	defer c.rollback()
	return fn(c)
}

// update runs a change of an account. It is queued, commits together with the others that wait, and returns when it is
// on disk. fn may run twice; it must decide before it writes, so that a refused change has written nothing.
func (s *Store) update(ctx context.Context, account int64, fn func(*tx) error) error {
	return s.updateAhead(ctx, account, needs{}, fn)
}

// updateAhead is update for a change that says before what it will look up.
func (s *Store) updateAhead(ctx context.Context, account int64, n needs, fn func(*tx) error) error {
	return s.writerOf(account).do(ctx, account, n, guarded(ctx, fn))
}

// writerOf is the one writer of an account on this node, so that its changes stand in one queue.
func (s *Store) writerOf(account int64) *writer {
	return s.writers[account%int64(len(s.writers))]
}

// seconds and moment turn times into what the database keeps and back.
func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

func moment(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// foreign tells whether an id cannot be one of the account's. Nobody learns more about such an id.
func foreign(account, id int64) bool { return crm.IDAccount(id) != account || id <= 0 }
