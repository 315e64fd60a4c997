package sheet

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
	"donorbook/internal/table"
)

var update = flag.Bool("update", false, "write the golden files anew")

var today = time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)

// TestFilesOfOtherSystems: a file of each source system becomes contacts or gifts without any mapping by hand.
func TestFilesOfOtherSystems(t *testing.T) {
	t.Parallel()
	for noun, become := range map[string]func(t *testing.T, name, region string) []byte{"contacts": importFile,
		"gifts": giftsOf} {
		files := assert.Must(filepath.Glob("testdata/" + noun + "/*.csv"))(t)
		assert.Equal(t, len(files) > 8, true, "%v", files)
		for _, name := range files {
			region := cmp.Or(map[string]string{"german.csv": "DE", "french.csv": "FR"}[filepath.Base(name)], "US")
			got, golden := become(t, name, region), strings.TrimSuffix(name, ".csv")+".golden"
			if *update {
				assert.Succeed(t, os.WriteFile(golden, got, 0o644))
			}
			assert.Equal(t, string(got), string(assert.Must(os.ReadFile(golden))(t)), "%s", name)
		}
	}
}

// importFile is what becomes of a file: the columns and their targets, then the contacts.
func importFile(t *testing.T, name, region string) []byte {
	t.Helper()
	data := assert.Must(os.ReadFile(name))(t)
	rows := assert.Must(table.OpenWith(bytes.NewReader(data), int64(len(data)), name,
		table.Options{Header: FindHeader}))(t)
	mapping := Contacts.Recognize(rows.Header(), nil, lookAt(data, name))
	assert.Succeed(t, Contacts.Check(mapping))
	var told bytes.Buffer
	for _, c := range mapping {
		told.WriteString(c.Name + " = " + c.Target + map[bool]string{true: " (unknown)"}[c.Unknown] + "\n")
	}
	for {
		row, _, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return told.Bytes()
		}
		assert.Succeed(t, err)
		in := Contacts.Rows(mapping, region).Input(row)
		assert.Must(in.ValidateRow(nil, region, today))(t)
		contact := assert.Must(crm.NewContact(in, today))(t)
		told.WriteString(indented(t, crm.AppendContact(nil, 1, contact.AppendBody(nil))))
	}
}

func customFields() *custom.Fields {
	return custom.NewFields(1, []custom.Field{
		{ID: 3, Title: "Shirt size", Type: custom.NumberField}, {ID: 4, Title: "position", Type: custom.TextField},
		{ID: 5, Title: "Company", Type: custom.TextField},
		{ID: 6, Title: "Shoe size", Type: custom.TextField, EndedAt: today},
	})
}

func TestColumnsAreRecognized(t *testing.T) {
	t.Parallel()
	for header, want := range rows.Pairs(`
		FIRST NAME|last-name|E mail                                   first_name|last_name|emails.0.value
		Name|email2|Email 1|EMAIL                                     full_name|emails.2.value|emails.0.value|emails.1.value
		Name|Mailing Address|City|State|Postal Code                   full_name|addresses.0.address_1|addresses.0.city|addresses.0.state|addresses.0.zipcode
		Vollname|E-Mail                                               full_name|emails.0.value
		Work Email|Primary Email|Email opt out|Email Type             emails.1.value|emails.0.value|do_not_email|emails.0.type
		Phone|Phone|Phone Type|Cell Phone|Fax|Phone country code      phones.0.value|phones.1.value|phones.0.type|phones.2.value|skip?|skip?
		Address|City|State|Zip                                        addresses.0.address_1|addresses.0.city|addresses.0.state|addresses.0.zipcode
		Address 1|Address 2|City|Postcode                             addresses.0.address_1|addresses.0.address_2|addresses.0.city|addresses.0.zipcode
		Street|Street 2|Town|Home Street|Home City                    addresses.0.address_1|addresses.0.address_2|addresses.0.city|addresses.1.address_1|addresses.1.city
		Street 1|City 1|Street 2|City 2                               addresses.0.address_1|addresses.0.city|addresses.1.address_1|addresses.1.city
		Other Street|Other City|Primary Street|Primary City           addresses.1.address_1|addresses.1.city|addresses.0.address_1|addresses.0.city
		Anschrift|Land                                                addresses.0.whole|skip?
		Straße und Hausnummer|PLZ/Ort|Staat                           addresses.0.address_1|addresses.0.zip_city|addresses.0.country
		Country                                                       addresses.0.country
		Region                                                        skip?
		Tags|Kategorie|Notes|Comments                                 tags|tags|note|note
		Company|Employer|id|created_at||Shoe size                     company|skip?|external_id|skip|skip|skip?
		first_name|emails.0.value|emails.0.type|tags.0|stats.total    first_name|emails.0.value|emails.0.type|tag|skip
		email|emails.0.value                                          emails.1.value|emails.0.value
		shirt SIZE|Position|company|Company                           custom.3|custom.4|company|custom.5
		Vor- und Zuname|Prénom|NOM|Courriel|N° de tél.|Ville          full_name|first_name|last_name|emails.0.value|phones.0.value|addresses.0.city
		custom.3|new:text|skip|emails.0.wrong|addresses.200.city|Jo.  skip?|skip?|skip?|skip|skip|skip?
	`) {
		var got []string
		for _, c := range Contacts.Recognize(strings.Split(header, "|"), customFields(), nil) {
			if c.Unknown {
				c.Target += "?"
			}
			got = append(got, c.Target)
		}
		assert.Equal(t, strings.Join(got, "|"), want, "%s", header)
	}
}

