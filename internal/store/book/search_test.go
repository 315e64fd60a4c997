package book

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// search walks through all pages of a search, the newest first, and returns the sequence numbers that it found.
func search(t testing.TB, s *Book, account int64, scope crm.ContactScope, what find.Search,
	limit int64) (seqs []int64) {
	t.Helper()
	for page := int64(1); ; page++ {
		found, result := must2(s.MatchingContacts(t.Context(), account, scope, newest(what),
			crm.PageRequest{Page: page, PerPage: limit}))(t)
		if int64(len(found)) > limit {
			t.Fatalf("%q, page %d: %d contacts", what.Text, page, len(found))
		}
		for _, contact := range found {
			seqs = append(seqs, doc.IDSeq(contact.ID))
		}
		if page*limit < result.Total {
			continue
		}
		equal(t, result.Total, int64(len(seqs)), "%q: %d were found and counted", what.Text, len(seqs))
		return seqs
	}
}

func newest(what find.Search) find.Filter {
	return find.Filter{Search: what, Sort: find.Sort{Descending: true}}
}

func (s *folk) searchPage(scope crm.ContactScope, what find.Search, page, limit int64) ([]crm.Contact, store.ListResult,
	error) {
	return s.MatchingContacts(s.Context(), s.Number, scope, newest(what), crm.PageRequest{Page: page, PerPage: limit})
}

func typed(text string) find.Search { return find.ParseSearch(text, "US") }

func TestSearchFindsPeople(t *testing.T) {
	s := newFolk(t)
	other := s.another()
	for _, body := range []string{
		`{"first_name":"Maria","middle_name":"Elena","last_name":"Smith","company":"Acme","emails":[{"value":"Boss@acme.example"}],"tags":["VIP"]}`,
		`{"first_name":"Mariana","last_name":"Smithson","phones":[{"value":"212-555-0100"}],"tags":["vip"]}`,
		`{"first_name":"Smith","last_name":"Maria","emails":[{"value":"maria@x.org"},{"value":"maria.s@x.org"}]}`,
		`{"first_name":"José","last_name":"Łukasz","emails":[{"value":"mar@x.org"}],"tags":["VIP"]}`,
		`{"first_name":"Maria","addresses":[{"city":"Brooklyn","zipcode":"11201"}]}`,
	} {
		s.createAs(body, crm.Force)
	}
	other.create(`{"first_name":"Maria","last_name":"Smith","emails":[{"value":"boss@acme.example"}],"phones":[{"value":"212-555-0100"}],"tags":["VIP"]}`)
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
			equal(t, s.search(crm.Active, typed(text), limit), want, "%q, %d per page", text, limit)
		}
	}
	page, _ := must2(s.searchPage(crm.Active, typed("tag:VIP"), 1, 2))(t)
	if len(page) != 2 || page[1].LastName != "Smith" || page[1].Emails[0].Value != "Boss@acme.example" {
		t.Errorf("a page that holds everything is %+v", page)
	}
}

func TestSearchKeepsToTheScope(t *testing.T) {
	s := newFolk(t)
	account := s.Number
	for range 6 {
		s.create(`{"first_name":"Ana","last_name":"Diaz","tags":["a"]}`)
	}
	for _, seq := range []int64{1, 4, 5} {
		s.archive(doc.MakeID(account, seq))
	}
	for scope, want := range map[crm.ContactScope][]int64{crm.Active: {6, 3, 2}, crm.Archived: {5, 4, 1},
		crm.All: {6, 5, 4, 3, 2, 1}} {
		for _, what := range []find.Search{typed("ana"), typed("diaz a"), find.TagSearch("a")} {
			equal(t, s.search(scope, what, 2), want, "%s, %q", scope, what.Text)
		}
	}
}

