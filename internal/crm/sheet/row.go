package sheet

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"donorbook/internal/crm"
)

// Rows reads the rows of a file. What the columns say about all of them is found out once.
type Rows struct {
	cells  []cell
	region string            // where phone numbers without + belong; it tells how days and amounts are written
	isOwn  bool              // the file is an export of ours: every cell is meant as it stands
	names  map[string]string // what the columns are called, by the paths of what they become
}

// cell is a cell of a row, as its column tells how to read it.
type cell struct {
	*column
	at        int    // the place of its column
	n         int64  // which of several it is, or the id of a custom field
	name      string // of its column
	mapped    string // what its column was mapped to
	dayFirst  bool
	valueType string // of an email or a phone
}

// Rows reads what the columns of a file mean.
func (s *Sheet) Rows(m Mapping, region string) *Rows {
	rows := &Rows{region: region, isOwn: s.isOwn(m), names: map[string]string{}}
	for i, named := range m {
		c, n, ok := s.find(named.Target)
		if !ok || c.target == Skip {
			continue
		}
		rows.call(c, n, named.Name)
		if c.giver != "" {
			c, n, _ = Contacts.find(c.giver)
		}
		rows.cells = append(rows.cells, cell{column: c, at: i, n: n, name: named.Name, mapped: named.Target,
			dayFirst: region != "US" || isForeignDay(named.Name), valueType: c.types[groupOf(named.Name)]})
	}
	slices.SortStableFunc(rows.cells, func(a, b cell) int { return cmp.Compare(first(a.first), first(b.first)) })
	return rows
}

func first(yes bool) int {
	if yes {
		return 0
	}
	return 1
}

// call notes what a column is called, for faults. What becomes of columns of emails, phones and addresses differs from row to row.
func (rows *Rows) call(c *column, n int64, name string) {
	switch {
	case c.target == FullName:
		for _, part := range [...]string{"first_name", "last_name"} {
			if rows.names[part] == "" {
				rows.names[part] = name + " (" + strings.ReplaceAll(part, "_", " ") + ")"
			}
		}
	case c.target == customTarget:
		field := crm.CustomField{ID: n}
		rows.names["custom_fields."+field.Key()] = name
	case c.list == "":
		rows.names[cmp.Or(c.path, c.target)] = name
	}
}

// row is what the cells of one row say.
type row struct {
	*Rows
	contact  crm.ContactInput // in a file of gifts, the giver
	gift     *GiftRow         // nil in a file of contacts
	fullName string
	values   map[string][]cellValue // emails and phones
	places   []cellAddress
	tags     []string
	names    map[string]string // as in Rows, with those of lists
}

// Input is the contact that a row describes. Empty cells say nothing, and what is wrong is found by Validate, which calls fields as the columns are called.
func (rows *Rows) Input(cells []string) crm.ContactInput {
	r := &row{Rows: rows, names: maps.Clone(rows.names)}
	r.read(cells)
	r.contact.SentAs = r.names
	return r.contact
}

func (r *row) read(cells []string) {
	for i := range r.cells {
		c := &r.cells[i]
		if c.at >= len(cells) { // of a row that cannot be read
			continue
		}
		text := strings.TrimSpace(cells[c.at])
		if text != "" && c.clean != nil {
			text = c.clean(c, text)
		}
		if text != "" {
			c.read(r, c, text)
		}
	}
	r.finish()
}

// goes tells whether a column goes to a target.
func (rows *Rows) goes(target string, n int64) bool {
	return slices.ContainsFunc(rows.cells, func(c cell) bool { return c.target == target && c.n == n })
}
