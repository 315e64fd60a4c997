package store

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"donorbook/internal/crm"
)

// This file is all that knows the PostgreSQL library.

const (
	postgresWriters = 4                      // transactions that write at once, each for some of the accounts
	postgresReaders = 16                     // connections for reading, where the URL does not say pool_max_conns
	connectTimeout  = 3 * time.Second        // to reach one server, where the URL does not say connect_timeout
	lendTimeout     = 5 * time.Second        // to get a connection
	readTimeout     = 15 * time.Second       // for what one request reads
	commitTimeout   = 10 * time.Second       // for a commit, which may wait for a standby
	deadCheck       = 5 * time.Second        // how often a server that still owes the answer to a commit is looked at
	maxConnLifetime = time.Hour              // so that load spreads again after a server was away
	healthCheck     = 15 * time.Second       // how often connections that are too old are replaced
	closeTimeout    = 500 * time.Millisecond // to say goodbye
)

// postgresEngine keeps a database on a server, or on whichever of several servers takes writes.
type postgresEngine struct {
	read, write   *pgxpool.Pool
	commitTimeout time.Duration
	pending       atomic.Int64 // commits that the server has not answered in time
}

func openPostgres(ctx context.Context, url string) (engine, error) {
	config, err := postgresConfig(url)
	if err != nil {
		return nil, err
	}
	e := &postgresEngine{commitTimeout: commitTimeout}
	if e.read, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, err
	}
	config = config.Copy()
	config.MaxConns = postgresWriters
	if e.write, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		e.read.Close()
		return nil, err
	}
	return e, nil
}

// postgresConfig is what the URL says, and our own choice where it says nothing. Its errors do not repeat the URL, which
// may hold a password.
func postgresConfig(url string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("the database URL is not one of PostgreSQL, such as postgres://user@host/database")
	}
	said, err := pgx.ParseConfig(url) // this one leaves the settings of the pool where they can be seen
	if err != nil {
		return nil, errors.New("the database URL cannot be used")
	}
	if _, ok := said.RuntimeParams["pool_max_conns"]; !ok {
		config.MaxConns = postgresReaders
	}
	if _, ok := said.RuntimeParams["pool_max_conn_lifetime"]; !ok {
		config.MaxConnLifetime = maxConnLifetime
	}
	if _, ok := said.RuntimeParams["pool_health_check_period"]; !ok {
		config.HealthCheckPeriod = healthCheck
	}
	if said.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	params := config.ConnConfig.RuntimeParams
	switch pooler, ok := params["pooler"]; {
	case ok && pooler != "transaction":
		return nil, errors.New("the database URL says pooler=, which can only be pooler=transaction")
	case ok: // statements of one client run on different connections, so that nothing can be prepared
		delete(params, "pooler")
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	if params["application_name"] == "" {
		params["application_name"] = "donorbook"
	}
	if config.ConnConfig.ValidateConnect == nil { // a server that takes no writes is of no use to us
		config.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	config.ConnConfig.OnNotice = noteWarning
	return config, nil
}

func (e *postgresEngine) dialect() dialect {
	return dialect{
		id:        "BIGINT",
		idKey:     "PRIMARY KEY (account_id, id)",
		bytes:     "BYTEA",
		key:       `TEXT COLLATE "C"`,
		clustered: "",
		forUpdate: " FOR UPDATE",
		confirms:  true,
		// Nodes that only serve go on reading and touching the table meanwhile; one that migrates waits as long as it takes.
		lockVersion: "SET LOCAL lock_timeout = 0; LOCK TABLE schema_version IN SHARE UPDATE EXCLUSIVE MODE",
		tables:      `SELECT CAST(relname AS TEXT) FROM pg_catalog.pg_class WHERE relkind IN ('r', 'p') AND pg_table_is_visible(oid)`,
		identity: `SELECT CONCAT_WS(' ', oid, EXTRACT(EPOCH FROM pg_postmaster_start_time()), current_schema())
			FROM pg_catalog.pg_database WHERE datname = current_database()`,
	}
}

func (e *postgresEngine) writers() int { return postgresWriters }

// reader lends a connection for what one request reads. A client that goes away ends it between two statements: to break
// off a statement would cost the connection, and all of them are short.
func (e *postgresEngine) reader(ctx context.Context) (conn, error) {
	c, err := e.lend(ctx, e.read)
	if err != nil {
		return nil, err
	}
	c.client = ctx
	c.ctx, c.cancel = context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	return c, nil
}

// writer lends a connection for as long as ctx allows.
func (e *postgresEngine) writer(ctx context.Context) (conn, error) {
	if e.pending.Load() >= postgresWriters {
		return nil, &away{err: errors.New("the server does not answer commits: it may be waiting for a standby")}
	}
	c, err := e.lend(ctx, e.write)
	if err != nil {
		return nil, err
	}
	c.client, c.ctx, c.cancel = ctx, ctx, func() {}
	return c, nil
}

func (e *postgresEngine) lend(ctx context.Context, pool *pgxpool.Pool) (*postgresConn, error) {
	wait, cancel := context.WithTimeout(ctx, lendTimeout)
	defer cancel()
	c, err := pool.Acquire(wait)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &away{again: true, err: err}
	}
	return &postgresConn{Conn: c, engine: e}, nil
}