// rowOf is the contact that one cell becomes, beside a name.
func rowOf(t *testing.T, target, cell string) (crm.Contact, error) {
	t.Helper()
	m := Mapping{{Name: "First", Target: "first_name"}, {Name: "Last", Target: "last_name"},
		{Name: "The column", Target: target}}
	row := []string{"Ana", "Lopez", cell}
	if target == FullName {
		row = []string{"", "", cell}
	}
	in := Contacts.Rows(m, "US").Input(row)
	if err := in.Validate(nil, true, "US", today); err != nil {
		return crm.Contact{}, err
	}
	return crm.NewContact(in, today)
}

func TestCellsAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for _, c := range rows.Of[struct{ Target, Cell, Want string }](`
		full_name              Ana Lopez                                                     Ana/Lopez
		full_name              Lopez, Ana María                                              Ana María/Lopez
		full_name              Dr. Ludwig van Beethoven                                      Ludwig/van Beethoven
		full_name              Martin Luther King, Jr.                                       Martin Luther/King
		full_name              Sammy Davis Jr.                                               Sammy/Davis
		full_name              Ana & Tom Lopez                                               Ana & Tom/Lopez
		full_name              Frau Erika von der Leyen                                      Erika/von der Leyen
		full_name              Cher                                                          The Last field is required.
		dob                    1/31/1980                                                     1980-01-31
		dob                    01/31/1980 00:00:00                                           1980-01-31
		dob                    1980-01-31                                                    1980-01-31
		dob                    1980-01-31T00:00:00.000000Z                                   1980-01-31
		dob                    31.1.1980                                                     1980-01-31
		dob                    31/01/1980                                                    1980-01-31
		dob                    3/4/1980                                                      1980-03-04
		dob                    January 31, 1980                                              1980-01-31
		dob                    19800131                                                      1980-01-31
		dob                    0000-00-00                                                    0001-01-01
		dob                    01/31                                                         The The column field must be a date in the format m/d/Y, from 01/01/1000 to today.
		dob                    31/31/1980                                                    The The column field must be a date in the format m/d/Y, from 01/01/1000 to today.
		dob                    1/31/2090                                                     The The column field must be a date in the format m/d/Y, from 01/01/1000 to today.
		emails.0.value         a@example.org                                                 a@example.org
		emails.0.value         a@example.org; b@example.org,c@example.org                    a@example.org b@example.org c@example.org
		emails.0.value         nobody                                                        The The column field must be a valid email address.
		phones.0.value         212-555-0100;ext=5                                            212-555-0100;ext=5
		phones.0.value         212-555-0100; 212-555-0101                                    212-555-0100 212-555-0101
		phones.0.value         n/a                                                           ""
		tags                   a, b,, c                                                      a b c
		tags                   a, b; c                                                       a, b c
		tags                   a|b                                                           a b
		tags                   "\"a, b\",\"c\""                                              a, b c
		tags                   a\, b; c\;d; e\\f; g\|h                                       a, b c;d e\f g|h
		tags                   one                                                           one
		tag                    a, b; c                                                       a, b; c
		twitter_url            @ana                                                          https://twitter.com/ana
		twitter_url            twitter.com/ana                                               https://twitter.com/ana
		twitter_url            https://example.org/x                                         https://example.org/x
		addresses.0.country    Deutschland                                                   |||||DEU
		addresses.0.country    états-unis                                                    |||||USA
		addresses.0.country    U.S.A.                                                        |||||USA
		addresses.0.country    gb                                                            |||||GBR
		addresses.0.country    fra                                                           |||||fra
		addresses.0.country    England                                                       |||||GBR
		addresses.0.country    Atlantis                                                      |Atlantis||||
		addresses.0.state      New York                                                      |||NY||
		addresses.0.state      québec                                                        |||QC||
		addresses.0.state      ny                                                            |||ny||
		addresses.0.state      Bayern                                                        |Bayern||||
		addresses.0.zip_city   10115 Berlin                                                  ||Berlin||10115|
		addresses.0.zip_city   Bad Homburg                                                   ||Bad Homburg|||
		addresses.0.address_1  "5 Pine Street\nRear"                                         5 Pine Street|Rear||||
		addresses.0.whole      "9 Oak Avenue \x20Unit 3 \x20Austin \x20TX \x2078701 \x20US"  9 Oak Avenue|Unit 3|Austin|TX|78701|USA
		addresses.0.whole      9 Oak Avenue, Austin, TX 78701                                9 Oak Avenue||Austin|TX|78701|
		addresses.0.whole      "9 Oak Avenue\nAustin, California\n78701"                     9 Oak Avenue||Austin|CA|78701|
		addresses.0.whole      somewhere in Austin                                           somewhere in Austin|||||
	`) {
		contact, err := rowOf(t, c.Target, c.Cell)
		assert.Equal(t, said(contact, c.Target, err), c.Want, "%s %q", c.Target, c.Cell)
	}
}

