package db

import (
	"context"
	"strings"
	"testing"
	"time"

	"donorbook/internal/rig"
	"donorbook/internal/rig/assert"
)

func TestMain(m *testing.M) { rig.Main(m) }

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
CREATE TABLE doc (account_id BIGINT NOT NULL, id {id} NOT NULL, title TEXT NOT NULL, body {bytes} NOT NULL, {idKey});
CREATE TABLE mark (account_id BIGINT NOT NULL, name {key} NOT NULL, id BIGINT NOT NULL,
	PRIMARY KEY (account_id, name, id)) {clustered};
`}, {SQL: `
CREATE TABLE total (account_id BIGINT NOT NULL, name {key} NOT NULL, n BIGINT NOT NULL, digits SMALLINT NOT NULL,
	PRIMARY KEY (account_id, name)) {clustered};
CREATE TABLE person (id BIGINT NOT NULL PRIMARY KEY, login {key} NOT NULL UNIQUE);
CREATE TABLE derived (name {key} NOT NULL PRIMARY KEY, version BIGINT NOT NULL);
`}},
		Tables:  []*Table{docTable, markTable, totalTable, personTable},
		Derived: Derived{Name: "marks", Version: 1, Work: func(*Tx, Progress) error { return nil }},
	}
}

// tinyBatch prefetches nothing.
type tinyBatch struct{ *Tx }

func (tinyBatch) Prepare([]*Change) error { return nil }
func (tinyBatch) Finish() error           { return nil }

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
	for _, e := range rig.Both {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			dir, url := e.New(t)
			test(t, tinyOptions(Options{Dir: dir, URL: url}))
		})
	}
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
		if !d.Closing() { // the test may have closed it
			succeed(t, d.Close())
		}
	})
	return d
}

func tinySQLite(t testing.TB) *DB {
	t.Helper()
	return openTiny(t, tinyOptions(Options{Dir: t.TempDir()}))
}

// wantRefused checks that a database does not open, and that the error says why.
func wantRefused(t *testing.T, what string, o Options, words ...string) {
	t.Helper()
	d, err := Open(t.Context(), o)
	if err == nil {
		t.Errorf("%s: it was opened", what)
		succeed(t, d.Close())
		return
	}
	wantSays(t, what, err, words...)
}

func wantSays(t *testing.T, what string, err error, words ...string) {
	t.Helper()
	for _, word := range words {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: the error %v does not say %q", what, err, word)
		}
	}
}

func wantError(t testing.TB, what string, got, want error) {
	t.Helper()
	rig.WantError(t, what, got, want)
}

// write runs a change.
func (d *DB) write(ctx context.Context, account int64, fn func(*Tx) error) error {
	return d.Update(ctx, account, nil, func(b Batch) error { return fn(b.(tinyBatch).Tx) })
}

// insert writes a new row.
func (d *DB) insert(t testing.TB, table *Table, values ...any) {
	t.Helper()
	succeed(t, d.write(t.Context(), 1, inserting(table, values...)))
}

// number is what a statement finds.
func (d *DB) number(t testing.TB, sql string, args ...any) (n int64) {
	t.Helper()
	succeed(t, d.Read(t.Context(), func(c Conn) (err error) {
		n, err = c.Int(sql, args...)
		return err
	}))
	return n
}

// readAll reads the first column of all rows, as numbers.
func (d *DB) readAll(t testing.TB, sql string, args ...any) (list []int64, err error) {
	t.Helper()
	err = d.Read(t.Context(), func(c Conn) (err error) {
		list, err = List(c, func(r Row) int64 { return r.Int(0) }, sql, args...)
		return err
	})
	return list, err
}

// inserting is a change that writes a new row.
func inserting(table *Table, values ...any) func(*Tx) error {
	return func(tx *Tx) error {
		tx.Insert(table, values...)
		return nil
	}
}

func errOf[T any](_ T, err error) error { return err }

// must and succeed are for calls that must succeed.

func must[T any](v T, err error) func(assert.Failer) T { return assert.Must(v, err) }

func succeed(t assert.Failer, err error) {
	t.Helper()
	assert.Succeed(t, err)
}

func equal[T any](t assert.Failer, got, want T, what ...any) {
	t.Helper()
	assert.Equal(t, got, want, what...)
}
