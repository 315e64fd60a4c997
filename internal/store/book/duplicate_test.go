package book

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/store/duplicates"
)

// foundPairs are the pairs of an account after a look, as "a-b" of their places in a list of ids.
func foundPairs(t testing.TB, s *Book, account access.Account, ids []int64) (pairs []string) {
	t.Helper()
	if err := s.FindDuplicates(t.Context(), account.Number, nil); err != nil {
		t.Fatal(err)
	}
	return shownPairs(t, s, account, ids)
}

// shownPairs are those without a look.
func shownPairs(t testing.TB, s *Book, account access.Account, ids []int64) (pairs []string) {
	t.Helper()
	all, _, err := s.Pairs(t.Context(), account.Number, duplicates.Filter{}, crm.PageRequest{Page: 1, PerPage: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		pairs = append(pairs, fmt.Sprintf("%d-%d", slices.Index(ids, p.A), slices.Index(ids, p.B)))
	}
	slices.Sort(pairs)
	return pairs
}

func wantPairs(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: found %q, want %q", what, got, want)
	}
}

// doubles are contacts, every second of which is the same person as the one before it.
var doubles = []string{
	`{"first_name":"Thomas","last_name":"Abernathy","phones":["+12125550101"]}`,
	`{"first_name":"Tom","last_name":"Abernathy","phones":["+12125550101"],"emails":["tom@example.org"]}`,
	`{"first_name":"Maria","last_name":"Quintero","addresses":[{"address_1":"12 Oak Street","city":"Salem","zipcode":"97301"}]}`,
	`{"first_name":"Maria","last_name":"Quintero","addresses":[{"address_1":"12 Oak St.","city":"Salem","zipcode":"97301"}]}`,
	`{"first_name":"Jonathan","last_name":"Featherstone","dob":"3/14/1961"}`,
	`{"first_name":"Jonathan","last_name":"Fetherstone","dob":"3/14/1961"}`,
}

// strangers are contacts that are no one else.
func strangers(t testing.TB, s *Book, account access.Account) (ids []int64) {
	firsts := strings.Fields(`Anna Boris Chloe Dmitri Esther Fritz Gwen Hugo Ines Jorge Klara Ludwig Mona Nils Olga Piet Quinn Rosa Stan Tessa`)
	lasts := strings.Fields(`Underwood Vasquez Whitfield Xanthos Yamamoto Zeller Bakker Castellano Dubois Eriksen Fujimoto Gallagher Hoffmann Ivanova Jankowski Kowalczyk Lindqvist Moreau Nakagawa Okafor`)
	for i := range firsts {
		ids = append(ids, createAs(t, s, account.Number, fmt.Sprintf(`{"first_name":%q,"last_name":%q,"emails":["%s%d@%s.example"]}`, firsts[i], lasts[i], firsts[i], i*i*7919, lasts[i]), crm.Force).ID)
	}
	return ids
}

func TestFindDuplicates_one_by_one_finds_what_a_look_at_all_finds(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, all := newAccount(t, s), newAccount(t, s)
		ids, allIDs := strangers(t, s, account), strangers(t, s, all)
		wantPairs(t, "strangers", foundPairs(t, s, account, ids))
		for _, body := range doubles {
			ids = append(ids, createAs(t, s, account.Number, body, crm.Force).ID)
			allIDs = append(allIDs, createAs(t, s, all.Number, body, crm.Force).ID)
		}
		want := []string{"20-21", "22-23", "24-25"}
		wantPairs(t, "a look at all", foundPairs(t, s, all, allIDs), want...)
		wantPairs(t, "a look at what has changed", foundPairs(t, s, account, ids), want...)
	})
}
