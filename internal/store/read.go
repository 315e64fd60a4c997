package store

import (
	"context"
	"errors"
	"sort"
	"sync"

	"donorbook/internal/db"
)

// Find reads the row of one statement; missing is the error where there is none.
func Find[T any](ctx context.Context, s *Store, missing error, scan func(db.Row) T, sql string,
	args ...any,
) (T, error) {
	return Lend(ctx, s.Read, func(c db.Conn) (T, error) { return FindIn(c, missing, scan, sql, args...) })
}

// List reads all rows of one statement.
func List[T any](ctx context.Context, s *Store, scan func(db.Row) T, sql string, args ...any) ([]T, error) {
	return Lend(ctx, s.Read, func(c db.Conn) ([]T, error) { return db.List(c, scan, sql, args...) })
}

const sqlAccountNumbers = `SELECT account_id FROM account ORDER BY account_id`

// ListAll reads rows of all accounts with one statement. Where accounts are on several machines and one of these is
// away, that fails: then each account is asked by itself, with a statement that has it before the other arguments, and
// those that cannot answer now are left out.
func ListAll[T any](ctx context.Context, s *Store, scan func(db.Row) T, sql, ofOne string, args ...any) ([]T, error) {
	all, err := List(ctx, s, scan, sql, args...)
	if err == nil || !errors.Is(err, db.ErrUnavailable) {
		return all, err
	}
	accounts, away := List(ctx, s, Number, sqlAccountNumbers)
	if away != nil {
		return nil, err
	}
	answered := false
	for _, account := range accounts {
		if found, err := List(ctx, s, scan, ofOne, append([]any{account}, args...)...); err == nil {
			answered, all = true, append(all, found...)
		}
	}
	if answered {
		err = nil
	}
	return all, err
}

// Snapshot reads what several statements find at the same moment. fn may run again.
func Snapshot[T any](ctx context.Context, s *Store, fn func(db.Conn) (T, error)) (T, error) {
	return Lend(ctx, s.View, fn)
}

// Admitted is snapshot for a read that may have to wait for its turn.
func Admitted[T any](ctx context.Context, s *Store, account int64,
	fn func(db.Conn, Admit) (T, error),
) (found T, err error) {
	err = s.InTurn(ctx, account, func(w Admit) error {
		found, err = Snapshot(ctx, s, func(c db.Conn) (T, error) { return fn(c, w) })
		return err
	})
	return found, err
}

// Lend gives fn a connection and returns what it has found, and nothing where it fails.
func Lend[T any](ctx context.Context, run func(context.Context, func(db.Conn) error) error,
	fn func(db.Conn) (T, error),
) (T, error) {
	var found, nothing T
	err := run(ctx, func(c db.Conn) (err error) {
		found, err = fn(c)
		return err
	})
	if err != nil {
		return nothing, err
	}
	return found, nil
}

// FindIn is find on a snapshot or in a unit of work, where db.List is list.
func FindIn[T any](c db.Conn, missing error, scan func(db.Row) T, sql string, args ...any) (found T, err error) {
	ok, err := c.One(func(r db.Row) { found = scan(r) }, sql, args...)
	if err == nil && !ok {
		err = missing
	}
	return found, err
}

// Number is a row that has one number.
func Number(r db.Row) int64 { return r.Int(0) }

// Collect takes a value of each element of a list.
func Collect[T, V any](elements []T, value func(T) V) (values []V) {
	for _, e := range elements {
		values = append(values, value(e))
	}
	return values
}

// Keyed finds each element of a list by its key.
func Keyed[K comparable, T any](elements []T, key func(T) K) map[K]T {
	found := make(map[K]T, len(elements))
	for _, e := range elements {
		found[key(e)] = e
	}
	return found
}

// SortRows sorts what was read. All kinds of rows share one sort: that of the package slices takes 16 KB of the program
// for each.
func SortRows[T any](rows []T, compare func(a, b *T) int) {
	sort.SliceStable(rows, func(i, j int) bool { return compare(&rows[i], &rows[j]) < 0 })
}

// Cache holds in memory what was read, up to a limit for each cache. Where a value would be too much, the others are
// dropped: they are quickly read again. The caller knows whether a value is still true.
type Cache[K comparable, V any] struct {
	mu   sync.RWMutex
	held map[K]cached[V]
	size int64
}

type cached[V any] struct {
	value V
	size  int64
}

// MaxCached bounds what a cache holds, in bytes. A value counts for leastCached at least.
const (
	MaxCached   = 16 << 20
	leastCached = 1 << 10
)

// Get is the value that was kept under a key.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	held, ok := c.held[key]
	return held.value, ok
}

// Keep holds a value of about so many bytes.
func (c *Cache[K, V]) Keep(key K, value V, size int64) {
	held := cached[V]{value, max(leastCached, size)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size += held.size - c.held[key].size
	if c.held == nil || c.size > MaxCached {
		c.held, c.size = make(map[K]cached[V]), held.size
	}
	c.held[key] = held
}
