package db

import "context"

// What was removed must be readable nowhere in the files of the database. SQLite overwrites rows as it removes them,
// but its search keeps the words of removed documents until it merges its parts, and its log keeps pages as they were.
// A database server does that in its own time.

// logDialect is how the contents of rows that were removed are taken out of the write-ahead log.
type logDialect struct {
	copy       string // brings the database up to date, beside those who write
	atOnce     string // the next statement waits for no one
	empty      string // tells 0 where it has
	mayWait    string // statements wait for others again
	inOurFiles bool   // otherwise the server keeps the log
}

// MergeSearch does a part of merging what the search has now, so that changes of others come between. begin is the
// first part; more tells whether anything is left. Several callers that take turns share the work.
func (d *DB) MergeSearch(ctx context.Context, search *Table, begin bool) (more bool, err error) {
	err = d.changes.do(&Change{ctx: ctx, decide: func(t *Tx, _ Batch) (err error) {
		more, err = t.mergeSearch(search, begin)
		return err
	}})
	return more, err
}

// mergeSearch merges some parts of a search. To begin means that all parts are to become one; what is written meanwhile
// does not have to be.
func (t *Tx) mergeSearch(search *Table, begin bool) (more bool, err error) {
	sql := t.dialect.search.merge
	if begin {
		sql = t.dialect.search.mergeAll
	}
	if sql == "" {
		return false, nil
	}
	before, err := t.Int(t.dialect.search.changes)
	if err != nil {
		return false, err
	}
	if _, err := t.Exec(search.spell(sql)); err != nil {
		return false, err
	}
	after, err := t.Int(t.dialect.search.changes)
	return after-before >= 2, err // one is the command itself
}

// EmptyLog empties the write-ahead log. It is not done where someone reads an earlier state of the database, such as an
// export: no one waits for that.
func (d *DB) EmptyLog(ctx context.Context) (done bool, err error) {
	err = d.Read(ctx, func(c Conn) error {
		if log := c.dialect().log; log.inOurFiles {
			return c.Each(func(Row) error { return nil }, log.copy)
		}
		done = true
		return nil
	})
	if done || err != nil {
		return done, err
	}
	c, err := d.engine.writer(ctx)
	if err != nil {
		return false, err
	}
	defer d.engine.release(c)
	log := c.dialect().log
	if _, err := exec(c, log.atOnce); err != nil {
		return false, err
	}
	defer exec(c, log.mayWait) //nolint:errcheck // a statement that sets a number
	busy := int64(1)
	_, err = Conn{conn: c}.One(func(r Row) { busy = r.Int(0) }, log.empty)
	return busy == 0, err
}
