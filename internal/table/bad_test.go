package table_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

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
func bombOf(t testing.TB, name, start, again string, size int, declared uint64) []byte {
	t.Helper()
	var packed bytes.Buffer
	var file bytes.Buffer
	{
		inner := zip.NewWriter(&packed)
		part, err := inner.Create("x")
		if err != nil {
			t.Fatal(err)
		}
		if _, err = io.Copy(part, io.NewSectionReader(pattern{start, again, int64(size)}, 0, int64(size))); err != nil {
			t.Fatal(err)
		}
		if err := inner.Close(); err != nil {
			t.Fatal(err)
		}
	}
	archive, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := archive.File[0].OpenRaw()
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(&file)
	rest, err := zip.NewReader(bytes.NewReader(workbook(t, map[string]string{name: ""})), int64(len(workbook(t, map[string]string{name: ""}))))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range rest.File {
		if err := w.Copy(part); err != nil {
			t.Fatal(err)
		}
	}
	if declared == 0 {
		declared = archive.File[0].UncompressedSize64
	}
	part, err := w.CreateRaw(&zip.FileHeader{Name: name, Method: zip.Deflate, CRC32: crc32.ChecksumIEEE(nil), CompressedSize64: archive.File[0].CompressedSize64, UncompressedSize64: declared})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(part, raw); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// heaped is how much more memory is in use at most while a file is read, and with what the reading ends. A row that is wrong is no end.
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
			if firstFault == "" {
				firstFault = broken.Error()
			}
			err = nil
		}
		if rows%10_000 == 0 {
			look()
		}
	}
	look()
	return most, firstFault, err
}

