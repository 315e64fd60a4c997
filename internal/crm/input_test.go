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
	return assert.Must(NewContact(valid(t, body), noon.Add(time.Millisecond)))(t)
}

// sameContact compares contacts as people do: an empty list equals no list, and a time is the same in any zone.
var sameContact = []cmp.Option{cmpopts.EquateEmpty(), cmpopts.EquateApproxTime(0)}

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

func TestPhonesWithoutPlusAreReadInTheDefaultRegion(t *testing.T) {
	for _, test := range rows.Of[struct{ Region, Phone, Key, Fault string }](`
		US  212 555 0100  p:+12125550100  ""
		DE  212 555 0100  p:+492125550100  ""
		DE  none          ""  The phones.0 field must be a valid phone number, with a + and the country code unless it is a DE number.
	`) {
		in, faults := assert.Must2(DecodeContact(doc.NewBody([]byte(`{"phones":["` + test.Phone + `"]}`))))(t)
		crmtest.WantFaults(t, test.Phone, in.Validate(faults, false, test.Region, noon), test.Fault)
		assert.Equal(t, strings.Join(in.MatchKeys(), " "), test.Key, "%+v", test)
	}
}

func TestBodiesThatAreNoJSONObjectAreMalformed(t *testing.T) {
	deep, malformed := strings.Repeat(`[`, 20_000), new(*doc.Malformed)
	check := func(body, want string) {
		t.Helper()
		_, faults, err := DecodeContact(doc.NewBody([]byte(body)))
		if !errors.As(err, malformed) || faults != nil || !strings.HasPrefix(err.Error(), want) ||
			!strings.HasSuffix(err.Error(), ".") {
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

// A body may say the same in other ways: with one email, phone or address, with what counts as unset, with keys that
// are not read, and with
// repetitions.
func TestBodiesThatSayTheSame(t *testing.T) {
	for body, plain := range rows.Pairs(`
		{"primary_email":"Ana@x.org","primary_phone":"212-555-0100",FLAT}                           LISTS
		{"email":"Ana@x.org","phone":" 212-555-0100 ",FLAT}                                         LISTS
		{"emails":null,"phones":null,"addresses":null,"email":"Ana@x.org","primary_email":" Ana@x.org","phone":"212-555-0100","primary_phone":null,FLAT}  LISTS
		{"emails":["Ana@x.org"],"phones":["212-555-0100","+1 212 555 0100"],FLAT}                   LISTS
		{"emails":[],"phones":[],"addresses":[],"email":"a@x.org","phone":"212-555-0100","city":"Rome"}  {}
		{"email":7,"primary_email":"x","phone":{},"primary_phone":"x","city":[],"state":"ROME","emails":[],"phones":[],"addresses":[]}  {}
		{"email":null,"primary_email":"","phone":" ","city":null,"state":""}                        {}
		{"middle_name":null,"dob":null,"company":null,"title":null,"twitter_url":null,"emails":null,"phones":null,"tags":null}  {}
		{"middle_name":"","dob":"","company":" ","title":"\t\n","linkedin_url":"","facebook_url":" ","tags":[],"note":null}  {}
		{"addresses":[{},{"city":null,"state":""},{"is_primary":1,"type":"work"}]}                  {}
		{"id":"x","stats":7,"primary_email":3,"primary_phone":{},"primary_address":[],"emails":[],"phones":[],"custom_fields":null}  {}
		{"archived_at":"now","created_at":1,"updated_at":false,"First_Name":"X","whatever":{"deep":[[[{}]]]},"":0,"x":DEEP}  {}
		{"emails":[{"value":"a@b.co","primary":true,"Type":9}],"phones":[{"value":"+12125550100","ext":[1]}]}  {"emails":["a@b.co"],"phones":["+12125550100"]}
		{"addresses":[{"city":"X","is_primary":"yes","type":4,"created_at":{},"updated_at":[],"line":1}]}  {"addresses":[{"city":"X"}]}
		{"emails":[{"value":"A@b.co","type":"work"},{"value":"a@B.CO","type":"personal"},{"value":"c@b.co"}]}  {"emails":[{"value":"A@b.co","type":"work"},"c@b.co"]}
		{"phones":["212 555 0100",{"value":"+1 (212) 555-0100","type":"cell"},"1-212-555-0100"]}    {"phones":["212 555 0100"]}
		{"phones":["212-555-0100 x5","212-555-0100 x6","212 555 0100 ext 5","212-555-0100"]}        {"phones":["212-555-0100 x5","212-555-0100 x6","212-555-0100"]}
		{"addresses":[{"city":"New York"},{"city":"NEWYORK"},{"city":" new \u0020york "},{"city":"New York","zipcode":"1"}]}  {"addresses":[{"city":"New York"},{"city":"New York","zipcode":"1"}]}
		{"tags":["b","a","b","B"," a "]}                                                            {"tags":["b","a","B"]}
		{"note":" x\ny "}                                                                           {"note":"x\ny"}
		{"first\u005fname":"A\u006ena \"\\\" \ud83d\ude00","emails":[{"v\u0061lue":"a\u0040example.org"}]}  {"first_name":"Anna \"\\\" 😀","emails":["a@example.org"]}
	`) {
		const address = `"address_1":"1 Main","address_2":"Apt 2","city":"New York","state":"NY","zipcode":"10001","country":"USA"`
		long := strings.NewReplacer("LISTS",
			`{"emails":[{"value":"Ana@x.org"}],"phones":[{"value":"212-555-0100"}],"addresses":[{`+address+`}]}`,
			"FLAT", strings.Replace(address, "New York", " New York ", 1), "DEEP",
			strings.Repeat(`[`, 1000)+strings.Repeat(`]`, 1000))
		got, want := made(t, long.Replace(body)), made(t, long.Replace(plain))
		assert.Equal(t, bodyOf(got), bodyOf(want), "%s", body)
		assert.Equal(t, got.MatchKeys, want.MatchKeys, "%s: the match keys", body)
	}
}
