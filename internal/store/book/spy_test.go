package book

import (
	"sync/atomic"
	"testing"

	"donorbook/internal/db"
)

// spy counts what passes through a database, and can intervene.
type spy struct {
	commits atomic.Int64
	rows    atomic.Int64 // read outside write transactions
	conns   atomic.Int64 // lent, for reading and for writing

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
		Writing: func() { e.conns.Add(1) },
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
