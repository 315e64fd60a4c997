package crm

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"donorbook/internal/crm/crmtest"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestWireFormOfAFullContact(t *testing.T) {
	c := made(t,
		`{"first_name":" Ada ","middle_name":"Augusta","last_name":"King \"L\" <b>","dob":"2/9/1985","company":"Ænð","title":"Dr",
		"twitter_url":"https://twitter.com/a?b=1&c=2","linkedin_url":"https://linkedin.com/in/a","facebook_url":"http://facebook.com/a",
		"emails":[{"value":"Ada@Example.org","type":"personal"},{"value":"b@c.de"}],"phones":[{"value":"(212) 555-0100","type":"cell"},{"value":"+442079460958"}],
		"addresses":[{"address_1":"1 Main","address_2":"Apt 2","city":"New York","state":"NY","zipcode":"10001","country":"USA"},{"city":"Rome"}],
		"tags":["vip","日本"],"type":"company","prefix":"Dr.","suffix":"Jr.","salutation":"Dear Ada","external_ids":[{"source":"Bloomerang","value":"7"}],"external_id":8,
		"do_not_mail":true,"do_not_email":false,"do_not_call":null,"deceased":true}`)
	c.ID, c.Note, c.Stats = 1_000_000_000_000_007, "met in May", Stats{3, 12}
	c.UpdatedAt = noon.Add(61 * time.Second)
	c.Addresses[1].UpdatedAt = noon.Add(time.Second)
	c.ArchivedAt = time.Date(2026, 2, 1, 1, 2, 3, 0, time.FixedZone("east", 3600))
	const home = `{"address_1":"1 Main","address_2":"Apt 2","city":"New York","state":"NY","zipcode":"10001","country":"USA",` +
		`"type":"home","is_primary":1,"created_at":"2026-01-31T12:00:00.000000Z","updated_at":"2026-01-31T12:00:00.000000Z"}`
	const want = `{"id":1000000000000007,"first_name":"Ada","middle_name":"Augusta","last_name":"King \"L\" <b>",` +
		`"dob":"1985-02-09T00:00:00.000000Z","company":"Ænð","title":"Dr","twitter_url":"https://twitter.com/a?b=1&c=2",` +
		`"linkedin_url":"https://linkedin.com/in/a","facebook_url":"http://facebook.com/a",` +
		`"emails":[{"type":"personal","value":"Ada@Example.org"},{"type":null,"value":"b@c.de"}],` +
		`"phones":[{"type":"cell","value":"(212) 555-0100"},{"type":null,"value":"+442079460958"}],` +
		`"primary_email":"Ada@Example.org","primary_phone":"(212) 555-0100","note":"met in May",` +
		`"addresses":[` + home +
		`,{"address_1":null,"address_2":null,"city":"Rome","state":null,"zipcode":null,"country":null,` +
		`"type":"home","is_primary":0,"created_at":"2026-01-31T12:00:00.000000Z","updated_at":"2026-01-31T12:00:01.000000Z"}],` +
		`"primary_address":` + home + `,"stats":{"recurring_contributions":3,"total_contributions":12},` +
		`"tags":["vip","日本"],"custom_fields":[],"archived_at":"2026-02-01T00:02:03+00:00",` +
		`"created_at":"2026-01-31T12:00:00+00:00","updated_at":"2026-01-31T12:01:01+00:00","type":"company","prefix":"Dr.","suffix":"Jr.","salutation":"Dear Ada",` +
		`"external_ids":[{"source":"Bloomerang","value":"7"},{"source":"other","value":"8"}],"do_not_mail":true,"do_not_email":false,"do_not_call":false,"deceased":true,"bounced_email":null,` +
		`"is_email_subscribed":true,"is_phone_subscribed":true,"is_address_subscribed":false}`
	assert.Same(t, want, string(AppendContact(nil, c.ID, c.AppendBody(nil))))
	assert.Equal(t, strings.Join(c.MatchKeys, " "),
		"e:ada@example.org e:b@c.de p:+12125550100 p:+442079460958 x:7\tbloomerang x:8\tother")
}

