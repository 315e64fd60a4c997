package main

import (
	"bytes"
	"testing"
	"unicode/utf8"
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
		if len(p.contact.Emails) != 2 || len(p.contact.Phones) != 1 || len(p.contact.Addresses) != 1 || len(p.contact.Tags) != 3 || len(p.matchKeys) != 3 {
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

func TestNobodySharesAnEmailOrAPhone(t *testing.T) {
	seen := make(map[string]string)
	for _, mark := range []string{"", newcomer, "raw"} {
		for n := range 300 {
			p, err := generator{1}.person(n, mark, filledAt)
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range p.matchKeys {
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
