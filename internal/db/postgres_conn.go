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

	"donorbook/internal/guard"
)

// postgresConn is a connection that was lent for one request or one batch.
type postgresConn struct {
	engine *postgresEngine
	client context.Context // who is served; checked before every statement
	ctx    context.Context // bounds every statement; nil while a reader has no connection
	cancel context.CancelFunc
	reads  bool          // it is a reader
	lent   *pgxpool.Conn // nil while there is none

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
	if c.lent, err = c.engine.lend(c.client, pool); err == nil && c.ctx == nil {
		c.ctx, c.cancel = context.WithTimeout(context.WithoutCancel(c.client), readTimeout)
	}
	return err
}

var (
	beginRead = []string{"BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"}

	// A node that vanishes with its machine must not hold an account's row until the server's network notices, and a
	// node that waits for such a row must be told in time. These are set with each transaction and not once with each
	// connection: a pooler would not let us.
	beginWrite = []string{
		// after the account's row is locked, what is read is the newest
		"BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE",
		"SET LOCAL lock_timeout = '3s'",
		"SET LOCAL idle_in_transaction_session_timeout = '30s'",
	}
)

// begin travels with the first statement of the transaction. Its connection is taken at once: no request may have to
// wait for one while others that have theirs wait for it.
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

func (c *postgresConn) queue(s statement) error {
	c.queued = append(c.queued, s.asSingle())
	return nil
}

func (c *postgresConn) run(s statement) (changed int64, err error) {
	c.queued = append(c.queued, s.asSingle())
	return c.send(nil, true)
}

func (c *postgresConn) each(read func(Row) error, s statement) error {
	if c.reads && !c.begun {
		if err := c.client.Err(); err != nil {
			return c.late(err)
		}
		return c.engine.reads.ask(read, s.asSingle())
	}
	c.queued = append(c.queued, s.asSingle())
	_, err := c.send(read, true)
	return err
}

func (c *postgresConn) flush() error {
	if len(c.queued) == 0 {
		return nil
	}
	_, err := c.send(nil, false)
	return err
}

// send sends what is queued and takes the answers. Only the last statement may be one that is waited for, whose rows go
// to read; a failure of the others may not be the fault of the change that hears of it.
func (c *postgresConn) send(read func(Row) error, waited bool) (changed int64, err error) {
	if err := c.client.Err(); err != nil {
		return 0, c.late(err)
	}
	if err := c.connect(); err != nil {
		return 0, err
	}
	queued := c.queued
	c.queued = nil
	answered, done, err := c.engine.wireOf(c.lent).send(c.ctx, queued, read)
	if err != nil {
		if err = c.translate(err); !waited || answered+1 < len(queued) {
			err = poisoned(err)
		}
		return 0, err
	}
	clear(queued)
	c.queued = queued[:0]
	return done.RowsAffected(), nil
}

// commit travels with what waits. It succeeds only where the server says so. A client that goes away does not reach it,
// and a commit whose outcome is unknown is reported as failed. It is never canceled either: PostgreSQL would stop
// waiting for the standby and show all clients what exists on one server only.
func (c *postgresConn) commit() error {
	last := append(c.queued, statement{sql: "COMMIT"})
	c.queued, c.begun = nil, false
	var answered int
	var done pgconn.CommandTag
	answer := make(chan error, 1)
	w := c.engine.wireOf(c.lent)
	go func() {
		answer <- guard.Do(func() (err error) {
			answered, done, err = w.send(context.Background(), last, nil)
			return err
		})
	}()
	select {
	case err := <-answer:
		if answered+1 < len(last) && refuses(err) { // the server has not come to the commit
			return poisoned(c.translate(err))
		}
		return w.outcome(done, err)
	case <-time.After(c.engine.commitTimeout):
		c.leave(answer)
		return because(ErrUnavailable, errors.New("a commit was not answered in time, and its outcome is unknown"))
	}
}

