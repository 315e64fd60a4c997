package table_test

import (
	"archive/zip"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/rig/rows"
	"donorbook/internal/table"
)

const related = `<Relationships><Relationship Id="s1" Type="x/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="s2" Type="x/worksheet" Target="/xl/worksheets/sheet2.xml"/>` +
	`<Relationship Id="st" Type="x/styles" Target="styles.xml"/><Relationship Id="sh" Type="x/sharedStrings" Target="sharedStrings.xml"/></Relationships>`

// workbook is a workbook whose parts are these, and for the rest those of a small one.
func workbook(t testing.TB, parts map[string]string) []byte {
	t.Helper()
	all := map[string]string{
		"_rels/.rels":                `<Relationships><Relationship Id="1" Type="x/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
		"xl/workbook.xml":            `<workbook xmlns:r="r"><sheets><sheet name="One" r:id="s1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": related,
		"xl/styles.xml": `<styleSheet><numFmts><numFmt numFmtId="170" formatCode="00000"/><numFmt numFmtId="171" formatCode="d. mmmm yyyy"/><numFmt numFmtId="172" formatCode="0.00&quot;days&quot;"/><numFmt numFmtId="173" formatCode="00000\-0000"/></numFmts>` +
			`<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/><xf numFmtId="170"/><xf numFmtId="171"/><xf numFmtId="172"/><xf numFmtId="173"/></cellXfs></styleSheet>`,
		"xl/sharedStrings.xml":      `<sst><si><t>name</t></si><si><r><t>Rich </t></r><r><t>text</t></r><rPh><t>no</t></rPh></si><si/></sst>`,
		"xl/worksheets/sheet1.xml":  sheetOf(`<row><c t="s"><v>0</v></c><c t="inlineStr"><is><t>city</t></is></c></row><row><c t="str"><v>Ana</v></c></row>`),
		"docProps/not-needed.xml":   "<x/>",
		"xl/worksheets/other.thing": "x",
	}
	maps.Copy(all, parts)
	var file bytes.Buffer
	w := zip.NewWriter(&file)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name] == "" {
			continue
		}
		must(io.WriteString(must(w.Create(name))(t), all[name]))(t)
	}
	succeed(t, w.Close())
	return file.Bytes()
}

func sheetOf(rows string) string { return `<worksheet><sheetData>` + rows + `</sheetData></worksheet>` }

