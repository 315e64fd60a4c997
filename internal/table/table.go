// Package table reads and writes tables that people keep in files: delimited text, JSON Lines and workbooks. It knows the cells and
// not what they mean. However large a file is, only one row of it is in memory at a time.
package table

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// What a table may hold. A row is as long as the bytes of its line, and a cell as long as its text.
const (
	maxCell    = 1 << 20
	maxRow     = 4 << 20
	maxColumns = 1_000
)

// maxCells is how many cells a table may have, with those that its rows leave out. A file whose cells each take a byte at least may have
// more: it is large itself. A sheet of a million rows may have 64 columns. Only tests change it, and the other limits that are variables.
var maxCells int64 = 64 << 20

// FileError tells a person why a file cannot be read as a table, and what to do about it.
type FileError struct {
	Name    string // of the file
	Message string // whole sentences
}

func (e *FileError) Error() string { return e.Name + ": " + e.Message }

// RowError tells what is wrong with one row. The rows after it can be read.
type RowError struct {
	Line    int // on which the row begins, from 1
	Message string
	Row     []string // its cells, as far as they could be told apart
}

func (e *RowError) Error() string { return fmt.Sprintf("Line %d: %s", e.Line, e.Message) }

// Reader reads the rows of a table, one after the other.
type Reader struct {
	Format      string   // "csv", also where the separator is another one, "jsonl" or "xlsx"
	OtherSheets []string // the names of other sheets of a workbook that have rows, which are not read

	name      string
	file      *watched
	header    []string
	rows      rows
	left      int64 // cells that may still come
	options   Options
	ahead     []readRow // that were read to find the header
	HeaderRow int       // the row that names the columns
	MaxBlank  int       // after so many blank rows, a look at the first rows ends; 0 is no limit

	cut bool // the row that Next has read last was ended by the file alone
}

// readRow is a row as its format has read it.
type readRow struct {
	cells []string
	line  int
	cut   bool
	err   error
}

// rows is how one format reads its rows. An error that is no *RowError and no *FileError comes from the file below.
type rows interface {
	next() (cells []string, line int, err error)
}

// Options are what a caller knows about a file that its content does not tell.
type Options struct {
	HeaderRow  int                        // the row that names the columns, as a spreadsheet numbers it; 0 is not known
	Header     func(first [][]string) int // which of the first rows names the columns, where no one has said it; nil for the first one
	Titled     string                     // the key of an array in JSON Lines whose objects have a title and a value each: each becomes a column that is named by its title, since which of them a line has differs
	TitledMark string                     // stands before such a title
	Hold       func(bytes int64) error    // is told how many bytes of texts a workbook is about to hold until its last row is read, each time that they are more; its error ends the reading
}

// Open finds out what a file is by its content and reads its header, which is its first row. Its name is for messages alone. An error that is no *FileError comes
// from r.
func Open(r io.ReaderAt, size int64, name string) (*Reader, error) {
	return OpenWith(r, size, name, Options{})
}

// OpenWith is Open for a file whose header may be further down.
func OpenWith(r io.ReaderAt, size int64, name string, options Options) (*Reader, error) {
	t := &Reader{name: name, file: &watched{ReaderAt: r}, left: max(maxCells, size), options: options}
	if err := t.open(t.file, size); err != nil {
		return nil, t.told(err)
	}
	return t, nil
}

func (t *Reader) open(r io.ReaderAt, size int64) error {
	start := make([]byte, min(size, sampleSize))
	if n, err := r.ReadAt(start, 0); n < len(start) {
		return err
	}
	if err := refuse(start); err != nil {
		return err
	}
	if isZip(start) {
		return t.openWorkbook(r, size)
	}
	text, err := decode(r, size, start)
	if err != nil {
		return err
	}
	isJSON, err := beginsObject(text())
	if err != nil {
		return err
	}
	if isJSON {
		return t.openLines(text)
	}
	return t.openDelimited(text)
}

// Header is the names of the columns, without spaces around them. The columns of JSON Lines are all
// paths of values in the file, such as emails.0.value.
func (t *Reader) Header() []string { return t.header }

