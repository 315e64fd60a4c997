package db

import (
	"fmt"
	"slices"
	"strings"
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
	known := len(k.schema.Steps)
	switch {
	case err != nil:
		return err
	case s.mark != 0:
		return fmt.Errorf("the source: %w", ErrUnfinished)
	case s.version == 0:
		return fmt.Errorf("the source is no database of donorbook: its tables are %w", ErrNotFound)
	case s.version < known:
		return fmt.Errorf("%w: version %d, and this program has %d. A copy does not change its source: bring it up to date with another command of this program, such as account list", ErrSchema, s.version, known)
	case s.version > known:
		return fmt.Errorf("%w: version %d, and this program knows versions up to %d: use a newer donorbook", ErrSchema, s.version, known)
	}
	return nil
}

// claim makes sure that the target is empty, gives it the schema, and marks it.
func (k *copier) claim(restart bool, progress Progress) error {
	var states [2]databaseState
	for i, e := range []engine{k.source, k.target} {
		err := longView(k.ctx, e, func(c Conn) (err error) {
			states[i], err = inspect(c, k.schema)
			return err
		})
		if err != nil {
			return err
		}
	}
	target := states[1]
	switch {
	case states[0].identity == target.identity:
		return ErrSameDatabase
	case target.mark != 0 && !restart:
		return fmt.Errorf("the target: %w", ErrUnfinished)
	case target.mark != 0:
		if err := k.empty(target); err != nil {
			return err
		}
	case target.occupied != "":
		return fmt.Errorf("%w: its table %s has rows; nothing was changed", ErrNotEmpty, target.occupied)
	}
	// What is derived, too, gets the program's version: the words of copied rows are the program's own.
	if err := migrate(k.ctx, k.target, k.schema, progress); err != nil {
		return fmt.Errorf("the target: %w", err)
	}
	return k.change(k.markEmpty)
}

// markEmpty marks the target, and removes what is not worth keeping.
func (k *copier) markEmpty(t *Tx) error {
	if err := t.lockVersion(); err != nil {
		return err
	}
	state, err := inspect(t.Conn, k.schema) // again, now that no other copy can begin
	switch {
	case err != nil:
		return err
	case state.mark != 0:
		return fmt.Errorf("the target: %w", ErrUnfinished)
	case state.occupied != "":
		return fmt.Errorf("%w: its table %s has rows", ErrNotEmpty, state.occupied)
	}
	for _, table := range k.schema.Tables {
		if table.Transient != "" && err == nil {
			_, err = t.Exec("DELETE FROM " + table.Name + " WHERE " + table.Transient)
		}
	}
	if err == nil {
		_, err = t.Exec(sqlMark, k.mark)
	}
	return err
}

// empty removes what an interrupted copy has left. Only a database that was empty gets a mark, so nothing else is lost. A copy that
// is running after all finds its mark gone, and ends.
func (k *copier) empty(state databaseState) error {
	err := k.change(func(t *Tx) error {
		err := t.lockVersion()
		if err == nil {
			err = exactlyOne(t.Exec(sqlUnmark, state.mark))
		}
		if err == nil {
			_, err = t.Exec(sqlMark, k.mark)
		}
		return err
	})
	for _, table := range k.schema.Tables {
		key := strings.Join(table.key(k.target.dialect().rowKeys), ", ")
		sql := fmt.Sprintf("DELETE FROM %s WHERE (%s) IN (SELECT %[2]s FROM %[1]s ORDER BY %[2]s LIMIT %d)", table.Name, key, copyRows)
		for more := state.has(table); more && err == nil; {
			err = k.changeOwn(func(t *Tx) error {
				removed, err := t.Exec(sql)
				more = removed > 0
				return err
			})
		}
	}
	if err != nil {
		return err
	}
	return k.change(func(t *Tx) error {
		for _, table := range k.schema.Tables {
			if !state.has(table.Words) {
				continue
			}
			if err := t.ClearSearch(table.Words); err != nil {
				return err
			}
		}
		return exactlyOne(t.Exec(sqlUnmark, k.mark))
	})
}
