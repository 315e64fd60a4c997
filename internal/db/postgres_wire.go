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

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

// statement is what a connection is asked to run. read, where it is not nil, gets each row of the answer.
type statement struct {
	sql  string
	args []any
	read func(Row) error
}

// newStatement asks about a list of one element as about the element: the server plans that once, and cannot plan it wrong.
func newStatement(read func(Row) error, sql string, args []any) statement {
	if !strings.Contains(sql, anyOf) {
		return statement{sql: sql, args: args, read: read}
	}
	for i, arg := range args {
		switch list := arg.(type) {
		case []int64:
			if len(list) == 1 {
				return statement{sql: single(sql), args: replaced(args, i, list[0]), read: read}
			}
		case []string:
			if len(list) == 1 {
				return statement{sql: single(sql), args: replaced(args, i, list[0]), read: read}
			}
		}
	}
	return statement{sql: sql, args: args, read: read}
}

// anyOf is how a statement asks about a list.
const anyOf = "= ANY("

// single is a statement about a list, asked about one element.
func single(sql string) string { return oneByOne.ReplaceAllString(sql, "= $1") }

func replaced(args []any, i int, arg any) []any {
	args = slices.Clone(args)
	args[i] = arg
	return args
}

// wire speaks the protocol on one connection. It sends statements together, so that they cost one round trip, prepares each
// of them once, and leaves the bytes of an answer as they are.
type wire struct {
	conn     *pgconn.PgConn
	prepares bool
	prepared map[string]*pgconn.StatementDescription

	// What the arguments of one statement are made of; the library copies them.
	values  [][]byte
	formats []int16
	types   []uint32
	buffer  []byte
}

const (
	wireKey     = "donorbook.wire" // where a connection keeps its wire
	maxPrepared = 256              // statements that are prepared on a connection; the others are rare
	keptBuffer  = 1 << 20          // a rare giant batch does not stay in memory
)

// binaryFormat asks for numbers and bytes as they are.
var binaryFormat = []int16{1}

func wireOf(c *pgxpool.Conn, prepares bool) *wire {
	conn := c.Conn().PgConn()
	if w, ok := conn.CustomData()[wireKey].(*wire); ok {
		return w
	}
	w := &wire{conn: conn, prepares: prepares, prepared: make(map[string]*pgconn.StatementDescription)}
	conn.CustomData()[wireKey] = w
	return w
}

// exchange is one round trip: statements that were sent together, and are answered in their order. After one that failed the
// server runs none of them.
type exchange struct {
	wire     *wire
	pipeline *pgconn.Pipeline
	fresh    []string // statements that are being prepared
	err      error    // of an argument that cannot be sent
	broken   bool     // it is unknown what the server has prepared
}

func (w *wire) send(ctx context.Context, statements ...statement) *exchange {
	x := &exchange{wire: w, pipeline: w.conn.StartPipeline(ctx)}
	for i := range statements {
		if x.err = x.add(&statements[i]); x.err != nil {
			x.broken = true
			break
		}
	}
	if err := x.pipeline.Sync(); x.err == nil {
		x.err = err
	}
	return x
}

func (x *exchange) add(s *statement) error {
	w := x.wire
	if err := w.encode(s.args); err != nil {
		return fmt.Errorf("%w: %s", err, s.sql)
	}
	known := w.prepared[s.sql]
	switch {
	case known != nil && known.Name != "":
		x.pipeline.SendQueryStatement(known, w.values, w.formats, binaryFormat)
	case known != nil: // earlier in this exchange
		x.pipeline.SendQueryPrepared(statementName(s.sql), w.values, w.formats, binaryFormat)
	case !w.prepares || len(w.prepared) >= maxPrepared || ends(s.sql) || planned(s.sql):
		x.pipeline.SendQueryParams(s.sql, w.values, w.types, w.formats, binaryFormat)
	default:
		w.prepared[s.sql] = &pgconn.StatementDescription{}
		x.fresh = append(x.fresh, s.sql)
		x.pipeline.SendPrepare(statementName(s.sql), s.sql, w.types)
		x.pipeline.SendQueryPrepared(statementName(s.sql), w.values, w.formats, binaryFormat)
	}
	return nil
}

// ends tells whether a statement ends a transaction. There is nothing in it to prepare.
func ends(sql string) bool { return sql == "COMMIT" || sql == "ROLLBACK" }

// planned tells whether a statement is planned each time: what is best for a list or for words depends on them, and on how large the
// table is now. A plan that was kept from when the table was small would read all rows of the account.
func planned(sql string) bool {
	return strings.Contains(sql, anyOf) || strings.Contains(sql, " @@ ")
}

