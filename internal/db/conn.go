package db

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// engine is everything that the databases disagree on.
type engine interface {
	// reader lends a connection for reading, writer the one for a write transaction. Both are given back by release.
	reader(ctx context.Context) (conn, error)
	writer(ctx context.Context) (conn, error)
	release(conn)

	// writers is how many transactions may write at once, usually and where many accounts wait. With a single one,
	// accounts share their transactions, and so the flush of the disk.
	writers() (usual, most int)

	// pools tells how many connections are in use; log is the size of the write-ahead log, or -1 where it is not in a
	// file of ours.
	pools() []Pool
	log() int64

	// room is why the disk cannot take what is written next, nil where it can or that is the server's affair: a small
	// write may fit into a log that is there already.
	room() error

	close() error
}

// dialect holds the words of SQL that differ between engines.
type dialect struct {
	words   map[string]string // of the schema, in braces there
	search  searchDialect
	texts   func(*Table) tableSQL // how the rows of a table are written
	rowKeys bool                  // an id alone is the key of a table whose rows have one

	// confirms: a commit waits for other servers, but only one that wrote something. So a change that finds nothing to
	// do writes all the same before it is acknowledged: what it found may be on one server only.
	confirms bool

	estimates   []string // tell the planner how large an account may be; nothing where it counts by itself
	touch       string   // writes something that a commit waits for, and that no one locks
	lockVersion []string // keeps other nodes from migrating; nothing where a write transaction does already
	size        string   // a query for the size of the database in bytes
	clear       string   // removes all rows of the table whose name follows
	tables      string   // a query for the names of all tables
	identity    string   // a query for a text that no other database has
	log         logDialect
}

// conn is one connection. It is used by one goroutine at a time.
type conn interface {
	// begin opens a transaction: a snapshot for reading, or the right to write.
	begin(write bool) error
	commit() error
	rollback()

	// run runs a statement and waits for it. It returns how many rows were changed.
	run(statement) (changed int64, err error)
	// queue runs a statement at once, or together with the next one that is waited for, the commit included: then that
	// one reports its failure. The arguments belong to the connection until then.
	queue(statement) error
	// flush waits for all queued statements.
	flush() error
	// bytesRead is how many bytes were read so far, in texts and documents.
	bytesRead() int64
	// takeTime lifts the time limit that is meant for one request.
	takeTime(ctx context.Context)
	dialect() *dialect
}

// statement is what a connection is asked to run. A list is asked for with = ANY($n). SQLite finds the rows of each of
// its elements by themselves, so that each goes by an index for sure. A statement about a list must therefore have no
// limit, aggregate only by the element, and list its rows by the element first, or in no order; the tests of package
// book refuse any other.
type statement struct {
	sql   string
	args  []any
	read  func(Row) error // gets each row of one that is queued; may be nil
	limit int             // bytes, after which rows may be left out; 0 is none
}

// anyOf is how a statement asks for a list.
var anyOf = regexp.MustCompile(`= ANY\((\$\d+)\)`)

// listOrder is the order in which a statement lists its rows by the elements of a list: 1 is ascending, -1 descending,
// 0 none.
func listOrder(sql string) int {
	switch order := anyOrder.FindStringSubmatch(sql); {
	case order == nil || order[1] != order[2]:
		return 0
	case order[3] != "":
		return -1
	}
	return 1
}

// inOrder are arguments of which one is a list, which is in the order that listOrder tells.
func inOrder(args []any, at, order int) []any {
	args = slices.Clone(args)
	switch list := args[at].(type) {
	case []int64:
		args[at] = slices.SortedFunc(slices.Values(list), func(a, b int64) int { return order * cmp.Compare(a, b) })
	case []string:
		args[at] = slices.SortedFunc(slices.Values(list), func(a, b string) int { return order * cmp.Compare(a, b) })
	}
	return args
}

