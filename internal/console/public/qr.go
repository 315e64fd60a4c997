package public

import (
	"bytes"
	"fmt"

	"rsc.io/qr"
)

// quietZone is the white around a code, in dots, that readers need.
const quietZone = 4

// codeImage draws a text as a QR code. It stays black on white in the dark, where cameras read it best.
func codeImage(text string) ([]byte, error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return nil, err
	}
	size := code.Size + 2*quietZone
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h%[1]dv%[1]dH0z"/><path d="`, size, size)
	for y := range code.Size {
		for x := 0; x < code.Size; x++ {
			from := x
			for x < code.Size && code.Black(x, y) {
				x++
			}
			if x > from {
				fmt.Fprintf(&b, "M%d %dh%dv1h-%[3]dz", from+quietZone, y+quietZone, x-from)
			}
		}
	}
	b.WriteString(`"/></svg>`)
	return b.Bytes(), nil
}
