package db

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The files whose names begin with postgres are all that know the PostgreSQL library.

const (
	postgresUsual   = 4                      // transactions that write at once, each for one account
	postgresWriters = 16                     // the same where many accounts wait, whose changes cannot go together
	postgresRows    = 64                     // rows that one statement writes at most
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
	reads         readQueue
	prepares      bool // statements, which a pooler may not allow
	commitTimeout time.Duration
	pending       atomic.Int64 // commits that the server has not answered in time
}

func openPostgres(ctx context.Context, url string) (engine, error) {
	config, err := postgresConfig(url)
	if err != nil {
		return nil, err
	}
	e := &postgresEngine{commitTimeout: commitTimeout,
		prepares: config.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement}
	e.reads.engine = e
	if e.read, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, err
	}
	config = config.Copy()
	config.MaxConns = postgresWriters + 1 // the last one is for readiness
	if e.write, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		e.read.Close()
		return nil, err
	}
	return e, nil
}

// postgresConfig is what the URL says, and our own choice where it says nothing. Its errors do not repeat the URL,
// which may hold a password.
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

func (c *postgresConn) dialect() *dialect { return &postgresDialect }

var postgresDialect = dialect{
	words: map[string]string{
		"id":        "BIGINT",
		"idKey":     "PRIMARY KEY (account_id, id)",
		"bytes":     "BYTEA",
		"key":       `TEXT COLLATE "C"`,
		"clustered": "",
		"search":    postgresSearchTable,
	},
	search:   postgresSearch,
	texts:    cached(postgresTexts),
	confirms: true,
	touch:    `SELECT pg_catalog.pg_logical_emit_message(true, 'donorbook', '')`,
	// Nodes that only serve go on reading and touching the table meanwhile; one that migrates waits as long as it
	// takes.
	lockVersion: []string{"SET LOCAL lock_timeout = 0", "LOCK TABLE schema_version IN SHARE UPDATE EXCLUSIVE MODE"},
	size:        `SELECT pg_catalog.pg_database_size(pg_catalog.current_database())`,
	clear:       `TRUNCATE `,
	tables: `SELECT CAST(relname AS TEXT) FROM pg_catalog.pg_class WHERE relkind IN ('r', 'p')
		AND pg_table_is_visible(oid)`,
	identity: `SELECT CONCAT_WS(' ', oid, EXTRACT(EPOCH FROM pg_postmaster_start_time()), current_schema())
		FROM pg_catalog.pg_database WHERE datname = current_database()`,
}

// postgresTexts write many rows with one statement, which costs the server more than most rows. A row that is there
// already is found by the conflict and not by a join, for which a planner that knows nothing about the table yet might
// read all of it. A row is locked by writing it: a move of an account to another machine does not wait for a row that
// was only locked.
func postgresTexts(t *Table) tableSQL {
	s := t.common()
	key := t.Columns[:t.Key]
	if t.Key < len(t.Columns) {
		first := t.Columns[t.Key].Name
		s.lock = fmt.Sprintf("UPDATE %s SET %s = %[2]s WHERE %s RETURNING %s", t.Name, first, t.where(), t.all())
	}
	value := plain
	if t.search {
		value = postgresWords
	}
	for rows := 1; rows <= postgresRows; rows *= 2 {
		insert := t.insertion(t.Columns, rows, value)
		s.insert = append(s.insert, insert)
		s.save = append(s.save, fmt.Sprintf("%s ON CONFLICT (%s) DO %s", insert, names(key), t.assign()))
		if t.counter != "" {
			s.add = append(s.add, t.addition(rows, key))
		}
	}
	return s
}

func (e *postgresEngine) writers() (usual, most int) { return postgresUsual, postgresWriters }

func (e *postgresEngine) pools() []Pool {
	pool := func(name string, p *pgxpool.Pool) Pool {
		stat := p.Stat()
		return Pool{name, int64(stat.AcquiredConns()), int64(stat.MaxConns())}
	}
	return []Pool{pool("read", e.read), pool("write", e.write)}
}

func (e *postgresEngine) log() int64 { return -1 }

func (e *postgresEngine) room() error { return nil }

// reader lends what one request reads with. It has no connection of its own before it needs one: a statement outside of
// a transaction goes together with those of others. A client that goes away ends it between two statements: to break
// off a statement would cost the connection, and all of them are short.
func (e *postgresEngine) reader(ctx context.Context) (conn, error) {
	return &postgresConn{engine: e, reads: true, client: ctx, cancel: func() {}}, nil
}

// writer lends a connection for as long as ctx allows.
func (e *postgresEngine) writer(ctx context.Context) (conn, error) {
	if e.pending.Load() >= postgresWriters {
		return nil,
			because(ErrUnavailable, errors.New("the server does not answer commits: it may be waiting for a standby"))
	}
	c := &postgresConn{engine: e, client: ctx, ctx: ctx, cancel: func() {}}
	return c, c.connect()
}

func (e *postgresEngine) lend(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Conn, error) {
	wait, cancel := context.WithTimeout(ctx, lendTimeout)
	defer cancel()
	c, err := pool.Acquire(wait)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, because(errRetry, err)
	}
	return c, nil
}

func (e *postgresEngine) release(c conn) {
	p := c.(*postgresConn)
	p.rollback()
	p.cancel()
	if p.lent != nil {
		p.lent.Release()
	}
}

func (e *postgresEngine) close() error {
	e.read.Close()
	e.write.Close()
	return nil
}
