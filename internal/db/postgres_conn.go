package db

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// postgresConn is a connection that was lent for one request or one batch.
type postgresConn struct {
	engine *postgresEngine
	client context.Context // who is served; checked before every statement
	ctx    context.Context // bounds every statement; nil while a reader has no connection
	cancel context.CancelFunc
	reads  bool          // it is a reader
	lent   *pgxpool.Conn // nil while there is none
	wire   *wire

	queued []statement // goes with the next statement whose answer is waited for
	begun  bool        // a transaction, though its beginning may be queued
}

// connect lends a connection, where there is none yet.
func (c *postgresConn) connect() (err error) {
	if c.lent != nil {
		return nil
	}
	pool := c.engine.write
	if c.reads {
		pool = c.engine.read
	}
	if c.lent, err = c.engine.lend(c.client, pool); err != nil {
		return err
	}
	c.wire = wireOf(c.lent, c.engine.prepares)
	if c.ctx == nil {
		c.ctx, c.cancel = context.WithTimeout(context.WithoutCancel(c.client), readTimeout)
	}
	return nil
}

var (
	beginRead = []string{"BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"}

	// A node that vanishes with its machine must not hold an account's row until the server's network notices, and a node that
	// waits for such a row must be told in time. These are set with each transaction and not once with each connection: a
	// pooler would not let us.
	beginWrite = []string{
		"BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE", // after the account's row is locked, what is read is the newest
		"SET LOCAL lock_timeout = '3s'",
		"SET LOCAL idle_in_transaction_session_timeout = '30s'",
	}
)

// begin travels with the first statement of the transaction. Its connection is taken at once: no request may have to wait for one
// while others that have theirs wait for it.
func (c *postgresConn) begin(write bool) error {
	if err := c.connect(); err != nil {
		return err
	}
	steps := beginRead
	if write {
		steps = beginWrite
	}
	for _, sql := range steps {
		c.queued = append(c.queued, statement{sql: sql})
	}
	c.begun = true
	return nil
}

func (c *postgresConn) queue(read func(Row) error, sql string, args ...any) error {
	c.queued = append(c.queued, newStatement(read, sql, args))
	return nil
}

func (c *postgresConn) flush() error {
	if len(c.queued) == 0 {
		return nil
	}
	x, err := c.send()
	if err == nil {
		err = c.translate(x.close())
	}
	return err
}

// send sends what is queued, and statements after it, and takes the answers to what was queued. The other answers are left to the
// caller, who closes the exchange.
func (c *postgresConn) send(more ...statement) (*exchange, error) {
	if err := c.client.Err(); err != nil {
		return nil, c.late(err)
	}
	if err := c.connect(); err != nil {
		return nil, err
	}
	queued := c.queued
	c.queued = nil
	x := c.wire.send(c.ctx, append(queued, more...)...)
	for i := range queued {
		if _, err := x.take(queued[i].read); err != nil {
			x.close() //nolint:errcheck // the first error counts
			return nil, poisoned(c.translate(err))
		}
	}
	clear(queued)
	c.queued = queued[:0]
	return x, nil
}

func (c *postgresConn) exec(sql string, args ...any) (int64, error) {
	if len(args) == 0 {
		return c.script(sql)
	}
	x, err := c.send(newStatement(nil, sql, args))
	if err != nil {
		return 0, err
	}
	result, err := x.take(nil)
	if closing := x.close(); err == nil {
		err = closing
	}
	return result.RowsAffected(), c.translate(err)
}

// script runs a text that may hold several statements.
func (c *postgresConn) script(sql string) (int64, error) {
	if err := c.flush(); err != nil {
		return 0, err
	}
	if err := c.client.Err(); err != nil {
		return 0, c.late(err)
	}
	if err := c.connect(); err != nil {
		return 0, err
	}
	result, err := c.lent.Exec(c.ctx, sql)
	return result.RowsAffected(), c.translate(err)
}

func (c *postgresConn) query(limit int, sql string, args ...any) (rows, error) {
	if c.reads && !c.begun {
		if err := c.client.Err(); err != nil {
			return nil, c.late(err)
		}
		return c.engine.reads.ask(limit, sql, args)
	}
	x, err := c.send(newStatement(nil, sql, args))
	if err != nil {
		return nil, err
	}
	r, err := x.next()
	if err != nil {
		x.close() //nolint:errcheck // the first error counts
		return nil, c.translate(err)
	}
	return &postgresRows{wireRows{r}, x, c}, nil
}

// postgresRows are the rows that an exchange ends with.
type postgresRows struct {
	wireRows
	exchange *exchange
	conn     *postgresConn
}

func (r *postgresRows) close() error {
	err := r.wireRows.close()
	if closing := r.exchange.close(); err == nil {
		err = closing
	}
	return r.conn.translate(err)
}

