package db

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
)

// The files whose names begin with sqlite are all that know the SQLite library.

// keptStatements is how many prepared statements a connection keeps. Some are built from filters, and may be any
// number.
const keptStatements = 200

// sqliteReaders is how many connections read at once. Each has a page cache of its own, so they are few.
const sqliteReaders = 4

// sqlitePragmas are set when each connection opens. The busy timeout comes first: the others may have to wait.
// synchronous=FULL makes a commit durable before it is acknowledged.
var sqlitePragmas = []string{
	"PRAGMA busy_timeout = 10000",
	"PRAGMA journal_mode = WAL",
	"PRAGMA synchronous = FULL",
	"PRAGMA foreign_keys = ON",
	"PRAGMA cache_size = -10000",        // 10 MB: what leads to the pages of a million rows stays in memory
	"PRAGMA wal_autocheckpoint = 16000", // 64 MB: pages that change often are written to the database more rarely
	"PRAGMA trusted_schema = OFF",
	"PRAGMA secure_delete = ON", // what is removed is overwritten
}

// sqliteEngine keeps one database file: one connection that writes, a few that read.
type sqliteEngine struct {
	path  string
	lock  *os.File           // of a server; nil for other commands
	fault func(string) error // diskFault, but for tests
	now   func() time.Time
	write chan *sqliteConn // holds the writer while it is free
	read  chan struct{}    // holds a token for each reader that is free, or was not opened yet

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
		now:   time.Now,
		write: make(chan *sqliteConn, 1),
		read:  make(chan struct{}, sqliteReaders),
	}
	if serving {
		if e.lock, err = lockDirectory(dir); err != nil {
			return nil, err
		}
	}
	var writer *sqliteConn
	if err = createDatabase(e.path); err == nil {
		writer, err = e.open()
	}
	if err != nil {
		if fault := diskFault(dir); fault != nil {
			err = fault
		}
		return nil, errors.Join(err, e.unlock())
	}
	writer.writes = true
	if serving {
		e.mark(writer)
	}
	e.write <- writer
	for range sqliteReaders {
		e.read <- struct{}{}
	}
	return e, nil
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
	c := newSQLiteConn(e, db)
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

func (c *sqliteConn) dialect() *dialect { return &sqliteDialect }

var sqliteDialect = dialect{
	words: map[string]string{
		"id":        "INTEGER", // the name that makes it the key of the table's own tree
		"idKey":     "PRIMARY KEY (id)",
		"bytes":     "BLOB",
		"key":       "TEXT",
		"clustered": "WITHOUT ROWID",
		"search":    sqliteSearchTable,
	},
	search:  sqliteSearch,
	texts:   cached(sqliteTexts),
	rowKeys: true,
	estimates: []string{sqliteReload, `DELETE FROM sqlite_stat1`, `DELETE FROM sqlite_stat4`, sqliteEstimates,
		sqliteReload},
	touch:    sqlLockAll,
	size:     `SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()`,
	clear:    `DELETE FROM `,
	tables:   `SELECT name FROM sqlite_schema WHERE type = 'table'`,
	identity: `SELECT file FROM pragma_database_list WHERE name = 'main'`,
	log: logDialect{
		copy: `PRAGMA wal_checkpoint(PASSIVE)`, atOnce: `PRAGMA busy_timeout(0)`,
		empty: `PRAGMA wal_checkpoint(TRUNCATE)`, mayWait: sqlitePragmas[0], inOurFiles: true,
	},
}

// sqliteTexts write a row with each statement: a call of SQLite is so cheap that there is nothing to gain by more. A
// row is locked by reading it, since a write transaction holds the whole database.
func sqliteTexts(t *Table) tableSQL {
	s := t.common()
	insert, key := t.insertion(t.Columns, 1, plain), t.key(true)
	s.lock = fmt.Sprintf("SELECT %s FROM %s WHERE %s", t.all(), t.Name, t.where())
	s.insert = rowTexts{insert}
	s.save = rowTexts{fmt.Sprintf("%s ON CONFLICT (%s) DO %s", insert, names(key), t.assign())}
	switch {
	case t.search:
		s.insert = rowTexts{fmt.Sprintf("INSERT INTO %s (rowid, words) VALUES ($2, $3)", t.Name)}
		s.save = rowTexts{fmt.Sprintf("INSERT OR REPLACE INTO %s (rowid, words) VALUES ($2, $3)", t.Name)}
		s.remove = fmt.Sprintf("DELETE FROM %s WHERE rowid = $2", t.Name)
	case t.counter != "":
		s.add = rowTexts{t.addition(1, key)}
		// Mostly a number changes and keeps its digits. SQLite would move the row of the index all the same if they
		// were named.
		s.bump = fmt.Sprintf("UPDATE %s SET %s = %[2]s + $%d WHERE %s AND %[2]s + $%[3]d > 0 AND %[5]s = length(CAST(%[2]s + $%[3]d AS TEXT))",
			t.Name, t.counter, t.Key+1, t.where(), t.Columns[t.Key+1].Name)
	}
	return s
}

