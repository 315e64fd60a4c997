package book

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/check"
)

// search walks through all pages of a search, the newest first, and returns the sequence numbers that it found.
func search(t testing.TB, s *Book, account int64, scope crm.ContactScope, what find.Search,
	limit int64) (seqs []int64) {
	t.Helper()
	for page := int64(1); ; page++ {
		found, result := must2(searchPage(t, s, account, scope, what, page, limit))(t)
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

func searchPage(t testing.TB, s *Book, account int64, scope crm.ContactScope, what find.Search, page,
	limit int64) ([]crm.Contact, store.ListResult, error) {
	f := find.Filter{Search: what, Sort: find.Sort{Descending: true}}
	return s.MatchingContacts(t.Context(), account, scope, f, crm.PageRequest{Page: page, PerPage: limit})
}

func typed(text string) find.Search { return find.ParseSearch(text, "US") }

func TestSearchFindsPeople(t *testing.T) {
	s := newBook(t)
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
	create(t, s, other,
		`{"first_name":"Maria","last_name":"Smith","emails":[{"value":"boss@acme.example"}],"phones":[{"value":"212-555-0100"}],"tags":["VIP"]}`)
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
			equal(t, search(t, s, account, crm.Active, typed(text), limit), want, "%q, %d per page", text, limit)
		}
	}
	page, _ := must2(searchPage(t, s, account, crm.Active, typed("tag:VIP"), 1, 2))(t)
	if len(page) != 2 || page[1].LastName != "Smith" || page[1].Emails[0].Value != "Boss@acme.example" {
		t.Errorf("a page that holds everything is %+v", page)
	}
}

func TestSearchKeepsToTheScope(t *testing.T) {
	s, account := newBookOf(t)
	for range 6 {
		create(t, s, account, `{"first_name":"Ana","last_name":"Diaz","tags":["a"]}`)
	}
	for _, seq := range []int64{1, 4, 5} {
		archive(t, s, account, doc.MakeID(account, seq))
	}
	for scope, want := range map[crm.ContactScope][]int64{crm.Active: {6, 3, 2}, crm.Archived: {5, 4, 1},
		crm.All: {6, 5, 4, 3, 2, 1}} {
		for _, what := range []find.Search{typed("ana"), typed("diaz a"), find.TagSearch("a")} {
			equal(t, search(t, s, account, scope, what, 2), want, "%s, %q", scope, what.Text)
		}
	}
}

