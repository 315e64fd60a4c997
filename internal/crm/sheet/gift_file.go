package sheet

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"donorbook/internal/crm"
)

// Source is a table that is read row by row, with io.EOF after the last one.
type Source interface {
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
	source    Source
	rows      *Rows
	hasMethod bool
	IsJSON    bool // its rows have the names of the API, and no header
}

// OpenGiftFile reads a table of gifts, whose columns mean what the mapping says. Without a mapping their names tell. The region is where phone numbers
// without + belong; it tells how days and amounts are written. A table without an amount or a date is *crm.Malformed. A JSON file needs no mapping.
func OpenGiftFile(source Source, isJSON bool, mapping Mapping, region string) (*GiftFile, error) {
	if isJSON {
		return &GiftFile{source: source, rows: Gifts.Rows(nil, region), IsJSON: true}, nil
	}
	if mapping == nil {
		mapping = Gifts.Recognize(source.Header(), nil)
	}
	var refused *crm.Invalid
	if errors.As(Gifts.Check(mapping), &refused) {
		return nil, &crm.Malformed{Message: refused.AllFaults()}
	}
	return &GiftFile{source: source, rows: Gifts.Rows(mapping, region), hasMethod: mapping.has("method")}, nil
}

// Next is the next row, io.EOF after the last one.
func (f *GiftFile) Next() (*GiftRow, error) {
	cells, line, err := f.source.Next()
	var broken BrokenRow
	switch {
	case errors.As(err, &broken):
		return f.broken(broken.Broken()), nil
	case err != nil:
		return nil, err
	case f.IsJSON:
		row, err := readObject(line, slices.Clone(f.source.Object()))
		var malformed *crm.Malformed
		if errors.As(err, &malformed) {
			return f.broken(line, malformed.Message, nil), nil
		}
		return row, err
	}
	return f.row(line, cells), nil
}

// row is what the cells of one line say. An empty cell says nothing.
func (f *GiftFile) row(line int, cells []string) *GiftRow {
	r := &row{Rows: f.rows, gift: &GiftRow{Line: line}}
	g := r.gift
	g.SentAs = f.rows.names
	if !f.hasMethod {
		method := "other"
		g.Method = &method
	}
	r.read(cells)
	g.takeGiver(&r.contact)
	g.content = f.rows.content(cells)
	return g
}

// content is all that a row says, whatever the order of its columns is. An earlier version has recorded gifts by it.
func (rows *Rows) content(cells []string) []byte {
	said := make([]string, 0, len(rows.cells))
	for _, c := range rows.cells {
		if c.at >= len(cells) || c.mapped == ownGift { // the same gift is exported under another id by another account
			continue
		}
		if text := strings.TrimSpace(cells[c.at]); text != "" {
			said = append(said, fmt.Sprintf("%s=%d:%s;", c.mapped, len(text), text))
		}
	}
	slices.Sort(said)
	return []byte(strings.Join(said, ""))
}

// broken is a row that is rejected whatever it says.
func (f *GiftFile) broken(line int, reason string, cells []string) *GiftRow {
	g := f.row(line, cells)
	if f.IsJSON { // as text, since it is no object
		g.object = append(appendQuoted([]byte(`{"row":`), string(f.source.Object())), '}')
	}
	g.isBroken, g.faults = true, crm.Invalid{} // faults of its cells follow from that
	g.faults.Add("", "%v", reason)
	return g
}
