package crm

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"donorbook/internal/crm/crmtest"
	"donorbook/internal/crm/doc"
)

// wideAddresses is a list of n addresses of about 1,750 bytes each in the document.
func wideAddresses(n int) string {
	return listed(n, `{"address_1":"%d`+strings.Repeat("a", 240)+`","address_2":"`+strings.Repeat("b", 250)+`","city":"`+strings.Repeat("c", 250)+`","zipcode":"`+strings.Repeat("é", 250)+`"}`)
}

const tooLarge = "The %s field is refused: the contact would be larger than 128 KiB."

func TestAContactIsAtMost128KiB(t *testing.T) {
	const names = `"first_name":"A","last_name":"B"`
	for _, test := range []struct {
		body, field string
	}{
		{`{` + names + `,"addresses":` + wideAddresses(70) + `}`, ""},
		{`{` + names + `,"addresses":` + wideAddresses(100) + `}`, "addresses"},
		{`{` + names + `,"addresses":` + wideAddresses(70) + `,"tags":` + listed(500, `"%d`+strings.Repeat("日", 60)+`"`) + `}`, "addresses"},
		{`{` + names + `,"addresses":` + wideAddresses(30) + `,"tags":` + listed(500, `"%d`+strings.Repeat("日", 60)+`"`) + `}`, "tags"},
		{`{` + names + `,"tags":` + listed(500, `"%d`+strings.Repeat(`\u0001`, 50)+`"`) + `}`, "tags"}, // escaped in the document as well
	} {
		c, err := NewContact(valid(t, test.body), noon)
		if test.field == "" && (err != nil || len(bodyOf(c)) > 128<<10 || len(bodyOf(c)) < 100<<10) {
			t.Errorf("%.60s: %v, %d bytes", test.body, err, len(bodyOf(c)))
		}
		if test.field != "" {
			crmtest.WantFaults(t, test.field, err, fmt.Sprintf(tooLarge, test.field))
		}
	}
}

func TestAChangeIsRefusedWhereTheContactWouldBeTooLarge(t *testing.T) {
	c := made(t, `{"first_name":"A","last_name":"B","addresses":`+wideAddresses(70)+`}`)
	tags := strings.Split(strings.TrimSuffix(strings.Repeat(strings.Repeat("日", 60)+" ", 300), " "), " ")
	for i := range tags {
		tags[i] += fmt.Sprint(i)
	}
	more := `{"title":"Dr","tags":` + listed(300, `"%d`+strings.Repeat("日", 60)+`"`) + `}`
	for what, change := range map[string]func() (Contact, error){
		"merge": func() (Contact, error) { return c.Merge(valid(t, more), hourLater) },
		"patch": func() (Contact, error) { return c.Patch(valid(t, more), hourLater) },
		"add":   func() (Contact, error) { return c.AddTags(tags, hourLater) },
		"sync":  func() (Contact, error) { return c.SyncTags(tags, hourLater) },
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
	stored, err := ParseContact(7, c.AppendBody(nil), c.MatchKeys)
	if err != nil || len(bodyOf(c)) <= 128<<10 {
		t.Fatalf("%v, %d bytes", err, len(bodyOf(c)))
	}
	for body, fine := range map[string]bool{
		`{"first_name":"C"}`:                            true,
		`{"addresses":` + wideAddresses(99) + `}`:       true,
		`{"first_name":"Cleopatra"}`:                    false,
		`{"tags":["new"]}`:                              false,
		`{"tags":["new"],"addresses":[{"city":"Rom"}]}`: true,
	} {
		if _, err := stored.Patch(valid(t, body), hourLater); (err == nil) != fine {
			t.Errorf("%.60s: %v", body, err)
		}
	}
}

func TestTheBoundOfASizeHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := someContact(t)
		if size := len(c.AppendBody(nil)); size > c.sizeBound() {
			t.Fatalf("%d bytes, and the bound is %d", size, c.sizeBound())
		}
	})
	controls := strings.Repeat("\x01", doc.MaxText)
	c := Contact{FirstName: "A", LastName: "B", Emails: []Email{{"work", "a@b.co"}}, Addresses: []Address{{controls, controls, controls, "NY", controls, "USA", noon, noon}}}
	if size := len(c.AppendBody(nil)); size > c.sizeBound() || !json.Valid(AppendContact(nil, 1, c.AppendBody(nil))) {
		t.Errorf("%d bytes, and the bound is %d", size, c.sizeBound())
	}
}
