package book

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
)

// search walks through all pages of a search, the newest first, and returns the sequence numbers that it found.
func search(t testing.TB, s *Book, account int64, scope crm.ContactScope, what find.Search, limit int64) (seqs []int64) {
	t.Helper()
	for page := int64(1); ; page++ {
		found, result, err := searchPage(t, s, account, scope, what, page, limit)
		if err != nil || int64(len(found)) > limit {
			t.Fatalf("%q, page %d: %d contacts, %v", what.Text, page, len(found), err)
		}
		for _, contact := range found {
			seqs = append(seqs, doc.IDSeq(contact.ID))
		}
		if page*limit < result.Total {
			continue
		}
		if result.Total != int64(len(seqs)) {
			t.Errorf("%q: %d were found and %d counted", what.Text, len(seqs), result.Total)
		}
		return seqs
	}
}

func searchPage(t testing.TB, s *Book, account int64, scope crm.ContactScope, what find.Search, page, limit int64) ([]crm.Contact, store.ListResult, error) {
	f := find.Filter{Search: what, Sort: find.Sort{Descending: true}}
	return s.MatchingContacts(t.Context(), account, scope, f, crm.PageRequest{Page: page, PerPage: limit})
}

func typed(text string) find.Search { return find.ParseSearch(text, "US") }

func TestSearchFindsPeople(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, other := newAccount(t, s).Number, newAccount(t, s).Number
		for _, body := range []string{
			`{"first_name":"Maria","middle_name":"Elena","last_name":"Smith","company":"Acme","emails":[{"value":"Boss@acme.example"}],"tags":["VIP"]}`,
			`{"first_name":"Mariana","last_name":"Smithson","phones":[{"value":"212-555-0100"}],"tags":["vip"]}`,
			`{"first_name":"Smith","last_name":"Maria","emails":[{"value":"maria@x.org"},{"value":"maria.s@x.org"}]}`,
			`{"first_name":"José","last_name":"Łukasz","emails":[{"value":"mar@x.org"}],"tags":["VIP"]}`,
			`{"first_name":"Maria","addresses":[{"city":"Brooklyn","zipcode":"11201"}]}`,
		} {
			createAs(t, s, account, body, crm.Force)
		}
		create(t, s, other, `{"first_name":"Maria","last_name":"Smith","emails":[{"value":"boss@acme.example"}],"phones":[{"value":"212-555-0100"}],"tags":["VIP"]}`)
		for text, want := range map[string][]int64{ // newest first
			"maria":             {5, 3, 2, 1},
			"mar":               {5, 4, 3, 2, 1}, // one by the beginning of an email
			"maria smith":       {3, 2, 1},
			"smith maria":       {3, 2, 1},
			"smith acme":        {1},
			"acme smith":        {1},
			"acme":              {1},
			"acme maria":        {1},
			"elena smi":         {1},
			"jose luk":          {4},
			"lukasz jose":       {4},
			"BOSS@":             {1},
			"@x.org":            {4, 3},
			"x.org maria":       {3},
			"212 555":           {2},
			"+12125550100":      {2},
			"0100":              {2},
			"#VIP":              {4, 2, 1},
			"vip smith":         {2, 1},
			"tag:vip":           {2},
			"tag:VIP":           {4, 1},
			"brooklyn":          {5},
			"11201 maria":       {5},
			"o'neil":            nil,
			"nobody":            nil,
			"maria nobody":      nil,
			"???":               nil,
			"smith maria nobod": nil,
			`") OR ("a`:         nil,
			`' | 'a`:            {1},
			`\ maria`:           {5, 3, 2, 1},
		} {
			for limit := int64(1); limit <= 6; limit++ {
				if got := search(t, s, account, crm.Active, typed(text), limit); !slices.Equal(got, want) {
					t.Errorf("%q, %d per page: got %v, want %v", text, limit, got, want)
				}
			}
		}
		page, _, err := searchPage(t, s, account, crm.Active, typed("tag:VIP"), 1, 2)
		if err != nil || len(page) != 2 || page[1].LastName != "Smith" || page[1].Emails[0].Value != "Boss@acme.example" {
			t.Errorf("%v: a page that holds everything is %+v", err, page)
		}
	})
}

func TestSearchKeepsToTheScope(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		for range 6 {
			create(t, s, account, `{"first_name":"Ana","last_name":"Diaz","tags":["a"]}`)
		}
		for _, seq := range []int64{1, 4, 5} {
			archive(t, s, account, doc.MakeID(account, seq))
		}
		for scope, want := range map[crm.ContactScope][]int64{crm.Active: {6, 3, 2}, crm.Archived: {5, 4, 1}, crm.All: {6, 5, 4, 3, 2, 1}} {
			for _, what := range []find.Search{typed("ana"), typed("diaz a"), find.TagSearch("a")} {
				if got := search(t, s, account, scope, what, 2); !slices.Equal(got, want) {
					t.Errorf("%s, %q: got %v, want %v", scope, what.Text, got, want)
				}
			}
		}
	})
}

