package store

import (
	"slices"

	"donorbook/internal/db"
)

// Lookup is what a batch knows of the rows of one kind in an account: those that changes said they need are read together before any
// of them decides, the others when they are asked for. The account is locked, so nothing but the batch itself can change them.
type Lookup[K interface{ int64 | string }, V any] struct {
	sql  string // with the account and a list of keys
	scan func(db.Row) (K, V)
	Rows map[K]V // the zero V where there is no row
}

func NewLookup[K interface{ int64 | string }, V any](sql string, scan func(db.Row) (K, V)) Lookup[K, V] {
	return Lookup[K, V]{sql, scan, make(map[K]V)}
}

// Prefetch asks for rows together with what else is asked for.
func (l *Lookup[K, V]) Prefetch(t *Tx, account int64, keys []K) error {
	keys = slices.DeleteFunc(slices.Clone(keys), func(key K) bool {
		_, known := l.Rows[key]
		return known
	})
	slices.Sort(keys)
	if keys = slices.Compact(keys); len(keys) == 0 {
		return nil
	}
	for _, key := range keys {
		l.Rows[key] = *new(V)
	}
	return t.Tx.Prefetch(func(r db.Row) error {
		key, row := l.scan(r)
		l.Rows[key] = row
		return nil
	}, l.sql, account, keys)
}

// Load reads rows at once.
func (l *Lookup[K, V]) Load(t *Tx, account int64, keys []K) error {
	if err := l.Prefetch(t, account, keys); err != nil {
		return err
	}
	return t.Fetch()
}

// Get is the row with a key, the zero V where there is none.
func (l *Lookup[K, V]) Get(t *Tx, account int64, key K) (row V, err error) {
	if row, known := l.Rows[key]; known {
		return row, nil
	}
	_, err = t.One(func(r db.Row) { _, row = l.scan(r) }, l.sql, account, []K{key})
	if err == nil {
		l.Rows[key] = row
	}
	return row, err
}
