package db

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Table is a table, described once: what is written to it, copied and checked comes from here. The columns of its key
// come first. One whose key begins with account_id has the rows of accounts, which may lie on different machines.
type Table struct {
	Name    string
	Columns []Column
	Key     int // how many columns are its key

	// it has rows of accounts, and yet is on every machine where accounts are on several: it is small, and found
	// without its account
	Everywhere bool

	// a condition for rows that are not worth keeping, such as links that anyone can have made anew
	Transient string
	Words     *Table                            // the search that has the words of its rows
	WordsOf   func(row []any) (string, error)   // which they are
	NameOf    func(row []any) (id, name string) // what an account is called, in the table of accounts

	search  bool   // it has words instead of columns
	counter string // the column that counts; the one after it has the number of its digits
}

// Column is one column of a table.
type Column struct {
	Name string
	Kind Kind
}

// Kind is what a column holds: int64, string or []byte.
type Kind byte

// The kinds of columns.
const (
	IntKind   Kind = 'i'
	TextKind  Kind = 't'
	BytesKind Kind = 'b'
)

var kinds = map[string]Kind{"": IntKind, "text": TextKind, "bytes": BytesKind}

// NewTable describes a table by the columns of its key and the others. A column is a number, or has :text or :bytes
// behind its name.
func NewTable(name, key, others string) *Table {
	t := &Table{Name: name, Key: len(strings.Fields(key))}
	for _, field := range strings.Fields(key + " " + others) {
		column, kind, _ := strings.Cut(field, ":")
		t.Columns = append(t.Columns, Column{column, kinds[kind]})
	}
	return t
}

// NewCounter describes a table that counts something under its key, and knows how many digits the number has: an index
// of that finds the largest numbers, and rarely moves.
func NewCounter(name, key, count, digits string) *Table {
	t := NewTable(name, key, count+" "+digits)
	t.counter = count
	return t
}

// NewSearch describes a search: a row has the words of a document under its account and id.
func NewSearch(name string) *Table {
	t := NewTable(name, "account_id id", "words:text")
	t.search = true
	return t
}

// tenant tells whether the rows belong to accounts.
func (t *Table) tenant() bool { return t.Columns[0].Name == "account_id" }

// spread tells whether the rows are with their accounts where these are on several machines. All other tables are on
// every machine.
func (t *Table) spread() bool { return t.tenant() && !t.Everywhere }

// At is the place of a column in a row, -1 where there is none.
func (t *Table) At(name string) int {
	return slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
}

// join makes something of the name of each column, and of its number from 1.
func join(columns []Column, between string, text func(name string, n int) string) string {
	texts := make([]string, len(columns))
	for i, c := range columns {
		texts[i] = text(c.Name, i+1)
	}
	return strings.Join(texts, between)
}

func names(columns []Column) string {
	return join(columns, ", ", func(name string, _ int) string { return name })
}

// parameters are the names of as many parameters.
func parameters(columns []Column) string {
	return join(columns, ", ", func(_ string, n int) string { return "$" + strconv.Itoa(n) })
}

// all are the names of all columns.
func (t *Table) all() string { return names(t.Columns) }

// key are the columns that the engine's primary key has.
func (t *Table) key(rowKeys bool) []Column {
	if rowKeys && t.Key == 2 && t.Columns[1].Name == "id" && t.At("body") >= 0 {
		return t.Columns[1:2] // it begins with its account, so that both keys mean the same order
	}
	return t.Columns[:t.Key]
}

// where is the condition that finds a row by its key.
func (t *Table) where() string {
	return join(t.Columns[:t.Key], " AND ", func(name string, n int) string { return name + " = $" + strconv.Itoa(n) })
}

// assign sets all columns but the key to what a statement was about to insert.
func (t *Table) assign() string {
	if t.Key == len(t.Columns) {
		return "NOTHING"
	}
	return "UPDATE SET " + join(t.Columns[t.Key:], ", ",
		func(name string, _ int) string { return name + " = excluded." + name })
}

