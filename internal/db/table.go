package db

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// Table is a table, described once: what is written to it, copied and checked comes from here. The columns of its key come first.
// One whose key begins with account_id has the rows of accounts, which may lie on different machines.
type Table struct {
	Name    string
	Columns []Column
	Key     int // how many columns are its key

	Transient string                            // a condition for rows that are not worth keeping, such as links that anyone can have made anew
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

// NewTable describes a table by the columns of its key and the others. A column is a number, or has :text or :bytes behind its name.
func NewTable(name, key, others string) *Table {
	t := &Table{Name: name, Key: len(strings.Fields(key))}
	for _, field := range strings.Fields(key + " " + others) {
		column, kind, _ := strings.Cut(field, ":")
		c := Column{column, IntKind}
		switch kind {
		case "text":
			c.Kind = TextKind
		case "bytes":
			c.Kind = BytesKind
		}
		t.Columns = append(t.Columns, c)
	}
	return t
}

// NewCounter describes a table that counts something under its key, and knows how many digits the number has: an index of that
// finds the largest numbers, and rarely moves.
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

// At is the place of a column in a row, -1 where there is none.
func (t *Table) At(name string) int {
	for i, c := range t.Columns {
		if c.Name == name {
			return i
		}
	}
	return -1
}

// names are the names of some columns.
func (t *Table) names(from, to int) []string {
	var names []string
	for _, c := range t.Columns[from:to] {
		names = append(names, c.Name)
	}
	return names
}

func (t *Table) list(from, to int) string { return strings.Join(t.names(from, to), ", ") }

// all are the names of all columns.
func (t *Table) all() string { return t.list(0, len(t.Columns)) }

// key are the columns that the engine's primary key has.
func (t *Table) key(rowKeys bool) []string {
	if rowKeys && t.Key == 2 && t.Columns[1].Name == "id" && t.At("body") >= 0 {
		return []string{"id"} // it begins with its account, so that both keys mean the same order
	}
	return t.names(0, t.Key)
}

// where is the condition that finds a row by its key.
func (t *Table) where() string {
	var terms []string
	for i, name := range t.names(0, t.Key) {
		terms = append(terms, name+" = $"+strconv.Itoa(i+1))
	}
	return strings.Join(terms, " AND ")
}

// assign sets all columns but the key to what a statement was about to insert.
func (t *Table) assign() string {
	if t.Key == len(t.Columns) {
		return "NOTHING"
	}
	var terms []string
	for _, name := range t.names(t.Key, len(t.Columns)) {
		terms = append(terms, name+" = excluded."+name)
	}
	return "UPDATE SET " + strings.Join(terms, ", ")
}

// addition adds a number that a statement was about to insert to the one that is there.
func (t *Table) addition() string {
	sum := t.Name + "." + t.counter + " + excluded." + t.counter
	return fmt.Sprintf("UPDATE SET %s = %s, %s = length(CAST(%[2]s AS TEXT))", t.counter, sum, t.Columns[t.Key+1].Name)
}

// parameters are n names of parameters.
func parameters(from, n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = "$" + strconv.Itoa(from+i)
	}
	return strings.Join(names, ", ")
}

// tableSQL is how an engine writes the rows of a table.
type tableSQL struct {
	insert, save string // a row, or lists of them
	remove       string // a row by its key
	lock         string // reads a row by its key, and keeps it as it is until the transaction ends
	add          string // adds to a counter, or to lists of them
	bump         string // adds to one counter whose number keeps its digits; "" where add is as cheap
	drop         string // removes a counter that has come to nothing
}

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

// EachRow reads all rows of a table in the order of its key, a bounded number with each statement. The row is valid until the next one;
// what is in it stays.
func (c Conn) EachRow(t *Table, read func(row []any) error) error {
	key := t.key(c.dialect().rowKeys)
	sql := fmt.Sprintf("SELECT %s FROM %s WHERE (%s) > (%s) ORDER BY %[3]s LIMIT %[5]d", t.all(), t.Name, strings.Join(key, ", "), parameters(1, len(key)), scanRows)
	at, after := make([]int, len(key)), make([]any, len(key))
	for i, name := range key {
		at[i] = t.At(name)
		if after[i] = any(int64(-1)); t.Columns[at[i]].Kind == TextKind { // less than any
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
		}, sql, after...)
		if err != nil {
			return err
		}
		for i := range after {
			if n > 0 {
				after[i] = row[at[i]]
			}
		}
	}
	return nil
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
