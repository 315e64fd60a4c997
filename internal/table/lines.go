package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// objects reads JSON Lines: an object on each line. Each value in it is a cell, and its path is the name of its column.
type objects struct {
	*window
	columns map[string]int // by path
	header  []string
	object  []byte
	row     []string
	decoder jsontext.Decoder
	path    []byte

	titled, mark string // as the options have them
}

// maxDepth is how deep objects and arrays may lie in each other.
const maxDepth = 16

// beginsObject tells whether a text is JSON by its first character.
func beginsObject(text io.Reader) (bool, error) {
	start := make([]byte, sampleSize)
	n, err := io.ReadFull(text, start)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, err
	}
	return bytes.HasPrefix(bytes.TrimLeft(start[:n], " \t\r\n"), []byte("{")), nil
}

// openLines reads the whole file once, because any line may have a value that no line before it has.
func (t *Reader) openLines(text func() io.Reader) error {
	t.Format = "jsonl"
	o := &objects{window: newWindow(text()), columns: make(map[string]int), titled: t.options.Titled, mark: t.options.TitledMark}
	var first error
	for rows := 0; ; {
		_, _, err := o.next()
		var broken *RowError
		switch {
		case errors.Is(err, io.EOF) && rows > 0:
			t.header = o.header
			o.window = newWindow(text())
			t.rows = o
			return nil
		case errors.Is(err, io.EOF):
			return first
		case errors.As(err, &broken):
			if first == nil {
				first = refusal(fmt.Sprintf("No line of the file is a JSON object. Line %d: %s", broken.Line, broken.Message))
			}
		case err != nil:
			return err
		case len(o.header) > maxColumns:
			return refusal(tooManyColumns)
		default:
			rows++
		}
	}
}

func (o *objects) next() (cells []string, line int, err error) {
	for {
		line := o.line
		n := o.lineLength()
		switch {
		case n == 0 && o.failed() != nil:
			return nil, line, o.failed()
		case n == 0 && o.atEnd():
			return nil, line, io.EOF
		case n == 0:
			o.skipLine()
			return nil, line, &RowError{line, tooLong, nil}
		}
		o.object = bytes.TrimSpace(o.rest()[:n])
		o.use(n)
		if len(o.object) == 0 {
			continue
		}
		if fault := o.read(); fault != "" {
			return nil, line, &RowError{line, fault, nil}
		}
		return o.row, line, nil
	}
}

// read makes a row of an object. What it tells is the fault.
func (o *objects) read() (fault string) {
	o.row = make([]string, len(o.header))
	o.path = o.path[:0]
	o.decoder.Reset(bytes.NewReader(o.object))
	if o.decoder.PeekKind() != '{' {
		return "The line must be a JSON object."
	}
	err := o.value(0)
	if err == nil {
		_, err = o.decoder.ReadToken()
	}
	switch {
	case errors.Is(err, io.EOF):
		return ""
	case errors.Is(err, errDeep):
		return fmt.Sprintf("The object has more than %d levels.", maxDepth)
	case errors.Is(err, errLongName):
		return fmt.Sprintf("The object has a name of more than %d bytes.", maxHeading)
	}
	return "The line must be one JSON object. Near byte " + strconv.FormatInt(o.decoder.InputOffset()+1, 10) + " it is not valid JSON."
}

var (
	errDeep     = errors.New("too deep")
	errLongName = errors.New("a name is too long")
)

// value reads the value at the present path.
func (o *objects) value(depth int) error {
	token, err := o.decoder.ReadToken()
	if err != nil {
		return err
	}
	switch kind := token.Kind(); kind {
	case '{', '[':
		switch {
		case depth == maxDepth:
			return errDeep
		case kind == '[' && o.titled != "" && string(o.path) == o.titled:
			return o.titledValues()
		}
		return o.members(kind, depth+1)
	case 'n':
		return nil
	}
	return o.set(scalar(token))
}

// scalar is a text, a number or a truth as a cell has it.
func scalar(token jsontext.Token) string {
	text := token.String()
	if token.Kind() == '0' && strings.ContainsAny(text, "eE") {
		return plainNumber(text)
	}
	return text
}

// titledValues reads an array that the options call titled up to its end.
func (o *objects) titledValues() error {
	above := string(o.path)
	for o.decoder.PeekKind() == '{' {
		title, value, err := o.titledValue()
		if err != nil {
			return err
		}
		if o.path = append(append(o.path[:0], o.mark...), title...); title != "" && value != "" {
			if err := o.set(value); err != nil {
				return err
			}
		}
		o.path = append(o.path[:0], above...)
	}
	for {
		if o.decoder.PeekKind() == ']' {
			_, err := o.decoder.ReadToken()
			return err
		}
		if err := o.decoder.SkipValue(); err != nil { // what has no title is no value of ours
			return err
		}
	}
}

func (o *objects) titledValue() (title, value string, err error) {
	if _, err := o.decoder.ReadToken(); err != nil {
		return "", "", err
	}
	for o.decoder.PeekKind() != '}' {
		key, err := o.decoder.ReadToken()
		if err != nil {
			return "", "", err
		}
		name, kind := key.String(), o.decoder.PeekKind()
		if name != "title" && name != "value" || kind == '{' || kind == '[' || kind == 'n' {
			if err := o.decoder.SkipValue(); err != nil {
				return "", "", err
			}
			continue
		}
		token, err := o.decoder.ReadToken()
		if err != nil {
			return "", "", err
		}
		if text := scalar(token); name == "title" {
			title = text
		} else {
			value = text
		}
	}
	_, err = o.decoder.ReadToken()
	return title, value, err
}

// members reads the values of an object or an array up to its end.
func (o *objects) members(kind jsontext.Kind, depth int) error {
	above := len(o.path)
	for i := int64(0); ; i++ {
		if next := o.decoder.PeekKind(); next == '}' || next == ']' {
			_, err := o.decoder.ReadToken()
			return err
		}
		if depth > 1 {
			o.path = append(o.path, '.')
		}
		if kind == '{' {
			key, err := o.decoder.ReadToken()
			if err != nil {
				return err
			}
			o.path = append(o.path, key.String()...)
		} else {
			o.path = strconv.AppendInt(o.path, i, 10)
		}
		if err := o.value(depth); err != nil {
			return err
		}
		o.path = o.path[:above]
	}
}

// set fills the cell at the present path.
func (o *objects) set(text string) error {
	column, known := o.columns[string(o.path)]
	switch {
	case len(o.path) > maxHeading:
		return errLongName
	case !known && len(o.header) > maxColumns: // the file is refused
		return nil
	case !known:
		column = len(o.header)
		o.columns[string(o.path)] = column
		o.header = append(o.header, string(o.path))
		o.row = slices.Grow(o.row, 1)[:column+1]
	}
	o.row[column] = text
	return nil
}
