package db

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"donorbook/internal/rig"
)

func TestTheURLHasTheLastWordOnConnections(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		settings string
		conns    int32
		connect  time.Duration
		name     string
	}{
		{"", postgresReaders, connectTimeout, "donorbook"},
		{"?pool_max_conns=3&connect_timeout=7&application_name=node2", 3, 7 * time.Second, "node2"},
		{"?pooler=transaction", postgresReaders, connectTimeout, "donorbook"},
	} {
		config := must(postgresConfig("postgres://u:pool_max_conns@a:1,b:2/db" + test.settings))(t)
		c := config.ConnConfig
		params := c.RuntimeParams
		if config.MaxConns != test.conns || c.ConnectTimeout != test.connect ||
			params["application_name"] != test.name || len(params) != 1 {
			t.Errorf("%s: %d connections, %v to connect, and the server is told %v", test.settings, config.MaxConns,
				c.ConnectTimeout, params)
		}
	}
}

// A password must not reach a log or a terminal, whatever is wrong with the URL.
func TestAnErrorNeverTellsThePassword(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t"
	for _, url := range []string{
		"u:" + secret + "@127.0.0.1:1/db",
		"u:" + secret + "@127.0.0.1:1,127.0.0.1:2/db?sslmode=disable",
		"u@127.0.0.1:1/db?password=" + secret,
		"u:" + secret + "@127.0.0.1:x/db",
		"u:" + secret + "/more@127.0.0.1/db",
		"u:" + secret + "@127.0.0.1/db?sslmode=wrong",
		"u:" + secret + "@127.0.0.1/db?pool_max_conns=wrong",
		"u:" + secret + "@127.0.0.1/db?pooler=session",
		"u:%zz" + secret + "@127.0.0.1/db",
	} {
		d, err := Open(t.Context(), tinyOptions(Options{URL: "postgres://" + url}))
		if err == nil {
			succeed(t, d.Close())
		}
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// A server reports an outdated plan with the same code as everything that it does not support. Only the first is worth
// a retry, on another connection. A distributed engine whose worker is gone says so with the code of its own faults,
// and those stay faults.
func TestOnlyAnOutdatedPlanIsTriedAgain(t *testing.T) {
	t.Parallel()
	d := openTiny(t, tinyOptions(Options{URL: rig.Database(t)}))
	for _, test := range []struct {
		code, message, routine string
		again, unavailable     bool
	}{
		{"0A000", "no", "RevalidateCachedQuery", true, true},
		{"0A000", "no", "transformLockingClause", false, false},
		{"0A000", "no", "", false, false},
		{"XX000", "server closed the connection unexpectedly\n\tThis probably means the server terminated abnormally",
			"", false, true},
		{"XX000", "cache lookup failed for type 4711", "", false, false},
	} {
		c := must(d.engine.writer(t.Context()))(t)
		p := c.(*postgresConn)
		got := p.translate(&pgconn.PgError{Code: test.code, Severity: "ERROR", SeverityUnlocalized: "ERROR",
			Message: test.message,
			Routine: test.routine})
		again, unavailable := errors.Is(got, errRetry), errors.Is(got, ErrUnavailable)
		closed := p.lent.Conn().IsClosed()
		if again != test.again || unavailable != test.unavailable || test.code == "0A000" && closed != again {
			t.Errorf("%+v: %v, and the connection is closed: %v", test, got, closed)
		}
		d.engine.release(c)
	}
}

// What a real server reports in both cases.
func TestAChangedTableIsNotNoticedAndAnImpossibleStatementIs(t *testing.T) {
	t.Parallel()
	d := openTiny(t, tinyOptions(Options{URL: rig.Database(t)}))
	for range 4 {
		must(d.readAll(t, `SELECT * FROM person WHERE id = $1`, int64(1)))(t)
	}
	succeed(t, d.write(t.Context(), 1, func(tx *Tx) error { // as a newer node does when it migrates
		_, err := tx.Exec(`ALTER TABLE person ADD COLUMN more BIGINT NOT NULL DEFAULT 0`)
		return err
	}))
	must(d.readAll(t, `SELECT * FROM person WHERE id = $1`, int64(1)))(t)
	attempts := 0
	err := d.write(t.Context(), 1, func(tx *Tx) error {
		attempts++
		_, err := tx.Int(`SELECT COUNT(*) FROM person WHERE id = $1 FOR UPDATE`, int64(1))
		return err
	})
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || refused.Code != "0A000" || errors.Is(err, ErrUnavailable) || attempts != 1 {
		t.Errorf("an impossible statement: %v after %d attempts", err, attempts)
	}
}
