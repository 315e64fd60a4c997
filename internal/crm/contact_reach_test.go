package crm

import (
	"testing"

	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestGreetings(t *testing.T) {
	for _, c := range rows.Of[struct{ Prefix, First, Last, Company, Salutation, Want string }](`
		Ms.           Ada              Lovelace  ""               ""                Dear Ms. Lovelace
		""            Ada              Lovelace  ""               ""                Dear Ada
		""            Ada & Charles    Lovelace  ""               ""                Dear Ada and Charles
		Dr.           Ada und Karl     Lovelace  ""               ""                Dear Ada und Karl
		Mr. and Mrs.  Paul             Greene    ""               ""                Dear Mr. and Mrs. Greene
		Sister        Agnes            ""        ""               ""                Dear Sister Agnes
		""            Ada              ""        ""               Dearest Countess  Dearest Countess
		""            ""               ""        Acme Foundation  ""                Dear Acme Foundation team
		Mr.           Jo               Wolf      Acme             ""                Dear Mr. Wolf
		""            ada@example.org  ""        ""               ""                Dear friend
		""            ""               Lovelace  ""               ""                Dear Lovelace
	`) {
		person := Contact{Prefix: c.Prefix, FirstName: c.First, LastName: c.Last, Company: c.Company,
			Salutation: c.Salutation}
		person.IsCompany = c.Company != ""
		assert.Equal(t, person.Greeting(), c.Want)
	}
}

// An email that bounced gets no mail until it is another one, or someone says that it works.
func TestABouncedEmailGetsNoMail(t *testing.T) {
	c := made(t,
		`{"first_name":"Ana","last_name":"Ruiz","emails":[{"value":"ana@x.org"},{"value":"a@y.org"}],"bounced_email":"ANA@x.org"}`)
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
	merged, err := made(t, `{"first_name":"Ana","last_name":"Ruiz","emails":[{"value":"ana@x.org"}]}`).Merge(valid(t,
		`{"bounced_email":"ana@x.org"}`), hourLater)
	assert.Succeed(t, err)
	assert.Equal(t, merged.NoMail(), HasBounced)
	for why, c := range map[Unreached]Contact{IsDeceased: {Deceased: true}, NoMailAsked: {DoNotEmail: true},
		NoEmail: {}} {
		assert.Equal(t, c.NoMail(), why)
	}
	for why, c := range map[Unreached]Contact{IsDeceased: {Deceased: true}, NoLetters: {DoNotMail: true}, NoAddress: {},
		"": {Addresses: []Address{{Line1: "1 Main St"}}}} {
		assert.Equal(t, c.NoPost(), why)
	}
}