// For any search, the pages together are exactly the contacts that match by their documents, each once, in the same
// order for every page size.
func TestTheSearchIsWhatTheDocumentsSay(t *testing.T) {
	s := newFolk(t)
	account := s.Number
	atOnce(10, func(i int) {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		some := func(values ...string) string { return values[random.IntN(len(values))] }
		for range 15 {
			s.create(fmt.Sprintf(`{"first_name":%q,"middle_name":%q,"last_name":%q,"company":%q,"emails":[{"value":"%s%d@x.org"}],"tags":[%q]}`,
				some("Ana", "Ana Bo", "Bo", "Ánna"), some("", "Bo", "Ana"), some("Bo", "Ann-Bo", "Cy", "Ana"),
				some("", "Ana & Bo", "Bob"),
				some("ana", "bo", "12", "12monkeys"), random.IntN(80), some("a", "b")))
		}
	})
	var all []crm.Contact
	for page := int64(1); len(all) == 0 || page <= 2; page++ {
		contacts, _ := must2(s.ContactPage(t.Context(), account, crm.All, crm.PageRequest{Page: page, PerPage: 100}))(t)
		all = append(all, contacts...)
	}
	for _, text := range []string{"a", "an", "ana", "bo", "ana bo", "bo ana", "ana bob", "cy b", "bo cy an",
		"ana bo cy", "ana1", "#a", "xyz", "x.org", "an 1", "@", "@x", "@x.o", "an@", "ana1@x.o", "ana12@x.org", "1",
		"12", "12m", "12 mo", "an.bo", "bo.ana", "ana.bob", "12monkeys", "1234"} {
		var want []int64
		for _, c := range all {
			if typed(text).Finds(find.SearchWords(&c)) {
				want = append(want, doc.IDSeq(c.ID))
			}
		}
		slices.Sort(want)
		once := s.search(crm.All, typed(text), 1000)
		for _, limit := range []int64{1, 7, 100} {
			if int64(len(once))/limit > 50 {
				continue // where fewer are found, every place of the list is the end of a page
			}
			equal(t, s.search(crm.All, typed(text), limit), once, "%q: %d a page: and in one page", text,
				limit)
		}
		slices.Sort(once)
		equal(t, once, want, "%q", text)
	}
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
					_, err = store.InsertContact(x, account, contact)
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
	a, b := twoFolk(t)
	id := a.create(`{"first_name":"Ana","last_name":"Diaz","tags":["board"]}`).ID
	finds := func(text string, scope crm.ContactScope, want int) {
		t.Helper()
		for _, s := range []*folk{a, b} {
			equal(t, len(s.search(scope, typed(text), 10)), want, "%q", text)
		}
	}
	finds("diaz ana", crm.Active, 1)
	b.update(id, `{"last_name":"Reyes","emails":[{"value":"ana@x.org"}]}`)
	finds("diaz", crm.Active, 0)
	finds("reyes ana@x", crm.Active, 1)
	a.syncTags(id, "staff")
	finds("#board", crm.Active, 0)
	finds("#staff", crm.Active, 1)
	b.archive(id)
	finds("reyes", crm.Active, 0)
	finds("reyes", crm.Archived, 1)
	finds("reyes", crm.All, 1)
	a.restore(id)
	finds("reyes", crm.Active, 1)
	finds("reyes", crm.Archived, 0)
}

