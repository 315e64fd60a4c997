package store

import (
	"context"
	"sync/atomic"
	"testing"
)

// spy is an engine that counts what passes through it, and can step in.
type spy struct {
	engine
	commits atomic.Int64
	rows    atomic.Int64 // read outside of write transactions
	conns   atomic.Int64 // lent, for reading and for writing

	committing func() error     // before a commit; its error fails the commit
	lending    func()           // before a connection is lent for reading
	lent       func()           // after that
	read       func(sql string) // after the rows of a query were read
	wrote      func(sql string) // after a statement of a write transaction
}

// spyOn puts a spy between a store and its engine. Nothing may be under way.
func spyOn(t testing.TB, s *Store) *spy {
	t.Helper()
	e := &spy{engine: s.engine}
	s.engine = e
	for _, w := range s.writers {
		w.engine = e
	}
	return e
}

func (e *spy) reader(ctx context.Context) (conn, error) {
	e.conns.Add(1)
	if e.lending != nil {
		e.lending()
	}
	c, err := e.engine.reader(ctx)
	if err != nil {
		return nil, err
	}
	if e.lent != nil {
		e.lent()
	}
	return &spyReader{conn: c, spy: e}, nil
}

func (e *spy) writer(ctx context.Context) (conn, error) {
	e.conns.Add(1)
	c, err := e.engine.writer(ctx)
	if err != nil {
		return nil, err
	}
	return &spyWriter{conn: c, spy: e}, nil
}

func (e *spy) release(c conn) {
	switch c := c.(type) {
	case *spyReader:
		e.engine.release(c.conn)
	case *spyWriter:
		e.engine.release(c.conn)
	}
}

type spyWriter struct {
	conn
	spy *spy
}

func (c *spyWriter) commit() error {
	if c.spy.committing != nil {
		if err := c.spy.committing(); err != nil {
			return err
		}
	}
	c.spy.commits.Add(1)
	return c.conn.commit()
}

func (c *spyWriter) exec(sql string, args ...any) (int64, error) {
	n, err := c.conn.exec(sql, args...)
	if c.spy.wrote != nil {
		c.spy.wrote(sql)
	}
	return n, err
}

func (c *spyWriter) later(read func(rows) error, sql string, args ...any) error {
	err := c.conn.later(read, sql, args...)
	if c.spy.wrote != nil && read == nil {
		c.spy.wrote(sql)
	}
	return err
}

type spyReader struct {
	conn
	spy *spy
}

func (c *spyReader) query(sql string, args ...any) (rows, error) {
	r, err := c.conn.query(sql, args...)
	if err != nil {
		return nil, err
	}
	return &spyRows{rows: r, spy: c.spy, sql: sql}, nil
}

type spyRows struct {
	rows
	spy *spy
	sql string
}

func (r *spyRows) next() bool {
	more := r.rows.next()
	if more {
		r.spy.rows.Add(1)
	}
	return more
}

func (r *spyRows) close() error {
	err := r.rows.close()
	if r.spy.read != nil {
		r.spy.read(r.sql)
	}
	return err
}
