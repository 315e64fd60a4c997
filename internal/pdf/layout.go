package pdf

import (
	"bytes"
	"strings"
	"unicode"
)

// Style is how a text looks. The zero value of Align is at the side where its language begins.
type Style struct {
	Size  float64 // in points
	Bold  bool
	Align Align
}

type Align int

const (
	Start Align = iota
	Right
	Center
)

// leading is the distance of two lines, for a size of 1.
const leading = 1.35

// Box is a part of a page, in points from its left and top edge.
type Box struct{ X, Y, Width, Height float64 }

func width(line []drawn) (sum float64) {
	for _, glyph := range line {
		sum += glyph.width
	}
	return sum
}

// Fit writes lines into a box. Text that is too wide continues on the next line; text that is too long is made smaller, down to what can still be read, and then cut off.
func (d *Document) Fit(box Box, style Style, lines ...string) {
	style, wrapped := fitted(box, style, lines)
	for i, line := range wrapped {
		if bottom := float64(i+1) * style.Size * leading; bottom > box.Height+0.01 {
			return
		}
		d.line(box.X, box.Y+float64(i)*style.Size*leading, box.Width, style, line)
	}
}

// fitted are lines as they fit into a box, with the size that they are made smaller to.
func fitted(box Box, style Style, lines []string) (Style, []wrapped) {
	const smallest = 5
	made := wrap(lines, box.Width, style)
	for style.Size > smallest && float64(len(made))*style.Size*leading > box.Height {
		style.Size -= 0.5
		made = wrap(lines, box.Width, style)
	}
	return style, made
}

// wrapped is one line of a paragraph.
type wrapped struct {
	text string
	rtl  bool
}

// line draws one line: y is its upper edge.
func (d *Document) line(x, y, space float64, style Style, line wrapped) {
	shaped := shape(line.text, line.rtl, style.Bold)
	if free := space - width(shaped)*style.Size; style.Align == Center {
		x += free / 2
	} else if style.Align == Right || line.rtl {
		x += free
	}
	d.draw(x, y+style.Size, style, shaped)
}

// wrap breaks paragraphs into lines of a width: between words, between Chinese and Japanese characters, and within a word that is wider than a line.
func wrap(paragraphs []string, space float64, style Style) (lines []wrapped) {
	for _, paragraph := range paragraphs {
		for _, text := range strings.Split(strings.ReplaceAll(paragraph, "\r\n", "\n"), "\n") {
			text = clean(text)
			rtl := rightToLeft(text)
			line, used := "", 0.0
			flush := func() {
				lines = append(lines, wrapped{strings.TrimRight(line, " "), rtl})
				line, used = "", 0
			}
			for _, word := range words(text) {
				wide := width(shape(strings.TrimRight(word, " "), rtl, style.Bold)) * style.Size
				if line != "" && used+wide > space {
					flush()
				}
				if wide <= space {
					line += word
					used += width(shape(word, rtl, style.Bold)) * style.Size
					continue
				}
				for _, r := range word {
					one := width(glyphs([]rune{r}, style.Bold)) * style.Size
					if line != "" && used+one > space && !unicode.Is(unicode.M, r) {
						flush()
					}
					line, used = line+string(r), used+one
				}
			}
			flush()
		}
	}
	return lines
}

// words are the parts of a text between which a line may end, each with the spaces behind it.
func words(text string) (parts []string) {
	var last rune
	start := 0
	for at, r := range text {
		if at > 0 && r != ' ' && (last == ' ' || ideograph(last) && !unicode.IsPunct(r) || ideograph(r) && !unicode.IsPunct(last)) {
			parts = append(parts, text[start:at])
			start = at
		}
		last = r
	}
	return append(parts, text[start:])
}

func ideograph(r rune) bool { return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) }

// room begins a new page if what comes next would not fit on this one.
func (d *Document) room(height float64) {
	if d.page == nil || d.y+height > d.size.Height-d.margin {
		d.Page()
	}
}