// Next is the next row that says something, with a cell for each column, and the line on which it begins. It is io.EOF after the last one. After a
// *RowError it goes on with the row that follows; any other error is the end.
func (t *Reader) Next() (row []string, line int, err error) {
	for n := 0; t.MaxBlank == 0 || n < t.MaxBlank; n++ {
		row, line, err = t.read()
		blank := isBlank(row) && t.Format != "jsonl" // an object is a row, even if it is empty
		if err = t.count(row, blank, err); err != nil {
			return nil, line, t.told(err)
		}
		if blank {
			continue
		}
		row, line, err = t.fit(row, line)
		return row, line, t.told(err)
	}
	return nil, 0, io.EOF
}

// read is the next row, as it stands in the file.
func (t *Reader) read() ([]string, int, error) {
	var one readRow
	if len(t.ahead) > 0 {
		one, t.ahead = t.ahead[0], t.ahead[1:]
	} else {
		one = t.readOne()
	}
	t.cut = one.cut
	return one.cells, one.line, one.err
}

func (t *Reader) readOne() (one readRow) {
	one.cells, one.line, one.err = t.rows.next()
	if text, ok := t.rows.(*delimited); ok {
		one.cut = text.cut
	}
	return one
}

// count refuses a table with too many cells. A row has those that it leaves out as well, unless it is blank.
func (t *Reader) count(row []string, blank bool, err error) error {
	n := len(row)
	var broken *RowError
	switch {
	case errors.As(err, &broken):
		n = len(broken.Row)
	case !blank:
		n = max(n, len(t.header))
	}
	if t.left -= int64(n); t.left < 0 {
		return refusal(tooManyCells)
	}
	return err
}

const tooManyCells = "The table has too many cells, most of them empty. Delete the columns and rows that you do not need, or split the file."

// Object is the JSON of the row that Next has returned, until it is called again. It is nil in other formats.
func (t *Reader) Object() []byte {
	if lines, ok := t.rows.(*objects); ok {
		return lines.object
	}
	return nil
}

// fit checks that a row has the columns of the header and is text. Spreadsheets leave out empty cells at the end of a row. Where the file itself
// ends there, it was cut, and no one knows what else is missing.
func (t *Reader) fit(row []string, line int) ([]string, int, error) {
	given := row
	for len(row) > len(t.header) && row[len(row)-1] == "" {
		row = row[:len(row)-1]
	}
	switch missing := len(t.header) - len(row); {
	case missing < 0:
		return nil, line, &RowError{line, fmt.Sprintf("The row has too many columns: %d. The header has %d.", len(given), len(t.header)), given}
	case missing > 0 && t.cut:
		return nil, line, &RowError{line, fmt.Sprintf("The file ends within this row, which has %d of %d columns. Check that the file is complete.", len(row), len(t.header)), given}
	case missing > 0:
		row = append(row, make([]string, missing)...)
	}
	for i, cell := range row {
		if fault := t.faultOf(cell, i); fault != "" {
			return nil, line, &RowError{line, fault, row}
		}
	}
	return row, line, nil
}

func (t *Reader) faultOf(cell string, column int) string {
	switch {
	case len(cell) > maxCell:
		return fmt.Sprintf("The cell in column %d (%s) is longer than 1 MiB.", column+1, t.header[column])
	case strings.IndexByte(cell, 0) >= 0:
		return fmt.Sprintf("The cell in column %d (%s) contains a NUL character, which is not text.", column+1, t.header[column])
	case !utf8.ValidString(cell):
		return fmt.Sprintf("The cell in column %d (%s) is not text in UTF-8.", column+1, t.header[column])
	}
	return ""
}

// What is looked at to find the header.
const (
	headerRows  = 30
	headerBytes = 1 << 20
	headerBlank = 100 // rows
)