var anyOrder = regexp.MustCompile(`(?s)(\w+) = ANY\(\$\d+\).* ORDER BY (?:\w+\.)?(\w+)( DESC)?`)

// single is a statement about a list, asked about one element.
func single(sql string) string { return anyOf.ReplaceAllString(sql, "= $1") }

func exec(c conn, sql string, args ...any) (changed int64, err error) {
	return c.run(statement{sql: sql, args: args})
}

// Row is one row of an answer. Its bytes are valid until the next row.
type Row interface {
	Int(column int) int64
	Text(column int) string
	Bytes(column int) []byte
}

// An error has one of these before its cause, which comes last: that is what an operator is told.
var (
	// ErrUnavailable: the database cannot answer now.
	ErrUnavailable = errors.New("the database is unavailable")
	// ErrTaken: a value that must be unique exists already.
	ErrTaken = errors.New("taken")
	// errHeld: it cannot answer for this account, and goes on for others.
	errHeld = fmt.Errorf("%w", ErrUnavailable)
	// errRetry: it is unavailable, the transaction surely did not happen, by no one's fault, and may be tried again.
	errRetry = fmt.Errorf("%w", ErrUnavailable)
	// errUndone: it is to be tried again because another transaction was in its way, which the database may find out
	// late.
	errUndone = fmt.Errorf("%w", errRetry)
	// errPoisoned: a change failed after it had written, so that its transaction cannot be kept.
	errPoisoned = errors.New("the transaction cannot be kept")
)

// First runs steps until one fails. What cmp.Or would be given has run already.
func First(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func because(kind, cause error) error { return fmt.Errorf("%w: %w", kind, cause) }

// Conn reads, on a snapshot or in a transaction.
type Conn struct {
	conn
	tx       *Tx // whose rows are written before anything is read; nil for a reader
	observer *Observer
	limit    int
}

// UpTo reads rows until they have so many bytes; it may leave out the others.
func (c Conn) UpTo(bytes int) Conn {
	c.limit = bytes
	return c
}

// Each calls read for every row.
func (c Conn) Each(read func(Row) error, sql string, args ...any) error {
	s := statement{sql: sql, args: args, limit: c.limit}
	if c.tx != nil {
		return c.tx.each(read, s)
	}
	if c.observer == nil {
		return each(c.conn, read, s)
	}
	err := each(c.conn, func(r Row) error {
		tell(c.observer.Row)
		return read(r)
	}, s)
	if c.observer.Read != nil {
		c.observer.Read(sql)
	}
	c.observer.ran(sql, args, false)
	return err
}

// each knows connections by their types: a call through the interface would put what read closes over on the heap, with
// every request.
func each(c conn, read func(Row) error, s statement) error {
	if c, ok := c.(*sqliteConn); ok {
		return c.each(read, s)
	}
	return c.(*postgresConn).each(read, s)
}

// Scan is Each for what cannot fail.
func (c Conn) Scan(read func(Row), sql string, args ...any) error {
	return c.Each(func(r Row) error {
		read(r)
		return nil
	}, sql, args...)
}

// One reads a single row; found is false where there is none.
func (c Conn) One(read func(Row), sql string, args ...any) (found bool, err error) {
	err = c.Scan(func(r Row) {
		found = true
		read(r)
	}, sql, args...)
	return found, err
}

// Exists tells whether a statement finds a row.
func (c Conn) Exists(sql string, args ...any) (bool, error) { return c.One(func(Row) {}, sql, args...) }

// Int is the number that a statement finds, 0 where there is none.
func (c Conn) Int(sql string, args ...any) (n int64, err error) {
	_, err = c.One(func(r Row) { n = r.Int(0) }, sql, args...)
	return n, err
}

// List reads all rows.
func List[T any](c Conn, scan func(Row) T, sql string, args ...any) (list []T, err error) {
	err = c.Scan(func(r Row) { list = append(list, scan(r)) }, sql, args...)
	return list, err
}
