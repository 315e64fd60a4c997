// Package store has what one unit of work touches: accounts, contacts, campaigns, gifts with their plans, what is
// derived from them, the history, the outbox of emails, and answers that are kept for retries. The packages below it do
// what takes more than one.
package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/mail"
	"donorbook/internal/db"
	"donorbook/internal/guard"
)

// Options say where the data is.
type Options struct {
	Data     string // the data directory
	Database string // a database URL; "" is a file in the data directory
	Serving  bool   // no other server may use the same data directory

	Now      func() time.Time // the clock; nil is the machine's
	Progress db.Progress      // of an upgrade; may be nil
}

// Store is an open database.
type Store struct {
	Db        *db.DB
	Heavy     *Gate // reads that may take a while
	Drawing   *Gate // large pictures that are drawn
	Sketching *Gate // small ones
	Light     int64 // how many rows others walk through at most
	Now       func() time.Time
	Touching  sync.WaitGroup // work that no client waits for: notes of last use, and what follows an erasure

	Fields fieldCache
	Sets   SetCache
	Costs  FilterCosts
	Listed campaignCache // the campaigns of accounts

	// Upkeep is what a thank-you says beside the rest for a gift that comes again by itself, nil for nothing.
	Upkeep func(c db.Conn, account int64, g *giving.Gift) (*mail.Message, error)

	// PlanEnded hears of a plan that a person has ended, in the same unit of work.
	PlanEnded func(u Unit, p *giving.Plan) error

	relay  Relay
	queued chan struct{} // there are new mails
	late   map[mail.Kind]Writer
	failed map[mail.Kind]func(ctx context.Context, account int64, m mail.Mail) error
	gone   func(ctx context.Context, account int64, address string) error
}

// Open opens the database, creates it if it does not exist, and upgrades an older one. derive works out anew what is
// derived from documents.
func Open(ctx context.Context, o Options, derive func(t *db.Tx, progress db.Progress) error) (*Store, error) {
	s := &Store{Now: o.Now, Light: LightRows, Drawing: NewGate(1), Sketching: NewGate(1), Costs: UsualCosts,
		queued: make(chan struct{}, 1)}
	if s.Now == nil {
		s.Now = time.Now
	}
	s.late = map[mail.Kind]Writer{mail.Thanks: s.completeThanks, mail.Refunded: s.writeRefund}
	s.failed = map[mail.Kind]func(context.Context, int64, mail.Mail) error{mail.Thanks: s.thankAgain}
	s.gone = s.MarkBounced
	options := o.ForDB(s.Now, derive)
	options.Begin = func(t *db.Tx) db.Batch { return &Tx{Tx: t, Accounts: make(map[int64]*Account)} }
	opened, err := db.Open(ctx, options)
	if err != nil {
		return nil, Translate(err)
	}
	s.Db = opened
	s.Heavy = NewGate(gatePlaces(s.Pools()))
	return s, nil
}

// ForDB is where the data is, for db, and how what is derived is worked out.
func (o Options) ForDB(now func() time.Time, derive func(t *db.Tx, progress db.Progress) error) db.Options {
	schema := Schema
	schema.Derived.Work = derive
	return db.Options{Dir: o.Data, URL: o.Database, Serving: o.Serving, Schema: &schema, Now: now, Progress: o.Progress}
}

// DB is the database, for callers that observe or measure it.
func (s *Store) DB() *db.DB { return s.Db }

// Close waits for what is being written and closes the database.
func (s *Store) Close() error {
	s.Touching.Wait()
	return s.Db.Close()
}

// Ready tells whether the database can work: it must take a write, and answer.
func (s *Store) Ready(ctx context.Context) error { return Translate(s.Db.Ready(ctx)) }

// Pool is a number of connections to the database.
type Pool = db.Pool

// Pools tells how many connections are in use.
func (s *Store) Pools() []Pool { return s.Db.Pools() }

// Size is the size of the database in bytes.
func (s *Store) Size(ctx context.Context) (int64, error) { return s.Db.Size(ctx) }

// LogSize is the size of the write-ahead log; ok is false where a database server keeps it.
func (s *Store) LogSize() (bytes int64, ok bool) { return s.Db.LogSize() }

// Waiting is how many changes are queued or being committed.
func (s *Store) Waiting() int64 { return s.Db.Waiting() }

