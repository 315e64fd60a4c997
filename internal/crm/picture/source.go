package picture

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/webp"

	"donorbook/internal/crm/doc"
)

const (
	maxPixels = 40_000_000

	// maxPasses is how many pixels all scans of a JPEG may go over together, however few bytes they have. Programs
	// write ten scans at most.
	maxPasses = 12 * maxPixels
	maxScans  = 64

	// maxMemory is what decoding may take. Some ways to write a picture need ten times as much as others.
	maxMemory = 192 << 20

	// smallMemory is what decoding a small picture takes at most, such as a logo of four million pixels.
	smallMemory = 16 << 20

	// losslessTables is what the tables of a lossless WebP take at most, however few pixels it has.
	losslessTables = 140 << 20
)

// Source is a file that may be decoded. Only its head was read so far.
type Source struct {
	data          []byte
	format        *format
	width, height int
	Memory        int64 // that decoding takes at most
	turned        int   // how its pixels are to be turned: 1 to 8, as Exif counts
}

// format is a kind of file that is accepted.
type format struct {
	begins   string
	config   func(io.Reader) (image.Config, error)
	decode   func(io.Reader) (image.Image, error)
	segments func(data []byte, each func(tag string, body []byte) bool)
	exif     string // the tag of the segment that tells how a camera was held
	memory   func(*Source) int64
	lossless bool
}

// formats are told apart by how files begin. Their names and what the browser says of them do not count.
var formats = []*format{
	{begins: "\x89PNG\r\n\x1a\n", config: png.DecodeConfig, decode: png.Decode, segments: pngChunks, exif: "eXIf",
		memory: pngMemory, lossless: true},
	{begins: "\xff\xd8\xff", config: jpeg.DecodeConfig, decode: jpeg.Decode, segments: jpegSegments, exif: "\xe1",
		memory: jpegMemory},
	{begins: "RIFF", config: webp.DecodeConfig, decode: webp.Decode, segments: webpChunks, exif: "EXIF",
		memory: webpMemory},
}

// Open reads the head of a file, and refuses what is no picture, or would take too much to decode. The fault is that of
// a field.
func Open(data []byte, field string) (*Source, error) {
	s := &Source{data: data, turned: 1}
	for _, f := range formats {
		if bytes.HasPrefix(data, []byte(f.begins)) {
			s.format = f
		}
	}
	switch {
	case len(data) > MaxFile:
		return nil, doc.NewInvalid(field, TooLarge)
	case s.format == nil, s.format.begins == "RIFF" && (len(data) < 12 || string(data[8:12]) != "WEBP"):
		return nil, doc.NewInvalid(field, WrongType)
	}
	config, err := s.format.config(bytes.NewReader(data))
	if err != nil || config.Width <= 0 || config.Height <= 0 {
		return nil, doc.NewInvalid(field, Damaged)
	}
	s.width, s.height = config.Width, config.Height
	if int64(s.width)*int64(s.height) <= maxPixels {
		s.Memory = s.format.memory(s)
	}
	switch {
	case s.Memory < 0:
		return nil, doc.NewInvalid(field, Damaged)
	case s.Memory == 0 || s.Memory > maxMemory:
		return nil, doc.NewInvalid(field, TooBig, s.width, s.height)
	}
	s.format.segments(data, func(tag string, body []byte) bool {
		if tag == s.format.exif {
			s.turned = orientation(body)
		}
		return true
	})
	return s, nil
}

// Small tells whether a picture takes little memory and time.
func (s *Source) Small() bool { return s.Memory <= smallMemory }

func (s *Source) pixels() int64 { return int64(s.width) * int64(s.height) }

// pngMemory goes by the bits of a pixel. A picture that is sent in several passes has the largest pass beside it, which
// is half of it.
func pngMemory(s *Source) int64 {
	const header = 8 + 4 + 4 + 8 // the signature, then length, type, width and height
	if len(s.data) < header+5 {
		return -1
	}
	depth, color, interlaced := s.data[header], s.data[header+1], s.data[header+4]
	bytes := int64(4)
	switch {
	case color == 3: // a palette
		bytes = 1
	case depth == 16:
		bytes = 8
	}
	return s.pixels() * bytes * int64(2+interlaced&1) / 2
}

