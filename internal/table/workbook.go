package table

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
)

// workbook is an .xlsx file: a zip archive of XML documents that refer to each other.
type workbook struct {
	parts  map[string]*zip.File
	left   int64 // bytes that may still be unpacked
	shared texts
	styles []style // of cells, by their numbers
	is1904 bool    // days are counted from 1904 on, and not from 1900
}

// A workbook is unpacked up to a hundred times its size, which is more than tables need, but at least up to this size, because a small
// table may repeat itself. More is an attack.
const maxRatio = 100

var maxUnpacked int64 = 64 << 20

const (
	// maxDirectory is how many bytes of a zip archive may be the list of its parts: it is in memory as a whole, and takes ten times as much there. A workbook
	// has some dozens of parts, of about a hundred bytes each.
	maxDirectory = 256 << 10

	// maxStyles is how many styles a spreadsheet program makes at most.
	maxStyles = 1 << 16

	damaged     = "The workbook is damaged or incomplete. Open it in a spreadsheet program, and save it again as .xlsx."
	notWorkbook = "This is a zip archive, but not an .xlsx workbook. Unpack it and use the table in it, or save the table as CSV or .xlsx."
	bomb        = "The workbook is much larger unpacked than its size allows. Save the table as CSV, and use that file."
)

var errBomb = refusal(bomb)

func isZip(start []byte) bool {
	return bytes.HasPrefix(start, []byte("PK")) && len(start) > 3 && start[2] < 9
}

