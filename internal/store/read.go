package store

import (
	"context"
	"sort"

	"donorbook/internal/db"
)

// find reads the row of one statement; missing is the error where there is none.
func find[T any](ctx context.Context, s *Base, missing error, scan func(db.Row) T, sql string, args ...any) (T, error) {
	return lend(ctx, s.read, func(c db.Conn) (T, error) { return findIn(c, missing, scan, sql, args...) })
}

// list reads all rows of one statement.
func list[T any](ctx context.Context, s *Base, scan func(db.Row) T, sql string, args ...any) ([]T, error) {
	return lend(ctx, s.read, func(c db.Conn) ([]T, error) { return db.List(c, scan, sql, args...) })
}

// snapshot reads what several statements find at the same moment. fn may run again.
func snapshot[T any](ctx context.Context, s *Base, fn func(db.Conn) (T, error)) (T, error) {
	return lend(ctx, s.view, fn)
}

// weighed is snapshot for a read that may have to wait for its turn.
func weighed[T any](ctx context.Context, s *Base, account int64, fn func(db.Conn, weigh) (T, error)) (found T, err error) {
	err = s.inTurn(ctx, account, func(w weigh) error {
		found, err = snapshot(ctx, s, func(c db.Conn) (T, error) { return fn(c, w) })
		return err
	})
	return found, err
}

// lend gives fn a connection and returns what it has found, and nothing where it fails.
func lend[T any](ctx context.Context, run func(context.Context, func(db.Conn) error) error, fn func(db.Conn) (T, error)) (T, error) {
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

// findIn is find on a snapshot or in a unit of work, where db.List is list.
func findIn[T any](c db.Conn, missing error, scan func(db.Row) T, sql string, args ...any) (found T, err error) {
	ok, err := c.One(func(r db.Row) { found = scan(r) }, sql, args...)
	if err == nil && !ok {
		err = missing
	}
	return found, err
}

// number is a row that has one number.
func number(r db.Row) int64 { return r.Int(0) }

// collect takes a value of each element of a list.
func collect[T, V any](elements []T, value func(T) V) (values []V) {
	for _, e := range elements {
		values = append(values, value(e))
	}
	return values
}

// keyed finds each element of a list by its key.
func keyed[K comparable, T any](elements []T, key func(T) K) map[K]T {
	found := make(map[K]T, len(elements))
	for _, e := range elements {
		found[key(e)] = e
	}
	return found
}

// sortRows sorts what was read. All kinds of rows share one sort: that of the package slices takes 16 KB of the program for each.
func sortRows[T any](rows []T, compare func(a, b *T) int) {
	sort.SliceStable(rows, func(i, j int) bool { return compare(&rows[i], &rows[j]) < 0 })
}
