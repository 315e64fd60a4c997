package crm

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"donorbook/internal/crm/crmtest"
	"donorbook/internal/crm/text"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

var hourLater = noon.Add(time.Hour)

func TestMergeAddsAndOverwrites(t *testing.T) {
	c := made(t, `{"first_name":"Ana","middle_name":"M","last_name":"Diaz","dob":"1/2/1980","company":"Old","title":"Dr",
		"twitter_url":"https://t.example","emails":[{"value":"ana@x.org","type":"work"}],"phones":[{"value":"212-555-0100","type":"cell"}],
		"addresses":[{"city":"Rome","state":"RM"}],"tags":["a","b"]}`)
	c.Note, c.Stats = "kept", Stats{1, 2}
	got := assert.Must(c.Merge(valid(t, `{"first_name":"Anna","middle_name":null,"company":"New","title":"","twitter_url":null,"dob":"1/3/1980",
		"linkedin_url":"https://l.example","emails":[{"value":"new@x.org","type":"personal"},{"value":"ANA@X.ORG","type":"personal"}],
		"phones":[{"value":"+1 212 555 0100"},{"value":"+1 212 555 0101","type":"home"}],
		"addresses":[{"city":"rome","state":"rm"},{"city":"Rome"}],"tags":["c","a"]}`), hourLater))(t)
	want := c
	want.FirstName, want.Company, want.LinkedinURL = "Anna", "New", "https://l.example"
	want.DOB = time.Date(1980, 1, 3, 0, 0, 0, 0, time.UTC)
	want.Emails = []Email{{"work", "ana@x.org"}, {"personal", "new@x.org"}}
	want.Phones = []Phone{{"cell", "212-555-0100"}, {"home", "+1 212 555 0101"}}
	want.Addresses = append(slices.Clone(c.Addresses), Address{City: "Rome", CreatedAt: hourLater, UpdatedAt: hourLater})
	want.Tags = []string{"a", "b", "c"}
	want.UpdatedAt = hourLater
	want.MatchKeys = rows.All(`e:ana@x.org  e:new@x.org  p:+12125550100  p:+12125550101`)
	assert.Same(t, want, got, sameContact...)
}

func TestANoteIsATextLikeTheOthers(t *testing.T) {
	c := made(t, `{"first_name":"Ana","last_name":"Diaz"}`)
	empty, first, second := "", "Met in Rome.", "Prefers letters."
	for _, step := range []struct {
		what   string
		change func(Contact, ContactInput, time.Time) (Contact, error)
		sent   *string
		want   string
	}{
		{"merge", Contact.Merge, &first, first},
		{"merge of nothing", Contact.Merge, &empty, first},
		{"patch of others", Contact.Patch, nil, first},
		{"patch", Contact.Patch, &second, second},
		{"patch that clears", Contact.Patch, &empty, ""},
	} {
		var err error
		if c, err = step.change(c, ContactInput{Note: step.sent}, hourLater); err != nil || c.Note != step.want {
			t.Errorf("%s: %v, the note is %q, want %q", step.what, err, c.Note, step.want)
		}
	}
}

func TestMergingTwiceIsMergingOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, in := someContact(t), someInput(t, false)
		once := assert.Must(c.Merge(in, hourLater))(t)
		twice, err := once.Merge(in, hourLater.Add(time.Hour))
		if diff := cmp.Diff(once, twice, sameContact...); err != nil || diff != "" {
			t.Fatalf("%v\n%s", err, diff)
		}
	})
}

func TestMergeDropsNothingAndKeepsThePrimaryOnes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, in := someContact(t), someInput(t, false)
		before := bodyOf(c)
		m := assert.Must(c.Merge(in, hourLater))(t)
		if bodyOf(c) != before {
			t.Fatal("the contact that was merged into has changed in place")
		}
		if !begins(m.Emails, c.Emails) || !begins(m.Phones, c.Phones) || !begins(m.Addresses, c.Addresses) || !begins(m.Tags, c.Tags) {
			t.Fatalf("%s\nlost something or moved it:\n%s", before, bodyOf(m))
		}
		if in.Tags != nil {
			for _, tag := range *in.Tags {
				if !slices.Contains(m.Tags, tag) {
					t.Fatalf("the tag %q was not added", tag)
				}
			}
		}
		for _, key := range slices.Concat(c.MatchKeys, in.MatchKeys()) {
			if !slices.Contains(m.MatchKeys, key) {
				t.Fatalf("the key %q is missing", key)
			}
		}
		if in.Addresses != nil {
			for _, a := range *in.Addresses {
				if !slices.ContainsFunc(m.Addresses, func(b Address) bool { return sameAddress(a, b) }) {
					t.Fatalf("the address %v was not added", a)
				}
			}
		}
		if !slices.Equal(m.MatchKeys, keysOf(t, m)) {
			t.Fatalf("the match keys are %q, and those of the emails and phones %q", m.MatchKeys, keysOf(t, m))
		}
	})
}

