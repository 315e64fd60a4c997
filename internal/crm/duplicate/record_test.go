package duplicate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestNamesAreComparedWithoutTitlesAndFillers(t *testing.T) {
	for _, test := range rows.Of[struct{ First, Last, Suffix, Want string }](`
		Dr. José           García-López                     ""   jose//garcia lopez/
		Mary Ann           O’Brien                          ""   mary/ann/obrien/
		Robert             Hill, Jr.                        ""   robert//hill/jr
		Robert             Hill                             3rd  robert//hill/iii
		Unknown            Smith                            ""   //smith/
		Anonymous          Donor                            ""   ///
		Jane Doe           Unknown                          ""   jane//doe/
		Mary & John        Smith                            ""   john&mary//smith/
		Mr. and Mrs. John  Smith                            ""   john//smith/
		company            The Acme Widgets Company, Inc.   ""   acme widgets///
	`) {
		c := crm.Contact{FirstName: test.First, LastName: test.Last, Suffix: test.Suffix}
		if test.First == "company" {
			c = crm.Contact{IsCompany: true, Company: test.Last}
		}
		r := Of(&c)
		assert.Equal(t, r.First+"/"+r.Middle+"/"+r.Last+"/"+r.Suffix, test.Want, "%+v", test)
	}
}

func TestAddressesAreComparedInOneForm(t *testing.T) {
	for _, test := range rows.Of[struct{ Line1, Line2, City, Zip, Country, Want string }](`
		12 North Main Street, Apartment 4b  ""       St. Paul  55101-1234  USA  {12_n_main_st_4b_55101_stpaul_USA}
		12 N. Main St. #4B                  ""       ""        ""          ""   {12_n_main_st_4b___}
		12 N Main St                        Unit 4B  ""        ""          ""   {12_n_main_st_4b___}
		P.O. Box 77                         ""       ""        55101       ""   {77_box__55101__}
		Hauptstraße 5                       ""       Köln      ""          ""   {5_hauptstrasse___koln_}
	`) {
		a := crm.Address{Line1: test.Line1, Line2: test.Line2, City: test.City, Zipcode: test.Zip, Country: test.Country}
		assert.Equal(t, strings.ReplaceAll(fmt.Sprint(placeOf(&a)), " ", "_"), test.Want, "%+v is compared", test)
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
		assert.Equal(t, numbers(phone(test.a), phone(test.b)), test.want, "%s and %s are compared", test.a, test.b)
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
