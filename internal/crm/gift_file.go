package crm

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// GiftFile reads the rows of a file of gifts, one by one: CSV with a line of headings, or JSON Lines. A file that cannot be read as a
// whole is *Malformed.
type GiftFile struct {
	csv     *csv.Reader
	limit   *rowLimit
	header  csvHeader
	lines   *bufio.Scanner
	line    int
	Ignored []string // columns that are not read
}

// maxRow is how many bytes a row may have, as many as the body of a request.
const maxRow = 1 << 20

// OpenGiftFile reads the beginning of a file.
func OpenGiftFile(file io.Reader, isJSON bool) (*GiftFile, error) {
	text := bufio.NewReader(file)
	start, err := text.Peek(3)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case bytes.HasPrefix(start, []byte("\xff\xfe")), bytes.HasPrefix(start, []byte("\xfe\xff")):
		return nil, &Malformed{Message: "The file is in UTF-16: save it as UTF-8."}
	case bytes.HasPrefix(start, []byte("\ufeff")):
		_, _ = text.Discard(len("\ufeff")) // it was peeked at
	}
	if _, err := text.Peek(1); errors.Is(err, io.EOF) {
		return nil, &Malformed{Message: "The file is empty."}
	}
	f := &GiftFile{}
	if isJSON {
		f.lines = bufio.NewScanner(text)
		f.lines.Buffer(nil, maxRow)
		return f, nil
	}
	f.limit = &rowLimit{file: text}
	f.csv = csv.NewReader(f.limit)
	f.csv.FieldsPerRecord = -1
	headings, err := f.cells()
	if errors.Is(err, io.EOF) {
		return nil, &Malformed{Message: "The file is empty."}
	}
	if err == nil {
		f.header, err = readHeader(headings)
	}
	f.Ignored = f.header.ignored()
	return f, err
}

// Next is the next row, io.EOF after the last one.
func (f *GiftFile) Next() (*GiftRow, error) {
	if f.lines != nil {
		return f.nextLine()
	}
	cells, err := f.cells()
	if err != nil {
		return nil, err
	}
	return f.header.row(f.line, cells), nil
}

// RejectedHeader is the first line of a file of rejected rows.
func (f *GiftFile) RejectedHeader() []byte {
	if f.lines != nil {
		return nil
	}
	return f.header.line(f.header.headings, rejectedColumn)
}

func (f *GiftFile) cells() ([]string, error) {
	f.limit.from = f.csv.InputOffset()
	cells, err := f.csv.Read()
	var wrong *csv.ParseError
	switch {
	case errors.Is(err, errLongRow):
		return nil, f.tooLong(f.line + 1)
	case errors.As(err, &wrong):
		return nil, &Malformed{Message: fmt.Sprintf("Line %d cannot be read: a quote is missing or out of place. A cell with quotes in it must be in quotes, with each of its own written twice.", wrong.StartLine)}
	case err != nil:
		return nil, err
	}
	f.line, _ = f.csv.FieldPos(0)
	for _, cell := range cells {
		if textRule(cell) != "" {
			return nil, f.notText()
		}
	}
	return cells, nil
}

func (f *GiftFile) nextLine() (*GiftRow, error) {
	for f.lines.Scan() {
		f.line++
		document := f.lines.Bytes()
		if len(bytes.TrimSpace(document)) == 0 {
			continue
		}
		if textRule(string(document)) != "" {
			return nil, f.notText()
		}
		row, err := readJSONRow(f.line, bytes.Clone(document))
		var wrong *Malformed
		if errors.As(err, &wrong) {
			return nil, &Malformed{Message: fmt.Sprintf("Line %d cannot be read. %s", f.line, wrong.Message)}
		}
		return row, err
	}
	if err := f.lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, f.tooLong(f.line + 1)
	} else if err != nil {
		return nil, err
	}
	return nil, io.EOF
}

func (f *GiftFile) tooLong(line int) error {
	hint := ""
	if f.csv != nil {
		hint = " Perhaps a quote is not closed."
	}
	return &Malformed{Message: fmt.Sprintf("The row from line %d on is longer than %d KiB.%s", line, maxRow>>10, hint)}
}

func (f *GiftFile) notText() error {
	return &Malformed{Message: fmt.Sprintf("Line %d is not text in UTF-8: save the file as UTF-8.", f.line)}
}

// rowLimit ends the reading of a row that does not end, so that it does not fill the memory.
type rowLimit struct {
	file io.Reader
	read int64
	from int64 // where the row begins
}

var errLongRow = errors.New("the row is too long")

func (l *rowLimit) Read(p []byte) (int, error) {
	if l.read-l.from > maxRow {
		return 0, errLongRow
	}
	n, err := l.file.Read(p)
	l.read += int64(n)
	return n, err
}

// IsGiftFile tells by a file's name whether it can hold gifts, and whether it is JSON Lines.
func IsGiftFile(name string) (isJSON, ok bool) {
	name = strings.ToLower(name)
	isJSON = strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".ndjson")
	return isJSON, isJSON || strings.HasSuffix(name, ".csv")
}

// MatchKey is the match key of an email or a phone; ok is false where the text is neither.
func MatchKey(text, region string) (key string, ok bool) {
	if strings.Contains(text, "@") {
		key, ok = normalEmail(text)
		return emailPrefix + key, ok
	}
	key, ok = normalPhone(text, region)
	return phonePrefix + key, ok && key != ""
}
