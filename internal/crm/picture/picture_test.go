package picture

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm/doc"
	"donorbook/internal/rig/assert"
)

// quarters is a picture with a color in each corner: red, green, blue and white, from the top left on.
func quarters(width, height int) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			c := color.RGBA{255, 255, 255, 255}
			switch {
			case y < height/2 && x < width/2:
				c = color.RGBA{255, 0, 0, 255}
			case y < height/2:
				c = color.RGBA{0, 255, 0, 255}
			case x < width/2:
				c = color.RGBA{0, 0, 255, 255}
			}
			m.SetRGBA(x, y, c)
		}
	}
	return m
}

func asPNG(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	assert.Succeed(t, png.Encode(&b, m))
	return b.Bytes()
}

func asJPEG(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	assert.Succeed(t, jpeg.Encode(&b, m, &jpeg.Options{Quality: 95}))
	return b.Bytes()
}

// made makes a picture of a file.
func made(t testing.TB, data []byte, kind Kind) Picture {
	t.Helper()
	s := assert.Must(Open(data, "cover"))(t)
	p := assert.Must(s.Make(t.Context(), kind, "cover"))(t)
	return p
}

func decoded(t *testing.T, f File) image.Image {
	t.Helper()
	m, format, err := image.Decode(bytes.NewReader(f.Body))
	if err != nil || "image/"+format != MediaType(f.Name) {
		t.Fatalf("%s is %s: %v", f.Name, format, err)
	}
	return m
}

// corners are the colors in the corners of a picture, as letters, from the top left on.
func corners(m image.Image) string {
	b := m.Bounds()
	text := ""
	for _, p := range []image.Point{{b.Dx() / 8, b.Dy() / 8}, {b.Dx() * 7 / 8, b.Dy() / 8},
		{b.Dx() / 8, b.Dy() * 7 / 8}, {b.Dx() * 7 / 8, b.Dy() * 7 / 8}} {
		r, g, bl, a := m.At(p.X, p.Y).RGBA()
		switch {
		case a < 0x8000:
			text += "-"
		case r > 0xd000 && g > 0xd000 && bl > 0xd000:
			text += "w"
		case r > 0xd000:
			text += "r"
		case g > 0xd000:
			text += "g"
		case bl > 0xd000:
			text += "b"
		default:
			text += "?"
		}
	}
	return text
}

func TestAPictureIsMadeInTheSizesOfItsKind(t *testing.T) {
	for name, c := range map[string]struct {
		data  []byte
		kind  Kind
		sizes []image.Point
		kinds string
	}{
		"a large cover": {asJPEG(t, quarters(1920, 1080)), Cover,
			[]image.Point{{1600, 900}, {800, 450}, {400, 225}, {128, 72}}, ".jpg"},
		"a cover as PNG": {asPNG(t, quarters(1000, 1000)), Cover,
			[]image.Point{{1000, 1000}, {800, 800}, {400, 400}, {128, 128}}, ".jpg"},
		"a tall cover": {asJPEG(t, quarters(1000, 3000)), Cover,
			[]image.Point{{800, 2400}, {400, 1200}, {128, 384}}, ".jpg"},
		"a small cover": {asJPEG(t, quarters(90, 60)), Cover, []image.Point{{90, 60}}, ".jpg"},
		"a logo": {asPNG(t, quarters(1024, 512)), Logo, []image.Point{{512, 256}, {400, 200}, {128, 64}},
			".png"},
		"a photo for a logo": {asJPEG(t, quarters(1024, 1024)), Logo,
			[]image.Point{{512, 512}, {400, 400}, {128, 128}}, ".jpg"},
		"a line for a logo": {asPNG(t, quarters(4000, 2)), Logo, []image.Point{{512, 1}, {400, 1}, {128, 1}},
			".png"},
		"a pixel": {asPNG(t, quarters(1, 1)), Logo, []image.Point{{1, 1}}, ".png"},
		"sixteen bits a color": {asPNG(t, image.NewNRGBA64(image.Rect(0, 0, 300, 300))), Cover,
			[]image.Point{{300, 300}, {128, 128}}, ".jpg"},
	} {
		p := made(t, c.data, c.kind)
		if !IsAddress(p.Address) || !slices.Equal(Names(p.Address), fileNames(p)) {
			t.Errorf("%s: the address %s has the files %v, but these were made: %v", name, p.Address, Names(p.Address),
				fileNames(p))
		}
		if len(p.Files) != len(c.sizes) {
			t.Fatalf("%s: %v", name, fileNames(p))
		}
		for i, f := range p.Files {
			m := decoded(t, f)
			assert.Equal(t, m.Bounds().Size(), c.sizes[i], "%s", name)
			assert.Equal(t, strings.HasSuffix(f.Name, c.kinds), true, "%s", name)
			if colors := corners(m); c.sizes[i].Y > 8 && name != "sixteen bits a color" && colors != "rgbw" {
				t.Errorf("%s: the corners of %s are %s", name, f.Name, colors)
			}
		}
	}
}

