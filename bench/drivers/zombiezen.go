//go:build zombiezen

package main

import "zombiezen.com/go/sqlite"

func init() { open = openZombiezen }

// zombiezen is another interface to modernc's translation of SQLite. It keeps prepared statements itself.
type zombiezen struct {
	conn *sqlite.Conn
	buf  []byte
}

func openZombiezen(path string) (database, error) {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	return &zombiezen{conn: conn}, err
}

func (d *zombiezen) bind(sql string, args []any) (*sqlite.Stmt, error) {
	stmt, err := d.conn.Prepare(sql)
	if err != nil {
		return nil, err
	}
	for i, arg := range args {
		switch v := arg.(type) {
		case int64:
			stmt.BindInt64(i+1, v)
		case string:
			stmt.BindText(i+1, v)
		case []byte:
			stmt.BindBytes(i+1, v)
		}
	}
	return stmt, nil
}

func (d *zombiezen) exec(sql string, args ...any) error {
	return d.each(nil, func() {}, sql, args...)
}

func (d *zombiezen) each(into []any, read func(), sql string, args ...any) error {
	stmt, err := d.bind(sql, args)
	if err != nil {
		return err
	}
	more, err := stmt.Step()
	for ; more && err == nil; more, err = stmt.Step() {
		for i, to := range into {
			switch to := to.(type) {
			case *int64:
				*to = stmt.ColumnInt64(i)
			case *[]byte:
				*to = d.column(stmt, i)
			}
		}
		read()
	}
	if reset := stmt.Reset(); err == nil {
		err = reset
	}
	return err
}

func (d *zombiezen) column(stmt *sqlite.Stmt, i int) []byte {
	n := stmt.ColumnLen(i)
	if cap(d.buf) < n {
		d.buf = make([]byte, 2*n)
	}
	return d.buf[:stmt.ColumnBytes(i, d.buf[:n])]
}

func (d *zombiezen) close() error { return d.conn.Close() }
