package crm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm/crmtest"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

// A document that was written before a contact had a type is answered with the defaults of all later keys.
func TestADocumentWithoutATailIsAnsweredWhole(t *testing.T) {
	c := made(t, `{"first_name":"Ana","last_name":"Lopez"}`)
	stored := bodyOf(c)
	if want := `"updated_at":"2026-01-31T12:00:00+00:00"}`; stored[len(stored)-len(want):] != want {
		t.Errorf("a contact without any of the fields is stored as %s", stored)
	}
	for name, body := range map[string]string{"erased": bodyOf(c.Erase(noon)), "new": stored} {
		answered := AppendContact(nil, 1, []byte(body))
		again, err := ParseContact(1, append([]byte{','}, answered[1:]...), nil)
		assert.Succeed(t, err)
		assert.Equal(t, bodyOf(again), body, "%s (%v)", name, answered)
		for _, f := range tailTable {
			if n := slices.Index(ContactTable.Names(), f.Name); n < len(headTable) {
				t.Errorf("%s is at place %d", f.Name, n)
			}
		}
	}
	whole := string(AppendContact(nil, 1, []byte(stored)))
	for i, f := range tailTable { // it was written when this was the last field
		if before := stored[:len(stored)-1] + string(tailTable[:i+1].Append(nil, &blank)) + "}"; f.Limit == 0 &&
			string(AppendContact(nil, 1, []byte(before))) != whole {
			t.Errorf("%s is answered as %s", before, AppendContact(nil, 1, []byte(before)))
		}
	}
	tricky := made(t,
		`{"first_name":"Ana","suffix":"a,\"deceased\":","external_ids":[{"source":"x","value":",\"type\":"}],"deceased":true}`)
	if answered := string(AppendContact(nil, 1, tricky.AppendBody(nil))); answered != `{"id":1`+
		strings.TrimSuffix(bodyOf(tricky), "}")+string(allSubscribed) || !json.Valid([]byte(answered)) {
		t.Errorf("a whole document is answered as %s", answered)
	}
	if last := tailTable[len(tailTable)-1]; last.Limit > 0 {
		t.Errorf("the last field is the list %s", last.Name)
	}
}

func TestACompanyNeedsItsNameAndAPersonBoth(t *testing.T) {
	acme := made(t, `{"type":"company","company":"Acme"}`)
	ana := made(t, `{"first_name":"Ana","last_name":"Lopez"}`)
	for _, test := range rows.Of[struct{ Of, Body, Want string }](`
		new   {}                                                                        The first_name field is required. The last_name field is required.
		new   {"first_name":null,"last_name":""}                                        The first_name field is required. The last_name field is required.
		new   {"first_name":"A"}                                                        The last_name field is required.
		new   {"first_name":" ","last_name":"B"}                                        The first_name field is required.
		new   {"first_name":7,"last_name":"B"}                                          The first_name field must be a string.
		new   {"first_name":"A","last_name":"B"}                                        ""
		new   {"type":"company","company":"Acme"}                                        ""
		new   {"type":"company","company_name":"Acme","first_name":null,"last_name":""}  ""
		new   {"type":"company","first_name":"Ana","last_name":"Lopez"}                  The company field is required.
		new   {"type":"individual","company":"Acme","first_name":"Ana"}                  The last_name field is required.
		new   {"type":"club","first_name":"Ana","last_name":"Lopez"}                     The type field must be one of individual, company.
		acme  {"first_name":"Ana"}                                                       ""
		acme  {"first_name":null,"last_name":null}                                       ""
		acme  {"company":null}                                                           The company field must not be empty.
		acme  {"type":"individual"}                                                      The first_name field must not be empty. The last_name field must not be empty.
		acme  {"type":"individual","first_name":"Ana","last_name":"Lopez"}               ""
		ana   {"first_name":null}                                                        The first_name field must not be empty.
		ana   {"last_name":" "}                                                          The last_name field must not be empty.
		ana   {"type":"company"}                                                         The company field must not be empty.
		ana   {"type":"company","company":"Acme","first_name":null,"last_name":null}     ""
	`) {
		in, err := read(test.Body, test.Of == "new")
		if of := map[string]Contact{"acme": acme, "ana": ana}; err == nil && test.Of != "new" {
			_, err = of[test.Of].Patch(in, hourLater)
		}
		crmtest.WantFaults(t, test.Of+": "+test.Body, err, test.Want)
	}
}