func (e *sqliteEngine) writers() (usual, most int) { return 1, 1 }

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

func (e *sqliteEngine) room() error { return e.fault(filepath.Dir(e.path)) }

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
	s.serve(context.Background())
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

// sqliteConn is a connection with the prepared statements that it has used last.
type sqliteConn struct {
	engine     *sqliteEngine
	db         *sqlite3.Conn
	statements map[string]*sqliteStatement
	uses       int64 // of all statements
	read       int64 // bytes, by all statements
	writes     bool  // it is the writer
	reading    reading
}

// sqliteStatement is a prepared statement, and the row that it is at.
type sqliteStatement struct {
	conn  *sqliteConn
	stmt  *sqlite3.Stmt
	args  []int // the argument for each parameter
	order int   // in which it lists its rows by the elements of a list, see inOrder; 0 is none
	used  int64 // when it was last used, counted in uses
	busy  int   // it runs: others may run in between
}

func newSQLiteConn(e *sqliteEngine, db *sqlite3.Conn) *sqliteConn {
	return &sqliteConn{engine: e, db: db, statements: make(map[string]*sqliteStatement)}
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
		return c.queue(statement{sql: "BEGIN IMMEDIATE"})
	}
	return c.queue(statement{sql: "BEGIN"})
}

func (c *sqliteConn) commit() error { return c.queue(statement{sql: "COMMIT"}) }

func (c *sqliteConn) rollback() {
	if !c.db.GetAutocommit() { // some failures have rolled back already
		c.db.SetInterrupt(context.Background())
		exec(c, "ROLLBACK") //nolint:errcheck // the caller has an error to report already
	}
}

// queue does not wait: a call of SQLite is so cheap that there is nothing to gain.
func (c *sqliteConn) queue(s statement) (err error) {
	if s.read != nil {
		return c.each(s.read, s)
	}
	_, err = c.run(s)
	return err
}

func (c *sqliteConn) flush() error { return nil }

func (c *sqliteConn) run(s statement) (changed int64, err error) {
	p, elements, list, err := c.bind(s)
	for i := 0; i < elements && err == nil; i++ {
		if err = p.bindElement(list, s.args, i); err == nil {
			err = p.stmt.Exec()
			changed += c.db.Changes()
		}
	}
	return changed, c.translate(err)
}

func (c *sqliteConn) each(read func(Row) error, s statement) error {
	p, elements, list, err := c.bind(s)
	if err == nil && list != 0 && p.order != 0 {
		s.args = inOrder(s.args, p.args[list-1], p.order)
	}
	for i := 0; i < elements && err == nil; i++ {
		if err = p.bindElement(list, s.args, i); err == nil {
			err = p.each(read)
		}
	}
	return c.translate(err)
}

// bind sets the parameters of a statement. A list is bound later, element by element: the statement runs once for each,
// so that each of them goes by an index for sure. list is the parameter that gets them, 0 where there is none.
func (c *sqliteConn) bind(s statement) (p *sqliteStatement, elements, list int, err error) {
	if p = c.statements[s.sql]; p == nil {
		if p, err = c.prepare(s.sql); err != nil {
			return nil, 0, 0, err
		}
	}
	c.uses++
	p.used = c.uses
	elements = 1
	another := func(parameter, n int) error {
		if list != 0 {
			return fmt.Errorf("a statement can have one list, and this one has two: %s", s.sql)
		}
		list, elements = parameter, n
		return nil
	}
	for i, arg := range p.args {
		if arg >= len(s.args) {
			return nil, 0, 0, fmt.Errorf("parameter $%d is missing: %s", arg+1, s.sql)
		}
		switch v := s.args[arg].(type) {
		case int64:
			err = p.stmt.BindInt64(i+1, v)
		case string:
			err = p.stmt.BindText(i+1, v)
		case []byte:
			err = p.stmt.BindBlob(i+1, v)
		case []int64:
			err = another(i+1, len(v))
		case []string:
			err = another(i+1, len(v))
		default:
			err = fmt.Errorf("parameter $%d has the type %T: %s", arg+1, v, s.sql)
		}
		if err != nil {
			return nil, 0, 0, err
		}
	}
	return p, elements, list, nil
}