// For any search, the pages together are exactly the contacts that match by their documents, each once, in the same order for
// every page size.
func TestTheSearchIsWhatTheDocumentsSay(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		some := func(values ...string) string { return values[rand.IntN(len(values))] }
		atOnce(10, func(int) {
			for range 15 {
				create(t, s, account, fmt.Sprintf(`{"first_name":%q,"middle_name":%q,"last_name":%q,"company":%q,"emails":[{"value":"%s%d@x.org"}],"tags":[%q]}`,
					some("Ana", "Ana Bo", "Bo", "Ánna"), some("", "Bo", "Ana"), some("Bo", "Ann-Bo", "Cy", "Ana"), some("", "Ana & Bo", "Bob"),
					some("ana", "bo", "12", "12monkeys"), rand.IntN(80), some("a", "b")))
			}
		})
		var all []crm.Contact
		for page := int64(1); len(all) == 0 || page <= 2; page++ {
			contacts, _ := must2(s.ContactPage(t.Context(), account, crm.All, crm.PageRequest{Page: page, PerPage: 100}))(t)
			all = append(all, contacts...)
		}
		for _, text := range []string{"a", "an", "ana", "bo", "ana bo", "bo ana", "ana bob", "cy b", "bo cy an", "ana bo cy", "ana1", "#a", "xyz", "x.org", "an 1", "@", "@x", "@x.o", "an@", "ana1@x.o", "ana12@x.org", "1", "12", "12m", "12 mo", "an.bo", "bo.ana", "ana.bob", "12monkeys", "1234"} {
			var want []int64
			for _, c := range all {
				if typed(text).Finds(find.SearchWords(&c)) {
					want = append(want, doc.IDSeq(c.ID))
				}
			}
			slices.Sort(want)
			once := search(t, s, account, crm.All, typed(text), 1000)
			for _, limit := range []int64{1, 7, 100} {
				if int64(len(once))/limit > 50 {
					continue // where fewer are found, every place of the list is the end of a page
				}
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

// fillNamed makes many contacts quickly.
func fillNamed(t testing.TB, s *Book, account int64, n int, body func(i int) string) {
	t.Helper()
	const part = 500
	for first := 0; first < n; first += part {
		succeed(t, s.Update(t.Context(), account, store.Needs{}, func(x *store.Tx) error {
			for i := first; i < min(first+part, n); i++ {
				contact, err := crm.NewContact(input(t, body(i)), s.Now())
				if err == nil {
					_, err = contacts.InsertContact(x, account, contact)
				}
				if err != nil {
					return err
				}
			}
			return nil
		}))
	}
}

// A new contact is found as soon as its create was answered, on every node, and no longer by what a change removed.
func TestConcurrentSearchFindsWhatWasJustWritten(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		account := newAccount(t, a).Number
		id := create(t, a, account, `{"first_name":"Ana","last_name":"Diaz","tags":["board"]}`).ID
		finds := func(text string, scope crm.ContactScope, want int) {
			t.Helper()
			for _, s := range []*Book{a, b} {
				if got := search(t, s, account, scope, typed(text), 10); len(got) != want {
					t.Errorf("%q finds %v, want %d", text, got, want)
				}
			}
		}
		finds("diaz ana", crm.Active, 1)
		must(b.UpdateContact(t.Context(), account, id, input(t, `{"last_name":"Reyes","emails":[{"value":"ana@x.org"}]}`)))(t)
		finds("diaz", crm.Active, 0)
		finds("reyes ana@x", crm.Active, 1)
		must(a.SyncTags(t.Context(), account, id, []string{"staff"}))(t)
		finds("#board", crm.Active, 0)
		finds("#staff", crm.Active, 1)
		archive(t, b, account, id)
		finds("reyes", crm.Active, 0)
		finds("reyes", crm.Archived, 1)
		finds("reyes", crm.All, 1)
		restore(t, a, account, id)
		finds("reyes", crm.Active, 1)
		finds("reyes", crm.Archived, 0)
	})
}

// What is suggested while a person types is found by the search, is active and of the account; those whose name was typed come first, and what is typed may be two letters of a last name.
func TestSuggestionsAreFoundByTheSearch(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, other := newAccount(t, s).Number, newAccount(t, s).Number
		for i := range 80 { // more than are looked at
			createAs(t, s, account, fmt.Sprintf(`{"first_name":"Person","last_name":"Number %d","addresses":[{"city":"Carterville"}]}`, i), crm.Force)
		}
		for _, body := range []string{`{"first_name":"Peter","last_name":"Carter"}`, `{"first_name":"Carta","last_name":"Novak","emails":[{"value":"cn@x.org"}]}`, `{"first_name":"Gone","last_name":"Carter"}`} {
			createAs(t, s, account, body, crm.Force)
		}
		succeed(t, s.ArchiveContact(t.Context(), account, doc.MakeID(account, 83)))
		createAs(t, s, other, `{"first_name":"Pat","last_name":"Carter"}`, crm.Force)
		for text, want := range map[string]string{"ca": "Peter Carter", "carter pe": "Peter Carter", "pe ca": "Peter Carter", "CN@x": "Carta Novak", "nobody": "", "gone": ""} {
			found, err := s.SuggestContacts(t.Context(), account, typed(text), 3)
			got := ""
			if len(found) > 0 {
				got = found[0].PersonName().String()
			}
			if err != nil || got != want || len(found) > 3 {
				t.Errorf("%q: %q first of %d, %v, want %q", text, got, len(found), err, want)
			}
			for i := range found {
				if found[i].Archived() || !typed(text).Finds(find.SearchWords(&found[i])) {
					t.Errorf("%q suggests %s, which the search does not find", text, found[i].PersonName())
				}
			}
		}
		if found, err := s.SuggestContacts(t.Context(), account, typed("cart"), 8); err != nil || len(found) != 8 || found[0].LastName != "Carter" {
			t.Errorf("of many who live there, %v come first, %v", found, err)
		}
	})
}
