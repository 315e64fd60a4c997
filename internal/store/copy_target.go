package store

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"donorbook/internal/crm"
)

// What a copy must know of a database before it touches it, and how the target is claimed, marked and emptied.

// databaseState is what can be known of a database without changing it.
type databaseState struct {
	tables   []string // of those that are copied
	version  int      // of its schema
	mark     int64    // of a copy into it, or 0
	searched bool     // it has an index for the search
	occupied string   // a table with rows
}

func inspect(c conn, d dialect) (s databaseState, err error) {
	versioned := false
	err = each(c, func(r rows) error {
		name := r.text(0)
		versioned = versioned || name == "schema_version"
		s.searched = s.searched || name == "contact_search"
		if slices.ContainsFunc(copyTables, func(t copyTable) bool { return t.name == name }) {
			s.tables = append(s.tables, name)
		}
		return nil
	}, d.tables)
	if err != nil {
		return s, err
	}
	slices.Sort(s.tables)
	if versioned {
		err = each(c, func(r rows) error {
			if v := r.int(0); v >= copyMark {
				s.mark = v
			} else {
				s.version = int(v)
			}
			return nil
		}, sqlVersions)
	}
	for _, name := range s.tables {
		if err != nil || s.occupied != "" {
			break
		}
		sql := `SELECT 1 FROM ` + name + ` LIMIT 1`
		if name == "invitation" { // whoever has only looked at the target finds set-up links there
			sql = `SELECT 1 FROM invitation WHERE account_id > 0 LIMIT 1`
		}
		var found bool
		if found, err = one(c, func(rows) {}, sql); found {
			s.occupied = name
		}
	}
	return s, err
}

func (s databaseState) checkSource() error {
	switch {
	case s.mark != 0:
		return fmt.Errorf("the source: %w", ErrUnfinished)
	case s.version == 0:
		return fmt.Errorf("the source is no database of donorbook: its tables are %w", crm.ErrNotFound)
	case s.version < len(migrations):
		return fmt.Errorf("%w: version %d, and this program has %d. A copy does not change its source: bring it up to date with another command of this program, such as account list", ErrSchema, s.version, len(migrations))
	case s.version > len(migrations):
		return fmt.Errorf("%w: version %d, and this program knows versions up to %d: use a newer donorbook", ErrSchema, s.version, len(migrations))
	}
	return nil
}

// claim makes sure that the target is empty, gives it the schema, and marks it.
func (k *copier) claim(restart bool) error {
	names := make([]string, 2)
	var state databaseState
	for i, e := range []engine{k.source, k.target} {
		err := k.look(e, func(c conn) (err error) {
			if _, err = one(c, func(r rows) { names[i] = r.text(0) }, e.dialect().identity); err == nil {
				state, err = inspect(c, e.dialect())
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	switch {
	case names[0] == names[1]:
		return ErrSameDatabase
	case state.mark != 0 && !restart:
		return fmt.Errorf("the target: %w", ErrUnfinished)
	case state.mark != 0:
		if err := k.empty(state); err != nil {
			return err
		}
	case state.occupied != "":
		return fmt.Errorf("%w: its table %s has rows; nothing was changed", ErrNotEmpty, state.occupied)
	}
	if err := (&Store{engine: k.target, now: time.Now}).migrate(k.ctx); err != nil {
		return fmt.Errorf("the target: %w", err)
	}
	return k.change(func(c conn) error {
		if err := k.lockVersion(c); err != nil {
			return err
		}
		state, err := inspect(c, k.target.dialect()) // again, now that no other copy can begin
		switch {
		case err != nil:
			return err
		case state.mark != 0:
			return fmt.Errorf("the target: %w", ErrUnfinished)
		case state.occupied != "":
			return fmt.Errorf("%w: its table %s has rows", ErrNotEmpty, state.occupied)
		}
		if _, err := c.exec(sqlEndSetups); err != nil {
			return err
		}
		_, err = c.exec(sqlMark, k.mark)
		return err
	})
}

func (k *copier) lockVersion(c conn) error {
	lock := k.target.dialect().lockVersion
	if lock == "" {
		return nil
	}
	_, err := c.exec(lock)
	return err
}

// empty removes what an interrupted copy has left. Only a database that was empty gets a mark, so nothing else is lost.
// A copy that is running after all finds its mark gone, and ends.
func (k *copier) empty(state databaseState) error {
	err := k.change(func(c conn) error {
		if err := k.lockVersion(c); err != nil {
			return err
		}
		if err := exactlyOne(c.exec(sqlUnmark, state.mark)); err != nil {
			return err
		}
		_, err := c.exec(sqlMark, k.mark)
		return err
	})
	if err != nil {
		return err
	}
	for _, table := range copyTables {
		if !slices.Contains(state.tables, table.name) {
			continue
		}
		sql := table.removeSQL(k.target.dialect())
		for removed := int64(1); removed > 0; {
			err := k.change(func(c conn) (err error) {
				if err = exactlyOne(c.exec(sqlMyMark, k.mark)); err == nil {
					removed, err = c.exec(sql)
				}
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return k.change(func(c conn) error {
		if state.searched {
			if _, err := c.exec(k.target.dialect().search.clear); err != nil {
				return err
			}
		}
		return exactlyOne(c.exec(sqlUnmark, k.mark))
	})
}

// exactlyOne insists on the mark that was written.
func exactlyOne(changed int64, err error) error {
	if err == nil && changed != 1 {
		err = errors.New("another copy has taken the target over")
	}
	return err
}
