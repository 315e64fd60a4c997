package table

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// delimited reads text with separators. It is our own reader and not encoding/csv for the sake of broken quotes: a quote that is never closed costs its
// own line and not the rest of the file, and line breaks in cells stay as they are.
type delimited struct {
	*window
	comma byte
	spans []span // of the cells of a row; used again
	again int    // bytes that were read in vain after a quote that is not closed
	cut   bool   // the last row was ended by the file alone
}

// span is where a cell stands in its row.
type span struct {
	from, to int
	doubled  bool // it has quotes that are written twice
}

// maxAgain bounds the time that a file with many broken quotes takes: for each one, the text up to the end of the row is read in vain.
var maxAgain = 64 << 20

func (t *Reader) openDelimited(text func() io.Reader) error {
	t.Format = "csv"
	d := &delimited{window: newWindow(text()), comma: ','}
	d.more()
	if err := d.failed(); err != nil {
		return err
	}
	sample := d.rest()
	d.end = lineEnd(sample)
	if after, found := bytes.CutPrefix(sample, []byte("sep=")); found && len(after) > 1 && after[0] != '\r' && (after[1] == '\r' || after[1] == '\n') {
		d.comma = after[0] // as one spreadsheet program tells another
		d.skipLine()
		d.line = 1 // a spreadsheet does not show it
	} else {
		d.comma = d.guessComma(sample)
	}
	return t.takeHeader(d)
}

// lineEnd is what lines end with. It is \r where old programs on the Mac wrote them. These have \n within cells.
func lineEnd(sample []byte) byte {
	end, inQuotes := byte('\n'), false
	for _, b := range sample {
		switch {
		case b == '"':
			inQuotes = !inQuotes
		case b == '\n' && !inQuotes:
			return b
		case b == '\r' && !inQuotes:
			end = b
		}
	}
	return end
}

// guessComma is the separator with which the most of the first rows have the same number of cells, and the most of them where that is true of several. A title
// above the table has others.
func (d *delimited) guessComma(sample []byte) byte {
	best, bestRows, bestCells := byte(','), 0, 1
	for _, comma := range []byte{',', ';', '\t'} {
		trial := delimited{window: &window{end: d.end}, comma: comma}
		cells, rows, text, counted := 0, 0, sample, map[int]int{}
		for range 100 {
			n, ok := trial.split(text, d.atEnd())
			if n == 0 || !ok {
				break
			}
			text = text[n:]
			if n := len(trial.spans); n > 1 {
				if counted[n]++; counted[n] > rows || counted[n] == rows && n > cells {
					cells, rows = n, counted[n]
				}
			}
		}
		if rows > bestRows || rows == bestRows && cells > bestCells {
			best, bestRows, bestCells = comma, rows, cells
		}
	}
	return best
}

func (d *delimited) next() (cells []string, line int, err error) {
	for {
		line, text := d.line, d.rest()
		n, ok := d.split(text, d.atEnd())
		switch {
		case !ok:
			return nil, line, d.broken(n)
		case n > 0:
			cells := d.cells(text[:n])
			d.cut = text[n-1] != d.end // of the row that is read last
			d.use(n)
			return cells, line, nil
		case d.more():
		case d.failed() != nil:
			return nil, line, d.failed()
		case d.atEnd():
			return nil, line, io.EOF
		case bytes.IndexByte(text, d.end) >= 0:
			return nil, line, d.broken(len(text))
		default:
			d.skipLine()
			return nil, line, &RowError{line, tooLong, nil}
		}
	}
}

const tooLong = "The row is longer than 4 MiB."

