package browser_test

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// screenshots are the pictures in the README and the docs. TestScreenshots saves them
// in the directory that SCREENSHOTS names: make screenshots. Without it, it
// tries those that need more than an address.
var screenshots = []struct {
	name  string
	path  string // below the organization
	then  func(*page)
	width int64
	dark  bool
}{
	{"home", "", nil, 1280, false},
	{"home-dark", "", nil, 1280, true},
	{"home-phone", "", nil, 390, false},
	{"contacts", "/contacts", nil, 1280, false},
	{"contacts-phone", "/contacts", nil, 390, false},
	{"contact", "/contacts?q=Peter+Carter", func(p *page) { p.in("main").click("Peter Carter") }, 1280, false},
	{"gifts", "/gifts", nil, 1280, false},
	{"gifts-phone", "/gifts", nil, 390, false},
	{"statement", "/statements?year=" + lastYear, nil, 1024, false},
	{"campaigns", "/campaigns", nil, 1280, false},
	{"campaign", "/campaigns", func(p *page) { p.click("Lighthouse Gala") }, 1280, false},
	{"chapters", "/chapters", nil, 1280, false},
	{"people", "/settings/people", nil, 1280, false},
	{"api-keys", "/settings/integrations/api-keys", nil, 1280, false},
	{"api-key-created", "/settings/integrations/api-keys/new", showNewKey, 1280, false},
}

// showNewKey creates a key. The test's data directory has a random name; the picture shows the usual one.
func showNewKey(p *page) {
	p.fill("Name", "Donation page")
	p.press("Enter")
	p.run(`const e = document.querySelector("#example")
		e.textContent = e.textContent.replace(/--cacert \S+/, "--cacert /var/lib/donorbook/tls/ca.pem")`)
}

// pictureLimit keeps the repository small.
const pictureLimit = 120_000

func TestScreenshots(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("SCREENSHOTS")
	isTrial := dir == "" // of those that a person must do something for
	if isTrial {
		dir = t.TempDir()
	}
	must(0, os.MkdirAll(dir, 0o755))(t)
	p := demo(t, "--base-url", "https://donors.example.org")
	home := p.path()
	for _, shot := range screenshots {
		if isTrial && shot.then == nil {
			continue
		}
		p.width(1280)
		p.colors("light")
		p.visit(home + shot.path)
		if shot.then != nil {
			shot.then(p)
		}
		p.width(shot.width)
		if shot.dark {
			p.colors("dark")
		}
		path := filepath.Join(dir, shot.name+".png")
		p.screenshot(path)
		if size := shrink(t, path); size > pictureLimit {
			t.Errorf("%s has %d bytes, more than %d", path, size, pictureLimit)
		}
	}
}

// shrink rewrites a picture with its 256 most frequent colors.
func shrink(t *testing.T, path string) int {
	t.Helper()
	picture := must(png.Decode(bytes.NewReader(must(os.ReadFile(path))(t))))(t)
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	must(0, encoder.Encode(&b, paletted(picture)))(t)
	must(0, os.WriteFile(path, b.Bytes(), 0o644))(t)
	return b.Len()
}

func paletted(picture image.Image) *image.Paletted {
	bounds := picture.Bounds()
	counts := map[color.Color]int{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[picture.At(x, y)]++
		}
	}
	colors := slices.SortedFunc(maps.Keys(counts), func(a, b color.Color) int {
		return cmp.Compare(counts[b], counts[a])
	})
	small := image.NewPaletted(bounds, color.Palette(colors[:min(len(colors), 256)]))
	nearest := map[color.Color]uint8{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			at := picture.At(x, y)
			index, known := nearest[at]
			if !known {
				index = uint8(small.Palette.Index(at))
				nearest[at] = index
			}
			small.SetColorIndex(x, y, index)
		}
	}
	return small
}
