package crm

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm/crmtest"
	"donorbook/internal/crm/doc"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

// refused checks what is said of a change that cannot be made.
func refused(t testing.TB, body, want string) {
	t.Helper()
	_, err := read(body, false)
	crmtest.WantFaults(t, body, err, want)
}

// listed is a JSON list of n elements made by a format with one %d.
func listed(n int, format string) string {
	elements := make([]string, n)
	for i := range elements {
		elements[i] = fmt.Sprintf(format, i)
	}
	return "[" + strings.Join(elements, ",") + "]"
}

var textFields = rows.All(`
	first_name  middle_name  last_name  dob  company  title  twitter_url  linkedin_url  facebook_url
`)

// Every place that holds a text: a body with the text at %s, and the path of that place.
var textPlaces = func() map[string]string {
	all := maps.Collect(rows.Pairs(`
		{"emails":[{"value":"a@b.co"},{"value":%s}]}       emails.1.value
		{"emails":[{"value":"a@b.co","type":%s}]}          emails.0.type
		{"phones":[{"value":%s}]}                          phones.0.value
		{"phones":[{"value":"+12125550100","type":%s}]}    phones.0.type
		{"addresses":[{},{},{"address_1":%s}]}             addresses.2.address_1
		{"addresses":[{"address_2":%s}]}                   addresses.0.address_2
		{"addresses":[{"city":%s}]}                        addresses.0.city
		{"addresses":[{"state":%s}]}                       addresses.0.state
		{"addresses":[{"zipcode":%s}]}                     addresses.0.zipcode
		{"addresses":[{"country":%s}]}                     addresses.0.country
		{"tags":["a",%s]}                                  tags.1
		{"note":%s}                                        note
	`))
	for _, field := range textFields {
		all[`{"`+field+`":%s}`] = field
	}
	return all
}()

func TestEveryTextMustBeAString(t *testing.T) {
	for body, path := range textPlaces {
		for _, value := range rows.All(`
			7  0.5  1e400  true  false  {}  []  ["x"]  {"value":"x"}
		`) {
			refused(t, fmt.Sprintf(body, value), "The "+path+" field must be a string.")
		}
	}
}

func TestNoTextHoldsNUL(t *testing.T) {
	for body, path := range textPlaces {
		for _, value := range []string{`"a\u0000b"`, `"\u0000"`, `" a\u0000 "`} {
			refused(t, fmt.Sprintf(body, value), "The "+path+" field must not contain NUL characters.")
		}
	}
}

// A form or a file may contain texts that no JSON reader has checked.
func TestNoTextIsInvalidUTF8(t *testing.T) {
	bad := "a\xffb"
	in := ContactInput{
		FirstName: &bad, MiddleName: &bad, LastName: &bad, DOB: &bad, Company: &bad, Title: &bad,
		TwitterURL: &bad, LinkedinURL: &bad, FacebookURL: &bad,
		Emails: &[]Email{{"", bad}, {bad, "a@b.co"}}, Phones: &[]Phone{{"", bad}}, Tags: &[]string{bad},
		Addresses: &[]Address{{Line1: bad, Line2: bad, City: bad, State: bad, Zipcode: bad, Country: bad}},
	}
	said := crmtest.Fields(in.Validate(nil, true, "US", noon))
	for _, field := range append(textFields, rows.All(`
		emails.0.value  emails.1.type  phones.0.value  tags.0  addresses.0.address_1  addresses.0.address_2
		addresses.0.city  addresses.0.state  addresses.0.zipcode  addresses.0.country
	`)...) {
		assert.Equal(t, slices.Contains(said, field), true, "%s is refused", field)
	}
}

