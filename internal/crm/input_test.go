package crm

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"donorbook/internal/crm/crmtest"
	"donorbook/internal/crm/doc"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// read decodes and validates a body, as every caller does.
func read(body string, isNew bool) (ContactInput, error) {
	in, faults, err := DecodeContact(doc.NewBody([]byte(body)))
	if err != nil {
		return in, err
	}
	return in, in.Validate(faults, isNew, "US", noon)
}

// valid is the input of a body that must be accepted as a change.
func valid(t testing.TB, body string) ContactInput {
	t.Helper()
	in, err := read(body, false)
	if err != nil {
		t.Fatalf("%.200s: %v", body, err)
	}
	return in
}

// made is the contact that a body describes.
func made(t testing.TB, body string) Contact {
	t.Helper()
	c := assert.Must(NewContact(valid(t, body), noon))(t)
	return c
}

// sameContact compares contacts as people do: an empty list equals no list, and a time is the same in any zone.
var sameContact = []cmp.Option{cmpopts.EquateEmpty(), cmpopts.EquateApproxTime(0)}

func TestCreateTakesEveryField(t *testing.T) {
	in := assert.Must(read(`{
		"first_name":" Ada ", "middle_name":"Augusta", "last_name":"Lovelace", "dob":"12/10/1815", "company":"Analytical Engines",
		"title":"Countess", "twitter_url":"https://twitter.com/ada", "linkedin_url":"http://linkedin.com/in/ada",
		"facebook_url":"https://facebook.com/ada",
		"emails":[{"value":"Ada@Example.org","type":"personal"},{"value":"ada@work.example","type":"work"}],
		"phones":[{"value":"(212) 555-0100","type":"home"},{"value":"+44 20 7946 0958","type":"work"},{"value":"212-555-0101","type":"cell"}],
		"addresses":[{"address_1":"12 St James's Square","address_2":"Flat 1","city":"London","state":"LN","zipcode":"SW1Y","country":"GBR"}],
		"tags":["Major donor","major donor"]}`, true))(t)
	got := assert.Must(NewContact(in, noon.Add(time.Millisecond)))(t)
	want := Contact{
		FirstName: "Ada", MiddleName: "Augusta", LastName: "Lovelace", DOB: time.Date(1815, 12, 10, 0, 0, 0, 0, time.UTC),
		Company: "Analytical Engines", Title: "Countess", TwitterURL: "https://twitter.com/ada",
		LinkedinURL: "http://linkedin.com/in/ada", FacebookURL: "https://facebook.com/ada",
		Emails: []Email{{"personal", "Ada@Example.org"}, {"work", "ada@work.example"}},
		Phones: []Phone{{"home", "(212) 555-0100"}, {"work", "+44 20 7946 0958"}, {"cell", "212-555-0101"}},
		Addresses: []Address{{Line1: "12 St James's Square", Line2: "Flat 1", City: "London", State: "LN", Zipcode: "SW1Y", Country: "GBR",
			CreatedAt: noon, UpdatedAt: noon}},
		Tags: []string{"Major donor", "major donor"}, CreatedAt: noon, UpdatedAt: noon,
		MatchKeys: rows.All(`
			e:ada@example.org  e:ada@work.example  p:+12125550100  p:+12125550101  p:+442079460958
		`),
	}
	assert.Same(t, want, got, sameContact...)
}

func TestCreateTakesWhatIsMissingAsUnset(t *testing.T) {
	want := Contact{FirstName: "A", LastName: "B", CreatedAt: noon, UpdatedAt: noon}
	for _, rest := range rows.All(`
		""
		",\"middle_name\":null,\"dob\":null,\"company\":null,\"title\":null,\"twitter_url\":null,\"linkedin_url\":null,\"facebook_url\":null,\n\t\t\t\"emails\":null,\"phones\":null,\"addresses\":null,\"tags\":null"
		",\"middle_name\":\"\",\"dob\":\"\",\"company\":\" \",\"title\":\"\\t\\n\",\"twitter_url\":\"\",\"linkedin_url\":\"\",\"facebook_url\":\" \",\n\t\t\t\"emails\":[],\"phones\":[],\"addresses\":[],\"tags\":[]"
		,"addresses":[{},{"city":null,"state":""},{"is_primary":1,"type":"work"}]
	`) {
		in, err := read(`{"first_name":"A","last_name":"B"`+rest+`}`, true)
		if err != nil {
			t.Errorf("%s: %v", rest, err)
			continue
		}
		got, err := NewContact(in, noon)
		if diff := cmp.Diff(want, got, sameContact...); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", rest, err, diff)
		}
	}
}