func TestWireFormOfAnEmptyContact(t *testing.T) {
	c := Contact{ID: 7, FirstName: "A", LastName: "B", CreatedAt: noon, UpdatedAt: noon}
	const want = `{"id":7,"first_name":"A","middle_name":null,"last_name":"B","dob":null,"company":null,"title":null,"twitter_url":null,` +
		`"linkedin_url":null,"facebook_url":null,"emails":[],"phones":[],"primary_email":null,"primary_phone":null,"note":null,` +
		`"addresses":[],"primary_address":null,"stats":{"recurring_contributions":0,"total_contributions":0},"tags":[],` +
		`"custom_fields":[],"archived_at":null,"created_at":"2026-01-31T12:00:00+00:00","updated_at":"2026-01-31T12:00:00+00:00",` +
		`"type":"individual","prefix":null,"suffix":null,"salutation":null,"external_ids":[],"do_not_mail":false,"do_not_email":false,"do_not_call":false,"deceased":false,"bounced_email":null,` +
		`"is_email_subscribed":true,"is_phone_subscribed":true,"is_address_subscribed":true}`
	assert.Equal(t, string(AppendContact([]byte("["), c.ID, c.AppendBody(nil))), "["+want)
}

func TestStoredContactsReadBackEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := someContact(t)
		body := c.AppendBody(nil)
		if !json.Valid(append([]byte(`{"id":1`), body...)) || !utf8.Valid(body) {
			t.Fatalf("not UTF-8 JSON: %s", body)
		}
		got := assert.Must(ParseContact(c.ID, body, c.MatchKeys))(t)
		assert.Same(t, c, got, sameContact...)
		assert.Equal(t, string(body), bodyOf(c), "reading has changed what was read")
		assert.Equal(t, string(got.AppendBody(nil)), string(body), "wrote\n%s\nand after reading", body)
		if !got.sameAs(&c) {
			t.Fatal("what was read back counts as changed")
		}
	})
}

func TestDamagedDocumentsAreRefused(t *testing.T) {
	good := bodyOf(made(t, `{"first_name":"A","last_name":"B"}`))
	bodies := []string{"", "{", "}", good[1:], "{" + good[1:], good[:len(good)-1], good + "}", good + "x"}
	for was, is := range rows.Pairs(`
		"\"first_name\":\"A\""     "\"first_name\":7"
		2026-01-31T12:00:00+00:00  2026-01-31T12:00:00Z
		2026-01-31T12:00:00+00:00  2026-02-30T12:00:00+00:00
		2026-01-31T12:00:00+00:00  yesterday
		2026-01-31T12:00:00+00:00  ""
		"\"A\""                    "\"\xff\""
	`) {
		bodies = append(bodies, strings.Replace(good, was, is, 1))
	}
	for _, body := range bodies {
		_, err := ParseContact(7, []byte(body), nil)
		if err == nil || !strings.Contains(err.Error(), "contact 7") {
			t.Errorf("%.60q: got %v, want an error that names the contact", body, err)
		}
		if errors.As(err, new(*doc.Invalid)) || errors.As(err, new(*doc.Malformed)) {
			t.Errorf("%.60q: %v would be told to a client as a fault of its own", body, err)
		}
	}
}

// A client may send back what it received; only the date of birth has a different format.
func TestAContactSentBackIsAcceptedAndChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := someContact(t)
		if c.FirstName == "" {
			c.FirstName = "A"
		}
		if c.LastName == "" {
			c.LastName = "B"
		}
		sent := string(AppendContact(nil, c.ID, c.AppendBody(nil)))
		in, err := read(sent, false)
		if !c.DOB.IsZero() {
			assert.Equal(t, crmtest.Fields(err), []string{"dob"})
			in, err = read(strings.Replace(sent, c.DOB.Format(text.MicroTimeForm), c.DOB.Format("1/2/2006"), 1), false)
		}
		assert.Succeed(t, err)
		got, err := c.Patch(in, hourLater)
		assert.Succeed(t, err)
		assert.Equal(t, bodyOf(got), bodyOf(c))
		assert.Equal(t, got.MatchKeys, c.MatchKeys)
	})
}

func TestArchiveAndRestore(t *testing.T) {
	c := made(t, `{"first_name":"A","last_name":"B"}`)
	archived := c.Archive(hourLater.Add(time.Millisecond))
	restored := archived.Restore(hourLater.Add(time.Hour))
	for i, is := range []Contact{c, archived, restored} {
		assert.Equal(t, is.Archived(), i == 1)
		assert.Equal(t, is.UpdatedAt.Equal(noon.Add(time.Duration(i)*time.Hour)), true, "updated %v", is.UpdatedAt)
		assert.Equal(t, is.CreatedAt.Equal(noon), true, "created %v", is.CreatedAt)
	}
	assert.Equal(t, archived.ArchivedAt.Equal(hourLater), true, "archived %v", archived.ArchivedAt)
}

