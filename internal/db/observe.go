package db

import "context"

// Observer is told what passes through a database, and can step in: by it, tests count what a request costs, and choose moments. Each
// function may be nil.
type Observer struct {
	Lending    func()           // before a connection is lent for reading
	Lent       func()           // after that
	Writing    func()           // before a connection is lent for writing
	Committing func() error     // before a commit; its error fails the commit
	Row        func()           // for each row that is read outside of a write transaction
	Read       func(sql string) // after the rows of such a query were read
	Wrote      func(sql string) // after a statement of a write transaction
}

// Observe puts an observer between a database and its engine. Nothing may be under way.
func (d *DB) Observe(o *Observer) {
	e := &observed{engine: d.engine, Observer: o}
	d.engine = e
	for _, q := range d.queues {
		q.engine = e
	}
}

// Queued is how many changes wait for the end of the batches before them.
func (d *DB) Queued() (n int) {
	for _, q := range d.queues {
		n += len(q.changes)
	}
	return n
}

// Closing tells whether the changes of an account are refused from now on.
func (d *DB) Closing(account int64) bool {
	q := d.queueOf(account)
	q.mu.RLock()
	defer q.mu.RUnlock()
	return q.stopped
}

type observed struct {
	engine
	*Observer
}

func tell(f func()) {
	if f != nil {
		f()
	}
}

func (e *observed) reader(ctx context.Context) (conn, error) {
	tell(e.Lending)
	c, err := e.engine.reader(ctx)
	if err != nil {
		return nil, err
	}
	tell(e.Lent)
	return &observedReader{c, e.Observer}, nil
}

func (e *observed) writer(ctx context.Context) (conn, error) {
	tell(e.Writing)
	c, err := e.engine.writer(ctx)
	if err != nil {
		return nil, err
	}
	return &observedWriter{c, e.Observer}, nil
}

func (e *observed) release(c conn) {
	switch c := c.(type) {
	case *observedReader:
		e.engine.release(c.conn)
	case *observedWriter:
		e.engine.release(c.conn)
	}
}

type observedWriter struct {
	conn
	*Observer
}

func (c *observedWriter) commit() error {
	if c.Committing != nil {
		if err := c.Committing(); err != nil {
			return err
		}
	}
	return c.conn.commit()
}

func (c *observedWriter) exec(sql string, args ...any) (int64, error) {
	n, err := c.conn.exec(sql, args...)
	if c.Wrote != nil {
		c.Wrote(sql)
	}
	return n, err
}

func (c *observedWriter) queue(read func(Row) error, sql string, args ...any) error {
	err := c.conn.queue(read, sql, args...)
	if c.Wrote != nil && read == nil {
		c.Wrote(sql)
	}
	return err
}

type observedReader struct {
	conn
	*Observer
}

func (c *observedReader) query(limit int, sql string, args ...any) (rows, error) {
	r, err := c.conn.query(limit, sql, args...)
	if err != nil {
		return nil, err
	}
	return &observedRows{r, c.Observer, sql}, nil
}

type observedRows struct {
	rows
	*Observer
	sql string
}

func (r *observedRows) next() bool {
	more := r.rows.next()
	if more {
		tell(r.Observer.Row)
	}
	return more
}

func (r *observedRows) close() error {
	err := r.rows.close()
	if r.Read != nil {
		r.Read(r.sql)
	}
	return err
}
