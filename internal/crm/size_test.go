package crm

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"donorbook/internal/crm/crmtest"
	"donorbook/internal/crm/doc"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

// wideAddresses is a list of n addresses of about 1,750 bytes each in the document.
func wideAddresses(n int) string {
	return listed(n, `{"address_1":"%d`+strings.Repeat("a", 240)+`","address_2":"`+strings.Repeat("b", 250)+
		`","city":"`+strings.Repeat("c", 250)+`","zipcode":"`+strings.Repeat("é", 250)+`"}`)
}

const tooLarge = "The %s field is refused: the contact would be larger than 128 KiB."

func TestAContactIsAtMost128KiB(t *testing.T) {
	wide := listed(500, `"%d`+strings.Repeat("日", 60)+`"`)
	for _, test := range rows.Of[struct {
		Addresses   int
		Tags, Field string
	}](`
		70   ""       ""
		100  ""       addresses
		70   wide     addresses
		30   wide     tags
		0    escaped  tags  // in the document as well
	`) {
		body := `{"first_name":"A","last_name":"B","addresses":` + wideAddresses(test.Addresses) + `,"tags":` +
			map[string]string{
				"": "[]", "wide": wide, "escaped": listed(500, `"%d`+strings.Repeat(`\u0001`, 50)+`"`),
			}[test.Tags] + `}`
		c, err := NewContact(valid(t, body), noon)
		if test.Field != "" {
			crmtest.WantFaults(t, test.Field, err, fmt.Sprintf(tooLarge, test.Field))
			continue
		}
		size := len(bodyOf(c))
		assert.Succeed(t, err)
		assert.Equal(t, size <= 128<<10 && size >= 100<<10, true, "%d bytes", size)
	}
}

func TestAChangeIsRefusedWhereTheContactWouldBeTooLarge(t *testing.T) {
	c := made(t, `{"first_name":"A","last_name":"B","addresses":`+wideAddresses(70)+`}`)
	in := valid(t, `{"title":"Dr","tags":`+listed(300, `"%d`+strings.Repeat("日", 60)+`"`)+`}`)
	for what, change := range map[string]func() (Contact, error){
		"merge": func() (Contact, error) { return c.Merge(in, hourLater) },
		"patch": func() (Contact, error) { return c.Patch(in, hourLater) },
		"add":   func() (Contact, error) { return c.AddTags(*in.Tags, hourLater) },
		"sync":  func() (Contact, error) { return c.SyncTags(*in.Tags, hourLater) },
	} {
		_, err := change()
		crmtest.WantFaults(t, what, err, fmt.Sprintf(tooLarge, "tags"))
	}
}

// Contacts that were stored before there was a limit can be read and made smaller.
func TestAContactThatIsTooLargeMayBecomeSmaller(t *testing.T) {
	c := made(t, `{"first_name":"A","last_name":"B","addresses":`+wideAddresses(50)+`}`)
	for i := range 50 {
		address := c.Addresses[i]
		address.Country = fmt.Sprint("C", i)
		c.Addresses = append(c.Addresses, address)
	}
	assert.Equal(t, len(bodyOf(c)) > 128<<10, true, "%d bytes", len(bodyOf(c)))
	stored := assert.Must(ParseContact(7, c.AppendBody(nil), c.MatchKeys))(t)
	for body, fine := range rows.Each[bool](`
		{"first_name":"C"}                             true
		{"addresses":WIDE}                             true
		{"first_name":"Cleopatra"}                     false
		{"tags":["new"]}                               false
		{"tags":["new"],"addresses":[{"city":"Rom"}]}  true
	`) {
		_, err := stored.Patch(valid(t, strings.Replace(body, "WIDE", wideAddresses(99), 1)), hourLater)
		assert.Equal(t, err == nil, fine, "%s: %v", body, err)
	}
}

func TestTheBoundOfASizeHolds(t *testing.T) {
	bound := func(t assert.Failer, c Contact) {
		size := len(c.AppendBody(nil))
		assert.Equal(t, size <= c.sizeBound(), true, "%d bytes, and the bound is %d", size, c.sizeBound())
	}
	rapid.Check(t, func(t *rapid.T) { bound(t, someContact(t)) })
	controls := strings.Repeat("\x01", doc.MaxText)
	c := Contact{
		FirstName: "A", LastName: "B", Emails: []Email{{"work", "a@b.co"}},
		Addresses: []Address{{controls, controls, controls, "NY", controls, "USA", noon, noon}},
	}
	bound(t, c)
	assert.Equal(t, json.Valid(AppendContact(nil, 1, c.AppendBody(nil))), true)
}
