package table

import (
	"bytes"
	"errors"
	"io"
)

// window shows the part of a text that a row is in. It grows with the row, up to its limit.
type window struct {
	r    io.Reader
	buf  []byte
	from int   // what is before has been used
	err  error // what the reader ended with
	line int   // the number of the row that the rest begins with, from 1
	end  byte  // of a line
}

func newWindow(r io.Reader) *window { return &window{r: r, line: 1, end: '\n'} }

// rest is the text that was not used yet, as far as it was read.
func (w *window) rest() []byte { return w.buf[w.from:] }

// atEnd tells that the rest is all there is.
func (w *window) atEnd() bool { return w.err != nil }

// more reads on. It is false at the end, and where the rest is as long as a row may be.
func (w *window) more() bool {
	rest := w.rest()
	if w.err != nil || len(rest) >= maxRow {
		return false
	}
	grown := w.buf[:cap(w.buf)]
	if 2*len(rest) >= cap(w.buf) {
		grown = make([]byte, min(max(sampleSize, 2*cap(w.buf)), maxRow))
	}
	kept := copy(grown, rest)
	n, err := io.ReadFull(w.r, grown[kept:])
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	w.buf, w.from, w.err = grown[:kept+n], 0, err
	return n > 0 || err != nil // the end is news as well
}

// use leaves a row of n bytes behind. A row counts once, as in a spreadsheet, however many lines its cells have.
func (w *window) use(n int) {
	w.line++
	w.from += n
}

// lineLength is how many bytes the next line has, with its end. It is 0 where the line is longer than a row may be, and at the end.
func (w *window) lineLength() int {
	for {
		if n := bytes.IndexByte(w.rest(), w.end); n >= 0 {
			return n + 1
		}
		if !w.more() {
			break
		}
	}
	if w.atEnd() {
		return len(w.rest())
	}
	return 0
}

// skipLine leaves a line of any length behind.
func (w *window) skipLine() {
	for {
		if n := w.lineLength(); n > 0 || w.atEnd() {
			w.use(n)
			return
		}
		w.from = len(w.buf)
	}
}

// failed is what the reader ended with, if it was not the end of the file.
func (w *window) failed() error {
	if w.err == nil || errors.Is(w.err, io.EOF) {
		return nil
	}
	return w.err
}
