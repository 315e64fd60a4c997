package store

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm"
)

// search walks through all pages of a search, and returns the sequence numbers that it found.
func search(t testing.TB, s *Store, account int64, scope crm.ContactScope, what crm.Search, limit int) (seqs []int64) {
	t.Helper()
	after := ""
	for {
		page, err := s.SearchContacts(t.Context(), account, scope, what, after, limit)
		if err != nil || len(page.Contacts) > limit {
			t.Fatalf("%q after %q: %d contacts, %v", what.Text, after, len(page.Contacts), err)
		}
		for _, contact := range page.Contacts {
			seqs = append(seqs, crm.IDSeq(contact.ID))
		}
		if page.Next == "" {
			return seqs
		}
		if page.Next == after {
			t.Fatalf("%q does not get on from %q", what.Text, after)
		}
		after = page.Next
	}
}

func typed(text string) crm.Search { return crm.ParseSearch(text, "US") }

func TestSearchFindsPeople(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		account, other := newAccount(t, s).Number, newAccount(t, s).Number
		for _, body := range []string{
			`{"first_name":"Maria","middle_name":"Elena","last_name":"Smith","company":"Acme","emails":[{"value":"Boss@acme.example"}],"tags":["VIP"]}`,
			`{"first_name":"Mariana","last_name":"Smithson","phones":[{"value":"212-555-0100"}],"tags":["vip"]}`,
			`{"first_name":"Smith","last_name":"Maria","emails":[{"value":"maria@x.org"},{"value":"maria.s@x.org"}]}`,
			`{"first_name":"José","last_name":"Łukasz","emails":[{"value":"mar@x.org"}],"tags":["VIP"]}`,
			`{"first_name":"Maria"}`,
		} {
			createAs(t, s, account, body, crm.Force)
		}
		create(t, s, other, `{"first_name":"Maria","last_name":"Smith","emails":[{"value":"boss@acme.example"}],"phones":[{"value":"212-555-0100"}],"tags":["VIP"]}`)
		for text, want := range map[string][]int64{
			"maria":             {5, 3, 1, 2},    // in the order of the alphabet, who has no other word first
			"mar":               {5, 3, 1, 2, 4}, // and last those whose email begins so
			"maria smith":       {3, 1, 2},
			"smith maria":       {3, 1, 2},
			"smith acme":        {1},
			"acme smith":        {1},
			"acme":              {1},
			"acme maria":        {1},
			"elena smi":         {1},
			"jose luk":          {4},
			"lukasz jose":       {4},
			"BOSS@":             {1},
			"212 555":           {2},
			"+12125550100":      {2},
			"#VIP":              {1, 4},
			"tag:vip":           {2},
			"nobody":            nil,
			"maria nobody":      nil,
			"???":               nil,
			"":                  nil,
			"smith maria nobod": nil,
		} {
			for limit := 1; limit <= 6; limit++ {
				if got := search(t, s, account, crm.Active, typed(text), limit); !slices.Equal(got, want) {
					t.Errorf("%q, %d a page: got %v, want %v", text, limit, got, want)
				}
			}
		}
		page, err := s.SearchContacts(t.Context(), account, crm.Active, typed("#VIP"), "", 2)
		if err != nil || page.Next != "" || len(page.Contacts) != 2 || page.Contacts[0].LastName != "Smith" || page.Contacts[0].Emails[0].Value != "Boss@acme.example" {
			t.Errorf("%v: a page that holds everything is %+v", err, page)
		}
	})
}

func TestSearchKeepsToTheScope(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		account := newAccount(t, s).Number
		for range 6 {
			create(t, s, account, `{"first_name":"Ana","last_name":"Diaz","tags":["a"]}`)
		}
		for _, seq := range []int64{1, 4, 5} {
			archive(t, s, account, crm.MakeID(account, seq))
		}
		for scope, want := range map[crm.ContactScope][]int64{crm.Active: {2, 3, 6}, crm.Archived: {1, 4, 5}, crm.All: {1, 2, 3, 4, 5, 6}} {
			for _, what := range []crm.Search{typed("ana"), typed("diaz a"), crm.TagSearch("a")} {
				if got := search(t, s, account, scope, what, 2); !slices.Equal(got, want) {
					t.Errorf("%s, %q: got %v, want %v", scope, what.Text, got, want)
				}
			}
		}
	})
}

