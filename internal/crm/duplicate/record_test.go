package duplicate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
)

func TestNamesAreComparedWithoutTitlesAndFillers(t *testing.T) {
	type names struct{ First, Middle, Last, Suffix string }
	for _, test := range []struct {
		contact crm.Contact
		want    names
	}{
		{crm.Contact{FirstName: "Dr. José", LastName: "García-López"}, names{"jose", "", "garcia lopez", ""}},
		{crm.Contact{FirstName: "Mary Ann", LastName: "O’Brien"}, names{"mary", "ann", "obrien", ""}},
		{crm.Contact{FirstName: "Robert", LastName: "Hill, Jr."}, names{"robert", "", "hill", "jr"}},
		{crm.Contact{FirstName: "Robert", LastName: "Hill", Suffix: "3rd"}, names{"robert", "", "hill", "iii"}},
		{crm.Contact{FirstName: "Unknown", LastName: "Smith"}, names{"", "", "smith", ""}},
		{crm.Contact{FirstName: "Anonymous", LastName: "Donor"}, names{}},
		{crm.Contact{FirstName: "Jane Doe", LastName: "Unknown"}, names{"jane", "", "doe", ""}},
		{crm.Contact{FirstName: "Mary & John", LastName: "Smith"}, names{"john&mary", "", "smith", ""}},
		{crm.Contact{FirstName: "Mr. and Mrs. John", LastName: "Smith"}, names{"john", "", "smith", ""}},
		{crm.Contact{IsCompany: true, Company: "The Acme Widgets Company, Inc."}, names{"acme widgets", "", "", ""}},
	} {
		r := Of(&test.contact)
		if diff := cmp.Diff(test.want, names{r.First, r.Middle, r.Last, r.Suffix}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.contact.PersonName(), diff)
		}
	}
}

func TestAddressesAreComparedInOneForm(t *testing.T) {
	for _, test := range []struct {
		address crm.Address
		want    Place
	}{
		{crm.Address{Line1: "12 North Main Street, Apartment 4b", City: "St. Paul", Zipcode: "55101-1234", Country: "USA"}, Place{"12", "n main st", "4b", "55101", "stpaul", "USA"}},
		{crm.Address{Line1: "12 N. Main St. #4B"}, Place{"12", "n main st", "4b", "", "", ""}},
		{crm.Address{Line1: "12 N Main St", Line2: "Unit 4B"}, Place{"12", "n main st", "4b", "", "", ""}},
		{crm.Address{Line1: "P.O. Box 77", Zipcode: "55101"}, Place{"77", "box", "", "55101", "", ""}},
		{crm.Address{Line1: "Hauptstraße 5", City: "Köln"}, Place{"5", "hauptstrasse", "", "", "koln", ""}},
	} {
		if diff := cmp.Diff(test.want, placeOf(&test.address)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.address.Line1, diff)
		}
	}
}

// Colleagues behind one switchboard have different phones, though the digits are almost the same.
func TestExtensionsAreComparedApartFromNumbers(t *testing.T) {
	phone := func(key string) string {
		r := Of(&crm.Contact{MatchKeys: []string{"p:" + key}})
		return r.Phones[0]
	}
	const board = "+13125550123"
	for _, test := range []struct {
		a, b string
		want uint8
	}{
		{board + ";ext=5", board + ";ext=5", same},
		{board + ";ext=5", board + ";ext=6", otherPhone},
		{board + ";ext=5", board, unknown},
		{board, "+13125550124", digitPhone},
		{board + ";ext=5", "+13125550124;ext=6", otherPhone},
	} {
		if got := numbers(phone(test.a), phone(test.b)); got != test.want {
			t.Errorf("%s and %s are compared as %d, want %d", test.a, test.b, got, test.want)
		}
	}
}

// "Not a duplicate" holds as long as nothing that is compared changes.
func TestDigestChangesWithWhatIsCompared(t *testing.T) {
	contact := func(change func(*crm.Contact)) uint64 {
		c := crm.Contact{FirstName: "Ana", LastName: "Lopez", MatchKeys: []string{"e:ana@x.example", "p:+12125550101"}, DOB: time.Date(1980, 2, 3, 0, 0, 0, 0, time.UTC), Addresses: []crm.Address{{Line1: "1 Main St", Zipcode: "10001"}}}
		change(&c)
		r := Of(&c)
		return r.Digest()
	}
	before := contact(func(*crm.Contact) {})
	for name, change := range map[string]func(*crm.Contact){
		"a note": func(c *crm.Contact) { c.Note = "called" }, "a tag": func(c *crm.Contact) { c.Tags = []string{"vip"} }, "letter case": func(c *crm.Contact) { c.LastName = "LOPEZ" },
		"how a street is written": func(c *crm.Contact) { c.Addresses[0].Line1 = "1 Main Street" },
	} {
		if contact(change) != before {
			t.Errorf("the digest changed with %s", name)
		}
	}
	for name, change := range map[string]func(*crm.Contact){
		"the first name": func(c *crm.Contact) { c.FirstName = "Anna" }, "an email": func(c *crm.Contact) { c.MatchKeys[0] = "e:al@x.example" }, "the birth date": func(c *crm.Contact) { c.DOB = c.DOB.AddDate(0, 0, 1) },
		"the house number": func(c *crm.Contact) { c.Addresses[0].Line1 = "2 Main St" }, "no phone": func(c *crm.Contact) { c.MatchKeys = c.MatchKeys[:1] }, "the suffix": func(c *crm.Contact) { c.Suffix = "Jr." },
	} {
		if contact(change) == before {
			t.Errorf("the digest did not change with %s", name)
		}
	}
}

func TestRecordsAreReadAsTheyWereWritten(t *testing.T) {
	for _, r := range []Record{
		{},
		{First: "ana", Middle: "m", Last: "lopez garcia", Suffix: "jr", Year: 1980, Month: 12, Day: 31, Emails: []string{"a@x.example", "b@x.example"}, Phones: []string{"12125550101"}, Places: []Place{{"1", "main st", "4", "10001", "newyork", "USA"}, {Zip: "2"}}},
		{First: "acme", Company: true},
	} {
		var got Record
		got.read(string(append(r.append(nil), "what follows"...)))
		if !cmp.Equal(r.append(nil), got.append(nil)) {
			t.Errorf("wrote %+v, read %+v", r, got)
		}
	}
}
