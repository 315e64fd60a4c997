package db

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Tx is a unit of work: a write transaction that the changes of a batch share. What they write is kept in memory, the last state of
// each row, and goes to the database table by table, before something is read or at the end.
type Tx struct {
	Conn
	dialect *dialect
	sets    []*rowSet
	setOf   map[setKey]*rowSet
	pending int  // rows and counters that were not written yet
	taken   bool // a row was to be new and is not
	wrote   bool // by the change that runs
	changed bool // by any change of the batch
	key     []byte
}

func newTx(c conn, d *dialect) *Tx {
	t := &Tx{dialect: d, setOf: make(map[setKey]*rowSet)}
	t.Conn = Conn{conn: c, tx: t}
	return t
}

// rowSet is what is to become of rows of one table, all of one account where the table has accounts.
type rowSet struct {
	table *Table
	rows  []pendingRow
	at    map[string]int // where a row is
}

type setKey struct {
	table   *Table
	account int64
}

type pendingRow struct {
	key    string
	do     action
	values []any // the key alone for a row that is removed
}

type action byte

const (
	nothing action = iota
	insert
	save
	remove
	add // to a counter
)

// after is what two actions on one row are together.
func (second action) after(first action) action {
	switch {
	case first == insert && second == save:
		return insert
	case first == insert && second == remove:
		return nothing
	case first == remove && second == insert:
		return save
	case first == nothing && second == save:
		return insert
	}
	return second
}

// Insert writes a row that is new.
func (t *Tx) Insert(table *Table, values ...any) { t.put(table, insert, values) }

// Save writes a row that is there, or makes it.
func (t *Tx) Save(table *Table, values ...any) { t.put(table, save, values) }

// Delete removes the row with a key.
func (t *Tx) Delete(table *Table, key ...any) { t.put(table, remove, key) }

// Add adds to the number that a counter has under a key. A counter that comes to nothing is removed.
func (t *Tx) Add(table *Table, n int64, key ...any) {
	switch row := t.find(table, key); {
	case row == nil:
	case row.do == add:
		row.values[table.Key] = row.values[table.Key].(int64) + n
		t.Touch()
		return
	default: // the number is not known before the row is written: this goes to a set that is written after it
		delete(t.setOf, table.setKey(key))
	}
	t.put(table, add, append(slices.Clip(key), n))
}

// Touch says that the change that runs has counted something in memory: if it fails from now on, the batch must begin again.
func (t *Tx) Touch() { t.wrote, t.changed = true, true }

func (t *Tx) put(table *Table, do action, values []any) {
	t.Touch()
	if row := t.find(table, values); row != nil {
		if do == insert && (row.do == insert || row.do == save) {
			t.taken = true
		}
		row.do, row.values = do.after(row.do), values
		return
	}
	set := t.set(table, values)
	key := string(t.key)
	set.at[key] = len(set.rows)
	set.rows = append(set.rows, pendingRow{key, do, values})
	t.pending++
}

// find is the row with the key that values begin with, nil where it is not to be written yet.
func (t *Tx) find(table *Table, values []any) *pendingRow {
	set := t.set(table, values)
	t.key = table.rowKey(t.key[:0], values)
	if i, ok := set.at[string(t.key)]; ok {
		return &set.rows[i]
	}
	return nil
}

func (t *Tx) set(table *Table, values []any) *rowSet {
	key := table.setKey(values)
	set := t.setOf[key]
	if set == nil {
		set = &rowSet{table: table, at: make(map[string]int)}
		t.sets, t.setOf[key] = append(t.sets, set), set
	}
	return set
}

func (t *Table) setKey(values []any) setKey {
	if !t.tenant() {
		return setKey{table: t}
	}
	return setKey{t, values[0].(int64)}
}

// write hands the rows over to the connection, which may queue them.
func (t *Tx) write() error {
	if t.pending == 0 {
		return nil
	}
	if t.taken {
		return poisoned(ErrTaken)
	}
	sets := t.sets
	t.sets, t.pending = nil, 0
	clear(t.setOf)
	for _, set := range sets {
		if err := t.writeSet(set); err != nil {
			return poisoned(err)
		}
	}
	return nil
}