func TestCellsOfAWorkbook(t *testing.T) {
	t.Parallel()
	for cell, want := range rows.Pairs(`
		<c t="s"><v>1</v></c>                                         Rich text
		<c t="s"><v>2</v></c>                                         ""
		<c t="inlineStr"><is><r><t>a</t></r><t> b_x000D_</t></is></c>  "a b\r"
		<c t="str"><f>A1&amp;"x"</f><v>namex</v></c>                  namex
		<c t="str"><f>""</f><v></v></c>                               ""
		<c t="b"><v>1</v></c>                                         true
		<c t="b"><v>0</v></c>                                         false
		<c><v>42</v></c>                                              42
		<c><v>1.5E+3</v></c>                                          1500
		<c><v>2.1255501E+10</v></c>                                   21255501000
		<c><v>0.30000000000000004</v></c>                             0.3
		<c><v>1E-3</v></c>                                            0.001
		<c><f>1+1</f><v>2</v></c>                                     2
		<c s="1"><v>46053</v></c>                                     2026-01-31
		<c s="1"><v>29250</v></c>                                     1980-01-30
		<c s="1"><v>1</v></c>                                         1900-01-01
		<c s="1"><v>59</v></c>                                        1900-02-28
		<c s="1"><v>61</v></c>                                        1900-03-01
		<c s="2"><v>46053.381</v></c>                                 2026-01-31 09:08:38
		<c s="2"><v>0.5</v></c>                                       12:00:00
		<c s="4"><v>46053</v></c>                                     2026-01-31
		<c s="5"><v>46053</v></c>                                     46053
		<c s="1"><v>-5</v></c>                                        -5
		<c s="3"><v>2134</v></c>                                      02134
		<c s="3"><v>123456</v></c>                                    123456
		<c s="6"><v>21100001</v></c>                                  02110-0001
		<c s="6"><v>2134.5</v></c>                                    2134.5
		<c s="1"><v>NaN</v></c>                                       NaN
		<c s="99"><v>7</v></c>                                        7
		<c t="d"><v>2026-01-31</v></c>                                2026-01-31
		<c s="1"/>                                                    ""
		<c t="e"><v>#N/A</v></c>                                      ! Cell B2 has the error #N/A instead of a value. Fix it or delete it.
		<c><f>NOW()</f></c>                                           ! Cell B2 has a formula without a result. Open the workbook in a spreadsheet program, and save it again.
		<c t="s"><v>9</v></c>                                         ! Cell B2 refers to a text that the workbook does not have. Open it in a spreadsheet program, and save it again.
	`) {
		sheet := `<row r="1"><c r="A1" t="str"><v>a</v></c><c r="B1" t="str"><v>b</v></c></row>` +
			`<row r="2"><c r="A2"><v>1</v></c>` + strings.Replace(cell, "<c", `<c r="B2"`, 1) +
			`</row><row r="3"><c r="A3"><v>1</v></c></row>`
		_, got, err := read(string(workbook(t, map[string]string{"xl/worksheets/sheet1.xml": sheetOf(sheet)})))
		line := "2 1|" + want
		if strings.HasPrefix(want, "!") {
			line = "2" + want
		}
		if err != nil || len(got) != 2 || got[0] != line || got[1] != "3 1|" {
			t.Errorf("%s: %q, %v, want %q", cell, got, err, line)
		}
	}
}

func TestSheetsOfAWorkbook(t *testing.T) {
	t.Parallel()
	const name = `<c t="str"><v>name</v></c>`
	empty := sheetOf(`<row r="1"><c r="A1" s="1"/></row>`)
	for _, c := range []struct {
		name  string
		parts map[string]string
		want  string
	}{
		{"a small one", nil, "name|city: 2 Ana|"},
		{"skipped cells, rows and columns", map[string]string{"xl/worksheets/sheet1.xml": sheetOf(`<row r="3">` + name +
			`<c r="C3" t="str"><v>city</v></c></row><row r="7"><c r="C7" t="str"><v>Rome</v></c><c r="XFD7" s="1"/></row><row r="8"><c r="A8" s="1"/></row>`)},
			"name||city: 7 ||Rome"},
		{"a sheet that is hidden comes first", map[string]string{
			"xl/workbook.xml":          `<workbook xmlns:r="r"><sheets><sheet name="Old" state="hidden" r:id="s1"/><sheet name="New" r:id="s2"/></sheets></workbook>`,
			"xl/worksheets/sheet2.xml": sheetOf(`<row>` + name + `</row><row><c t="str"><v>Jo</v></c></row>`)},
			"name: 2 Jo"},
		{"a sheet that is empty comes first", map[string]string{
			"xl/workbook.xml":          `<workbook xmlns:r="r"><sheets><sheet name="Empty" r:id="s1"/><sheet name="Full" r:id="s2"/></sheets></workbook>`,
			"xl/worksheets/sheet1.xml": empty, "xl/worksheets/sheet2.xml": sheetOf(`<row>` + name +
				`</row><row><c t="str"><v>Jo</v></c></row>`)}, "name: 2 Jo"},
		{"days from 1904 on",
			map[string]string{"xl/workbook.xml": `<workbook xmlns:r="r"><workbookPr date1904="1"/><sheets><sheet name="One" r:id="s1"/></sheets></workbook>`,
				"xl/worksheets/sheet1.xml": sheetOf(`<row>` + name + `</row><row><c s="1"><v>44591</v></c></row>`)},
			"name: 2 2026-01-31"},
		{"prefixes of names, no styles, no shared texts",
			map[string]string{"xl/_rels/workbook.xml.rels": strings.ReplaceAll(related, "x/s", "x/no"),
				"xl/styles.xml": "", "xl/sharedStrings.xml": "",
				"xl/worksheets/sheet1.xml": `<x:worksheet><x:sheetData><x:row><x:c t="str"><x:v>name</x:v></x:c></x:row><x:row><x:c><x:v>5</x:v></x:c></x:row></x:sheetData></x:worksheet>`}, "name: 2 5"},
		{"rows whose numbers do not ascend", map[string]string{"xl/worksheets/sheet1.xml": sheetOf(`<row r="1">` +
			name +
			`</row><row r="5"><c><v>1</v></c></row><row r="5"><c><v>2</v></c></row><row r="2"><c><v>3</v></c></row>` +
			`<row r="9223372036854775807"><c><v>4</v></c></row><row><c><v>5</v></c></row>`)},
			"name: 5 1; 6 2; 7 3; 8 4; 9 5"},
		{"an archive of a program that writes paths with backslashes",
			map[string]string{"xl/worksheets/sheet1.xml": "", `xl\worksheets\sheet1.xml`: sheetOf(`<row>` + name +
				`</row><row><c><v>5</v></c></row>`)}, "name: 2 5"},
		{"a value beyond the last column", map[string]string{"xl/worksheets/sheet1.xml": sheetOf(`<row>` + name +
			`</row><row><c r="A2"><v>1</v></c><c r="XFD2"><v>1</v></c></row>`)},
			"name: 2! Cell XFD2 is beyond column 1000. Delete the columns that you do not need."},
	} {
		header, rows, err := read(string(workbook(t, c.parts)))
		if got := strings.Join(header, "|") + ": " + strings.Join(rows, "; "); err != nil || got != c.want {
			t.Errorf("%s: %s, %v, want %s", c.name, got, err, c.want)
		}
	}
}

