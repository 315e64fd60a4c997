// Package pdf writes letters, receipts, statements and labels as PDF files. A page is written as soon as it is full, so a file of any length takes the memory of one page.
// Every character is drawn by an embedded font that has it; one that no font has is drawn as a box. The same calls write the same bytes.
package pdf

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf16"
)

// Size is a size of paper, in points: 72 are an inch.
type Size struct{ Width, Height float64 }

var (
	Letter = Size{612, 792}
	A4     = Size{595.28, 841.89}
)

const (
	Inch       = 72.0
	Millimeter = 72 / 25.4
)

// Document is a PDF file that is being written.
type Document struct {
	size    Size
	out     *counter
	err     error
	objects []int64 // where each object begins
	page    *bytes.Buffer
	used    map[*typeface]*usage
	y       float64 // where the next line goes, from the top
	margin  float64
}

// said is a glyph, and what it says where it is drawn: the same one may stand for another text elsewhere.
type said struct {
	glyph uint16
	text  string
}

// usage is what a document has drawn of a font: a number for each glyph with what it says, from 1.
type usage struct {
	numbers map[said]uint16
	all     []said
}

func (u *usage) number(s said) uint16 {
	known, is := u.numbers[s]
	if !is && len(u.all) < math.MaxUint16 {
		u.all = append(u.all, s)
		known = uint16(len(u.all))
		u.numbers[s] = known
	}
	return known
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// The objects that are written last have the first numbers, and each page has two after these.
const (
	catalogObject = iota + 1
	pagesObject
	resourcesObject
	infoObject
	firstPage
)

// New begins a document. Its title is what a reader shows as the name of its window.
func New(w io.Writer, size Size, title string) *Document {
	d := &Document{size: size, out: &counter{w: w}, used: map[*typeface]*usage{}, margin: Inch, objects: make([]int64, firstPage-1)}
	d.printf("%%PDF-1.7\n%%\xE2\xE3\xCF\xD3\n")
	d.object(infoObject, fmt.Sprintf("<</Title %s>>", hexText("\uFEFF"+clean(title))))
	return d
}

func (d *Document) printf(format string, values ...any) {
	if d.err == nil {
		_, d.err = fmt.Fprintf(d.out, format, values...)
	}
}

// object writes an object with a known number; 0 takes the next one.
func (d *Document) object(number int, body string) int {
	if number == 0 {
		d.objects = append(d.objects, 0)
		number = len(d.objects)
	}
	d.objects[number-1] = d.out.n
	d.printf("%d 0 obj\n%s\nendobj\n", number, body)
	return number
}

func (d *Document) stream(dictionary string, data []byte) int {
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	_, _ = z.Write(data)
	_ = z.Close()
	return d.object(0, fmt.Sprintf("<<%s/Filter/FlateDecode/Length %d>>\nstream\n%s\nendstream", dictionary, packed.Len(), packed.Bytes()))
}

// Page begins a page.
func (d *Document) Page() {
	d.finish()
	d.page, d.y = &bytes.Buffer{}, d.margin
}

func (d *Document) finish() {
	if d.page == nil {
		return
	}
	content := d.stream("", d.page.Bytes())
	d.object(0, fmt.Sprintf("<</Type/Page/Parent %d 0 R/MediaBox[0 0 %.2f %.2f]/Resources %d 0 R/Contents %d 0 R>>", pagesObject, d.size.Width, d.size.Height, resourcesObject, content))
	d.page = nil
}

// Close writes what is left of the document. A document without a page gets an empty one.
func (d *Document) Close() error {
	if d.page == nil && len(d.objects) < firstPage {
		d.Page()
	}
	d.finish()
	var kids strings.Builder
	pages := (len(d.objects) - firstPage + 1) / 2
	for i := range pages {
		fmt.Fprintf(&kids, "%d 0 R ", firstPage+1+2*i)
	}
	var fonts strings.Builder
	for i, face := range faces {
		if d.used[face] != nil {
			fmt.Fprintf(&fonts, "/F%d %d 0 R", i, d.font(face))
		}
	}
	d.object(resourcesObject, "<</Font<<"+fonts.String()+">>>>")
	d.object(pagesObject, fmt.Sprintf("<</Type/Pages/Count %d/Kids[%s]>>", pages, kids.String()))
	d.object(catalogObject, fmt.Sprintf("<</Type/Catalog/Pages %d 0 R/ViewerPreferences<</DisplayDocTitle true>>>>", pagesObject))
	start := d.out.n
	d.printf("xref\n0 %d\n0000000000 65535 f \n", len(d.objects)+1)
	for _, at := range d.objects {
		d.printf("%010d 00000 n \n", at)
	}
	d.printf("trailer\n<</Size %d/Root %d 0 R/Info %d 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(d.objects)+1, catalogObject, infoObject, start)
	return d.err
}

// faces in the order in which documents number them.
var faces = func() []*typeface {
	all := []*typeface{regular, bold, chinese, emoji}
	for _, s := range scripts {
		all = append(all, s.typeface)
	}
	return all
}()

// font writes what a document has used of a font, and what its glyphs say, so that text can be found and copied.
func (d *Document) font(face *typeface) int {
	all := d.used[face].all
	var glyphs []uint16
	places := []byte{0, 0} // of the glyphs in the font, by their numbers
	for _, s := range all {
		glyphs, places = append(glyphs, s.glyph), binary.BigEndian.AppendUint16(places, s.glyph)
	}
	slices.Sort(glyphs)
	data := face.subset(glyphs)
	file := d.stream(fmt.Sprintf("/Length1 %d", len(data)), data)
	order := d.stream("", places)
	var widths, meaning strings.Builder
	meaning.WriteString("/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n/CIDSystemInfo<</Registry(Adobe)/Ordering(UCS)/Supplement 0>>def\n" +
		"/CMapName/Adobe-Identity-UCS def\n/CMapType 2 def\n1 begincodespacerange\n<0000><FFFF>\nendcodespacerange\n")
	widths.WriteString("1[")
	number := 0
	for part := range slices.Chunk(all, 100) { // as many as a list may have
		fmt.Fprintf(&meaning, "%d beginbfchar\n", len(part))
		for _, s := range part {
			number++
			fmt.Fprintf(&widths, "%.0f ", 1000*face.width(s.glyph))
			fmt.Fprintf(&meaning, "<%04X>%s\n", number, hexText(s.text))
		}
		meaning.WriteString("endbfchar\n")
	}
	widths.WriteString("]")
	meaning.WriteString("endcmap\nCMapName currentdict/CMap defineresource pop\nend\nend")
	unicode := d.stream("", []byte(meaning.String()))
	name := "DONORB+" + face.name // six letters say that this is a part of a font
	descriptor := d.object(0, fmt.Sprintf("<</Type/FontDescriptor/FontName/%s/Flags 4/FontBBox[-1000 -400 2000 1200]/ItalicAngle 0/Ascent 928/Descent -236/CapHeight 729/StemV 80/FontFile2 %d 0 R>>", name, file))
	inner := d.object(0, fmt.Sprintf("<</Type/Font/Subtype/CIDFontType2/BaseFont/%s/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>/FontDescriptor %d 0 R/DW 1000/W[%s]/CIDToGIDMap %d 0 R>>", name, descriptor, widths.String(), order))
	return d.object(0, fmt.Sprintf("<</Type/Font/Subtype/Type0/BaseFont/%s/Encoding/Identity-H/DescendantFonts[%d 0 R]/ToUnicode %d 0 R>>", name, inner, unicode))
}

func hexText(s string) string {
	var out strings.Builder
	out.WriteByte('<')
	for _, unit := range utf16.Encode([]rune(s)) {
		fmt.Fprintf(&out, "%04X", unit)
	}
	out.WriteByte('>')
	return out.String()
}

// draw puts a line on the page: x from the left, y from the top to the line that letters stand on.
func (d *Document) draw(x, y float64, style Style, line []drawn) {
	for len(line) > 0 {
		face, advance := line[0].face, 0.0
		if d.used[face] == nil {
			d.used[face] = &usage{numbers: map[said]uint16{}}
		}
		fmt.Fprintf(d.page, "BT /F%d %.2f Tf %.2f %.2f Td <", slices.Index(faces, face), style.Size, x+line[0].right*style.Size, d.size.Height-y+line[0].rise*style.Size)
		for isPlaced := false; len(line) > 0 && line[0].face == face && !isPlaced; line = line[1:] {
			fmt.Fprintf(d.page, "%04X", d.used[face].number(said{line[0].glyph, line[0].text}))
			advance += line[0].width * style.Size
			isPlaced = len(line) > 1 && !line[0].isBefore(&line[1])
		}
		d.page.WriteString("> Tj ET\n")
		x += advance
	}
}

// isBefore tells whether a glyph is followed by another one without a move of the pen that is not in the font.
func (g *drawn) isBefore(next *drawn) bool {
	moved := g.right != 0 || g.rise != 0 || next.right != 0 || next.rise != 0
	return !moved && math.Abs(g.width-g.face.width(g.glyph)) < 0.001
}

// rule draws a thin line.
func (d *Document) rule(x1, x2, y float64) {
	fmt.Fprintf(d.page, "0.5 w %.2f %.2f m %.2f %.2f l S\n", x1, d.size.Height-y, x2, d.size.Height-y)
}
