package table

import (
	"bufio"
	"encoding/csv"
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

type csvWriter struct {
	w     *csv.Writer
	texts []string
}

// newCSVWriter begins with a byte order mark: without one, spreadsheet programs show the letters of other languages wrong.
func newCSVWriter(w io.Writer) (Writer, error) {
	buffered := bufio.NewWriterSize(w, sampleSize)
	_, err := buffered.WriteString(utf8Mark)
	return &csvWriter{w: csv.NewWriter(buffered)}, err
}

func (c *csvWriter) Header(names []string) error {
	c.texts = c.texts[:0]
	for _, name := range names {
		c.texts = append(c.texts, guarded(name))
	}
	return c.w.Write(c.texts)
}

func (c *csvWriter) Row(cells []any) error {
	c.texts = c.texts[:0]
	for _, cell := range cells {
		cell = typed(cell)
		text := cellText(cell)
		if _, isText := cell.(string); isText {
			text = guarded(text)
		}
		c.texts = append(c.texts, text)
	}
	return c.w.Write(c.texts)
}

func (c *csvWriter) Close() error { return c.Flush() }

func (c *csvWriter) Flush() error {
	c.w.Flush()
	return c.w.Error()
}

// guarded puts an apostrophe before a text that a spreadsheet program would take for a formula, and before one that has such an apostrophe
// already, so that unguarded gives back exactly what was written.
func guarded(text string) string {
	if isFormula(strings.TrimLeft(text, "'")) {
		return "'" + text
	}
	return text
}

func unguarded(text string) string {
	if len(text) > 1 && text[0] == '\'' && isFormula(strings.TrimLeft(text, "'")) {
		return text[1:]
	}
	return text
}

// isFormula tells by the first character. Spreadsheet programs of East Asia take the wide ones for the others.
func isFormula(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	return strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) && text != ""
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
