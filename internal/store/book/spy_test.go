package book

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/ncruces/go-sqlite3"

	"donorbook/internal/db"
	"donorbook/internal/store"
)

// spy counts what passes through a database, and can intervene.
type spy struct {
	commits atomic.Int64
	rows    atomic.Int64 // read outside write transactions
	conns   atomic.Int64 // lent, for reading and for writing

	writing    func()           // before a connection is lent for writing
	committing func() error     // before a commit; its error fails the commit
	lending    func()           // before a connection is lent for reading
	lent       func()           // after that
	read       func(sql string) // after the rows of a query were read
	wrote      func(sql string) // after a statement of a write transaction
	asked      func(sql string) // after a query that a write transaction asks for in advance
}

// spyOn puts a spy between a store and its engine. Nothing may be in progress.
func spyOn(t testing.TB, s *Book) *spy {
	t.Helper()
	e := &spy{}
	s.Db.Observe(recorded(s, db.Observer{
		Lending: func() { e.conns.Add(1); call(e.lending) },
		Lent:    func() { call(e.lent) },
		Writing: func() { e.conns.Add(1); call(e.writing) },
		Committing: func() error {
			if e.committing != nil {
				if err := e.committing(); err != nil {
					return err
				}
			}
			e.commits.Add(1)
			return nil
		},
		Row:   func() { e.rows.Add(1) },
		Read:  func(sql string) { callWith(e.read, sql) },
		Wrote: func(sql string) { callWith(e.wrote, sql) },
		Asked: func(sql string) { callWith(e.asked, sql) },
	}))
	return e
}

func call(f func()) {
	if f != nil {
		f()
	}
}

func callWith(f func(string), sql string) {
	if f != nil {
		f(sql)
	}
}

// tamper changes a database outside the program, even one that no program opens.
func tamper(t *testing.T, o store.Options, sql string, args ...any) {
	t.Helper()
	changed, err := int64(0), error(nil)
	if file := o.ForDB(nil, nil).File(); file != "" {
		changed, err = tamperSQLite(file, sql, args)
	} else {
		changed, err = tamperPostgres(t, o.Database, sql, args)
	}
	if err == nil && changed == 0 {
		err = errors.New("nothing was changed")
	}
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func tamperSQLite(file, sql string, args []any) (changed int64, err error) {
	conn, err := sqlite3.Open(file)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := conn.BusyTimeout(10 * time.Second); err != nil {
		return 0, err
	}
	statement, _, err := conn.Prepare(sql)
	if err != nil {
		return 0, err
	}
	for i, arg := range args {
		at := statement.BindIndex(fmt.Sprintf("$%d", i+1))
		switch v := arg.(type) {
		case int64:
			err = errors.Join(err, statement.BindInt64(at, v))
		case []byte:
			err = errors.Join(err, statement.BindBlob(at, v))
		}
	}
	if err == nil {
		err = statement.Exec()
	}
	return conn.Changes(), errors.Join(err, statement.Close())
}

func tamperPostgres(t testing.TB, url, sql string, args []any) (changed int64, err error) {
	t.Helper()
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return 0, err
	}
	tag, err := conn.Exec(ctx, sql, args...)
	return tag.RowsAffected(), errors.Join(err, conn.Close(ctx))
}
