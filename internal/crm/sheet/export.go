package sheet

import (
	"fmt"
	"strings"
	"time"

	"donorbook/internal/crm"
)

// Decimal is a cell with a number that has decimals, such as 12.50.
type Decimal string

// Date is a cell with a day.
type Date time.Time

// record is a document that is written, with what stands beside it.
type record struct {
	contact *crm.Contact
	custom  []*crm.CustomField // those that have a column
	gift    *crm.Gift
	slug    string // of the campaign of a gift
}

// header is the headings of our own files. length is how many elements a list has, for columns of lists.
func (s *Sheet) header(length func(list string) int, heading func(c *column, i int) string) (names []string) {
	s.eachWritten(length, func(c *column, i int) { names = append(names, heading(c, i)) })
	return names
}

// cells are the row of a record.
func (s *Sheet) cells(of *record, length func(list string) int) (cells []any) {
	s.eachWritten(length, func(c *column, i int) { cells = append(cells, c.write(of, i)) })
	return cells
}

// eachWritten goes through the columns of our own files. Those of a list come again for each of its elements.
func (s *Sheet) eachWritten(length func(list string) int, each func(c *column, i int)) {
	for rest := s.columns; len(rest) > 0; {
		together := sameList(rest)
		for i := range length(rest[0].list) {
			for j := range rest[:together] {
				if rest[j].write != nil {
					each(&rest[j], i)
				}
			}
		}
		rest = rest[together:]
	}
}

// once is the length where there are no lists.
func once(string) int { return 1 }

func plainHeading(c *column, _ int) string { return c.heading }

// ContactTable is the columns of a file of contacts: one for each field, and for lists as many as the contact with the longest one needs, so
// that nothing is left out. An import knows every column by its name.
type ContactTable struct {
	custom                    []*crm.CustomField // those in use have a column each
	emails, phones, addresses int
}

// NewContactTable begins a file of contacts with these custom fields.
func NewContactTable(fields *crm.CustomFields) *ContactTable {
	return &ContactTable{custom: fields.Active()}
}

// Fit makes space for a contact. Every contact must be fitted before the header is written.
func (t *ContactTable) Fit(c *crm.Contact) {
	t.emails, t.phones, t.addresses = max(t.emails, len(c.Emails)), max(t.phones, len(c.Phones)), max(t.addresses, len(c.Addresses))
}

func (t *ContactTable) length(list string) int {
	switch list {
	case "emails":
		return t.emails
	case "phones":
		return t.phones
	case "addresses":
		return t.addresses
	case "custom":
		return len(t.custom)
	}
	return 1
}

// Header is the names of the columns.
func (t *ContactTable) Header() []string {
	return Contacts.header(t.length, func(c *column, i int) string {
		if c.list == "custom" {
			return customHeading(t.custom[i].Title)
		}
		return numbered(c.heading, int64(i+1))
	})
}

// Row is the cells of a contact. One that has outgrown the header since it was fitted is refused: a cell must not be left out.
func (t *ContactTable) Row(c *crm.Contact) ([]any, error) {
	if len(c.Emails) > t.emails || len(c.Phones) > t.phones || len(c.Addresses) > t.addresses {
		return nil, fmt.Errorf("contact %d got more emails, phones or addresses while the file was written: export again", c.ID)
	}
	return Contacts.cells(&record{contact: c, custom: t.custom}, t.length), nil
}

func customHeading(title string) string {
	if Contacts.Recognize([]string{title}, nil)[0].Unknown && !strings.HasPrefix(title, customMark) {
		return title
	}
	return customMark + title
}

func customCell(f *crm.CustomField, c *crm.Contact) any {
	v := c.CustomValue(f.ID)
	if f.Type == crm.NumberField {
		return Decimal(v.Value)
	}
	return v.Text()
}

// moment is a cell with a time, empty where there is none.
func moment(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

// GiftHeader is the columns of a file of gifts. Those that an import of gifts reads have the names that it knows.
func GiftHeader() []string { return Gifts.header(once, plainHeading) }

// GiftCells is the row of a gift; slug is that of its campaign.
func GiftCells(g *crm.Gift, slug string) []any {
	return Gifts.cells(&record{gift: g, slug: slug}, once)
}
