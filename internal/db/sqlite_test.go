package db

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// What only SQLite has: its settings, its file, its few connections.

// sqliteConns borrows every connection of a store at once.
func sqliteConns(t *testing.T, d *DB) []conn {
	t.Helper()
	var conns []conn
	for range sqliteReaders {
		c := must(d.engine.reader(t.Context()))(t)
		conns = append(conns, c)
	}
	c := must(d.engine.writer(t.Context()))(t)
	conns = append(conns, c)
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
			if _, err := (Conn{conn: c}).One(func(r Row) { got = r.Text(0) }, "PRAGMA "+pragma); err != nil || got != want {
				t.Errorf("connection %d: %s is %s, %v, want %s", i, pragma, got, err, want)
			}
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

// A read ends when its client leaves or its time is over, and gives back one of the few readers. One that may take long goes on.
func TestALongReadEnds(t *testing.T) {
	t.Parallel()
	d := tinySQLite(t)
	const endless = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000000) SELECT COUNT(*) FROM n`
	read := func(c Conn) error {
		_, err := c.Int(endless)
		return err
	}
	for name, of := range map[string]func(context.Context, func(Conn) error) error{"a read": d.Read, "a view": d.View, "a long view": d.LongView} {
		for range sqliteReaders + 1 {
			if err := of(&leaving{Context: t.Context()}, read); !errors.Is(err, context.Canceled) {
				t.Errorf("%s of a client that leaves ends with %v", name, err)
			}
		}
	}
	start := time.Now()
	d.engine.(*sqliteEngine).now = func() time.Time {
		start = start.Add(time.Second)
		return start
	}
	for name, of := range map[string]func(context.Context, func(Conn) error) error{"a read": d.Read, "a view": d.View} {
		if err := of(t.Context(), read); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s that takes too long ends with %v", name, err)
		}
	}
	const long = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) SELECT COUNT(*) FROM n`
	err := d.LongView(t.Context(), func(c Conn) error {
		_, err := c.Int(long)
		return err
	})
	if err != nil {
		t.Errorf("a long view ends with %v", err)
	}
	if n := d.number(t, `SELECT COUNT(*) FROM person`); n != 0 {
		t.Errorf("%d people", n)
	}
}

func TestConcurrentReaderWaitsForAFreeConnection(t *testing.T) {
	t.Parallel()
	d := tinySQLite(t)
	var held []conn
	for range sqliteReaders {
		c := must(d.engine.reader(t.Context()))(t)
		held = append(held, c)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Ready(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("a client that has left waits on: %v", err)
	}
	ready := make(chan error)
	go func() { ready <- d.Ready(t.Context()) }()
	for _, c := range held {
		d.engine.release(c)
	}
	if err := <-ready; err != nil {
		t.Error(err)
	}
}

// Creating a database switches it to WAL, which must wait for any other connection that is writing.
func TestConcurrentOpenWaitsForWhoeverWritesANewDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	other := must(sqlite3.Open("file:" + filepath.Join(dir, "donorbook.db")))(t)
	defer other.Close() //nolint:errcheck // it has nothing to keep
	succeed(t, other.Exec(`CREATE TABLE something (x); BEGIN IMMEDIATE; INSERT INTO something VALUES (1)`))
	opened := make(chan error)
	go func() {
		d, err := Open(t.Context(), tinyOptions(Options{Dir: dir}))
		if err == nil {
			err = d.Close()
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		t.Errorf("it did not wait: %v", err)
	case <-time.After(50 * time.Millisecond):
		if err := errors.Join(other.Exec(`COMMIT`), <-opened); err != nil {
			t.Error(err)
		}
	}
}

func TestSQLiteErrorsAreTranslated(t *testing.T) {
	t.Parallel()
	d := tinySQLite(t)
	c, err := d.engine.writer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer d.engine.release(c)
	if _, err := exec(c, "INSERT INTO nowhere VALUES (1)"); err == nil || errors.Is(err, ErrUnavailable) || errors.Is(err, ErrTaken) {
		t.Errorf("a mistake in SQL is %v", err)
	}
	if _, err := exec(c, "PRAGMA query_only = 1"); err != nil {
		t.Fatal(err)
	}
	_, err = exec(c, sqlAddVersion, int64(9))
	if !errors.Is(err, ErrUnavailable) {
		t.Errorf("a database that cannot be written: %v", err)
	}
	if _, err := exec(c, "PRAGMA query_only = 0"); err != nil {
		t.Fatal(err)
	}
	if _, err := exec(c, "SELECT 1; SELECT 2"); err == nil {
		t.Error("two statements in one were accepted")
	}
	if _, err := exec(c, "SELECT ?"); err == nil {
		t.Error("a parameter without a number was accepted")
	}
	if _, err := exec(c, "SELECT $1", 1.5); err == nil {
		t.Error("a parameter of an unknown type was accepted")
	}
}