// Whatever is searched for, the pages together are everybody whom the documents say it finds, each once, in the same order
// whatever the size of a page.
func TestTheSearchIsWhatTheDocumentsSay(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		account := newAccount(t, s).Number
		some := func(values ...string) string { return values[rand.IntN(len(values))] }
		atOnce(10, func(int) {
			for range 15 {
				create(t, s, account, fmt.Sprintf(`{"first_name":%q,"middle_name":%q,"last_name":%q,"company":%q,"emails":[{"value":"%s%d@x.org"}],"tags":[%q]}`,
					some("Ana", "Ana Bo", "Bo", "Ánna"), some("", "Bo", "Ana"), some("Bo", "Ann-Bo", "Cy", "Ana"), some("", "Ana & Bo", "Bob"),
					some("ana", "bo"), rand.IntN(80), some("a", "b")))
			}
		})
		var all []crm.Contact
		for page := int64(1); len(all) == 0 || page <= 2; page++ {
			contacts, _, err := s.ContactPage(t.Context(), account, crm.All, crm.PageRequest{Page: page, PerPage: 100})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, contacts...)
		}
		for _, text := range []string{"a", "an", "ana", "bo", "ana bo", "bo ana", "ana bob", "cy b", "bo cy an", "ana bo cy", "ana1", "#a", "xyz"} {
			var want []int64
			for _, c := range all {
				if place, _ := typed(text).First(c); place >= 0 {
					want = append(want, crm.IDSeq(c.ID))
				}
			}
			slices.Sort(want)
			once := search(t, s, account, crm.All, typed(text), 1000)
			for _, limit := range []int{1, 7, 100} {
				if got := search(t, s, account, crm.All, typed(text), limit); !slices.Equal(got, once) {
					t.Errorf("%q: %d a page: %v\nand in one page: %v", text, limit, got, once)
				}
			}
			slices.Sort(once)
			if !slices.Equal(once, want) {
				t.Errorf("%q: got %v, want %v", text, once, want)
			}
		}
	})
}

// One page costs a bounded amount of work. Where that has not filled it, it says where to go on, and nobody is missed.
func TestASearchAmongManyEndsAPageEarly(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		account := newAccount(t, s).Number
		var words string
		for i := range 30 {
			words += fmt.Sprintf(" mar%d", i)
		}
		const n = 690 // with more keys than are read for one page
		fillNamed(t, s, account, n, func(i int) string {
			if i%(n/3) == n/3-1 {
				return fmt.Sprintf(`{"first_name":"Ann","last_name":"Zo","company":"Marz%d"}`, i)
			}
			return fmt.Sprintf(`{"first_name":"L%d","last_name":"Ek","company":%q}`, i, words)
		})
		spy := spyOn(t, s)
		page, err := s.SearchContacts(t.Context(), account, crm.Active, typed("zo mar"), "", 25)
		if rows := spy.rows.Load(); err != nil || len(page.Contacts) != 0 || page.Next == "" || rows < searchWork*9/10 || rows > searchWork+2*searchRows {
			t.Errorf("%v: %d contacts after %d rows, next is %q", err, len(page.Contacts), rows, page.Next)
		}
		if got := search(t, s, account, crm.Active, typed("zo mar"), 25); !slices.Equal(got, []int64{n / 3, n * 2 / 3, n}) {
			t.Errorf("found %v", got)
		}
		spy.rows.Store(0)
		page, err = s.SearchContacts(t.Context(), account, crm.Archived, typed("mar"), "", 25) // every document must be looked at
		if rows := spy.rows.Load(); err != nil || len(page.Contacts) != 0 || page.Next == "" || rows > searchWork/4 {
			t.Errorf("%v: %d contacts after %d rows, next is %q", err, len(page.Contacts), rows, page.Next)
		}
		archive(t, s, account, crm.MakeID(account, n))
		if got := search(t, s, account, crm.Archived, typed("mar"), 25); !slices.Equal(got, []int64{n}) {
			t.Errorf("found the archived %v", got)
		}
	})
}