// TestBadFiles: each is refused in words that tell what to do, or its wrong rows are named, in little memory. The test does not run
// beside others, because it measures memory.
func TestBadFiles(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(50)) // what is left of millions of rows must not count because a busy machine collects it late
	const mega = 1 << 20
	small := string(workbook(t, nil))
	many := func(text string) string { return strings.Repeat(text, 10_000) } // it is faster
	wide := strings.TrimSuffix(strings.Repeat("c,", 500), ",")
	const save = "Save the table as CSV or .xlsx, and use that file."
	const damaged = "The workbook is damaged or incomplete. Open it in a spreadsheet program, and save it again as .xlsx."
	const bomb = "The workbook is much larger unpacked than its size allows. Save the table as CSV, and use that file."
	const noWorkbook = "This is a zip archive, but not an .xlsx workbook. Unpack it and use the table in it, or save the table as CSV or .xlsx."
	for _, c := range []struct {
		name  string
		file  string
		large *pattern
		want  string // of the file
		fault string // of its first row that is wrong
	}{
		{name: "empty", want: "The file is empty."},
		{name: "a mark alone", file: "\ufeff", want: "The file is empty."},
		{name: "blank lines", file: " \r\n\n,,\n", want: "The file is empty."},
		{name: "blank UTF-16", file: "\xff\xfe\n\x00", want: "The file is empty."},
		{name: "a program", file: "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x3e\x00", want: "This is not a table: it has bytes that no text has. " + save},
		{name: "NUL bytes", file: "name,city\nA\x00na,Rome\n", want: "This is not a table: it has bytes that no text has. " + save},
		{name: "an image", file: "\x89PNG\r\n\x1a\n", want: "This is an image, not a table. " + save},
		{name: "a photo", file: "\xff\xd8\xff\xe0\x00\x10JFIF", want: "This is an image, not a table. " + save},
		{name: "a PDF", file: "%PDF-1.7\n", want: "This is a PDF document, not a table. " + save},
		{name: "an old workbook, or one with a password", file: "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", want: "This is a workbook with a password or in the old .xls format. Open it, remove the password, and save it as .xlsx."},
		{name: "a web page as .xls", file: "\ufeff\n<html><table><tr><td>name", want: "This is a web page or XML, even if its name ends with .xls. Open it in a spreadsheet program, and save it as .xlsx."},
		{name: "vCards", file: "BEGIN:VCARD\r\nVERSION:3.0", want: "This is a vCard file. Export the contacts as CSV instead."},
		{name: "a compressed file", file: "\x1f\x8b\x08", want: "This is a compressed file. Unpack it first, and use the table in it."},
		{name: "a JSON array", file: "[\n  {\"name\": \"Ana\"}]", want: "This is a JSON array. Save it as JSON Lines instead: one object on each line, with no commas between them."},
		{name: "an object over many lines", file: "{\n  \"name\": \"Ana\"\n}\n", want: "No line of the file is a JSON object. Line 1: The line must be one JSON object. Near byte 2 it is not valid JSON."},
		{name: "500 columns", file: wide + "\n" + wide + "\n"},
		{name: "1001 columns", file: wide + "," + wide + ",c\n", want: "The table has more than 1000 columns. Delete those that you do not need."},
		{name: "1001 names in JSON", file: "{\"a\":[" + strings.TrimSuffix(strings.Repeat("1,", 1001), ",") + "]}\n", want: "The table has more than 1000 columns. Delete those that you do not need."},
		{name: "a deep object", file: "{\"a\":1}\n{\"a\":" + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + "}\n", fault: "Line 2: The object has more than 16 levels."},
		{name: "a long name in JSON", file: "{\"a\":1}\n{\"" + strings.Repeat("a", mega) + "\":1}\n", fault: "Line 2: The object has a name of more than 1000 bytes."},
		{name: "a header that is a sentence", file: strings.Repeat("a", 2_000) + ",b\n", want: "The header in line 1 has a name of more than 1000 bytes. The first row must name the columns."},
		{name: "a cell of 2 MB", file: "a,b\n" + strings.Repeat("x", 2*mega) + ",y\n", fault: "Line 2: The cell in column 1 (a) is longer than 1 MiB."},
		{name: "a line of 100 MB", large: &pattern{"name,city\n", many("x"), 100 * mega}, fault: "Line 2: The row is longer than 4 MiB."},
		{name: "a line of 20 MB in UTF-16", large: &pattern{"\xff\xfea\x00\n\x00", many("x\x00"), 20 * mega}, fault: "Line 2: The row is longer than 4 MiB."},
		{name: "a header of 20 MB", large: &pattern{"", many("x"), 20 * mega}, want: "The header in line 1 cannot be read. The row is longer than 4 MiB."},
		{name: "a JSON line of 20 MB", large: &pattern{"{\"a\":1}\n{\"a\":\"", many("x"), 20 * mega}, fault: "Line 2: The row is longer than 4 MiB."},
		{name: "a quote that swallows the file", large: &pattern{"a,b\nx,\"y\n", many("Ana,Rome\n"), 20 * mega}, fault: "Line 2: A quote in this row is not closed. Put a cell with quotes, separators or line breaks in quotes, and write each quote in it twice."},
		{name: "quotes that are never closed", large: &pattern{"a,b\n", many("\"\"\"\"x\n"), 20 * mega}, want: "Too many rows up to line 18 have a quote that is not closed. Save the table as .xlsx, and use that file.", fault: "Line 2: A quote in this row is not closed. Put a cell with quotes, separators or line breaks in quotes, and write each quote in it twice."},
		{name: "no workbook", file: "PK\x05\x06" + strings.Repeat("\x00", 18), want: noWorkbook},
		{name: "a document of a word processor", file: string(workbook(t, map[string]string{"xl/workbook.xml": ""})), want: noWorkbook},
		{name: "a workbook without sheets", file: string(workbook(t, map[string]string{"xl/workbook.xml": "<workbook><sheets/></workbook>"})), want: "The workbook has no sheet that can be seen. Show the sheet with the table, and save the workbook again."},
		{name: "a workbook without rows", file: string(workbook(t, map[string]string{"xl/worksheets/sheet1.xml": sheetOf("")})), want: "The workbook has no sheet with rows in it."},
		{name: "a workbook that is cut", file: small[:len(small)-40], want: damaged},
		{name: "a workbook that is cut early", file: small[:200], want: damaged},
		{name: "a workbook with a broken part", file: string(workbook(t, map[string]string{"xl/worksheets/sheet1.xml": "<worksheet><sheetData><row><c><v>1</c></row"})), want: damaged},
		{name: "a bomb", file: string(bombOf(t, "xl/worksheets/sheet1.xml", "<worksheet>", many(" "), 120*mega, 0)), want: bomb},
		{name: "a bomb that calls itself small", file: string(bombOf(t, "xl/worksheets/sheet1.xml", "<worksheet>", many("<x/>"), 120*mega, 10)), want: damaged},
		{name: "a bomb of one text", file: string(bombOf(t, "xl/sharedStrings.xml", "<sst><si><t>", many("x"), 20*mega, 0)), want: "The workbook has a cell of more than 4 MiB. Shorten it, or delete it."},
		{name: "a workbook with a long list of parts", file: longDirectory(t), want: noWorkbook},
		{name: "a workbook whose list of parts is long and stands elsewhere", file: hiddenDirectory(), want: noWorkbook},
	} {
		var file io.ReaderAt = strings.NewReader(c.file)
		size := int64(len(c.file))
		if c.large != nil {
			file, size = *c.large, c.large.size
		}
		most, fault, err := heaped(file, size)
		message := ""
		var refused *table.FileError
		switch {
		case errors.As(err, &refused):
			message = refused.Message
			if refused.Name != "people.csv" {
				t.Errorf("%s: the file is called %s", c.name, refused.Name)
			}
		case !errors.Is(err, io.EOF):
			message = err.Error()
		}
		if message != c.want || fault != c.fault {
			t.Errorf("%s:\n%s\n%s\nwant\n%s\n%s", c.name, message, fault, c.want, c.fault)
		}
		if most > 24*mega {
			t.Errorf("%s took %d MB of memory", c.name, most/1e6)
		}
	}
}