func (e *postgresEngine) release(c conn) {
	p := c.(*postgresConn)
	p.rollback()
	p.cancel()
	if !p.left {
		p.Release()
	}
}

func (e *postgresEngine) close() error {
	e.read.Close()
	e.write.Close()
	return nil
}

// away is the error of a database that cannot answer now.
type away struct {
	again bool // what was asked for surely did not happen, and may be tried again
	err   error
}

func (a *away) Error() string { return "the database is unavailable: " + a.err.Error() }

func (a *away) Unwrap() []error {
	if a.again {
		return []error{crm.ErrUnavailable, errAgain, a.err}
	}
	return []error{crm.ErrUnavailable, a.err}
}

// postgresConn is a connection that was lent for one request or one batch.
type postgresConn struct {
	*pgxpool.Conn
	engine *postgresEngine
	client context.Context // who is served; checked before every statement
	ctx    context.Context // bounds every statement
	cancel context.CancelFunc
	open   bool // a transaction
	left   bool // to a commit that is still under way
}

// A node that vanishes with its machine must not hold an account's row until the server's network notices, and whoever
// waits for such a row must be told in time. These are set with each transaction and not once with each connection: a
// pooler would not let us.
const beginWrite = "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE; " + // after the account's row is locked, what is read is the newest
	"SET LOCAL lock_timeout = '3s'; SET LOCAL idle_in_transaction_session_timeout = '30s'"

func (c *postgresConn) begin(write bool) error {
	sql := "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
	if write {
		sql = beginWrite
	}
	_, err := c.exec(sql)
	c.open = err == nil
	return err
}

// commit succeeds only where the server says so. Nobody's going away reaches it, and a commit whose outcome is unknown
// has failed as far as anybody is told. It is never cancelled either: PostgreSQL would stop waiting for the standby and
// show everybody what exists on one server only.
func (c *postgresConn) commit() error {
	conn := c.Conn.Conn()
	c.open = false
	delete(conn.PgConn().CustomData(), warningKey)
	answer := make(chan error, 1)
	go func() { answer <- runCommit(conn) }()
	timer := time.NewTimer(c.engine.commitTimeout)
	defer timer.Stop()
	select {
	case err := <-answer:
		return err
	case <-timer.C:
		c.leave(answer)
		return &away{err: errors.New("a commit was not answered in time, and its outcome is unknown")}
	}
}

func runCommit(conn *pgx.Conn) error {
	tag, err := conn.Exec(context.Background(), "COMMIT")
	var refused *pgconn.PgError
	switch warning := conn.PgConn().CustomData()[warningKey]; {
	case errors.As(err, &refused) && undone(refused):
		return &away{again: true, err: err}
	case err != nil: // also where the server or a pooler said goodbye: it may have committed before
		return &away{err: fmt.Errorf("the outcome of a commit is unknown: %w", err)}
	case tag.String() != "COMMIT":
		return fmt.Errorf("%w: the transaction had failed", errSpoiled)
	case warning != nil:
		// Such as: the wait for the standby was cancelled, and the change is on one server only.
		return &away{err: fmt.Errorf("committed with a warning: %v", warning)}
	}
	return nil
}

// leave lets a commit go on that nobody waits for any more. Its connection is not the pool's any longer; there are never
// more of them than writers. Where the server itself cannot be reached, it is given up.
func (c *postgresConn) leave(answer <-chan error) {
	c.left = true
	c.engine.pending.Add(1)
	conn := c.Hijack()
	go func() {
		defer c.engine.pending.Add(-1)
		for {
			select {
			case <-answer:
				closeConn(conn)
				return
			case <-time.After(deadCheck):
			}
			socket := conn.PgConn().Conn()
			server, err := net.DialTimeout(socket.RemoteAddr().Network(), socket.RemoteAddr().String(), connectTimeout)
			if err != nil {
				socket.Close()
				continue
			}
			server.Close()
		}
	}()
}