// tableSQL is how an engine writes the rows of a table.
type tableSQL struct {
	insert, save rowTexts
	remove       string   // a row by its key
	lock         string   // reads a row by its key, and keeps it as it is until the transaction ends
	add          rowTexts // adds to counters
	bump         string   // adds to one counter whose number keeps its digits; "" where add is as cheap
	drop         string   // removes a counter that has come to nothing
}

// rowTexts are statements that write several rows: 1, 2, 4, 8 and so on. Few sizes mean few statements to prepare.
type rowTexts []string

// most is how many rows one statement can write.
func (s rowTexts) most() int { return 1 << (len(s) - 1) }

// largest is the statement that writes as many of n rows as possible, and how many that are.
func (s rowTexts) largest(n int) (sql string, rows int) {
	i := bits.Len(uint(min(n, s.most()))) - 1
	return s[i], 1 << i
}

// insertion inserts a number of rows. They are all of one account, $1, so that the statement goes to one machine where
// accounts are spread over several. value says what becomes of a parameter.
func (t *Table) insertion(given []Column, rows int, value func(c Column, parameter string) string) string {
	lines, next := make([]string, rows), 1
	for i := range lines {
		lines[i] = "(" + join(given, ", ", func(_ string, n int) string {
			if i > 0 && n == 1 && t.tenant() {
				return "$1"
			}
			next++
			return value(given[n-1], "$"+strconv.Itoa(next-1))
		}) + ")"
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES %s", t.Name, t.all(), strings.Join(lines, ", "))
}

// addition adds numbers to counters, which need not be there.
func (t *Table) addition(rows int, key []Column) string {
	insert := t.insertion(t.Columns[:t.Key+1], rows, func(c Column, parameter string) string {
		if c.Name == t.counter {
			return fmt.Sprintf("%s, length(CAST(CAST(%[1]s AS BIGINT) AS TEXT))", parameter)
		}
		return parameter
	})
	sum := t.Name + "." + t.counter + " + excluded." + t.counter
	return fmt.Sprintf("%s ON CONFLICT (%s) DO UPDATE SET %s = %s, %s = length(CAST(%[4]s AS TEXT))", insert,
		names(key), t.counter, sum, t.Columns[t.Key+1].Name)
}

// plain is a parameter as it is.
func plain(_ Column, parameter string) string { return parameter }

// cached remembers the texts of each table.
func cached(texts func(*Table) tableSQL) func(*Table) tableSQL {
	var known sync.Map
	return func(t *Table) tableSQL {
		if s, ok := known.Load(t); ok {
			return s.(tableSQL)
		}
		s := texts(t)
		known.Store(t, s)
		return s
	}
}

// common are the texts that are the same for all engines.
func (t *Table) common() tableSQL {
	s := tableSQL{remove: "DELETE FROM " + t.Name + " WHERE " + t.where()}
	if t.counter != "" {
		s.drop = s.remove + " AND " + t.counter + " <= 0"
	}
	return s
}

// rowKey is the key of a row, as a text to find it by.
func (t *Table) rowKey(b []byte, values []any) []byte {
	for _, value := range values[:t.Key] {
		switch v := value.(type) {
		case int64:
			b = binary.BigEndian.AppendUint64(b, uint64(v))
		case string:
			b = append(append(b, v...), 0)
		}
	}
	return b
}

// EachRow reads all rows of a table in the order of its key, a bounded number with each statement. The row is valid
// until the next one; what is in it stays.
func (c Conn) EachRow(t *Table, read func(row []any) error) error {
	key := t.key(c.dialect().rowKeys)
	return c.eachRow(t, key, fmt.Sprintf("SELECT %s FROM %s WHERE (%s) > (%s) ORDER BY %[3]s LIMIT %[5]d", t.all(),
		t.Name, names(key), parameters(key), scanRows), read)
}

// EachOf is EachRow for the rows of one account.
func (c Conn) EachOf(t *Table, account int64, read func(row []any) error) error {
	key := t.Columns[1:t.Key]
	sql := fmt.Sprintf("SELECT %s FROM %s WHERE (%s) > (%s) AND account_id = $%d ORDER BY %[3]s LIMIT %[6]d", t.all(),
		t.Name, names(key), parameters(key), t.Key, scanRows)
	return c.eachRow(t, key, sql, read, account)
}

// eachRow reads the rows after a key with each statement; what follows the key in the statement are the last arguments.
func (c Conn) eachRow(t *Table, key []Column, sql string, read func(row []any) error, args ...any) error {
	after := make([]any, len(key))
	for i, c := range key {
		if after[i] = any(int64(math.MinInt64)); c.Kind == TextKind { // less than any
			after[i] = ""
		}
	}
	row := make([]any, len(t.Columns))
	for n := scanRows; n == scanRows; {
		n = 0
		err := c.Each(func(r Row) error {
			n++
			t.read(r, row)
			return read(row)
		}, sql, append(slices.Clip(after), args...)...)
		if err != nil {
			return err
		}
		for i := range after {
			if n > 0 {
				after[i] = row[t.At(key[i].Name)]
			}
		}
	}
	return nil
}

// FirstKeys are the keys of the first rows that an account has in a table. Its ids are greater than above, where an
// engine that has an id alone for a key begins.
func (c Conn) FirstKeys(t *Table, account, above int64, limit int) ([][]any, error) {
	key := &Table{Columns: t.Columns[:t.Key]}
	sql, args := fmt.Sprintf("SELECT %s FROM %s WHERE account_id = $1 ORDER BY %[1]s LIMIT %[3]d", key.all(), t.Name,
		limit), []any{account}
	if len(t.key(c.dialect().rowKeys)) < t.Key {
		sql, args = fmt.Sprintf("SELECT %s FROM %s WHERE +account_id = $1 AND id > $2 ORDER BY id LIMIT %d", key.all(),
			t.Name, limit), append(args, above)
	}
	return List(c, func(r Row) []any {
		row := make([]any, t.Key)
		key.read(r, row)
		return row
	}, sql, args...)
}

// scanRows is how many rows one statement of a scan reads.
const scanRows = 5000

func (t *Table) read(r Row, row []any) {
	for i, c := range t.Columns {
		switch c.Kind {
		case IntKind:
			row[i] = r.Int(i)
		case TextKind:
			row[i] = r.Text(i)
		case BytesKind:
			row[i] = append(make([]byte, 0, len(r.Bytes(i))), r.Bytes(i)...)
		}
	}
}

// Append appends a row to what Decode reads.
func (t *Table) Append(dst []byte, row []any) []byte {
	for i, c := range t.Columns {
		switch c.Kind {
		case IntKind:
			dst = binary.AppendVarint(dst, row[i].(int64))
		case TextKind:
			dst = append(binary.AppendUvarint(dst, uint64(len(row[i].(string)))), row[i].(string)...)
		case BytesKind:
			dst = append(binary.AppendUvarint(dst, uint64(len(row[i].([]byte)))), row[i].([]byte)...)
		}
	}
	return dst
}

// Decode is a row that Append has written, as a statement would answer that asks for these columns.
func (t *Table) Decode(kept []byte, columns string) Row {
	cells := make(map[string]any, len(t.Columns))
	for _, c := range t.Columns {
		if c.Kind == IntKind {
			n, size := binary.Varint(kept)
			cells[c.Name], kept = n, kept[size:]
			continue
		}
		n, size := binary.Uvarint(kept)
		cells[c.Name], kept = kept[size:size+int(n)], kept[size+int(n):] //nolint:gosec // as long as it was
	}
	var row keptRow
	for _, name := range strings.Split(columns, ", ") {
		row = append(row, cells[name])
	}
	return row
}

// keptRow has a number or bytes in each column.
type keptRow []any

func (r keptRow) Int(column int) int64    { return r[column].(int64) }
func (r keptRow) Text(column int) string  { return string(r[column].([]byte)) }
func (r keptRow) Bytes(column int) []byte { return r[column].([]byte) }
