package db

import (
	"errors"
	"iter"
	"slices"
	"strings"
)

// Tx is a unit of work: a write transaction that the changes of a batch share. What they write is kept in memory, the
// last state of each row, and goes to the database table by table, before something is read or at the end.
type Tx struct {
	Conn
	dialect  *dialect
	observer *Observer
	rows     []pendingRow  // that were not written yet
	at       map[rowID]int // where a row is
	taken    bool          // a row was to be new and is not
	drops    bool          // what is written is dropped: the changes are only considered
	wrote    bool          // by the change that runs
	changed  bool          // by any change of the batch
	failed   error         // of a statement: from then on the batch may believe what is not so
	written  int64         // bytes of rows and arguments
	counted  int64         // bytes from which on they count
	key      []byte
}

func newTx(c conn, o *Observer) *Tx {
	t := &Tx{dialect: c.dialect(), at: make(map[rowID]int), observer: o, counted: c.bytesRead()}
	t.Conn = Conn{conn: c, tx: t}
	return t
}

// Full tells whether a unit of work has read and written so much that what can wait should wait for the next one.
func (t *Tx) Full() bool { return t.bytes()-t.counted > batchBytes }

func (t *Tx) bytes() int64 { return t.written + t.conn.bytesRead() }

// count counts the bytes that are to be written.
func (t *Tx) count(values []any) {
	for _, value := range values {
		switch v := value.(type) {
		case string:
			t.written += int64(len(v))
		case []byte:
			t.written += int64(len(v))
		}
	}
}

// queue hands a statement over to the connection.
func (t *Tx) queue(s statement) error {
	err := t.observer.before(s.sql)
	if err == nil {
		err = t.conn.queue(s)
	}
	t.observer.wrote(s)
	return t.noted(err)
}

// exec runs a statement beside the rows that are kept in memory.
func (t *Tx) exec(sql string, args ...any) (changed int64, err error) {
	if err = t.observer.before(sql); err == nil {
		changed, err = exec(t.conn, sql, args...)
	}
	t.observer.wrote(statement{sql: sql, args: args})
	return changed, t.noted(err)
}

// each reads rows when those that are kept in memory were written.
func (t *Tx) each(read func(Row) error, s statement) error {
	if err := t.write(); err != nil {
		return err
	}
	t.observer.ran(s.sql, s.args, true)
	err, isStopped := t.observer.before(s.sql), false
	if err == nil {
		err = each(t.conn, func(r Row) error {
			err := read(r)
			isStopped = err != nil
			return err
		}, s)
	}
	if isStopped {
		return err // the statement has not failed
	}
	return t.noted(err)
}

// noted notes that a statement has failed. Whatever the change that asked makes of it, the batch is not kept: what was
// to be read may count as not there.
func (t *Tx) noted(err error) error {
	if t.failed == nil {
		t.failed = err
	}
	return err
}

// heard is the error of a change: that of its statement, where the change has not noticed it or took it for something
// else.
func (t *Tx) heard(err error) error {
	if t.failed == nil || errors.Is(err, t.failed) {
		return err
	}
	return t.failed
}

// pendingRow is what is to become of a row.
type pendingRow struct {
	rowID
	do     action
	values []any // the key alone for a row that is removed
}

type rowID struct {
	table *Table
	key   string
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
	t.Touch()
	if row := t.find(table, key); row != nil && row.do == add {
		row.values[table.Key] = row.values[table.Key].(int64) + n
		return
	}
	t.append(table, add, append(slices.Clip(key), n)) // beside another action on the row, since counts are written last
}

// Touch says that the change that runs has counted something in memory: if it fails from now on, the batch must begin
// again.
func (t *Tx) Touch() { t.wrote, t.changed = true, true }

func (t *Tx) put(table *Table, do action, values []any) {
	t.Touch()
	t.count(values)
	if row := t.find(table, values); row != nil {
		if do == insert && (row.do == insert || row.do == save) {
			t.taken = true
		}
		row.do, row.values = do.after(row.do), values
		return
	}
	t.append(table, do, values)
}

// Drops tells that the changes are only considered: what they write is dropped, and not seen by what is read.
func (t *Tx) Drops() bool { return t.drops }

// Pending are the rows of a table that are to be written and were not yet, or only have their key where they are to be
// removed.
func (t *Tx) Pending(table *Table) iter.Seq2[[]any, bool] {
	return func(yield func(row []any, isRemoved bool) bool) {
		for _, row := range t.rows {
			if row.table == table && row.do != nothing && !yield(row.values, row.do == remove) {
				return
			}
		}
	}
}

// append notes a row that find has looked for.
func (t *Tx) append(table *Table, do action, values []any) {
	id := rowID{table, string(t.key)}
	t.at[id] = len(t.rows)
	t.rows = append(t.rows, pendingRow{id, do, values})
}

// find is the row with the key that values begin with, nil where it is not to be written yet.
func (t *Tx) find(table *Table, values []any) *pendingRow {
	t.key = table.rowKey(t.key[:0], values)
	if i, ok := t.at[rowID{table, string(t.key)}]; ok {
		return &t.rows[i]
	}
	return nil
}