func TestARequestSetsTheNote(t *testing.T) {
	for sent, want := range rows.Pairs(`
		"\" x\\ny \""  "x\ny"
		"\"\""         ""
		null           ""
	`) {
		assert.Equal(t, made(t, `{"first_name":"A","last_name":"B","note":`+sent+`}`).Note, want, "%s: the note", sent)
	}
	for _, sent := range rows.All(`7  {"a":[1]}  ["x"]  false`) {
		refused(t, `{"note":`+sent+`}`, "The note field must be a string.")
	}
}

func TestANoteHasAtMost10000Characters(t *testing.T) {
	valid(t, `{"note":"`+strings.Repeat("é", 10_000)+`"}`)
	refused(t, `{"note":"`+strings.Repeat("é", 10_001)+`"}`, "The note field must not be longer than 10000 characters.")
}

func TestTextComesBackAsItWasSent(t *testing.T) {
	for _, text := range rows.All(`
		Łucja  名前  مريم  á  á  "👩\u200d👩\u200d👧"  "a\u00a0b"  "a \x20b"  quote " and \ backslash  </script>&amp;
		"line\nfeed\ttab"  "a\u2028b"  "\ufeffbom"  "�"  "\u200b"  "\x7f"  "\x01"  null  ﬁ  İ
	`) {
		c := made(t, `{"first_name":`+crmtest.Quoted(text)+`,"tags":[`+crmtest.Quoted(text)+`]}`)
		assert.Equal(t, c.FirstName, text, "sent")
		assert.Equal(t, c.Tags[0], text, "sent")
	}
}

func TestUnknownAndReadOnlyKeysAreIgnored(t *testing.T) {
	c := made(t, `{"first_name":"A","last_name":"B"}`)
	in := valid(t, `{"id":"x","stats":7,"primary_email":3,"primary_phone":{},"primary_address":[],"custom_fields":null,
		"archived_at":"now","created_at":1,"updated_at":false,"First_Name":"X","whatever":{"deep":[[[{}]]]},"":0,
		"emails":[{"value":"a@b.co","primary":true,"Type":9}],"phones":[{"value":"+12125550100","ext":[1]}],
		"addresses":[{"city":"X","is_primary":"yes","type":4,"created_at":{},"updated_at":[],"line":1}]}`)
	got := assert.Must(c.Patch(in, noon))(t)
	c.Emails, c.Phones = []Email{{"", "a@b.co"}}, []Phone{{"", "+12125550100"}}
	c.Addresses = []Address{{City: "X", CreatedAt: noon, UpdatedAt: noon}}
	c.MatchKeys = []string{"e:a@b.co", "p:+12125550100"}
	assert.Same(t, c, got, sameContact...)
}

func TestRepeatedValuesInOneRequestCountOnce(t *testing.T) {
	c := made(t, `{
		"emails":[{"value":"A@b.co","type":"work"},{"value":"a@B.CO","type":"personal"},{"value":"c@b.co"}],
		"phones":[{"value":"212 555 0100"},{"value":"+1 (212) 555-0100","type":"cell"},{"value":"1-212-555-0100"}],
		"addresses":[{"city":"New York"},{"city":"NEWYORK"},{"city":" new  york "},{"city":"New York","zipcode":"1"}],
		"tags":["b","a","b","B"," a "]}`)
	want := Contact{
		Emails: []Email{{"work", "A@b.co"}, {"", "c@b.co"}}, Phones: []Phone{{"", "212 555 0100"}},
		Addresses: []Address{{City: "New York"}, {City: "New York", Zipcode: "1"}}, Tags: []string{"b", "a", "B"},
		MatchKeys: []string{"e:a@b.co", "e:c@b.co", "p:+12125550100"},
	}
	assert.Same(t, want, c, append(sameContact, cmpopts.IgnoreTypes(time.Time{}))...)
}

