package table

import (
	"archive/zip"
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// workbookWriter writes a workbook with one sheet. Cells have their texts in them, so that no list of texts grows with the table.
type workbookWriter struct {
	archive *zip.Writer
	sheet   *bufio.Writer
	line    []byte
	row     int
}

const xmlHead = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"

// The styles of cells: numbers in styles.xml below.
const (
	plainStyle = iota
	dayStyle
	timeStyle
	headerStyle
)

var workbookParts = []struct{ name, content string }{
	{"[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
		`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>` +
		`<Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>` +
		`<Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/>` +
		`<Override PartName="/xl/styles.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml"/></Types>`},
	{"_rels/.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` +
		`<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>`},
	{"xl/workbook.xml", `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">` +
		`<sheets><sheet name="Sheet1" sheetId="1" r:id="rId1"/></sheets></workbook>`},
	{"xl/_rels/workbook.xml.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` +
		`<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/>` +
		`<Relationship Id="rId2" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" Target="styles.xml"/></Relationships>`},
	{"xl/styles.xml", `<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">` +
		`<numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\-mm\-dd"/><numFmt numFmtId="165" formatCode="yyyy\-mm\-dd\ hh:mm:ss"/></numFmts>` +
		`<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts>` +
		`<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders>` +
		`<cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="4"><xf numFmtId="0"/><xf numFmtId="164" applyNumberFormat="1"/>` +
		`<xf numFmtId="165" applyNumberFormat="1"/><xf numFmtId="0" fontId="1" applyFont="1"/></cellXfs></styleSheet>`},
}

func newWorkbookWriter(w io.Writer) (Writer, error) {
	archive := zip.NewWriter(w)
	for _, part := range workbookParts {
		file, err := archive.Create(part.name)
		if err == nil {
			_, err = io.WriteString(file, xmlHead+part.content)
		}
		if err != nil {
			return nil, err
		}
	}
	sheet, err := archive.Create("xl/worksheets/sheet1.xml")
	if err != nil {
		return nil, err
	}
	b := &workbookWriter{archive: archive, sheet: bufio.NewWriterSize(sheet, sampleSize)}
	_, err = b.sheet.WriteString(xmlHead + `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetViews><sheetView workbookViewId="0">` +
		`<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetData>`)
	return b, err
}

func (b *workbookWriter) Header(names []string) error {
	b.begin()
	for i, name := range names {
		b.text(i, name, headerStyle)
	}
	return b.end()
}

func (b *workbookWriter) Row(cells []any) error {
	b.begin()
	for i, cell := range cells {
		b.cell(i, typed(cell))
	}
	return b.end()
}

func (b *workbookWriter) begin() {
	b.row++
	b.line = append(strconv.AppendInt(append(b.line[:0], `<row r="`...), int64(b.row), 10), `">`...)
}

// MaxLines is how many rows a sheet has in a spreadsheet program, with its header.
const MaxLines = 1 << 20

func (b *workbookWriter) end() error {
	if b.row > MaxLines {
		return fmt.Errorf("a sheet of a workbook has at most %d rows: write the table as CSV", MaxLines)
	}
	_, err := b.sheet.Write(append(b.line, "</row>"...))
	return err
}

// exactDigits is how many digits of a number a spreadsheet program keeps. Longer ones are written as text.
const exactDigits = 15

func (b *workbookWriter) cell(column int, cell any) {
	text := cellText(cell)
	switch cell := cell.(type) {
	case nil:
	case bool:
		b.value(column, `" t="b"><v>`, map[bool]string{true: "1", false: "0"}[cell])
	case Day:
		year, month, day := time.Time(cell).Date()
		b.date(column, time.Date(year, month, day, 0, 0, 0, 0, time.UTC), dayStyle, text)
	case time.Time: // a workbook knows no zones: it has what a clock shows
		_, ahead := cell.Zone()
		b.date(column, cell.Add(time.Duration(ahead)*time.Second), timeStyle, text)
	case int64, Number:
		if len(text) > exactDigits {
			b.text(column, text, plainStyle)
		} else {
			b.value(column, `"><v>`, text)
		}
	default:
		if text != "" {
			b.text(column, text, plainStyle)
		}
	}
}

func (b *workbookWriter) date(column int, at time.Time, style int, text string) {
	serial, ok := serialOf(at)
	if !ok {
		b.text(column, text, plainStyle)
		return
	}
	b.value(column, `" s="`+strconv.Itoa(style)+`"><v>`, serial)
}

func (b *workbookWriter) open(column int) {
	b.line = append(append(b.line, `<c r="`...), columnName(column)...)
	b.line = strconv.AppendInt(b.line, int64(b.row), 10)
}

func (b *workbookWriter) value(column int, head, value string) {
	b.open(column)
	b.line = append(append(append(b.line, head...), value...), "</v></c>"...)
}

// text is a cell that no spreadsheet program takes for a formula, because it is typed as text.
func (b *workbookWriter) text(column int, text string, style int) {
	b.open(column)
	b.line = append(b.line, `" s="`...)
	b.line = strconv.AppendInt(b.line, int64(style), 10)
	b.line = append(b.line, `" t="inlineStr"><is><t xml:space="preserve">`...)
	b.line = appendXML(b.line, strings.ToValidUTF8(text, "\ufffd"))
	b.line = append(b.line, "</t></is></c>"...)
}

// appendXML writes a text in XML. What XML has no character for, and what looks like its replacement, is written as _x000D_.
func appendXML(dst []byte, text string) []byte {
	for i, r := range text {
		switch {
		case r == '<':
			dst = append(dst, "&lt;"...)
		case r == '>':
			dst = append(dst, "&gt;"...)
		case r == '&':
			dst = append(dst, "&amp;"...)
		case r < ' ' && r != '\t' && r != '\n', r == 0xfffe, r == 0xffff:
			dst = appendEscape(dst, r)
		case r == '_' && looksEscaped(text[i:]):
			dst = appendEscape(dst, r)
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}

func looksEscaped(text string) bool {
	_, ok := escapeAt([]byte(text[:min(len(text), escapeLength)]))
	return ok
}

func appendEscape(dst []byte, r rune) []byte {
	const digits = "0123456789ABCDEF"
	return append(dst, '_', 'x', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15], '_')
}

func (b *workbookWriter) Flush() error {
	if err := b.sheet.Flush(); err != nil {
		return err
	}
	return b.archive.Flush()
}

func (b *workbookWriter) Close() error {
	if _, err := b.sheet.WriteString("</sheetData></worksheet>"); err != nil {
		return err
	}
	if err := b.sheet.Flush(); err != nil {
		return err
	}
	return b.archive.Close()
}
