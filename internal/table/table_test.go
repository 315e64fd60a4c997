package table_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"donorbook/internal/rig/rows"
	"donorbook/internal/table"
)

// read is a whole table: its header and its rows, or what is wrong with them, each with its line.
func read(content string) (header []string, rows []string, err error) {
	r, err := table.Open(strings.NewReader(content), int64(len(content)), "people.csv")
	if err != nil {
		return nil, nil, err
	}
	for {
		row, line, err := r.Next()
		var broken *table.RowError
		switch {
		case errors.Is(err, io.EOF):
			return r.Header(), rows, nil
		case errors.As(err, &broken):
			rows = append(rows, fmt.Sprintf("%d! %s", broken.Line, broken.Message))
		case err != nil:
			return r.Header(), rows, err
		default:
			rows = append(rows, fmt.Sprintf("%d %s", line, strings.Join(row, "|")))
		}
	}
}

func utf16Text(text string, order binary.AppendByteOrder) string {
	var encoded []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		encoded = order.AppendUint16(encoded, unit)
	}
	return string(encoded)
}

func TestTablesOfText(t *testing.T) {
	t.Parallel()
	const french = "prénom;nom\r\nZoé;Müller\r\n"
	const unclosed = "A quote in this row is not closed. Put a cell with quotes, separators or line breaks in quotes, and write each quote in it twice."
	type file struct{ Name, File, Header, Rows string }
	for _, c := range append(rows.Of[file](`
		commas                                                        "name,city\nAna,Rome\n"                                       name|city                     2 Ana|Rome
		semicolons, and commas in cells                               "name;city\nLopez, Ana;Rome\nDoe, Jo;Paris\n"                 name|city                     "2 Lopez, Ana|Rome\n3 Doe, Jo|Paris"
		tabs, and a cell with commas                                  "name\tcity\ttags\nAna\tRome\ta,b,c\n"                        name|city|tags                2 Ana|Rome|a,b,c
		a separator in quotes does not count                          "\"a;b;c\",city\n\"x;y;z\",Rome\n"                            a;b;c|city                    2 x;y;z|Rome
		a separator that is named                                     "sep=;\r\nname;city\r\nAna;Rome\r\n"                          name|city                     2 Ana|Rome
		one column                                                    "email\na@example.org\n\nb@example.org"                       email                         "2 a@example.org\n4 b@example.org"
		Windows-1252                                                  "pr\xe9nom,nom,don\nZo\xe9,M\xfcller,5 \x80\n"                prénom|nom|don                2 Zoé|Müller|5 €
		UTF-8 with a damaged row                                      "prénom,nom\nZoé,M\xfcller\nÉva,Ñandú\n"                      prénom|nom                    "2! The cell in column 2 (nom) is not text in UTF-8.\n3 Éva|Ñandú"
		line breaks, separators and quotes in cells                   "name,note\nAna,\"one\r\ntwo, \"\"three\"\"\"\nJo,\"\"\n"     name|note                     "2 Ana|one\r\ntwo, \"three\"\n3 Jo|"
		ends of lines of an old Mac                                   "name,city\rAna,Rome\r"                                       name|city                     2 Ana|Rome
		ends of lines of an old Mac, and other line breaks in cells   "name,\"the\nnote\"\rAna,\"one\ntwo\"\rJo,\r"                 "name|the\nnote"              "2 Ana|one\ntwo\n3 Jo|"
		a mark of a separator that names none                         "sep=\r\nname,city\r\nAna,Rome\r\n"                           sep=                          "2! The row has too many columns: 2. The header has 1.\n3! The row has too many columns: 2. The header has 1."
		blank lines before and between                                "\n\nname,city\n\n,\nAna,Rome\n , \n"                         name|city                     6 Ana|Rome
		spaces around names and before a quote                        " name , city\nAna, \"Rome, IT\"\n"                           name|city                     2 Ana|Rome, IT
		stray quotes stand for themselves                             "name,size\nThe \"Rock\",5\" 6\n\"Jo \"Joe\" Doe\",6\n"       name|size                     "2 The \"Rock\"|5\" 6\n3 Jo \"Joe\" Doe|6"
		empty columns at the end                                      "name,city\nAna,Rome,,\n"                                     name|city                     2 Ana|Rome
		rows without their empty cells at the end, and rows that are too long  "name,city,note\r\nAna\r\nJo,Paris,x,y\r\nEva,Wien\r\n\"Ida\"\r\n"  name|city|note                "2 Ana||\n3! The row has too many columns: 4. The header has 3.\n4 Eva|Wien|\n5 Ida||"
		a file that was cut                                           "name,city\nJo,Paris\nEva"                                    name|city                     "2 Jo|Paris\n3! The file ends within this row, which has 1 of 2 columns. Check that the file is complete."
		a file whose last line has no end                             "name,city\nJo,Paris\nEva,"                                   name|city                     "2 Jo|Paris\n3 Eva|"
		apostrophes that guard formulas                               "name,phone\n'Ana,'+1 212\n''Jo,''=1\n"                       name|phone                    "2 'Ana|+1 212\n3 ''Jo|'=1"
		JSON Lines                                                    "{\"name\":\"Ana\",\"age\":7,\"x\":null}\n\n{\"name\":\"Jo\",\"emails\":[{\"value\":\"j@example.org\"}],\"ok\":true,\"n\":1e3}\r\n"  name|age|emails.0.value|ok|n  "1 Ana|7|||\n3 Jo||j@example.org|true|1000"
		JSON Lines with broken lines                                  "{\"a\":1}\n{\"a\":\n[1]\n{\"a\":1,\"a\":2}\n{\"a\":1} x\n{\"a\":2}\n"  a                             "1 1\n2! The line must be one JSON object. Near byte 5 it is not valid JSON.\n3! The line must be a JSON object.\n4! The line must be one JSON object. Near byte 7 it is not valid JSON.\n5! The line must be one JSON object. Near byte 8 it is not valid JSON.\n6 2"
	`), []file{
		{"a mark of UTF-8", "\ufeff" + french, "prénom|nom", "2 Zoé|Müller"},
		{"UTF-8", french, "prénom|nom", "2 Zoé|Müller"},
		{"UTF-16, little end first", utf16Text("\ufeff"+french, binary.LittleEndian), "prénom|nom", "2 Zoé|Müller"},
		{"UTF-16, big end first", utf16Text("\ufeff"+french, binary.BigEndian), "prénom|nom", "2 Zoé|Müller"},
		{"UTF-16, little end first, without a mark", utf16Text(french, binary.LittleEndian), "prénom|nom",
			"2 Zoé|Müller"},
		{"UTF-16, big end first, without a mark", utf16Text(french, binary.BigEndian), "prénom|nom", "2 Zoé|Müller"},
		{"Windows-1252 far behind", "name\n" + strings.Repeat("Ana\n", 100_000) + "Zo\xe9\n", "name", "100002 Zoé"},
		{"a quote that is not closed costs its line alone", "name,city\nAna,\"Rome\nJo,\"Paris\"\nEva,Wien\n",
			"name|city", "2! " + unclosed + "\n3 Jo|Paris\n4 Eva|Wien"},
		{"a quote that is never closed", "name,city\n\"Ana,Rome\nJo,Paris\n", "name|city",
			"2! " + unclosed + "\n3 Jo|Paris"},
		{"a NUL far behind", "name,city\n" + strings.Repeat("Ana,Rome\n", 10_000) + "A\x00a,Rome\n", "name|city",
			"10002! The cell in column 1 (name) contains a NUL character, which is not text."},
	}...) {
		header, lines, err := read(c.File)
		if len(lines) > 1000 { // a file that is large alone has its point at the end
			lines = lines[len(lines)-1:]
		}
		if got := strings.Join(lines, "\n"); err != nil || strings.Join(header, "|") != c.Header || got != c.Rows {
			t.Errorf("%s: %v, header %q and\n%s\nwant %q and\n%s", c.Name, err, header, got, c.Header, c.Rows)
		}
	}
}

