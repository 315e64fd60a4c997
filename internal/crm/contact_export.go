package crm

import (
	"fmt"
	"strings"
	"time"
)

// ContactSheet is the columns of a file of contacts: one for each field, and for lists as many as the contact with the longest one needs, so
// that nothing is left out. An import knows every column by its name.
type ContactSheet struct {
	Custom *CustomFields // those in use have a column each

	emails, phones, addresses int
}

// Fit makes room for a contact. Every contact must be fitted before the header is written.
func (s *ContactSheet) Fit(c *Contact) {
	s.emails, s.phones, s.addresses = max(s.emails, len(c.Emails)), max(s.phones, len(c.Phones)), max(s.addresses, len(c.Addresses))
}

// contactTexts are the fields that have one column.
var contactTexts = []struct {
	name string
	of   func(*Contact) string
}{
	{"first_name", func(c *Contact) string { return c.FirstName }},
	{"middle_name", func(c *Contact) string { return c.MiddleName }},
	{"last_name", func(c *Contact) string { return c.LastName }},
	{"dob", func(c *Contact) string { return dayText(c.DOB, time.DateOnly) }},
	{"company", func(c *Contact) string { return c.Company }},
	{"title", func(c *Contact) string { return c.Title }},
	{"twitter_url", func(c *Contact) string { return c.TwitterURL }},
	{"linkedin_url", func(c *Contact) string { return c.LinkedinURL }},
	{"facebook_url", func(c *Contact) string { return c.FacebookURL }},
	{"note", func(c *Contact) string { return c.Note }},
	{"tags", func(c *Contact) string { return JoinTags(c.Tags) }},
}

// addressParts are the columns of an address, behind its number.
var addressParts = []string{"line_1", "line_2", "city", "state", "zipcode", "country"}

// Header is the names of the columns.
func (s *ContactSheet) Header() []string {
	names := []string{"id"}
	for _, text := range contactTexts {
		names = append(names, text.name)
	}
	typed := func(name string, n int) {
		for i := range n {
			names = append(names, fmt.Sprintf("%s_%d", name, i+1), fmt.Sprintf("%s_%d_type", name, i+1))
		}
	}
	typed("email", s.emails)
	typed("phone", s.phones)
	for i := range s.addresses {
		for _, part := range addressParts {
			names = append(names, fmt.Sprintf("address_%d_%s", i+1, part))
		}
	}
	for _, f := range s.Custom.Active() {
		names = append(names, customHeading(f.Title))
	}
	return append(names, "total_contributions", "recurring_contributions", "created_at", "updated_at", "archived_at")
}

// Row is the cells of a contact. One that has outgrown the header since it was fitted is refused: a cell must not be left out.
func (s *ContactSheet) Row(c *Contact) ([]any, error) {
	if len(c.Emails) > s.emails || len(c.Phones) > s.phones || len(c.Addresses) > s.addresses {
		return nil, fmt.Errorf("contact %d got more emails, phones or addresses while the file was written: export again", c.ID)
	}
	cells := []any{c.ID}
	for _, text := range contactTexts {
		cells = append(cells, text.of(c))
	}
	typed := func(list []Typed, n int) {
		for i := range n {
			var one Typed
			if i < len(list) {
				one = list[i]
			}
			cells = append(cells, one.Value, one.Type)
		}
	}
	typed(c.Emails, s.emails)
	typed(c.Phones, s.phones)
	for i := range s.addresses {
		var a Address
		if i < len(c.Addresses) {
			a = c.Addresses[i]
		}
		cells = append(cells, a.Line1, a.Line2, a.City, a.State, a.Zipcode, a.Country)
	}
	for _, f := range s.Custom.Active() {
		cells = append(cells, customCell(f, c.CustomValue(f.ID)))
	}
	return append(cells, c.Stats.TotalContributions, c.Stats.RecurringContributions, momentCell(c.CreatedAt), momentCell(c.UpdatedAt), momentCell(c.ArchivedAt)), nil
}

// customMark stands before the title of a custom field that an import would take for another field. The tables of JSON Lines have it too.
const customMark = "Custom: "

func customHeading(title string) string {
	if guessed := GuessColumns([]string{title}, nil); guessed[0].Unknown && !strings.HasPrefix(title, customMark) {
		return title
	}
	return customMark + title
}

// FieldTitle is the title of the custom field that becomes of a column.
func FieldTitle(column string) string { return strings.TrimPrefix(column, customMark) }

// headed is the custom field that a column is named for, nil for none.
func (fields *CustomFields) headed(name string) *CustomField {
	if fields == nil {
		return nil
	}
	if title, marked := strings.CutPrefix(name, customMark); marked {
		if f := fields.ByTitle(title); f != nil {
			return f
		}
	}
	return fields.ByTitle(name)
}

func customCell(f *CustomField, v CustomValue) any {
	if f.Type == NumberField {
		return Decimal(v.Value)
	}
	return v.Text()
}

// momentCell is a time, or an empty cell.
func momentCell(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

// JoinTags is tags in one cell. What an import may take for a separator within a tag is written behind a backslash.
func JoinTags(tags []string) string {
	joined := make([]string, len(tags))
	for i, tag := range tags {
		joined[i] = tagEscapes.Replace(tag)
	}
	return strings.Join(joined, "; ")
}

var tagEscapes = strings.NewReplacer(`\`, `\\`, `;`, `\;`, `,`, `\,`, `|`, `\|`, `"`, `\"`, ":::", `\:\:\:`, "* ", `\* `, "\n", `\n`)
