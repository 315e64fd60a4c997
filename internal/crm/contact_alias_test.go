package crm

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"donorbook/internal/crm/crmtest"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

// A client that knows only the primary email, phone and address, and sends them back, changes nothing.
func TestPrimaryValuesSentBackChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := someContact(t)
		email, phone, first := append(c.Emails, Email{})[0], append(c.Phones, Phone{})[0],
			append(c.Addresses, Address{})[0]
		key := rapid.SampledFrom([]string{"", "primary_"}).Draw(t, "key")
		got := assert.Must(c.Patch(assert.Must(read(fmt.Sprintf(
			`{"%semail":%q,"%sphone":%q,"address_line1":%q,"city":%q,"state":%q,"country":%q}`,
			key, email.Value, key, phone.Value, first.Line1, first.City, first.State, first.Country), false))(t),
			hourLater))(t)
		assert.Equal(t, bodyOf(got), bodyOf(c))
		assert.Equal(t, got.MatchKeys, c.MatchKeys)
	})
}

// Whichever element becomes the first, all others stay.
func TestAChangeOfTheFirstOneLosesNoOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := someContact(t)
		before := bodyOf(c)
		email, phone := rapid.SampledFrom(crmtest.Emails).Draw(t, "email"),
			rapid.SampledFrom(crmtest.Phones).Draw(t, "phone")
		in := assert.Must(read(`{"email":`+crmtest.Quoted(email)+`,"primary_phone":`+crmtest.Quoted(phone)+`}`,
			false))(t)
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

func TestFlatPartsWithAStreetAreOneWholeAddress(t *testing.T) {
	const rome, paris = "1 Via/Rome//", "/Paris//FRA"
	told := func(all []Address) (texts []string) {
		for _, a := range all {
			texts = append(texts, a.Line1+"/"+a.City+"/"+a.Zipcode+"/"+a.Country+
				map[bool]string{true: "*"}[a.UpdatedAt.Equal(hourLater)])
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
			c.Addresses = append(c.Addresses, map[string]Address{"rome": {Line1: "1 Via", City: "Rome", CreatedAt: noon,
				UpdatedAt: noon},
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