// longDirectory is an archive with more parts than a workbook has.
func longDirectory(t testing.TB) string {
	t.Helper()
	var file bytes.Buffer
	w := zip.NewWriter(&file)
	for range 25_000 {
		if _, err := w.CreateRaw(&zip.FileHeader{Name: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.String()
}

// hiddenDirectory is an archive whose last record says that another one, which has room for larger numbers, knows where the list of parts is.
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

// TestSmallFilesNameFewCells: a file of less than a megabyte must not take a processor for minutes, by the cells that its rows leave out or by rows and
// columns that no spreadsheet program has.
func TestSmallFilesNameFewCells(t *testing.T) {
	t.Parallel()
	narrow := `<row><c t="str"><v>a</v></c><c t="str"><v>b</v></c></row>`
	wide := "<row>" + strings.Repeat(`<c t="str"><v>a</v></c>`, 1000) + "</row>"
	const cells, outside = "The table has too many cells, most of them empty.", "no spreadsheet program has any"
	for name, c := range map[string]struct{ rows, want string }{
		"short rows of a wide table": {wide + strings.Repeat(`<row><c><v>1</v></c></row>`, 100_000), cells},
		"wrong cells of wide rows":   {wide + strings.Repeat(`<row><c t="e"><v>x</v></c><c r="ALL1"><v>1</v></c></row>`, 100_000), cells},
		"cells beyond all columns":   {narrow + `<row><c r="XFE2"/></row>`, outside},
		"rows beyond all rows":       {narrow + strings.Repeat("<row/>", 1<<20) + `<row><c><v>1</v></c></row>`, outside},
	} {
		file := string(workbook(t, map[string]string{"xl/worksheets/sheet1.xml": sheetOf(c.rows)}))
		if n, err := countRows(file); err == nil || !strings.Contains(err.Error(), c.want) || n > 70_000 {
			t.Errorf("%s: %d rows were read, %v", name, n, err)
		}
	}
	short := strings.Repeat("a,", 999) + "a\n" + strings.Repeat("1\n", 100_000)
	if n, err := countRows(short); err == nil || !strings.Contains(err.Error(), cells) || n > 70_000 {
		t.Errorf("short lines: %d rows were read, %v", n, err)
	}
	whole := `<row><c t="str"><v>a</v></c></row>` + strings.Repeat(`<row><c><v>1</v></c></row>`, 1<<20-1)
	if n, err := countRows(string(workbook(t, map[string]string{"xl/worksheets/sheet1.xml": sheetOf(whole)}))); err != nil || n != 1<<20-1 {
		t.Errorf("a sheet that is full: %d rows were read, %v", n, err)
	}
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
