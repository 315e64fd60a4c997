package db

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// The files whose names begin with sqlite are all that know the SQLite library.

// sqliteReaders is how many connections read at once. Each has a page cache of its own, so they are few.
const sqliteReaders = 4

// sqlitePragmas are set when each connection opens. The busy timeout comes first: the others may have to wait.
// synchronous=FULL makes a commit durable before it is acknowledged.
var sqlitePragmas = []string{
	"PRAGMA busy_timeout = 10000",
	"PRAGMA journal_mode = WAL",
	"PRAGMA synchronous = FULL",
	"PRAGMA foreign_keys = ON",
	"PRAGMA cache_size = -10000",       // 10 MB: what leads to the pages of a million rows stays in memory
	"PRAGMA wal_autocheckpoint = 4000", // 16 MB: pages that change often are written to the database more rarely
	"PRAGMA trusted_schema = OFF",
}

// sqliteEngine keeps one database file: one connection that writes, a few that read.
type sqliteEngine struct {
	path  string
	lock  *os.File           // of a server; nil for other commands
	fault func(string) error // diskFault, but for tests
	write chan *sqliteConn   // holds the writer while it is free
	read  chan struct{}      // holds a token for each reader that is free, or was not opened yet

	mu     sync.Mutex
	opened []*sqliteConn
	idle   []*sqliteConn // free readers; the one used last comes last, and is used next, because its pages are warm
}

func openSQLite(dir string, serving bool) (_ engine, err error) {
	if err := checkDirectory(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the data directory cannot be made: %w", err)
	}
	e := &sqliteEngine{
		path:  filepath.Join(dir, DatabaseFile),
		fault: diskFault,
		write: make(chan *sqliteConn, 1),
		read:  make(chan struct{}, sqliteReaders),
	}
	if serving {
		if e.lock, err = lockDirectory(dir); err != nil {
			return nil, err
		}
	}
	writer, err := e.openWriter()
	if err != nil {
		if fault := diskFault(dir); fault != nil {
			err = fault
		}
		return nil, errors.Join(err, e.unlock())
	}
	if serving {
		e.mark(writer)
	}
	e.write <- writer
	for range sqliteReaders {
		e.read <- struct{}{}
	}
	return e, nil
}

func (e *sqliteEngine) openWriter() (*sqliteConn, error) {
	if err := createDatabase(e.path); err != nil {
		return nil, err
	}
	writer, err := e.open()
	if err != nil {
		return nil, err
	}
	writer.writes = true
	return writer, nil
}

func (e *sqliteEngine) unlock() error {
	if e.lock == nil {
		return nil
	}
	return e.lock.Close()
}

func (e *sqliteEngine) open() (*sqliteConn, error) {
	db, err := sqlite3.Open(sqliteName(e.path))
	if err != nil {
		return nil, cannotOpen(e.path, err)
	}
	for _, pragma := range sqlitePragmas {
		if err := insist(db, pragma); err != nil {
			db.Close() //nolint:errcheck // the first error counts
			return nil, cannotOpen(e.path, fmt.Errorf("%s: %w", pragma, err))
		}
	}
	c := &sqliteConn{engine: e, db: db, statements: make(map[string]*sqliteRows)}
	e.mu.Lock()
	e.opened = append(e.opened, c)
	e.mu.Unlock()
	return c, nil
}

// sqliteName is a file as SQLite takes it, whatever characters are in its path.
func sqliteName(path string) string {
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}).String()
}

// insist runs a statement again while the database is busy. The switch to WAL needs it, where two open a new database
// at once: it does not wait for the other by itself.
func insist(db *sqlite3.Conn, sql string) error {
	for start := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		err := db.Exec(sql)
		if !errors.Is(err, sqlite3.BUSY) || time.Since(start) > 10*time.Second {
			return err
		}
	}
}

func (e *sqliteEngine) dialect() *dialect { return &sqliteDialect }

func (c *sqliteConn) dialect() *dialect { return &sqliteDialect }

var sqliteDialect = dialect{
	words: map[string]string{
		"id":        "INTEGER", // the name that makes it the key of the table's own tree
		"idKey":     "PRIMARY KEY (id)",
		"bytes":     "BLOB",
		"key":       "TEXT",
		"clustered": "WITHOUT ROWID",
		"search":    sqliteFirstSearch,
		"starts":    sqliteSearchTable,
	},
	search:   sqliteSearch,
	texts:    cached(sqliteTexts),
	rowKeys:  true,
	size:     `SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()`,
	tables:   `SELECT name FROM sqlite_schema WHERE type = 'table'`,
	identity: `SELECT file FROM pragma_database_list WHERE name = 'main'`,
}

