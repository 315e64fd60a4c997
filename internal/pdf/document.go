// Package pdf writes letters, receipts, statements and labels as PDF files. A page is written as soon as it is full, so a file of any length takes the memory of one page.
// Every character is drawn by an embedded font that has it; one that no font has is drawn as a box. The same calls write the same bytes.
package pdf

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"maps"
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
	used    map[*typeface]map[uint16]string // glyphs, and what they say
	y       float64                         // where the next line goes, from the top
	margin  float64
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
	d := &Document{size: size, out: &counter{w: w}, used: map[*typeface]map[uint16]string{}, margin: Inch, objects: make([]int64, firstPage-1)}
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
var faces = []*typeface{regular, bold, chinese, emoji}

// font writes what a document has used of a font, and what its glyphs say, so that text can be found and copied.
func (d *Document) font(face *typeface) int {
	numbers := slices.Sorted(maps.Keys(d.used[face]))
	data := face.subset(numbers)
	file := d.stream(fmt.Sprintf("/Length1 %d", len(data)), data)
	var widths, meaning strings.Builder
	meaning.WriteString("/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n/CIDSystemInfo<</Registry(Adobe)/Ordering(UCS)/Supplement 0>>def\n" +
		"/CMapName/Adobe-Identity-UCS def\n/CMapType 2 def\n1 begincodespacerange\n<0000><FFFF>\nendcodespacerange\n")
	for part := range slices.Chunk(numbers, 100) { // as many as a list may have
		fmt.Fprintf(&meaning, "%d beginbfchar\n", len(part))
		for _, glyph := range part {
			fmt.Fprintf(&widths, "%d[%.0f]", glyph, 1000*face.width(glyph))
			fmt.Fprintf(&meaning, "<%04X>%s\n", glyph, hexText(d.used[face][glyph]))
		}
		meaning.WriteString("endbfchar\n")
	}
	meaning.WriteString("endcmap\nCMapName currentdict/CMap defineresource pop\nend\nend")
	unicode := d.stream("", []byte(meaning.String()))
	name := "DONORB+" + face.name // six letters say that this is a part of a font
	descriptor := d.object(0, fmt.Sprintf("<</Type/FontDescriptor/FontName/%s/Flags 4/FontBBox[-1000 -400 2000 1200]/ItalicAngle 0/Ascent 928/Descent -236/CapHeight 729/StemV 80/FontFile2 %d 0 R>>", name, file))
	inner := d.object(0, fmt.Sprintf("<</Type/Font/Subtype/CIDFontType2/BaseFont/%s/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>/FontDescriptor %d 0 R/DW 1000/W[%s]/CIDToGIDMap/Identity>>", name, descriptor, widths.String()))
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
			d.used[face] = map[uint16]string{}
		}
		fmt.Fprintf(d.page, "BT /F%d %.2f Tf %.2f %.2f Td <", slices.Index(faces, face), style.Size, x, d.size.Height-y)
		for len(line) > 0 && line[0].face == face {
			if _, known := d.used[face][line[0].glyph]; !known {
				d.used[face][line[0].glyph] = line[0].text
			}
			fmt.Fprintf(d.page, "%04X", line[0].glyph)
			advance += line[0].width * style.Size
			line = line[1:]
		}
		d.page.WriteString("> Tj ET\n")
		x += advance
	}
}

// rule draws a thin line.
func (d *Document) rule(x1, x2, y float64) {
	fmt.Fprintf(d.page, "0.5 w %.2f %.2f m %.2f %.2f l S\n", x1, d.size.Height-y, x2, d.size.Height-y)
}
