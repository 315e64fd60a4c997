package pdf

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/binary"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/go-text/typesetting/font"
)

//go:embed fonts
var fontFiles embed.FS

// typeface is one embedded font, unpacked when the first character needs it.
type typeface struct {
	file, name string
	once       sync.Once
	tables     map[string][]byte
	shapes     *font.Face // which only the shaper may use
	perEm      float64
}

var (
	regular = &typeface{file: "dejavu-sans", name: "DejaVuSans"}
	bold    = &typeface{file: "dejavu-sans-bold", name: "DejaVuSans-Bold"}
	chinese = &typeface{file: "droid-sans-fallback", name: "DroidSansFallback"} // and Japanese, and Korean
	emoji   = &typeface{file: "noto-emoji", name: "NotoEmoji"}
)

// script is a font for the letters of one script. What the fonts for many scripts have goes before.
type script struct {
	letters *unicode.RangeTable
	*typeface
}

var scripts = []script{
	{unicode.Thai, noto("Thai")}, {unicode.Devanagari, noto("Devanagari")}, {unicode.Bengali, noto("Bengali")}, {unicode.Gurmukhi, noto("Gurmukhi")}, {unicode.Gujarati, noto("Gujarati")},
	{unicode.Oriya, noto("Oriya")}, {unicode.Tamil, noto("Tamil")}, {unicode.Telugu, noto("Telugu")}, {unicode.Kannada, noto("Kannada")}, {unicode.Malayalam, noto("Malayalam")},
	{unicode.Sinhala, noto("Sinhala")}, {unicode.Myanmar, noto("Myanmar")}, {unicode.Khmer, noto("Khmer")}, {unicode.Ethiopic, noto("Ethiopic")}, {unicode.Thaana, noto("Thaana")},
}

func noto(name string) *typeface {
	return &typeface{file: "noto-sans-" + strings.ToLower(name), name: "NotoSans" + name}
}

// load unpacks the font. The files are our own: one that cannot be read is a mistake in the program, which any test of a page finds.
func (f *typeface) load() {
	f.once.Do(func() {
		packed, err := fontFiles.Open("fonts/" + f.file + ".ttf.gz")
		if err != nil {
			panic(err)
		}
		unpacked, err := gzip.NewReader(packed)
		if err != nil {
			panic(err)
		}
		data, err := io.ReadAll(unpacked)
		if err != nil {
			panic(err)
		}
		if f.shapes, err = font.ParseTTF(bytes.NewReader(data)); err != nil {
			panic(err)
		}
		f.perEm = float64(f.shapes.Upem())
		f.tables = map[string][]byte{}
		for at := range int(binary.BigEndian.Uint16(data[4:])) {
			entry := data[12+16*at:]
			start, size := binary.BigEndian.Uint32(entry[8:]), binary.BigEndian.Uint32(entry[12:])
			f.tables[string(entry[:4])] = data[start : start+size]
		}
	})
}

// glyph is the number of the glyph that draws a character, or 0.
func (f *typeface) glyph(r rune) uint16 {
	f.load()
	found, _ := f.shapes.Font.NominalGlyph(r)
	return uint16(found)
}

// width is how far a glyph moves the pen, for a size of 1.
func (f *typeface) width(glyph uint16) float64 {
	last := int(binary.BigEndian.Uint16(f.tables["hhea"][34:])) - 1
	return float64(binary.BigEndian.Uint16(f.tables["hmtx"][4*min(int(glyph), last):])) / f.perEm
}

// outline is what draws a glyph.
func (f *typeface) outline(glyph uint16) []byte {
	loca := f.tables["loca"]
	if binary.BigEndian.Uint16(f.tables["head"][50:]) == 0 {
		return f.tables["glyf"][2*int(binary.BigEndian.Uint16(loca[2*int(glyph):])) : 2*int(binary.BigEndian.Uint16(loca[2*int(glyph)+2:]))]
	}
	return f.tables["glyf"][binary.BigEndian.Uint32(loca[4*int(glyph):]):binary.BigEndian.Uint32(loca[4*int(glyph)+4:])]
}

// parts are the glyphs that a composite glyph is made of.
func parts(outline []byte) (glyphs []uint16) {
	if len(outline) < 10 || int16(binary.BigEndian.Uint16(outline)) >= 0 {
		return nil
	}
	for at := 10; ; {
		flags := binary.BigEndian.Uint16(outline[at:])
		glyphs = append(glyphs, binary.BigEndian.Uint16(outline[at+2:]))
		at += 6
		if flags&0x1 != 0 { // its arguments are words
			at += 2
		}
		switch {
		case flags&0x8 != 0: // one scale
			at += 2
		case flags&0x40 != 0: // two
			at += 4
		case flags&0x80 != 0: // a matrix
			at += 8
		}
		if flags&0x20 == 0 { // no more parts
			return glyphs
		}
	}
}

// subset is the font with nothing but the named glyphs. They keep their numbers, so that composite glyphs need no change; what is left out compresses to almost nothing.
func (f *typeface) subset(glyphs []uint16) []byte {
	keep := map[uint16]bool{0: true}
	for todo := slices.Clone(glyphs); len(todo) > 0; {
		glyph := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !keep[glyph] {
			keep[glyph] = true
			todo = append(todo, parts(f.outline(glyph))...)
		}
	}
	count := binary.BigEndian.Uint16(f.tables["maxp"][4:])
	metrics := binary.BigEndian.Uint16(f.tables["hhea"][34:])
	var outlines []byte
	places := make([]byte, 0, 4*int(count)+4)
	widths := slices.Clone(f.tables["hmtx"])
	for glyph := range count {
		places = binary.BigEndian.AppendUint32(places, uint32(len(outlines)))
		if keep[glyph] {
			outlines = append(outlines, f.outline(glyph)...)
			outlines = append(outlines, make([]byte, -len(outlines)&3)...)
		} else if glyph+1 < metrics {
			clear(widths[4*int(glyph) : 4*int(glyph)+4])
		}
	}
	places = binary.BigEndian.AppendUint32(places, uint32(len(outlines)))
	head := slices.Clone(f.tables["head"])
	binary.BigEndian.PutUint16(head[50:], 1) // places are 4 bytes long
	tables := []struct {
		name string
		data []byte
	}{{"cvt ", f.tables["cvt "]}, {"fpgm", f.tables["fpgm"]}, {"glyf", outlines}, {"head", head}, {"hhea", f.tables["hhea"]}, {"hmtx", widths}, {"loca", places}, {"maxp", f.tables["maxp"]}, {"prep", f.tables["prep"]}}
	tables = slices.DeleteFunc(tables, func(t struct {
		name string
		data []byte
	}) bool {
		return t.data == nil
	})
	var out, body bytes.Buffer
	put := func(values ...any) {
		for _, value := range values {
			_ = binary.Write(&out, binary.BigEndian, value)
		}
	}
	put(uint32(0x00010000), uint16(len(tables)), uint16(128), uint16(3), uint16(16*len(tables)-128)) // 8 to 15 tables
	for _, table := range tables {
		var sum uint32
		padded := append(slices.Clone(table.data), make([]byte, -len(table.data)&3)...)
		for at := 0; at < len(padded); at += 4 {
			sum += binary.BigEndian.Uint32(padded[at:])
		}
		put([]byte(table.name), sum, uint32(12+16*len(tables)+body.Len()), uint32(len(table.data)))
		body.Write(padded)
	}
	return append(out.Bytes(), body.Bytes()...)
}