// sqliteTexts write a row with each statement: a call of SQLite is so cheap that there is nothing to gain by lists. A row is locked
// by reading it, since a write transaction holds the whole database.
func sqliteTexts(t *Table) tableSQL {
	s := t.common()
	values := parameters(1, len(t.Columns))
	key := strings.Join(t.key(true), ", ")
	s.lock = fmt.Sprintf("SELECT %s FROM %s WHERE %s", t.all(), t.Name, t.where())
	s.insert = fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", t.Name, t.all(), values)
	s.save = fmt.Sprintf("%s ON CONFLICT (%s) DO %s", s.insert, key, t.assign())
	switch {
	case t.search:
		s.insert = fmt.Sprintf("INSERT INTO %s (rowid, words) VALUES ($2, $3)", t.Name)
		s.save = fmt.Sprintf("INSERT OR REPLACE INTO %s (rowid, words) VALUES ($2, $3)", t.Name)
		s.remove = fmt.Sprintf("DELETE FROM %s WHERE rowid = $2", t.Name)
	case t.counter != "":
		n := "$" + strconv.Itoa(t.Key+1)
		s.add = fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s, length(CAST(%s AS TEXT))) ON CONFLICT (%s) DO %s",
			t.Name, t.all(), parameters(1, t.Key+1), n, key, t.addition())
		// Mostly a number changes and keeps its digits. SQLite would move the row of the index all the same if they were named.
		s.bump = fmt.Sprintf("UPDATE %s SET %s = %[2]s + %s WHERE %s AND %[2]s + %[3]s > 0 AND %[5]s = length(CAST(%[2]s + %[3]s AS TEXT))",
			t.Name, t.counter, n, t.where(), t.Columns[t.Key+1].Name)
	}
	return s
}

func (e *sqliteEngine) writers() int { return 1 }

func (e *sqliteEngine) pools() []Pool {
	return []Pool{{"read", int64(sqliteReaders - len(e.read)), sqliteReaders}, {"write", int64(1 - len(e.write)), 1}}
}

func (e *sqliteEngine) log() int64 {
	info, err := os.Stat(e.path + "-wal")
	if err != nil {
		return 0 // there is none before the first write
	}
	return info.Size()
}

