package db

import "context"

// Scrub sees to it that what was removed can be read nowhere in the files of the database. SQLite overwrites rows as it removes them, but its
// search keeps the words of removed documents until it merges its parts, and its log keeps pages as they were. A database server does
// that in its own time.
func (d *DB) Scrub(ctx context.Context, search *Table) error {
	for more := true; more; {
		err := d.queues[0].do(&Change{ctx: ctx, decide: func(t *Tx, _ Batch) (err error) {
			more, err = t.mergeSearch(search)
			return err
		}})
		if err != nil {
			return err
		}
	}
	c, err := d.engine.writer(ctx)
	if err != nil {
		return err
	}
	defer d.engine.release(c)
	if sql := c.dialect().emptyLog; sql != "" {
		_, err = exec(c, sql)
	}
	return err
}

// mergeSearch merges some parts of a search, so that changes of others come between; more tells whether anything is left to do.
func (t *Tx) mergeSearch(search *Table) (more bool, err error) {
	sql := t.dialect.search.merge
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
