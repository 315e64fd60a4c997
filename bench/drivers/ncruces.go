//go:build ncruces

package main

import "github.com/ncruces/go-sqlite3"

func init() { open = openNcruces }

// ncruces uses the library as the program's store does.
type ncruces struct {
	conn       *sqlite3.Conn
	statements map[string]*sqlite3.Stmt
}

func openNcruces(path string) (database, error) {
	conn, err := sqlite3.Open("file:" + path)
	return &ncruces{conn, make(map[string]*sqlite3.Stmt)}, err
}

func (d *ncruces) bind(sql string, args []any) (stmt *sqlite3.Stmt, err error) {
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
		}
		if err != nil {
			return nil, err
		}
	}
	return stmt, nil
}

func (d *ncruces) exec(sql string, args ...any) error {
	return d.each(nil, func() {}, sql, args...)
}

func (d *ncruces) each(into []any, read func(), sql string, args ...any) error {
	stmt, err := d.bind(sql, args)
	if err != nil {
		return err
	}
	for stmt.Step() {
		for i, to := range into {
			switch to := to.(type) {
			case *int64:
				*to = stmt.ColumnInt64(i)
			case *[]byte:
				*to = stmt.ColumnRawBlob(i)
			}
		}
		read()
	}
	err = stmt.Err()
	if reset := stmt.Reset(); err == nil {
		err = reset
	}
	return err
}

func (d *ncruces) close() error {
	for _, stmt := range d.statements {
		_ = stmt.Close()
	}
	return d.conn.Close()
}