// TestOtherSheetsAreNamed: a person must know of rows that are not read. A sheet that is hidden or empty has none.
func TestOtherSheetsAreNamed(t *testing.T) {
	t.Parallel()
	list := `<Relationships>`
	sheets := `<workbook xmlns:r="r"><sheets>`
	parts := map[string]string{}
	row := sheetOf(`<row><c t="str"><v>name</v></c></row>`)
	for i, c := range []struct{ name, state, content string }{{"Empty", "", sheetOf("")}, {"2024", "", row},
		{"2025", "", sheetOf(`<row><c s="1"/></row><row><c t="e"><v>#N/A</v></c></row>`)},
		{"Blank", "visible", sheetOf(`<row><c s="1"/></row>`)},
		{"Old", "hidden", row}, {"Broken", "", "<"}, {strings.Repeat("é", 100), "", row}} {
		list += fmt.Sprintf(`<Relationship Id="s%d" Type="x/worksheet" Target="worksheets/s%d.xml"/>`, i, i)
		sheets += fmt.Sprintf(`<sheet name="%s" state="%s" r:id="s%d"/>`, c.name, c.state, i)
		parts[fmt.Sprintf("xl/worksheets/s%d.xml", i)] = c.content
	}
	parts["xl/_rels/workbook.xml.rels"], parts["xl/workbook.xml"] = list+`</Relationships>`,
		sheets+`</sheets></workbook>`
	file := workbook(t, parts)
	r := must(table.Open(bytes.NewReader(file), int64(len(file)), "x"))(t)
	equal(t, strings.Join(r.OtherSheets, "|"), "2025|"+strings.Repeat("é", 50), "the other sheets")
}

