package db

// Observer is told what passes through a database, and can step in: by it, tests count what a request costs, and choose
// moments. Each function may be nil.
type Observer struct {
	Lending    func()                 // before a connection is lent for reading
	Lent       func()                 // after that
	Writing    func()                 // before a connection is lent for writing
	Before     func(sql string) error // before a statement of a write transaction; its error fails the statement
	Committing func() error           // before a commit; its error fails the commit
	Row        func()                 // for each row that is read outside of a write transaction
	Read       func(sql string)       // after the rows of such a query were read
	Wrote      func(sql string)       // after a statement of a write transaction
	Asked      func(sql string)       // after a query that a write transaction asks for in advance

	// after each statement, with its arguments; writing is one of a write transaction
	Ran func(sql string, args []any, writing bool)
}

// ErrAgain is what Committing returns to have a transaction taken back and begun again, as a server may do.
var ErrAgain = errUndone

// Observe sets the observer of a database. Nothing may be under way.
func (d *DB) Observe(o *Observer) {
	*d.observer = *o
}

func tell(f func()) {
	if f != nil {
		f()
	}
}

func (o *Observer) before(sql string) error {
	if o.Before == nil {
		return nil
	}
	return o.Before(sql)
}

func (o *Observer) committing() error {
	if o.Committing == nil {
		return nil
	}
	return o.Committing()
}

func (o *Observer) ran(sql string, args []any, writing bool) {
	if o.Ran != nil {
		o.Ran(sql, args, writing)
	}
}

func (o *Observer) wrote(s statement) {
	o.ran(s.sql, s.args, true)
	do := o.Wrote
	if s.read != nil {
		do = o.Asked
	}
	if do != nil {
		do(s.sql)
	}
}

// Queued is how many changes wait for the end of the batches before them.
func (d *DB) Queued() (n int) {
	d.changes.mu.Lock()
	defer d.changes.mu.Unlock()
	for _, l := range d.changes.lines {
		n += len(l.changes)
	}
	return n
}

// Closing tells whether changes are refused from now on.
func (d *DB) Closing() bool {
	d.changes.mu.Lock()
	defer d.changes.mu.Unlock()
	return d.changes.stopped
}