// fillNamed makes many contacts quickly.
func fillNamed(t testing.TB, s *Store, account int64, n int, body func(i int) string) {
	t.Helper()
	const part = 500
	for first := 0; first < n; first += part {
		err := s.update(t.Context(), account, func(x *tx) error {
			for i := first; i < min(first+part, n); i++ {
				contact, err := crm.NewContact(input(t, body(i)), s.now())
				if err == nil {
					_, err = x.insertContact(account, contact, contact.AppendBody(nil), contact.IndexKeys())
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestASearchRefusesAPlaceThatItHasNotGiven(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		account, other := newAccount(t, s).Number, newAccount(t, s).Number
		for range 3 {
			create(t, s, account, `{"first_name":"Ana","last_name":"Diaz"}`)
			create(t, s, other, `{"first_name":"Ana","last_name":"Diaz"}`)
		}
		first, err := s.SearchContacts(t.Context(), account, crm.Active, typed("ana"), "", 1)
		if err != nil || first.Next == "" {
			t.Fatalf("%v: %+v", err, first)
		}
		if strings.Trim(first.Next, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			t.Errorf("%q does not fit into an address", first.Next)
		}
		encode := base64.RawURLEncoding.EncodeToString
		id := crm.MakeID(account, 1)
		for what, after := range map[string]string{
			"no code at all":           "%%%",
			"another code":             encode([]byte("hello")),
			"half of one":              first.Next[:len(first.Next)/2],
			"one of another search":    mustNext(t, s, account, "diaz"),
			"a key outside the search": encode(fmt.Appendf(nil, "0 %d e:ana", id)),
			"a range that is not":      encode(fmt.Appendf(nil, "9 %d n:ana", id)),
			"a range before the first": encode(fmt.Appendf(nil, "-1 %d n:ana", id)),
			"a foreign contact":        encode(fmt.Appendf(nil, "0 %d n:ana", crm.MakeID(other, 1))),
			"no text":                  encode(fmt.Appendf(nil, "0 %d n:ana\xff", id)),
			"a NUL":                    encode(fmt.Appendf(nil, "0 %d n:ana\x00", id)),
			"a number too large":       encode([]byte("0 99999999999999999999 n:ana")),
		} {
			_, err := s.SearchContacts(t.Context(), account, crm.Active, typed("ana"), after, 1)
			var invalid *crm.Invalid
			if !errors.As(err, &invalid) || invalid.Faults[0].Field != "after" {
				t.Errorf("%s: got the error %v, want a fault of after", what, err)
			}
		}
		_, err = s.SearchContacts(t.Context(), account, crm.Active, typed(""), first.Next, 1)
		if invalid := new(crm.Invalid); !errors.As(err, &invalid) {
			t.Errorf("a place in no search: %v", err)
		}
	})
}

func mustNext(t *testing.T, s *Store, account int64, text string) string {
	t.Helper()
	page, err := s.SearchContacts(t.Context(), account, crm.Active, typed(text), "", 1)
	if err != nil || page.Next == "" {
		t.Fatalf("%v: %+v", err, page)
	}
	return page.Next
}

// Who has a common first name and a rare last name is found by the rare one; the common one is walked through only where the
// other may be that of a company.
func TestASearchForTwoWordsReadsTheRareOne(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	account := newAccount(t, s).Number
	for i := range 300 {
		create(t, s, account, fmt.Sprintf(`{"first_name":"Ana","last_name":"Common%d"}`, i))
	}
	create(t, s, account, `{"first_name":"Ana","last_name":"Rarename"}`)
	create(t, s, account, `{"first_name":"Ana","last_name":"Silva","company":"Heron Books"}`)
	spy := spyOn(t, s)
	for text, want := range map[string]struct{ seq, rows int64 }{
		"ana rarename": {301, 10}, "rarename an": {301, 10}, "books ana": {302, 400}, "books heron": {302, 10},
	} {
		before := spy.rows.Load()
		if got := search(t, s, account, crm.Active, typed(text), 25); !slices.Equal(got, []int64{want.seq}) {
			t.Errorf("%q: got %v, want %d", text, got, want.seq)
		}
		if rows := spy.rows.Load() - before; rows > want.rows {
			t.Errorf("%q read %d rows, want at most %d", text, rows, want.rows)
		}
	}
}
