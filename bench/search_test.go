package main

import (
	"testing"

	"donorbook/internal/crm"
)

func TestARareNameBelongsToOnePersonAndBeginsNoOther(t *testing.T) {
	seen := make(map[string]int)
	for n := 3; n < 1_000_000; n += 10 {
		name := rareName(n)
		if other, found := seen[name]; found || len(name) != 10 {
			t.Fatalf("%q is the name of %d and of %d", name, other, n)
		}
		seen[name] = n
	}
}

func TestEveryKindOfSearchFindsThePersonItIsAbout(t *testing.T) {
	g := generator{1}
	v := visitor{account: account{Number: 1_000_001, First: 500, Contacts: 1000}}
	dice := (&dataset{Accounts: []account{v.account}}).dice()
	for _, kind := range kinds {
		for range 20 {
			q := kind.make(v, g, dice)
			s := crm.ParseSearch(q.text, region)
			if q.wanted == 0 {
				if len(s.Terms) == 0 {
					t.Errorf("%s: nothing is searched for %q", kind.name, q.text)
				}
				continue
			}
			p, err := g.person(v.account.First+int(crm.IDSeq(q.wanted))-1, "", filledAt)
			if err != nil {
				t.Fatal(err)
			}
			if !s.Finds(p.contact.SearchWords()) || p.contact.Archived() {
				t.Errorf("%s: %q does not find %s", kind.name, q.text, p.body)
			}
		}
	}
}