// commit travels with what waits. It succeeds only where the server says so. A client that goes away does not reach it, and a commit
// whose outcome is unknown is reported as failed. It is never canceled either: PostgreSQL would stop waiting
// for the standby and show all clients what exists on one server only.
func (c *postgresConn) commit() error {
	last := append(c.queued, statement{sql: "COMMIT"})
	c.queued = nil
	c.begun = false
	answer := make(chan error, 1)
	go func(w *wire) { answer <- w.commit(last) }(c.wire)
	timer := time.NewTimer(c.engine.commitTimeout)
	defer timer.Stop()
	select {
	case err := <-answer:
		var before *uncommitted
		if errors.As(err, &before) {
			return poisoned(c.translate(before.err))
		}
		return err
	case <-timer.C:
		c.leave(answer)
		return &unavailable{err: errors.New("a commit was not answered in time, and its outcome is unknown")}
	}
}

// uncommitted is the error of a statement before the commit, which the server has not come to.
type uncommitted struct{ err error }

func (e *uncommitted) Error() string { return e.err.Error() }

func (w *wire) commit(statements []statement) error {
	x := w.send(context.Background(), statements...)
	defer x.close() //nolint:errcheck // what the server said of the commit counts
	var result pgconn.CommandTag
	var err error
	for i := 0; i < len(statements) && err == nil; i++ {
		delete(w.conn.CustomData(), warningKey) // only that of the commit counts
		result, err = x.take(statements[i].read)
		if err != nil && i+1 < len(statements) && refuses(err) {
			return &uncommitted{err}
		}
	}
	var refused *pgconn.PgError
	switch warning := w.conn.CustomData()[warningKey]; {
	case errors.As(err, &refused) && undone(refused):
		return &unavailable{retry: true, undone: true, err: err}
	case err != nil: // also where the server or a pooler said goodbye: it may have committed before
		return &unavailable{err: fmt.Errorf("the outcome of a commit is unknown: %w", err)}
	case result.String() != "COMMIT":
		return fmt.Errorf("%w: the transaction had failed", errPoisoned)
	case warning != nil:
		// Such as: the wait for the standby was canceled, and the change is on one server only.
		return &unavailable{err: fmt.Errorf("committed with a warning: %v", warning)}
	}
	return nil
}

// refuses tells whether an error is the server's answer to one statement, and no end of the connection, of which it is unknown
// when it came.
func refuses(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.SeverityUnlocalized == "ERROR" || e.Severity == "ERROR") && !strings.HasPrefix(e.Code, "08") && !strings.HasPrefix(e.Code, "57P")
}

// leave lets a commit go on that no client waits for any more. Its connection is not the pool's any longer; there are never
// more of them than writers. Where the server itself cannot be reached, it is given up.
func (c *postgresConn) leave(answer <-chan error) {
	c.engine.pending.Add(1)
	conn := c.lent.Hijack()
	c.lent, c.wire = nil, nil
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
	c.queued, c.begun = nil, false
	if c.lent == nil || c.lent.Conn().IsClosed() || c.lent.Conn().PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	if _, err := c.lent.Exec(ctx, "ROLLBACK"); err != nil {
		c.abandon()
	}
}

// abandon closes a connection that is of no use any more; the pool opens another one.
func (c *postgresConn) abandon() { closeConn(c.lent.Conn()) }

func closeConn(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	conn.Close(ctx) //nolint:errcheck // it is given up in any case
}

// late is the error of a client that has left, or whose time is over.
func (c *postgresConn) late(err error) error {
	if errors.Is(c.client.Err(), context.Canceled) {
		return context.Canceled
	}
	return &unavailable{err: err}
}

// undone tells whether the server has taken a transaction back so that it can be tried again: two were in each other's
// way.
func undone(e *pgconn.PgError) bool { return e.Code == "40001" || e.Code == "40P01" }

// outdated tells whether a statement was prepared for a schema that has changed since. Every other feature that a server does not
// support it will not support the next time either.
func outdated(e *pgconn.PgError) bool {
	return e.Code == "0A000" && e.Routine == "RevalidateCachedQuery"
}

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
		case c.lent.Conn().IsClosed():
			return &unavailable{retry: true, err: err}
		}
		return err
	}
	class := e.Code[:min(2, len(e.Code))]
	switch {
	case e.Code == "23505", e.Code == "42P07", e.Code == "42710": // a value, a table or a type
		return fmt.Errorf("%w: %w", ErrTaken, err)
	case undone(e):
		return &unavailable{retry: true, undone: true, err: err}
	case e.Code == "25006", // this server takes no writes any more
		outdated(e), // a newer node has migrated, and a prepared statement is out of date
		class == "08", strings.HasPrefix(e.Code, "57P"), e.SeverityUnlocalized == "FATAL", e.SeverityUnlocalized == "PANIC":
		c.abandon()
		return &unavailable{retry: true, err: err}
	case e.Code == "25P02": // an earlier statement of the transaction failed
		return fmt.Errorf("%w: %w", errPoisoned, err)
	case e.Code == "53100":
		return &unavailable{err: fmt.Errorf("%w: %w", syscall.ENOSPC, err)}
	case class == "53", class == "58", e.Code == "57014", e.Code == "55P03": // full, canceled, or locked for too long
		return &unavailable{err: err}
	case e.Code == "26000", e.Code == "42P05":
		return fmt.Errorf("%w (a pooler that shares connections between transactions needs pooler=transaction in the database URL)", err)
	}
	return err
}

// takeTime lifts the limit that is meant for one request.
func (c *postgresConn) takeTime(ctx context.Context) {
	c.cancel()
	c.ctx, c.cancel = context.WithCancel(ctx)
}