// TestObjectIsTheLine: who wants to read a row of JSON in another way gets it as it is.
func TestObjectIsTheLine(t *testing.T) {
	t.Parallel()
	const file = "{\"a\": {\"b\": [1]}}\n"
	r := must(table.Open(strings.NewReader(file), int64(len(file)), "x"))(t)
	if _, _, err := r.Next(); err != nil || string(r.Object()) != `{"a": {"b": [1]}}` {
		t.Errorf("%s, %v", r.Object(), err)
	}
}

// hostile are texts that have broken tables before.
var hostile = append(rows.All(`
	plain  ""  =1+1  +1 212 555 0100  -5  @SUM(A1)  ＝1+1  '＋1  －1  ＠x  "\tx"  "\rx"  "\nx"  '  '=1  ''=1  'x  ' =1
	a,b  a;b  "a\tb"  "  "\"\""  "\"a\""  a"b  " leading"  "trailing "  ;=1+1  x;=1+1;y  a;'=1  a;''+1  a|@x
	a|b|-1  "a\t=1"  "two\n=lines"  "two\r\n-lines"  a;;＝1  "'\t=1"  ';=1  "\";=1+1;\""  "a;\t=1"  a;b'=1
	"two\nlines"  "two\r\nlines"  "old\rmac"  "ends\r"  "ends\n"  Zoé Müller 李小龍 🎉  <b>&amp;</b>  ]]>  _x000D_
	_x005F_x000D_  _x  "\x01\x1f\x7f"  "\u2028\ufeff"  "\ufffe\uffff"  TRUE  1e5  007  02134  12345678901234567890
	1/2/2026  {}  [1]  null
`), strings.Repeat("long ", 10_000))

