package table_test

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/drill"
	"donorbook/internal/rig/rows"
	"donorbook/internal/table"
)

// pattern is a file that is larger than memory should be: a beginning, and then a text again and again.
type pattern struct {
	start, again string
	size         int64
}

func (p pattern) ReadAt(b []byte, at int64) (int, error) {
	n := 0
	for n < len(b) && at < p.size {
		from := p.again
		i := int64(0)
		if at < int64(len(p.start)) {
			from, i = p.start, at
		} else {
			i = (at - int64(len(p.start))) % int64(len(p.again))
		}
		copied := copy(b[n:min(int64(len(b)), int64(n)+p.size-at)], from[i:])
		n, at = n+copied, at+int64(copied)
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// bombOf is a workbook with a part that unpacks to a text again and again. It says of it that it has so many bytes.
func bombOf(t testing.TB, name, start, again string, size int64, declared uint64) string {
	t.Helper()
	var packed, file bytes.Buffer
	inner := zip.NewWriter(&packed)
	part := must(inner.Create("x"))(t)
	must(io.Copy(part, io.NewSectionReader(pattern{start, again, size}, 0, size)))(t)
	succeed(t, inner.Close())
	bomb := must(zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len())))(t).File[0]
	w, small := zip.NewWriter(&file), workbook(t, map[string]string{name: ""})
	for _, part := range must(zip.NewReader(bytes.NewReader(small), int64(len(small))))(t).File {
		succeed(t, w.Copy(part))
	}
	if declared == 0 {
		declared = bomb.UncompressedSize64
	}
	part = must(w.CreateRaw(&zip.FileHeader{Name: name, Method: zip.Deflate, CRC32: crc32.ChecksumIEEE(nil),
		CompressedSize64: bomb.CompressedSize64, UncompressedSize64: declared}))(t)
	must(io.Copy(part, must(bomb.OpenRaw())(t)))(t)
	succeed(t, w.Close())
	return file.String()
}

// heaped is how much more memory is in use at most while a file is read, and with what the reading ends. A row that is
// wrong is no end.
func heaped(r io.ReaderAt, size int64) (most uint64, firstFault string, err error) {
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	look := func() {
		runtime.ReadMemStats(&now)
		if now.HeapAlloc > before.HeapAlloc {
			most = max(most, now.HeapAlloc-before.HeapAlloc)
		}
	}
	file, err := table.Open(r, size, "people.csv")
	look()
	for rows := 0; err == nil; rows++ {
		_, _, err = file.Next()
		var broken *table.RowError
		if errors.As(err, &broken) {
			firstFault, err = cmp.Or(firstFault, broken.Error()), nil
		}
		if rows%10_000 == 0 {
			look()
		}
	}
	look()
	return most, firstFault, err
}