// begins tells whether a list starts with another.
func begins[T comparable](list, start []T) bool {
	return len(list) >= len(start) && slices.Equal(list[:len(start)], start)
}

// keysOf computes the match keys again.
func keysOf(t *rapid.T, c Contact) (keys []string) {
	for _, email := range c.Emails {
		key, ok := text.NormalEmail(email.Value)
		if !ok {
			t.Fatalf("%q was accepted", email.Value)
		}
		keys = append(keys, "e:"+key)
	}
	for _, phone := range c.Phones {
		key, ok := text.NormalPhone(phone.Value, "US")
		if !ok {
			t.Fatalf("%q was accepted", phone.Value)
		}
		if key != "" { // a number without its area code identifies no contact
			keys = append(keys, "p:"+key)
		}
	}
	for _, id := range c.ExternalIDs {
		keys = append(keys, "x:"+id.Value+"\t"+strings.ToLower(id.Source))
	}
	slices.Sort(keys)
	return keys
}

func TestMergeIsRefusedWhereTheContactWouldHoldTooMuch(t *testing.T) {
	for _, list := range rows.Of[struct {
		Field, Element string
		Max            int
	}](`
		emails     {"value":"a%d@b.co"}      100
		phones     {"value":"+1212555%04d"}  100
		addresses  {"city":"C%d"}            100
		tags       "\"t%d\""                 500
	`) {
		c := made(t, `{"first_name":"A","last_name":"B","`+list.Field+`":`+listed(list.Max-1, list.Element)+`}`)
		one := fmt.Sprintf(`{"`+list.Field+`":[`+list.Element+`]}`, 9998)
		two := fmt.Sprintf(`{"`+list.Field+`":[`+list.Element+`,`+list.Element+`]}`, 9998, 9999)
		full, err := c.Merge(valid(t, one), hourLater)
		if err != nil {
			t.Errorf("%s: the last one that has room is refused: %v", list.Field, err)
		}
		assert.Equal(t, bodyOf(assert.Must(full.Merge(valid(t, one), hourLater))(t)), bodyOf(full),
			"%s: one that is there already is refused", list.Field)
		_, err = c.Merge(valid(t, two), hourLater)
		crmtest.WantFaults(t, list.Field, err,
			fmt.Sprintf("The %s field is refused: the contact would have more than %d %[1]s.", list.Field, list.Max))
	}
}