func fileNames(p Picture) (names []string) {
	for _, f := range p.Files {
		names = append(names, f.Name)
	}
	return names
}

func TestALogoKeepsWhatIsClearAndACoverGetsWhite(t *testing.T) {
	m := image.NewNRGBA(image.Rect(0, 0, 600, 600))
	for y := range 300 {
		for x := range 300 {
			m.SetNRGBA(x, y, color.NRGBA{255, 0, 0, 255})
		}
	}
	assert.Equal(t, corners(decoded(t, made(t, asPNG(t, m), Logo).Files[0])), "r---", "the logo")
	assert.Equal(t, corners(decoded(t, made(t, asPNG(t, m), Cover).Files[0])), "rwww", "the cover")
}

// withExif is a JPEG that says how the camera was held, and where.
func withExif(t *testing.T, m image.Image, orientation uint16) []byte {
	tiff := []byte("MM\x00\x2a\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00 51.5007 N")
	binary.BigEndian.PutUint16(tiff[18:], orientation)
	body := append([]byte("Exif\x00\x00"), tiff...)
	segment := append([]byte{0xff, 0xe1, 0, byte(len(body) + 2)}, body...)
	plain := asJPEG(t, m)
	return slices.Concat(plain[:2], segment, plain[2:])
}

func TestAPictureIsTurnedAsTheCameraWasHeldAndTellsNothingElse(t *testing.T) {
	for orientation, want := range map[uint16]string{1: "rgbw", 2: "grwb", 3: "wbgr", 4: "bwrg", 5: "rbgw", 6: "brwg",
		7: "wgbr", 8: "gwrb", 9: "rgbw"} {
		p := made(t, withExif(t, quarters(320, 160), orientation), Cover)
		m := decoded(t, p.Files[0])
		assert.Equal(t, corners(m), want, "orientation %d", orientation)
		assert.Equal(t, orientation >= 5 && orientation <= 8, (m.Bounds().Dy() > m.Bounds().Dx()),
			"orientation %d: %v", orientation, m.Bounds())
		for _, f := range p.Files {
			if bytes.Contains(f.Body, []byte("Exif")) || bytes.Contains(f.Body, []byte("51.5007")) {
				t.Errorf("orientation %d: %s tells where it was taken", orientation, f.Name)
			}
		}
	}
}

// smallWebPs are pictures of one pixel: lossy, lossless, and lossy with a lossless alpha channel.
var smallWebPs = map[string]string{
	"lossy":    "UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA",
	"lossless": "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==",
	"alpha":    "UklGRkoAAABXRUJQVlA4WAoAAAAQAAAAAAAAAAAAQUxQSAwAAAARBxAR/Q9ERP8DAABWUDggGAAAABQBAJ0BKgEAAQAAAP4AAA3AAP7mtQAAAA==",
}

