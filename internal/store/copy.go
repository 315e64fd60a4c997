package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"donorbook/internal/crm"
)

// A copy moves everything from one database to another that is empty. The source is read as it was at one moment and
// never written. The target is filled in transactions of bounded size; until all of it was compared, a mark makes every
// program refuse it. Accounts come last: a server that had the target open before sees nobody's data.

var (
	// ErrSameDatabase: the source is the target.
	ErrSameDatabase = errors.New("the source and the target are the same database")
	// ErrNotEmpty: the target holds something, and was left as it is.
	ErrNotEmpty = errors.New("the target is not empty")
	// ErrUnfinished: a copy has not got to its end.
	ErrUnfinished = errors.New("a copy into this database is running or was interrupted, and it is not complete: run donorbook copy with --restart, which empties it first")
	// ErrSchema: the source has another schema than this program's.
	ErrSchema = errors.New("the source has another schema")
)

// URLError is a database URL that cannot be one.
type URLError struct {
	Side string // from or to
	Err  error
}

func (e *URLError) Error() string { return e.Err.Error() }
func (e *URLError) Unwrap() error { return e.Err }

// copyMark and above are versions that no schema will ever have. While a copy runs, the target has one of them, drawn at
// random, so that two copies cannot take each other's for their own.
const copyMark = 1_000_000_000

const (
	copyRows    = 5000    // of a transaction, and of a statement that reads
	copyBytes   = 4 << 20 // of a transaction, about
	insertRows  = 100     // of a statement
	sqlMark     = sqlAddVersion
	sqlUnmark   = `DELETE FROM schema_version WHERE version = $1`
	sqlMyMark   = `UPDATE schema_version SET version = version WHERE version = $1` // whoever would take the mark away waits
	sqlVersions = `SELECT version FROM schema_version ORDER BY version`
)

// CopyOptions say how to copy.
type CopyOptions struct {
	Restart  bool               // empty a target that an interrupted copy has left
	Progress func(CopyProgress) // may be nil
}

// CopyProgress is how far a copy has come with one table.
type CopyProgress struct {
	Checking    bool // the target is read again, and not filled
	Table       string
	Done, Total int64
}

// CopyReport is what was copied.
type CopyReport struct {
	Begun    bool // the target was marked: where the copy failed, it is refused from now on
	Tables   []TableCount
	Accounts []AccountSum
}

// TableCount is how many rows a table has on both sides.
type TableCount struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
}

// AccountSum is the checksum of all rows of an account, on both sides.
type AccountSum struct {
	ID     string `json:"id"`
	SHA256 string `json:"sha256"`
}

// Copy copies everything that is in one database to another one, which must be empty.
func Copy(ctx context.Context, from, to Options, o CopyOptions) (report CopyReport, err error) {
	k := &copier{ctx: ctx, mark: copyMark + rand.Int64N(copyMark), progress: o.Progress}
	if k.progress == nil {
		k.progress = func(CopyProgress) {}
	}
	if file := from.file(); file != "" {
		if _, err := os.Stat(file); err != nil {
			return report, fmt.Errorf("the source has no database: %w", err)
		}
	}
	for _, side := range []struct {
		name   string
		engine *engine
		o      Options
	}{{"from", &k.source, from}, {"to", &k.target, to}} {
		if *side.engine, err = openEngine(ctx, side.o); err != nil {
			if side.o.file() == "" && !errors.Is(err, crm.ErrUnavailable) {
				err = &URLError{side.name, err}
			}
			return report, errors.Join(err, k.close())
		}
		if side.engine == &k.source { // before a target is made
			if err = k.lookAtSource(); err != nil {
				return report, errors.Join(err, k.close())
			}
		}
	}
	defer func() { err = errors.Join(err, k.close()) }()
	if err := k.claim(o.Restart); err != nil {
		return report, err
	}
	report.Begun = true
	source, err := k.fill()
	if err != nil {
		return report, err
	}
	target, err := k.check(source)
	if err != nil {
		return report, err
	}
	if err := source.compare(target); err != nil {
		return report, err
	}
	if err := k.change(func(c conn) error { return exactlyOne(c.exec(sqlUnmark, k.mark)) }); err != nil {
		return report, err
	}
	report.Tables, report.Accounts = source.report()
	return report, nil
}

// file is where SQLite keeps the database; "" where it is not SQLite's.
func (o Options) file() string {
	dir := o.Data
	if o.Database != "" {
		scheme, rest, _ := strings.Cut(o.Database, ":")
		if scheme != "sqlite" {
			return ""
		}
		dir = strings.TrimPrefix(rest, "//")
	}
	return filepath.Join(dir, databaseFile)
}

// copier is a copy under way.
type copier struct {
	ctx            context.Context
	source, target engine
	mark           int64
	progress       func(CopyProgress)
}

func (k *copier) close() (err error) {
	for _, e := range []engine{k.source, k.target} {
		if e != nil {
			err = errors.Join(err, e.close())
		}
	}
	return err
}

// look lends a connection that may read for as long as it takes, on one snapshot.
func (k *copier) look(e engine, fn func(conn) error) error {
	c, err := e.reader(k.ctx)
	if err != nil {
		return err
	}
	defer e.release(c)
	if p, ok := c.(*postgresConn); ok {
		p.takeTime(k.ctx)
	}
	return snapshot(c, fn)
}