// write hands the rows over to the connection, which may queue them, table by table and in the order of their keys:
// neighbors lie on the same page, and a search writes documents that come in order together, but any other by itself.
func (t *Tx) write() error {
	if len(t.rows) == 0 || t.drops {
		return nil
	}
	if t.taken {
		return poisoned(ErrTaken)
	}
	rows := t.rows
	t.rows = nil
	clear(t.at)
	slices.SortFunc(rows, func(a, b pendingRow) int {
		if a.table != b.table {
			return strings.Compare(a.table.Name, b.table.Name)
		}
		return strings.Compare(a.key, b.key)
	})
	for n := 0; len(rows) > 0; rows = rows[n:] {
		var by [add + 1][][]any
		for n = 0; n < len(rows) && rows[n].table == rows[0].table; n++ {
			by[rows[n].do] = append(by[rows[n].do], rows[n].values)
		}
		if err := t.writeTable(rows[0].table, &by); err != nil {
			return poisoned(err)
		}
	}
	return nil
}

// poisoned is the error of something that was written later than it was asked for. The change that hears of it may not
// be the one that asked for it.
func poisoned(err error) error {
	if errors.Is(err, ErrUnavailable) {
		return err
	}
	return because(errPoisoned, err)
}

// writeTable removes rows first: another one may be about to get a value that must be unique.
func (t *Tx) writeTable(table *Table, rows *[add + 1][][]any) error {
	sql := t.dialect.texts(table)
	return First(
		func() error { return t.writeEach(sql.remove, rows[remove], table.Key) },
		func() error { return t.writeRows(table, sql.save, rows[save]) },
		func() error { return t.writeRows(table, sql.insert, rows[insert]) },
		func() error { return t.writeCounts(table, sql, rows[add]) },
	)
}

// writeEach runs a statement for each row, with the first n of its values.
func (t *Tx) writeEach(sql string, rows [][]any, n int) error {
	for _, row := range rows {
		if err := t.queue(statement{sql: sql, args: row[:n]}); err != nil {
			return err
		}
	}
	return nil
}

// writeRows writes rows in the order of their keys, as many of one account with a statement as the engine takes.
func (t *Tx) writeRows(table *Table, sql rowTexts, rows [][]any) error {
	for len(rows) > 0 {
		same := 1
		for same < min(len(rows), sql.most()) && (!table.tenant() || rows[same][0] == rows[0][0]) {
			same++
		}
		text, n := sql.largest(same)
		if err := t.queue(statement{sql: text, args: table.arguments(rows[:n])}); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// arguments are the values of rows, one after the other. The account, which is the same for all, comes once.
func (t *Table) arguments(rows [][]any) []any {
	if len(rows) == 1 {
		return rows[0]
	}
	args := make([]any, 0, len(rows)*len(rows[0]))
	for i, row := range rows {
		if i > 0 && t.tenant() {
			row = row[1:]
		}
		args = append(args, row...)
	}
	return args
}

// writeCounts adds to counters. Where it can, it adds to those first whose numbers keep their digits.
func (t *Tx) writeCounts(table *Table, sql tableSQL, rows [][]any) (err error) {
	rows = slices.DeleteFunc(rows, func(row []any) bool {
		if row[table.Key].(int64) == 0 || err != nil {
			return true
		}
		var changed int64
		if sql.bump != "" {
			changed, err = t.exec(sql.bump, row...)
		}
		return changed > 0
	})
	if err == nil {
		err = t.writeRows(table, sql.add, rows)
	}
	if err != nil {
		return err
	}
	return t.writeEach(sql.drop, slices.DeleteFunc(rows, func(row []any) bool { return row[table.Key].(int64) >= 0 }),
		table.Key)
}

// Exec runs a statement at once and returns how many rows it changed. A change that is only considered has no right to
// that.
func (t *Tx) Exec(sql string, args ...any) (int64, error) {
	if t.drops {
		return 0, errors.New("a change that was only to be considered has run " + sql)
	}
	if err := t.write(); err != nil {
		return 0, err
	}
	t.wrote = true
	t.count(args)
	n, err := t.exec(sql, args...)
	t.changed = t.changed || n > 0
	return n, err
}

// Prefetch asks for rows together with what else is asked for, before Fetch.
func (t *Tx) Prefetch(read func(Row) error, sql string, args ...any) error {
	if err := t.write(); err != nil {
		return err
	}
	return t.queue(statement{sql: sql, args: args, read: read})
}

// PrefetchLock is Lock together with what else is asked for, before Fetch.
func (t *Tx) PrefetchLock(read func(Row) error, table *Table, key ...any) error {
	return t.Prefetch(func(r Row) error {
		t.changed = t.changed || t.dialect.confirms // it wrote the row
		return read(r)
	}, t.dialect.texts(table).lock, key...)
}

// Fetch waits for everything that was asked for.
func (t *Tx) Fetch() error { return t.noted(t.flush()) }

// Flush writes what is kept in memory, for a change that writes more than fits.
func (t *Tx) Flush() error { return First(t.write, t.Fetch) }

// Lock reads the row with a key, all its columns, and keeps it as it is until the transaction ends.
func (t *Tx) Lock(read func(Row), table *Table, key ...any) (found bool, err error) {
	found, err = t.One(read, t.dialect.texts(table).lock, key...)
	t.changed = t.changed || found && t.dialect.confirms
	return found, err
}

// LockAll lets one change at a time, of all nodes, decide about what belongs to no account. Its unit of work must be
// short.
func (t *Tx) LockAll() error {
	_, err := t.Exec(sqlLockAll)
	return err
}

// touchDisk writes something that no one reads or locks.
func (t *Tx) touchDisk() error {
	_, err := t.Exec(t.dialect.touch)
	t.changed = true
	return err
}
