package crm

import (
	"encoding/json"
	"errors"
	"slices"
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
	c := made(t, `{"first_name":"Ada","middle_name":"Augusta","last_name":"King \"L\" <b>","dob":"2/9/1985","company":"Ænð","title":"Dr",
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
		`"addresses":[` + home + `,{"address_1":null,"address_2":null,"city":"Rome","state":null,"zipcode":null,"country":null,` +
		`"type":"home","is_primary":0,"created_at":"2026-01-31T12:00:00.000000Z","updated_at":"2026-01-31T12:00:01.000000Z"}],` +
		`"primary_address":` + home + `,"stats":{"recurring_contributions":3,"total_contributions":12},` +
		`"tags":["vip","日本"],"custom_fields":[],"archived_at":"2026-02-01T00:02:03+00:00",` +
		`"created_at":"2026-01-31T12:00:00+00:00","updated_at":"2026-01-31T12:01:01+00:00","type":"company","prefix":"Dr.","suffix":"Jr.","salutation":"Dear Ada",` +
		`"external_ids":[{"source":"Bloomerang","value":"7"},{"source":"other","value":"8"}],"do_not_mail":true,"do_not_email":false,"do_not_call":false,"deceased":true,"bounced_email":null,` +
		`"is_email_subscribed":true,"is_phone_subscribed":true,"is_address_subscribed":false}`
	assert.Same(t, want, string(AppendContact(nil, c.ID, c.AppendBody(nil))))
}

func TestWireFormOfAnEmptyContact(t *testing.T) {
	c := Contact{ID: 7, FirstName: "A", LastName: "B", CreatedAt: noon, UpdatedAt: noon}
	const want = `{"id":7,"first_name":"A","middle_name":null,"last_name":"B","dob":null,"company":null,"title":null,"twitter_url":null,` +
		`"linkedin_url":null,"facebook_url":null,"emails":[],"phones":[],"primary_email":null,"primary_phone":null,"note":null,` +
		`"addresses":[],"primary_address":null,"stats":{"recurring_contributions":0,"total_contributions":0},"tags":[],` +
		`"custom_fields":[],"archived_at":null,"created_at":"2026-01-31T12:00:00+00:00","updated_at":"2026-01-31T12:00:00+00:00",` +
		`"type":"individual","prefix":null,"suffix":null,"salutation":null,"external_ids":[],"do_not_mail":false,"do_not_email":false,"do_not_call":false,"deceased":false,"bounced_email":null,` +
		`"is_email_subscribed":true,"is_phone_subscribed":true,"is_address_subscribed":true}`
	prefix := []byte("[")
	assert.Equal(t, string(AppendContact(prefix, c.ID, c.AppendBody(nil))), "["+want, "%v", want)
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
		assert.Equal(t, string(got.AppendBody(nil)), string(body), "wrote\n%s\nand after reading", body)
		if !got.sameAs(&c) {
			t.Fatal("what was read back counts as changed")
		}
	})
}

func TestDamagedDocumentsAreRefused(t *testing.T) {
	good := bodyOf(made(t, `{"first_name":"A","last_name":"B"}`))
	for _, body := range []string{
		"", "{", "}", good[1:], "{" + good[1:], good[:len(good)-1], good + "}", good + "x",
		strings.Replace(good, `"first_name":"A"`, `"first_name":7`, 1),
		strings.Replace(good, "2026-01-31T12:00:00+00:00", "2026-01-31T12:00:00Z", 1),
		strings.Replace(good, "2026-01-31T12:00:00+00:00", "2026-02-30T12:00:00+00:00", 1),
		strings.Replace(good, "2026-01-31T12:00:00+00:00", "yesterday", 1),
		strings.Replace(good, "2026-01-31T12:00:00+00:00", "", 1),
		strings.Replace(good, `"A"`, "\"\xff\"", 1),
	} {
		_, err := ParseContact(7, []byte(body), nil)
		if err == nil || !strings.Contains(err.Error(), "contact 7") {
			t.Errorf("%.60q: got %v, want an error that names the contact", body, err)
		}
		if errors.As(err, new(*doc.Invalid)) || errors.As(err, new(*doc.Malformed)) {
			t.Errorf("%.60q: %v would be told to a client as a fault of its own", body, err)
		}
	}
}

func TestReadingAContactLeavesItsBytesAlone(t *testing.T) {
	body := []byte(bodyOf(made(t, `{"first_name":"A","last_name":"B"}`)))
	kept := slices.Clone(body)
	if _, err := ParseContact(7, body, nil); err != nil || string(body) != string(kept) {
		t.Errorf("%v: %s", err, body)
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
		in, err := read(string(AppendContact(nil, c.ID, c.AppendBody(nil))), false)
		if !c.DOB.IsZero() {
			var fields []string
			for _, fault := range err.(*doc.Invalid).Faults {
				fields = append(fields, fault.Field)
			}
			assert.Same(t, []string{"dob"}, fields)
			in, err = read(strings.Replace(string(AppendContact(nil, c.ID, c.AppendBody(nil))),
				`"dob":"`+c.DOB.Format(text.MicroTimeForm)+`"`, `"dob":"`+c.DOB.Format("1/2/2006")+`"`, 1), false)
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Patch(in, noon.Add(time.Hour))
		assert.Succeed(t, err)
		assert.Equal(t, bodyOf(got), bodyOf(c))
		assert.Equal(t, slices.Equal(got.MatchKeys, c.MatchKeys), true)
	})
}

func TestArchiveAndRestore(t *testing.T) {
	c := made(t, `{"first_name":"A","last_name":"B"}`)
	if c.Archived() {
		t.Error("a new contact is archived")
	}
	later := noon.Add(time.Hour + time.Millisecond)
	archived := c.Archive(later)
	if !archived.Archived() || !archived.ArchivedAt.Equal(noon.Add(time.Hour)) || !archived.UpdatedAt.Equal(noon.Add(time.Hour)) || c.Archived() {
		t.Errorf("archived: %v, updated: %v", archived.ArchivedAt, archived.UpdatedAt)
	}
	restored := archived.Restore(later.Add(time.Hour))
	if restored.Archived() || !restored.UpdatedAt.Equal(noon.Add(2*time.Hour)) || !restored.CreatedAt.Equal(noon) {
		t.Errorf("restored: %v, updated: %v", restored.ArchivedAt, restored.UpdatedAt)
	}
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

// An envelope has every part of an address that there is, also of one whose state has no code. The country stands on it only if it is another one.
func TestAnAddressOnAnEnvelope(t *testing.T) {
	for want, a := range map[string]Address{
		"1 Main St|Apt 4|Springfield, IL 62701":           {Line1: "1 Main St", Line2: "Apt 4", City: "Springfield", State: "IL", Zipcode: "62701", Country: "USA"},
		"1 Main St|New South Wales|Sydney 2000|AUSTRALIA": {Line1: "1 Main St", Line2: "New South Wales", City: "Sydney", Zipcode: "2000", Country: "AUS"},
		"1 Quay|24103 Kiel|GERMANY":                       {Line1: "1 Quay", City: "Kiel", Zipcode: "24103", Country: "deu"},
		"1 Main St|Bavaria|Munich":                        {Line1: "1 Main St", Line2: "Bavaria", City: "Munich"},
		"Springfield, IL":                                 {City: "Springfield", State: "IL"},
		"IL 62701":                                        {State: "IL", Zipcode: "62701"},
		"":                                                {},
	} {
		assert.Equal(t, strings.Join(a.Lines("USA"), "|"), want)
	}
}