// Paragraph writes text from margin to margin, below what was written last, and goes on on the next page where this one ends. Line breaks of the text stay.
func (d *Document) Paragraph(style Style, text string) {
	space := d.size.Width - 2*d.margin
	for _, line := range wrap([]string{text}, space, style) {
		d.room(style.Size * leading)
		d.line(d.margin, d.y, space, style, line)
		d.y += style.Size * leading
	}
}

// Space leaves room, or less at the end of a page.
func (d *Document) Space(height float64) { d.y += height }

// Rule draws a line from margin to margin.
func (d *Document) Rule() {
	d.room(6)
	d.rule(d.margin, d.size.Width-d.margin, d.y+3)
	d.y += 6
}

// Address writes where a letter goes, so that it shows in the window of an envelope (a number 10 envelope for Letter, DIN long for A4), and goes on below it.
func (d *Document) Address(lines ...string) {
	if d.page == nil {
		d.Page()
	}
	window := Box{X: 0.875 * Inch, Y: 2.1 * Inch, Width: 3.9 * Inch, Height: 1.05 * Inch}
	if d.size == A4 {
		window = Box{X: 25 * Millimeter, Y: 50 * Millimeter, Width: 80 * Millimeter, Height: 38 * Millimeter}
	}
	d.Fit(window, Style{Size: 11}, lines...)
	d.y = max(d.y, window.Y+window.Height+0.35*Inch)
}

// Column is one column of a table: its heading, its share of the width, and how its cells are aligned.
type Column struct {
	Title string
	Share float64
	Align Align
}

// Table writes rows below what was written last, with a heading on each page. Cells that are too wide go on on the next line.
func (d *Document) Table(style Style, columns []Column, rows func(yield func([]string) bool)) {
	var total float64
	titles := make([]string, len(columns))
	for i, column := range columns {
		total += column.Share
		titles[i] = column.Title
	}
	const gap = 8.0
	row := func(style Style, cells []string) (height float64, draw func()) {
		wrappedCells := make([][]wrapped, len(columns))
		for i, cell := range cells {
			wrappedCells[i] = wrap([]string{cell}, (d.size.Width-2*d.margin)*columns[i].Share/total-gap, style)
			height = max(height, float64(len(wrappedCells[i]))*style.Size*leading+4)
		}
		return height, func() {
			x := d.margin
			for i, cell := range wrappedCells {
				style.Align = columns[i].Align
				space := (d.size.Width - 2*d.margin) * columns[i].Share / total
				for at, line := range cell {
					d.line(x, d.y+float64(at)*style.Size*leading, space-gap, style, line)
				}
				x += space
			}
			d.y += height
		}
	}
	heading := style
	heading.Bold = true
	high, title := row(heading, titles)
	var headed *bytes.Buffer // the page that has the heading
	for cells := range rows {
		height, draw := row(style, cells)
		if headed == nil {
			d.room(high + height)
		} else {
			d.room(height)
		}
		if d.page != headed {
			title()
			d.rule(d.margin, d.size.Width-d.margin, d.y-2)
			headed = d.page
		}
		draw()
	}
}

// Sheet is a sheet of labels: how many, how large, and how far apart, in points.
type Sheet struct {
	Paper         Size
	Columns, Rows int
	Left, Top     float64 // of the first label
	Width, Height float64 // of a label
	Across, Down  float64 // from one label to the next
}

// Count is how many labels are on one sheet.
func (s *Sheet) Count() int { return s.Columns * s.Rows }

// Labels writes the labels of one sheet, on a page of its own, in letters of one size: that of the label with the most to say. A
// label that would need letters which are hard to read gets them alone.
func (d *Document) Labels(sheet Sheet, style Style, labels [][]string) {
	const (
		pad      = 8.0
		readable = 6.5
	)
	box := Box{Width: sheet.Width - 2*pad, Height: sheet.Height - 2*pad}
	for _, lines := range labels {
		if of, _ := fitted(box, style, lines); of.Size >= readable {
			style.Size = min(style.Size, of.Size)
		}
	}
	d.Page()
	for n, lines := range labels {
		box.X = sheet.Left + float64(n%sheet.Columns)*sheet.Across + pad
		box.Y = sheet.Top + float64(n/sheet.Columns)*sheet.Down + pad
		d.Fit(box, style, lines...)
	}
}