// ErrUnavailable is crm.ErrUnavailable as the database reports it, with its cause.
var ErrUnavailable = db.ErrUnavailable

// errAgain: a change must begin again with what it has learned.
var ErrAgain = errors.New("the change must begin again")

// Repeat runs a change again while a random number, an id or a slug that it chose belongs to another one. That is rare,
// and does not happen often in a row.
func Repeat(change func() error) (err error) {
	for range 20 {
		if err = change(); !errors.Is(err, db.ErrTaken) && !errors.Is(err, ErrAgain) {
			return err
		}
	}
	return err
}

// Translate gives an error of the database the name by which callers know it.
func Translate(err error) error {
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

// known is an error, and the one by which callers know it.
type known struct{ as, err error }

func (k *known) Error() string   { return k.err.Error() }
func (k *known) Unwrap() []error { return []error{k.as, k.err} }

// Read lends a connection for a single statement. fn may run again.
func (s *Store) Read(ctx context.Context, fn func(db.Conn) error) error {
	return Translate(s.Db.Read(ctx, fn))
}

// View runs several statements on one snapshot. fn may run again.
func (s *Store) View(ctx context.Context, fn func(db.Conn) error) error {
	return Translate(s.Db.View(ctx, fn))
}

// Update runs a change of an account, whose row it locks before anything else. It is queued, commits together with the
// others that wait, and returns when it is on disk. fn may run again; it must decide before it writes, so that a
// refused change has written nothing.
func (s *Store) Update(ctx context.Context, account int64, n Needs, fn func(*Tx) error) error {
	n.account = account
	return s.queue(ctx, account, &n, fn)
}

// Consider is update for a change that is decided and not made: it reads a snapshot, is not queued, and what it writes
// is dropped. Of what it has written, only what the unit of work knows is seen by what comes after.
func (s *Store) Consider(ctx context.Context, account int64, n Needs, fn func(Unit) error) error {
	return Translate(s.Db.Consider(ctx, func(b db.Batch) error {
		t := b.(*Tx)
		u, err := t.see(account)
		if err == nil {
			err = t.lookUp(n.all(account))
		}
		if err != nil {
			return err
		}
		return fn(u)
	}))
}

// UpdateAccount is update for an account that must exist.
func (s *Store) UpdateAccount(ctx context.Context, account int64, fn func(*Tx) error) error {
	return s.Update(ctx, account, Needs{}, func(t *Tx) error {
		if _, err := t.LockAccount(account); err != nil {
			return err
		}
		return fn(t)
	})
}

// UpdateShared is update for what belongs to no account, such as a user. Changes with the same number wait for each
// other.
func (s *Store) UpdateShared(ctx context.Context, number int64, fn func(*Tx) error) error {
	return s.queue(ctx, number, nil, fn)
}

func (s *Store) queue(ctx context.Context, number int64, n *Needs, fn func(*Tx) error) error {
	fn = authored(ctx, s.Now(), guarded(ctx, fn))
	var then []func()
	err := s.Db.Update(ctx, number, n, func(b db.Batch) error {
		t := b.(*Tx)
		t.then = nil
		err := fn(t)
		then = t.then
		return err
	})
	if err != nil {
		return Translate(err)
	}
	for _, do := range then {
		do()
	}
	return nil
}

// touchInterval is how often the time of last use is written at most.
const touchInterval = time.Minute

// NoteUse writes the time of last use, beside the request and not as part of it. A note that cannot be written is tried
// again with the next request; no client waits for it.
func (s *Store) NoteUse(last, now time.Time, write func(context.Context) error) {
	if now.Sub(last) >= touchInterval {
		s.Touching.Go(func() { _ = guard.Do(func() error { return write(context.Background()) }) })
	}
}

// Seconds and moment turn times into what the database keeps and back.
func Seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

func Moment(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// Foreign tells whether an id cannot be one of the account's. The caller learns nothing more about such an id.
func Foreign(account, id int64) bool { return doc.IDAccount(id) != account || doc.IDSeq(id) <= 0 }

var ErrNoMoreIDs = errors.New("the account has used all its ids")

// Fault is the error for one field.
func Fault(field string, rule doc.Rule, args ...any) error {
	v := new(doc.Invalid)
	v.Add(field, rule, args...)
	return v
}