// warningKey is where a connection keeps what the server warned of.
const warningKey = "donorbook.warning"

func noteWarning(c *pgconn.PgConn, notice *pgconn.Notice) {
	if notice.SeverityUnlocalized == "WARNING" || notice.Severity == "WARNING" {
		c.CustomData()[warningKey] = notice.Message
	}
}

func (c *postgresConn) rollback() {
	if !c.open {
		return
	}
	c.open = false
	if c.Conn.Conn().IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	if _, err := c.Exec(ctx, "ROLLBACK"); err != nil {
		c.abandon()
	}
}

// abandon closes a connection that is of no use any more; the pool opens another one.
func (c *postgresConn) abandon() { closeConn(c.Conn.Conn()) }

func closeConn(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	conn.Close(ctx) //nolint:errcheck // it is given up in any case
}

func (c *postgresConn) exec(sql string, args ...any) (int64, error) {
	if err := c.client.Err(); err != nil {
		return 0, c.late(err)
	}
	tag, err := c.Exec(c.ctx, sql, args...)
	return tag.RowsAffected(), c.translate(err)
}

func (c *postgresConn) query(sql string, args ...any) (rows, error) {
	if err := c.client.Err(); err != nil {
		return nil, c.late(err)
	}
	r, err := c.Query(c.ctx, sql, args...)
	if err != nil {
		return nil, c.translate(err)
	}
	return &postgresRows{Rows: r, conn: c}, nil
}

// late is the error of somebody who has left, or whose time is over.
func (c *postgresConn) late(err error) error {
	if errors.Is(c.client.Err(), context.Canceled) {
		return context.Canceled
	}
	return &away{err: err}
}

// undone tells whether the server has taken a transaction back so that it can be tried again: two were in each other's
// way.
func undone(e *pgconn.PgError) bool { return e.Code == "40001" || e.Code == "40P01" }

// translate tells apart what can be tried again, what is taken, and what is broken. It is not for a commit.
func (c *postgresConn) translate(err error) error {
	if err == nil {
		return nil
	}
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		switch {
		case c.ctx.Err() != nil:
			return c.late(err)
		case c.Conn.Conn().IsClosed():
			return &away{again: true, err: err}
		}
		return err
	}
	class := e.Code[:min(2, len(e.Code))]
	switch {
	case e.Code == "23505", e.Code == "42P07", e.Code == "42710": // a value, a table or a type
		return fmt.Errorf("%w: %w", errTaken, err)
	case undone(e), e.Code == "0A000": // or a newer node has migrated, and a prepared statement is out of date
		return &away{again: true, err: err}
	case e.Code == "25006", // this server takes no writes any more
		class == "08", strings.HasPrefix(e.Code, "57P"), e.SeverityUnlocalized == "FATAL", e.SeverityUnlocalized == "PANIC":
		c.abandon()
		return &away{again: true, err: err}
	case e.Code == "25P02": // an earlier statement of the transaction failed
		return fmt.Errorf("%w: %w", errSpoiled, err)
	case class == "53", class == "58", e.Code == "57014", e.Code == "55P03": // full, cancelled, or locked for too long
		return &away{err: err}
	case e.Code == "26000", e.Code == "42P05":
		return fmt.Errorf("%w (a pooler that shares connections between transactions needs pooler=transaction in the database URL)", err)
	}
	return err
}

// postgresRows reads columns from the bytes of the protocol, in whichever of its two forms they come.
type postgresRows struct {
	pgx.Rows
	conn *postgresConn
}

func (r *postgresRows) next() bool { return r.Next() }

func (r *postgresRows) binary(column int) bool {
	return r.FieldDescriptions()[column].Format == pgx.BinaryFormatCode
}

func (r *postgresRows) int(column int) int64 {
	raw := r.RawValues()[column]
	if !r.binary(column) {
		n, _ := strconv.ParseInt(string(raw), 10, 64) // the server only sends numbers here
		return n
	}
	switch len(raw) {
	case 2:
		return int64(int16(binary.BigEndian.Uint16(raw)))
	case 4:
		return int64(int32(binary.BigEndian.Uint32(raw)))
	case 8:
		return int64(binary.BigEndian.Uint64(raw))
	}
	return 0
}

func (r *postgresRows) text(column int) string { return string(r.RawValues()[column]) }

func (r *postgresRows) bytes(column int) []byte {
	raw := r.RawValues()[column]
	if r.binary(column) {
		return raw
	}
	b, _ := hex.DecodeString(strings.TrimPrefix(string(raw), `\x`)) // the server's own form
	return b
}

func (r *postgresRows) close() error {
	r.Close()
	return r.conn.translate(r.Err())
}
