package sheet

import (
	"fmt"
	"slices"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/custom"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

// TestEveryFieldHasAColumnOfItsOwn: a column that becomes a field fills that one and no other, and is written as it was read.
func TestEveryFieldHasAColumnOfItsOwn(t *testing.T) {
	cellOf := map[string]string{"dob": "1980-01-31", "twitter_url": "https://x.org", "linkedin_url": "https://x.org", "facebook_url": "https://x.org", "state": "NY", "country": "USA",
		"do_not_mail": "yes", "do_not_email": "yes", "do_not_call": "yes", "deceased": "yes"}
	made := func(target, text string) crm.Contact {
		in := Contacts.Rows(Mapping{{Name: "The column", Target: target}}, "US").Input([]string{text})
		if err := in.Validate(nil, false, "US", today); err != nil {
			t.Fatal(target, err)
		}
		c, err := crm.NewContact(in, today)
		if err != nil {
			t.Fatal(target, err)
		}
		return c
	}
	for _, f := range crm.ContactTexts {
		if f.Name == "type" { // a company needs a name as well
			continue
		}
		want := or(cellOf[f.Name], "x")
		c := made(f.Name, want)
		for _, other := range crm.ContactTexts {
			if f.Name == "company" && other.Name == "type" { // a row with nothing but the name of a company is one
				continue
			}
			assert.Equal(t, (other.Text(&c) != other.Text(&crm.Contact{})), (other.Name == f.Name),
				"a column that becomes %s makes %s", f.Name, other.Name)
		}
		out := ContactTable(custom.NewFields(0, nil), "USD")
		row, err := out.Contact(&c)
		if at := slices.Index(out.Header(), f.Label); err != nil || at < 0 || row[at] != want {
			t.Errorf("%s is written as %v, %v", f.Name, row, err)
		}
	}
	for _, f := range crm.AddressTexts {
		want := or(cellOf[f.Name], "x")
		c := made("addresses.0."+f.Name, want)
		for _, other := range crm.AddressTexts {
			if got := other.Text(&c.Addresses[0]); got != "" && other.Name != f.Name || got != want && other.Name == f.Name {
				t.Errorf("a column that becomes %s makes %s %q", f.Name, other.Name, got)
			}
		}
	}
}

// TestFieldsOfOtherSystemsComeBack: opt-outs, ids and companies of another system are read, and our own file has them again.
func TestFieldsOfOtherSystemsComeBack(t *testing.T) {
	header := rows.All(`
		Constituent Type  Organization  First  Last  Salesforce ID  Donor ID  Do Not Mail  No Email  Do not call
		Deceased  Prefix  Title
	`)
	for _, test := range []struct {
		row  []string
		want func(c *crm.Contact)
	}{
		{rows.All(`
			Organization  Acme  ""  ""  003A  7  X  No  ""  n  ""  ""
		`), func(c *crm.Contact) {
			c.IsCompany, c.Company, c.DoNotMail = true, "Acme", true
			c.ExternalIDs = []crm.ExternalID{{Source: "Salesforce", Value: "003A"}, {Source: "import", Value: "7"}}
		}},
		{rows.All(`
			Individual  ""  Ana  Lopez  ""  a:b;c  ""  Opted out of all  TRUE  1  Dr.  Director
		`), func(c *crm.Contact) {
			c.FirstName, c.LastName, c.Prefix, c.Title = "Ana", "Lopez", "Dr.", "Director"
			c.DoNotEmail, c.DoNotCall, c.Deceased = true, true, true
			c.ExternalIDs = []crm.ExternalID{{Source: "import", Value: "a:b;c"}}
		}},
	} {
		var want crm.Contact
		test.want(&want)
		read := func(header, row []string) crm.Contact {
			in := Contacts.Rows(Contacts.Recognize(header, nil, nil), "US").Input(row)
			if err := in.Validate(nil, true, "US", today); err != nil {
				t.Fatal(row, err)
			}
			c, err := crm.NewContact(in, today)
			if err != nil {
				t.Fatal(row, err)
			}
			return c
		}
		want.CreatedAt, want.UpdatedAt = today, today
		c := read(header, test.row)
		assert.Equal(t, string(c.AppendBody(nil)), string(want.AppendBody(nil)),
			"%q is read (%v)", test.row, want.AppendBody(nil))
		out := ContactTable(custom.NewFields(0, nil), "USD")
		cells, err := out.Contact(&c)
		var row []string
		for _, cell := range cells {
			row = append(row, fmt.Sprint(cell))
		}
		if again := read(out.Header(), row); err != nil || string(again.AppendBody(nil)) != string(want.AppendBody(nil)) {
			t.Errorf("%v: our own row %q is read as\n%s", err, row, again.AppendBody(nil))
		}
	}
}

func or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// TestAFieldThatNoLineNames: a new text field needs no line of its own to be recognized, chosen, read and written.
func TestAFieldThatNoLineNames(t *testing.T) {
	heard := ""
	s := newSheet(Sheet{recognize: recognizeContacts, own: []string{"a", "b"}, columns: complete([]column{{target: Skip}, {target: "first_name"}, {heading: "id"}}, []column{
		{target: "first_name"},
		{target: "nick_name", label: "Nickname", read: func(_ *row, _ *cell, text string) { heard = text }, write: func(*record, int) any { return "Ama" }},
	})})
	if got := s.Targets(); !slices.Equal(got, []string{Skip, "first_name", "nick_name"}) || s.Label("nick_name") != "Nickname" {
		t.Errorf("offered: %q", got)
	}
	for _, name := range []string{"Nickname", "nick_name", "NICK NAME"} {
		m := s.Recognize([]string{name}, nil, nil)
		if heard = ""; m[0].Target != "nick_name" {
			t.Errorf("%s is taken for %s", name, m[0].Target)
		}
		if s.Rows(m, "US").Input([]string{"Ama"}); heard != "Ama" {
			t.Errorf("a cell of %s was read as %q", name, heard)
		}
	}
	if got := (&Table{sheet: s, lengths: map[string]int{"": 1}}).Header(); !slices.Equal(got, []string{"nick_name"}) {
		t.Errorf("written: %q", got)
	}
}

// TestACompanyMayStandInBothColumns: a name that the column of companies has, too, is one.
func TestACompanyMayStandInBothColumns(t *testing.T) {
	t.Parallel()
	if said := peopleSaid(t, "Name,Company,Email\nInitech,Initech,a@example.org\nAnn Lee,Initech,b@example.org\n", "US"); !slices.Equal(said, []string{"Initech [a@example.org]", "Ann Lee (Initech) [b@example.org]"}) {
		t.Errorf("the rows are %q", said)
	}
}
