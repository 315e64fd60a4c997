package sheet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

// TestEveryFieldHasAColumnOfItsOwn: a column that becomes a field fills that one and no other, and is written as it was
// read.
func TestEveryFieldHasAColumnOfItsOwn(t *testing.T) {
	cellOf := maps.Collect(rows.Pairs(`
		dob           1980-01-31
		twitter_url   https://x.org
		linkedin_url  https://x.org
		facebook_url  https://x.org
		state         NY
		country       USA
		do_not_mail   yes
		do_not_email  yes
		do_not_call   yes
		deceased      yes
	`))
	made := func(target, text string) crm.Contact {
		return contactOf(t, Mapping{{Name: "The column", Target: target}}, []string{text})
	}
	for _, f := range crm.ContactTexts {
		if f.Name == "type" { // a company needs a name as well
			continue
		}
		want := cmp.Or(cellOf[f.Name], "x")
		c := made(f.Name, want)
		for _, other := range crm.ContactTexts {
			if f.Name == "company" && other.Name == "type" { // a row with nothing but the name of a company is one
				continue
			}
			assert.Equal(t, (other.Text(&c) != other.Text(&crm.Contact{})), (other.Name == f.Name),
				"a column that becomes %s makes %s", f.Name, other.Name)
		}
		out := ContactTable(custom.NewFields(0, nil), "USD")
		row := assert.Must(out.Contact(&c))(t)
		assert.Equal(t, fmt.Sprint(row[slices.Index(out.Header(), f.Label)]), want, "%s is written as %v", f.Name, row)
	}
	for _, f := range crm.AddressTexts {
		want := cmp.Or(cellOf[f.Name], "x")
		c := made("addresses.0."+f.Name, want)
		for _, other := range crm.AddressTexts {
			assert.Equal(t, other.Text(&c.Addresses[0]), map[bool]string{true: want}[other.Name == f.Name],
				"a column that becomes %s makes %s", f.Name, other.Name)
		}
	}
}

// TestFieldsOfOtherSystemsComeBack: opt-outs, ids and companies of another system are read, and our own file has them
// again.
func TestFieldsOfOtherSystemsComeBack(t *testing.T) {
	const header = "Constituent Type|Organization|First|Last|Salesforce ID|Donor ID|Do Not Mail|No Email|Do not call|Deceased|Prefix|Title"
	for row, body := range rows.Pairs(`
		Organization|Acme|||003A|7|X|No||n||                            {"type":"company","company":"Acme","do_not_mail":true,"external_ids":[{"source":"Salesforce","value":"003A"},{"source":"import","value":"7"}]}
		Individual||Ana|Lopez||a:b;c||Opted out of all|TRUE|1|Dr.|Director  {"first_name":"Ana","last_name":"Lopez","prefix":"Dr.","title":"Director","do_not_email":true,"do_not_call":true,"deceased":true,"external_ids":[{"source":"import","value":"a:b;c"}]}
	`) {
		in, faults := assert.Must2(crm.DecodeContact(doc.NewBody([]byte(body))))(t)
		assert.Succeed(t, in.Validate(faults, true, "US", today))
		made := assert.Must(crm.NewContact(in, today))(t)
		want := string(made.AppendBody(nil))
		c := contactOf(t, Contacts.Recognize(strings.Split(header, "|"), nil, nil), strings.Split(row, "|"))
		assert.Equal(t, string(c.AppendBody(nil)), want, "%q is read", row)
		out := ContactTable(custom.NewFields(0, nil), "USD")
		var cells []string
		for _, cell := range assert.Must(out.Contact(&c))(t) {
			cells = append(cells, fmt.Sprint(cell))
		}
		again := contactOf(t, Contacts.Recognize(out.Header(), nil, nil), cells)
		assert.Equal(t, string(again.AppendBody(nil)), want, "our own row %q is read", cells)
	}
}

// TestAFieldThatNoLineNames: a new text field needs no line of its own to be recognized, chosen, read and written.
func TestAFieldThatNoLineNames(t *testing.T) {
	heard := ""
	s := newSheet(Sheet{recognize: recognizeContacts, own: []string{"a", "b"}, columns: complete(
		[]column{{target: Skip}, {target: "first_name"}, {heading: "id"}},
		[]column{{target: "first_name"}, {
			target: "nick_name", label: "Nickname", read: func(_ *row, _ *cell, text string) { heard = text },
			write: func(*record, int) any { return "Ama" },
		}})})
	assert.Equal(t, s.Targets(), []string{Skip, "first_name", "nick_name"})
	assert.Equal(t, s.Label("nick_name"), "Nickname")
	for _, name := range []string{"Nickname", "nick_name", "NICK NAME"} {
		m := s.Recognize([]string{name}, nil, nil)
		assert.Equal(t, m[0].Target, "nick_name", "%s is taken", name)
		heard = ""
		s.Rows(m, "US").Input([]string{"Ama"})
		assert.Equal(t, heard, "Ama", "a cell of %s was read", name)
	}
	assert.Equal(t, (&Table{sheet: s, lengths: map[string]int{"": 1}}).Header(), []string{"nick_name"})
}

// TestACompanyMayStandInBothColumns: a name that the column of companies has, too, is one.
func TestACompanyMayStandInBothColumns(t *testing.T) {
	t.Parallel()
	said := peopleSaid(t, "Name,Company,Email\nInitech,Initech,a@example.org\nAnn Lee,Initech,b@example.org\n", "US")
	assert.Equal(t, said, []string{"Initech [a@example.org]", "Ann Lee (Initech) [b@example.org]"})
}

// contactOf is the contact that a row becomes.
func contactOf(t *testing.T, m Mapping, row []string) crm.Contact {
	t.Helper()
	in := Contacts.Rows(m, "US").Input(row)
	assert.Succeed(t, in.Validate(nil, false, "US", today))
	return assert.Must(crm.NewContact(in, today))(t)
}