// outcome is what a server's answer to a commit means.
func (w *wire) outcome(done pgconn.CommandTag, err error) error {
	var refused *pgconn.PgError
	switch {
	case errors.As(err, &refused) && undone(refused):
		return because(errUndone, err)
	case err != nil: // also where the server or a pooler said goodbye: it may have committed before
		return because(ErrUnavailable, fmt.Errorf("the outcome of a commit is unknown: %w", err))
	case done.String() != "COMMIT":
		return fmt.Errorf("%w: the transaction had failed", errPoisoned)
	case w.warning != "":
		// Such as: the wait for the standby was canceled, and the change is on one server only.
		return because(ErrUnavailable, fmt.Errorf("committed with a warning: %s", w.warning))
	}
	return nil
}

// refuses tells whether an error is the server's answer to one statement, and no end of the connection, of which it is
// unknown when it came.
func refuses(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.SeverityUnlocalized == "ERROR" || e.Severity == "ERROR") &&
		!strings.HasPrefix(e.Code, "08") && !strings.HasPrefix(e.Code, "57P")
}

// leave lets a commit go on that no client waits for any more. Its connection is not the pool's any longer; there are
// never more of them than writers. Where the server itself cannot be reached, it is given up.
func (c *postgresConn) leave(answer <-chan error) {
	c.engine.pending.Add(1)
	conn := c.lent.Hijack()
	c.lent = nil
	go func() {
		defer c.engine.pending.Add(-1)
		_ = guard.Do(func() error { await(conn, answer); return nil }) // of a connection that is given up
	}()
}

func await(conn *pgx.Conn, answer <-chan error) {
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
	return because(ErrUnavailable, err)
}

// undone tells whether the server has taken a transaction back so that it can be tried again: two were in each other's
// way.
func undone(e *pgconn.PgError) bool { return e.Code == "40001" || e.Code == "40P01" }

// outdated tells whether a statement was prepared for a schema that has changed since. Every other feature that a
// server does not support it will not support the next time either.
func outdated(e *pgconn.PgError) bool {
	return e.Code == "0A000" && e.Routine == "RevalidateCachedQuery"
}

// lostBehind tells whether the server has no connection to another one that has the account, which a distributed engine
// reports as an internal error or as a failed connection. Its own connection to us goes on.
func lostBehind(e *pgconn.PgError) bool {
	return e.Code == "XX000" && strings.Contains(e.Message, "server closed the connection") ||
		strings.HasPrefix(e.Code, "08") && e.SeverityUnlocalized == "ERROR"
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
			return because(errRetry, err)
		}
		return err
	}
	class := e.Code[:min(2, len(e.Code))]
	switch {
	case e.Code == "23505", e.Code == "42P07", e.Code == "42710": // a value, a table or a type
		return because(ErrTaken, err)
	case undone(e):
		return because(errUndone, err)
	case lostBehind(e), e.Code == "57014", e.Code == "55P03": // canceled, or locked for too long
		return because(errHeld, err)
	case e.Code == "25006", // this server takes no writes any more
		outdated(e), // a newer node has migrated, and a prepared statement is out of date
		class == "08", strings.HasPrefix(e.Code, "57P"), e.SeverityUnlocalized == "FATAL",
		e.SeverityUnlocalized == "PANIC":
		c.abandon()
		return because(errRetry, err)
	case e.Code == "25P02": // an earlier statement of the transaction failed
		return because(errPoisoned, err)
	case e.Code == "53100":
		return because(ErrUnavailable, fmt.Errorf("%w: %w", syscall.ENOSPC, err))
	case class == "53", class == "58": // full
		return because(ErrUnavailable, err)
	case e.Code == "26000", e.Code == "42P05":
		return fmt.Errorf("%w (a pooler that shares connections between transactions needs pooler=transaction in the database URL)", err)
	}
	return err
}

func (c *postgresConn) bytesRead() int64 {
	if c.lent == nil {
		return 0
	}
	return c.engine.wireOf(c.lent).read
}

// takeTime lifts the limit that is meant for one request.
func (c *postgresConn) takeTime(ctx context.Context) {
	c.cancel()
	c.ctx, c.cancel = context.WithCancel(ctx)
}