// broken leaves the line behind that begins with the next row, since it has a quote that is not closed. n bytes were read to find that out.
func (d *delimited) broken(n int) error {
	line := d.line
	if d.again += n; d.again > maxAgain {
		return refusal(fmt.Sprintf("Too many rows up to line %d have a quote that is not closed. Save the table as .xlsx, and use that file.", line))
	}
	length := d.lineLength()
	first := d.rest()[:length]
	d.spans = d.spans[:0]
	from := 0
	for i, b := range first { // as if no quote meant anything
		if b == d.comma {
			d.add(span{from: from, to: i})
			from = i + 1
		}
	}
	d.add(span{from: from, to: len(bytes.TrimRight(first, "\r\n"))})
	cells := d.cells(first)
	d.use(length)
	return &RowError{line, "A quote in this row is not closed. Put a cell with quotes, separators or line breaks in quotes, and write each quote in it twice.", cells}
}

// cells are the texts that split has found.
func (d *delimited) cells(row []byte) []string {
	text := string(row) // of which all cells are parts
	cells := make([]string, len(d.spans))
	for i, s := range d.spans {
		cells[i] = text[s.from:s.to]
		if s.doubled {
			cells[i] = strings.ReplaceAll(cells[i], `""`, `"`)
		}
		cells[i] = unguarded(cells[i])
	}
	return cells
}

// add notes a cell. One more than a table may have tells that they are too many.
func (d *delimited) add(cell span) {
	if len(d.spans) <= maxColumns {
		d.spans = append(d.spans, cell)
	}
}

// split finds the cells of the row at the beginning of a text, and how many bytes it has. These are 0 where the row has no end yet. It is not ok if a
// quote is not closed: the text ends, or the quote after a line break is followed by more than a separator. A quote within a line that is not
// doubled stands for itself.
func (d *delimited) split(text []byte, isAll bool) (n int, ok bool) {
	d.spans = d.spans[:0]
	if len(text) == 0 {
		return 0, true
	}
	for i := 0; ; {
		if quote := len(text) - len(bytes.TrimLeft(text[i:], " ")); quote < len(text) && text[quote] == '"' {
			end, doubled, state := d.closing(text, quote+1, isAll)
			switch state {
			case unknown:
				return 0, true
			case unclosed:
				return end, false
			}
			d.add(span{quote + 1, end, doubled})
			i = end + 1
		} else {
			from := i
			for i < len(text) && text[i] != d.comma && text[i] != d.end {
				i++
			}
			to := i
			if d.end == '\n' && i > from && i < len(text) && text[i] == '\n' && text[i-1] == '\r' {
				to--
			}
			d.add(span{from: from, to: to})
		}
		if i < len(text) && text[i] == '\r' && d.end == '\n' {
			i++ // of a line break after a quote
		}
		switch {
		case i >= len(text):
			if !isAll {
				return 0, true
			}
			return len(text), true
		case text[i] == d.end:
			return i + 1, true
		}
		i++ // a separator
	}
}

// The states of a quote.
type quoteState int

const (
	unknown  quoteState = iota // what has been read so far does not tell
	unclosed                   // it will not be closed
	closed
)

// closing finds the quote that ends a cell.
func (d *delimited) closing(text []byte, from int, isAll bool) (at int, doubled bool, state quoteState) {
	looked, broken := from, false // whether there is a line break before
	for at = from; ; {
		quote := bytes.IndexByte(text[at:], '"')
		if quote < 0 {
			break
		}
		at += quote
		broken = broken || bytes.IndexByte(text[looked:at], d.end) >= 0
		looked = at
		after := text[at+1:]
		switch {
		case len(after) == 0 && !isAll, len(after) == 1 && after[0] == '\r' && !isAll:
			return at, doubled, unknown
		case len(after) == 0, after[0] == d.comma, after[0] == d.end, after[0] == '\r' && d.end == '\n' && (len(after) == 1 || after[1] == '\n'):
			return at, doubled, closed
		case after[0] == '"':
			doubled = true
			at += 2
		case broken:
			return at, doubled, unclosed
		default:
			at++
		}
	}
	if isAll {
		return len(text), doubled, unclosed
	}
	return at, doubled, unknown
}
