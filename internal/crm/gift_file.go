package crm

import (
	"errors"
	"slices"
	"strings"
)

// Rows are the rows of a table, one after the other, with io.EOF after the last one.
type Rows interface {
	Header() []string
	Next() (cells []string, line int, err error)
	Object() []byte // the JSON of the row, if that is what it is
}

// BrokenRow is the error of a row that cannot be read. Other rows follow.
type BrokenRow interface {
	error
	Broken() (line int, reason string, cells []string)
}

// GiftFile reads the rows of a file of gifts.
type GiftFile struct {
	rows   Rows
	header *giftHeader
	IsJSON bool // its rows have the names of the API, and no header
}

// OpenGiftFile reads a table of gifts, whose columns mean what the mapping says. Without a mapping their names tell. The region is where phone numbers
// without + belong; it tells how days and amounts are written. A table without an amount or a date is *Malformed. A JSON file needs no mapping.
func OpenGiftFile(rows Rows, isJSON bool, mapping Mapping, region string) (*GiftFile, error) {
	if isJSON {
		return &GiftFile{rows: rows, header: readHeader(nil, region), IsJSON: true}, nil
	}
	if mapping == nil {
		mapping = GuessGiftColumns(rows.Header())
	}
	var refused *Invalid
	if errors.As(mapping.CheckGifts(), &refused) {
		return nil, &Malformed{Message: refused.AllFaults()}
	}
	return &GiftFile{rows: rows, header: readHeader(mapping, region)}, nil
}

// Next is the next row, io.EOF after the last one.
func (f *GiftFile) Next() (*GiftRow, error) {
	cells, line, err := f.rows.Next()
	var broken BrokenRow
	switch {
	case errors.As(err, &broken):
		return f.broken(broken.Broken()), nil
	case err != nil:
		return nil, err
	case f.IsJSON:
		row, err := readJSONRow(line, slices.Clone(f.rows.Object()))
		var malformed *Malformed
		if errors.As(err, &malformed) {
			return f.broken(line, malformed.Message, nil), nil
		}
		return row, err
	}
	return f.header.row(line, cells), nil
}

// broken is a row that is rejected whatever it says.
func (f *GiftFile) broken(line int, reason string, cells []string) *GiftRow {
	row := f.header.row(line, cells)
	if f.IsJSON {
		text := strings.ToValidUTF8(string(f.rows.Object()), "\ufffd")
		row.rejected = func(reason string) string { // as text, since it is no object
			object := appendText([]byte(`{"row":`), text)
			return string(append(appendText(append(object, `,"`+RejectedColumn+`":`...), reason), '}'))
		}
	}
	row.faults = Invalid{} // those of its cells follow from that
	row.faults.Add("", "%v", reason)
	return row
}

// MatchKey is the match key of an email or a phone; ok is false where the text is neither.
func MatchKey(text, region string) (key string, ok bool) {
	if strings.Contains(text, "@") {
		key, ok = normalEmail(text)
		return emailPrefix + key, ok
	}
	key, ok = normalPhone(text, region)
	return phonePrefix + key, ok && key != ""
}
