package table

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Writer writes a table row by row. What cells may be: string, int64, bool, Number, Day, time.Time and nil.
type Writer interface {
	// Header names the columns. It comes before all rows.
	Header(names []string) error
	Row(cells []any) error
	// Flush lets the file have the rows up to here.
	Flush() error
	// Close writes what is left, and does not close the file.
	Close() error
}

type (
	// Number is a number in decimals, such as 12.50.
	Number string
	// Day is a time of which only the day matters.
	Day time.Time
)

// NewWriter writes a table as "csv", "jsonl" or "xlsx".
func NewWriter(w io.Writer, format string) (Writer, error) {
	switch format {
	case "csv":
		return newCSVWriter(w)
	case "jsonl":
		return &lineWriter{w: bufio.NewWriterSize(w, sampleSize)}, nil
	case "xlsx":
		return newWorkbookWriter(w)
	}
	return nil, fmt.Errorf("a table cannot be written as %q", format)
}

// typed is a cell as it can be written: a Number that is no number is text.
func typed(cell any) any {
	if number, ok := cell.(Number); ok && !isNumber(string(number)) {
		return string(number)
	}
	return cell
}

// isNumber tells whether a text is a number as JSON and workbooks have it, without an exponent.
func isNumber(text string) bool {
	whole, decimals, hasPoint := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	isDigits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	return isDigits(whole) && (len(whole) == 1 || whole[0] != '0') && (!hasPoint || isDigits(decimals))
}

// cellText is what a cell says, in formats in which a cell is text.
func cellText(cell any) string {
	switch cell := cell.(type) {
	case nil:
		return ""
	case string:
		return strings.ToValidUTF8(cell, "\ufffd")
	case Number:
		return string(cell)
	case int64:
		return strconv.FormatInt(cell, 10)
	case bool:
		return strconv.FormatBool(cell)
	case Day:
		return time.Time(cell).Format(time.DateOnly)
	case time.Time:
		return cell.Format(time.RFC3339)
	}
	panic(fmt.Sprintf("table: a cell cannot be a %T", cell))
}

type csvWriter struct{ w *bufio.Writer }

// newCSVWriter begins with a byte order mark: without one, spreadsheet programs show the letters of other languages wrong.
func newCSVWriter(w io.Writer) (Writer, error) {
	buffered := bufio.NewWriterSize(w, sampleSize)
	_, err := buffered.WriteString(utf8Mark)
	return &csvWriter{buffered}, err
}

func (c *csvWriter) Header(names []string) error {
	for i, name := range names {
		c.cell(i, guarded(name))
	}
	return c.w.WriteByte('\n')
}

func (c *csvWriter) Row(cells []any) error {
	for i, cell := range cells {
		cell = typed(cell)
		text := cellText(cell)
		if _, isText := cell.(string); isText {
			text = guarded(text)
		}
		c.cell(i, text)
	}
	return c.w.WriteByte('\n')
}

// cell writes a cell, in quotes where a reader could take a part of it for a separator. The buffer keeps its first error.
func (c *csvWriter) cell(i int, text string) {
	if i > 0 {
		c.w.WriteByte(',') //nolint:errcheck // see above
	}
	if strings.ContainsAny(text, separators+`,"`) || strings.HasPrefix(text, " ") {
		text = `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
	}
	c.w.WriteString(text) //nolint:errcheck // see above
}

func (c *csvWriter) Close() error { return c.Flush() }
func (c *csvWriter) Flush() error { return c.w.Flush() }

const (
	// separators are what a spreadsheet program may split a file at, besides the comma. Where it takes the semicolon, as in many countries of Europe,
	// a quote behind a comma is a character like any other, and neither separators nor line breaks behind it are protected by it.
	separators = ";|" + blanks
	blanks     = "\t\r\n"
	// signs begin a formula. Spreadsheet programs of East Asia take the wide ones for the others.
	signs = "=+-@＝＋－＠"
)

// guarded puts an apostrophe before a text that a spreadsheet program would take for a formula, and before one that has such an apostrophe
// already, so that unguarded gives back exactly what was written. A part behind a separator may become a cell, too.
func guarded(text string) string { return apostrophes(text, true) }

func unguarded(text string) string { return apostrophes(text, false) }

// apostrophes puts one before each part of a text that is a formula, or takes one away. Blanks at the beginning of a cell are skipped by spreadsheet programs.
func apostrophes(text string, add bool) string {
	formula := begins(text, signs+blanks)
	if !formula && !strings.ContainsAny(text, separators) {
		return text
	}
	var out strings.Builder
	for {
		switch {
		case formula && add:
			out.WriteByte('\'')
		case formula:
			text = strings.TrimPrefix(text, "'")
		}
		end := strings.IndexAny(text, separators) + 1
		if end == 0 {
			out.WriteString(text)
			return out.String()
		}
		out.WriteString(text[:end])
		text = text[end:]
		formula = begins(text, signs)
	}
}

// begins tells whether a text begins with one of the characters, apostrophes before it aside.
func begins(text, characters string) bool {
	first, size := utf8.DecodeRuneInString(strings.TrimLeft(text, "'"))
	return size > 0 && strings.ContainsRune(characters, first)
}

// lineWriter writes JSON Lines: each row is an object with the names of the columns.
type lineWriter struct {
	w    *bufio.Writer
	keys [][]byte // in quotes
	line []byte
}

func (l *lineWriter) Header(names []string) error {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("two columns are called %q", name)
		}
		l.keys = append(l.keys, append(appendJSON(nil, name), ':'))
	}
	return nil
}

func (l *lineWriter) Row(cells []any) error {
	l.line = append(l.line[:0], '{')
	for i, cell := range cells {
		if i > 0 {
			l.line = append(l.line, ',')
		}
		l.line = append(l.line, l.keys[i]...)
		switch cell := typed(cell).(type) {
		case nil:
			l.line = append(l.line, "null"...)
		case int64, bool, Number:
			l.line = append(l.line, cellText(cell)...)
		default:
			l.line = appendJSON(l.line, cellText(cell))
		}
	}
	_, err := l.w.Write(append(l.line, "}\n"...))
	return err
}

func (l *lineWriter) Close() error { return l.w.Flush() }
func (l *lineWriter) Flush() error { return l.w.Flush() }

// appendJSON writes a text in quotes.
func appendJSON(dst []byte, text string) []byte {
	dst, _ = jsontext.AppendQuote(dst, strings.ToValidUTF8(text, "\ufffd")) // which fails on other text alone
	return dst
}
