package table

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"testing"
	"testing/iotest"

	"golang.org/x/text/encoding/charmap"

	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/drill"
)

// Scale is how much smaller than the program's the limits are of which files are tried that exceed them: make test has
// no time for more.
var Scale = 8

func TestMain(m *testing.M) {
	if drill.On {
		Scale = 1
	}
	maxCells /= int64(Scale)
	maxAgain /= Scale
	maxUnpacked /= int64(Scale)
	maxTexts /= Scale
	os.Exit(m.Run())
}

// SECURITY.md says what a file may have at most.
func TestTheLimitsOfARowAreTold(t *testing.T) {
	t.Parallel()
	text := assert.Must(os.ReadFile("../../SECURITY.md"))(t)
	says := fmt.Sprintf("| a row of an imported file | %d MiB, and %d MiB in a cell;", maxRow>>20, maxCell>>20)
	assert.Contains(t, string(text), says, "SECURITY.md does not say")
}

// All texts of a workbook can be read until there are too many.
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
	want := fmt.Sprintf(": The workbook has more than %d MiB of text. Save the table as CSV, and use that file.",
		maxTexts>>20)
	if size < maxTexts*3/4 || size > maxTexts || err.Error() != want {
		t.Errorf("%d bytes, %v", size, err)
	}
	for i := range shared.count {
		number := strconv.Itoa(i)
		if text, ok := shared.at(number); !ok || len(text) != (1+i%500)*len(number) || text[:1] != number[:1] {
			t.Fatalf("text %d is %.20q", i, text)
		}
	}
	for _, wrong := range []string{"-1", "x", "", strconv.Itoa(shared.count)} {
		if _, ok := shared.at(wrong); ok {
			t.Errorf("there is a text %q", wrong)
		}
	}
	var long texts
	err = long.add(make([]byte, 3<<20))
	if text, ok := long.at("0"); !ok || len(text) <= maxCell || err != nil {
		t.Errorf("a text of %d bytes: the row would not tell that it is too long; %v", len(text), err)
	}
}

// In Windows-1252, each byte is the same character as in the library.
func TestWindows1252AgreesWithTheLibrary(t *testing.T) {
	t.Parallel()
	var all []byte
	for i := range 40 * 256 { // more than is read at once
		all = append(all, byte(i))
	}
	want, wrong := charmap.Windows1252.NewDecoder().Bytes(all)
	got, err := io.ReadAll(iotest.OneByteReader(&western{r: iotest.HalfReader(bytes.NewReader(all))}))
	if err != nil || wrong != nil || !bytes.Equal(got, want) {
		t.Errorf("%v, %v, %d bytes, want %d", err, wrong, len(got), len(want))
	}
}