func TestWhatIsWrittenIsReadAgain(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"csv", "jsonl", "xlsx"} {
		var file bytes.Buffer
		w := must(table.NewWriter(&file, format))(t)
		succeed(t, w.Header([]string{"n", "text", "=HYPERLINK", "again"}))
		for i, text := range hostile {
			succeed(t, w.Row([]any{int64(i), text, "x", text}))
		}
		succeed(t, w.Close())
		r, err := table.Open(bytes.NewReader(file.Bytes()), int64(file.Len()), "x")
		if err != nil || r.Format != format || strings.Join(r.Header(), "|") != "n|text|=HYPERLINK|again" {
			t.Fatalf("%s: %v, %+v", format, err, r)
		}
		for i, text := range hostile {
			row, _, err := r.Next()
			if err != nil || row[0] != fmt.Sprint(i) || row[1] != text || row[3] != text {
				t.Errorf("%s: %q became %q, %v", format, text, row, err)
			}
		}
		if _, _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: more rows: %v", format, err)
		}
		if format == "csv" {
			for _, separators := range []string{",", ";", "\t", "|", ",;\t", ",;\t|"} {
				for _, cell := range asASpreadsheetReads(strings.TrimPrefix(file.String(), "\ufeff"), separators) {
					if cell != "" && strings.ContainsRune("=+-@＝＋－＠", []rune(cell)[0]) {
						t.Errorf("a spreadsheet program that separates cells by %q would run %q", separators, cell)
					}
				}
			}
		}
	}
}

// asASpreadsheetReads finds the cells of a text as Excel and LibreOffice do: a quote means something at the beginning
// of a cell alone, and what follows its end belongs to the cell up to the next separator.
func asASpreadsheetReads(text, separators string) (cells []string) {
	var cell strings.Builder
	for i, quoted, begun := 0, false, false; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '"' && strings.HasPrefix(text[i+1:], `"`):
			cell.WriteByte(c)
			i++
		case c == '"' && (quoted || !begun):
			quoted, begun = !quoted, true
		case !quoted && (strings.IndexByte(separators, c) >= 0 || c == '\n' || c == '\r'):
			cells, begun = append(cells, cell.String()), false
			cell.Reset()
		default:
			begun = true
			cell.WriteByte(c)
		}
	}
	return append(cells, cell.String())
}