// takeTime lifts the limit that is meant for one request.
func (c *postgresConn) takeTime(ctx context.Context) {
	c.cancel()
	c.ctx, c.cancel = context.WithCancel(ctx)
}

// change runs a transaction on the target.
func (k *copier) change(fn func(conn) error) error {
	c, err := k.target.writer(k.ctx)
	if err != nil {
		return err
	}
	defer k.target.release(c)
	if err := c.begin(true); err != nil {
		return err
	}
	defer c.rollback()
	if err := fn(c); err != nil {
		return err
	}
	return c.commit()
}

// lookAtSource finds out whether there is something to copy.
func (k *copier) lookAtSource() error {
	return k.look(k.source, func(c conn) error {
		state, err := inspect(c, k.source.dialect())
		if err != nil {
			return err
		}
		return state.checkSource()
	})
}

// copyBatch is what one transaction writes.
type copyBatch struct {
	table  int
	values []any
	bytes  int
}

// fill copies a snapshot of the source, and returns what it was. One side reads while the other writes.
func (k *copier) fill() (*copySide, error) {
	ctx, cancel := context.WithCancel(k.ctx)
	defer cancel()
	reading := &copier{ctx: ctx, source: k.source}
	side, batches := newCopySide(), make(chan copyBatch, 2)
	var readErr error
	go func() {
		defer close(batches)
		readErr = reading.read(side, batches)
	}()
	var err error
	done := make([]int64, len(copyTables))
	for batch := range batches {
		if err != nil {
			continue // the reader is on its way out
		}
		if err = k.insert(batch); err != nil {
			err = fmt.Errorf("%s: %w", copyTables[batch.table].name, err)
			cancel()
			continue
		}
		table := copyTables[batch.table]
		done[batch.table] += int64(len(batch.values) / len(table.columns))
		k.progress(CopyProgress{Table: table.name, Done: done[batch.table], Total: side.totals[batch.table]})
	}
	if err == nil {
		err = readErr
	}
	return side, err
}

// read sends the source's rows, table by table.
func (k *copier) read(side *copySide, batches chan<- copyBatch) error {
	return k.look(k.source, func(c conn) error {
		state, err := inspect(c, k.source.dialect()) // of the very snapshot that is copied
		if err == nil {
			err = state.checkSource()
		}
		if err == nil {
			err = side.count(c)
		}
		if err != nil {
			return err
		}
		for i, table := range copyTables {
			batch := copyBatch{table: i}
			send := func() error {
				select {
				case batches <- batch:
					batch = copyBatch{table: i, values: make([]any, 0, len(batch.values))}
					return nil
				case <-k.ctx.Done():
					return k.ctx.Err()
				}
			}
			if err := send(); err != nil { // nothing, for those who watch
				return err
			}
			err := table.scan(c, k.source.dialect(), func(row []any) error {
				if err := table.checkDocument(row); err != nil {
					return err
				}
				batch.bytes += side.add(i, row)
				batch.values = append(batch.values, row...)
				if len(batch.values) < copyRows*len(row) && batch.bytes < copyBytes {
					return nil
				}
				return send()
			})
			if err == nil && len(batch.values) > 0 {
				err = send()
			}
			if err != nil {
				return fmt.Errorf("%s: %w", table.name, err)
			}
		}
		return nil
	})
}

// insert writes a batch in one transaction, as long as the mark is ours.
func (k *copier) insert(batch copyBatch) error {
	if len(batch.values) == 0 {
		return nil
	}
	table := copyTables[batch.table]
	return k.change(func(c conn) error {
		if err := exactlyOne(c.exec(sqlMyMark, k.mark)); err != nil {
			return err
		}
		for part := range slices.Chunk(batch.values, insertRows*len(table.columns)) {
			if _, err := c.exec(table.insertSQL(len(part)/len(table.columns)), part...); err != nil {
				return err
			}
		}
		if table.name != "contact" {
			return nil
		}
		return k.insertWords(c, table, batch.values)
	})
}

// insertWords makes copied contacts known to the target's search: its index is not copied, since no two engines have the same.
func (k *copier) insertWords(c conn, table copyTable, values []any) error {
	search := k.target.dialect().search
	at := func(row []any, column string) any { return row[table.column(column)] }
	for row := range slices.Chunk(values, len(table.columns)) {
		account, id := at(row, "account_id").(int64), at(row, "id").(int64)
		contact, err := crm.ParseContact(id, at(row, "body").([]byte), splitKeys(at(row, "match_keys").(string)))
		if err != nil {
			return fmt.Errorf("contact %d: %w", id, err)
		}
		if err := c.later(nil, search.insert, account, id, contact.SearchDocument(account)); err != nil {
			return err
		}
	}
	return c.flush()
}

// check reads the target again.
func (k *copier) check(source *copySide) (*copySide, error) {
	side := newCopySide()
	return side, k.look(k.target, func(c conn) error {
		for i, table := range copyTables {
			progress := func() {
				k.progress(CopyProgress{Checking: true, Table: table.name, Done: side.rows[i], Total: source.rows[i]})
			}
			progress()
			err := table.scan(c, k.target.dialect(), func(row []any) error {
				side.add(i, row)
				if side.rows[i]%copyRows == 0 {
					progress()
				}
				return k.ctx.Err()
			})
			if err != nil {
				return fmt.Errorf("%s: %w", table.name, err)
			}
			progress()
		}
		return nil
	})
}