// statementName is the same on every connection that prepares the same text.
func statementName(sql string) string {
	sum := sha256.Sum256([]byte(sql))
	return "donorbook_" + hex.EncodeToString(sum[:12])
}

// encode makes the arguments of one statement ready to be sent.
func (w *wire) encode(args []any) error {
	w.values, w.formats, w.types, w.buffer = w.values[:0], w.formats[:0], w.types[:0], w.buffer[:0]
	if cap(w.buffer) > keptBuffer {
		w.buffer = nil
	}
	for _, arg := range args {
		switch v := arg.(type) {
		case int64:
			w.buffer = binary.BigEndian.AppendUint64(w.buffer, uint64(v)) // where this moves, older values keep the old place
			w.add(w.buffer[len(w.buffer)-8:], pgtype.Int8OID, 1)
		case string:
			w.buffer = append(w.buffer, v...)
			w.add(w.buffer[len(w.buffer)-len(v):], pgtype.TextOID, 0)
		case []byte:
			w.add(v, pgtype.ByteaOID, 1)
		case []int64:
			w.addList(pgtype.Int8ArrayOID, pgtype.Int8OID, len(v), func(i int) {
				w.buffer = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(w.buffer, 8), uint64(v[i]))
			})
		case []string:
			w.addList(pgtype.TextArrayOID, pgtype.TextOID, len(v), func(i int) {
				w.buffer = append(binary.BigEndian.AppendUint32(w.buffer, uint32(len(v[i]))), v[i]...)
			})
		case [][]byte:
			w.addList(pgtype.ByteaArrayOID, pgtype.ByteaOID, len(v), func(i int) {
				w.buffer = append(binary.BigEndian.AppendUint32(w.buffer, uint32(len(v[i]))), v[i]...)
			})
		default:
			return fmt.Errorf("a parameter has the type %T", arg)
		}
	}
	return nil
}

func (w *wire) add(value []byte, oid uint32, format int16) {
	if value == nil {
		value = []byte{} // nil would be NULL
	}
	w.values = append(w.values, value)
	w.types = append(w.types, oid)
	w.formats = append(w.formats, format)
}

// addList makes an array of one dimension, counted from 1 and without NULL. Each element has its length before it.
func (w *wire) addList(oid, elements uint32, n int, appendElement func(i int)) {
	start := len(w.buffer)
	for _, head := range [...]uint32{1, 0, elements, uint32(n), 1} {
		w.buffer = binary.BigEndian.AppendUint32(w.buffer, head)
	}
	for i := range n {
		appendElement(i)
	}
	w.add(w.buffer[start:], oid, 1)
}

// next waits for the answer to the next statement.
func (x *exchange) next() (*pgconn.ResultReader, error) {
	for x.err == nil {
		result, err := x.pipeline.GetResults()
		switch result := result.(type) {
		case *pgconn.ResultReader:
			return result, nil
		case *pgconn.StatementDescription:
			x.keep(result)
		default:
			if err == nil {
				err = errors.New("the server has not answered a statement")
			}
			x.err = err
		}
	}
	return nil, x.err
}

// keep remembers a statement that the server has prepared. One that answers no rows is given a column that is never read:
// the library asks for the columns again each time where it knows of none.
func (x *exchange) keep(d *pgconn.StatementDescription) {
	d.SQL, x.fresh = x.fresh[0], x.fresh[1:]
	d.Name = statementName(d.SQL)
	if len(d.Fields) == 0 {
		d.Fields = make([]pgconn.FieldDescription, 1)
	}
	x.wire.prepared[d.SQL] = d
}

// take reads the answer to the next statement to its end.
func (x *exchange) take(read func(Row) error) (pgconn.CommandTag, error) {
	r, err := x.next()
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	if read != nil {
		rows := wireRows{r}
		for err == nil && rows.next() {
			err = read(rows)
		}
	}
	result, closing := r.Close()
	if closing != nil {
		x.err = closing
		return result, closing
	}
	return result, err
}

// close reads what is left of the answers.
func (x *exchange) close() error {
	err := x.pipeline.Close()
	if x.broken {
		x.wire.conn.Close(context.Background()) //nolint:errcheck // it is given up in any case
	}
	for _, sql := range x.fresh { // the server has not come to these
		delete(x.wire.prepared, sql)
	}
	if x.err != nil {
		return x.err
	}
	return err
}

// wireRows reads columns from the bytes of the protocol.
type wireRows struct{ *pgconn.ResultReader }

func (r wireRows) next() bool              { return r.NextRow() }
func (r wireRows) Int(column int) int64    { return wireInt(r.Values()[column]) }
func (r wireRows) Text(column int) string  { return string(r.Values()[column]) }
func (r wireRows) Bytes(column int) []byte { return r.Values()[column] }

func (r wireRows) close() error {
	_, err := r.Close()
	return err
}

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
