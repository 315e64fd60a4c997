// Package store keeps the data: it loads, lets crm decide, and says which rows have changed. It knows the nouns, one file each; package
// db knows the databases. Everything above it sees contacts, campaigns, accounts and keys, and the errors of crm.
package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
)

// Options say where the data is.
type Options struct {
	Data     string // the data directory
	Database string // a database URL; "" is a file in the data directory
	Serving  bool   // no other server may use the same data directory

	Now      func() time.Time // the clock; nil is the machine's
	Progress db.Progress      // of an upgrade; may be nil
}

// Base is an open database: what all kinds of nouns share.
type Base struct {
	db       *db.DB
	heavy    *gate // reads that may take a while
	light    int64 // how many rows others walk through at most
	now      func() time.Time
	touching sync.WaitGroup // work that no client waits for: notes of last use, and what follows an erasure
}

// openBase opens the database, creates it if it does not exist, and upgrades an older one.
func openBase(ctx context.Context, o Options) (*Base, error) {
	s := &Base{now: o.Now, light: lightRows}
	if s.now == nil {
		s.now = time.Now
	}
	opened, err := db.Open(ctx, o.database(s.now))
	if err != nil {
		return nil, translate(err)
	}
	s.db = opened
	s.heavy = newGate(gatePlaces(s.Pools()))
	return s, nil
}

// database is where the data is, for db.
func (o Options) database(now func() time.Time) db.Options {
	return db.Options{Dir: o.Data, URL: o.Database, Serving: o.Serving, Schema: &schema, Begin: newTx, Now: now, Progress: o.Progress}
}

// DB is the database, for callers that observe or measure it.
func (s *Base) DB() *db.DB { return s.db }

// Close waits for what is being written and closes the database.
func (s *Base) Close() error {
	s.touching.Wait()
	return s.db.Close()
}

// Ready tells whether the database can work: it must take a write, and answer.
func (s *Base) Ready(ctx context.Context) error { return translate(s.db.Ready(ctx)) }

// Pool is a number of connections to the database.
type Pool = db.Pool

// Pools tells how many connections are in use.
func (s *Base) Pools() []Pool { return s.db.Pools() }

// Size is the size of the database in bytes.
func (s *Base) Size(ctx context.Context) (int64, error) { return s.db.Size(ctx) }

// LogSize is the size of the write-ahead log; ok is false where a database server keeps it.
func (s *Base) LogSize() (bytes int64, ok bool) { return s.db.LogSize() }

// Waiting is how many changes are queued or being committed.
func (s *Base) Waiting() int64 { return s.db.Waiting() }

// ErrUnavailable is crm.ErrUnavailable as the database reports it, with its cause.
var ErrUnavailable = db.ErrUnavailable

// errAgain: a change must begin again with what it has learned.
var errAgain = errors.New("the change must begin again")

// repeat runs a change again while a random number, an id or a slug that it chose belongs to another one. That is rare, and does not
// happen often in a row.
func repeat(change func() error) (err error) {
	for range 20 {
		if err = change(); !errors.Is(err, db.ErrTaken) && !errors.Is(err, errAgain) {
			return err
		}
	}
	return err
}

// translate gives an error of the database the name by which doors know it.
func translate(err error) error {
	switch {
	case errors.Is(err, db.ErrUnavailable):
		return &known{crm.ErrUnavailable, err}
	case errors.Is(err, db.ErrNotFound):
		return &known{crm.ErrNotFound, err}
	case errors.Is(err, db.ErrTaken):
		return &known{crm.ErrTaken, err}
	}
	return err
}

// known is an error, and the one by which doors know it.
type known struct{ as, err error }

func (k *known) Error() string   { return k.err.Error() }
func (k *known) Unwrap() []error { return []error{k.as, k.err} }

// read lends a connection for a single statement. fn may run again.
func (s *Base) read(ctx context.Context, fn func(db.Conn) error) error {
	return translate(s.db.Read(ctx, fn))
}

// view runs several statements on one snapshot. fn may run again.
func (s *Base) view(ctx context.Context, fn func(db.Conn) error) error {
	return translate(s.db.View(ctx, fn))
}

// update runs a change of an account, whose row it locks before anything else. It is queued, commits together with the others that
// wait, and returns when it is on disk. fn may run again; it must decide before it writes, so that a refused change has written
// nothing.
func (s *Base) update(ctx context.Context, account int64, n needs, fn func(*tx) error) error {
	n.account = account
	return s.queue(ctx, account, &n, fn)
}

// consider is update for a change that only decides: it reads a snapshot, is not queued, and must write nothing.
func (s *Base) consider(ctx context.Context, account int64, n needs, fn func(*tx, *accountUnit) error) error {
	return translate(s.db.Consider(ctx, func(b db.Batch) error {
		t := b.(*tx)
		a, err := t.see(account)
		if err == nil {
			err = t.lookUp(n.all(account))
		}
		if err != nil {
			return err
		}
		return fn(t, a)
	}))
}

// updateAccount is update for an account that must exist.
func (s *Base) updateAccount(ctx context.Context, account int64, fn func(*tx) error) error {
	return s.update(ctx, account, needs{}, func(t *tx) error {
		if _, err := t.lock(account); err != nil {
			return err
		}
		return fn(t)
	})
}

// updateShared is update for what belongs to no account, such as a user. Changes with the same number wait for each other.
func (s *Base) updateShared(ctx context.Context, number int64, fn func(*tx) error) error {
	return s.queue(ctx, number, nil, fn)
}

func (s *Base) queue(ctx context.Context, number int64, n *needs, fn func(*tx) error) error {
	fn = authored(ctx, s.now(), guarded(ctx, fn))
	return translate(s.db.Update(ctx, number, n, func(b db.Batch) error { return fn(b.(*tx)) }))
}

// touchInterval is how often the time of last use is written at most.
const touchInterval = time.Minute

// noteUse writes the time of last use, beside the request and not as part of it. A note that cannot be written is tried again with the
// next request; no client waits for it.
func (s *Base) noteUse(last, now time.Time, write func(context.Context) error) {
	if now.Sub(last) >= touchInterval {
		s.touching.Go(func() { _ = write(context.Background()) })
	}
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

// foreign tells whether an id cannot be one of the account's. The caller learns nothing more about such an id.
func foreign(account, id int64) bool { return crm.IDAccount(id) != account || crm.IDSeq(id) <= 0 }

var errNoMoreIDs = errors.New("the account has given out all its ids")

// fault is the error for one field.
func fault(field string, rule doc.Rule, args ...any) error {
	v := new(doc.Invalid)
	v.Add(field, rule, args...)
	return v
}