// For any search, the pages together are exactly the contacts that match by their documents, each once, in the same
// order for every page size.
func TestTheSearchIsWhatTheDocumentsSay(t *testing.T) {
	s, account := newBookOf(t)
	atOnce(10, func(i int) {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		some := func(values ...string) string { return values[random.IntN(len(values))] }
		for range 15 {
			create(t, s, account,
				fmt.Sprintf(`{"first_name":%q,"middle_name":%q,"last_name":%q,"company":%q,"emails":[{"value":"%s%d@x.org"}],"tags":[%q]}`,
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
		once := search(t, s, account, crm.All, typed(text), 1000)
		for _, limit := range []int64{1, 7, 100} {
			if int64(len(once))/limit > 50 {
				continue // where fewer are found, every place of the list is the end of a page
			}
			equal(t, search(t, s, account, crm.All, typed(text), limit), once, "%q: %d a page: and in one page", text,
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
	a, b := twoNodes(t)
	account := newAccount(t, a).Number
	id := create(t, a, account, `{"first_name":"Ana","last_name":"Diaz","tags":["board"]}`).ID
	finds := func(text string, scope crm.ContactScope, want int) {
		t.Helper()
		for _, s := range []*Book{a, b} {
			equal(t, len(search(t, s, account, scope, typed(text), 10)), want, "%q", text)
		}
	}
	finds("diaz ana", crm.Active, 1)
	must(b.UpdateContact(t.Context(), account, id, input(t,
		`{"last_name":"Reyes","emails":[{"value":"ana@x.org"}]}`)))(t)
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
}

// What is suggested while a person types is found by the search, is active and of the account; those whose name was
// typed come first, and what is typed may be two letters of a last name.
func TestSuggestionsAreFoundByTheSearch(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	account, other := newAccount(t, s).Number, newAccount(t, s).Number
	for i := range 80 { // more than are looked at
		createAs(t, s, account,
			fmt.Sprintf(`{"first_name":"Person","last_name":"Number %d","addresses":[{"city":"Carterville"}]}`, i),
			crm.Force)
	}
	for _, body := range []string{`{"first_name":"Peter","last_name":"Carter"}`,
		`{"first_name":"Carta","last_name":"Novak","emails":[{"value":"cn@x.org"}]}`,
		`{"first_name":"Gone","last_name":"Carter"}`} {
		createAs(t, s, account, body, crm.Force)
	}
	succeed(t, s.ArchiveContact(ctx, account, doc.MakeID(account, 83)))
	createAs(t, s, other, `{"first_name":"Pat","last_name":"Carter"}`, crm.Force)
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
	s := newBook(t)
	account, other := newAccount(t, s), newAccount(t, s)
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
		createAs(t, s, account.Number, document, crm.Force)
	}
	gone := createAs(t, s, account.Number, `{"first_name":"Nora","last_name":"Vandenberg"}`, crm.Force)
	succeed(t, s.ArchiveContact(t.Context(), account.Number, gone.ID))
	createAs(t, s, other.Number, `{"first_name":"Otto","last_name":"Quackenbush"}`, crm.Force)
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
		equal(t, must(s.NearSearches(t.Context(), account.Number, typed, "US"))(t), want, "%q", typed)
	}
}

func segment(t testing.TB, name, query string) find.Segment {
	t.Helper()
	return must(find.NewSegment(name, query, "US"))(t)
}

func TestSegmentsAreSavedRenamedAndDeleted(t *testing.T) {
	s := newBook(t)
	account, other := newAccount(t, s).Number, newAccount(t, s).Number
	ctx := store.By(t.Context(), history.ConsoleChannel, "ann@x.org")
	names := func() (all []string) {
		t.Helper()
		found := must(s.Segments(t.Context(), account))(t)
		return store.Collect(found, func(s find.Segment) string { return s.Name + "?" + s.Query + " by " + s.Actor })
	}
	vip := must(s.CreateSegment(ctx, account, segment(t, "VIPs", "tag=vip")))(t)
	must(s.CreateSegment(ctx, account, segment(t, "Boston", "city=boston&sort=-last_gift")))(t)
	var taken *doc.Invalid
	if _, err := s.CreateSegment(ctx, account, segment(t, "vipS", "tag=x")); !errors.As(err, &taken) ||
		taken.Faults[0].Field != "name" {
		t.Errorf("the same name in other letters: %v", err)
	}
	if err := s.RenameSegment(ctx, account, vip.ID, "BOSTON"); !errors.As(err, &taken) {
		t.Errorf("the name of another one: %v", err)
	}
	succeed(t, s.RenameSegment(ctx, account, vip.ID, "vips"))
	must(s.CreateSegment(ctx, other, segment(t, "VIPs", "tag=vip")))(t)
	if want := []string{"vips?tag=vip by ann@x.org",
		"Boston?city=boston&sort=-last_gift by ann@x.org"}; !slices.Equal(names(), want) {
		t.Errorf("%q", names())
	}
	wantError(t, "a rename by another account", s.RenameSegment(ctx, other, vip.ID, "Mine"), crm.ErrNotFound)
	wantError(t, "a deletion by another account", errOf(s.DeleteSegment(ctx, other, vip.ID)), crm.ErrNotFound)
	equal(t, must(s.DeleteSegment(ctx, account, vip.ID))(t).Name, "vips")
	if want := []string{"Boston?city=boston&sort=-last_gift by ann@x.org"}; !slices.Equal(names(), want) {
		t.Errorf("%q", names())
	}
	told := changesOf(t, s, account, history.SegmentNoun)
	want := []string{
		`created ann@x.org {"name":[null,"VIPs"],"query":[null,"tag=vip"]}`,
		`created ann@x.org {"name":[null,"Boston"],"query":[null,"city=boston&sort=-last_gift"]}`,
		`updated ann@x.org {"name":["VIPs","vips"]}`,
		`deleted ann@x.org {"name":["vips",null],"query":["tag=vip",null]}`,
	}
	equal(t, told, want, "the history tells %s", strings.Join(told, "\n"))
}

// changesOf are the changes of a noun, as the history of an account tells them.
func changesOf(t testing.TB, s *Book, account int64, noun history.Noun) []string {
	t.Helper()
	found := must(store.List(t.Context(), s.Store, func(r db.Row) string {
		return fmt.Sprintf("%s %s %s",
			history.Kind(r.Int(0)), r.Text(1), r.Text(2))
	},
		`SELECT kind, actor, data FROM change WHERE account_id = $1 AND noun = $2 ORDER BY revision`, account,
		int64(noun)))(t)
	return found
}

func TestThereAreAtMost200Segments(t *testing.T) {
	s, account := newBookOf(t)
	for i := range find.SegmentLimit.Max {
		must(s.CreateSegment(t.Context(), account, segment(t, fmt.Sprint(i), "tag=vip")))(t)
	}
	if _, err := s.CreateSegment(t.Context(), account, segment(t, "More", "tag=vip")); err == nil ||
		!strings.Contains(err.Error(), "200 segments") {
		t.Errorf("one more: %v", err)
	}
}

// Who lacks an email or a phone is known after everything that a contact goes through.
func TestThoseWhoLackAnEmailOrAPhoneAreFound(t *testing.T) {
	s, account := newBookOf(t)
	s.Costs.Few = 0 // the sets decide, and no document
	both := create(t, s, account,
		`{"first_name":"Both","emails":[{"value":"both@x.org"}],"phones":[{"value":"212-555-0100"}]}`).ID
	none := create(t, s, account, `{"first_name":"None"}`).ID
	mail := create(t, s, account, `{"first_name":"Mail","emails":[{"value":"mail@x.org"}]}`).ID
	want := func(when, query string, ids ...int64) {
		t.Helper()
		if got, total := filtered(t, s, account, crm.All, filterOf(t, query), 1, 20); !slices.Equal(got, ids) ||
			total != int64(len(ids)) {
			t.Errorf("%s, %s finds %v, %d in all, want %v", when, query, got, total, ids)
		}
	}
	want("at first", "lacks=email", none)
	want("at first", "has=email", both, mail)
	want("at first", "lacks=phone", none, mail)
	want("at first", "has=email&lacks=phone", mail)
	must(s.UpdateContact(t.Context(), account, both, input(t, `{"emails":[],"phones":[]}`)))(t)
	create(t, s, account,
		`{"first_name":"Mail","emails":[{"value":"mail@x.org"}],"phones":[{"value":"212-555-0111"}]}`) // merged
	archive(t, s, account, none)
	want("after changes", "lacks=email", both, none)
	want("after changes", "lacks=phone", both, none)
	want("after changes", "has=phone", mail)
	damage(t, s, `DELETE FROM contact_set WHERE name = 'l:phone'`)
	var told []string
	if _ = must(s.Check(t.Context(), check.CheckOptions{Repair: true,
		Found: func(p check.Problem) { told = append(told, p.What) }}))(t); len(told) != 1 {
		t.Errorf("the check tells %q", told)
	}
	want("after a repair", "lacks=phone", both, none)
}