func smallWebP(t testing.TB, name string) []byte {
	t.Helper()
	data := assert.Must(base64.StdEncoding.DecodeString(smallWebPs[name]))(t)
	return data
}

// pngHead is the head of a PNG of a size, and some data.
func pngHead(width, height uint32) []byte {
	ihdr := binary.BigEndian.AppendUint32([]byte("IHDR"), width)
	ihdr = append(binary.BigEndian.AppendUint32(ihdr, height), 8, 6, 0, 0, 0)
	b := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), ihdr...)
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(ihdr))
	return append(b, "\x00\x00\x00\x00IDAT\x35\xaf\x06\x1e"...)
}

// scanned is a progressive JPEG without colors whose scans take few bytes, however many pixels they go over.
func scanned(width, height uint16, scans int) []byte {
	head := binary.BigEndian.AppendUint16([]byte("\xff\xd8\xff\xc2\x00\x0b\x08"), height)
	head = append(binary.BigEndian.AppendUint16(head, width), 1, 1, 0x11, 0)
	return append(head, bytes.Repeat([]byte("\xff\xda\x00\x08\x01\x01\x00\x01\x3f\x10"), scans)...)
}

func TestProgramsMayWriteAsManyScansAsTheyDo(t *testing.T) {
	for _, scans := range []int{1, 10, 12} {
		if _, err := Open(scanned(8000, 4000, scans), "cover"); err != nil {
			t.Errorf("%d scans of 32 million pixels: %v", scans, err)
		}
	}
}