func FuzzDecodeContact(f *testing.F) {
	for _, body := range append(rows.All(`
		{}  null  {"first_name":"A","last_name":"B"}  {"first_name":"\u0000","last_name":7}
		{"emails":null,"phones":[null],"addresses":[7],"tags":[[]],"x":{"y":[1e9]}}
		{"first_name":"\ud83d\ude00","last_name":" \u00a0x"}
		{"emails":[{"value":"a@b.co"},{"value":"x"}],"tags":["",1]}{
		{"first_name":"A","last_name":"B","email":"a@b.co","primary_email":"a@b.co","phone":"212 555 0100","city":"Rome","state":"RM","note":"x","force_create":"True"}
		{"email":7,"primary_email":"\u0000","primary_phone":"x","phone":"y","city":"\u0000","state":"ABC","country":{},"force_create":{"a":[]}}
		{"first_name":"A","last_name":"B","emails":["a@b.co",{"value":"b@b.co"},"A@B.CO"],"phones":["212 555 0100"],"email":[[]],"city":7,"addresses":[]}
		{"emails":["","\u0000","x",null,{"value":""}],"phones":7,"phone":"1","addresses":null,"zipcode":null}
		{"force_create":  {"email":  {"emails":["
	`),
		`{"first_name":"A","last_name":"B","dob":"2/29/2000","emails":[{"value":"A@b.co","type":"work"}],"phones":[{"value":"212 555 0100","type":"cell"}],
			"addresses":[{"address_1":"1","state":"NY","country":"USA"},{}],"tags":["a","b","a"],"twitter_url":"https://x.example"}`) {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		in, faults, err := DecodeContact(doc.NewBody(body))
		if err != nil {
			if m, ok := err.(*doc.Malformed); !ok || m.Message == "" || !utf8.ValidString(m.Message) || faults != nil {
				t.Fatalf("%q: %v, %v", body, err, faults)
			}
			return
		}
		if err := in.Validate(faults, true, "US", noon); err != nil {
			seen := map[string]bool{}
			for _, fault := range crmtest.FaultsOf(t, err) {
				if seen[fault.Field()] || !strings.HasPrefix(fault.Message(), "The "+fault.Field()+" field ") {
					t.Fatalf("%q: a second fault of a place, or no sentence about it: %v", body, err)
				}
				seen[fault.Field()] = true
			}
			return
		}
		c := assert.Must(NewContact(in, noon))(t)
		stored := c.AppendBody(nil)
		document := AppendContact(nil, 7, stored)
		if !utf8.Valid(document) || !json.Valid(document) {
			t.Fatalf("%q became %q", body, document)
		}
		c.ID = 7
		got, err := ParseContact(7, stored, c.MatchKeys)
		if diff := cmp.Diff(c, got, sameContact...); err != nil || diff != "" {
			t.Fatalf("%q: %v\n%s", body, err, diff)
		}
		assert.Equal(t, bodyOf(assert.Must(c.Merge(in, noon.Add(time.Hour)))(t)), string(stored),
			"%q: merging it again changed\n%s", body, stored)
	})
}

// An envelope has every part of an address that there is, also of one whose state has no code. The country stands on it
// only if it is another one.
func TestAnAddressOnAnEnvelope(t *testing.T) {
	for _, a := range rows.Of[struct{ Line1, Line2, City, State, Zipcode, Country, Want string }](`
		1 Main St  Apt 4            Springfield  IL  62701  USA  1 Main St|Apt 4|Springfield, IL 62701
		1 Main St  New South Wales  Sydney       ""  2000   AUS  1 Main St|New South Wales|Sydney 2000|AUSTRALIA
		1 Quay     ""               Kiel         ""  24103  deu  1 Quay|24103 Kiel|GERMANY
		1 Main St  Bavaria          Munich       ""  ""     ""   1 Main St|Bavaria|Munich
		""         ""               Springfield  IL  ""     ""   Springfield, IL
		""         ""               ""           IL  62701  ""   IL 62701
		""         ""               ""           ""  ""     ""   ""
	`) {
		address := Address{Line1: a.Line1, Line2: a.Line2, City: a.City, State: a.State, Zipcode: a.Zipcode,
			Country: a.Country}
		assert.Equal(t, strings.Join(address.Lines("USA"), "|"), a.Want)
	}
}
