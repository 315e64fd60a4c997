package crm

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"donorbook/internal/crm/crmtest"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestOneEmailOnePhoneAndFlatAddressPartsAreLists(t *testing.T) {
	want := bodyOf(made(t, `{"first_name":"Ana","emails":[{"value":"Ana@x.org"}],"phones":[{"value":"212-555-0100"}],
		"addresses":[{"address_1":"1 Main","address_2":"Apt 2","city":"New York","state":"NY","zipcode":"10001","country":"USA"}]}`))
	const address = `,"address_1":"1 Main","address_2":"Apt 2","city":" New York ","state":"NY","zipcode":"10001","country":"USA"}`
	for _, body := range []string{
		`{"first_name":"Ana","primary_email":"Ana@x.org","primary_phone":"212-555-0100"` + address,
		`{"first_name":"Ana","email":"Ana@x.org","phone":" 212-555-0100 "` + address,
		`{"first_name":"Ana","emails":null,"phones":null,"addresses":null,"email":"Ana@x.org","primary_email":" Ana@x.org","phone":"212-555-0100","primary_phone":null` + address,
		`{"first_name":"Ana","emails":["Ana@x.org"],"phones":["212-555-0100","+1 212 555 0100"]` + address,
	} {
		c := made(t, body)
		assert.Equal(t, bodyOf(c), want, "%s", body)
		if keys := []string{"e:ana@x.org", "p:+12125550100"}; !slices.Equal(c.MatchKeys, keys) {
			t.Errorf("%s: the match keys are %q", body, c.MatchKeys)
		}
	}
}

func TestAListThatWasSentCountsAlone(t *testing.T) {
	for _, body := range []string{
		`{"first_name":"A","emails":[],"phones":[],"addresses":[],"email":"a@x.org","phone":"212-555-0100","city":"Rome"}`,
		`{"first_name":"A","email":7,"primary_email":"x","phone":{},"primary_phone":"x","city":[],"state":"ROME","emails":[],"phones":[],"addresses":[]}`,
		`{"first_name":"A","email":null,"primary_email":"","phone":" ","city":null,"state":""}`,
	} {
		assert.Equal(t, bodyOf(made(t, body)), bodyOf(made(t, `{"first_name":"A"}`)), "%s", body)
	}
}

// A client that knows only the primary email, phone and address, and sends them back, changes nothing.
func TestPrimaryValuesSentBackChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := someContact(t)
		var email, phone string
		var first Address
		if len(c.Emails) > 0 {
			email = c.Emails[0].Value
		}
		if len(c.Phones) > 0 {
			phone = c.Phones[0].Value
		}
		if len(c.Addresses) > 0 {
			first = c.Addresses[0]
		}
		key := rapid.SampledFrom([]string{"", "primary_"}).Draw(t, "key")
		in := assert.Must(read(fmt.Sprintf(`{"%semail":%s,"%sphone":%s,"address_line1":%s,"city":%s,"state":%s,"country":%s}`, key, crmtest.Quoted(email), key, crmtest.Quoted(phone),
			crmtest.Quoted(first.Line1), crmtest.Quoted(first.City), crmtest.Quoted(first.State), crmtest.Quoted(first.Country)), false))(t)
		got, err := c.Patch(in, hourLater)
		assert.Succeed(t, err)
		assert.Equal(t, bodyOf(got), bodyOf(c))
		assert.Equal(t, slices.Equal(got.MatchKeys, c.MatchKeys), true)
	})
}