func TestWhatIsNoPictureIsRefused(t *testing.T) {
	var moving bytes.Buffer
	assert.Succeed(t, gif.Encode(&moving, quarters(8, 8), nil))
	good, whole := asJPEG(t, quarters(640, 480)), asPNG(t, noise(300, 300))
	huge := bytes.Clone(good)
	sof := bytes.Index(huge, []byte{0xff, 0xc0})
	binary.BigEndian.PutUint16(huge[sof+5:], 65500)
	binary.BigEndian.PutUint16(huge[sof+7:], 65500)
	scans := bytes.Clone(good)
	for range maxScans {
		scans = append(scans, 0xff, 0xda)
	}
	for name, c := range map[string]struct {
		data []byte
		rule doc.Rule
	}{
		"nothing":                         {nil, WrongType},
		"a text":                          {[]byte("not a picture"), WrongType},
		"a GIF":                           {moving.Bytes(), WrongType},
		"an SVG":                          {[]byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`), WrongType},
		"a sound":                         {[]byte("RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00"), WrongType},
		"a page with the name of a PNG":   {[]byte("<!doctype html>\x89PNG\r\n\x1a\n"), WrongType},
		"a head alone":                    {[]byte("\x89PNG\r\n\x1a\n"), Damaged},
		"a JPEG head alone":               {[]byte("\xff\xd8\xff"), Damaged},
		"a WebP head alone":               {[]byte("RIFF\x04\x00\x00\x00WEBP"), Damaged},
		"30,000 × 30,000 pixels":          {pngHead(30_000, 30_000), TooBig},
		"40,000,001 pixels":               {pngHead(40_000_001, 1), TooBig},
		"a JPEG that says 65,500 squared": {huge, TooBig},
		"a JPEG of many scans":            {scans, Damaged},
		"a large JPEG of some scans":      {scanned(8000, 5000, 13), Damaged},
		"more than 8 MB":                  {append(bytes.Clone(good), make([]byte, MaxFile)...), TooLarge},
		"a JPEG cut in the middle":        {good[:len(good)/2], Damaged},
		"a PNG cut in the middle":         {whole[:len(whole)/2], Damaged},
		"a WebP cut in the middle":        {smallWebP(t, "lossy")[:30], Damaged},
	} {
		s, err := Open(c.data, "cover")
		if err == nil {
			_, err = s.Make(t.Context(), Cover, "cover")
		}
		if !hasRule(err, c.rule) {
			t.Errorf("%s: %v, want %q", name, err, c.rule)
		}
	}
}

// noise is a picture that does not become smaller.
func noise(width, height int) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	random := rand.New(rand.NewPCG(1, 2))
	for i := range m.Pix {
		m.Pix[i] = uint8(random.Uint32()) | uint8(i&3/3*255)
	}
	return m
}

// What else is in a file that is also a picture reaches no one.
func TestOnlyPixelsAreKept(t *testing.T) {
	const script = "<script>alert(document.domain)</script>"
	both := append(asPNG(t, quarters(300, 300)), script...)
	for _, kind := range []Kind{Cover, Logo} {
		for _, f := range made(t, both, kind).Files {
			if bytes.Contains(f.Body, []byte(script)) {
				t.Errorf("%s has the script", f.Name)
			}
		}
	}
}

func TestAWebPIsRead(t *testing.T) {
	for name := range smallWebPs {
		assert.Equal(t, decoded(t, made(t, smallWebP(t, name), Logo).Files[0]).Bounds().Size(), image.Pt(1, 1),
			"%s", name)
	}
}

// A head that says less than what follows is refused before memory is taken for it.
func TestAWebPWhoseHeadsDifferIsRefused(t *testing.T) {
	small := smallWebP(t, "alpha")
	small[12+8+4] = 2 // the canvas is three pixels wide
	s, err := Open(small, "logo")
	if err == nil {
		_, err = s.Make(t.Context(), Logo, "logo")
	}
	if !hasRule(err, Damaged) {
		t.Errorf("it is accepted: %v", err)
	}
}

func hasRule(err error, rule doc.Rule) bool {
	var faults *doc.Invalid
	return errors.As(err, &faults) && len(faults.Faults) == 1 && faults.Faults[0].Rule == rule
}

func TestADecodeEndsWithItsContext(t *testing.T) {
	s := assert.Must(Open(asJPEG(t, quarters(640, 480)), "cover"))(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Make(ctx, Cover, "cover"); !errors.Is(err, context.Canceled) {
		t.Errorf("it goes on: %v", err)
	}
}

// The largest pictures that are accepted take what was reckoned, and little more.
func TestTheMemoryOfADecodeIsWhatWasReckoned(t *testing.T) {
	for name, data := range map[string][]byte{
		"png": asPNG(t, image.NewNRGBA(image.Rect(0, 0, 3000, 2000))),
		"png palette": asPNG(t, image.NewPaletted(image.Rect(0, 0, 3000, 2000),
			color.Palette{color.White, color.Black})),
		"png 16 bit": asPNG(t, image.NewNRGBA64(image.Rect(0, 0, 2000, 1000))),
		"jpeg":       asJPEG(t, image.NewYCbCr(image.Rect(0, 0, 3000, 2000), image.YCbCrSubsampleRatio420)),
		"jpeg gray":  asJPEG(t, image.NewGray(image.Rect(0, 0, 3000, 2000))),
	} {
		s := assert.Must(Open(data, "cover"))(t)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := s.Make(t.Context(), Cover, "cover"); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		took := int64(after.TotalAlloc - before.TotalAlloc) // more than was in use at any one time
		t.Logf("%s: reckoned %d MB, took %d MB", name, s.Memory>>20, took>>20)
		if took > s.Memory+24<<20 {
			t.Errorf("%s: reckoned %d MB, took %d MB", name, s.Memory>>20, took>>20)
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(asPNG(f, quarters(9, 7)))
	f.Add(asJPEG(f, quarters(9, 7)))
	f.Add(smallWebP(f, "alpha"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Open(data, "cover")
		if err == nil && s.pixels() < 1<<20 {
			_, _ = s.Make(t.Context(), Logo, "cover")
		}
	})
}