// jpegMemory goes by the samples of all components. A progressive picture holds the coefficients of all of them, of
// four bytes each, until its end. One that has four components, or is in red, green and blue, is converted. It is -1
// where the head is not as it should be: the decoder might take another way through it.
func jpegMemory(s *Source) int64 {
	memory, converted := int64(-1), false
	jpegSegments(s.data, func(tag string, body []byte) bool {
		if tag == "\xee" && len(body) > 11 && string(body[:5]) == "Adobe" && body[11] == 0 {
			converted = true
		}
		if tag != "\xc0" && tag != "\xc1" && tag != "\xc2" || memory >= 0 {
			return true
		}
		if len(body) < 6 || len(body) < 6+3*int(body[5]) {
			return false
		}
		var parts, tallest, widest int64
		for component := range int(body[5]) {
			sampling := body[6+3*component+1]
			h, v := int64(sampling>>4), int64(sampling&15)
			parts, widest, tallest = parts+h*v, max(widest, h), max(tallest, v)
		}
		if parts == 0 || widest == 0 || tallest == 0 {
			return false
		}
		units := ((int64(s.width) + 8*widest - 1) / (8 * widest)) * ((int64(s.height) + 8*tallest - 1) / (8 * tallest))
		memory = units * parts * 64
		if tag == "\xc2" {
			memory *= 5
		}
		converted = converted || body[5] == 4 || body[6] == 'R'
		return true
	})
	if memory >= 0 && converted {
		memory += 4 * s.pixels()
	}
	if scans := int64(bytes.Count(s.data, []byte{0xff, 0xda})); scans > maxScans || scans*s.pixels() > maxPasses {
		return -1
	}
	return memory
}

func webpMemory(s *Source) int64 {
	memory := 2 * s.pixels()
	webpChunks(s.data, func(tag string, _ []byte) bool {
		if tag == "VP8L" || tag == "ALPH" {
			memory = 7*s.pixels() + losslessTables
		}
		return true
	})
	return memory
}

// jpegSegments gives what comes before the pixels, until each is false.
func jpegSegments(data []byte, each func(tag string, body []byte) bool) {
	for at := 2; at+4 <= len(data) && data[at] == 0xff; {
		marker := data[at+1]
		switch {
		case marker == 0xff: // fills a gap
			at++
			continue
		case marker == 0xda || marker == 0xd9: // the pixels, or the end
			return
		case marker >= 0xd0 && marker <= 0xd7 || marker == 0:
			return
		}
		length := int(binary.BigEndian.Uint16(data[at+2:]))
		if length < 2 || at+2+length > len(data) || !each(string([]byte{marker}), data[at+4:at+2+length]) {
			return
		}
		at += 2 + length
	}
}

func pngChunks(data []byte, each func(tag string, body []byte) bool) {
	for at := 8; at+12 <= len(data); {
		length := int(binary.BigEndian.Uint32(data[at:]))
		if length > len(data)-at-12 || !each(string(data[at+4:at+8]), data[at+8:at+8+length]) {
			return
		}
		at += 12 + length
	}
}

func webpChunks(data []byte, each func(tag string, body []byte) bool) {
	for at := 12; at+8 <= len(data); {
		length := int(binary.LittleEndian.Uint32(data[at+4:]))
		if !each(string(data[at:at+4]), data[at+8:min(at+8+length, len(data))]) || length > len(data)-at-8 {
			return
		}
		at += 8 + length + length&1
	}
}

// orientation is how the camera was held, in a block of Exif: 1 to 8, and 1 where the block does not say.
func orientation(exif []byte) int {
	const orientationTag, shortType = 0x0112, 3
	exif = bytes.TrimPrefix(exif, []byte("Exif\x00\x00"))
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case len(exif) < 8:
		return 1
	case exif[0] == 'M':
		order = binary.BigEndian
	}
	at := int(order.Uint32(exif[4:]))
	if at < 8 || at > len(exif)-2 {
		return 1
	}
	entries := exif[at+2:]
	for range order.Uint16(exif[at:]) {
		if len(entries) < 12 {
			break
		}
		if order.Uint16(entries) == orientationTag && order.Uint16(entries[2:]) == shortType {
			if turned := int(order.Uint16(entries[8:])); turned >= 1 && turned <= 8 {
				return turned
			}
		}
		entries = entries[12:]
	}
	return 1
}