func (e *sqliteEngine) reader(ctx context.Context) (conn, error) {
	select {
	case _, open := <-e.read:
		if !open {
			return nil, fmt.Errorf("%w: the store is closed", ErrUnavailable)
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if c := e.lastUsed(); c != nil {
		return c, nil
	}
	c, err := e.open()
	if err != nil {
		e.read <- struct{}{}
		return nil, e.translate(err)
	}
	return c, nil
}

func (e *sqliteEngine) lastUsed() *sqliteConn {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.idle) == 0 {
		return nil
	}
	c := e.idle[len(e.idle)-1]
	e.idle = e.idle[:len(e.idle)-1]
	return c
}

func (e *sqliteEngine) writer(ctx context.Context) (conn, error) {
	select {
	case c := <-e.write:
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (e *sqliteEngine) release(c conn) {
	s := c.(*sqliteConn)
	if s.writes {
		e.write <- s
		return
	}
	e.mu.Lock()
	e.idle = append(e.idle, s)
	e.mu.Unlock()
	e.read <- struct{}{}
}

func (e *sqliteEngine) close() error {
	var errs []error
	for range sqliteReaders {
		<-e.read
	}
	close(e.read)
	<-e.write
	for _, c := range e.opened {
		errs = append(errs, c.close())
	}
	return errors.Join(append(errs, e.unlock())...)
}

// sqliteConn is a connection with its prepared statements.
type sqliteConn struct {
	engine     *sqliteEngine
	db         *sqlite3.Conn
	statements map[string]*sqliteRows
	writes     bool // it is the writer
}

func (c *sqliteConn) close() error {
	var errs []error
	for _, s := range c.statements {
		errs = append(errs, s.stmt.Close())
	}
	return errors.Join(append(errs, c.db.Close())...)
}

func (c *sqliteConn) begin(write bool) error {
	if write {
		return c.run("BEGIN IMMEDIATE")
	}
	return c.run("BEGIN")
}

func (c *sqliteConn) commit() error { return c.run("COMMIT") }

func (c *sqliteConn) rollback() {
	if !c.db.GetAutocommit() { // some failures have rolled back already
		c.run("ROLLBACK") //nolint:errcheck // the caller has an error to report already
	}
}

func (c *sqliteConn) run(sql string) error {
	_, err := c.exec(sql)
	return err
}

func (c *sqliteConn) exec(sql string, args ...any) (int64, error) {
	s, err := c.bind(sql, args)
	if err != nil {
		return 0, err
	}
	if s.list != nil {
		before := c.db.TotalChanges()
		for s.next() {
		}
		return c.db.TotalChanges() - before, s.close()
	}
	if err := s.stmt.Exec(); err != nil {
		return 0, c.engine.translate(err)
	}
	return c.db.Changes(), nil
}

func (c *sqliteConn) query(_ int, sql string, args ...any) (rows, error) {
	s, err := c.bind(sql, args)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// queue does not wait: a call of SQLite is so cheap that there is nothing to gain.
func (c *sqliteConn) queue(read func(Row) error, sql string, args ...any) error {
	if read != nil {
		return each(c, 0, read, sql, args...)
	}
	_, err := c.exec(sql, args...)
	return err
}

func (c *sqliteConn) flush() error { return nil }

func (c *sqliteConn) takeTime(context.Context) {}

// bind prepares a statement once and sets its parameters.
func (c *sqliteConn) bind(sql string, args []any) (*sqliteRows, error) {
	s := c.statements[sql]
	if s == nil {
		stmt, tail, err := c.db.PrepareFlags(oneByOne.ReplaceAllString(sql, "= $1"), sqlite3.PREPARE_PERSISTENT)
		if err != nil {
			return nil, c.engine.translate(err)
		}
		if tail != "" {
			return nil, errors.Join(fmt.Errorf("more than one statement: %s", sql), stmt.Close())
		}
		if s, err = newSQLiteRows(c.engine, stmt); err != nil {
			return nil, errors.Join(err, stmt.Close())
		}
		c.statements[sql] = s
	}
	s.list, s.elements = nil, 0
	for i, arg := range s.args {
		if arg >= len(args) {
			return nil, fmt.Errorf("parameter $%d is missing: %s", arg+1, sql)
		}
		if err := s.bind(i+1, args[arg]); err != nil {
			return nil, c.engine.translate(err)
		}
	}
	return s, nil
}

// oneByOne finds a list in a statement, which then runs once for each of its elements: each of them goes by an index for sure.
var oneByOne = regexp.MustCompile(`= ANY\((\$\d+)\)`)

// newSQLiteRows works out which argument goes where: to SQLite $2 is only a name, and it numbers parameters in the
// order in which they are first seen.
func newSQLiteRows(e *sqliteEngine, stmt *sqlite3.Stmt) (*sqliteRows, error) {
	s := &sqliteRows{engine: e, stmt: stmt}
	for i := range stmt.BindCount() {
		n, err := strconv.Atoi(strings.TrimPrefix(stmt.BindName(i+1), "$"))
		if err != nil {
			return nil, fmt.Errorf("parameters must be $1, $2 and so on: %s", stmt.SQL())
		}
		s.args = append(s.args, n-1)
	}
	return s, nil
}

// sqliteRows is a prepared statement while its rows are read.
type sqliteRows struct {
	engine *sqliteEngine
	stmt   *sqlite3.Stmt
	args   []int // the argument for each parameter

	list     any // the statement runs for each element of this one
	place    int // the parameter that gets them
	elements int // how many there are
	done     int // how many were bound
	failed   error
}

func (r *sqliteRows) bind(place int, arg any) error {
	switch v := arg.(type) {
	case int64:
		return r.stmt.BindInt64(place, v)
	case string:
		return r.stmt.BindText(place, v)
	case []byte:
		return r.stmt.BindBlob(place, v)
	case []int64:
		r.list, r.place, r.elements, r.done = arg, place, len(v), 0
	case []string:
		r.list, r.place, r.elements, r.done = arg, place, len(v), 0
	default:
		return fmt.Errorf("parameter %d has the type %T", place, arg)
	}
	if r.elements == 0 {
		r.elements = -1 // an empty list finds nothing
		return nil
	}
	return r.nextElement()
}

func (r *sqliteRows) nextElement() error {
	r.done++
	switch list := r.list.(type) {
	case []int64:
		return r.bind(r.place, list[r.done-1])
	case []string:
		return r.bind(r.place, list[r.done-1])
	}
	return nil
}

func (r *sqliteRows) next() bool {
	for r.elements >= 0 && r.failed == nil {
		if r.stmt.Step() {
			return true
		}
		if r.stmt.Err() != nil || r.done >= r.elements {
			return false
		}
		r.failed = errors.Join(r.stmt.Reset(), r.nextElement())
	}
	return false
}

func (r *sqliteRows) Int(column int) int64    { return r.stmt.ColumnInt64(column) }
func (r *sqliteRows) Text(column int) string  { return r.stmt.ColumnText(column) }
func (r *sqliteRows) Bytes(column int) []byte { return r.stmt.ColumnRawBlob(column) }

func (r *sqliteRows) close() error {
	err := r.stmt.Err()
	if err == nil {
		err = r.failed
	}
	if reset := r.stmt.Reset(); err == nil {
		err = reset
	}
	r.list, r.elements, r.done, r.failed = nil, 0, 0, nil
	return r.engine.translate(err)
}

// translate translates the codes that mean something to us.
func (e *sqliteEngine) translate(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sqlite3.CONSTRAINT_UNIQUE), errors.Is(err, sqlite3.CONSTRAINT_PRIMARYKEY), errors.Is(err, sqlite3.CONSTRAINT_ROWID):
		return fmt.Errorf("%w: %w", ErrTaken, err)
	case errors.Is(err, sqlite3.BUSY):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case errors.Is(err, sqlite3.FULL), errors.Is(err, sqlite3.IOERR), errors.Is(err, sqlite3.CANTOPEN), errors.Is(err, sqlite3.READONLY):
		if fault := e.fault(filepath.Dir(e.path)); fault != nil {
			return fault
		}
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}
