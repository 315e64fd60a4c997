package book

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/ncruces/go-sqlite3"

	"donorbook/internal/store"
)

// tamper changes a database outside the program, even one that no program opens.
func tamper(t *testing.T, o store.Options, sql string, args ...any) {
	t.Helper()
	changed, err := int64(0), error(nil)
	if file := o.ForDB(nil, nil).File(); file != "" {
		changed, err = tamperSQLite(file, sql, args)
	} else {
		changed, err = tamperPostgres(t, o.Database, sql, args)
	}
	if err == nil && changed == 0 {
		err = errors.New("nothing was changed")
	}
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func tamperSQLite(file, sql string, args []any) (changed int64, err error) {
	conn, err := sqlite3.Open(file)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := conn.BusyTimeout(10 * time.Second); err != nil {
		return 0, err
	}
	statement, _, err := conn.Prepare(sql)
	if err != nil {
		return 0, err
	}
	for i, arg := range args {
		at := statement.BindIndex(fmt.Sprintf("$%d", i+1))
		switch v := arg.(type) {
		case int64:
			err = errors.Join(err, statement.BindInt64(at, v))
		case []byte:
			err = errors.Join(err, statement.BindBlob(at, v))
		}
	}
	if err == nil {
		err = statement.Exec()
	}
	return conn.Changes(), errors.Join(err, statement.Close())
}

func tamperPostgres(t testing.TB, url, sql string, args []any) (changed int64, err error) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		return 0, err
	}
	tag, err := conn.Exec(t.Context(), sql, args...)
	return tag.RowsAffected(), errors.Join(err, conn.Close(t.Context()))
}
