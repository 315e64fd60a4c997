package crm

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"donorbook/internal/crm/crmtest"
	"donorbook/internal/crm/text"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

var hourLater = noon.Add(time.Hour)

func TestMergingTwiceIsMergingOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, in := someContact(t), someInput(t, false)
		once := assert.Must(c.Merge(in, hourLater))(t)
		assert.Same(t, once, assert.Must(once.Merge(in, hourLater.Add(time.Hour)))(t), sameContact...)
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
		if !begins(m.Emails, c.Emails) || !begins(m.Phones, c.Phones) || !begins(m.Addresses, c.Addresses) ||
			!begins(m.Tags, c.Tags) {
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
	c := made(t,
		`{"first_name":"Ana","middle_name":"M","last_name":"Diaz","dob":"1/2/1980","company":"Old","title":"Dr",
		"twitter_url":"https://t.example","linkedin_url":"https://l.example","facebook_url":"https://f.example","note":"kept",
		"emails":[{"value":"a@x.org"},{"value":"b@x.org","type":"work"}],"phones":[{"value":"212-555-0100"}],
		"addresses":[{"city":"Rome"},{"city":"Oslo"}],"tags":["a","b"]}`)
	for _, test := range rows.Of[struct {
		Body, Differs string
		Keys          []string
	}](`
		{}  ""  KEPT
		{"emails":null,"phones":null,"addresses":null,"tags":null}  ""  KEPT
		{"first_name":"Ana","dob":"01/02/1980","tags":["a","b"],"addresses":[{"city":"Rome"},{"city":"Oslo"}]}  ""  KEPT
		{"first_name":"Bea"}  {"first_name":["Ana","Bea"]}  KEPT
		{"last_name":"Ek"}  {"last_name":["Diaz","Ek"]}  KEPT
		{"middle_name":null,"company":"","title":" ","twitter_url":null,"linkedin_url":"","facebook_url":null,"dob":null}  {"middle_name":["M",null],"dob":["1980-01-02T00:00:00.000000Z",null],"company":["Old",null],"title":["Dr",null],"twitter_url":["https://t.example",null],"linkedin_url":["https://l.example",null],"facebook_url":["https://f.example",null]}  KEPT
		{"dob":""}  {"dob":["1980-01-02T00:00:00.000000Z",null]}  KEPT
		{"dob":"2/3/1990"}  {"dob":["1980-01-02T00:00:00.000000Z","1990-02-03T00:00:00.000000Z"]}  KEPT
		{"note":"new"}  {"note":["kept","new"]}  KEPT
		{"note":""}  {"note":["kept",null]}  KEPT
		{"emails":[]}  {"emails":{"at":0,"out":[{"type":null,"value":"a@x.org"},{"type":"work","value":"b@x.org"}]}}  p:+12125550100
		{"emails":[{"value":"B@x.org"}]}  {"emails":{"at":0,"out":[{"type":null,"value":"a@x.org"},{"type":"work","value":"b@x.org"}],"in":[{"type":null,"value":"B@x.org"}]}}  e:b@x.org p:+12125550100
		{"primary_email":"B@x.org","phone":"212-555-0100"}  {"emails":{"at":0,"out":[{"type":null,"value":"a@x.org"},{"type":"work","value":"b@x.org"}],"in":[{"type":"work","value":"B@x.org"},{"type":null,"value":"a@x.org"}]}}  KEPT
		{"phones":[]}  {"phones":{"at":0,"out":[{"type":null,"value":"212-555-0100"}]}}  e:a@x.org e:b@x.org
		{"phones":[{"value":"212-555-0101"}]}  {"phones":{"at":0,"out":[{"type":null,"value":"212-555-0100"}],"in":[{"type":null,"value":"212-555-0101"}]}}  e:a@x.org e:b@x.org p:+12125550101
		{"tags":[]}  {"tags":{"at":0,"out":["a","b"]}}  KEPT
		{"tags":["c","a"]}  {"tags":{"at":0,"out":["a","b"],"in":["c","a"]}}  KEPT
	`) {
		got := assert.Must(c.Patch(valid(t, test.Body), hourLater.Add(time.Millisecond)))(t)
		assert.Equal(t, c.Differences(&got).Text(), test.Differs, "%s changes", test.Body)
		if test.Keys[0] == "KEPT" {
			test.Keys = c.MatchKeys
		}
		assert.Equal(t, got.MatchKeys, test.Keys, "%s: the match keys", test.Body)
		assert.Equal(t, got.UpdatedAt.Equal(hourLater), test.Differs != "", "%s: updated at %v", test.Body,
			got.UpdatedAt)
	}
	for body, want := range rows.Pairs(`
		{"addresses":[]}                                  ""
		{"addresses":[{"city":"OSLO"},{"city":"Bern"}]}   OSLO 12:00 13:00 Bern 13:00 13:00  // one that stays keeps the day it came
		{"addresses":[{"city":"Oslo"},{"city":"Rome"}]}   Oslo 12:00 12:00 Rome 12:00 12:00
	`) {
		var got []string
		for _, a := range assert.Must(c.Patch(valid(t, body), hourLater))(t).Addresses {
			got = append(got, a.City, a.CreatedAt.Format("15:04"), a.UpdatedAt.Format("15:04"))
		}
		assert.Equal(t, strings.Join(got, " "), want, "%s", body)
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
		fresh.ID, fresh.Note, fresh.Stats, fresh.ArchivedAt, fresh.CreatedAt, fresh.UpdatedAt = c.ID, c.Note, c.Stats,
			c.ArchivedAt, c.CreatedAt, patched.UpdatedAt
		for i := range fresh.Addresses {
			fresh.Addresses[i].CreatedAt, fresh.Addresses[i].UpdatedAt = patched.Addresses[i].CreatedAt,
				patched.Addresses[i].UpdatedAt
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