func TestPhonesWithoutPlusAreReadInTheDefaultRegion(t *testing.T) {
	for region, key := range map[string]string{"US": "p:+12125550100", "DE": "p:+492125550100"} {
		in, faults, err := DecodeContact(doc.NewBody([]byte(`{"phones":[{"value":"212 555 0100"}]}`)))
		if err == nil {
			err = in.Validate(faults, false, region, noon)
		}
		if keys := in.MatchKeys(); err != nil || len(keys) != 1 || keys[0] != key {
			t.Errorf("%s: got the keys %q and the error %v, want %q", region, keys, err, key)
		}
	}
	in, faults, _ := DecodeContact(doc.NewBody([]byte(`{"phones":[{"value":"none"}]}`)))
	want := "The phones.0.value field must be a valid phone number, with a + and the country code unless it is a DE number."
	if err := in.Validate(faults, false, "DE", noon); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestBodiesThatAreNoJSONObjectAreMalformed(t *testing.T) {
	deep, malformed := strings.Repeat(`[`, 20_000), new(*doc.Malformed)
	check := func(body, want string) {
		t.Helper()
		_, faults, err := DecodeContact(doc.NewBody([]byte(body)))
		if !errors.As(err, malformed) || faults != nil || !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), ".") {
			t.Errorf("%.60q: got faults %v and the error %v, want %s", body, faults, err, want)
		}
		if _, err := DecodeTags(doc.NewBody([]byte(body))); !errors.As(err, malformed) {
			t.Errorf("%.60q: the tag endpoints say %v, want it malformed", body, err)
		}
	}
	for body, want := range rows.Pairs(`
		""                                                The request body is empty.
		" \n"                                             The request body is empty.
		first_name                                        The request body is not valid JSON
		first_name=A                                      The request body is not valid JSON
		[]                                                The request body must be a JSON object.
		[{"first_name":"A"}]                              The request body must be a JSON object.
		"\"x\""                                           The request body must be a JSON object.
		1                                                 The request body must be a JSON object.
		null                                              The request body must be a JSON object.
		true                                              The request body must be a JSON object.
		{"first_name":"A"                                 The request body is not valid JSON near byte 17.
		{"first_name":"A                                  The request body is not valid JSON
		{"emails":[{"value":"a@b.co"}                     The request body is not valid JSON
		{"first_name":}                                   The request body is not valid JSON near byte 14.
		{"first_name" "A"}                                The request body is not valid JSON
		{"first_name":"A",}                               The request body is not valid JSON
		{'first_name':'A'}                                The request body is not valid JSON
		{first_name:"A"}                                  The request body is not valid JSON
		{1:"A"}                                           The request body is not valid JSON
		{/**/}                                            The request body is not valid JSON
		"{\"first_name\":\"a\nb\"}"                       The request body is not valid JSON
		{"first_name":"\x41"}                             The request body is not valid JSON
		"{\"first_name\":\"\xff\"}"                       The request body is not valid JSON
		"{\"whatever\":\"\xc3\x28\"}"                     The request body is not valid JSON
		{"first_name":"\ud83d"}                           The request body is not valid JSON
		"\xff\xfe{\x00}\x00"                              The request body is not valid JSON
		{"first_name":"A"} x                              The request body is not valid JSON
		{"first_name":"A"}}                               The request body is not valid JSON
		{"first_name":"A"}{}                              The request body has text after the end of the JSON value.
		{"first_name":"A","first_name":"A"}               The request body names the same key twice in one object.
		{"x":1,"x":1}                                     The request body names the same key twice in one object.
		{"first_name":"A","first\u005fname":"B"}          The request body names the same key twice in one object.
		{"emails":[{"value":"a@b.co","value":"c@d.co"}]}  The request body names the same key twice in one object.
	`) {
		check(body, want)
	}
	for _, body := range []string{
		`{"whatever":` + deep + strings.Repeat(`]`, 20_000) + `}`, `{"first_name":` + deep, `{"emails":` + deep,
	} {
		check(body, "The request body is not valid JSON")
	}
}

func TestNestingUnderAnIgnoredKeyIsAccepted(t *testing.T) {
	valid(t, `{"whatever":`+strings.Repeat(`[`, 1000)+strings.Repeat(`]`, 1000)+`}`)
	valid(t, ` {} `)
}

func TestEscapedTextIsWhatItStandsFor(t *testing.T) {
	in := valid(t, `{"first\u005fname":"A\u006ena \"\\\" \ud83d\ude00","last_name":"B","emails":[{"v\u0061lue":"a\u0040example.org"}]}`)
	if *in.FirstName != `Anna "\" 😀` || *in.LastName != "B" || (*in.Emails)[0].Value != "a@example.org" {
		t.Errorf("got %q %q %v", *in.FirstName, *in.LastName, *in.Emails)
	}
}