// A bad file is refused in words that tell what to do, or its wrong rows are named, in little memory. The test does not
// run beside others, because it measures memory.
func TestBadFiles(t *testing.T) {
	// What is left of millions of rows must not count because a busy machine collects it late.
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	const mega, large = 1 << 20, 6 << 20 // a row may have 4 MiB
	const damaged = "The workbook is damaged or incomplete. Open it in a spreadsheet program, and save it again as .xlsx."
	const bomb = "The workbook is much larger unpacked than its size allows. Save the table as CSV, and use that file."
	const noWorkbook = "This is a zip archive, but not an .xlsx workbook. Unpack it and use the table in it, or save the table as CSV or .xlsx."
	const long = "Line 2: The row is longer than 4 MiB."
	const unclosed = "Line 2: A quote in this row is not closed. " +
		"Put a cell with quotes, separators or line breaks in quotes, and write each quote in it twice."
	many := func(text string) string { return strings.Repeat(text, 10_000) } // it is faster
	of := func(text string) pattern { return pattern{text, "", int64(len(text))} }
	part := func(name, content string) pattern {
		return of(string(workbook(t, map[string]string{"xl/" + name: content})))
	}
	small, wide := string(workbook(t, nil)), strings.TrimSuffix(strings.Repeat("c,", 500), ",")
	bombSize := int64(120 * mega / table.Scale)
	type bad struct {
		file  pattern
		want  string // of the file
		fault string // of its first row that is wrong
	}
	all := map[string]bad{
		"500 columns": {of(wide + "\n" + wide + "\n"), "", ""},
		"1001 columns": {of(wide + "," + wide + ",c\n"),
			"The table has more than 1000 columns. Delete those that you do not need.", ""},
		"1001 names in JSON": {of("{\"a\":[" + strings.TrimSuffix(strings.Repeat("1,", 1001), ",") + "]}\n"),
			"The table has more than 1000 columns. Delete those that you do not need.", ""},
		"a deep object": {of("{\"a\":1}\n{\"a\":" + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + "}\n"),
			"", "Line 2: The object has more than 16 levels."},
		"a long name in JSON": {of("{\"a\":1}\n{\"" + strings.Repeat("a", mega) + "\":1}\n"),
			"", "Line 2: The object has a name of more than 1000 bytes."},
		"a header that is a sentence": {of(strings.Repeat("a", 2_000) + ",b\n"),
			"The header in line 1 has a name of more than 1000 bytes. The first row must name the columns.", ""},
		"a cell of 2 MB": {of("a,b\n" + strings.Repeat("x", 2*mega) + ",y\n"),
			"", "Line 2: The cell in column 1 (a) is longer than 1 MiB."},
		"a line of 100 MB": {pattern{"name,city\n", many("x"), 100 * mega}, "", long},
		"a line in UTF-16": {pattern{"\xff\xfea\x00\n\x00", many("x\x00"), 2 * large}, "", long},
		"a header of 6 MB": {pattern{"", many("x"), large},
			"The header in line 1 cannot be read. The row is longer than 4 MiB.", ""},
		"a JSON line":       {pattern{"{\"a\":1}\n{\"a\":\"", many("x"), large}, "", long},
		"an unclosed quote": {pattern{"a,b\nx,\"y\n", many("Ana,Rome\n"), large}, "", unclosed},
		"no quote is closed": {pattern{"a,b\n", many("\"\"\"\"x\n"), 2 * large},
			fmt.Sprintf("Too many rows up to line %d have "+
				"a quote that is not closed. Save the table as .xlsx, and use that file.", 16/table.Scale+2), unclosed},
		"no workbook":                    {of("PK\x05\x06" + strings.Repeat("\x00", 18)), noWorkbook, ""},
		"a document of a word processor": {part("workbook.xml", ""), noWorkbook, ""},
		"a workbook that is cut":         {of(small[:len(small)-40]), damaged, ""},
		"a workbook that is cut early":   {of(small[:200]), damaged, ""},
		"a workbook with a broken part": {part("worksheets/sheet1.xml",
			"<worksheet><sheetData><row><c><v>1</c></row"), damaged, ""},
		"a workbook without rows": {part("worksheets/sheet1.xml", sheetOf("")),
			"The workbook has no sheet with rows in it.", ""},
		"a workbook with a list of parts": {of(longDirectory(t)), noWorkbook, ""},
		"one whose list stands elsewhere": {of(hiddenDirectory()), noWorkbook, ""},
		"a workbook without sheets": {part("workbook.xml", "<workbook><sheets/></workbook>"),
			"The workbook has no sheet that can be seen. Show the sheet with the table, and save the workbook again.",
			""},
		"a bomb": {of(bombOf(t, "xl/worksheets/sheet1.xml", "<worksheet>", many(" "), bombSize, 0)), bomb, ""},
		"a bomb that calls itself small": {of(bombOf(t, "xl/worksheets/sheet1.xml", "<worksheet>", many("<x/>"),
			bombSize, 10)),
			damaged, ""},
		"a bomb of one text": {of(bombOf(t, "xl/sharedStrings.xml", "<sst><si><t>", many("x"), large, 0)),
			"The workbook has a cell of more than 4 MiB. Shorten it, or delete it.", ""},
	}
	for _, c := range rows.Of[struct{ Name, File, Want string }](`
		empty                                    ""                                                            The file is empty.
		a mark alone                             "\ufeff"                                                      The file is empty.
		blank lines                              " \r\n\n,,\n"                                                 The file is empty.
		blank UTF-16                             "\xff\xfe\n\x00"                                              The file is empty.
		a program                                "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x3e\x00"  This is not a table: it has bytes that no text has. Save the table as CSV or .xlsx, and use that file.
		NUL bytes                                "name,city\nA\x00na,Rome\n"                                   This is not a table: it has bytes that no text has. Save the table as CSV or .xlsx, and use that file.
		an image                                 "\x89PNG\r\n\x1a\n"                                           This is an image, not a table. Save the table as CSV or .xlsx, and use that file.
		a photo                                  "\xff\xd8\xff\xe0\x00\x10JFIF"                                This is an image, not a table. Save the table as CSV or .xlsx, and use that file.
		a PDF                                    "%PDF-1.7\n"                                                  This is a PDF document, not a table. Save the table as CSV or .xlsx, and use that file.
		an old workbook, or one with a password  "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"                            This is a workbook with a password or in the old .xls format. Open it, remove the password, and save it as .xlsx.
		a web page as .xls                       "\ufeff\n<html><table><tr><td>name"                           This is a web page or XML, even if its name ends with .xls. Open it in a spreadsheet program, and save it as .xlsx.
		vCards                                   "BEGIN:VCARD\r\nVERSION:3.0"                                  This is a vCard file. Export the contacts as CSV instead.
		a compressed file                        "\x1f\x8b\x08"                                                This is a compressed file. Unpack it first, and use the table in it.
		a JSON array                             "[\n \x20{\"name\": \"Ana\"}]"                                This is a JSON array. Save it as JSON Lines instead: one object on each line, with no commas between them.
		an object over many lines                "{\n \x20\"name\": \"Ana\"\n}\n"                              No line of the file is a JSON object. Line 1: The line must be one JSON object. Near byte 2 it is not valid JSON.
	`) {
		all[c.Name] = bad{of(c.File), c.Want, ""}
	}
	for name, c := range all {
		most, fault, err := heaped(c.file, c.file.size)
		message := ""
		var refused *table.FileError
		switch {
		case errors.As(err, &refused):
			message = refused.Message
			equal(t, refused.Name, "people.csv", "%s: the file is called", name)
		case !errors.Is(err, io.EOF):
			message = err.Error()
		}
		equal(t, message, c.want, "%s", name)
		equal(t, fault, c.fault, "%s", name)
		if most > 24*mega {
			t.Errorf("%s took %d MB of memory", name, most/1e6)
		}
	}
}