// TestARowThatIsWrongKeepsItsCells: a person can mend it. What no file could hold is replaced.
func TestARowThatIsWrongKeepsItsCells(t *testing.T) {
	t.Parallel()
	start := "prénom,nom,âge\n" + strings.Repeat("Zoé,Müller,7\n", 10_000)
	long := strings.Repeat("x", 1<<20+1)
	for row, want := range map[string]string{
		"Ana,L\xf6we,7":        "Ana|L\ufffdwe|7",
		"A\x00na,Rossi,7":      "A\ufffdna|Rossi|7",
		"Ana," + long + ",7":   "Ana||7",
		"Ana,Rossi,7,\x00\xff": "Ana|Rossi|7|\ufffd\ufffd",
		"Ana,\"Rossi\x00":      "Ana|\"Rossi\ufffd",
	} {
		file := start + row + "\n"
		r, err := table.Open(strings.NewReader(file), int64(len(file)), "x")
		for err == nil {
			_, _, err = r.Next()
		}
		var broken *table.RowError
		if !errors.As(err, &broken) || strings.Join(broken.Row, "|") != want {
			t.Errorf("%.40q: %v, %.80q", row, err, broken.Row)
		}
	}
}

// failing is a file whose disk fails behind its first bytes.
type failing struct{ start string }

var errDisk = errors.New("the disk failed")

func (f failing) ReadAt(p []byte, at int64) (int, error) {
	if at+int64(len(p)) > int64(len(f.start)) {
		return 0, errDisk
	}
	return copy(p, f.start[at:]), nil
}

// TestAFailingDiskIsNoBadFile: the error is that of the disk, and blames no one who made the file.
func TestAFailingDiskIsNoBadFile(t *testing.T) {
	t.Parallel()
	for _, start := range []string{"name,city\n" + strings.Repeat("Ana,Rome\n", 20_000),
		"PK\x03\x04" + strings.Repeat("x", 100_000), "{\"a\":1}\n" + strings.Repeat("{\"a\":1}\n", 20_000)} {
		r, err := table.Open(failing{start}, int64(len(start))+1<<20, "x")
		for err == nil {
			_, _, err = r.Next()
		}
		if !errors.Is(err, errDisk) {
			t.Errorf("%.10s: %v", start, err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	for _, seed := range []string{"", "a,b\n1,2\n", "a;b\n\"1\n\";2", "{\"a\":[1,{\"b\":null}]}\n", "\xff\xfea\x00",
		"sep=,\na,b", "a\n\"b", "PK\x03\x04", "\"a\"\"\r\n"} {
		f.Add([]byte(seed))
	}
	f.Add(workbook(f, map[string]string{}))
	fixtures, _ := filepath.Glob("testdata/*.xlsx")
	for _, name := range fixtures {
		f.Add(must(os.ReadFile(name))(f))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		r, err := table.Open(bytes.NewReader(content), int64(len(content)), "x")
		for line := 0; err == nil; {
			var row []string
			var at int
			row, at, err = r.Next()
			var broken *table.RowError
			switch {
			case errors.As(err, &broken):
				at, err = broken.Line, nil
			case err == nil && len(row) != len(r.Header()):
				t.Fatalf("a row of %d cells, and a header of %d", len(row), len(r.Header()))
			case err != nil:
				continue
			}
			if at <= line {
				t.Fatalf("line %d comes after %d", at, line)
			}
			line = at
		}
		var refused *table.FileError
		if !errors.Is(err, io.EOF) && (!errors.As(err, &refused) || refused.Message == "") {
			t.Fatalf("the error is %v", err)
		}
	})
}
