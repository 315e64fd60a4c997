// Package store remembers: it opens transactions, loads, lets crm decide, and saves. It is the only room that knows a
// database. Everything above it sees contacts, campaigns, accounts and keys, and the errors of crm.
package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"donorbook/internal/crm"
)

// Options say where the data is.
type Options struct {
	Data     string // the data directory
	Database string // a database URL; "" is SQLite in the data directory
}

// Store is an open database.
type Store struct {
	engine    engine
	writer    *writer
	keys      keyCache
	positions positionCache
	campaigns campaignCache
	now       func() time.Time
	touching  sync.WaitGroup // notes of last use that are being written
}

// Open opens the database, makes it where there is none, and brings an older one up to date.
func Open(ctx context.Context, o Options) (*Store, error) {
	engine, err := openEngine(o)
	if err != nil {
		return nil, err
	}
	s := &Store{engine: engine, now: time.Now}
	if err := s.migrate(ctx); err != nil {
		return nil, errors.Join(err, engine.close())
	}
	s.writer = startWriter(engine)
	return s, nil
}

func openEngine(o Options) (engine, error) {
	scheme, rest, _ := strings.Cut(o.Database, ":")
	switch scheme {
	case "":
		return openSQLite(o.Data)
	case "sqlite":
		return openSQLite(strings.TrimPrefix(rest, "//"))
	}
	return nil, fmt.Errorf("the database URL must begin with sqlite: (or be left out for SQLite in the data directory)")
}

// Close waits for what is being written and closes the database.
func (s *Store) Close() error {
	s.touching.Wait()
	s.writer.stop()
	return s.engine.close()
}

// Ready tells whether the database answers.
func (s *Store) Ready(ctx context.Context) error {
	return s.read(ctx, func(c conn) error {
		_, err := one(c, func(rows) {}, sqlVersion)
		return err
	})
}

// read lends a connection for a single statement.
func (s *Store) read(ctx context.Context, fn func(conn) error) error {
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

// update runs a change. It is queued, commits together with the others that wait, and returns when it is on disk.
// fn may run twice; it must decide before it writes, so that a refused change has written nothing.
func (s *Store) update(ctx context.Context, fn func(*tx) error) error {
	return s.writer.do(ctx, fn)
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
