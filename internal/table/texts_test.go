package table

import (
	"bytes"
	"io"
	"strconv"
	"testing"
	"testing/iotest"

	"golang.org/x/text/encoding/charmap"
)

// TestTextsOfAWorkbookAreBounded: all of them can be read until there are too many.
func TestTextsOfAWorkbookAreBounded(t *testing.T) {
	t.Parallel()
	var shared texts
	size, err := 0, error(nil)
	for i := 0; err == nil; i++ {
		text := bytes.Repeat([]byte(strconv.Itoa(i)), 1+i%500)
		if err = shared.add(text); err == nil {
			size += len(text)
		}
	}
	if size < 80<<20 || size > maxTexts || err.Error() != ": The workbook has more than 96 MiB of text. Save the table as CSV, and use that file." {
		t.Errorf("%d bytes, %v", size, err)
	}
	for i := range shared.count {
		if text, ok := shared.at(strconv.Itoa(i)); !ok || len(text) != (1+i%500)*len(strconv.Itoa(i)) || text[:1] != strconv.Itoa(i)[:1] {
			t.Fatalf("text %d is %.20q", i, text)
		}
	}
	for _, wrong := range []string{"-1", "x", "", strconv.Itoa(shared.count)} {
		if _, ok := shared.at(wrong); ok {
			t.Errorf("there is a text %q", wrong)
		}
	}
	var long texts
	if err := long.add(make([]byte, 3<<20)); err != nil {
		t.Fatal(err)
	}
	if text, ok := long.at("0"); !ok || len(text) <= maxCell {
		t.Errorf("a text of %d bytes: the row would not tell that it is too long", len(text))
	}
}

// TestWindows1252AgreesWithTheLibrary: each byte is the same character.
func TestWindows1252AgreesWithTheLibrary(t *testing.T) {
	t.Parallel()
	var all []byte
	for range 40 { // more than is read at once
		for b := range 256 {
			all = append(all, byte(b))
		}
	}
	want, err := charmap.Windows1252.NewDecoder().Bytes(all)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(iotest.OneByteReader(&western{r: iotest.HalfReader(bytes.NewReader(all))}))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v, %d bytes, want %d", err, len(got), len(want))
	}
}
