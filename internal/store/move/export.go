// Package move takes data out of a database and brings it in as a whole: exports, the files of an account, a copy to
// another database, and the erasure of a person.
package move

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
	"donorbook/internal/table"
)

// Export is a file that is about to be written from a list. Which records are in it was decided on one snapshot. Each
// of them is written as it is when its turn comes: a file of any size takes little memory, and a client that reads
// slowly holds no connection to the database.
type Export struct {
	Rows  int64
	write func(ctx context.Context, to *records, done func(n int) error) error
	head  func() []string
	How   ExportOptions
	// that is no table; nil for one
	file func(ctx context.Context, w io.Writer, progress func(done, total int64)) error
	// of the organization, whose times are in the file; JSON Lines has them as the API does
	zone *time.Location
}

// ExportOptions say what a file is like.
type ExportOptions struct {
	Format  string   // one of ExportFormats
	Filters []string // the names of what the list was filtered by, for the history
}

// ExportFormats are the formats of files. JSON Lines has each record as the API shows it; the others have a row for
// each, with a header.
var ExportFormats = []string{"csv", "jsonl", "xlsx"}

// Write writes the file. What came before an error is not a complete file.
func (e *Export) Write(ctx context.Context, w io.Writer, progress func(done, total int64)) error {
	if e.file != nil {
		return e.file(ctx, w, progress)
	}
	to := &records{zone: e.zone}
	if e.How.Format != "jsonl" {
		rows, err := table.NewWriter(&to.text, e.How.Format)
		if err != nil {
			return err
		}
		to.rows = rows
		if err := rows.Header(e.head()); err != nil {
			return err
		}
	}
	done := int64(0)
	err := e.write(ctx, to, func(n int) error {
		done += int64(n)
		_, err := to.text.WriteTo(w)
		progress(done, e.Rows)
		return err
	})
	if err == nil && to.rows != nil {
		err = to.rows.Close()
	}
	if err == nil {
		_, err = to.text.WriteTo(w)
	}
	return err
}

// records is the file that records are written to. What they are written as is kept until the piece that they are in is
// complete.
type records struct {
	text bytes.Buffer
	rows table.Writer // nil writes lines
	zone *time.Location
}

// add writes a record: its wire form, or its cells.
func (r *records) add(wire func() ([]byte, error), cells func() ([]any, error)) error {
	if r.rows == nil {
		line, err := wire()
		if err == nil {
			r.text.Write(append(line, '\n'))
		}
		return err
	}
	row, err := cells()
	if err != nil {
		return err
	}
	for i, cell := range row {
		switch cell := cell.(type) {
		case sheet.Decimal:
			row[i] = table.Number(cell)
		case sheet.Date:
			row[i] = table.Day(cell)
		case time.Time:
			row[i] = cell.In(r.zone)
		}
	}
	return r.rows.Row(row)
}

// Exported is what the history of an account says about a file that leaves it.
type Exported struct {
	What    string   `json:"exported"` // contacts, transactions, plans, donors, campaigns, contact or account
	Contact int64    `json:"contact_id,omitempty"`
	Format  string   `json:"format"`
	Rows    int64    `json:"rows,omitempty"`
	Filters []string `json:"filters,omitempty"` // by what it was filtered; the values may name a person
}

// recordExport notes who takes data out, before it leaves.
func (s *MoveStore) recordExport(ctx context.Context, account int64, e Exported) error {
	data, err := plainJSON(e)
	if err != nil {
		return err
	}
	return s.UpdateAccount(ctx, account, func(t *store.Tx) error {
		t.Account(account).Record(history.SettingNoun, 0, history.DidExport, string(data))
		return nil
	})
}

// SheetTooLong is the fault of a workbook with more records than spreadsheet programs show.
const SheetTooLong doc.Rule = "A workbook holds at most 1,048,575 records, and this list has more. Export it as CSV."

// Prepared notes an export.
func (s *MoveStore) Prepared(ctx context.Context, account int64, what string, e *Export) (*Export, error) {
	if e.How.Format == "xlsx" && e.Rows >= table.MaxLines {
		return nil, store.Fault("format", SheetTooLong)
	}
	var err error
	if e.zone, err = s.Timezone(ctx, account); err != nil {
		return nil, err
	}
	return e, s.recordExport(ctx, account, Exported{What: what, Format: e.How.Format, Rows: e.Rows,
		Filters: e.How.Filters})
}

const (
	PieceRows = 500    // that one statement reads at most
	PieceIDs  = 10_000 // that are listed at a time
)

