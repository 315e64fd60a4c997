package public

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode"

	"donorbook/internal/crm/donate"
)

// readCode draws an image of a code, and reads it with another library.
func readCode(t *testing.T, svg []byte) string {
	t.Helper()
	side := regexp.MustCompile(`viewBox="0 0 (\d+) `).FindSubmatch(svg)
	if side == nil {
		t.Fatalf("%s", svg)
	}
	const dot = 4
	size := number(t, string(side[1])) * dot
	drawn := image.NewGray(image.Rect(0, 0, size, size))
	draw.Draw(drawn, drawn.Bounds(), image.White, image.Point{}, draw.Src)
	for _, bar := range regexp.MustCompile(`M(\d+) (\d+)h(\d+)v1h-(\d+)z`).FindAllSubmatch(svg, -1) {
		x, y, width := number(t, string(bar[1])), number(t, string(bar[2])), number(t, string(bar[3]))
		draw.Draw(drawn, image.Rect(x*dot, y*dot, (x+width)*dot, (y+1)*dot), image.NewUniform(color.Black), image.Point{}, draw.Src)
	}
	bitmap, err := gozxing.NewBinaryBitmapFromImage(drawn)
	if err != nil {
		t.Fatal(err)
	}
	read, err := qrcode.NewQRCodeReader().Decode(bitmap, nil)
	if err != nil {
		t.Fatal(err)
	}
	return read.GetText()
}

func number(t *testing.T, digits string) int {
	t.Helper()
	n, err := strconv.Atoi(digits)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestCodesAreReadByAnotherLibrary(t *testing.T) {
	bank := donate.Bank{Name: "Förderverein Hafenlicht e. V. " + strings.Repeat("ü", 60), IBAN: "DE89 3704 0044 0532 0130 00", BIC: "COBADEFFXXX"}
	for _, text := range []string{"https://give.example.org/winter-gala", bank.EPC(999_999_999_99, "EUR", donate.Reference(123456)), strings.Repeat("x", 331)} {
		svg, err := codeImage(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := readCode(t, svg); got != text {
			t.Errorf("%q is read as %q", text, got)
		}
		if bytes.Contains(svg, []byte("example")) {
			t.Error("the image has the text in it")
		}
	}
}
