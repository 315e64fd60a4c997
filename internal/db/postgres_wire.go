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
	"github.com/jackc/pgx/v5/pgtype"
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

// wire sends statements on one connection together, so that they cost one round trip, prepares each of them once, and
// leaves the bytes of an answer as they are. The library's own batch cannot leave single statements unprepared.
type wire struct {
	*pgx.Conn
	prepares bool
	prepared map[string]*pgconn.StatementDescription
	values   [][]byte // what arguments are made of
	buffer   []byte
	read     int64  // bytes of all rows
	warning  string // what the server warned of with its last answer
}

const (
	wireKey     = "donorbook.wire" // where a connection keeps its wire
	maxPrepared = 256              // statements that are prepared on a connection; the others are rare
	keptBuffer  = 1 << 20          // a rare giant batch does not stay in memory
)

// binaryFormat is for numbers and bytes as they are, in all arguments and columns.
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
	if w, ok := c.CustomData()[wireKey].(*wire); ok &&
		(notice.SeverityUnlocalized == "WARNING" || notice.Severity == "WARNING") {
		w.warning = notice.Message
	}
}

// send runs statements in one round trip, after it has prepared those that are new. It returns how many of them were
// answered, and what the last one did, whose rows go to last. After one that failed the server runs none.
func (w *wire) send(ctx context.Context, statements []statement,
	last func(Row) error,
) (answered int, done pgconn.CommandTag, err error) {
	for i := range statements {
		if err := w.prepare(ctx, &statements[i]); err != nil {
			return 0, done, err // none was sent, and so none was answered
		}
	}
	pipeline := w.PgConn().StartPipeline(ctx)
	defer func() {
		if closing := pipeline.Close(); err == nil && done.String() != "COMMIT" { // one that was answered stands
			err = closing
		}
	}()
	for i := range statements {
		if err := w.add(pipeline, &statements[i]); err != nil {
			return 0, done, err
		}
	}
	if err := pipeline.Sync(); err != nil {
		return 0, done, err
	}
	for ; answered < len(statements); answered++ {
		read := statements[answered].read
		if answered+1 == len(statements) && last != nil {
			read = last
		}
		if done, err = w.take(pipeline, read); err != nil {
			return answered, done, err
		}
	}
	return answered, done, nil
}

// prepare prepares a statement that is new, where that has something to gain.
func (w *wire) prepare(ctx context.Context, s *statement) error {
	if w.prepared[s.sql] != nil || !w.prepares || len(s.args) == 0 || planned(s.sql) || len(w.prepared) >= maxPrepared {
		return nil
	}
	types, err := types(s)
	if err != nil {
		return err
	}
	d, err := w.PgConn().Prepare(ctx, statementName(s.sql), s.sql, types)
	switch {
	case err == nil:
		w.prepared[s.sql] = d
	case refuses(err):
		return nil // it is refused again in its turn, so that no other statement is taken for it
	}
	return err
}

// add sends a statement.
func (w *wire) add(pipeline *pgconn.Pipeline, s *statement) (err error) {
	d := w.prepared[s.sql]
	if d == nil {
		d = &pgconn.StatementDescription{}
		if d.ParamOIDs, err = types(s); err != nil {
			return err
		}
	}
	values, err := w.encode(d, s)
	if err != nil {
		return fmt.Errorf("%w: %s", err, s.sql)
	}
	if d.Name == "" {
		pipeline.SendQueryParams(s.sql, values, d.ParamOIDs, binaryFormat, binaryFormat)
	} else {
		pipeline.SendQueryStatement(d, values, binaryFormat, binaryFormat)
	}
	return nil
}

// encode makes the values of arguments. The library copies them, so that their memory is used again.
func (w *wire) encode(d *pgconn.StatementDescription, s *statement) (values [][]byte, err error) {
	if len(d.ParamOIDs) != len(s.args) {
		return nil, fmt.Errorf("%d parameters, and %d arguments", len(d.ParamOIDs), len(s.args))
	}
	if w.buffer == nil {
		w.buffer = make([]byte, 0, 256) // in none, a text without any bytes would be NULL
	}
	values, buffer := w.values[:0], w.buffer[:0]
	for i, arg := range s.args {
		encoded, err := w.TypeMap().Encode(d.ParamOIDs[i], pgx.BinaryFormatCode, arg, buffer)
		if err != nil {
			return nil, err
		}
		if encoded == nil { // NULL
			values = append(values, nil)
			continue
		}
		// where this moves, older values keep the old place
		values, buffer = append(values, encoded[len(buffer):]), encoded
	}
	if w.values, w.buffer = values, buffer; cap(buffer) > keptBuffer {
		w.buffer = nil
	}
	return values, nil
}

// planned tells whether a statement is planned each time: what is best for a list or for words depends on them, and on
// how large the table is now. A plan that was kept from when the table was small would read all rows of the account.
func planned(sql string) bool {
	return strings.Contains(sql, "= ANY(") || strings.Contains(sql, " @@ ")
}

// statementName is the same on every connection that prepares the same text.
func statementName(sql string) string {
	sum := sha256.Sum256([]byte(sql))
	return "donorbook_" + hex.EncodeToString(sum[:12])
}

// types are those of a statement's arguments.
func types(s *statement) ([]uint32, error) {
	types := make([]uint32, len(s.args))
	for i, arg := range s.args {
		if types[i] = typeOf(arg); types[i] == 0 {
			return nil, fmt.Errorf("a parameter has the type %T: %s", arg, s.sql)
		}
	}
	return types, nil
}

// typeOf is the type by which the server knows an argument, or 0.
func typeOf(arg any) uint32 {
	switch arg.(type) {
	case int64:
		return pgtype.Int8OID
	case string:
		return pgtype.TextOID
	case []byte:
		return pgtype.ByteaOID
	case []int64:
		return pgtype.Int8ArrayOID
	case []string:
		return pgtype.TextArrayOID
	case [][]byte:
		return pgtype.ByteaArrayOID
	}
	return 0
}

// take reads the answer to the next statement.
func (w *wire) take(pipeline *pgconn.Pipeline, read func(Row) error) (done pgconn.CommandTag, err error) {
	w.warning = ""
	result, err := pipeline.GetResults()
	if err != nil {
		return done, err
	}
	rows, ok := result.(*pgconn.ResultReader)
	if !ok {
		return done, errors.New("the server has not answered a statement")
	}
	for read != nil && err == nil && rows.NextRow() {
		for _, value := range rows.Values() {
			w.read += int64(len(value))
		}
		err = read(wireRow{rows})
	}
	done, closing := rows.Close()
	if closing != nil {
		err = closing
	}
	return done, err
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
