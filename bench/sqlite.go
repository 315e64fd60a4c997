package main

import (
	"fmt"
	"net/url"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"

	"donorbook/internal/crm"
)

// database is one connection to a file of the program, with its prepared statements.
type database struct {
	conn       *sqlite3.Conn
	statements map[string]*sqlite3.Stmt
}

// durable are the settings that the program itself writes with; a test compares them. quick are for a file that is not in use yet,
// with as large a cache as the memory of the engine allows.
var (
	durable = []string{
		"PRAGMA busy_timeout = 10000", "PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON",
		"PRAGMA cache_size = -10000", "PRAGMA wal_autocheckpoint = 4000", "PRAGMA trusted_schema = OFF",
	}
	quick = []string{"PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF", "PRAGMA locking_mode = EXCLUSIVE", "PRAGMA cache_size = -150000"}
)

func openDatabase(path string, pragmas []string) (*database, error) {
	conn, err := sqlite3.Open((&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}).String())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	err = fts5.Register(conn)
	for i := 0; i < len(pragmas) && err == nil; i++ {
		err = conn.Exec(pragmas[i])
	}
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &database{conn: conn, statements: make(map[string]*sqlite3.Stmt)}, nil
}

func (d *database) close() error {
	for _, stmt := range d.statements {
		_ = stmt.Close()
	}
	return d.conn.Close()
}

// bind prepares a statement once and sets its parameters.
func (d *database) bind(sql string, args ...any) (stmt *sqlite3.Stmt, err error) {
	if stmt = d.statements[sql]; stmt == nil {
		if stmt, _, err = d.conn.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT); err != nil {
			return nil, err
		}
		d.statements[sql] = stmt
	}
	for i, arg := range args {
		switch v := arg.(type) {
		case int64:
			err = stmt.BindInt64(i+1, v)
		case string:
			err = stmt.BindText(i+1, v)
		case []byte:
			err = stmt.BindBlob(i+1, v)
		default:
			err = fmt.Errorf("a parameter of the type %T", arg)
		}
		if err != nil {
			return nil, err
		}
	}
	return stmt, nil
}

func (d *database) exec(sql string, args ...any) error {
	stmt, err := d.bind(sql, args...)
	if err != nil {
		return err
	}
	return stmt.Exec()
}

// each calls read for every row.
func (d *database) each(read func(*sqlite3.Stmt), sql string, args ...any) error {
	stmt, err := d.bind(sql, args...)
	if err != nil {
		return err
	}
	for stmt.Step() {
		read(stmt)
	}
	if err := stmt.Err(); err != nil {
		_ = stmt.Reset()
		return err
	}
	return stmt.Reset()
}

// number asks for one number; 0 where there is none.
func (d *database) number(sql string, args ...any) (n int64, err error) {
	err = d.each(func(row *sqlite3.Stmt) { n = row.ColumnInt64(0) }, sql, args...)
	return n, err
}

// appendContacts appends the contacts that a statement finds by id and body, as an answer has them, with commas between them.
func (d *database) appendContacts(dst []byte, sql string, args ...any) ([]byte, error) {
	first := true
	err := d.each(func(row *sqlite3.Stmt) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = crm.AppendContact(dst, row.ColumnInt64(0), row.ColumnRawBlob(1))
	}, sql, args...)
	return dst, err
}
