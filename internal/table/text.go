package table

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
)

// sampleSize is how much of a file is looked at to find out what it is.
const sampleSize = 64 << 10

const (
	saveAsTable = "Save the table as CSV or .xlsx, and use that file."
	utf8Mark    = "\xef\xbb\xbf"
)

// strangers are files that people take for tables, by how they begin, and what to tell them.
var strangers = []struct{ start, message string }{
	{"\xd0\xcf\x11\xe0", "This is a workbook with a password or in the old .xls format. Open it, remove the password, and save it as .xlsx."},
	{"%PDF", "This is a PDF document, not a table. " + saveAsTable},
	{"\x89PNG", "This is an image, not a table. " + saveAsTable},
	{"\xff\xd8\xff", "This is an image, not a table. " + saveAsTable},
	{"GIF8", "This is an image, not a table. " + saveAsTable},
	{"\x1f\x8b", "This is a compressed file. Unpack it first, and use the table in it."},
	{"Rar!", "This is a compressed file. Unpack it first, and use the table in it."},
	{"7z\xbc\xaf", "This is a compressed file. Unpack it first, and use the table in it."},
	{"{\\rtf", "This is a text document, not a table. " + saveAsTable},
	{"BEGIN:VCARD", "This is a vCard file. Export the contacts as CSV instead."},
	{"<", "This is a web page or XML, even if its name ends with .xls. Open it in a spreadsheet program, and save it as .xlsx."},
}

// refuse tells by the first bytes that a file is no table.
func refuse(start []byte) error {
	text := bytes.TrimLeft(bytes.TrimPrefix(start, []byte(utf8Mark)), " \t\r\n")
	if len(text) == 0 {
		return errEmpty
	}
	for _, s := range strangers {
		if bytes.HasPrefix(text, []byte(s.start)) {
			return refusal(s.message)
		}
	}
	if text[0] == '[' && bytes.HasPrefix(bytes.TrimLeft(text[1:], " \t\r\n"), []byte("{")) {
		return refusal("This is a JSON array. Save it as JSON Lines instead: one object on each line, with no commas between them.")
	}
	return nil
}

// decode finds out how a text is encoded. What it returns reads the text from its beginning, in UTF-8 and without a byte order mark.
func decode(r io.ReaderAt, size int64, start []byte) (text func() io.Reader, err error) {
	file := func() io.Reader { return io.NewSectionReader(r, 0, size) }
	as := func(from encoding.Encoding) func() io.Reader {
		return func() io.Reader { return from.NewDecoder().Reader(file()) }
	}
	switch {
	case bytes.HasPrefix(start, []byte(utf8Mark)):
		mark := int64(len(utf8Mark))
		return func() io.Reader { return io.NewSectionReader(r, mark, size-mark) }, nil
	case bytes.HasPrefix(start, []byte("\xff\xfe")), isUTF16(start, 1):
		return as(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)), nil
	case bytes.HasPrefix(start, []byte("\xfe\xff")), isUTF16(start, 0):
		return as(unicode.UTF16(unicode.BigEndian, unicode.UseBOM)), nil
	case bytes.IndexByte(start, 0) >= 0:
		return nil, refusal("This is not a table: it has bytes that no text has. " + saveAsTable)
	}
	if ok, err := isUTF8(file()); ok || err != nil {
		return file, err
	}
	return func() io.Reader { return &western{r: file()} }, nil
}

// western reads text in Windows-1252, in which each byte is a character. It is our own table, because that of x/text brings all other code pages
// into the program; a test compares the two.
type western struct {
	r     io.Reader
	bytes [4 << 10]byte
	text  []byte // that no one has asked for yet
	space [3 * 4 << 10]byte
}

// westernSpecial are the characters from 0x80 to 0x9f, of which five are none. The others have the numbers of their bytes.
var westernSpecial = [32]rune{
	'€', '\ufffd', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\ufffd', 'Ž', '\ufffd',
	'\ufffd', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\ufffd', 'ž', 'Ÿ',
}

func (w *western) Read(p []byte) (int, error) {
	if len(w.text) == 0 {
		n, err := w.r.Read(w.bytes[:])
		if n == 0 {
			return 0, err
		}
		w.text = w.space[:0]
		for _, b := range w.bytes[:n] {
			r := rune(b)
			if 0x80 <= b && b <= 0x9f {
				r = westernSpecial[b-0x80]
			}
			w.text = utf8.AppendRune(w.text, r)
		}
	}
	n := copy(p, w.text)
	w.text = w.text[n:]
	return n, nil
}

// isUTF16 tells by the zeros of ASCII characters that a text without a mark is in UTF-16: they all stand at even places, or all at odd
// ones.
func isUTF16(start []byte, zero int) bool {
	zeros := 0
	for i, b := range start {
		if b == 0 {
			if i%2 != zero {
				return false
			}
			zeros++
		}
	}
	return zeros > len(start)/8
}

// isUTF8 reads a whole text. One that has more characters of UTF-8 than bytes that are none was damaged: only the rows with these bytes are
// wrong. Text in Windows-1252 hardly ever looks like UTF-8.
func isUTF8(r io.Reader) (bool, error) {
	buf := make([]byte, sampleSize)
	good, bad, kept := 0, 0, 0
	for {
		n, err := io.ReadFull(r, buf[kept:])
		atEnd := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !atEnd {
			return false, err
		}
		text := buf[:kept+n]
		i := 0
		for i < len(text) {
			if text[i] < utf8.RuneSelf {
				i++
				continue
			}
			if !atEnd && !utf8.FullRune(text[i:]) {
				break
			}
			_, size := utf8.DecodeRune(text[i:])
			if size > 1 {
				good++
			} else {
				bad++
			}
			i += size
		}
		if atEnd {
			return bad == 0 || good > bad, nil
		}
		kept = copy(buf, text[i:])
	}
}
