package sheet

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
	tables "donorbook/internal/table"
)

// peopleSaid is each row of a file of people: who, how they are reached, and how not.
func peopleSaid(t *testing.T, file, region string) (said []string) {
	t.Helper()
	r := assert.Must(tables.OpenWith(strings.NewReader(file), int64(len(file)), "people.csv",
		tables.Options{Header: FindHeader}))(t)
	m := Contacts.Recognize(r.Header(), nil, lookAt([]byte(file), "people.csv"))
	for cells, _, err := r.Next(); err == nil; cells, _, err = r.Next() {
		rows := Contacts.Rows(m, region)
		if rows.IsRemark(cells) {
			said = append(said, "remark")
			continue
		}
		in := rows.Input(cells)
		if _, err := in.ValidateRow(nil, region, today); err != nil {
			said = append(said, "rejected: "+err.Error())
			continue
		}
		c := assert.Must(crm.NewContact(in, today))(t)
		said = append(said, personSaid(&c))
	}
	return said
}

func personSaid(c *crm.Contact) string {
	text := strings.TrimSpace(c.Prefix + " " + c.PersonName().String())
	if c.Company != "" && !c.IsCompany {
		text += " (" + c.Company + ")"
	}
	var emails []string
	for _, email := range c.Emails {
		emails = append(emails, email.Value)
	}
	text += " " + fmt.Sprint(emails)
	for _, a := range c.Addresses {
		text += " " + strings.Join(strings.Fields(a.Line1+" "+a.City+" "+a.State+" "+a.Zipcode), " ")
	}
	if !c.DOB.IsZero() {
		text += " born " + c.DOB.Format("2006-01-02")
	}
	return strings.Join(append([]string{text}, slices.DeleteFunc(c.Marked(),
		func(mark string) bool { return mark == crm.Company })...), " ")
}

// TestARemarkBelowATableIsNoPerson: reports end with sums, and with who may read them.
func TestARemarkBelowATableIsNoPerson(t *testing.T) {
	t.Parallel()
	people := Contacts.Rows(Contacts.Recognize(rows.All(`Contact ID  First Name  Last Name  Email  Total Gifts`), nil,
		nil), "US")
	for cells, want := range rows.Each[bool](`
		Grand Totals (4 records)||||$1,345.00   true
		Confidential - do not distribute||||    true
		|Total members: 5|||                    true
		0035f00000AAA1AAAT||||                  false
		|Total|Wine|info@example.org|           false
		|Cher|||                                false
	`) {
		assert.Equal(t, people.IsRemark(strings.Split(cells, "|")), want, "%q is a remark", cells)
	}
}