// poisoned is the error of something that was written later than it was asked for. The change that hears of it may not be the one
// that asked for it.
func poisoned(err error) error {
	if errors.Is(err, ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", errPoisoned, err)
}

// writeSet writes rows in the order of their keys: neighbors lie on the same page, and a search writes documents that come in order
// together, but any other by itself. It removes rows first: another one may be about to get a value that must be unique.
func (t *Tx) writeSet(set *rowSet) error {
	sql := t.dialect.texts(set.table)
	slices.SortFunc(set.rows, func(a, b pendingRow) int { return strings.Compare(a.key, b.key) })
	for _, row := range set.rows {
		if row.do == remove {
			if err := t.queue(nil, sql.remove, row.values[:set.table.Key]...); err != nil {
				return err
			}
		}
	}
	for _, step := range []struct {
		do  action
		sql string
	}{{save, sql.save}, {insert, sql.insert}} {
		if err := t.writeRows(set, step.do, step.sql); err != nil {
			return err
		}
	}
	return t.writeCounts(set, sql)
}

// writeRows writes the rows that need the same statement.
func (t *Tx) writeRows(set *rowSet, do action, sql string) error {
	if !t.dialect.lists {
		for _, row := range set.rows {
			if row.do == do {
				if err := t.queue(nil, sql, row.values...); err != nil {
					return err
				}
			}
		}
		return nil
	}
	var rows [][]any
	for _, row := range set.rows {
		if row.do == do {
			rows = append(rows, row.values)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return t.queue(nil, sql, listArgs(set.table, rows)...)
}

// listArgs are rows as lists, column by column. The account is the same for all, and no list.
func listArgs(table *Table, rows [][]any) []any {
	args := make([]any, 0, len(table.Columns))
	for i := range rows[0] {
		switch {
		case i == 0 && table.tenant():
			args = append(args, rows[0][0])
		case table.Columns[i].Kind == IntKind:
			args = append(args, column[int64](rows, i))
		case table.Columns[i].Kind == TextKind:
			args = append(args, column[string](rows, i))
		default:
			args = append(args, column[[]byte](rows, i))
		}
	}
	return args
}

func column[T any](rows [][]any, i int) []T {
	list := make([]T, len(rows))
	for n, row := range rows {
		list[n] = row[i].(T)
	}
	return list
}

// writeCounts adds to counters.
func (t *Tx) writeCounts(set *rowSet, sql tableSQL) error {
	if set.table.counter == "" {
		return nil
	}
	set.rows = slices.DeleteFunc(set.rows, func(row pendingRow) bool { return row.do != add || row.values[set.table.Key].(int64) == 0 })
	if sql.bump != "" {
		err := t.bump(set, sql)
		if err != nil {
			return err
		}
	}
	if err := t.writeRows(set, add, sql.add); err != nil {
		return err
	}
	for _, row := range set.rows {
		if row.values[set.table.Key].(int64) < 0 {
			if err := t.queue(nil, sql.drop, row.values[:set.table.Key]...); err != nil {
				return err
			}
		}
	}
	return nil
}

// bump adds to the counters whose numbers keep their digits, and leaves the others.
func (t *Tx) bump(set *rowSet, sql tableSQL) error {
	for i := range set.rows {
		changed, err := t.conn.exec(sql.bump, set.rows[i].values...)
		if err != nil {
			return err
		}
		if changed > 0 {
			set.rows[i].do = nothing
		}
	}
	set.rows = slices.DeleteFunc(set.rows, func(row pendingRow) bool { return row.do == nothing })
	return nil
}

// Exec runs a statement at once and returns how many rows it changed.
func (t *Tx) Exec(sql string, args ...any) (int64, error) {
	if err := t.write(); err != nil {
		return 0, err
	}
	t.wrote = true
	n, err := t.conn.exec(sql, args...)
	t.changed = t.changed || n > 0
	return n, err
}

// Prefetch asks for rows together with what else is asked for, before Fetch.
func (t *Tx) Prefetch(read func(Row) error, sql string, args ...any) error {
	if err := t.write(); err != nil {
		return err
	}
	return t.queue(read, sql, args...)
}

// PrefetchLock is Lock together with what else is asked for, before Fetch.
func (t *Tx) PrefetchLock(read func(Row) error, table *Table, key ...any) error {
	return t.Prefetch(func(r Row) error {
		t.changed = t.changed || t.dialect.confirms // it wrote the row
		return read(r)
	}, t.dialect.texts(table).lock, key...)
}

// Fetch waits for everything that was asked for.
func (t *Tx) Fetch() error { return t.flush() }

// Lock reads the row with a key, all its columns, and keeps it as it is until the transaction ends.
func (t *Tx) Lock(read func(Row), table *Table, key ...any) (found bool, err error) {
	found, err = t.One(read, t.dialect.texts(table).lock, key...)
	t.changed = t.changed || found && t.dialect.confirms
	return found, err
}

// LockAll lets one change at a time, of all nodes, decide about what belongs to no account.
func (t *Tx) LockAll() error {
	_, err := t.Exec(sqlConfirm)
	return err
}