// said is what a contact got from a cell.
func said(c crm.Contact, target string, err error) string {
	values := func(list []crm.Typed) string {
		var all []string
		for _, one := range list {
			all = append(all, one.Value)
		}
		return strings.Join(all, " ")
	}
	switch name, _, _ := strings.Cut(target, "."); {
	case err != nil:
		return err.Error()
	case name == "full_name":
		return c.FirstName + "/" + c.LastName
	case name == "dob":
		return c.DOB.Format(time.DateOnly)
	case name == "emails":
		return values(c.Emails)
	case name == "phones":
		return values(c.Phones)
	case name == "tags", name == "tag":
		return strings.Join(c.Tags, " ")
	case name == "twitter_url":
		return c.TwitterURL
	default:
		a := c.Addresses[0]
		return strings.Join([]string{a.Line1, a.Line2, a.City, a.State, a.Zipcode, a.Country}, "|")
	}
}

// TestARowThatIsWrongNamesItsColumn: the reason calls a field as the file does, also where cells before it are empty.
func TestARowThatIsWrongNamesItsColumn(t *testing.T) {
	t.Parallel()
	for _, c := range rows.Of[struct{ Header, Row, Want string }](`
		Vorname|Nachname|E-Mail|E-Mail 2|Telefon|Homepage  |Weiß||broken|+49 30 1234567|x  The E-Mail 2 field must be a valid email address.
		Vollname                   ""                The Vollname (first name) field is required. The Vollname (last name) field is required.
		First|Last|City|Home City  Ana|Lopez||LONG   The Home City field must not be longer than 255 characters.
	`) {
		row := strings.Split(strings.Replace(c.Row, "LONG", strings.Repeat("x", 300), 1), "|")
		in := Contacts.Rows(Contacts.Recognize(strings.Split(c.Header, "|"), nil, nil), "DE").Input(row)
		var faults *doc.Invalid
		if err := in.Validate(nil, true, "DE", today); !errors.As(err, &faults) || faults.AllFaults() != c.Want {
			t.Errorf("%s: %v, want %s", c.Row, err, c.Want)
		}
	}
}

// TestPatternsAreOfKnownWords: a pattern with a meaning that no word has would never be found.
func TestPatternsAreOfKnownWords(t *testing.T) {
	t.Parallel()
	meanings := slices.Concat(slices.Collect(maps.Values(vocabulary)), slices.Collect(maps.Values(phrases)))
	for _, c := range slices.Concat(Contacts.columns, Gifts.columns) {
		for _, p := range c.patterns {
			for _, meaning := range append(p.need, p.may...) {
				assert.Equal(t, slices.Contains(meanings, meaning), true, "%s: a word means %s", c.target, meaning)
			}
		}
	}
}

// TestCustomFieldsOfARow: a cell is read as a person writes it, by the definition of its field.
func TestCustomFieldsOfARow(t *testing.T) {
	t.Parallel()
	fields := customFields()
	m := Contacts.Recognize([]string{"Name", "SHIRT size", "Position"}, fields, nil)
	for cell, want := range map[string]string{" 1,044 ": `[{"field_id":3,"value":1044}]`, "": `[]`,
		"large": "must be a number"} {
		in := Contacts.Rows(m, "US").Input([]string{"Ana Lopez", cell, ""})
		assert.Succeed(t, in.Validate(nil, true, "US", today))
		said := fmt.Sprint(in.CheckCustom(fields))
		contact := assert.Must(crm.NewContact(in, today))(t)
		assert.Contains(t, said+string(contact.AppendBody(nil)), want, "%q", cell)
	}
}