func (t *Reader) openWorkbook(r io.ReaderAt, size int64) error {
	t.Format = "xlsx"
	if err := checkDirectory(r, size); err != nil {
		return err
	}
	archive, err := zip.NewReader(r, size)
	if err != nil {
		return refusal(damaged)
	}
	w := &workbook{parts: make(map[string]*zip.File), left: max(maxUnpacked, size*maxRatio), shared: texts{hold: t.options.Hold}}
	for _, part := range archive.File {
		name := strings.ReplaceAll(part.Name, `\`, "/") // as some programs write it, against the rules
		w.parts[strings.ToLower(strings.TrimPrefix(name, "/"))] = part
	}
	sheets, err := w.open()
	if err != nil {
		return err
	}
	for i, sheet := range sheets {
		s, err := w.openSheet(sheet.part)
		if err != nil {
			return err
		}
		if err = t.takeHeader(s); !errors.Is(err, errEmpty) {
			t.OtherSheets = w.filled(sheets[i+1:])
			return err
		}
	}
	return refusal("The workbook has no sheet with rows in it.")
}

// checkDirectory refuses an archive whose list of parts is too long to be read.
func checkDirectory(r io.ReaderAt, size int64) error {
	const length = 22 // of the record at the end, before a comment of up to 64 KiB
	tail := make([]byte, min(size, length+1<<16))
	if n, err := r.ReadAt(tail, size-int64(len(tail))); n < len(tail) {
		return err
	}
	at := bytes.LastIndex(tail, []byte("PK\x05\x06"))
	if at < 0 || len(tail)-at < length {
		return refusal(damaged)
	}
	end := size - int64(len(tail)-at)
	parts := binary.LittleEndian.Uint16(tail[at+10:])
	listed := int64(binary.LittleEndian.Uint32(tail[at+12:]))
	from := int64(binary.LittleEndian.Uint32(tail[at+16:]))
	const elsewhere = 1<<16 - 1 // another record has the true number, which maxDirectory is below for a size or a place
	if listed > maxDirectory || end-from > maxDirectory || from > end || parts == elsewhere {
		return refusal(notWorkbook)
	}
	return nil
}

// visibleSheet is a sheet that people see.
type visibleSheet struct{ name, part string }

const (
	maxSheets    = 20  // that are looked at, to name them
	maxSheetName = 100 // bytes that are kept; spreadsheet programs allow 31 characters
)

// filled are the names of sheets that have something in one of their first rows.
func (w *workbook) filled(sheets []visibleSheet) (names []string) {
	for _, sheet := range sheets[:min(len(sheets), maxSheets)] {
		s, err := w.openSheet(sheet.part)
		for range 100 {
			var row []string
			if err == nil {
				row, _, err = s.next()
			}
			if broken := (*RowError)(nil); errors.As(err, &broken) || err == nil && !isBlank(row) {
				names = append(names, strings.ToValidUTF8(sheet.name[:min(len(sheet.name), maxSheetName)], ""))
				break
			}
		}
	}
	return names
}

// open reads what is common to all sheets, and lists those that people see.
func (w *workbook) open() (sheets []visibleSheet, err error) {
	root, err := w.relations("")
	if err != nil {
		return nil, err
	}
	main := root.byType("/officeDocument")
	if main == "" || w.parts[main] == nil {
		return nil, refusal(notWorkbook)
	}
	related, err := w.relations(main)
	if err != nil {
		return nil, err
	}
	err = w.each(main, func(e *element) error {
		switch e.name {
		case "workbookPr":
			w.is1904 = e.attr("date1904") == "1" || e.attr("date1904") == "true"
		case "sheet":
			r := related[e.attr("id")]
			if state := e.attr("state"); (state == "" || state == "visible") && strings.HasSuffix(r.kind, "/worksheet") && len(sheets) < maxColumns {
				sheets = append(sheets, visibleSheet{e.attr("name"), r.target})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(sheets) == 0 {
		return nil, refusal("The workbook has no sheet that can be seen. Show the sheet with the table, and save the workbook again.")
	}
	if part := related.byType("/styles"); part != "" {
		if err := w.readStyles(part); err != nil {
			return nil, err
		}
	}
	if part := related.byType("/sharedStrings"); part != "" {
		if err := w.readShared(part); err != nil {
			return nil, err
		}
	}
	return sheets, nil
}

// relation is what one part says about another.
type relation struct{ kind, target string }

type relations map[string]relation

func (r relations) byType(kind string) string {
	for _, relation := range r {
		if strings.HasSuffix(relation.kind, kind) {
			return relation.target
		}
	}
	return ""
}

// relations are the parts that a part refers to, by their ids in it. "" is the archive as a whole.
func (w *workbook) relations(part string) (relations, error) {
	directory, file := path.Split(part)
	found := relations{}
	err := w.each(directory+"_rels/"+file+".rels", func(e *element) error {
		if e.name == "Relationship" && len(found) < maxColumns {
			target := e.attr("Target")
			if !strings.HasPrefix(target, "/") {
				target = "/" + directory + target
			}
			found[e.attr("Id")] = relation{e.attr("Type"), strings.ToLower(path.Clean(target)[1:])}
		}
		return nil
	})
	return found, err
}

// readShared reads the texts that cells refer to by number.
func (w *workbook) readShared(part string) error {
	var text []byte
	return w.each(part, func(e *element) (err error) {
		if e.name == "si" {
			if text, err = e.text(text[:0]); err == nil {
				err = w.shared.add(text)
			}
		}
		return err
	})
}

// document is a part that is read element by element.
type document struct {
	*xml.Decoder
	*gate
	part io.Closer
}

// element is the start of an element of a document.
type element struct {
	*document
	name  string
	attrs []xml.Attr
}

// maxAttr is how long an attribute may be that means something: many of them are in memory as long as a workbook is open.
const maxAttr = 1_000

func (e *element) attr(name string) string {
	i := slices.IndexFunc(e.attrs, func(a xml.Attr) bool { return a.Name.Local == name })
	if i < 0 || len(e.attrs[i].Value) > maxAttr {
		return ""
	}
	return e.attrs[i].Value
}

// openPart begins to read a part. One that is not there is damage.
func (w *workbook) openPart(name string) (*document, error) {
	part := w.parts[strings.ToLower(name)]
	if part == nil {
		return nil, refusal(notWorkbook)
	}
	if part.UncompressedSize64 > uint64(w.left) {
		return nil, errBomb
	}
	content, err := part.Open()
	if err != nil {
		return nil, refusal(damaged)
	}
	g := &gate{r: content, all: &w.left}
	return &document{Decoder: xml.NewDecoder(bufio.NewReader(g)), gate: g, part: content}, nil
}

// each calls visit for each element of a part.
func (w *workbook) each(name string, visit func(*element) error) error {
	d, err := w.openPart(name)
	if err != nil {
		return err
	}
	defer d.part.Close()
	for {
		token, err := d.token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if start, ok := token.(xml.StartElement); ok && err == nil {
			err = visit(&element{d, start.Name.Local, start.Attr})
		}
		if err != nil {
			return err
		}
	}
}

// token is the next piece of a document, at most as long as a row.
func (d *document) token() (xml.Token, error) {
	d.piece = maxRow
	token, err := d.RawToken()
	var refused *FileError
	switch {
	case err == nil, errors.Is(err, io.EOF), errors.As(err, &refused):
		return token, err
	}
	return nil, refusal(damaged)
}

// text is what the texts in an element say together, up to its end. What tells how to pronounce them is left out.
func (e *element) text(dst []byte) ([]byte, error) {
	inText, silent := 0, 0
	for depth := 1; depth > 0; {
		token, err := e.token()
		if err != nil {
			return dst, cut(err)
		}
		step := 1
		name := ""
		switch token := token.(type) {
		case xml.StartElement:
			name = token.Name.Local
		case xml.EndElement:
			step, name = -1, token.Name.Local
		case xml.CharData:
			if inText > 0 && silent == 0 && len(dst) <= maxCell {
				dst = append(dst, token...)
			}
			continue
		default:
			continue
		}
		depth += step
		switch name {
		case "t":
			inText += step
		case "rPh":
			silent += step
		}
	}
	return unescaped(dst), nil
}

// cut is the error of a document that ends too early.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return refusal(damaged)
	}
	return err
}

// gate counts the bytes that are unpacked: of all parts, and of one piece of a document, which is in memory as a whole.
type gate struct {
	r     io.Reader
	all   *int64
	piece int64
}

func (g *gate) Read(p []byte) (int, error) {
	if *g.all <= 0 {
		return 0, errBomb
	}
	if g.piece <= 0 {
		return 0, refusal(fmt.Sprintf("The workbook has a cell of more than %d MiB. Shorten it, or delete it.", maxRow>>20))
	}
	n, err := g.r.Read(p[:min(int64(len(p)), *g.all)])
	*g.all -= int64(n)
	g.piece -= int64(n)
	return n, err
}

// texts are many texts in little memory. They are addressed by number.
type texts struct {
	blocks [][]byte // each text has its length before it
	starts [][]uint32
	count  int
	hold   func(bytes int64) error
}

const (
	textBlock = 2 << 20 // at least a cell and its length
	startsIn  = 1 << 16
)

// maxTexts is how many bytes of texts a workbook may share.
var maxTexts = 96 << 20

func (t *texts) add(text []byte) error {
	text = text[:min(len(text), maxCell+1)] // it is too long, and the row that has it will tell
	if len(t.blocks)*textBlock+len(t.starts)*startsIn*4 > maxTexts {
		return refusal(fmt.Sprintf("The workbook has more than %d MiB of text. Save the table as CSV, and use that file.", maxTexts>>20))
	}
	last := len(t.blocks) - 1
	if last < 0 || len(t.blocks[last])+len(text)+binary.MaxVarintLen32 > textBlock {
		if t.hold != nil {
			if err := t.hold(int64(len(t.blocks)+1) * textBlock); err != nil {
				return err
			}
		}
		t.blocks = append(t.blocks, make([]byte, 0, textBlock))
		last++
	}
	if t.count%startsIn == 0 {
		t.starts = append(t.starts, make([]uint32, 0, startsIn))
	}
	starts := &t.starts[len(t.starts)-1]
	*starts = append(*starts, uint32(last*textBlock+len(t.blocks[last])))
	t.blocks[last] = append(binary.AppendUvarint(t.blocks[last], uint64(len(text))), text...)
	t.count++
	return nil
}

func (t *texts) at(number string) (string, bool) {
	i, err := strconv.Atoi(number)
	if err != nil || i < 0 || i >= t.count {
		return "", false
	}
	start := t.starts[i/startsIn][i%startsIn]
	block := t.blocks[start/textBlock][start%textBlock:]
	length, n := binary.Uvarint(block)
	return string(block[n : n+int(length)]), true
}
