package pdf

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/bidi"
	"golang.org/x/text/unicode/norm"
)

// drawn is one glyph of a line, and the text that it stands for.
type drawn struct {
	face  *typeface
	glyph uint16
	text  string
	width float64 // for a size of 1
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
	simple := !rtl
	for _, r := range line {
		simple = simple && r < 0x590 // before the first script from right to left
	}
	if simple {
		return glyphs([]rune(line), heavy)
	}
	var p bidi.Paragraph
	if rtl {
		_, _ = p.SetString(line, bidi.DefaultDirection(bidi.RightToLeft))
	} else {
		_, _ = p.SetString("\u200E" + line) // a mark that is not drawn: the line runs from left to right, whatever it begins with
	}
	order, err := p.Order()
	if err != nil {
		return glyphs([]rune(line), heavy)
	}
	// The library splits the line by direction. Which level a run is on follows from the line's own: numbers among words from right to left belong to these.
	type run struct {
		runes []rune
		level int
	}
	var runs []run
	for i := range order.NumRuns() {
		part := order.Run(i)
		runes := []rune(part.String())
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
	var all []drawn
	for _, run := range runs {
		if run.level != 1 {
			all = append(all, glyphs(run.runes, heavy)...)
			continue
		}
		all = append(all, backwards(glyphs(join(run.runes), heavy))...)
	}
	return all
}

// backwards reverses glyphs. A mark stays behind the letter it is on.
func backwards(line []drawn) []drawn {
	out := make([]drawn, 0, len(line))
	for end := len(line); end > 0; {
		start := end - 1
		for start > 0 && unicode.Is(unicode.Mn, []rune(line[start].text)[0]) {
			start--
		}
		out = append(out, line[start:end]...)
		end = start
	}
	return out
}

var mirrored = map[rune]rune{'(': ')', ')': '(', '[': ']', ']': '[', '{': '}', '}': '{', '<': '>', '>': '<', '«': '»', '»': '«'}

// box is drawn for a character that no font has.
const box = '\u25A1'

// glyphs finds a font for each character.
func glyphs(runes []rune, heavy bool) []drawn {
	out := make([]drawn, 0, len(runes))
	for _, r := range runes {
		if ignorable(r) {
			continue
		}
		out = append(out, glyphOf(r, heavy))
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
	faces := []*typeface{regular, chinese, emoji}
	if heavy {
		faces = []*typeface{bold, regular, chinese, emoji}
	}
	for _, face := range faces {
		if glyph := face.glyph(r); glyph != 0 {
			one := drawn{face, glyph, plain(r), face.width(glyph)}
			known.Store(r, one)
			return one
		}
	}
	if base := plain(r); base != string(r) {
		return glyphOf([]rune(base)[0], heavy) // a form of a letter that no font has: the letter itself
	}
	glyph := regular.glyph(box)
	return drawn{regular, glyph, string(box), regular.width(glyph)}
}

// plain is the text that a character stands for: for a form of an Arabic letter, the letter.
func plain(r rune) string {
	if letters := norm.NFKC.String(string(r)); form(r) && utf8.RuneCountInString(letters) == 1 {
		return letters
	}
	return string(r) // two letters in one stay one: readers put text from right to left in order by the character
}

func form(r rune) bool { return r >= 0xFB50 && r <= 0xFDFF || r >= 0xFE70 && r <= 0xFEFC }

// ignorable characters say how others are to be written, and are not drawn.
func ignorable(r rune) bool {
	return r == '\u00AD' || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) || r >= 0x1F3FB && r <= 0x1F3FF || r == '\u034F'
}

// forms are the shapes of the Arabic letters, by letter: alone, at the end of a word, and for those that join on both sides at its beginning and in the middle. Unicode
// lists them in this order, each with the letter it stands for.
var forms = func() map[string][]rune {
	out := map[string][]rune{}
	last := ""
	for r := rune(0xFB50); r <= 0xFEFC; r++ {
		if !form(r) {
			continue
		}
		letter := norm.NFKC.String(string(r))
		if letter == string(r) || strings.ContainsRune(letter, ' ') {
			last = ""
			continue
		}
		if letter != last {
			out[letter] = nil
		}
		out[letter] = append(out[letter], r)
		last = letter
	}
	return out
}()

// join replaces Arabic letters by the shapes that they have next to each other, and mirrors brackets.
func join(runes []rune) []rune {
	// Whether the letter at a place reaches to the one before it or after it. Marks between two letters are transparent.
	reaches := func(at, step int) bool {
		for at += step; at >= 0 && at < len(runes); at += step {
			if unicode.Is(unicode.Mn, runes[at]) {
				continue
			}
			if r := runes[at]; r == '\u0640' || r == '\u200D' { // a stroke that lengthens a word, and a joiner
				return true
			}
			shapes := len(forms[string(runes[at])])
			return shapes == 4 || shapes == 2 && step > 0
		}
		return false
	}
	out := make([]rune, 0, len(runes))
	for at := 0; at < len(runes); at++ {
		r := runes[at]
		if other, found := mirrored[r]; found {
			r = other
		}
		letter, width := string(r), 1
		if r == 'ل' && at+1 < len(runes) && strings.ContainsRune("آأإا", runes[at+1]) { // these two are written as one
			letter, width = letter+string(runes[at+1]), 2
		}
		if shapes := forms[letter]; len(shapes) > 0 {
			shape := 0
			if reaches(at, -1) {
				shape = 1
			}
			if len(shapes) == 4 && reaches(at+width-1, 1) {
				shape += 2
			}
			r = shapes[min(shape, len(shapes)-1)]
		}
		out = append(out, r)
		at += width - 1
	}
	return out
}