func TestExternalIDsAreUnitedAndOptOutsNeverLost(t *testing.T) {
	c := made(t,
		`{"first_name":"Ana","external_ids":[{"source":"Bloomerang","value":"7"}],"do_not_mail":true,"prefix":"Dr."}`)
	says := func(c Contact) string {
		return fmt.Sprint(c.ExternalIDs, c.DoNotMail, c.Deceased, c.Prefix, " ",
			strings.ReplaceAll(strings.Join(c.MatchKeys, " "), "\t", "/"))
	}
	merged := assert.Must(c.Merge(valid(t,
		`{"external_ids":[{"source":"bloomerang","value":"7"},{"source":"crm","value":"x"}],
		"external_id":"9","do_not_mail":false,"deceased":true,"prefix":""}`), hourLater))(t)
	united := "[{Bloomerang 7} {crm x} {other 9}] true trueDr. x:7/bloomerang x:9/other x:x/crm"
	assert.Equal(t, says(merged), united)
	patched := assert.Must(merged.Patch(valid(t,
		`{"external_ids":[{"source":"crm","value":"y"}],"external_id":{"source":"crm","value":"z"},
		"do_not_mail":false}`), hourLater))(t)
	assert.Equal(t, says(patched), "[{crm y} {crm z}] false trueDr. x:y/crm x:z/crm")
	back, left := assert.Must2(patched.TakeBack(merged.Differences(&patched), "US", hourLater))(t)
	assert.Equal(t, left, nil)
	assert.Equal(t, says(back), united, "undone it is")
}

func TestFaultsOfExternalIDs(t *testing.T) {
	for body, field := range rows.Pairs(`
		{"external_id":{"source":"crm"}}                  external_id.value
		{"external_id":[7]}                               external_id
		{"external_ids":[{"value":"a\tb"}]}               external_ids.0.value
		{"external_ids":[{"value":"a","source":"b\nc"}]}  external_ids.0.source
		{"external_ids":[null]}                           external_ids.0
		{"external_ids":"7"}                              external_ids
		{"zip":"1","zipcode":"2"}                         zipcode
		{"company_name":7}                                company_name
		{"street":7}                                      street
		{"do_not_mail":"yes"}                             do_not_mail
	`) {
		_, err := read(body, false)
		assert.Equal(t, crmtest.Fields(err), []string{field}, "%s", body)
	}
}

func TestACompanyIsNeverTakenForAPerson(t *testing.T) {
	acme, ana := made(t, `{"type":"company","company":"Acme"}`), made(t, `{"first_name":"Ana","last_name":"Lopez"}`)
	for _, test := range rows.Of[struct {
		Body      string
		Acme, Ana bool
	}](`
		{"first_name":"Ana","last_name":"Lopez"}  true   false
		{"type":"company","company":"Acme"}       false  true
		{"email":"a@x.org"}                       false  false
	`) {
		in := valid(t, test.Body)
		assert.Equal(t, in.OtherKind(&acme), test.Acme, "%s: of another kind than the company", test.Body)
		assert.Equal(t, in.OtherKind(&ana), test.Ana, "%s: of another kind than the person", test.Body)
	}
}

// What other services say the other way round: yes where Donorbook has no mark.
func TestSubscriptionsAreTheOppositesOfMarks(t *testing.T) {
	for _, test := range rows.Of[struct {
		Before bool
		Body   string
		Want   bool
	}](`
		false  {"is_email_subscribed":false}                       true
		true   {"is_email_subscribed":true}                        false
		true   {"is_email_subscribed":"false"}                     true
		true   {"is_email_subscribed":null}                        true
		true   {"is_email_subscribed":null,"do_not_email":false}   false
		true   {"is_email_subscribed":true,"do_not_email":false}   false
		false  {"is_email_subscribed":false,"do_not_email":true}   true
		false  {"do_not_email":false,"is_email_subscribed":false}  true
		false  {"do_not_email":true,"is_email_subscribed":true}    true
		true   {"do_not_email":true,"is_email_subscribed":true}    false
		true   {"do_not_email":false,"is_email_subscribed":false}  false
	`) {
		c := Contact{FirstName: "Ana", DoNotEmail: test.Before}
		got := assert.Must(c.Patch(valid(t, test.Body), hourLater))(t)
		assert.Equal(t, []bool{got.DoNotEmail, got.DoNotMail, got.DoNotCall}, []bool{test.Want, false, false}, "%+v",
			test)
	}
	for body, want := range rows.Pairs(`
		{"is_email_subscribed":false}                        "\"is_email_subscribed\":false,\"is_phone_subscribed\":true,\"is_address_subscribed\":true}"
		{"is_phone_subscribed":true,"do_not_call":true}      "\"is_email_subscribed\":true,\"is_phone_subscribed\":false,\"is_address_subscribed\":true}"
		{"is_address_subscribed":false,"suffix":"Jr."}       "\"is_email_subscribed\":true,\"is_phone_subscribed\":true,\"is_address_subscribed\":false}"
		{"suffix":",\"do_not_email\":true","deceased":true}  "\"is_email_subscribed\":true,\"is_phone_subscribed\":true,\"is_address_subscribed\":true}"
	`) {
		c := made(t, `{"first_name":"Ana",`+body[1:])
		assert.Contains(t, string(AppendContact(nil, 1, c.AppendBody(nil))), want, "%s is answered", body)
	}
	merged := assert.Must(made(t, `{"first_name":"Ana","do_not_email":true}`).Merge(valid(t,
		`{"is_email_subscribed":true}`), hourLater))(t)
	assert.Equal(t, merged.DoNotEmail, true, "a merge keeps the mark")
}