func TestPatchChangesWhatIsSentAndNothingElse(t *testing.T) {
	c := made(t, `{"first_name":"Ana","middle_name":"M","last_name":"Diaz","dob":"1/2/1980","company":"Old","title":"Dr",
		"twitter_url":"https://t.example","linkedin_url":"https://l.example","facebook_url":"https://f.example",
		"emails":[{"value":"a@x.org"},{"value":"b@x.org"}],"phones":[{"value":"212-555-0100"}],
		"addresses":[{"city":"Rome"},{"city":"Oslo"}],"tags":["a","b"]}`)
	c.Note, c.Stats = "kept", Stats{1, 2}
	for _, test := range []struct {
		body   string
		change func(*Contact)
	}{
		{`{}`, nil},
		{`{"emails":null,"phones":null,"addresses":null,"tags":null}`, nil},
		{`{"first_name":"Ana","dob":"01/02/1980","tags":["a","b"],"addresses":[{"city":"Rome"},{"city":"Oslo"}]}`, nil},
		{`{"first_name":"Bea"}`, func(c *Contact) { c.FirstName = "Bea" }},
		{`{"last_name":"Ek"}`, func(c *Contact) { c.LastName = "Ek" }},
		{`{"middle_name":null,"company":"","title":" ","twitter_url":null,"linkedin_url":"","facebook_url":null,"dob":null}`, func(c *Contact) {
			c.MiddleName, c.Company, c.Title, c.TwitterURL, c.LinkedinURL, c.FacebookURL, c.DOB = "", "", "", "", "", "", time.Time{}
		}},
		{`{"dob":""}`, func(c *Contact) { c.DOB = time.Time{} }},
		{`{"dob":"2/3/1990"}`, func(c *Contact) { c.DOB = time.Date(1990, 2, 3, 0, 0, 0, 0, time.UTC) }},
		{`{"emails":[]}`, func(c *Contact) { c.Emails, c.MatchKeys = nil, []string{"p:+12125550100"} }},
		{`{"emails":[{"value":"B@x.org","type":"work"}]}`, func(c *Contact) {
			c.Emails, c.MatchKeys = []Email{{"work", "B@x.org"}}, []string{"e:b@x.org", "p:+12125550100"}
		}},
		{`{"phones":[]}`, func(c *Contact) { c.Phones, c.MatchKeys = nil, []string{"e:a@x.org", "e:b@x.org"} }},
		{`{"phones":[{"value":"212-555-0101"}]}`, func(c *Contact) {
			c.Phones, c.MatchKeys = []Phone{{"", "212-555-0101"}}, []string{"e:a@x.org", "e:b@x.org", "p:+12125550101"}
		}},
		{`{"addresses":[]}`, func(c *Contact) { c.Addresses = nil }},
		{`{"addresses":[{"city":"OSLO"},{"city":"Bern"}]}`, func(c *Contact) { // one that stays keeps the day it came
			c.Addresses = []Address{{City: "OSLO", CreatedAt: noon, UpdatedAt: hourLater}, {City: "Bern", CreatedAt: hourLater, UpdatedAt: hourLater}}
		}},
		{`{"addresses":[{"city":"Oslo"},{"city":"Rome"}]}`, func(c *Contact) { slices.Reverse(c.Addresses) }},
		{`{"tags":[]}`, func(c *Contact) { c.Tags = nil }},
		{`{"tags":["c","a"]}`, func(c *Contact) { c.Tags = []string{"c", "a"} }},
	} {
		want := c
		want.Addresses = slices.Clone(c.Addresses)
		if test.change != nil {
			test.change(&want)
			want.UpdatedAt = hourLater
		}
		got, err := c.Patch(valid(t, test.body), hourLater.Add(time.Millisecond))
		if diff := cmp.Diff(want, got, sameContact...); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", test.body, err, diff)
		}
	}
}

func TestPatchOfEverythingLeavesNothingOfTheOldContact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, in := someContact(t), someInput(t, true)
		before := bodyOf(c)
		patched := assert.Must(c.Patch(in, noon))(t)
		fresh := assert.Must(NewContact(in, noon))(t)
		if bodyOf(c) != before {
			t.Fatal("the contact that was patched has changed in place")
		}
		fresh.ID, fresh.Note, fresh.Stats, fresh.ArchivedAt, fresh.CreatedAt, fresh.UpdatedAt = c.ID, c.Note, c.Stats, c.ArchivedAt, c.CreatedAt, patched.UpdatedAt
		for i := range fresh.Addresses {
			fresh.Addresses[i].CreatedAt, fresh.Addresses[i].UpdatedAt = patched.Addresses[i].CreatedAt, patched.Addresses[i].UpdatedAt
		}
		assert.Same(t, fresh, patched, sameContact...)
	})
}

// An input may be used twice: if a change shares its batch with one that fails, it runs again.
func TestAnInputServesTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, in := someContact(t), someInput(t, false)
		first := assert.Must(c.Merge(in, hourLater))(t)
		grown := assert.Must(first.Merge(someInput(t, false), hourLater))(t)
		grown.AddTags([]string{"x", "y"}, hourLater) //nolint:errcheck // only its traces matter
		second, err := c.Merge(in, hourLater)
		assert.Succeed(t, err)
		assert.Equal(t, bodyOf(first), bodyOf(second))
	})
}