// What is suggested while a person types is found by the search, is active and of the account; those whose name was
// typed come first, and what is typed may be two letters of a last name.
func TestSuggestionsAreFoundByTheSearch(t *testing.T) {
	ctx := t.Context()
	s := newFolk(t)
	account := s.Number
	other := s.another()
	for i := range 80 { // more than are looked at
		s.createAs(fmt.Sprintf(`{"first_name":"Person","last_name":"Number %d","addresses":[{"city":"Carterville"}]}`,
			i),
			crm.Force)
	}
	for _, body := range []string{`{"first_name":"Peter","last_name":"Carter"}`,
		`{"first_name":"Carta","last_name":"Novak","emails":[{"value":"cn@x.org"}]}`,
		`{"first_name":"Gone","last_name":"Carter"}`} {
		s.createAs(body, crm.Force)
	}
	s.archive(doc.MakeID(account, 83))
	other.createAs(`{"first_name":"Pat","last_name":"Carter"}`, crm.Force)
	for text, want := range map[string]string{"ca": "Peter Carter", "carter pe": "Peter Carter",
		"pe ca": "Peter Carter", "CN@x": "Carta Novak", "nobody": "", "gone": ""} {
		found, err := s.SuggestContacts(ctx, account, typed(text), 3)
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
	if found := must(s.SuggestContacts(ctx, account, typed("cart"), 8))(t); len(found) != 8 ||
		found[0].LastName != "Carter" {
		t.Errorf("of many who live there, %v come first", found)
	}
}

// A typing error finds nothing. What was probably meant comes back, in the spelling that the contacts have, and finds
// someone.
func TestNearSearchesAreWhatWasMeant(t *testing.T) {
	s := newFolk(t)
	other := newAccount(t, s.Book)
	for _, document := range []string{
		`{"first_name":"Mary","last_name":"Fitzgerald","addresses":[{"city":"Boston"}]}`,
		`{"first_name":"Patrick","last_name":"O'Brien-Fitzgerald"}`,
		`{"first_name":"Thomas","last_name":"Kowalczyk"}`,
		`{"first_name":"Jürgen","last_name":"Müller"}`,
		`{"first_name":"Мария","last_name":"Иванова"}`,
		`{"first_name":"Leo","last_name":"Tran"}`,
		`{"type":"company","company":"Harbor Light Foundation"}`,
		`{"first_name":"Zoe","last_name":"Smith","tags":["Volunteers"]}`,
		`{"first_name":"Ann","last_name":"Smith"}`,
		`{"first_name":"Uwe","last_name":"Smits"}`,
	} {
		s.createAs(document, crm.Force)
	}
	gone := s.createAs(`{"first_name":"Nora","last_name":"Vandenberg"}`, crm.Force)
	s.archive(gone.ID)
	createAs(t, s.Book, other.Number, `{"first_name":"Otto","last_name":"Quackenbush"}`, crm.Force)
	for typed, want := range map[string][]string{
		"Fitzgereld":          {"Fitzgerald"},       // another letter
		"fitgerald":           {"Fitzgerald"},       // a letter less
		"Ftizgerald":          {"Fitzgerald"},       // exchanged
		"Gitzgerald":          {"Fitzgerald"},       // the first letter
		"Mary Fitzgereld":     {"Mary Fitzgerald"},  // one of two words
		"Mray Fitzgereld":     {"Mary Fitzgerald"},  // both
		"Mary, Fitzgereld":    {"Mary, Fitzgerald"}, // what stands between words stays
		"Kowalzcik":           {"Kowalczyk"},        // two errors
		"Tomas Kowalzcik":     {"Thomas Kowalczyk"}, // three
		"Tom Kowalczyk":       {"Thomas Kowalczyk"}, // a short form
		"Muler":               {"Müller"},           // marks do not count
		"Иваноав":             {"Иванова"},          // other scripts
		"Harbour Light":       {"Harbor Light"},     // companies
		"Bostno":              {"Boston"},           // cities
		"Voluntears":          {"Volunteers"},       // tags
		"Smitt":               {"Smith", "Smits"},   // the more common one first
		"Obrein":              {"O'Brien"},          // apostrophes
		"Vandenburg":          nil,                  // archived
		"Quackenbusch":        nil,                  // of another account
		"Tron":                {"Tran"},             // short, but long enough
		"Lee":                 nil,                  // too short to tell
		"":                    nil,                  // nothing
		"#volunters":          nil,                  // a tag is chosen from a list
		"mary@exmaple.org":    nil,                  // an email is taken as it is
		"212 555 0100":        nil,                  // a number is, too
		"Fitzgereld @x.org":   nil,                  // and must be met
		"tag:Voluntears":      nil,                  // as is
		"xqzvw kkqqq":         nil,                  // no word at all
		"a b c d Fitzgereld":  nil,                  // too many words to guess
		"Fitzgerald Smithson": nil,                  // each is near something, but no one has both
	} {
		equal(t, must(s.NearSearches(t.Context(), s.Number, typed, "US"))(t), want, "%q", typed)
	}
}

func segment(t testing.TB, name, query string) find.Segment {
	t.Helper()
	return must(find.NewSegment(name, query, "US"))(t)
}

func TestSegmentsAreSavedRenamedAndDeleted(t *testing.T) {
	s := newFolk(t)
	other := s.another()
	ctx := store.By(t.Context(), history.ConsoleChannel, "ann@x.org")
	are := func(want ...string) {
		t.Helper()
		equal(t, store.Collect(must(s.Segments(ctx, s.Number))(t), func(s find.Segment) string {
			return s.Name + "?" + s.Query + " by " + s.Actor
		}), want)
	}
	save := func(name, query string) (find.Segment, error) {
		return s.CreateSegment(ctx, s.Number, segment(t, name, query))
	}
	vip := must(save("VIPs", "tag=vip"))(t).ID
	must(save("Boston", "city=boston&sort=-last_gift"))(t)
	_, err := save("vipS", "tag=x")
	wantFault(t, "the same name in other letters", err, "name", doc.Taken)
	rejects(t, "the name of another one")(s.RenameSegment(ctx, s.Number, vip, "BOSTON"))
	succeed(t, s.RenameSegment(ctx, s.Number, vip, "vips"))
	other.segment("VIPs", "tag=vip")
	are("vips?tag=vip by ann@x.org", "Boston?city=boston&sort=-last_gift by ann@x.org")
	refuses(t, "a rename by another account", crm.ErrNotFound)(s.RenameSegment(ctx, other.Number, vip, "Mine"))
	refuses(t, "a deletion by another account", crm.ErrNotFound)(s.DeleteSegment(ctx, other.Number, vip))
	equal(t, must(s.DeleteSegment(ctx, s.Number, vip))(t).Name, "vips")
	are("Boston?city=boston&sort=-last_gift by ann@x.org")
	equal(t, s.changesOf(history.SegmentNoun), []string{
		`created ann@x.org {"name":[null,"VIPs"],"query":[null,"tag=vip"]}`,
		`created ann@x.org {"name":[null,"Boston"],"query":[null,"city=boston&sort=-last_gift"]}`,
		`updated ann@x.org {"name":["VIPs","vips"]}`,
		`deleted ann@x.org {"name":["vips",null],"query":["tag=vip",null]}`,
	}, "the history tells")
}

// changesOf are the changes of a noun, as the history of an account tells them.
func (s *folk) changesOf(noun history.Noun) []string {
	s.Helper()
	found := must(store.List(s.Context(), s.Store, func(r db.Row) string {
		return fmt.Sprintf("%s %s %s",
			history.Kind(r.Int(0)), r.Text(1), r.Text(2))
	},
		`SELECT kind, actor, data FROM change WHERE account_id = $1 AND noun = $2 ORDER BY revision`, s.Number,
		int64(noun)))(s)
	return found
}

func TestThereAreAtMost200Segments(t *testing.T) {
	s := newFolk(t)
	for i := range find.SegmentLimit.Max {
		s.segment(fmt.Sprint(i), "tag=vip")
	}
	says(t, "one more", "200 segments")(s.CreateSegment(t.Context(), s.Number, segment(t, "More", "tag=vip")))
}

// Who lacks an email or a phone is known after everything that a contact goes through.
func TestThoseWhoLackAnEmailOrAPhoneAreFound(t *testing.T) {
	s := newFolk(t)
	s.Costs.Few = 0 // the sets decide, and no document
	both := s.create(`{"first_name":"Both","emails":[{"value":"both@x.org"}],"phones":[{"value":"212-555-0100"}]}`).ID
	none := s.create(`{"first_name":"None"}`).ID
	mail := s.create(`{"first_name":"Mail","emails":[{"value":"mail@x.org"}]}`).ID
	s.wantFiltered(crm.All, "lacks=email", none)
	s.wantFiltered(crm.All, "has=email", both, mail)
	s.wantFiltered(crm.All, "lacks=phone", none, mail)
	s.wantFiltered(crm.All, "has=email&lacks=phone", mail)
	s.update(both, `{"emails":[],"phones":[]}`)
	s.create( // merged
		`{"first_name":"Mail","emails":[{"value":"mail@x.org"}],"phones":[{"value":"212-555-0111"}]}`)
	s.archive(none)
	s.wantFiltered(crm.All, "lacks=email", both, none)
	s.wantFiltered(crm.All, "lacks=phone", both, none)
	s.wantFiltered(crm.All, "has=phone", mail)
	s.damage(`DELETE FROM contact_set WHERE name = 'l:phone'`)
	found, _ := s.checkAll(true)
	equal(t, len(found), 1, "the check tells %q", found)
	s.wantFiltered(crm.All, "lacks=phone", both, none)
}
