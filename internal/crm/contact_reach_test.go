package crm

import (
	"testing"

	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestGreetings(t *testing.T) {
	for want, c := range map[string]Contact{
		"Dear Ms. Lovelace":         {Prefix: "Ms.", FirstName: "Ada", LastName: "Lovelace"},
		"Dear Ada":                  {FirstName: "Ada", LastName: "Lovelace"},
		"Dear Ada and Charles":      {FirstName: "Ada & Charles", LastName: "Lovelace"},
		"Dear Ada und Karl":         {Prefix: "Dr.", FirstName: "Ada und Karl", LastName: "Lovelace"},
		"Dear Mr. and Mrs. Greene":  {Prefix: "Mr. and Mrs.", FirstName: "Paul", LastName: "Greene"},
		"Dear Sister Agnes":         {Prefix: "Sister", FirstName: "Agnes"},
		"Dearest Countess":          {Salutation: "Dearest Countess", FirstName: "Ada"},
		"Dear Acme Foundation team": {IsCompany: true, Company: "Acme Foundation"},
		"Dear Mr. Wolf":             {IsCompany: true, Company: "Acme", Prefix: "Mr.", FirstName: "Jo", LastName: "Wolf"},
		"Dear friend":               {FirstName: "ada@example.org"},
		"Dear Lovelace":             {LastName: "Lovelace"},
	} {
		assert.Equal(t, c.Greeting(), want)
	}
}

// An email that bounced gets no mail until it is another one, or someone says that it works.
func TestABouncedEmailGetsNoMail(t *testing.T) {
	c := made(t, `{"first_name":"Ana","last_name":"Ruiz","emails":[{"value":"ana@x.org"},{"value":"a@y.org"}],"bounced_email":"ANA@x.org"}`)
	assert.Equal(t, c.NoMail(), HasBounced)
	assert.Equal(t, c.NoMail().Sentence(), "The contact has an email address that bounced.")
	for body, want := range rows.Pairs(`
		{"bounced_email":null}                                     ""
		{"bounced_email":""}                                       ""
		{"bounced_email":"a@y.org"}                                a@y.org
		{"emails":[{"value":"a@y.org"}]}                           ""  // it is gone
		{"emails":[{"value":"a@y.org"},{"value":"ana@x.org"}]}     ana@x.org
		{"first_name":"Anna","emails":[{"value":"anna@new.org"}]}  ""
	`) {
		changed, err := c.Patch(valid(t, body), hourLater)
		if err != nil || changed.BouncedEmail != want || changed.NoMail() != "" {
			t.Errorf("%s: %q %q %v", body, changed.BouncedEmail, changed.NoMail(), err)
		}
	}
	if _, err := c.Patch(valid(t, `{"bounced_email":"other@x.org"}`), hourLater); err == nil {
		t.Error("the email of someone else bounced")
	}
	merged, err := made(t, `{"first_name":"Ana","last_name":"Ruiz","emails":[{"value":"ana@x.org"}]}`).Merge(valid(t, `{"bounced_email":"ana@x.org"}`), hourLater)
	assert.Succeed(t, err)
	assert.Equal(t, merged.NoMail(), HasBounced)
	for why, c := range map[Unreached]Contact{IsDeceased: {Deceased: true}, NoMailAsked: {DoNotEmail: true}, NoEmail: {}} {
		assert.Equal(t, c.NoMail(), why)
	}
	for why, c := range map[Unreached]Contact{IsDeceased: {Deceased: true}, NoLetters: {DoNotMail: true}, NoAddress: {}, "": {Addresses: []Address{{Line1: "1 Main St"}}}} {
		assert.Equal(t, c.NoPost(), why)
	}
}
