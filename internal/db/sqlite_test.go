package db

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// What only SQLite has: its settings, its file, its few connections.

// sqliteConns borrows every connection of a store at once.
func sqliteConns(t *testing.T, d *DB) []conn {
	t.Helper()
	var conns []conn
	for range sqliteReaders {
		conns = append(conns, must(d.engine.reader(t.Context()))(t))
	}
	conns = append(conns, must(d.engine.writer(t.Context()))(t))
	t.Cleanup(func() { // before the store is closed
		for _, c := range conns {
			d.engine.release(c)
		}
	})
	return conns
}

func TestEveryConnectionIsDurable(t *testing.T) {
	t.Parallel()
	d := tinySQLite(t)
	for i, c := range sqliteConns(t, d) {
		for pragma, want := range map[string]string{
			"journal_mode":   "wal",
			"synchronous":    "2", // FULL: a commit is on disk before it is acknowledged
			"busy_timeout":   "10000",
			"foreign_keys":   "1",
			"trusted_schema": "0",
			"secure_delete":  "1", // what is removed is overwritten
		} {
			var got string
			_, err := (Conn{conn: c}).One(func(r Row) { got = r.Text(0) }, "PRAGMA "+pragma)
			succeed(t, err)
			equal(t, got, want, "connection %d: %s", i, pragma)
		}
	}
}

// leaving is the context of a client that leaves while it reads.
type leaving struct {
	context.Context
	asked int
}

func (l *leaving) Err() error {
	if l.asked++; l.asked > 9 {
		return context.Canceled
	}
	return nil
}

// A read ends when its client leaves or its time is over, and gives back one of the few readers. One that may take long
// goes on.
func TestALongReadEnds(t *testing.T) {
	t.Parallel()
	d := tinySQLite(t)
	type reads map[string]func(context.Context, func(Conn) error) error
	counting := func(to string) func(c Conn) error {
		return func(c Conn) error {
			_, err := c.Int(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ` + to +
				`) SELECT COUNT(*) FROM n`)
			return err
		}
	}
	endless := counting("1000000000000")
	for name, of := range (reads{"a read": d.Read, "a view": d.View, "a long view": d.LongView}) {
		for range sqliteReaders + 1 {
			wantError(t, name+" of a client that leaves", of(&leaving{Context: t.Context()}, endless), context.Canceled)
		}
	}
	start := time.Now()
	d.engine.(*sqliteEngine).now = func() time.Time {
		start = start.Add(time.Second)
		return start
	}
	for name, of := range (reads{"a read": d.Read, "a view": d.View}) {
		wantError(t, name+" that takes too long", of(t.Context(), endless), ErrUnavailable)
	}
	succeed(t, d.LongView(t.Context(), counting("200000")))
	equal(t, d.number(t, `SELECT COUNT(*) FROM person`), 0)
}

func TestConcurrentReaderWaitsForAFreeConnection(t *testing.T) {
	t.Parallel()
	d := tinySQLite(t)
	var held []conn
	for range sqliteReaders {
		held = append(held, must(d.engine.reader(t.Context()))(t))
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	wantError(t, "a client that has left", d.Ready(gone), context.Canceled)
	ready := make(chan error)
	go func() { ready <- d.Ready(t.Context()) }()
	for _, c := range held {
		d.engine.release(c)
	}
	succeed(t, <-ready)
}

// Creating a database switches it to WAL, which must wait for any other connection that is writing.
func TestConcurrentOpenWaitsForWhoeverWritesANewDatabase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		other := must(sqlite3.Open("file:" + filepath.Join(dir, DatabaseFile)))(t)
		defer other.Close() //nolint:errcheck // it has nothing to keep
		succeed(t, other.Exec(`CREATE TABLE something (x); BEGIN IMMEDIATE; INSERT INTO something VALUES (1)`))
		opened := make(chan error, 1)
		go func() {
			d, err := Open(t.Context(), tinyOptions(Options{Dir: dir}))
			if err == nil {
				err = d.Close()
			}
			opened <- err
		}()
		time.Sleep(time.Second)
		synctest.Wait() // until it rests between two attempts, and so does not keep the other from its commit
		if len(opened) > 0 {
			t.Errorf("it did not wait: %v", <-opened)
			return
		}
		succeed(t, errors.Join(other.Exec(`COMMIT`), <-opened))
	})
}

// Gifts are found by statements that are built from their filters. A client that goes through all of them leaves no
// more than some; one that runs is kept, however many others run in between.
func TestSQLiteKeepsABoundedNumberOfStatements(t *testing.T) {
	t.Parallel()
	d := tinySQLite(t)
	var rows []int64
	err := d.Read(t.Context(), func(c Conn) error {
		return c.Each(func(r Row) error {
			rows = append(rows, r.Int(0))
			for i := range 2 * keptStatements {
				if _, err := c.Int(fmt.Sprintf("SELECT %d", i)); err != nil {
					return err
				}
			}
			return nil
		}, "SELECT 1 UNION ALL SELECT 2")
	})
	succeed(t, err)
	equal(t, slices.Equal(rows, []int64{1, 2}), true)
	most := 0
	for _, c := range d.engine.(*sqliteEngine).opened {
		most = max(most, len(c.statements))
	}
	equal(t, most, keptStatements, "a connection keeps")
}

// SQLite runs a statement once for each element of a list, so that it can have only one. The same list may stand there
// twice.
func TestSQLiteRefusesTwoLists(t *testing.T) {
	t.Parallel()
	d := tinySQLite(t)
	d.insert(t, docTable, int64(1), int64(1), "T", []byte("b"))
	const numbers = `SELECT id FROM doc WHERE id = ANY($1)`
	if found, err := d.readAll(t, numbers+` AND account_id = ANY($1)`, []int64{1, 2}); len(found) != 1 || err != nil {
		t.Errorf("one list, twice: %v, %v", found, err)
	}
	for range 2 { // prepared, then used again
		if found, err := d.readAll(t, numbers+` AND account_id = ANY($2)`, []int64{1}, []int64{1}); err == nil {
			t.Errorf("two lists found %v", found)
		}
	}
}

func TestSQLiteErrorsAreTranslated(t *testing.T) {
	t.Parallel()
	d := tinySQLite(t)
	c := must(d.engine.writer(t.Context()))(t)
	defer d.engine.release(c)
	_, err := exec(c, "INSERT INTO nowhere VALUES (1)")
	if err == nil || errors.Is(err, ErrUnavailable) || errors.Is(err, ErrTaken) {
		t.Errorf("a mistake in SQL is %v", err)
	}
	must(exec(c, "PRAGMA query_only = 1"))(t)
	_, err = exec(c, sqlAddVersion, int64(9))
	wantError(t, "a database that cannot be written", err, ErrUnavailable)
	must(exec(c, "PRAGMA query_only = 0"))(t)
	for sql, args := range map[string][]any{"SELECT 1; SELECT 2": nil, "SELECT ?": nil, "SELECT $1": {1.5}} {
		if _, err := exec(c, sql, args...); err == nil {
			t.Errorf("%s was accepted with %v", sql, args)
		}
	}
}