// takeHeader finds the row that names the columns, and reads it. What stands above it is a title.
func (t *Reader) takeHeader(rows rows) error {
	t.rows, t.ahead = rows, nil
	for size, blank := 0, 0; len(t.ahead) < headerRows && size < headerBytes; {
		one := t.readOne()
		if one.err == nil && isBlank(one.cells) {
			if blank++; blank > headerBlank && len(t.ahead) > 0 {
				break
			}
			continue
		}
		if t.options.HeaderRow > one.line && one.err == nil {
			continue
		}
		one.cells = slices.Clone(one.cells)
		t.ahead = append(t.ahead, one)
		for _, cell := range one.cells {
			size += len(cell)
		}
		if one.err != nil && !errors.As(one.err, new(*RowError)) || t.options.HeaderRow > 0 || t.options.Header == nil {
			break // the end, or it is known which one it is
		}
	}
	at := 0
	if t.options.Header != nil && t.options.HeaderRow == 0 && t.ahead[0].err == nil {
		at = t.options.Header(t.first())
	}
	header := t.ahead[at]
	t.ahead = t.ahead[at+1:]
	return t.takeNames(header)
}

// first are the rows that can be read before the first one that cannot.
func (t *Reader) first() (all [][]string) {
	for _, one := range t.ahead {
		if one.err != nil {
			break
		}
		all = append(all, one.cells)
	}
	return all
}

// takeNames reads the row that names the columns.
func (t *Reader) takeNames(row readRow) error {
	var broken *RowError
	switch {
	case errors.Is(row.err, io.EOF) && t.options.HeaderRow > 0:
		return refusal(fmt.Sprintf("The file has no row %d. Choose the row that names the columns.", t.options.HeaderRow))
	case errors.Is(row.err, io.EOF):
		return errEmpty
	case errors.As(row.err, &broken):
		return refusal(fmt.Sprintf("The header in line %d cannot be read. %s", broken.Line, broken.Message))
	case row.err != nil:
		return row.err
	case len(row.cells) > maxColumns:
		return refusal(tooManyColumns)
	}
	t.header, t.HeaderRow = nil, row.line
	for _, name := range row.cells {
		name = strings.TrimSpace(name)
		if strings.IndexByte(name, 0) >= 0 || !utf8.ValidString(name) {
			return refusal(fmt.Sprintf("The header in line %d is not text. Save the table as CSV in UTF-8, or as .xlsx.", row.line))
		}
		if len(name) > maxHeading {
			return refusal(fmt.Sprintf("The header in line %d has a name of more than %d bytes. The first row must name the columns.", row.line, maxHeading))
		}
		t.header = append(t.header, name)
	}
	return nil
}

// maxHeading is how long the name of a column may be.
const maxHeading = 1_000

var tooManyColumns = fmt.Sprintf("The table has more than %d columns. Delete those that you do not need.", maxColumns)

func isBlank(row []string) bool {
	for _, cell := range row {
		if strings.TrimSpace(cell) != "" {
			return false
		}
	}
	return true
}

// told is an error as the caller is told it: the file below has failed, or the file that is named cannot be read.
func (t *Reader) told(err error) error {
	var refused *FileError
	var broken *RowError
	switch {
	case err == nil:
		return nil
	case t.file.failed != nil:
		return t.file.failed
	case errors.As(err, &refused):
		return &FileError{t.name, refused.Message}
	case errors.As(err, &broken):
		broken.Row = legible(broken.Row)
	}
	return err
}

// legible is a row that any file can hold, so that a person can mend it: what is not text is replaced, and a cell that is too long is empty.
func legible(row []string) []string {
	texts := make([]string, len(row))
	for i, cell := range row {
		if len(cell) <= maxCell {
			texts[i] = strings.ReplaceAll(strings.ToValidUTF8(cell, "\ufffd"), "\x00", "\ufffd")
		}
	}
	return texts
}

// watched is a file that remembers that it could not be read, because archives take that for damage.
type watched struct {
	io.ReaderAt
	failed error
}

func (w *watched) ReadAt(p []byte, at int64) (int, error) {
	if at < 0 { // a damaged archive says so
		return 0, io.ErrUnexpectedEOF
	}
	n, err := w.ReaderAt.ReadAt(p, at)
	if n < len(p) && err != nil && !errors.Is(err, io.EOF) {
		w.failed = err
	}
	return n, err
}

// refusal is a *FileError whose file is not named yet.
func refusal(message string) error { return &FileError{Message: message} }

var errEmpty = refusal("The file is empty.")