func TestPhonesOfAnotherCountry(t *testing.T) {
	t.Parallel()
	m := Contacts.Recognize(rows.All(`first name  last name  phone  city  country`), nil, nil)
	for phone, want := range rows.Pairs(`
		0664 1234567890  +43 664 1234567890
		212-555-0100     212-555-0100
		+1 212 555 0100  +1 212 555 0100
	`) {
		in := Contacts.Rows(m, "US").Input([]string{"Ana", "Lopez", phone, "Wien", "Österreich"})
		assert.Equal(t, (*in.Phones)[0].Value, want, "%s became", phone)
	}
}

func TestMappingByHand(t *testing.T) {
	t.Parallel()
	guessed := Contacts.Recognize(rows.All(`Spalte  Name, ganz  email  Note  x=y`), nil, nil)
	for text, want := range rows.Pairs(`
		""                                      skip|skip|emails.0.value|note|skip
		spalte=first_name, EMAIL = skip         first_name|skip|skip|note|skip
		"\"Name, ganz\"=full_name,#5=custom.7"  skip|full_name|emails.0.value|note|custom.7
		Spalte=emails.0.value                   emails.0.value|skip|skip|note|skip
		Spalte=note,#2=new:number               note|new:number|emails.0.value|note|skip
		Nothing=first_name                      The file has no column "Nothing". Its columns are: Spalte, Name, ganz, email, Note, x=y.
		Spalte=firstname                        The column "Spalte" cannot become "firstname".
		Spalte                                  The mapping must be like Column=first_name,Other=skip. "Spalte" has no =.
		Spalte=new:blob                         The column "Spalte" cannot become "new:blob".
		#9=skip                                 The file has no column "#9". Its columns are: Spalte, Name, ganz, email, Note, x=y.
		Spalte=addresses.0.city,#2=emails.5     The column "#2" cannot become "emails.5".
	`) {
		m, err := Contacts.With(guessed, text)
		got := targetsOf(m)
		if err != nil {
			got = err.Error()
		}
		assert.Equal(t, got, want, "%s", text)
	}
	for targets, want := range rows.Pairs(`
		full_name                  ""
		first_name                 No column has the first and the last name. Choose a column for the first name and one for the last name, or one for the full name.
		full_name company company  The #3 field must not become company, because the column #2 does.
	`) {
		assert.Says(t, Contacts.Check(mappingTo(targets)), want, "%s", targets)
	}
	m := assert.Must(Contacts.With(guessed, `#1=full_name,#5=custom.7`))(t)
	made := Contacts.WithUnknown(m, nil, func(int) []string { return []string{"1", "2"} })
	assert.Equal(t, targetsOf(made), "full_name|new:number|emails.0.value|note|custom.7")
	var again Mapping
	text := assert.Must(json.Marshal(m))(t)
	assert.Succeed(t, json.Unmarshal(text, &again))
	assert.Equal(t, targetsOf(again), targetsOf(m))
	assert.Contains(t, string(text), `[{"column":"Spalte","target":"full_name"},`)
	for _, s := range []*Sheet{Contacts, Gifts} {
		for _, target := range s.Targets() {
			label := s.Label(target)
			assert.Equal(t, label != "" && label != target && !strings.Contains(label, "_"), true, "%s is called %q",
				target, label)
		}
	}
}

// A million rows are read in one import, so that what one row takes counts. The names of the columns are read once, not
// with each row.
func TestARowIsReadWithFewAllocations(t *testing.T) {
	header := strings.Fields(`first_name last_name dob emails.0.type emails.0.value phones.0.value addresses.0.address_1 addresses.0.city addresses.0.zipcode tags`)
	row := rows.All(`
		Ana  Lopez  02/17/1964  work  ana@example.org  (617) 555-0100  12 Harbor Street  Boston  02110  vip, board
	`)
	rows := Contacts.Rows(Contacts.Recognize(header, nil, nil), "US")
	if got := testing.AllocsPerRun(100, func() { rows.Input(row) }); got > 60 {
		t.Errorf("a row is read with %v allocations", got)
	}
}

// indented is a document as files of what is wanted have it.
func indented(t *testing.T, document []byte) string {
	var pretty bytes.Buffer
	assert.Succeed(t, json.Indent(&pretty, document, "", " "))
	return "\n" + pretty.String() + "\n"
}

func targetsOf(m Mapping) string {
	var all []string
	for _, c := range m {
		all = append(all, c.Target)
	}
	return strings.Join(all, "|")
}

// mappingTo are columns #1, #2 and so on that become some targets.
func mappingTo(targets string) (m Mapping) {
	for i, target := range strings.Fields(targets) {
		m = append(m, Column{Name: fmt.Sprint("#", i+1), Target: target})
	}
	return m
}
