package store

import (
	"context"
	"errors"
)

// engine is everything that the databases disagree on. Queries are written once, in PostgreSQL's spelling, for all.
type engine interface {
	// reader lends a connection for reading, writer the one for a write transaction. Both are given back by release.
	reader(ctx context.Context) (conn, error)
	writer(ctx context.Context) (conn, error)
	release(conn)

	// writers is how many transactions may write at once.
	writers() int

	// pools tells how many connections are in use; log is the size of the write-ahead log, or -1 where it is not in a file of ours.
	pools() []Pool
	log() int64

	// dialect fills in the words of the schema that differ.
	dialect() dialect
	close() error
}

// dialect holds the words of SQL that differ between engines.
type dialect struct {
	id        string // the type of a column that is a table's id
	idKey     string // the primary key of a table of tenant rows that have an id
	bytes     string // the type of bytes
	key       string // the type of text that is compared by bytes
	clustered string // stores a table's rows in its primary key
	forUpdate string // locks the row that a SELECT reads

	// confirms: a commit waits for other servers, but only one that wrote something. So what changes nothing writes all the
	// same before it is acknowledged: what it found may be on one server only.
	confirms bool

	name   string // of the engine, where a step of the schema differs in more than words
	search searchDialect

	distant bool // each round trip to the database costs more than most statements

	lockVersion string // keeps other nodes from migrating; "" where a write transaction does already

	size     string // a query for the size of the database in bytes
	tables   string // a query for the names of all tables
	identity string // a query for a text that no other database has
}

// conn is one connection. It is used by one goroutine at a time.
type conn interface {
	// begin opens a transaction: a snapshot for reading, or the right to write.
	begin(write bool) error
	commit() error
	rollback()

	// exec runs a statement and returns how many rows it changed.
	exec(sql string, args ...any) (int64, error)
	// query runs a statement and returns its rows; they must be closed before the same statement runs again.
	query(sql string, args ...any) (rows, error)

	// later runs a statement at once, or together with the next one that is waited for, the commit included: then that one
	// tells of its failure. read, where it is not nil, gets each of its rows. The arguments are the connection's until then.
	later(read func(rows) error, sql string, args ...any) error
	// flush waits for everything that was to run later.
	flush() error
}

// rows are the answer to a query. Bytes are valid until the next row.
type rows interface {
	next() bool
	int(column int) int64
	text(column int) string
	bytes(column int) []byte
	close() error
}

var (
	// errTaken: a value that must be unique is there already.
	errTaken = errors.New("taken")
	// errAgain: the transaction surely did not happen, through nobody's fault, and may be tried again.
	errAgain = errors.New("try again")
	// errSpoiled: a change failed after it had written, so that its transaction cannot be kept.
	errSpoiled = errors.New("spoiled")
)

// one reads a single row; found is false where there is none.
func one(c conn, read func(rows), sql string, args ...any) (found bool, err error) {
	err = each(c, func(r rows) error {
		found = true
		read(r)
		return nil
	}, sql, args...)
	return found, err
}

// countRows is the number that a statement counts.
func countRows(c conn, sql string, args ...any) (n int64, err error) {
	_, err = one(c, func(r rows) { n = r.int(0) }, sql, args...)
	return n, err
}

// each calls read for every row. The rows are closed even where read panics: the statement is used again.
func each(c conn, read func(rows) error, sql string, args ...any) (err error) {
	r, err := c.query(sql, args...)
	if err != nil {
		return err
	}
	defer func() {
		if closing := r.close(); err == nil { // the first error counts
			err = closing
		}
	}()
	for r.next() {
		if err := read(r); err != nil {
			return err
		}
	}
	return nil
}

// A call of SQLite is so cheap that there is nothing to wait for.
func (c *sqliteConn) later(read func(rows) error, sql string, args ...any) error {
	if read != nil {
		return each(c, read, sql, args...)
	}
	_, err := c.exec(sql, args...)
	return err
}

func (c *sqliteConn) flush() error { return nil }
