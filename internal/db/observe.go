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
	return &observedConn{c, e.Observer, false}, nil
}

func (e *observed) writer(ctx context.Context) (conn, error) {
	tell(e.Writing)
	c, err := e.engine.writer(ctx)
	if err != nil {
		return nil, err
	}
	return &observedConn{c, e.Observer, true}, nil
}

func (e *observed) release(c conn) { e.engine.release(c.(*observedConn).conn) }

type observedConn struct {
	conn
	*Observer
	writes bool
}

func (c *observedConn) commit() error {
	if c.writes && c.Committing != nil {
		if err := c.Committing(); err != nil {
			return err
		}
	}
	return c.conn.commit()
}

func (c *observedConn) run(s statement) (changed int64, err error) {
	changed, err = c.conn.run(s)
	c.told(s)
	return changed, err
}

func (c *observedConn) queue(s statement) error {
	err := c.conn.queue(s)
	c.told(s)
	return err
}

func (c *observedConn) told(s statement) {
	if c.writes && c.Wrote != nil && s.read == nil {
		c.Wrote(s.sql)
	}
}

func (c *observedConn) each(read func(Row) error, s statement) error {
	if c.writes {
		return each(c.conn, read, s)
	}
	err := each(c.conn, func(r Row) error {
		tell(c.Row)
		return read(r)
	}, s)
	if c.Read != nil {
		c.Read(s.sql)
	}
	return err
}
