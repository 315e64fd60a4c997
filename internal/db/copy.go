package db

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"

	"donorbook/internal/guard"
)

// A copy moves everything from one database to another that is empty. The source is read as it was at one moment and
// never written. The target is filled in transactions of bounded size; until all of it was compared, a mark makes every
// program refuse it. Accounts come last: a server that had the target open before shows no one's data.

var (
	// ErrSameDatabase: the source is the target.
	ErrSameDatabase = errors.New("the source and the target are the same database")
	// ErrNotEmpty: the target holds something, and was left as it is.
	ErrNotEmpty = errors.New("the target is not empty")
	// ErrUnfinished: a copy has not got to its end.
	ErrUnfinished = errors.New("a copy into this database is running or was interrupted, and it is not complete: run donorbook copy with --restart, which empties it first")
	// ErrSchema: the source has another schema than this program's.
	ErrSchema = errors.New("the source has another schema")
	// ErrNotFound: the source has no tables of ours.
	ErrNotFound = errors.New("not found")
)

// URLError is a database URL that cannot be one.
type URLError struct {
	Side string // from or to
	Err  error
}

func (e *URLError) Error() string { return e.Err.Error() }
func (e *URLError) Unwrap() error { return e.Err }

// copyMark and above are versions that no schema will ever have. While a copy runs, the target has one of them, drawn
// at random, so that two copies cannot take each other's for their own.
const copyMark = 1_000_000_000

const (
	copyRows  = scanRows // of a transaction
	copyBytes = 4 << 20  // of a transaction, about
	sqlUnmark = `DELETE FROM schema_version WHERE version = $1`
	// a copy that would take the mark away waits
	sqlMyMark   = `UPDATE schema_version SET version = version WHERE version = $1`
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
	k := &copier{ctx: ctx, schema: to.Schema, mark: copyMark + rand.Int64N(copyMark), progress: o.Progress}
	if k.progress == nil {
		k.progress = func(CopyProgress) {}
	}
	defer func() { err = errors.Join(err, k.close()) }()
	err = First(
		func() error { return k.open(from, to) },
		func() error { return k.claim(o.Restart, to.Progress) },
		k.fill,
		k.check,
		func() error { return report.compare(k.schema.Tables, k.read, k.copied) },
		func() error { return k.change(k.finish) },
	)
	report.Begun = k.marked
	return report, err
}

// copier is a copy under way.
type copier struct {
	ctx            context.Context
	schema         *Schema
	source, target engine
	identity       string // of the source
	mark           int64
	marked         bool // the target is
	read, copied   *copySide
	progress       func(CopyProgress)
}

// open opens both databases. The source is looked at before a target is made.
func (k *copier) open(from, to Options) (err error) {
	if file := from.File(); file != "" {
		if _, err := os.Stat(file); err != nil {
			return fmt.Errorf("the source has no database: %w", err)
		}
	}
	if k.source, err = openSide(k.ctx, "from", from); err == nil {
		err = longView(k.ctx, k.source, k.checkSource)
	}
	if err == nil {
		k.target, err = openSide(k.ctx, "to", to)
	}
	return err
}

func openSide(ctx context.Context, side string, o Options) (engine, error) {
	e, err := openEngine(ctx, o)
	if err != nil && o.File() == "" && !errors.Is(err, ErrUnavailable) {
		err = &URLError{side, err}
	}
	return e, err
}

func (k *copier) close() (err error) {
	for _, e := range []engine{k.source, k.target} {
		if e != nil {
			err = errors.Join(err, e.close())
		}
	}
	return err
}

// change runs a transaction on the target.
func (k *copier) change(fn func(*Tx) error) error { return change(k.ctx, k.target, fn) }

// exactlyOne insists on the mark that was written.
func exactlyOne(changed int64, err error) error {
	if err == nil && changed != 1 {
		err = errors.New("another copy has taken the target over")
	}
	return err
}

