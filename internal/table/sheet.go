package table

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// sheet reads the rows of one sheet of a workbook.
type sheet struct {
	*document
	book *workbook
	line int
	row  []string
	size int // bytes in the row so far
}

func (w *workbook) openSheet(name string) (*sheet, error) {
	d, err := w.openPart(name)
	return &sheet{document: d, book: w}, err
}

func (s *sheet) next() (cells []string, line int, err error) {
	for {
		token, err := s.token()
		if err != nil {
			return nil, s.line + 1, err
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "row" {
			continue
		}
		row := &element{s.document, "row", start.Attr}
		s.line++
		if number, err := strconv.Atoi(row.attr("r")); err == nil && s.line < number && number <= MaxLines {
			s.line = number // rows may be left out, but each line has one
		}
		if s.line > MaxLines {
			return nil, s.line, errOutside
		}
		err = s.readRow()
		return s.row, s.line, err
	}
}

// readRow reads the cells up to the end of a row. It reads on after a cell that is wrong, because rows follow.
func (s *sheet) readRow() error {
	s.row, s.size = nil, 0
	var wrong *RowError
	column := 0
	for {
		token, err := s.token()
		if err != nil {
			return cut(err)
		}
		switch token := token.(type) {
		case xml.EndElement:
			if token.Name.Local == "row" {
				if wrong != nil {
					wrong.Row = s.row
					return wrong
				}
				return nil
			}
		case xml.StartElement:
			if token.Name.Local != "c" {
				continue
			}
			cell := &element{s.document, "c", token.Attr}
			if at, ok := columnOf(cell.attr("r")); ok {
				column = at
			}
			if column >= sheetColumns {
				return errOutside
			}
			text, fault, err := s.readCell(cell)
			if err != nil {
				return err
			}
			if fault == "" && text != "" {
				fault = s.set(column, text)
			}
			if fault != "" && wrong == nil {
				wrong = &RowError{Line: s.line, Message: fmt.Sprintf(fault, columnName(column)+strconv.Itoa(s.line))}
			}
			column++
		}
	}
}

// sheetColumns is how many columns a sheet has in a spreadsheet program, up to XFD. MaxLines is how many rows.
const sheetColumns = 1 << 14

var errOutside = refusal(fmt.Sprintf("The sheet has cells beyond row %d or column XFD, where no spreadsheet program has any. Open it in one, and save it again as .xlsx.", MaxLines))

func (s *sheet) set(column int, text string) (fault string) {
	if column >= maxColumns {
		return "Cell %s is beyond column " + strconv.Itoa(maxColumns) + ". Delete the columns that you do not need."
	}
	if s.size += len(text); s.size > maxRow {
		return "Up to cell %s, the row is longer than 4 MiB."
	}
	for len(s.row) <= column {
		s.row = append(s.row, "")
	}
	s.row[column] = text
	return ""
}

// readCell reads a cell up to its end.
func (s *sheet) readCell(cell *element) (text, fault string, err error) {
	var value []byte
	inside, hasFormula := "", false
	for depth := 1; depth > 0; {
		token, err := s.token()
		if err != nil {
			return "", "", cut(err)
		}
		switch token := token.(type) {
		case xml.EndElement:
			depth--
			inside = ""
		case xml.CharData:
			if inside == "v" && len(value) <= maxCell {
				value = append(value, token...)
			}
		case xml.StartElement:
			if token.Name.Local == "is" {
				if value, err = (&element{document: s.document}).text(value[:0]); err != nil {
					return "", "", err
				}
				continue
			}
			depth++
			inside = token.Name.Local
			hasFormula = hasFormula || inside == "f"
		}
	}
	text = string(value)
	if hasFormula && text == "" && cell.attr("t") != "str" {
		return "", "Cell %s has a formula without a result. Open the workbook in a spreadsheet program, and save it again.", nil
	}
	text, fault = s.book.meaning(cell, text)
	return text, fault, nil
}

// meaning is what a cell says to a person.
func (w *workbook) meaning(cell *element, value string) (text, fault string) {
	if value == "" {
		return "", ""
	}
	switch cell.attr("t") {
	case "s":
		text, ok := w.shared.at(strings.TrimSpace(value))
		if !ok {
			return "", "Cell %s refers to a text that the workbook does not have. Open it in a spreadsheet program, and save it again."
		}
		return text, ""
	case "str":
		return string(unescaped([]byte(value))), ""
	case "inlineStr", "d":
		return value, ""
	case "b":
		return strconv.FormatBool(value == "1" || value == "true"), ""
	case "e":
		return "", "Cell %s has the error " + strings.ReplaceAll(value[:min(len(value), 40)], "%", "%%") + " instead of a value. Fix it or delete it."
	}
	number, err := strconv.Atoi(cell.attr("s"))
	if err != nil || number < 0 || number >= len(w.styles) {
		return plainNumber(value), ""
	}
	return w.styles[number].format(value, w.is1904), ""
}

// columnOf is the number of the column of a cell such as AB12, from 0.
func columnOf(cell string) (column int, ok bool) {
	for i := range len(cell) {
		c := cell[i] &^ 0x20
		if c < 'A' || c > 'Z' || i > 3 {
			return column - 1, i > 0 && i <= 3
		}
		column = 26*column + int(c-'A') + 1
	}
	return 0, false
}

// columnName is the name of a column: A, B, AA.
func columnName(column int) string {
	name := ""
	for n := column + 1; n > 0; n = (n - 1) / 26 {
		name = string(rune('A'+(n-1)%26)) + name
	}
	return name
}

// unescaped replaces what XML has no character for, and a workbook writes as _x000D_.
func unescaped(text []byte) []byte {
	if !bytes.Contains(text, []byte("_x")) {
		return text
	}
	plain := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if r, ok := escapeAt(text[i:]); ok {
			plain = utf8.AppendRune(plain, r)
			i += escapeLength - 1
		} else {
			plain = append(plain, text[i])
		}
	}
	return plain
}

const escapeLength = len("_x000D_")

func escapeAt(text []byte) (rune, bool) {
	if len(text) < escapeLength || text[0] != '_' || text[1] != 'x' || text[6] != '_' {
		return 0, false
	}
	r, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(r), err == nil
}
