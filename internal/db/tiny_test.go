package db

import (
	"context"
	"testing"
	"time"

	"donorbook/internal/rig"
)

// A schema that is just large enough to test everything a database must do.
var (
	docTable    = NewTable("doc", "account_id id", "title:text body:bytes")
	markTable   = NewTable("mark", "account_id name:text id", "")
	totalTable  = NewCounter("total", "account_id name:text", "n", "digits")
	personTable = NewTable("person", "id", "login:text")
)

func tinySchema() *Schema {
	return &Schema{
		Steps: []Step{{SQL: `
CREATE TABLE doc (
	account_id BIGINT NOT NULL,
	id {id} NOT NULL,
	title TEXT NOT NULL,
	body {bytes} NOT NULL,
	{idKey}
);

CREATE TABLE mark (
	account_id BIGINT NOT NULL,
	name {key} NOT NULL,
	id BIGINT NOT NULL,
	PRIMARY KEY (account_id, name, id)
) {clustered};
`}, {SQL: `
CREATE TABLE total (
	account_id BIGINT NOT NULL,
	name {key} NOT NULL,
	n BIGINT NOT NULL,
	digits SMALLINT NOT NULL,
	PRIMARY KEY (account_id, name)
) {clustered};

CREATE TABLE person (
	id BIGINT NOT NULL PRIMARY KEY,
	login {key} NOT NULL UNIQUE
);

CREATE TABLE derived (
	name {key} NOT NULL PRIMARY KEY,
	version BIGINT NOT NULL
);
`}},
		Tables:  []*Table{docTable, markTable, totalTable, personTable},
		Derived: Derived{Name: "marks", Version: 1, Work: func(*Tx, Progress) error { return nil }},
	}
}

// tinyBatch prefetches nothing.
type tinyBatch struct{ *Tx }

func (tinyBatch) Prefetch([]*Change) error { return nil }
func (tinyBatch) Finish() error            { return nil }

// tinyOptions say how to open a database with the tiny schema.
func tinyOptions(o Options) Options {
	o.Schema, o.Now = tinySchema(), time.Now
	o.Begin = func(t *Tx) Batch { return tinyBatch{t} }
	return o
}

// eachOptions runs a test on every engine, with a database that no other test uses.
func eachOptions(t *testing.T, test func(t *testing.T, o Options)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, tinyOptions(Options{Dir: t.TempDir()}))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, tinyOptions(Options{URL: rig.Database(t)}))
	})
}

// eachDB runs a test on every engine, with an empty database.
func eachDB(t *testing.T, test func(t *testing.T, d *DB)) {
	t.Helper()
	eachOptions(t, func(t *testing.T, o Options) { test(t, openTiny(t, o)) })
}

func openTiny(t testing.TB, o Options) *DB {
	t.Helper()
	d := must(Open(t.Context(), o))(t)
	t.Cleanup(func() {
		if d.Closing() {
			return // the test has closed it
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func tinySQLite(t testing.TB) *DB {
	t.Helper()
	return openTiny(t, tinyOptions(Options{Dir: t.TempDir()}))
}

// write runs a change.
func (d *DB) write(ctx context.Context, account int64, fn func(*Tx) error) error {
	return d.Update(ctx, account, nil, func(b Batch) error { return fn(b.(tinyBatch).Tx) })
}

// must, must2 and succeed are for calls that must succeed.

func must[T any](v T, err error) func(rig.Failer) T { return rig.Must(v, err) }

func must2[T, U any](v T, u U, err error) func(rig.Failer) (T, U) { return rig.Must2(v, u, err) }

func succeed(t rig.Failer, err error) {
	t.Helper()
	rig.Succeed(t, err)
}
