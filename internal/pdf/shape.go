package pdf

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/go-text/typesetting/di"
	"github.com/go-text/typesetting/language"
	"github.com/go-text/typesetting/shaping"
	"golang.org/x/image/math/fixed"
	"golang.org/x/text/unicode/bidi"
	"golang.org/x/text/unicode/norm"
)

// drawn is one glyph of a line, and the text that it stands for; none where other glyphs of its cluster say all of it.
type drawn struct {
	face        *typeface
	glyph       uint16
	text        string
	width       float64 // by which the pen moves, for a size of 1
	right, rise float64 // of the glyph from the pen
}

// clean is text as it can be drawn on one line: composed letters, and spaces instead of what controls a terminal or ends a line.
func clean(text string) string {
	return norm.NFC.String(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD")))
}

// rightToLeft reports which way a paragraph runs: as its first letter does.
func rightToLeft(text string) bool {
	for _, r := range text {
		switch class(r) {
		case bidi.L:
			return false
		case bidi.R, bidi.AL:
			return true
		}
	}
	return false
}

func class(r rune) bidi.Class {
	properties, _ := bidi.LookupRune(r)
	return properties.Class()
}

// shape turns a line into the glyphs that are drawn, from left to right.
func shape(line string, rtl, heavy bool) []drawn {
	simple, mixed := !rtl, rtl
	for _, r := range line {
		if r >= 0x590 { // the first script from right to left
			c := class(r)
			simple, mixed = false, mixed || c == bidi.R || c == bidi.AL || c == bidi.AN
		}
	}
	switch {
	case simple:
		return glyphs([]rune(line), heavy)
	case mixed:
		return reorder(line, rtl, heavy)
	}
	return shapePart([]rune(line), di.DirectionLTR, heavy)
}

// reorder splits a line by direction, and puts the parts in the order in which they are seen.
func reorder(line string, rtl, heavy bool) (all []drawn) {
	var p bidi.Paragraph
	if rtl {
		_, _ = p.SetString(line, bidi.DefaultDirection(bidi.RightToLeft))
	} else {
		_, _ = p.SetString("\u200E" + line) // a mark that is not drawn: the line runs from left to right, whatever it begins with
	}
	order, err := p.Order()
	if err != nil {
		return shapePart([]rune(line), di.DirectionLTR, heavy)
	}
	// The library splits the line by direction. Which level a run is on follows from the line's own: numbers among words from right to left belong to these.
	type run struct {
		runes []rune
		level int
	}
	var runs []run
	for i := range order.NumRuns() {
		part := order.Run(i)
		runes := []rune(strings.TrimPrefix(part.String(), "\u200E"))
		switch {
		case part.Direction() == bidi.RightToLeft:
			runs = append(runs, run{runes, 1})
		case rtl:
			runs = append(runs, run{runes, 2})
		default:
			numbers := 0
			if i > 0 {
				for at, r := range runes {
					if c := class(r); c == bidi.EN || c == bidi.AN || c == bidi.ET {
						numbers = at + 1
					} else if c != bidi.CS && c != bidi.ES {
						break
					}
				}
			}
			runs = append(runs, run{runes[:numbers], 2})
			if numbers < len(runes) {
				runs = append(runs, run{runes[numbers:], 0})
			}
		}
	}
	for first := 0; first < len(runs); first++ {
		last := first
		for last < len(runs) && runs[last].level > 0 {
			last++
		}
		slices.Reverse(runs[first:last])
		first = max(first, last-1)
	}
	for _, run := range runs {
		direction := di.DirectionLTR
		if run.level == 1 {
			direction = di.DirectionRTL
		}
		all = append(all, shapePart(run.runes, direction, heavy)...)
	}
	return all
}

// piece is a part of a line in one font and script.
type piece struct {
	face   *typeface
	script language.Script
	end    int
}

// pieces finds a font for each character. Marks and joiners stay in that of the letter before them, which they belong to.
func pieces(runes []rune, heavy bool) (all []piece) {
	for at, r := range runes {
		face, script := faceOf(r, heavy), language.LookupScript(r)
		if n := len(all); n > 0 {
			last := &all[n-1]
			if belongs(r) && (ignorable(r) || last.face.glyph(r) != 0) {
				face = last.face
			}
			isCommon := script == language.Common || script == language.Inherited
			if last.script == language.Common {
				last.script = script
			}
			if face == last.face && (isCommon || script == last.script) {
				last.end = at + 1
				continue
			}
		}
		all = append(all, piece{face, script, at + 1})
	}
	return all
}

// belongs tells whether a character says something about the letter before it.
func belongs(r rune) bool { return ignorable(r) || unicode.In(r, unicode.M, unicode.Common) }

// shaper is for one at a time: it and the fonts keep what they have worked out.
var shaper struct {
	sync.Mutex
	shaping.HarfbuzzShaper
}

// shapePart draws what runs in one direction: HarfBuzz puts together what stands for several letters, and marks where they belong.
func shapePart(runes []rune, direction di.Direction, heavy bool) (all []drawn) {
	all, start := make([]drawn, 0, len(runes)), 0
	parts := pieces(runes, heavy)
	shaper.Lock()
	defer shaper.Unlock()
	for _, p := range parts {
		made := shaper.Shape(shaping.Input{Text: runes, RunStart: start, RunEnd: p.end, Direction: direction, Face: p.face.shapes, Size: fixed.I(int(p.face.perEm)), Script: p.script})
		line := make([]drawn, 0, len(made.Glyphs))
		for i := 0; i < len(made.Glyphs); i += made.Glyphs[i].GlyphsCount() {
			line = append(line, p.face.cluster(runes, made.Glyphs[i:i+made.Glyphs[i].GlyphsCount()], direction)...)
		}
		if direction == di.DirectionRTL {
			all = append(line, all...)
		} else {
			all = append(all, line...)
		}
		start = p.end
	}
	return all
}

// cluster are the glyphs of letters that belong together, which share out what they say in the order in which it is read. Readers turn text from right to left around by the character, so it is
// backwards here.
func (f *typeface) cluster(runes []rune, glyphs []shaping.Glyph, direction di.Direction) (line []drawn) {
	letters := runes[glyphs[0].TextIndex() : glyphs[0].TextIndex()+glyphs[0].RunesCount()]
	if direction == di.DirectionRTL {
		letters = []rune(bidi.ReverseString(string(letters)))
	}
	em, last := 64*f.perEm, 0
	for i, g := range glyphs {
		if line = append(line, drawn{face: f, glyph: uint16(g.GlyphID), width: float64(g.Advance) / em, right: float64(g.XOffset) / em, rise: float64(g.YOffset) / em}); g.GlyphID == 0 {
			line[i].glyph, letters = f.glyph(box), []rune{box}
		}
		if len(letters) > 0 && g.Advance > 0 {
			line[i].text, letters, last = string(letters[:1]), letters[1:], i
		}
	}
	line[last].text += string(letters)
	return line
}

// box is drawn for a character that no font has.
const box = '\u25A1'

// glyphs finds a font for each character of a simple line.
func glyphs(runes []rune, heavy bool) []drawn {
	out := make([]drawn, 0, len(runes))
	for _, r := range runes {
		if !ignorable(r) {
			out = append(out, glyphOf(r, heavy))
		}
	}
	return out
}

// found keeps the glyphs of characters that a font has: there are only so many.
var found [2]sync.Map

func glyphOf(r rune, heavy bool) drawn {
	known := &found[0]
	if heavy {
		known = &found[1]
	}
	if glyph, ok := known.Load(r); ok {
		return glyph.(drawn)
	}
	face := faceOf(r, heavy)
	if glyph := face.glyph(r); glyph != 0 {
		one := drawn{face: face, glyph: glyph, text: string(r), width: face.width(glyph)}
		known.Store(r, one)
		return one
	}
	return drawn{face: face, glyph: face.glyph(box), text: string(box), width: face.width(face.glyph(box))}
}

// faceOf is the first font that has a character. Where none has it, it is one that has the box.
func faceOf(r rune, heavy bool) *typeface {
	if heavy && bold.glyph(r) != 0 {
		return bold
	}
	if regular.glyph(r) != 0 {
		return regular
	}
	for _, s := range scripts {
		if unicode.Is(s.letters, r) && s.glyph(r) != 0 {
			return s.typeface
		}
	}
	for _, face := range []*typeface{chinese, emoji} {
		if face.glyph(r) != 0 {
			return face
		}
	}
	return regular
}

// Draws tells whether there is a font for every character of a text. Others are drawn as boxes.
func Draws(text string) bool {
	for _, r := range clean(text) {
		if !ignorable(r) && faceOf(r, false).glyph(r) == 0 {
			return false
		}
	}
	return true
}

// ignorable characters say how others are to be written, and are not drawn.
func ignorable(r rune) bool {
	return r == '\u00AD' || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) || r == '\u034F'
}
