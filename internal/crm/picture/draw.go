package picture

import (
	"bytes"
	"context"
	"image"
	"image/draw"
	"image/jpeg"
	"image/png"
	"io"

	"donorbook/internal/crm/doc"
)

const jpegQuality = 82

// Make decodes the file and draws it in all sizes. The fault is that of a field. It ends when the context does, at the
// next part of the file.
func (s *Source) Make(ctx context.Context, kind Kind, field string) (Picture, error) {
	decoded, err := s.format.decode(&attended{ctx, bytes.NewReader(s.data)})
	if ctx.Err() != nil {
		return Picture{}, context.Cause(ctx)
	}
	if err != nil || decoded.Bounds().Dx() != s.width || decoded.Bounds().Dy() != s.height {
		return Picture{}, doc.NewInvalid(field, Damaged)
	}
	box := kind
	if s.turned > 4 { // it lies on its side
		box.width, box.height = kind.height, kind.width
	}
	width, height := box.fit(s.width, s.height)
	drawn := turn(shrink(decoded, width, height), s.turned)
	ending, encode := "jpg", encodeJPEG
	if kind.sharp && (s.format.lossless || !drawn.Opaque()) {
		ending, encode = "png", png.Encode
	} else {
		onWhite(drawn)
	}
	return sizes(drawn, ending, encode)
}

func sizes(drawn *image.RGBA, ending string, encode func(io.Writer, image.Image) error) (made Picture, err error) {
	name, own := newName(), drawn.Rect.Size()
	for _, width := range sizesBelow(own.X) {
		drawn = shrink(drawn, width, max(1, (own.Y*width+own.X/2)/own.X))
		var body bytes.Buffer
		if err := encode(&body, drawn); err != nil {
			return Picture{}, err
		}
		made.Files = append(made.Files, File{fileName(name, width, ending), body.Bytes()})
	}
	made.Address = Root + made.Files[0].Name
	return made, nil
}

func encodeJPEG(w io.Writer, drawn image.Image) error {
	return jpeg.Encode(w, drawn, &jpeg.Options{Quality: jpegQuality})
}

// attended is a file whose reader no longer waits when the context is done.
type attended struct {
	ctx  context.Context
	file io.Reader
}

func (a *attended) Read(b []byte) (int, error) {
	if a.ctx.Err() != nil {
		return 0, a.ctx.Err()
	}
	return a.file.Read(b)
}

// fit is the size that a picture of this size gets: never larger, and never nothing.
func (k Kind) fit(width, height int) (int, int) {
	w, h := float64(width), float64(height)
	scale := min(1, float64(k.width)/w, float64(k.height)/h)
	return max(1, int(w*scale+.5)), max(1, int(h*scale+.5))
}

// shrink draws a picture in a smaller size, or in its own. Each pixel is the average of those that it covers. The
// picture is read row by row, so that this takes little memory.
func shrink(from image.Image, width, height int) *image.RGBA {
	size, to := from.Bounds().Size(), image.NewRGBA(image.Rect(0, 0, width, height))
	row := image.NewRGBA(image.Rect(0, 0, size.X, 1))
	narrow, sum := make([]float32, 4*width), make([]float32, 4*width)
	tall := float64(size.Y) / float64(height) // rows that become one
	y, room := 0, tall
	for at := range size.Y {
		draw.Draw(row, row.Rect, from, from.Bounds().Min.Add(image.Pt(0, at)), draw.Src)
		narrowRow(row.Pix, narrow)
		for left := 1.0; left > 0 && y < height; {
			part := min(left, room)
			weight := float32(part / tall)
			for i, value := range narrow {
				sum[i] += value * weight
			}
			left, room = left-part, room-part
			if room < 1e-6 || at == size.Y-1 && left <= 0 {
				writeRow(to.Pix[y*to.Stride:], sum)
				y, room = y+1, tall
			}
		}
	}
	return to
}

// narrowRow averages the pixels of a row into fewer.
func narrowRow(row []uint8, narrow []float32) {
	width := len(row) / 4
	clear(narrow)
	wide := float64(width) / float64(len(narrow)/4)
	x, room := 0, wide
	for at := 0; at < width; at++ {
		p := row[4*at : 4*at+4 : 4*at+4]
		for left := 1.0; left > 0 && 4*x < len(narrow); {
			part := min(left, room)
			n, weight := narrow[4*x:4*x+4:4*x+4], float32(part/wide)
			n[0] += float32(p[0]) * weight
			n[1] += float32(p[1]) * weight
			n[2] += float32(p[2]) * weight
			n[3] += float32(p[3]) * weight
			left, room = left-part, room-part
			if room < 1e-6 {
				x, room = x+1, wide
			}
		}
	}
}

// writeRow writes a sum of rows, and clears it.
func writeRow(pix []uint8, sum []float32) {
	for i, value := range sum {
		pix[i] = uint8(min(255, value+.5))
	}
	clear(sum)
}

// turn turns and mirrors a picture as Exif counts.
func turn(from *image.RGBA, how int) *image.RGBA {
	if how == 1 {
		return from
	}
	w, h := from.Rect.Dx(), from.Rect.Dy()
	to := image.NewRGBA(image.Rect(0, 0, w, h))
	if how > 4 {
		to = image.NewRGBA(image.Rect(0, 0, h, w))
	}
	for y := range to.Rect.Dy() {
		for x := range to.Rect.Dx() {
			fx, fy := x, y
			if how > 4 {
				fx, fy = y, x
			}
			if how == 2 || how == 3 || how == 7 || how == 8 {
				fx = w - 1 - fx
			}
			if how == 3 || how == 4 || how == 6 || how == 7 {
				fy = h - 1 - fy
			}
			copy(to.Pix[to.PixOffset(x, y):][:4], from.Pix[from.PixOffset(fx, fy):][:4])
		}
	}
	return to
}

// onWhite puts white behind a picture.
func onWhite(drawn *image.RGBA) {
	for i := 0; i < len(drawn.Pix); i += 4 {
		white := 255 - drawn.Pix[i+3]
		drawn.Pix[i] += white
		drawn.Pix[i+1] += white
		drawn.Pix[i+2] += white
		drawn.Pix[i+3] = 255
	}
}