// InParts hands on the ids of a set, some at a time: while a slow client reads a long file, the set takes far less
// memory than a list of them.
func InParts(account int64, set *db.Set, part func(ids []int64) error) error {
	for from, n := int64(0), set.Count(); from < n; from += PieceIDs {
		if err := part(store.IDsOf(account, set.Page(from, min(from+PieceIDs, n)))); err != nil {
			return err
		}
	}
	return nil
}

// inPieces reads the rows with these ids, which ascend, some at a time. A piece is handed on while no connection is
// held, and is about as long as PieceSize. sql has the account and a list of ids, and answers with the id first; read
// tells how long a row is. It may read a piece again, after begin. Where there are several pieces, each waits for its
// turn, in which end works on it as well. done may take its time.
func (s *MoveStore) inPieces(ctx context.Context, account int64, ids []int64, sql string, begin func(),
	read func(db.Row) (size int, err error), end, done func() error,
) error {
	turn := s.Heavy.Again
	if len(ids) <= PieceRows {
		turn = func(_ context.Context, _ int64, work func() error) error { return work() }
	}
	for len(ids) > 0 {
		some := ids[:min(len(ids), PieceRows)]
		last := some[len(some)-1] // where no row is left of all of them
		err := turn(ctx, account, func() error {
			err := s.Read(ctx, func(c db.Conn) error {
				begin()
				length := 0
				err := c.UpTo(2*store.PieceSize).Each(func(r db.Row) error {
					size, err := read(r)
					last = r.Int(0)
					if length += size; err == nil && length >= store.PieceSize {
						err = store.ErrFull
					}
					return err
				}, sql, account, some)
				if errors.Is(err, store.ErrFull) {
					return nil
				}
				return err
			})
			if err == nil {
				err = end()
			}
			return err
		})
		if err == nil {
			err = done()
		}
		if err != nil {
			return err
		}
		at, _ := slices.BinarySearch(ids, last)
		ids = ids[at+1:]
	}
	return nil
}

// eachOf reads documents by their ids, in pieces: scan makes one of a row and tells how long it is, fill adds to a
// piece what is read beside it, and done is told how many each piece had.
func eachOf[T any](ctx context.Context, s *MoveStore, account int64, ids []int64, sql string,
	scan func(db.Row) (one T, size int, err error), fill func([]T) error, read func(T) error, done func(n int) error,
) error {
	var piece []T
	return s.inPieces(ctx, account, ids, sql, func() { piece = piece[:0] }, func(r db.Row) (int, error) {
		one, size, err := scan(r)
		piece = append(piece, one)
		return size, err
	}, func() error {
		err := fill(piece)
		for i := 0; i < len(piece) && err == nil; i++ {
			err = read(piece[i])
		}
		return err
	}, func() error {
		n := len(piece)
		piece = nil // who reads the file may be slow, and need not have its records in memory as well
		return done(n)
	})
}

func filled[T any]([]T) error { return nil }

// MoveStore takes data out of a database and brings whole accounts in: exports, account files, erasure.
type MoveStore struct {
	*store.Store
	*jobs.JobStore
}

func New(j *jobs.JobStore) *MoveStore {
	return &MoveStore{j.Store, j}
}

// WriteFigures writes a small table as CSV, in which no text is taken for a formula.
func WriteFigures(w io.Writer, header []string, rows [][]any) error {
	file, err := table.NewWriter(w, "csv")
	if err == nil {
		err = file.Header(header)
	}
	for _, row := range rows {
		for i, cell := range row {
			if number, ok := cell.(sheet.Decimal); ok {
				row[i] = table.Number(number)
			}
		}
		if err == nil {
			err = file.Row(row)
		}
	}
	if err != nil {
		return err
	}
	return file.Close()
}

// A copy moves everything from one database to another that is empty.
type (
	CopyOptions  = db.CopyOptions
	CopyProgress = db.CopyProgress
	CopyReport   = db.CopyReport
	URLError     = db.URLError
	AccountSum   = db.AccountSum
	TableCount   = db.TableCount
)

// Why a copy is refused.
var (
	ErrSameDatabase = db.ErrSameDatabase
	ErrNotEmpty     = db.ErrNotEmpty
	ErrUnfinished   = db.ErrUnfinished
	ErrSchema       = db.ErrSchema
)

// Copy copies everything that is in one database to another one, which must be empty.
func Copy(ctx context.Context, from, to store.Options, o CopyOptions) (CopyReport, error) {
	// the target is empty, and gets what is derived with its rows
	derived := func(*db.Tx, db.Progress) error { return nil }
	report, err := db.Copy(ctx, from.ForDB(nil, derived), to.ForDB(nil, derived), o)
	return report, store.Translate(err)
}
