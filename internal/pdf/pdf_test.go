package pdf_test

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	reader "github.com/dslipak/pdf"

	"donorbook/internal/pdf"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

var body = pdf.Style{Size: 11}

// read returns the text of each page, as a reader finds it: line by line, from left to right.
func read(t *testing.T, file []byte) (pages []string) {
	t.Helper()
	r, err := reader.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.NumPage() {
		rows, err := r.Page(i + 1).GetTextByRow()
		if err != nil {
			t.Fatal(err)
		}
		var page strings.Builder
		for _, row := range rows {
			for _, word := range row.Content {
				page.WriteString(word.S)
			}
			page.WriteByte('\n')
		}
		pages = append(pages, page.String())
	}
	return pages
}

func written(t *testing.T, size pdf.Size, write func(d *pdf.Document)) []byte {
	t.Helper()
	var out bytes.Buffer
	d := pdf.New(&out, size, "Receipt")
	write(d)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func reversed(s string) string {
	runes := []rune(s)
	slices.Reverse(runes)
	return string(runes)
}

func TestNamesInAnyScriptAreDrawnAndReadBack(t *testing.T) {
	for name, want := range map[string]string{
		"Ada Lovelace":             "Ada Lovelace",
		"Nguyễn Thị Hồng Ánh":      "Nguyễn Thị Hồng Ánh",
		"Nguye\u0302\u0303n":       "Nguyễn", // the same, written with single accents
		"Владимир Đorđević":        "Владимир Đorđević",
		"Αθηνά Παπαδοπούλου":       "Αθηνά Παπαδοπούλου",
		"王小明 山田太郎 김철수 カタカナ":        "王小明 山田太郎 김철수 カタカナ",
		"Ada 🎉💖🐕":                  "Ada 🎉💖🐕",
		"👩‍👧 👍🏽":                   "👩‍👧 👍🏽",
		"محمد":                     reversed("محمد"),
		"سلام":                     reversed("سلام"), // two of its letters are written as one
		"Dear محمد علي, thanks":    "Dear " + reversed("محمد علي") + ", thanks",
		"For שלום (2026) דוד, x":   "For " + reversed("דוד") + " (2026) " + reversed("שלום") + ", x",
		"שלום (2026) דוד":          reversed("דוד") + " (2026) " + reversed("שלום"),
		"Dear שרה 12, hi":          "Dear 12 " + reversed("שרה") + ", hi",
		"हिन्दी नमस्ते":            "हिन्दी नमस्ते",
		"สมชาย ที่รัก":             "สมชาย ที่รัก",
		"বাংলা ਪੰਜਾਬੀ ગુજરાતી":     "বাংলা ਪੰਜਾਬੀ ગુજરાતી",
		"தமிழ் తెలుగు ಕನ್ನಡ":       "தமிழ் తెలుగు ಕನ್ನಡ",
		"മലയാളം සිංහල ଓଡ଼ିଆ":       "മലയാളം සිංහල ଓଡ଼ିଆ",
		"မြန်မာ ខ្មែរ አማርኛ ລາວ":    "မြန်မာ ខ្មែរ አማርኛ ລາວ",
		"Dear Ms. अर्चना देवी, hi": "Dear Ms. अर्चना देवी, hi",
		"ᏣᎳᎩ":       "□□□", // in no font: visibly
		"a\tb\x07c": "a b c",
		"\xff":      "\uFFFD",
	} {
		if pdf.Draws(name) == strings.Contains(want, "□") {
			t.Errorf("it is wrong that %q can be drawn: %v", name, pdf.Draws(name))
		}
		for _, style := range []pdf.Style{body, {Size: 11, Bold: true}} {
			pages := read(t, written(t, pdf.Letter, func(d *pdf.Document) { d.Paragraph(style, name) }))
			if len(pages) != 1 || strings.TrimSpace(pages[0]) != want {
				t.Errorf("%q (bold: %v) was read back as %q, not %q", name, style.Bold, pages, want)
			}
		}
	}
}

func TestTheSameDocumentHasTheSameBytes(t *testing.T) {
	write := func(d *pdf.Document) {
		d.Address("Ada Lovelace", "12 Mill Lane", "Riverton, OR 97001")
		d.Paragraph(body, "Dear Ada 🎉, 王小明 and محمد thank you.")
	}
	one, two := written(t, pdf.A4, write), written(t, pdf.A4, write)
	if !bytes.Equal(one, two) {
		t.Error("two documents of the same calls differ")
	}
	if len(one) > 40_000 {
		t.Errorf("a letter in four fonts has %d bytes", len(one))
	}
}

func TestLongTextsGoOnOnTheNextLineAndPage(t *testing.T) {
	text := strings.Repeat("Every gift counts. ", 400) + strings.Repeat("王", 200) + strings.Repeat("x", 300)
	pages := read(t, written(t, pdf.Letter, func(d *pdf.Document) { d.Paragraph(body, text) }))
	assert.Equal(t, len(pages), 3)
	without := func(s string) string { return strings.Join(strings.Fields(s), "") }
	if without(strings.Join(pages, "")) != without(text) {
		t.Error("text is missing")
	}
}

func TestATableRepeatsItsHeadingOnEachPage(t *testing.T) {
	pages := read(t, written(t, pdf.Letter, func(d *pdf.Document) {
		d.Table(body, []pdf.Column{{Title: "Date", Share: 1}, {Title: "For", Share: 3},
			{Title: "Amount", Share: 1, Align: pdf.Right}}, func(yield func([]string) bool) {
			for i := range 100 {
				if !yield([]string{"January 5, 2026", strings.Repeat("Winter appeal ", 1+i%8),
					fmt.Sprintf("$%d.00", i)}) {
					return
				}
			}
		})
	}))
	if len(pages) < 3 {
		t.Fatalf("%d pages", len(pages))
	}
	for i, page := range pages {
		if strings.Count(page, "Amount") != 1 {
			t.Errorf("page %d has no heading: %s", i+1, page)
		}
	}
	all := strings.Join(pages, "")
	assert.Contains(t, all, "$0.00", "rows are missing")
	assert.Contains(t, all, "$99.00", "rows are missing")
}

func TestLabelsStayOnTheirSheet(t *testing.T) {
	avery := pdf.Sheet{Paper: pdf.Letter, Columns: 3, Rows: 10, Left: 13.5, Top: 36, Width: 189, Height: 72,
		Across: 198, Down: 72}
	pages := read(t, written(t, avery.Paper, func(d *pdf.Document) {
		var labels [][]string
		for i := range 31 {
			labels = append(labels, []string{fmt.Sprintf("Person %d", i),
				strings.Repeat("A long street with many words ", 3), "Riverton, OR 97001", "United States"})
		}
		for sheet := range slices.Chunk(labels, avery.Count()) {
			d.Labels(avery, body, sheet)
		}
	}))
	if len(pages) != 2 || strings.Count(pages[0], "United States") != 30 || !strings.Contains(pages[1], "Person 30") {
		t.Errorf("%d pages: %q", len(pages), pages)
	}
}

// A sheet has letters of one size, however much its labels say: next to each other, other sizes look like a mistake.
func TestTheLabelsOfASheetHaveOneSize(t *testing.T) {
	avery := pdf.Sheet{Paper: pdf.Letter, Columns: 3, Rows: 10, Left: 13.5, Top: 36, Width: 189, Height: 72,
		Across: 198, Down: 72}
	long := rows.All(`
		Ada Lovelace  Lovelace Engineers  12 Harbor Street  Apartment 4  Boston, MA 02110
	`)
	file := written(t, avery.Paper, func(d *pdf.Document) {
		d.Labels(avery, body, [][]string{{"Ben Bloom", "1 Quay", "Boston, MA 02110"}, long,
			{"Cy Crane", "2 Quay", "Boston, MA 02110"}})
		d.Labels(avery, body, [][]string{{"Ben Bloom", "1 Quay", "Boston, MA 02110"},
			{strings.Repeat("far too long to be read ", 30)}})
	})
	r, err := reader.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"8.0", "11.0 5.0"} { // who can only be squeezed in makes no other smaller
		var sizes []string
		for _, text := range r.Page(i + 1).Content().Text {
			if size := fmt.Sprintf("%.1f", text.FontSize); !slices.Contains(sizes, size) {
				sizes = append(sizes, size)
			}
		}
		assert.Equal(t, strings.Join(sizes, " "), want, "sheet %d has letters of the sizes", i+1)
	}
}

// What a document of many pages keeps is a few bytes a page.
func TestADocumentOfManyPagesNeedsLittleMemory(t *testing.T) {
	d := pdf.New(io.Discard, pdf.Letter, "Statements")
	used := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	page := func() {
		d.Page()
		d.Paragraph(body, "Ada Lovelace 王小明 محمد 🎉")
	}
	page()
	before := used()
	for range 500 {
		page()
	}
	if more := int64(used()) - int64(before); more > 200_000 {
		t.Errorf("500 pages keep %d bytes", more)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}
