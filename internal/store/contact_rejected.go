package store

import (
	"context"
	"encoding/json"
	"io"
	"slices"

	"donorbook/internal/table"
)

// reasonColumn is the last column of a file of rejected rows. A file that was mended and is imported again has it, too.
const reasonColumn = "reason"

// RejectedFile is a table of rejected rows: the columns of the file that was imported, and why each row was rejected.
type RejectedFile struct {
	table.Writer
	columns int
}

// NewRejectedFile begins a table of rejected rows. A format that is not known is CSV.
func NewRejectedFile(w io.Writer, format string, header []string) (*RejectedFile, error) {
	if format != "jsonl" && format != "xlsx" {
		format = "csv"
	}
	if n := len(header); n > 0 && header[n-1] == reasonColumn {
		header = header[:n-1]
	}
	writer, err := table.NewWriter(w, format)
	if err != nil {
		return nil, err
	}
	return &RejectedFile{writer, len(header)}, writer.Header(append(slices.Clone(header), reasonColumn))
}

// Add writes a row. One that was rejected because it has too many cells loses those that have no column.
func (f *RejectedFile) Add(row RejectedRow) error {
	cells := make([]any, f.columns+1)
	for i := range cells {
		cells[i] = ""
		if i < len(row.Cells) {
			cells[i] = row.Cells[i]
		}
	}
	cells[f.columns] = row.Reason
	return f.Row(cells)
}

// RejectedRows calls each for the rows of an import that were rejected, in the order of the file.
func (s *Store) RejectedRows(ctx context.Context, im *Import, each func(line int64, row RejectedRow) error) error {
	for after := int64(0); ; {
		rows, err := s.JobRows(ctx, im.Account, im.ID, after, 200)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			after = row.Number
			var rejected RejectedRow
			if row.Outcome != RowRejected {
				continue
			}
			if err := json.Unmarshal(row.Data, &rejected); err != nil {
				return err
			}
			if err := each(row.Number, rejected); err != nil {
				return err
			}
		}
	}
}

// WriteRejected writes the rows of an import that were rejected as a table.
func (s *Store) WriteRejected(ctx context.Context, im *Import, w io.Writer) error {
	file, err := NewRejectedFile(w, "csv", im.Spec.Header)
	if err != nil {
		return err
	}
	if err := s.RejectedRows(ctx, im, func(_ int64, row RejectedRow) error { return file.Add(row) }); err != nil {
		return err
	}
	return file.Close()
}
