package db

import (
	"errors"
	"testing"

	"donorbook/internal/rig"

	"github.com/jackc/pgx/v5/pgconn"
)

// A server reports an outdated plan with the same code as everything that it does not support. Only the first is worth a retry,
// on another connection.
func TestOnlyAnOutdatedPlanIsTriedAgain(t *testing.T) {
	t.Parallel()
	url := rig.Database(t)
	d := openTiny(t, tinyOptions(Options{URL: url}))
	for _, test := range []struct {
		routine string
		again   bool
	}{{"RevalidateCachedQuery", true}, {"transformLockingClause", false}, {"", false}} {
		c := must(d.engine.writer(t.Context()))(t)
		p := c.(*postgresConn)
		got := p.translate(&pgconn.PgError{Code: "0A000", Severity: "ERROR", SeverityUnlocalized: "ERROR", Message: "no", Routine: test.routine})
		if errors.Is(got, errRetry) != test.again || errors.Is(got, ErrUnavailable) != test.again || p.lent.Conn().IsClosed() != test.again {
			t.Errorf("%q: %v, and the connection is closed: %v", test.routine, got, p.lent.Conn().IsClosed())
		}
		d.engine.release(c)
	}
}

// A distributed engine whose worker is gone says so with the code of its own faults. Those stay faults.
func TestAServerThatHasLostAnotherIsUnavailable(t *testing.T) {
	t.Parallel()
	url := rig.Database(t)
	d := openTiny(t, tinyOptions(Options{URL: url}))
	c := must(d.engine.writer(t.Context()))(t)
	defer d.engine.release(c)
	for message, unavailable := range map[string]bool{
		"server closed the connection unexpectedly\n\tThis probably means the server terminated abnormally": true,
		"cache lookup failed for type 4711": false,
	} {
		got := c.(*postgresConn).translate(&pgconn.PgError{Code: "XX000", Severity: "ERROR", SeverityUnlocalized: "ERROR", Message: message})
		if errors.Is(got, ErrUnavailable) != unavailable || errors.Is(got, errRetry) {
			t.Errorf("%q: %v", message, got)
		}
	}
}

// What a real server reports in both cases.
func TestAChangedTableIsNotNoticedAndAnImpossibleStatementIs(t *testing.T) {
	t.Parallel()
	url := rig.Database(t)
	d := openTiny(t, tinyOptions(Options{URL: url}))
	every := func() error {
		_, err := d.readAll(t, `SELECT * FROM person WHERE id = $1`, int64(1))
		return err
	}
	for range 3 {
		if err := every(); err != nil {
			t.Fatal(err)
		}
	}
	// As a newer node does when it migrates.
	err := d.write(t.Context(), 1, func(tx *Tx) error {
		_, err := tx.Exec(`ALTER TABLE person ADD COLUMN more BIGINT NOT NULL DEFAULT 0`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := every(); err != nil {
		t.Errorf("after the table has changed: %v", err)
	}
	attempts := 0
	err = d.write(t.Context(), 1, func(tx *Tx) error {
		attempts++
		_, err := tx.Int(`SELECT COUNT(*) FROM person WHERE id = $1 FOR UPDATE`, int64(1))
		return err
	})
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || refused.Code != "0A000" || errors.Is(err, ErrUnavailable) || attempts != 1 {
		t.Errorf("an impossible statement: %v after %d attempts", err, attempts)
	}
}

// readAll reads the first column of all rows, as numbers.
func (d *DB) readAll(t testing.TB, sql string, args ...any) (list []int64, err error) {
	t.Helper()
	err = d.Read(t.Context(), func(c Conn) (err error) {
		list, err = List(c, func(r Row) int64 { return r.Int(0) }, sql, args...)
		return err
	})
	return list, err
}