// piece is as many rows as a transaction writes, and how far the copy has come with them.
type piece struct {
	CopyProgress
	table *Table
	rows  [][]any
}

// fill copies a snapshot of the source. It reads the next piece while one is written.
func (k *copier) fill() error {
	pieces, written := make(chan piece), make(chan error, 1)
	ctx, stop := context.WithCancel(k.ctx)
	go func() {
		defer stop() // who reads must not wait for one who has failed
		for p := range pieces {
			if err := guard.Do(func() error { return k.write(p) }); err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	err := longView(ctx, k.source, func(c Conn) (err error) {
		if err := k.checkSource(c); err != nil { // the very snapshot that is copied
			return err
		}
		total := func(t *Table) (int64, error) { return c.Int("SELECT COUNT(*) FROM " + t.Name) }
		k.read, err = k.scan(c, CopyProgress{}, total, func(p piece) error {
			select {
			case pieces <- p:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		return err
	})
	close(pieces)
	if failed := <-written; failed != nil { // of which the reader knows only that it had to stop
		err = failed
	}
	return err
}

// write writes a piece, as long as the mark is ours.
func (k *copier) write(p piece) (err error) {
	if len(p.rows) > 0 {
		err = k.change(func(t *Tx) error {
			if err := exactlyOne(t.Exec(sqlMyMark, k.mark)); err != nil {
				return err
			}
			return t.load(p.table, p.rows)
		})
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p.table.Name, err)
	}
	k.progress(p.CopyProgress)
	return nil
}

// check reads the target again.
func (k *copier) check() error {
	return longView(k.ctx, k.target, func(c Conn) (err error) {
		total := func(t *Table) (int64, error) { return k.read.rows[t], nil }
		k.copied, err = k.scan(c, CopyProgress{Checking: true}, total, func(p piece) error {
			k.progress(p.CopyProgress)
			return k.ctx.Err()
		})
		return err
	})
}

// scan reads a whole database, table by table, and hands it over in pieces; the first one of a table has no rows.
func (k *copier) scan(c Conn, at CopyProgress, total func(*Table) (int64, error),
	hand func(piece) error,
) (side *copySide, err error) {
	side = &copySide{rows: make(map[*Table]int64), accounts: make(map[int64]*accountSide)}
	for _, table := range k.schema.Tables {
		p, bytes := piece{CopyProgress: at, table: table}, 0
		next := func() error {
			p.Done = side.rows[table]
			err := hand(p)
			p.rows, bytes = nil, 0
			return err
		}
		p.Table = table.Name
		if p.Total, err = total(table); err == nil {
			err = next()
		}
		if err == nil {
			err = c.EachRow(table, func(row []any) error {
				bytes += side.add(table, row)
				p.rows = append(p.rows, slices.Clone(row))
				if len(p.rows) < copyRows && bytes < copyBytes {
					return nil
				}
				return next()
			})
		}
		if err == nil && len(p.rows) > 0 {
			err = next()
		}
		if err != nil {
			return side, fmt.Errorf("%s: %w", table.Name, err)
		}
	}
	return side, nil
}

// load writes copied rows and makes them known to the search: its index is not copied, since no two engines have the
// same. A damaged document is refused: a copy of it would be of no use.
func (t *Tx) load(table *Table, rows [][]any) error {
	var documents [][]any
	for _, row := range rows {
		if err := table.checkDocument(row); err != nil {
			return err
		}
		if table.Words == nil {
			continue
		}
		id := row[table.At("id")]
		words, err := table.WordsOf(row)
		if err != nil {
			return fmt.Errorf("%s %d: %w", table.Name, id, err)
		}
		documents = append(documents, []any{row[table.At("account_id")], id, words})
	}
	err := t.writeRows(table, t.dialect.texts(table).insert, rows)
	if err == nil && table.Words != nil {
		err = t.writeRows(table.Words, t.dialect.texts(table.Words).insert, documents)
	}
	return err
}