func TestTextsHaveALimitInCharacters(t *testing.T) {
	for _, l := range rows.Of[struct {
		Body, Path, Prefix string
		Max                int
	}](`
		{"tags":["a",%s]}               tags.1                 ""              64
		{"first_name":%s}               first_name             ""              255
		{"middle_name":%s}              middle_name            ""              255
		{"last_name":%s}                last_name              ""              255
		{"company":%s}                  company                ""              255
		{"title":%s}                    title                  ""              255
		{"addresses":[{"address_1":%s}]}  addresses.0.address_1  ""            255
		{"addresses":[{"address_2":%s}]}  addresses.0.address_2  ""            255
		{"addresses":[{"city":%s}]}     addresses.0.city       ""              255
		{"addresses":[{"zipcode":%s}]}  addresses.0.zipcode    ""              255
		{"twitter_url":%s}              twitter_url            https://e.org/  2048
		{"linkedin_url":%s}             linkedin_url           https://e.org/  2048
		{"facebook_url":%s}             facebook_url           https://e.org/  2048
		{"note":%s}                     note                   ""              10000
	`) {
		for _, letter := range []string{"x", "é", "語", "😀"} {
			text := l.Prefix + strings.Repeat(letter, l.Max-len(l.Prefix))
			valid(t, fmt.Sprintf(l.Body, crmtest.Quoted("  "+text+"  "))) // trimmed characters do not count
			refused(t, fmt.Sprintf(l.Body, crmtest.Quoted(text+letter)),
				fmt.Sprintf("The %s field must not be longer than %d characters.", l.Path, l.Max))
		}
	}
}

func TestEmailsHaveALimitOf255Characters(t *testing.T) {
	label := strings.Repeat("d", 60)
	address := strings.Repeat("l", 64) + "@" + label + "." + label + "." + label + ".abcdefg"
	if len(address) != 255 {
		t.Fatal(len(address))
	}
	valid(t, `{"emails":[{"value":"`+address+`"}]}`)
	refused(t, `{"emails":[{"value":"`+address+`h"}]}`,
		"The emails.0.value field must not be longer than 255 characters.")
}

// A form or a file fills the input itself; the same limits apply.
func TestListsHaveALimit(t *testing.T) {
	for field, element := range rows.Pairs(`
		emails     {"value":"a%d@b.co"}
		phones     {"value":"+1212555%04d"}
		addresses  {"city":"C%d"}
		tags       "\"t%d\""
	`) {
		most := map[bool]int{true: 500, false: 100}[field == "tags"]
		valid(t, `{"`+field+`":`+listed(most, element)+`}`)
		want := fmt.Sprintf("The %s field must not have more than %d elements.", field, most)
		body := `{"` + field + `":` + listed(most+1, element) + `}`
		refused(t, body, want)
		in, _, err := DecodeContact(doc.NewBody([]byte(body)))
		crmtest.WantFaults(t, field, errors.Join(err, in.Validate(nil, false, "US", noon)), want)
	}
}

// Website forms send blanks for what was not filled in.
func TestABlankEmailOrPhoneIsLeftOut(t *testing.T) {
	in := valid(t,
		`{"emails":[{"type":"work","value":null},{"value":" "},"",{"value":"a@b.co"}],"phones":[{"type":"fax","value":""}]}`)
	assert.Equal(t, *in.Emails, []Email{{"", "a@b.co"}})
	assert.Equal(t, len(*in.Phones), 0)
}

