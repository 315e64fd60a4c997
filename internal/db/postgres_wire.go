package db

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// asSingle asks about a list of one element as about the element: the server plans that once, and cannot plan it wrong.
func (s statement) asSingle() statement {
	if !strings.Contains(s.sql, "= ANY(") {
		return s
	}
	for i, arg := range s.args {
		var element any
		switch list := arg.(type) {
		case []int64:
			if len(list) == 1 {
				element = list[0]
			}
		case []string:
			if len(list) == 1 {
				element = list[0]
			}
		}
		if element != nil {
			s.sql, s.args = single(s.sql), slices.Clone(s.args)
			s.args[i] = element
		}
	}
	return s
}

// wire sends statements on one connection together, so that they cost one round trip, prepares each of them once, and leaves the bytes
// of an answer as they are.
type wire struct {
	*pgx.Conn
	prepares bool
	prepared map[string]*pgconn.StatementDescription
	builder  pgx.ExtendedQueryBuilder
	warning  string // what the server warned of with its last answer
}

const (
	wireKey     = "donorbook.wire" // where a connection keeps its wire
	maxPrepared = 256              // statements that are prepared on a connection; the others are rare
)

// binaryFormat asks for numbers and bytes as they are.
var binaryFormat = []int16{1}

func (e *postgresEngine) wireOf(c *pgxpool.Conn) *wire {
	data := c.Conn().PgConn().CustomData()
	w, ok := data[wireKey].(*wire)
	if !ok {
		w = &wire{Conn: c.Conn(), prepares: e.prepares, prepared: make(map[string]*pgconn.StatementDescription)}
		data[wireKey] = w
	}
	return w
}

func noteWarning(c *pgconn.PgConn, notice *pgconn.Notice) {
	if w, ok := c.CustomData()[wireKey].(*wire); ok && (notice.SeverityUnlocalized == "WARNING" || notice.Severity == "WARNING") {
		w.warning = notice.Message
	}
}

// send runs statements. It returns how many of them were answered, and what the last one did, whose rows go to last. After one that
// failed the server runs none.
func (w *wire) send(ctx context.Context, statements []statement, last func(Row) error) (answered int, tag pgconn.CommandTag, err error) {
	for answered < len(statements) && err == nil {
		var n int
		n, tag, err = w.exchange(ctx, statements[answered:], last)
		answered += n
	}
	return answered, tag, err
}

// exchange is one round trip: statements that are sent together, and answered in their order. It ends before one that has to be
// prepared, which happens in its turn: only then is the transaction begun, with its limits of time.
func (w *wire) exchange(ctx context.Context, statements []statement, last func(Row) error) (answered int, tag pgconn.CommandTag, err error) {
	if w.fresh(&statements[0]) {
		if err := w.prepare(ctx, &statements[0]); err != nil {
			return 0, tag, err
		}
	}
	pipeline := w.PgConn().StartPipeline(ctx)
	defer func() {
		if closing := pipeline.Close(); err == nil {
			err = closing
		}
	}()
	sent := 0
	for err == nil && sent < len(statements) && !w.fresh(&statements[sent]) {
		if err = w.add(pipeline, &statements[sent]); err == nil {
			sent++
		}
	}
	if sent > 0 { // an argument that cannot be sent is met again when all before it was answered
		err = pipeline.Sync()
	}
	for err == nil && answered < sent {
		read := statements[answered].read
		if answered+1 == len(statements) && last != nil {
			read = last
		}
		if tag, err = w.take(pipeline, read); err == nil {
			answered++
		}
	}
	return answered, tag, err
}

// fresh tells whether a statement must be prepared. One without parameters has nothing to gain. One about a list or about words is
// planned each time: what is best depends on them, and on how large the table is now. A plan that was kept from when the table was small
// would read all rows of the account.
func (w *wire) fresh(s *statement) bool {
	return w.prepares && w.prepared[s.sql] == nil && len(s.args) > 0 && !planned(s.sql) && len(w.prepared) < maxPrepared
}

func planned(sql string) bool {
	return strings.Contains(sql, "= ANY(") || strings.Contains(sql, " @@ ")
}

func (w *wire) prepare(ctx context.Context, s *statement) error {
	types, err := w.types(s)
	if err == nil {
		sum := sha256.Sum256([]byte(s.sql)) // the name is the same on every connection
		w.prepared[s.sql], err = w.PgConn().Prepare(ctx, "donorbook_"+hex.EncodeToString(sum[:12]), s.sql, types)
	}
	if err != nil {
		delete(w.prepared, s.sql)
	}
	return err
}

// types are those of a statement's arguments.
func (w *wire) types(s *statement) (types []uint32, err error) {
	for _, arg := range s.args {
		t, ok := w.TypeMap().TypeForValue(arg)
		if !ok {
			return nil, fmt.Errorf("a parameter has the type %T: %s", arg, s.sql)
		}
		types = append(types, t.OID)
	}
	return types, nil
}

func (w *wire) add(pipeline *pgconn.Pipeline, s *statement) (err error) {
	d := w.prepared[s.sql]
	if d == nil {
		d = &pgconn.StatementDescription{SQL: s.sql}
		if d.ParamOIDs, err = w.types(s); err != nil {
			return err
		}
	}
	b := &w.builder
	if err := b.Build(w.TypeMap(), d, s.args); err != nil {
		return fmt.Errorf("%w: %s", err, s.sql)
	}
	if d.Name == "" {
		pipeline.SendQueryParams(s.sql, b.ParamValues, d.ParamOIDs, b.ParamFormats, binaryFormat)
	} else {
		pipeline.SendQueryStatement(d, b.ParamValues, b.ParamFormats, binaryFormat)
	}
	return nil
}

// take reads the answer to the next statement.
func (w *wire) take(pipeline *pgconn.Pipeline, read func(Row) error) (tag pgconn.CommandTag, err error) {
	w.warning = ""
	result, err := pipeline.GetResults()
	if err != nil {
		return tag, err
	}
	rows, ok := result.(*pgconn.ResultReader)
	if !ok {
		return tag, errors.New("the server has not answered a statement")
	}
	for read != nil && err == nil && rows.NextRow() {
		err = read(wireRow{rows})
	}
	tag, closing := rows.Close()
	if closing != nil {
		err = closing
	}
	return tag, err
}

// wireRow reads columns from the bytes of the protocol.
type wireRow struct{ *pgconn.ResultReader }

func (r wireRow) Int(column int) int64    { return wireInt(r.Values()[column]) }
func (r wireRow) Text(column int) string  { return string(r.Values()[column]) }
func (r wireRow) Bytes(column int) []byte { return r.Values()[column] }

// wireInt is a number of any length that a column may have.
func wireInt(raw []byte) int64 {
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
