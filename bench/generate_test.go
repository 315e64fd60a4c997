package main

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unicode/utf8"

	"donorbook/internal/crm"
)

func TestTheSameSeedMakesTheSamePeople(t *testing.T) {
	a, b, other := generator{1}, generator{1}, generator{2}
	for n := range 50 {
		one := a.request(nil, n, "")
		if !bytes.Equal(one, b.request(nil, n, "")) {
			t.Fatalf("person %d differs from run to run", n)
		}
		if bytes.Equal(one, other.request(nil, n, "")) {
			t.Fatalf("person %d does not depend on the seed", n)
		}
	}
}

func TestAContactIsAsLargeAsThoseOfTheGoals(t *testing.T) {
	const people = 400
	total, beyondASCII, hidden := 0, 0, 0
	tags := make(map[string]bool)
	for n := range people {
		p, err := generator{1}.person(n, "", filledAt)
		if err != nil {
			t.Fatal(err)
		}
		total += len(p.body)
		if utf8.RuneCount(p.body) < len(p.body) {
			beyondASCII++
		}
		if p.contact.Archived() {
			hidden++
		}
		if len(p.contact.Emails) != 2 || len(p.contact.Phones) != 1 || len(p.contact.Addresses) != 1 || len(p.contact.Tags) != 3 || len(p.contact.MatchKeys) != 3 {
			t.Fatalf("person %d: %s", n, p.body)
		}
		for _, name := range p.contact.Tags {
			tags[name] = true
		}
	}
	if size := total / people; size < 1200 || size > 1450 {
		t.Errorf("a contact has %d bytes, not about 1.3 KB", size)
	}
	if hidden != people/16 {
		t.Errorf("%d of %d are archived", hidden, people)
	}
	if beyondASCII < people/4 || beyondASCII > people*99/100 {
		t.Errorf("%d of %d have letters beyond ASCII", beyondASCII, people)
	}
	if len(tags) < 24 || len(tags) > 60 {
		t.Errorf("there are %d tags", len(tags))
	}
}

func TestNoTwoPeopleShareAnEmailOrAPhone(t *testing.T) {
	seen := make(map[string]string)
	for _, mark := range []string{"", newcomer, "raw"} {
		for n := range 3000 {
			p, err := generator{1}.person(n, mark, filledAt)
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range p.contact.MatchKeys {
				if seen[key] != "" {
					t.Fatalf("%s belongs to %s and to %q %d", key, seen[key], mark, n)
				}
				seen[key] = mark
				if mark == "" {
					seen[key] = "the dataset"
				}
			}
		}
	}
}

func TestNeighborsHaveEmailsFarApart(t *testing.T) {
	near := 0
	for n := range 1000 {
		if a, b := scattered(n), scattered(n+1); a/100_000 == b/100_000 {
			near++
		}
	}
	if near > 50 {
		t.Errorf("%d of 1,000 people are followed by someone with nearly the same email", near)
	}
}

func TestRequestsAreAboutActiveContactsOfTheirAccount(t *testing.T) {
	d := &dataset{Accounts: []account{{Number: 1_000_001, First: 0, Contacts: 800}, {Number: 1_000_002, First: 800, Contacts: 150}, {Number: 1_000_003, First: 950, Contacts: 50}}}
	dice, asked := d.dice(), make(map[int64]int)
	for range 2000 {
		for _, choose := range []func(*rand.Rand) (account, int64){d.anyone, d.regular} {
			a, id := choose(dice)
			place := int(crm.IDSeq(id)) - 1
			if crm.IDAccount(id) != a.Number || place < 0 || place >= a.Contacts || archived(a.First+place) {
				t.Fatalf("contact %d of account %d", id, a.Number)
			}
		}
		asked[d.byWeight(dice).Number]++
	}
	if asked[1_000_001] < 1500 || asked[1_000_002] < 200 || asked[1_000_003] < 50 {
		t.Errorf("accounts are chosen %v", asked)
	}
}
