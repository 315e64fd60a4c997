package sheet

import (
	"fmt"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
)

// Decimal is a cell with a number that has decimals, such as 12.50.
type Decimal string

// Date is a cell with a day.
type Date time.Time

// Table is a file of ours: a column for each field, and for lists as many as the longest one needs, so that nothing is
// left out. An import knows every column by its name.
type Table struct {
	sheet   *Sheet
	custom  []*custom.Field // those in use have a column each
	lengths map[string]int  // of the longest lists

	currency string // of what contacts have given
}

// record is a document that is written, with what stands beside it.
type record struct {
	contact *crm.Contact
	custom  []*custom.Field
	money   func(minor int64) Decimal // of what the contact has given
	gift    *giving.Gift
	title   string // of the campaign of a gift
}

// ContactTable begins a file of contacts with these custom fields, whose totals are in a currency.
func ContactTable(fields *custom.Fields, currency string) *Table {
	custom := fields.Active()
	return &Table{Contacts, custom, map[string]int{"": 1, "custom": len(custom)}, currency}
}

// GiftTable begins a file of gifts.
func GiftTable() *Table { return &Table{sheet: Gifts, lengths: map[string]int{"": 1}} }

// Fit makes space for a contact. Every contact must be fitted before the header is written.
func (t *Table) Fit(c *crm.Contact) {
	t.lengths["emails"] = max(t.lengths["emails"], len(c.Emails))
	t.lengths["phones"] = max(t.lengths["phones"], len(c.Phones))
	t.lengths["addresses"] = max(t.lengths["addresses"], len(c.Addresses))
}

// Header is the names of the columns.
func (t *Table) Header() (names []string) {
	t.sheet.each(t.lengths, func(c *column, i int) {
		switch {
		case c.write == nil:
		case c.list == "custom":
			names = append(names, customHeading(t.custom[i].Title))
		default:
			names = append(names, headingOf(c.heading, i))
		}
	})
	return names
}

// Contact is the row of a contact. One that has outgrown the header since it was fitted is refused: a cell must not be
// left out.
func (t *Table) Contact(c *crm.Contact) ([]any, error) {
	if len(c.Emails) > t.lengths["emails"] || len(c.Phones) > t.lengths["phones"] ||
		len(c.Addresses) > t.lengths["addresses"] {
		return nil,
			fmt.Errorf("contact %d got more emails, phones or addresses while the file was written: export again", c.ID)
	}
	money := func(minor int64) Decimal { return Decimal(text.MoneyInput(minor, t.currency)) }
	return t.row(&record{contact: c, custom: t.custom, money: money}), nil
}

// Gift is the row of a gift; title is that of its campaign.
func (t *Table) Gift(g *giving.Gift, title string) []any {
	return t.row(&record{gift: g, title: title})
}

func (t *Table) row(of *record) []any {
	cells := make([]any, 0, 2*len(t.sheet.columns))
	t.sheet.each(t.lengths, func(c *column, i int) {
		if c.write != nil {
			cells = append(cells, c.write(of, i))
		}
	})
	return cells
}

// Row is a row of a file that is written and not read, with its headings.
type Row []headedCell

type headedCell struct {
	heading string
	cell    any
}

func (r Row) Header() (names []string) {
	for _, c := range r {
		names = append(names, c.heading)
	}
	return names
}

func (r Row) Cells() (cells []any) {
	for _, c := range r {
		cells = append(cells, c.cell)
	}
	return cells
}

// PlanRow is the row of a plan. It starts and is due on days, which are in no zone.
func PlanRow(p *giving.Plan, company string) Row {
	return Row{
		{"id", p.Code}, {"contact_id", id(p.Contact)}, {"first_name", p.Giver.FirstName},
		{"last_name", p.Giver.LastName}, {"email", p.Giver.Email}, {"phone", p.Giver.Phone},
		{"campaign_id", id(p.Campaign)}, {"frequency", p.Frequency}, {"status", string(p.Status)}, {"method", p.Method},
		{"amount", Decimal(text.MoneyInput(p.Amount, p.Currency))}, {"currency", p.Currency},
		{"start_at", day(p.StartAt)}, {"next_bill_date", day(p.NextBill)}, {"created_at", moment(p.CreatedAt)},
		{"canceled_at", moment(p.CanceledAt)}, {"external_id", p.ExternalID}, {"company", company},
	}
}

// DonorRow is what stands beside a contact in a file of donors: what they gave in a year or to a campaign.
func DonorRow(when string, given giving.Given, currency string) Row {
	var others []string
	for _, other := range given.Others(currency) {
		others = append(others, text.MoneyInput(given.Sums[other], other)+" "+other)
	}
	return Row{{"Gifts " + when, given.Gifts}, {"Given " + when,
		Decimal(text.MoneyInput(given.Sums[currency], currency))}, {"Currency", currency},
		{"Given in other currencies", strings.Join(others, ", ")}}
}

func customHeading(title string) string {
	if Contacts.Recognize([]string{title}, nil, nil)[0].Unknown && !strings.HasPrefix(title, CustomMark) {
		return title
	}
	return CustomMark + title
}

func customCell(f *custom.Field, c *crm.Contact) any {
	v := c.CustomValue(f.ID)
	if f.Type == custom.NumberField {
		return Decimal(v.Value)
	}
	return v.Text()
}

func dayText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.DateOnly)
}

// day is a cell with a day, empty where there is none.
func day(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return Date(t)
}

// moment is a cell with a time, empty where there is none.
func moment(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}
