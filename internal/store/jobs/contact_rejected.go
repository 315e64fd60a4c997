package jobs

import (
	"bufio"
	"context"
	"errors"
	"io"
	"slices"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store"
	"donorbook/internal/table"
)

// ReasonColumns are the last columns of files of rejected rows, by what the rows are. A file that was mended and is
// imported again has it, too.
var ReasonColumns = map[string]string{ImportContacts: "reason", ImportGifts: giving.RejectedKey}

// RejectedFile is a table of rejected rows: the columns of the file that was imported, and why each row was rejected.
// Gifts that were objects stay objects, with the reason as one more key.
type RejectedFile struct {
	table   table.Writer
	columns int
	objects *bufio.Writer // instead of a table
}

// RejectedFormat is the format of a file of rejected rows that can be imported again: the one that is asked for, or
// else CSV.
func (spec *FileImport) RejectedFormat(asked string) string {
	switch {
	case spec.Of == ImportGifts && spec.JSON:
		return JSONLines
	case asked == "xlsx", asked == JSONLines && spec.Of == ImportContacts:
		return asked
	}
	return "csv"
}

// NewRejectedFile begins a file of rejected rows, in the format that is asked for if it can be.
func NewRejectedFile(w io.Writer, format string, spec *FileImport) (*RejectedFile, error) {
	if format = spec.RejectedFormat(format); spec.Of == ImportGifts && format == JSONLines {
		return &RejectedFile{objects: bufio.NewWriter(w)}, nil
	}
	header, reason := spec.Header, ReasonColumns[spec.Of]
	if n := len(header); n > 0 && header[n-1] == reason {
		header = header[:n-1]
	}
	writer, err := table.NewWriter(w, format)
	if err != nil {
		return nil, err
	}
	return &RejectedFile{table: writer, columns: len(header)}, writer.Header(append(slices.Clone(header), reason))
}

// Close writes what is left, and does not close the file.
func (f *RejectedFile) Close() error {
	if f.objects != nil {
		return f.objects.Flush()
	}
	return f.table.Close()
}

// Add writes a row. One that was rejected because it has too many cells loses those that have no column.
func (f *RejectedFile) Add(row RejectedRow) error {
	if f.objects != nil {
		_, err := f.objects.WriteString(row.Object + "\n")
		return err
	}
	cells := make([]any, f.columns+1)
	for i := range cells {
		cells[i] = ""
		if i < len(row.Cells) {
			cells[i] = row.Cells[i]
		}
	}
	cells[f.columns] = row.Reason
	return f.table.Row(cells)
}

// RejectedRows calls each for the rows of an import that were rejected, in the order of the file.
func (s *JobStore) RejectedRows(ctx context.Context, im *Import, each func(line int64, row RejectedRow) error) error {
	return s.NotedRows(ctx, im, func(row TrialRow) error {
		if row.Outcome != RowRejected {
			return nil
		}
		return each(row.Line, RejectedRow{Reason: row.Reason, Cells: row.Cells, Object: row.Object})
	})
}

// NotedRows calls each for the rows of an import that a person has to know of.
func (s *JobStore) NotedRows(ctx context.Context, im *Import, each func(TrialRow) error) error {
	for after := int64(0); ; {
		rows, err := s.JobRows(ctx, im.Account, im.ID, after, 200)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			after = row.Number
			noted, err := row.Tried()
			if err == nil {
				err = each(noted)
			}
			if err != nil {
				return err
			}
		}
	}
}

// WriteRejected writes the rows of an import that were rejected, in the format that RejectedFormat("") tells.
func (s *JobStore) WriteRejected(ctx context.Context, im *Import, w io.Writer) error {
	file, err := NewRejectedFile(w, "", &im.Spec)
	if err != nil {
		return err
	}
	if err := s.RejectedRows(ctx, im, func(_ int64, row RejectedRow) error { return file.Add(row) }); err != nil {
		return err
	}
	return file.Close()
}

// ReasonOf tells a person why a row is rejected; "" is for an error that is not the row's.
func ReasonOf(err error) string {
	var refused *doc.Invalid
	var damaged *store.Damaged
	switch {
	case errors.As(err, &refused):
		return refused.AllFaults()
	case errors.As(err, &damaged):
		return "The stored data of this row’s contact is damaged. Ask your administrator to check the database."
	}
	return ""
}

// Rejected is what is kept of the row where it is rejected.
func (row *ImportRow) Rejected(reason string) RejectedRow {
	if row.Gift != nil && row.Gift.isJSON {
		return RejectedRow{Reason: reason, Object: row.Gift.Rejected(reason)}
	}
	return RejectedRow{Reason: reason, Cells: row.Cells}
}
