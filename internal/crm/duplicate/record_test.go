package duplicate

import (
	"fmt"
	"strings"
	"testing"

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
		a := crm.Address{Line1: test.Line1, Line2: test.Line2, City: test.City, Zipcode: test.Zip,
			Country: test.Country}
		assert.Equal(t, strings.ReplaceAll(fmt.Sprint(placeOf(&a)), " ", "_"), test.Want, "%+v is compared", test)
	}
}

// Colleagues behind one switchboard have different phones, though the digits are almost the same.
func TestExtensionsAreComparedApartFromNumbers(t *testing.T) {
	phone := func(key string) string {
		r := Of(&crm.Contact{MatchKeys: []string{"p:" + key}})
		return r.Phones[0]
	}
	says := map[string]uint8{"same": same, "other": otherPhone, "digit": digitPhone, "unknown": unknown}
	for _, test := range rows.Of[struct{ A, B, Want string }](`
		+13125550123;ext=5  +13125550123;ext=5  same
		+13125550123;ext=5  +13125550123;ext=6  other
		+13125550123;ext=5  +13125550123        unknown
		+13125550123        +13125550124        digit
		+13125550123;ext=5  +13125550124;ext=6  other
	`) {
		assert.Equal(t, numbers(phone(test.A), phone(test.B)), says[test.Want], "%+v", test)
	}
}

// "Not a duplicate" holds as long as nothing that is compared changes.
func TestDigestChangesWithWhatIsCompared(t *testing.T) {
	digest := func(line string) uint64 {
		r := contactOf(t, line)
		return r.Digest()
	}
	before := digest("Ana|Lopez||ana@x.example|2125550101|1 Main St, Salem, 10001|1980-02-03")
	for line, same := range rows.Each[bool](`
		Ana|LOPEZ||ana@x.example|2125550101|1 Main St, Salem, 10001|1980-02-03      true
		Ana|Lopez||ana@x.example|2125550101|1 Main Street, Salem, 10001|1980-02-03  true
		Anna|Lopez||ana@x.example|2125550101|1 Main St, Salem, 10001|1980-02-03     false
		Ana|Lopez||al@x.example|2125550101|1 Main St, Salem, 10001|1980-02-03       false
		Ana|Lopez||ana@x.example|2125550101|1 Main St, Salem, 10001|1980-02-04      false
		Ana|Lopez||ana@x.example|2125550101|2 Main St, Salem, 10001|1980-02-03      false
		Ana|Lopez||ana@x.example||1 Main St, Salem, 10001|1980-02-03                false
		Ana|Lopez Jr.||ana@x.example|2125550101|1 Main St, Salem, 10001|1980-02-03  false
	`) {
		assert.Equal(t, digest(line) == before, same, "%s", line)
	}
	plain, noted := Of(&crm.Contact{FirstName: "Ana"}),
		Of(&crm.Contact{FirstName: "Ana", Note: "called", Tags: []string{"vip"}})
	assert.Equal(t, plain.Digest(), noted.Digest(), "a note and a tag")
}

func TestRecordsAreReadAsTheyWereWritten(t *testing.T) {
	for _, r := range []Record{
		{},
		{First: "ana", Middle: "m", Last: "lopez garcia", Suffix: "jr", Year: 1980, Month: 12, Day: 31,
			Emails: []string{"a@x.example", "b@x.example"}, Phones: []string{"12125550101"},
			Places: []Place{{"1", "main st", "4", "10001", "newyork", "USA"}, {Zip: "2"}}},
		{First: "acme", Company: true},
	} {
		var got Record
		got.read(string(append(r.append(nil), "what follows"...)))
		if !cmp.Equal(r.append(nil), got.append(nil)) {
			t.Errorf("wrote %+v, read %+v", r, got)
		}
	}
}