// Whichever element becomes the first, all others stay.
func TestAChangeOfTheFirstOneLosesNoOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := someContact(t)
		before := bodyOf(c)
		email, phone := rapid.SampledFrom(crmtest.Emails).Draw(t, "email"), rapid.SampledFrom(crmtest.Phones).Draw(t, "phone")
		in := assert.Must(read(`{"email":`+crmtest.Quoted(email)+`,"primary_phone":`+crmtest.Quoted(phone)+`}`, false))(t)
		got, err := c.Patch(in, hourLater)
		if err != nil || got.Emails[0].Value != email || got.Phones[0].Value != phone {
			t.Fatalf("%v: %s", err, bodyOf(got))
		}
		if bodyOf(c) != before {
			t.Fatal("the contact has changed in place")
		}
		for _, key := range slices.Concat(c.MatchKeys, in.MatchKeys()) {
			if !slices.Contains(got.MatchKeys, key) {
				t.Fatalf("the key %q is missing", key)
			}
		}
		if !slices.Equal(got.MatchKeys, keysOf(t, got)) {
			t.Fatalf("the match keys are %q, and those of the emails and phones %q", got.MatchKeys, keysOf(t, got))
		}
		if len(got.Emails) > len(c.Emails)+1 || len(got.Phones) < len(c.Phones) || len(got.Emails) < len(c.Emails) {
			t.Fatalf("%s\nbecame\n%s", before, bodyOf(got))
		}
		again, err := got.Patch(in, hourLater.Add(1e9))
		assert.Succeed(t, err)
		assert.Equal(t, bodyOf(again), bodyOf(got))
	})
}

func TestAnEmailThatMovesToTheFrontKeepsItsType(t *testing.T) {
	c := made(t, `{"emails":[{"value":"a@x.org","type":"personal"},{"value":"b@x.org","type":"work"}],"phones":["555-0100"]}`)
	got, err := c.Patch(valid(t, `{"primary_email":"B@x.org","phone":"555-0100"}`), hourLater)
	if diff := cmp.Diff([]Email{{"work", "B@x.org"}, {"personal", "a@x.org"}}, got.Emails); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	assert.Same(t, c.Phones, got.Phones)
}

func TestFlatPartsWithAStreetAreOneWholeAddress(t *testing.T) {
	const rome, paris = "1 Via/Rome//", "/Paris//FRA"
	told := func(all []Address) (texts []string) {
		for _, a := range all {
			texts = append(texts, a.Line1+"/"+a.City+"/"+a.Zipcode+"/"+a.Country+map[bool]string{true: "*"}[a.UpdatedAt.Equal(hourLater)])
		}
		return texts
	}
	for _, test := range rows.Of[struct{ Body, Before, Want string }](`
		{"city":"Milan"}                                               rome paris  1 Via/Milan//* paris
		{"street":"2 Via","zip":"1"}                                   rome        2 Via//1/*
		{"address_line1":"1 Via","address_line2":null,"city":"Rome"}   rome paris  rome paris
		{"state":null,"postal_code":""}                                rome        rome
		{"address":"","city":""}                                       rome paris  paris
		{"address":{"street":"3 Via","city":"Rome","other":1}}         rome        3 Via/Rome//*
		{"city":"PARIS","country":"fra","address":""}                  rome paris  /PARIS//fra*
		{"zip":"00118"}                                                rome        1 Via/Rome/00118/*
		{"address":{"city":null,"zip":"00118"}}                        rome        1 Via//00118/*
		{"city":"","country":null}                                     paris rome  rome
		{"city":"Milan"}                                               ""          /Milan//*
		{"city":null}                                                  ""          ""
		{"zip":"1","zipcode":"1","postal_code":null}                   ""          //1/*
	`) {
		c := made(t, `{"first_name":"Ana"}`)
		for name := range strings.FieldsSeq(test.Before) {
			c.Addresses = append(c.Addresses, map[string]Address{"rome": {Line1: "1 Via", City: "Rome", CreatedAt: noon, UpdatedAt: noon},
				"paris": {City: "Paris", Country: "FRA", CreatedAt: noon, UpdatedAt: noon}}[name])
		}
		got, err := c.Patch(valid(t, test.Body), hourLater)
		want := strings.NewReplacer("rome", rome, "paris", paris).Replace(test.Want)
		if text := strings.Join(told(got.Addresses), " "); err != nil || text != want {
			t.Errorf("%s: %v: %s, want %s", test.Body, err, text, want)
		}
		assert.Equal(t, test.Before == test.Want, got.UpdatedAt.Equal(c.UpdatedAt),
			"%s: updated at %s", test.Body, got.UpdatedAt)
	}
}
