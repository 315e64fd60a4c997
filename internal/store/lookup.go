package store

import (
	"slices"

	"donorbook/internal/db"
)

// lookup is what a batch knows of the rows of one kind in an account: those that changes said they need are read together before any
// of them decides, the others when they are asked for. The account is locked, so nothing but the batch itself can change them.
type lookup[K interface{ int64 | string }, V any] struct {
	sql  string // with the account and a list of keys
	scan func(db.Row) (K, V)
	rows map[K]V // the zero V where there is no row
}

func newLookup[K interface{ int64 | string }, V any](sql string, scan func(db.Row) (K, V)) lookup[K, V] {
	return lookup[K, V]{sql, scan, make(map[K]V)}
}

// prefetch asks for rows together with what else is asked for.
func (l *lookup[K, V]) prefetch(t *tx, account int64, keys []K) error {
	keys = slices.DeleteFunc(slices.Clone(keys), func(key K) bool {
		_, known := l.rows[key]
		return known
	})
	slices.Sort(keys)
	if keys = slices.Compact(keys); len(keys) == 0 {
		return nil
	}
	for _, key := range keys {
		l.rows[key] = *new(V)
	}
	return t.Tx.Prefetch(func(r db.Row) error {
		key, row := l.scan(r)
		l.rows[key] = row
		return nil
	}, l.sql, account, keys)
}

// load reads rows at once.
func (l *lookup[K, V]) load(t *tx, account int64, keys []K) error {
	if err := l.prefetch(t, account, keys); err != nil {
		return err
	}
	return t.Fetch()
}

// get is the row with a key, the zero V where there is none.
func (l *lookup[K, V]) get(t *tx, account int64, key K) (row V, err error) {
	if row, known := l.rows[key]; known {
		return row, nil
	}
	_, err = t.One(func(r db.Row) { _, row = l.scan(r) }, l.sql, account, []K{key})
	if err == nil {
		l.rows[key] = row
	}
	return row, err
}