func (p *sqliteStatement) bindElement(list int, args []any, i int) error {
	if list == 0 {
		return nil
	}
	if texts, ok := args[p.args[list-1]].([]string); ok {
		return p.stmt.BindText(list, texts[i])
	}
	return p.stmt.BindInt64(list, args[p.args[list-1]].([]int64)[i])
}

// each ends the statement even where read panics: it is used again.
func (p *sqliteStatement) each(read func(Row) error) (err error) {
	p.busy++
	defer func() {
		p.busy--
		if reset := p.stmt.Reset(); err == nil { // the first error counts
			err = reset
		}
	}()
	for p.stmt.Step() {
		if err := read(p); err != nil {
			return err
		}
	}
	return p.stmt.Err()
}

func (p *sqliteStatement) Int(column int) int64 { return p.stmt.ColumnInt64(column) }

func (p *sqliteStatement) Text(column int) string {
	text := p.stmt.ColumnText(column)
	p.conn.read += int64(len(text))
	return text
}

func (p *sqliteStatement) Bytes(column int) []byte {
	bytes := p.stmt.ColumnRawBlob(column)
	p.conn.read += int64(len(bytes))
	return bytes
}

func (c *sqliteConn) bytesRead() int64 { return c.read }

// prepare prepares a statement, and works out which argument goes where: to SQLite $2 is only a name, and it numbers
// parameters in the order in which they are first seen.
func (c *sqliteConn) prepare(sql string) (*sqliteStatement, error) {
	if len(c.statements) >= keptStatements {
		if err := c.forget(); err != nil {
			return nil, err
		}
	}
	stmt, tail, err := c.db.PrepareFlags(single(sql), sqlite3.PREPARE_PERSISTENT)
	if err != nil {
		return nil, err
	}
	if tail != "" {
		return nil, errors.Join(fmt.Errorf("more than one statement: %s", sql), stmt.Close())
	}
	s := &sqliteStatement{conn: c, stmt: stmt, order: listOrder(sql)}
	for i := range stmt.BindCount() {
		n, err := strconv.Atoi(strings.TrimPrefix(stmt.BindName(i+1), "$"))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("parameters must be $1, $2 and so on: %s", sql), stmt.Close())
		}
		s.args = append(s.args, n-1)
	}
	c.statements[sql] = s
	return s, nil
}

// forget closes the statement that was not used for the longest time.
func (c *sqliteConn) forget() error {
	oldest := ""
	for sql, s := range c.statements {
		if s.busy == 0 && (oldest == "" || s.used < c.statements[oldest].used) {
			oldest = sql
		}
	}
	if oldest == "" {
		return nil
	}
	s := c.statements[oldest]
	delete(c.statements, oldest)
	return s.stmt.Close()
}

// forgetAll closes all statements that are not in use.
func (c *sqliteConn) forgetAll() (err error) {
	for sql, s := range c.statements {
		if s.busy == 0 {
			delete(c.statements, sql)
			err = errors.Join(err, s.stmt.Close())
		}
	}
	return err
}

// translate translates the codes that mean something to us.
func (e *sqliteEngine) translate(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sqlite3.CONSTRAINT_UNIQUE), errors.Is(err, sqlite3.CONSTRAINT_PRIMARYKEY),
		errors.Is(err, sqlite3.CONSTRAINT_ROWID):
		return because(ErrTaken, err)
	case errors.Is(err, sqlite3.BUSY):
		return because(ErrUnavailable, err)
	case errors.Is(err, sqlite3.FULL), errors.Is(err, sqlite3.IOERR), errors.Is(err, sqlite3.CANTOPEN),
		errors.Is(err, sqlite3.READONLY):
		if fault := e.fault(filepath.Dir(e.path)); fault != nil {
			return fault
		}
		return because(ErrUnavailable, err)
	}
	return err
}