// TestTypedCells: numbers and days are such in each format.
func TestTypedCells(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 1, 31, 9, 8, 7, 0, time.UTC)
	cells := []any{nil, true, int64(-7), int64(1234567890123456789), table.Number("12.50"), table.Number("=1"),
		table.Day(day), day, table.Day(time.Date(1066, 10, 14, 0, 0, 0, 0, time.UTC)),
		table.Day(time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC))}
	names := []string{"nil", "bool", "int", "long", "number", "wrong", "day", "time", "old", "never"}
	for format, want := range map[string]string{
		"csv":   "|true|-7|1234567890123456789|12.50|=1|2026-01-31|2026-01-31T09:08:07Z|1066-10-14|9999-12-31",
		"jsonl": "|true|-7|1234567890123456789|12.50|=1|2026-01-31|2026-01-31T09:08:07Z|1066-10-14|9999-12-31",
		"xlsx":  "|true|-7|1234567890123456789|12.50|=1|2026-01-31|2026-01-31 09:08:07|1066-10-14|9999-12-31",
	} {
		var file bytes.Buffer
		w := must(table.NewWriter(&file, format))(t)
		succeed(t, cmp.Or(w.Header(names), w.Row(cells), w.Close()))
		header, rows, err := read(file.String())
		if format == "jsonl" { // null has no column
			want = want[1:]
		}
		if err != nil || len(rows) != 1 || !strings.HasSuffix(rows[0], " "+want) {
			t.Errorf("%s: %v %q, %v", format, header, rows, err)
		}
	}
	if _, err := table.NewWriter(io.Discard, "pdf"); err == nil {
		t.Error("a table was written as PDF")
	}
}

// TestTimesOfAWorkbook: less than a day is a time of day, whichever day a workbook counts from, and hours that are
// counted beyond a day are no date.
func TestTimesOfAWorkbook(t *testing.T) {
	t.Parallel()
	const styles = `<styleSheet><numFmts><numFmt numFmtId="170" formatCode="[h]:mm"/><numFmt numFmtId="171" formatCode="[$-409]h:mm"/><numFmt numFmtId="172" formatCode="[Red]d.m.yyyy"/></numFmts>` +
		`<cellXfs><xf numFmtId="14"/><xf numFmtId="20"/><xf numFmtId="22"/><xf numFmtId="46"/><xf numFmtId="170"/><xf numFmtId="171"/><xf numFmtId="172"/></cellXfs></styleSheet>`
	// In a workbook that counts from 1900, and in one from 1904.
	for _, c := range rows.Of[struct{ Cell, From1900, From1904 string }](`
		<c s="1"><v>0.5</v></c>                 12:00:00             12:00:00
		<c s="1"><v>0</v></c>                   00:00:00             00:00:00
		<c s="2"><v>0.25</v></c>                06:00:00             06:00:00
		<c s="5"><v>0.75</v></c>                18:00:00             18:00:00
		<c s="1"><v>44591.5</v></c>             2022-01-30 12:00:00  2026-01-31 12:00:00
		<c s="3"><v>1.25</v></c>                30:00:00             30:00:00
		<c s="4"><v>4.1666666666666666</v></c>  100:00:00            100:00:00
		<c s="4"><v>0.5</v></c>                 12:00:00             12:00:00
		<c s="4"><v>2</v></c>                   48:00:00             48:00:00
		<c s="0"><v>44591</v></c>               2022-01-30           2026-01-31
		<c s="6"><v>44591</v></c>               2022-01-30           2026-01-31
		<c s="0"><v>2958465</v></c>             9999-12-31           2958465
	`) {
		for first, want := range map[string]string{"0": c.From1900, "1": c.From1904} {
			file := workbook(t, map[string]string{
				"xl/styles.xml": styles,
				"xl/workbook.xml": `<workbook xmlns:r="r"><workbookPr date1904="` + first +
					`"/><sheets><sheet name="One" r:id="s1"/></sheets></workbook>`,
				"xl/worksheets/sheet1.xml": sheetOf(`<row><c t="str"><v>a</v></c></row><row>` + c.Cell + `</row>`),
			})
			if _, got, err := read(string(file)); err != nil || len(got) != 1 || got[0] != "2 "+want {
				t.Errorf("%s, date1904=%s: %q, %v, want %q", c.Cell, first, got, err, want)
			}
		}
	}
}
