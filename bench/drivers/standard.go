//go:build ncruces_sql || modernc || mattn

package main

import (
	"context"
	"database/sql"
)

func init() { open = openStandard }

// standard uses a library through database/sql: one connection, prepared statements, and bytes that are not copied again.
type standard struct {
	db         *sql.DB
	conn       *sql.Conn
	statements map[string]*statement
}

type statement struct {
	*sql.Stmt
	into []any
}

func openStandard(path string) (database, error) {
	db, err := sql.Open(driverName, "file:"+path)
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(context.Background())
	return &standard{db, conn, make(map[string]*statement)}, err
}

func (d *standard) prepare(text string, into []any) (*statement, error) {
	if s := d.statements[text]; s != nil {
		return s, nil
	}
	stmt, err := d.conn.PrepareContext(context.Background(), text)
	if err != nil {
		return nil, err
	}
	s := &statement{Stmt: stmt}
	for _, to := range into {
		if bytes, ok := to.(*[]byte); ok {
			to = (*sql.RawBytes)(bytes)
		}
		s.into = append(s.into, to)
	}
	d.statements[text] = s
	return s, nil
}

func (d *standard) exec(text string, args ...any) error {
	s, err := d.prepare(text, nil)
	if err != nil {
		return err
	}
	_, err = s.Exec(args...)
	return err
}

func (d *standard) each(into []any, read func(), text string, args ...any) error {
	s, err := d.prepare(text, into)
	if err != nil {
		return err
	}
	rows, err := s.Query(args...)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	for rows.Next() {
		if len(s.into) > 0 {
			if err := rows.Scan(s.into...); err != nil {
				return err
			}
		}
		read()
	}
	return rows.Err()
}

func (d *standard) close() error {
	for _, s := range d.statements {
		_ = s.Close()
	}
	_ = d.conn.Close()
	return d.db.Close()
}
