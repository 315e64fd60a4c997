package store

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"

	"donorbook/internal/crm"
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
	"PRAGMA cache_size = -10000",       // 10 MB: what leads to the pages of a million contacts stays in memory
	"PRAGMA wal_autocheckpoint = 4000", // 16 MB: pages that change often are written to the database more rarely
	"PRAGMA trusted_schema = OFF",
}

// sqliteEngine keeps one database file: one connection that writes, a few that read.
type sqliteEngine struct {
	path  string
	lock  *os.File           // of a server; nil for everybody else
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
		path:  filepath.Join(dir, databaseFile),
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

func (e *sqliteEngine) dialect() dialect {
	return dialect{
		name:      "sqlite",
		search:    sqliteSearch,
		id:        "INTEGER", // the name that makes it the key of the table's own tree
		idKey:     "PRIMARY KEY (id)",
		bytes:     "BLOB",
		key:       "TEXT",
		clustered: "WITHOUT ROWID",
		forUpdate: "", // a write transaction holds the whole database
		size:      `SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()`,
		tables:    `SELECT name FROM sqlite_schema WHERE type = 'table'`,
		identity:  `SELECT file FROM pragma_database_list WHERE name = 'main'`,
	}
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
			return nil, fmt.Errorf("%w: the store is closed", crm.ErrUnavailable)
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
		c.run("ROLLBACK") //nolint:errcheck // whoever rolls back has an error to tell already
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
	if err := s.stmt.Exec(); err != nil {
		return 0, c.engine.translate(err)
	}
	return c.db.Changes(), nil
}

func (c *sqliteConn) query(sql string, args ...any) (rows, error) {
	s, err := c.bind(sql, args)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// bind prepares a statement once and sets its parameters.
func (c *sqliteConn) bind(sql string, args []any) (*sqliteRows, error) {
	s := c.statements[sql]
	if s == nil {
		stmt, tail, err := c.db.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT)
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
	for i, arg := range s.args {
		if arg >= len(args) {
			return nil, fmt.Errorf("parameter $%d is missing: %s", arg+1, sql)
		}
		if err := bindSQLite(s.stmt, i+1, args[arg]); err != nil {
			return nil, c.engine.translate(err)
		}
	}
	return s, nil
}

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

func bindSQLite(stmt *sqlite3.Stmt, i int, arg any) error {
	switch v := arg.(type) {
	case int64:
		return stmt.BindInt64(i, v)
	case string:
		return stmt.BindText(i, v)
	case []byte:
		return stmt.BindBlob(i, v)
	}
	return fmt.Errorf("parameter %d has the type %T", i, arg)
}

// sqliteRows is a prepared statement while its rows are read.
type sqliteRows struct {
	engine *sqliteEngine
	stmt   *sqlite3.Stmt
	args   []int // the argument for each parameter
}

func (r *sqliteRows) next() bool              { return r.stmt.Step() }
func (r *sqliteRows) int(column int) int64    { return r.stmt.ColumnInt64(column) }
func (r *sqliteRows) text(column int) string  { return r.stmt.ColumnText(column) }
func (r *sqliteRows) bytes(column int) []byte { return r.stmt.ColumnRawBlob(column) }

func (r *sqliteRows) close() error {
	err := r.stmt.Err()
	if reset := r.stmt.Reset(); err == nil {
		err = reset
	}
	return r.engine.translate(err)
}

// translate translates the codes that mean something to us.
func (e *sqliteEngine) translate(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sqlite3.CONSTRAINT_UNIQUE), errors.Is(err, sqlite3.CONSTRAINT_PRIMARYKEY), errors.Is(err, sqlite3.CONSTRAINT_ROWID):
		return fmt.Errorf("%w: %w", errTaken, err)
	case errors.Is(err, sqlite3.BUSY):
		return fmt.Errorf("%w: %w", crm.ErrUnavailable, err)
	case errors.Is(err, sqlite3.FULL), errors.Is(err, sqlite3.IOERR), errors.Is(err, sqlite3.CANTOPEN), errors.Is(err, sqlite3.READONLY):
		if fault := e.fault(filepath.Dir(e.path)); fault != nil {
			return fault
		}
		return fmt.Errorf("%w: %w", crm.ErrUnavailable, err)
	}
	return err
}