// longDirectory is an archive with more parts than a workbook has.
func longDirectory(t testing.TB) string {
	t.Helper()
	var file bytes.Buffer
	w := zip.NewWriter(&file)
	for range 25_000 {
		must(w.CreateRaw(&zip.FileHeader{Name: "x"}))(t)
	}
	succeed(t, w.Close())
	return file.String()
}

// hiddenDirectory is an archive whose last record says that another one, which has room for larger numbers, knows where
// the list of parts is.
func hiddenDirectory() string {
	const parts = 200_000
	start := "PK\x03\x04" + strings.Repeat("\x00", 40)
	part := "PK\x01\x02" + strings.Repeat("\x00", 24) + "\x01\x00" + strings.Repeat("\x00", 16) + "x"
	list := strings.Repeat(part, parts)
	order := binary.LittleEndian
	large := append([]byte("PK\x06\x06"), make([]byte, 52)...)
	order.PutUint64(large[4:], 44)
	order.PutUint64(large[24:], parts)
	order.PutUint64(large[32:], parts)
	order.PutUint64(large[40:], uint64(len(list)))
	order.PutUint64(large[48:], uint64(len(start)))
	where := append([]byte("PK\x06\x07"), make([]byte, 16)...)
	order.PutUint64(where[8:], uint64(len(start)+len(list)))
	order.PutUint32(where[16:], 1)
	end := append([]byte("PK\x05\x06"), make([]byte, 18)...)
	order.PutUint32(end[16:], 1<<32-1)
	return start + list + string(large) + string(where) + string(end)
}

// A file of less than a megabyte must not take a processor for minutes, by the cells that its rows leave out or by rows
// and columns that no spreadsheet program has.
func TestSmallFilesNameFewCells(t *testing.T) {
	t.Parallel()
	rows, most := 100_000/table.Scale, 70_000/table.Scale
	narrow := `<row><c t="str"><v>a</v></c><c t="str"><v>b</v></c></row>`
	wide := "<row>" + strings.Repeat(`<c t="str"><v>a</v></c>`, 1000) + "</row>"
	const cells, outside = "The table has too many cells, most of them empty.", "no spreadsheet program has any"
	sheet := func(rows string) string {
		return string(workbook(t, map[string]string{"xl/worksheets/sheet1.xml": sheetOf(rows)}))
	}
	for name, c := range map[string]struct{ file, want string }{
		"short rows of a wide table": {sheet(wide + strings.Repeat(`<row><c><v>1</v></c></row>`, rows)), cells},
		"wrong cells of wide rows": {sheet(wide +
			strings.Repeat(`<row><c t="e"><v>x</v></c><c r="ALL1"><v>1</v></c></row>`, rows)),
			cells},
		"cells beyond all columns": {sheet(narrow + `<row><c r="XFE2"/></row>`), outside},
		"rows beyond all rows": {sheet(narrow + strings.Repeat("<row/>", 1<<20) + `<row><c><v>1</v></c></row>`),
			outside},
		"short lines": {strings.Repeat("a,", 999) + "a\n" + strings.Repeat("1\n", rows), cells},
	} {
		if n, err := countRows(c.file); err == nil || !strings.Contains(err.Error(), c.want) || n > most {
			t.Errorf("%s: %d rows were read, %v", name, n, err)
		}
	}
	if !drill.On {
		return
	}
	whole := `<row><c t="str"><v>a</v></c></row>` + strings.Repeat(`<row><c><v>1</v></c></row>`, 1<<20-1)
	equal(t, must(countRows(sheet(whole)))(t), 1<<20-1, "a sheet that is full")
}

// countRows counts the rows of a file, also those that are wrong.
func countRows(file string) (n int, err error) {
	r, err := table.Open(strings.NewReader(file), int64(len(file)), "people")
	for err == nil {
		var broken *table.RowError
		if _, _, err = r.Next(); errors.As(err, &broken) {
			err = nil
		}
		n++
	}
	if errors.Is(err, io.EOF) {
		return n - 1, nil
	}
	return n, err
}

// must and succeed are for calls that must succeed. Package rig has them, too, and would link two databases.

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		succeed(t, err)
		return v
	}
}

func succeed(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T any](t assert.Failer, got, want T, what ...any) {
	t.Helper()
	assert.Equal(t, got, want, what...)
}