func TestFaultsOfValues(t *testing.T) {
	for body, want := range rows.Pairs(`
		{"first_name":null,"type":"individual"}               The first_name field must not be empty.
		{"first_name":"","type":"individual"}                 The first_name field must not be empty.
		{"last_name":null,"type":"individual"}                The last_name field must not be empty.
		{"last_name":" \t","type":"individual"}                The last_name field must not be empty.
		{"dob":"1980-01-31"}                                  The dob field must be a date in the format m/d/Y, from 01/01/1000 to today.
		{"dob":"1980-01-31T00:00:00.000000Z"}                 The dob field must be a date in the format m/d/Y, from 01/01/1000 to today.
		{"dob":"2/29/2023"}                                   The dob field must be a date in the format m/d/Y, from 01/01/1000 to today.
		{"dob":"12/31/999"}                                   The dob field must be a date in the format m/d/Y, from 01/01/1000 to today.
		{"dob":"2/1/2026"}                                    The dob field must be a date in the format m/d/Y, from 01/01/1000 to today.  // the day after noon's
		{"twitter_url":"twitter.com/a"}                       The twitter_url field must be an absolute http or https URL.
		{"linkedin_url":"ftp://a.co"}                         The linkedin_url field must be an absolute http or https URL.
		{"facebook_url":"javascript:alert(1)"}                The facebook_url field must be an absolute http or https URL.
		{"emails":{}}                                         The emails field must be an array.
		{"emails":"a@b.co"}                                   The emails field must be an array.
		{"emails":["a@b"]}                                    The emails.0 field must be a valid email address.
		{"emails":[null]}                                     The emails.0 field must be an object or a string.
		{"emails":[[]]}                                       The emails.0 field must be an object or a string.
		{"emails":[{}]}                                       The emails.0.value field is required.
		{"emails":[{"value":""},{"type":"work"}]}             The emails.1.value field is required.
		{"emails":[{"value":"a"}]}                            The emails.0.value field must be a valid email address.
		{"emails":[{"value":"A <a@b.co>"}]}                   The emails.0.value field must be a valid email address.
		{"emails":[{"value":"a@b.co, c@d.co"}]}               The emails.0.value field must be a valid email address.
		{"emails":[{"value":"a@b.co","type":"home"}]}         The emails.0.type field must be one of personal, work.
		{"emails":[{"value":"a@b.co","type":"Work"}]}         The emails.0.type field must be one of personal, work.
		{"phones":7}                                          The phones field must be an array.
		{"phones":[7]}                                        The phones.0 field must be an object or a string.
		{"phones":[{"type":"cell"}]}                          The phones.0.value field is required.
		{"phones":[{"value":"12"}]}                           The phones.0.value field must be a valid phone number, with a + and the country code unless it is a US number.
		{"phones":[{"value":"call me"}]}                      The phones.0.value field must be a valid phone number, with a + and the country code unless it is a US number.
		{"phones":[{"value":"+12125550100","type":"personal"}]}  The phones.0.type field must be one of work, home, cell.
		{"addresses":"x"}                                     The addresses field must be an array.
		{"addresses":["x"]}                                   The addresses.0 field must be an object.
		{"addresses":[null]}                                  The addresses.0 field must be an object.
		{"addresses":[{"state":"N"}]}                         The addresses.0.state field must be a two-letter postal code.
		{"addresses":[{"state":"New York"}]}                  The addresses.0.state field must be a two-letter postal code.
		{"addresses":[{"state":"N1"}]}                        The addresses.0.state field must be a two-letter postal code.
		{"addresses":[{"state":"é"}]}                         The addresses.0.state field must be a two-letter postal code.
		{"addresses":[{"country":"US"}]}                      The addresses.0.country field must be a three-letter ISO 3166-1 country code.
		{"addresses":[{"country":"XXX"}]}                     The addresses.0.country field must be a three-letter ISO 3166-1 country code.
		{"tags":"a"}                                          The tags field must be an array.
		{"tags":{"0":"a"}}                                    The tags field must be an array.
		{"tags":[""]}                                         The tags.0 field must not be empty.
		{"tags":["a",null]}                                   The tags.1 field must not be empty.
		{"tags":["a","a"," "]}                                The tags.2 field must not be empty.
		{"email":"x"}                                         The email field must be a valid email address.
		{"primary_email":7}                                   The primary_email field must be a string.
		{"phone":"\u0000"}                                    The phone field must not contain NUL characters.
		{"city":"\u0000"}                                     The city field must not contain NUL characters.
		{"state":"New York"}                                  The state field must be a two-letter postal code.
		{"emails":["a@x.org","x"]}                            The emails.1 field must be a valid email address.
		{"email":"a@x.org","primary_email":"b@x.org"}         The primary_email field must be the same as email, or be left out.
		{"primary_email":"b@x.org","email":7}                 The email field must be a string.
		{"phones":{},"phone":"1"}                             The phones field must be an array.
		{"addresses":7,"city":7}                              The addresses field must be an array.
	`) {
		refused(t, body, want)
	}
}

