package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
)

func TestAFormWithTooManyFieldsIsNotRead(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	form := []string{"first_name", "Ana", "last_name", "Diaz"}
	for i := range 3_001 - len(form)/2 {
		form = append(form, fmt.Sprintf("tags.%d", i), "x")
	}
	p.post("contacts", form...).is(413).sees("Too much data", "The form has more than 3,000 fields. Nothing was changed.")
	if n := len(s.contacts(p.account)); n != 0 {
		t.Errorf("%d contacts were made", n)
	}
	p.follow("contacts", form[:len(form)-2]...).sees("Ana Diaz was added.")
}

func TestAContactMayHaveAllThatTheRulesTake(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	form := []string{"first_name", "Ana", "last_name", "Diaz"}
	add := func(name string, i int, value string) { form = append(form, fmt.Sprintf(name, i), value) }
	for i := range 500 {
		add("tags.%d", i, fmt.Sprint(i))
	}
	for i := range 100 {
		add("emails.%d.value", i, fmt.Sprintf("a%d@example.org", i))
		add("emails.%d.type", i, "work")
		add("phones.%d.value", i, fmt.Sprintf("212555%04d", i))
		add("phones.%d.type", i, "cell")
		for _, part := range []string{"address_1", "address_2", "city", "zipcode"} {
			add("addresses.%d."+part, i, fmt.Sprint(i))
		}
		add("addresses.%d.state", i, "NY")
		add("addresses.%d.country", i, "USA")
	}
	p.follow("contacts", form...).sees("Ana Diaz was added.")
	c := s.contacts(p.account)[0]
	if len(c.Emails) != 100 || len(c.Phones) != 100 || len(c.Addresses) != 100 || len(c.Tags) != 500 {
		t.Errorf("%d emails, %d phones, %d addresses, %d tags", len(c.Emails), len(c.Phones), len(c.Addresses), len(c.Tags))
	}
	path := fmt.Sprint("contacts/", c.ID)
	p.follow(p.org("/"+path), p.get(path+"/edit").fields()...).sees("Changes saved.")
	if after := s.contacts(p.account)[0]; after.Version() != c.Version() {
		t.Errorf("the edit lost something: %+v", after)
	}
}

func TestAFormOfAContactThatIsTooLargeSaysWhichFieldIsTooMuch(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	form := []string{"first_name", "Ana", "last_name", "Diaz"}
	for i := range 100 {
		for _, part := range []string{"address_1", "address_2", "city", "zipcode"} {
			form = append(form, fmt.Sprintf("addresses.%d.%s", i, part), fmt.Sprint(i, strings.Repeat("é", 200)))
		}
	}
	for _, path := range []string{"contacts", s.contact(p, "Ana", "Diaz")} {
		p.post(path, form...).is(422).sees("Addresses can’t be saved: this contact has too much data.")
	}
	if all := s.contacts(p.account); len(all) != 1 || len(all[0].Addresses) != 0 {
		t.Errorf("it changed something: %d contacts", len(all))
	}
}

// Clients that do not read the large pages of an organization delay each other, and no other requests.
func TestLargePagesWaitForTheirTurn(t *testing.T) {
	s := anySite(t)
	p, other := s.member(s.organization("Harbor"), access.Editor), s.member(s.organization("River"), access.Editor)
	large := func(in *crm.ContactInput) {
		in.Addresses = &[]crm.Address{}
		for i := range 100 {
			*in.Addresses = append(*in.Addresses, crm.Address{Line1: fmt.Sprint(i), City: "Boston"})
		}
	}
	page, otherPage := s.contact(p, "Ana", "Diaz", large)+"/edit", s.contact(other, "Ana", "Diaz", large)+"/edit"
	p.get(page).is(200)
	busy := http.Header{"X-Busy": {fmt.Sprint(p.account.Number)}}
	a := p.do("GET", page, nil, busy)
	a.is(503)
	if wait := a.header.Get("Retry-After"); wait != "1" {
		t.Errorf("Retry-After is %q", wait)
	}
	p.do("GET", "contacts", nil, busy).is(200)
	other.do("GET", otherPage, nil, busy).is(200)
	p.get(page).is(200)
}

// Errors in a thousand rows are reported briefly and quickly.
func TestARefusedFormWithManyRowsStaysSmall(t *testing.T) {
	_, p := signedIn(t, access.Editor)
	for list, says := range map[string][]string{
		"emails.%d.value": {"2,992 things need your attention.", "You entered 2,990 emails, more than this form can hold. Only the first 101 were kept.", "And 2,972 more."},
		"tags.%d":         {"2,993 things need your attention.", "You entered 2,990 tags, more than this form can hold. Only the first 501 were kept.", "Tags are limited to 500.", "And 2,973 more."},
	} {
		form := []string{"first_name", "Ana"}
		for i := range 2_990 {
			form = append(form, fmt.Sprintf(list, i), fmt.Sprint(i, strings.Repeat("x", 64)))
		}
		a := p.post("contacts", form...)
		a.is(422)
		text := a.words()
		for _, words := range append(says, "Last name is required.") {
			if !strings.Contains(text, words) {
				t.Errorf("%s: the page does not say %q: %.2000s", list, words, text)
			}
		}
		if rows := strings.Count(a.body, `aria-invalid="true"`); rows > 502 || len(a.body) > 1<<20 {
			t.Errorf("%s: %d rows in %d bytes", list, rows, len(a.body))
		}
	}
}

func TestANoticeOfALongNameFitsIntoACookieAndSaysWhatWasDone(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	name := strings.Repeat("𝒜", 255)
	path := s.contact(p, name, name, func(in *crm.ContactInput) { in.MiddleName = &name })
	for change, says := range map[string]string{"/archive": "𝒜 was archived.", "/restore": "𝒜 was restored."} {
		p.get(path) // nothing is left to say
		a := p.post(path + change)
		a.is(303)
		if n := len(strings.Join(a.header.Values("Set-Cookie"), "")); n == 0 || n > 4<<10 {
			t.Errorf("%s: the cookies take %d bytes", change, n)
		}
		p.get(path).sees(says)
	}
}
