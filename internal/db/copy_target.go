package db

import (
	"fmt"
	"slices"
)

// What a copy must know of a database before it touches it, and how the target is claimed, marked and emptied.

// databaseState is what can be known of a database without changing it.
type databaseState struct {
	identity string   // which database it is
	names    []string // of its tables
	version  int      // of its schema
	mark     int64    // of a copy into it, or 0
	occupied string   // a table with rows that are worth keeping
}

func (s *databaseState) has(table *Table) bool {
	return table != nil && slices.Contains(s.names, table.Name)
}

func inspect(c Conn, schema *Schema) (s databaseState, err error) {
	if _, err = c.One(func(r Row) { s.identity = r.Text(0) }, c.dialect().identity); err == nil {
		s.names, err = List(c, func(r Row) string { return r.Text(0) }, c.dialect().tables)
	}
	if err == nil && slices.Contains(s.names, "schema_version") {
		err = c.Each(func(r Row) error {
			if v := r.Int(0); v >= copyMark {
				s.mark = v
			} else {
				s.version = int(v)
			}
			return nil
		}, sqlVersions)
	}
	for _, table := range slices.Backward(schema.Tables) {
		if err != nil || s.occupied != "" || !s.has(table) {
			continue
		}
		sql := "SELECT 1 FROM " + table.Name
		if table.Transient != "" { // a program that has only looked at the target may have left such rows
			sql += " WHERE NOT (" + table.Transient + ")"
		}
		var found bool
		if found, err = c.Exists(sql + " LIMIT 1"); found {
			s.occupied = table.Name
		}
	}
	return s, err
}

// checkSource finds out whether there is something to copy.
func (k *copier) checkSource(c Conn) error {
	s, err := inspect(c, k.schema)
	known := k.schema.Version()
	switch k.identity = s.identity; {
	case err != nil:
		return err
	case s.mark != 0:
		return fmt.Errorf("the source: %w", ErrUnfinished)
	case s.version == 0:
		return fmt.Errorf("the source is no database of donorbook: its tables are %w", ErrNotFound)
	case s.version < known:
		return fmt.Errorf("%w: version %d, and this program has %d. A copy does not change its source: bring it up to date with another command of this program, such as account list", ErrSchema, s.version, known)
	case s.version > known:
		return fmt.Errorf("%w: version %d, and this program knows versions up to %d: use a newer donorbook", ErrSchema,
			s.version, known)
	}
	return nil
}

// claim makes sure that the target is empty, gives it the schema, and marks it.
func (k *copier) claim(restart bool, progress Progress) error {
	var s databaseState
	err := longView(k.ctx, k.target, func(c Conn) (err error) {
		s, err = inspect(c, k.schema)
		return err
	})
	switch {
	case err != nil:
	case s.identity == k.identity:
		err = ErrSameDatabase
	case s.mark != 0 && restart:
		err = k.empty(s)
	default:
		err = s.vacant()
	}
	if err != nil {
		return err
	}
	// What is derived, too, gets the program's version: the words of copied rows are the program's own.
	if err := migrate(k.ctx, k.target, k.schema, progress); err != nil {
		return fmt.Errorf("the target: %w", err)
	}
	err = k.change(k.markEmpty)
	k.marked = err == nil
	return err
}

// vacant refuses a target that is in use.
func (s *databaseState) vacant() error {
	switch {
	case s.mark != 0:
		return fmt.Errorf("the target: %w", ErrUnfinished)
	case s.occupied != "":
		return fmt.Errorf("%w: its table %s has rows; nothing was changed", ErrNotEmpty, s.occupied)
	}
	return nil
}

// markEmpty marks the target, and removes what is not worth keeping.
func (k *copier) markEmpty(t *Tx) error {
	if err := t.lockVersion(); err != nil {
		return err
	}
	state, err := inspect(t.Conn, k.schema) // again, now that no other copy can begin
	if err == nil {
		err = state.vacant()
	}
	for _, table := range k.schema.Tables {
		if table.Transient != "" && err == nil {
			_, err = t.Exec("DELETE FROM " + table.Name + " WHERE " + table.Transient)
		}
	}
	if err == nil {
		_, err = t.Exec(sqlAddVersion, k.mark)
	}
	return err
}

// empty removes what an interrupted copy has left. Only a database that was empty gets a mark, so nothing else is lost.
// A copy that is running after all finds its mark gone, and ends.
func (k *copier) empty(state databaseState) error {
	return k.change(func(t *Tx) error {
		err := t.lockVersion()
		if err == nil {
			err = exactlyOne(t.Exec(sqlUnmark, state.mark))
		}
		for _, table := range k.schema.Tables {
			if err == nil && state.has(table) {
				_, err = t.Exec(t.dialect.clear + table.Name)
			}
			if err == nil && state.has(table.Words) {
				err = t.ClearSearch(table.Words)
			}
		}
		return err
	})
}

// finish makes the target one that every program opens.
func (k *copier) finish(t *Tx) error {
	for _, table := range k.schema.Tables {
		if table.Words != nil {
			if err := t.CompactSearch(table.Words); err != nil {
				return err
			}
		}
	}
	return exactlyOne(t.Exec(sqlUnmark, k.mark))
}
