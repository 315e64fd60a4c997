package store

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"donorbook/internal/crm"
)

// This file is all that knows the PostgreSQL library.

const (
	postgresWriters = 4                // transactions that write at once, each for some of the accounts
	postgresReaders = 16               // connections for reading, where the URL does not say pool_max_conns
	connectTimeout  = 3 * time.Second  // to reach a server
	lendTimeout     = 5 * time.Second  // to get a connection
	readTimeout     = 15 * time.Second // for what one request reads
	writeTimeout    = 20 * time.Second // for a batch of changes
	commitTimeout   = 10 * time.Second // for a commit, which may wait for a standby
)

// postgresEngine keeps a database on a server, or on whichever of several servers takes writes.
type postgresEngine struct {
	read, write *pgxpool.Pool
}

func openPostgres(ctx context.Context, url string) (engine, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("the database URL is not one of PostgreSQL, such as postgres://user@host/database")
	}
	config.ConnConfig.ConnectTimeout = connectTimeout
	config.ConnConfig.OnNotice = noteWarning
	config.ConnConfig.RuntimeParams["application_name"] = "donorbook"
	if len(config.ConnConfig.Fallbacks) > 0 && config.ConnConfig.ValidateConnect == nil {
		config.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	if !strings.Contains(url, "pool_max_conns") {
		config.MaxConns = postgresReaders
	}
	config.MaxConnLifetime = time.Hour
	config.HealthCheckPeriod = 15 * time.Second
	e := &postgresEngine{}
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

func (e *postgresEngine) dialect() dialect {
	return dialect{
		id:          "BIGINT",
		idKey:       "PRIMARY KEY (account_id, id)",
		bytes:       "BYTEA",
		key:         `TEXT COLLATE "C"`,
		clustered:   "",
		forUpdate:   " FOR UPDATE",
		confirms:    true,
		lockVersion: "LOCK TABLE schema_version IN EXCLUSIVE MODE",
	}
}

func (e *postgresEngine) writers() int { return postgresWriters }

func (e *postgresEngine) reader(ctx context.Context) (conn, error) {
	return lend(ctx, e.read, readTimeout)
}

func (e *postgresEngine) writer(ctx context.Context) (conn, error) {
	return lend(ctx, e.write, writeTimeout)
}

func lend(ctx context.Context, pool *pgxpool.Pool, limit time.Duration) (conn, error) {
	wait, cancel := context.WithTimeout(ctx, lendTimeout)
	defer cancel()
	c, err := pool.Acquire(wait)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%w: %w: %w", errAgain, crm.ErrUnavailable, err)
	}
	bounded, cancel := context.WithTimeout(ctx, limit)
	return &postgresConn{Conn: c, ctx: bounded, cancel: cancel}, nil
}

func (e *postgresEngine) release(c conn) {
	p := c.(*postgresConn)
	p.rollback()
	p.cancel()
	p.Release()
}

func (e *postgresEngine) close() error {
	e.read.Close()
	e.write.Close()
	return nil
}

// postgresConn is a connection that was lent for one request or one batch.
type postgresConn struct {
	*pgxpool.Conn
	ctx    context.Context // bounds every statement
	cancel context.CancelFunc
	open   bool // a transaction
}

func (c *postgresConn) begin(write bool) error {
	sql := "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
	if write {
		// Every change locks its account's row first; what it reads after that is the newest there is.
		sql = "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE"
	}
	_, err := c.exec(sql)
	c.open = err == nil
	return err
}

// commit succeeds only where the server says so. The client's going away does not reach it, and a commit whose outcome
// nobody knows has failed as far as anybody is told.
func (c *postgresConn) commit() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), commitTimeout)
	defer cancel()
	c.open = false
	custom := c.Conn.Conn().PgConn().CustomData()
	delete(custom, warningKey)
	tag, err := c.Exec(ctx, "COMMIT")
	var refused *pgconn.PgError
	switch {
	case errors.As(err, &refused):
		return c.translate(err)
	case err != nil:
		return fmt.Errorf("%w: the outcome of a commit is unknown: %w", crm.ErrUnavailable, err)
	case tag.String() != "COMMIT":
		return fmt.Errorf("%w: the transaction had failed", errSpoiled)
	case custom[warningKey] != nil:
		// Such as: the wait for the standby was cancelled, and the change is on one server only.
		return fmt.Errorf("%w: committed with a warning: %v", crm.ErrUnavailable, custom[warningKey])
	}
	return nil
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), connectTimeout)
	defer cancel()
	if _, err := c.Exec(ctx, "ROLLBACK"); err != nil {
		c.abandon()
	}
}

// abandon closes a connection that is of no use any more; the pool opens another one.
func (c *postgresConn) abandon() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c.Conn.Conn().Close(ctx) //nolint:errcheck // it is given up in any case
}

func (c *postgresConn) exec(sql string, args ...any) (int64, error) {
	tag, err := c.Exec(c.ctx, sql, args...)
	return tag.RowsAffected(), c.translate(err)
}

func (c *postgresConn) query(sql string, args ...any) (rows, error) {
	r, err := c.Query(c.ctx, sql, args...)
	if err != nil {
		return nil, c.translate(err)
	}
	return &postgresRows{Rows: r, conn: c}, nil
}

// translate tells apart what can be tried again, what is taken, and what is broken.
func (c *postgresConn) translate(err error) error {
	if err == nil {
		return nil
	}
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		if c.ctx.Err() != nil && !c.Conn.Conn().IsClosed() {
			return err
		}
		if errors.Is(c.ctx.Err(), context.Canceled) {
			return context.Canceled // the client left
		}
		if c.ctx.Err() != nil {
			return fmt.Errorf("%w: %w", crm.ErrUnavailable, err)
		}
		if c.Conn.Conn().IsClosed() {
			return fmt.Errorf("%w: %w: %w", errAgain, crm.ErrUnavailable, err)
		}
		return err
	}
	switch {
	case e.Code == "23505", e.Code == "42P07", e.Code == "42710": // a value, a table or a type
		return fmt.Errorf("%w: %w", errTaken, err)
	case e.Code == "25006": // read-only: this server takes no writes any more
		c.abandon()
		return fmt.Errorf("%w: %w: %w", errAgain, crm.ErrUnavailable, err)
	case e.Code == "40001", e.Code == "40P01", strings.HasPrefix(e.Code, "08"), strings.HasPrefix(e.Code, "57P"):
		return fmt.Errorf("%w: %w: %w", errAgain, crm.ErrUnavailable, err)
	case e.Code == "25P02": // an earlier statement of the transaction failed
		return fmt.Errorf("%w: %w", errSpoiled, err)
	case strings.HasPrefix(e.Code, "53"), strings.HasPrefix(e.Code, "58"), e.Code == "57014", e.Code == "55P03":
		return fmt.Errorf("%w: %w", crm.ErrUnavailable, err)
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