func TestFaultsComeAllAtOnceInTheOrderOfTheFields(t *testing.T) {
	_, err := read(`{"tags":[1,"",2],"addresses":[{"country":"X","state":"X"}],"phones":[{"value":"1"},{"value":false}],
		"emails":[{"value":"x","type":"x"},{"value":4},"x"],"facebook_url":"x","linkedin_url":1,"twitter_url":"x","title":[],
		"company":"a\u0000","dob":"x","middle_name":{},"first_name":1}`, true)
	var got []string
	for _, fault := range crmtest.FaultsOf(t, err) {
		got = append(got, fault.Field())
		if !strings.HasPrefix(fault.Message(), "The "+fault.Field()+" field ") ||
			!strings.HasSuffix(fault.Message(), ".") {
			t.Errorf("%q is not a sentence that names %s", fault.Message(), fault.Field())
		}
	}
	want := rows.All(`
		first_name  middle_name  last_name  dob  company  title  twitter_url  linkedin_url  facebook_url
		emails.0.type  emails.0.value  emails.1.value  emails.2  phones.0.value  phones.1.value  addresses.0.state
		addresses.0.country  tags.0  tags.1  tags.2
	`)
	assert.Same(t, want, got)
	assert.Equal(t, err.Error(), "The first_name field must be a string. (and 19 more errors)", "the message")
}

func TestTheMessageCountsTheOtherFaults(t *testing.T) {
	v := &doc.Invalid{}
	if v.Err() != nil {
		t.Error("no fault is an error")
	}
	for _, want := range rows.All(`
		One.  One. (and 1 more error)  One. (and 2 more errors)  One. (and 3 more errors)
	`) {
		v.Add("field", "One.")
		assert.Equal(t, v.Err().Error(), want, "%d faults", len(v.Faults))
	}
}

func TestParseForceCreate(t *testing.T) {
	for _, sent := range rows.Of[struct{ Query, Body, Want string }](`
		true   ""     force
		TRUE   TRUE   force
		True   ""     force
		1      1      force
		""     true   force
		false  ""     dedupe
		FALSE  false  dedupe
		""     0      dedupe
		""     ""     dedupe
		yes    ""     form
		2      ""     form
		01     ""     form
		" true"  ""   form
		null   ""     form
		""     tru    form
		""     {}     form
		""     1.0    form
		true   yes    form
		yes    true   form
		true   false  differ
		0      1      differ
	`) {
		var v doc.Invalid
		mode := ParseForceCreate(&v, sent.Query, sent.Body)
		crmtest.WantFaults(t, fmt.Sprint(sent), v.Err(), map[string]string{
			"form":   "The force_create field must be true, 1, false or 0.",
			"differ": "The force_create field must be the same in the query and in the body.",
		}[sent.Want])
		assert.Equal(t, v.Err() == nil && mode == Force, sent.Want == "force", "%+v", sent)
	}
}

func TestWhatIsRepeatedCountsOnceAlsoAgainstTheLimit(t *testing.T) {
	repeated := func(element string, n int) string { return strings.TrimSuffix(strings.Repeat(element+",", n), ",") }
	c := made(t, `{"first_name":"A","last_name":"B",
		"emails":[`+repeated(`{"value":"a@x.org"}`, maxEmails+1)+`],
		"phones":[`+repeated(`{"value":"312-555-0123"}`, maxEmails+1)+`],
		"addresses":[`+repeated(`{"city":"Rome"}`, maxEmails+1)+`],
		"tags":[`+repeated(`"t"`, maxTags+1)+`]}`)
	if len(c.Emails) != 1 || len(c.Phones) != 1 || len(c.Addresses) != 1 || len(c.Tags) != 1 {
		t.Errorf("%+v", c)
	}
	assert.Equal(t, len(assert.Must(DecodeTags(doc.NewBody([]byte(`{"tags":[`+repeated(`"t"`, maxTags+1)+`]}`))))(t)),
		1)
	if _, err := read(`{"tags":[`+repeated(`"t"`, maxTagsSent+1)+`]}`, false); err == nil {
		t.Error("there is no end to it")
	}
	for field, element := range rows.Pairs(`
		emails     {"value":"a@x.org"}
		phones     {"value":"312-555-0123"}
		addresses  {"city":"Rome"}
	`) {
		refused(t, `{"`+field+`":[`+repeated(element, maxSent+1)+`]}`,
			"The "+field+" field must not have more than 1000 elements.")
	}
}
