package book

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
	"donorbook/internal/rig"
	"donorbook/internal/store"
)

// filtered is one page of a filtered list: the ids on it, and the total.
func filtered(t testing.TB, s *Book, account int64, scope crm.ContactScope, f find.Filter, number,
	perPage int64) (ids []int64, total int64) {
	t.Helper()
	dst, result := must2(s.FilteredContacts(t.Context(), account, scope, f,
		crm.PageRequest{Page: number, PerPage: perPage}, []byte("kept"), nil))(t)
	documents, ok := strings.CutPrefix(string(dst), "kept")
	if ids = rig.IDs(t, documents); !ok || int64(len(ids)) != result.Count {
		t.Fatalf("%d contacts are on a page, and %d are said to be: %s", len(ids), result.Count, dst)
	}
	return ids, result.Total
}

// filterOf parses a filter as the API does.
func filterOf(t testing.TB, query string) find.Filter {
	t.Helper()
	values := must(url.ParseQuery(query))(t)
	f := must(find.ParseFilter(func(yield func(name, value string) bool) {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			for _, value := range values[name] {
				if !yield(name, value) {
					return
				}
			}
		}
	}, "US"))(t)
	return f
}

// What the people of the model are called and have, so that many have something in common.
var (
	modelFirst  = []string{"Ana", "ANÁ", "Ben", "Ana María", "!", "Łukasz"}
	modelLast   = []string{"Diaz", "díaz", "Smith", "Smith-Diaz", strings.Repeat("Long", 55), "O'Neil"}
	modelTags   = []string{"vip", "VIP", "gala 2026", "board", "müde"}
	modelDomain = []string{"x.org", "y.example"}
	modelCity   = []string{"Boston", "boston", "San José", "Boston Spa", ""}
	modelColor  = []string{"Blue", "blue", "BLUE-green", "*", ""}
	modelZip    = []string{"02110", "02110-1234", "021", "SW1A 1AA", ""}
)

func oneOf[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// modelPerson is the body of a contact at random.
func modelPerson(r *rand.Rand, n int) string {
	var emails, phones, addresses, tags []string
	for range r.IntN(3) {
		emails = append(emails, fmt.Sprintf(`{"value":"P%d@%s"}`, r.IntN(40), oneOf(r, modelDomain)))
	}
	for range r.IntN(2) {
		phones = append(phones, fmt.Sprintf(`{"value":"212-555-01%02d"}`, r.IntN(30)))
	}
	for range r.IntN(3) {
		addresses = append(addresses, fmt.Sprintf(`{"address_1":"1 Road","city":%q,"zipcode":%q}`, oneOf(r, modelCity),
			oneOf(r, modelZip)))
	}
	for range r.IntN(4) {
		tags = append(tags, fmt.Sprintf("%q", oneOf(r, modelTags)))
	}
	return fmt.Sprintf(
		`{"first_name":%q,"last_name":%q,"company":"No %d","emails":[%s],"phones":[%s],"addresses":[%s],"tags":[%s]}`,
		oneOf(r, modelFirst), oneOf(r, modelLast), n, strings.Join(emails, ","), strings.Join(phones, ","),
		strings.Join(addresses, ","), strings.Join(tags, ","))
}

// modelFilter is a filter and an order at random.
func modelFilter(r *rand.Rand, begin time.Time, days int, campaigns []int64) string {
	var parts []string
	add := func(oneIn int, name string, value func() string) {
		if r.IntN(oneIn) == 0 {
			parts = append(parts, name+"="+url.QueryEscape(value()))
		}
	}
	moment := func() string {
		return begin.Add(time.Duration(r.IntN(days*48+10)-5) * 30 * time.Minute).Format(time.RFC3339)
	}
	add(8, "email", func() string { return fmt.Sprintf("p%d@%s", r.IntN(40), oneOf(r, modelDomain)) })
	add(12, "primary_email", func() string { return fmt.Sprintf("p%d@%s", r.IntN(40), oneOf(r, modelDomain)) })
	add(12, "phone", func() string { return fmt.Sprintf("(212) 555-01%02d", r.IntN(30)) })
	add(3, "tag", func() string { return oneOf(r, modelTags) })
	add(6, "tag", func() string { return oneOf(r, modelTags) })
	for range 2 {
		add(6, "tag_any", func() string { return oneOf(r, modelTags) })
		add(8, "tag_none", func() string { return oneOf(r, modelTags) })
	}
	add(8, "city", func() string { return strings.ToUpper(oneOf(r, modelCity[:4])) })
	add(8, "zip", func() string { return strings.ToLower(oneOf(r, modelZip[:4])) })
	add(8, "has", func() string { return oneOf(r, []string{"email", "phone"}) })
	add(8, "lacks", func() string { return oneOf(r, []string{"email", "phone"}) })
	add(10, "field_1", func() string { return strings.ToUpper(oneOf(r, modelColor[:4])) })
	add(10, "field_2", func() string { return oneOf(r, []string{"yes", "false", "*"}) })
	add(8, "campaign_id", func() string { return fmt.Sprint(oneOf(r, campaigns)) })
	add(8, "gave_after", func() string { return modelDay(r) })
	add(8, "gave_before", func() string { return modelDay(r) })
	add(8, "no_gift_after", func() string { return modelDay(r) })
	add(8, "no_gift_before", func() string { return modelDay(r) })
	add(5, "q", func() string {
		return oneOf(r, []string{"ana", "smith", "#vip", "@x.org", "diaz ana", "212555", "long", "p1"})
	})
	add(5, "created_after", moment)
	add(5, "created_before", moment)
	add(5, "updated_after", moment)
	add(5, "updated_before", moment)
	add(6, "first_name", func() string { return strings.ToUpper(oneOf(r, modelFirst)) })
	add(6, "last_name", func() string { return strings.ToLower(oneOf(r, modelLast)) })
	add(6, "total_contributions_min", func() string { return fmt.Sprint(r.IntN(60) - 10) })
	add(6, "total_contributions_max", func() string { return fmt.Sprint(r.IntN(100) - 10) })
	add(2, "sort", func() string {
		return oneOf(r, []string{"", "-"}) + oneOf(r, []string{"id", "created_at", "updated_at", "last_name",
			"total_contributions", "last_gift"})
	})
	return strings.Join(parts, "&")
}

// modelDay is one of the days at which the people of the model give.
func modelDay(r *rand.Rand) string {
	return oneOf(r, []string{"1969-12-31", "1970-01-01", "1970-01-02", "2025-06-01", "2025-06-02", "2026-01-01"})
}

// naive is the list that a filter asks for, found by looking at every contact and every gift.
func naive(people map[int64]crm.Contact, gifts map[int64][]giving.Gift, scope crm.ContactScope,
	f find.Filter) (ids []int64) {
	var found []crm.Contact
	f.Given = f.Given.InMinor("USD")
	for _, c := range people {
		gave := f.Gave.IsEmpty() || slices.ContainsFunc(gifts[c.ID], func(g giving.Gift) bool { return f.Gave.Has(&g) })
		gave = gave && (f.NoGift.IsEmpty() || !slices.ContainsFunc(gifts[c.ID],
			func(g giving.Gift) bool { return g.Net() > 0 && f.NoGift.Has(g.Local) }))
		c.LastGift, c.Given = time.Time{}, 0
		for _, g := range gifts[c.ID] {
			if g.Currency == "USD" {
				c.Given += g.Net()
			}
			if g.Net() > 0 && g.At.After(c.LastGift) {
				c.LastGift = g.At
			}
		}
		if (scope == crm.All || c.Archived() == (scope == crm.Archived)) && f.Matches(&c, gave) {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b crm.Contact) int { return f.Sort.Compare(&a, &b) })
	return store.Collect(found, func(c crm.Contact) int64 { return c.ID })
}

// contactsOf are all contacts of an account as they are stored.
func everyContact(t *testing.T, s *Book, account int64) map[int64]crm.Contact {
	t.Helper()
	all := map[int64]crm.Contact{}
	succeed(t, s.View(t.Context(), func(c db.Conn) error {
		return store.EachStored(c, account, func(s *store.StoredContact) error {
			all[s.ID] = s.Contact
			return s.Damage
		}, func() error { return nil })
	}))
	return all
}

// giftsOfContacts are all gifts of an account as they are stored, by their contacts.
func giftsOfContacts(t *testing.T, s *Book, account int64) map[int64][]giving.Gift {
	t.Helper()
	all := map[int64][]giving.Gift{}
	succeed(t, s.View(t.Context(), func(c db.Conn) error {
		return c.Each(func(r db.Row) error {
			_, g := store.ScanGift(r)
			all[g.Contact] = append(all[g.Contact], g.Gift)
			return g.Damage
		}, `SELECT `+store.GiftColumns+` FROM gift WHERE account_id = $1`, account)
	}))
	return all
}

// modelGift records a gift of a contact at random, and often changes it at once.
func modelGift(t *testing.T, s *Book, r *rand.Rand, account, contact, other int64, campaigns []int64) {
	t.Helper()
	ctx := t.Context()
	body := fmt.Sprintf(`{"amount":%d,"method":"check","transacted_at":%q,"contact_id":%d,"campaign_id":%d}`,
		1+r.IntN(50), modelDay(r), contact, oneOf(r, campaigns[1:]))
	made, err := s.CreateGift(ctx, account, giftInput(t, body, true, time.Now()))
	succeed(t, err)
	switch r.IntN(4) {
	case 0:
		_, err = s.RefundGift(ctx, account, made.Code, nil, "")
	case 1:
		_, err = s.UpdateGift(ctx, account, made.Code,
			giftInput(t, fmt.Sprintf(`{"contact_id":%d,"transacted_at":%q}`, other, modelDay(r)), false, time.Now()))
	}
	succeed(t, err)
}

// Random filters, orders and pages, compared with a look at every contact; with the usual costs, and with such that
// each way to find something is taken.
func TestFilteredListsAgreeWithANaiveList(t *testing.T) {
	ctx := t.Context()
	const persons, days, filters = 300, 40, 250
	s := newFolk(t)
	owner := s.Account
	random := rand.New(rand.NewPCG(16, 1))
	now := stopClock(s.Book)
	begin := now.time()
	title := "Gala"
	account, other := s.Number, newAccount(t, s.Book).Number
	campaigns := []int64{12345} // which does not exist
	for range 2 {
		made := must(s.CreateCampaign(ctx, owner, campaign.Input{Title: &title}))(t)
		campaigns = append(campaigns, made.ID)
	}
	for i, title := range []string{"Color", "Member"} {
		define(t, s.Book, account, title, []custom.FieldType{custom.TextField, custom.BooleanField}[i])
	}
	giver := createAs(t, s.Book, account, `{"first_name":"Giver"}`, crm.Force).ID
	for n := range persons {
		now.move(time.Duration(days) * 24 * time.Hour / persons)
		createAs(t, s.Book, account, modelPerson(random, n), crm.Force)
		if n%3 == 0 {
			createAs(t, s.Book, other, modelPerson(random, n), crm.Force)
		}
	}
	for range 2 * persons {
		now.move(time.Minute)
		id := doc.MakeID(account, random.Int64N(persons)+2)
		switch _, archived := s.Contact(ctx, account, id, nil); {
		case archived != nil:
			restore(t, s.Book, account, id)
		case random.IntN(2) == 0:
			archive(t, s.Book, account, id)
		case random.IntN(3) == 0:
			custom := fmt.Sprintf(`{"custom_fields":{"field_1":%q,"field_2":%t}}`, oneOf(random, modelColor),
				random.IntN(2) == 0)
			must(s.UpdateContact(ctx, account, id, input(t, custom)))(t)
		case random.IntN(3) == 0:
			must(s.SyncTags(ctx, account, id, []string{oneOf(random, modelTags)}))(t)
		default:
			modelGift(t, s.Book, random, account, id, giver, campaigns)
		}
	}
	all, gifts := everyContact(t, s.Book, account), giftsOfContacts(t, s.Book, account)
	for _, costs := range []store.FilterCosts{store.UsualCosts, {Few: 0, Document: 1 << 40, Key: 1 << 40},
		{Few: 20, Document: 1, Sorted: 20, Key: 1}, {Document: 1, Sorted: 1000}} {
		s.Costs = costs
		for range filters {
			query, scope := modelFilter(random, begin, days, campaigns), oneOf(random, scopes)
			f := filterOf(t, query)
			perPage := int64(1 + random.IntN(100))
			want := naive(all, gifts, scope, f)
			number := 1 + random.Int64N(crm.PageRequest{Page: 1, PerPage: perPage}.LastPage(int64(len(want)))+1)
			got, total := filtered(t, s.Book, account, scope, f, number, perPage)
			if page := cut(want, (number-1)*perPage, perPage); !slices.Equal(got, page) || total != int64(len(want)) {
				t.Fatalf("%s of %s with %+v, page %d by %d: %d of %d contacts %v, want %d of %d %v",
					query, scope, costs, number, perPage, len(got), total, got, len(page), len(want), page)
			}
		}
	}
}

// A walk through all pages shows each contact once, in every order.
func TestAWalkThroughAFilteredListShowsEachContactOnce(t *testing.T) {
	s := newFolk(t)
	random := rand.New(rand.NewPCG(16, 2))
	for n := range 60 { // within a second or two, so that many are equal but for their ids
		s.createAs(modelPerson(random, n), crm.Force)
	}
	s.Costs = store.FilterCosts{Document: 1, Key: 1 << 40}
	all := everyContact(t, s.Book, s.Number)
	for _, query := range []string{"sort=-id", "sort=created_at", "sort=-updated_at", "sort=last_name",
		"sort=-last_name", "tag=vip", "tag=vip&sort=-id", "q=ana&sort=last_name"} {
		f := filterOf(t, query)
		want := naive(all, nil, crm.Active, f)
		for _, perPage := range []int64{1, 7, 100} {
			var seen []int64
			for number := int64(1); ; number++ {
				ids, total := s.filtered(crm.Active, f, number, perPage)
				equal(t, total, int64(len(want)), "%s: in all, want %d", query, len(want))
				if seen = append(seen, ids...); len(ids) == 0 {
					break
				}
			}
			equal(t, seen, want, "%s by %d: the walk saw", query, perPage)
		}
	}
}

// wantFiltered checks whom a filter finds.
func (s *folk) wantFiltered(scope crm.ContactScope, query string, want ...int64) {
	s.Helper()
	got, total := s.filtered(scope, filterOf(s, query), 1, 20)
	equal(s, got, want, "%s finds", query)
	equal(s, total, int64(len(want)), "%s finds in all", query)
}

// A node holds the set of a tag in memory, and must notice every change of it, whichever node makes it.
func TestConcurrentListOfATagFollowsChangesOfOtherNodes(t *testing.T) {
	one, two := twoFolk(t)
	ann, ben := one.create(`{"first_name":"Ann","tags":["vip"]}`).ID, one.create(`{"first_name":"Ben"}`).ID
	want := func(scope crm.ContactScope, ids ...int64) {
		t.Helper()
		one.wantFiltered(scope, "tag=vip", ids...)
		two.wantFiltered(scope, "tag=vip", ids...)
	}
	want(crm.Active, ann)
	must(two.RemoveTags(t.Context(), two.Number, ann, []string{"vip"}))(t)
	want(crm.Active)
	two.addTags(ben, "vip")
	want(crm.Active, ben)
	two.archive(ben)
	want(crm.Active)
	want(crm.Archived, ben)
	want(crm.All, ben, one.create(`{"first_name":"Cat","tags":["vip"]}`).ID)
}

// A client that reads a page slowly holds up no list of another account.
func TestConcurrentSlowReaderHoldsUpNoOtherList(t *testing.T) {
	s := newFolk(t)
	slow := s.Number
	s.Light, s.Heavy = 0, store.NewGate(1)
	other := s.another()
	note := strings.Repeat("x", 9000)
	s.fillNamed(100,
		func(i int) string { return fmt.Sprintf(`{"first_name":"F%d","last_name":"L","note":%q}`, i, note) })
	other.create(`{"first_name":"Ann","last_name":"Lee"}`)
	list := func(account int64, flush store.Flush) (store.ListResult, error) {
		_, found, err := s.FilteredContacts(t.Context(), account, crm.Active, filterOf(t, "sort=-id"),
			crm.PageRequest{Page: 1, PerPage: 100}, nil, flush)
		return found, err
	}
	stuck, release, ended := make(chan bool, 1), make(chan bool), make(chan error, 1)
	go func() {
		_, err := list(slow, func(dst []byte, _ store.ListResult) ([]byte, error) {
			select {
			case stuck <- true:
			default:
			}
			<-release
			return dst[:0], nil
		})
		ended <- err
	}()
	<-stuck
	equal(t, must(list(other.Number, nil))(t).Total, 1, "the list of another account")
	close(release)
	succeed(t, <-ended)
}

// A node that holds a set reads it again after a repair.
func TestARepairedSetIsReadAgain(t *testing.T) {
	s := newFolk(t)
	s.fillNamed(10, func(i int) string { return fmt.Sprintf(`{"first_name":"F%d","last_name":"L","tags":["x"]}`, i) })
	finds := func(want int64) {
		t.Helper()
		_, n := s.filtered(crm.Active, filterOf(t, "tag=x"), 1, 20)
		equal(t, n, want, "contacts are found")
	}
	s.damage(`UPDATE contact_set SET size = 1, bits = $1 WHERE name = 't:x'`, []byte{1, 0})
	finds(1)
	s.checkAll(true)
	finds(10)
}

// The last character of Unicode may be in a name.
func TestNamesAfterAllOthersAreListed(t *testing.T) {
	s := newFolk(t)
	for _, name := range []string{"A", "B", "\U0010FFFFz"} {
		s.create(`{"first_name":"F","last_name":"` + name + `"}`)
	}
	s.create(`{"first_name":"` + "\U0010FFFFq" + `","last_name":"B"}`)
	s.Costs.Few, s.Costs.Sorted = 0, 0
	ids, _ := s.filtered(crm.Active, filterOf(t, "sort=-last_name"), 1, 2)
	equal(t, ids, store.IDsOf(s.Number, []int64{3, 4}), "in descending order, the first")
	_, n := s.filtered(crm.Active, filterOf(t, "last_name=B"), 1, 20)
	equal(t, n, 2, "the last name B")
}

// A contact that was lost does not make another one appear twice.
func TestALostContactDoublesNoOther(t *testing.T) {
	s := newFolk(t)
	s.fillNamed(6, func(i int) string { return fmt.Sprintf(`{"first_name":"F%d","last_name":"L","tags":["x"]}`, i) })
	move := func(from, to int64) {
		s.damage(`UPDATE contact SET id = $3 WHERE account_id = $1 AND id = $2`, s.Number, doc.MakeID(s.Number, from),
			doc.MakeID(s.Number, to))
	}
	move(3, 999)
	dst, _ := must2(s.FilteredContacts(t.Context(), s.Number, crm.Active, filterOf(t, "tag=x"),
		crm.PageRequest{Page: 1, PerPage: 20}, nil, nil))(t)
	equal(t, strings.Count(string(dst), `{"id":`), 5, "contacts are listed")
	move(999, 3)
}

// Contacts are found by when they were added and by when they were changed last, to the second.
func TestContactsAreFoundByTheirTimes(t *testing.T) {
	s := newFolk(t)
	clock := stopClock(s.Book) // on January 31
	ann, bob, cid := s.person(`{"first_name":"Ann"}`), s.person(`{"first_name":"Bob"}`),
		s.person(`{"first_name":"Cid"}`)
	clock.move(24 * time.Hour)
	s.update(bob, `{"company":"New"}`)
	s.archive(cid)
	s.Costs.Few, s.Costs.Document = 0, 1<<40 // by sets and indexes alone
	s.wantFiltered(crm.Active, "updated_before=2026-02-01", ann)
	s.wantFiltered(crm.Active, "updated_after=2026-02-01", bob)
	s.wantFiltered(crm.Active, "updated_after=2026-02-01T12:00:01Z")
	s.wantFiltered(crm.Active, "updated_after=2026-02-01T12:00:00Z", bob)
	s.wantFiltered(crm.Active, "created_after=2026-01-31&created_before=2026-02-01", ann, bob)
	s.wantFiltered(crm.Active, "created_after=2026-02-01")
	s.wantFiltered(crm.Active, "created_before=2026-01-31T12:00:00Z")
	s.wantFiltered(crm.Active, "created_before=2026-01-31T12:00:01Z", ann, bob)
}

// Contacts are numbered as they are made: where a clock is set back, a new contact is as old as the one before it.
// Its document says so, too.
func TestACreationIsNeverBeforeTheOneBefore(t *testing.T) {
	s := newFolk(t)
	clock := stopClock(s.Book)
	var ids []int64
	var made []string
	for _, step := range []time.Duration{0, time.Hour, -2 * time.Hour, time.Minute, 3 * time.Hour} {
		clock.move(step)
		id := s.person(`{"first_name":"Ann"}`)
		ids, made = append(ids, id), append(made, s.record(id).CreatedAt.Format(time.TimeOnly))
	}
	equal(t, made, []string{"12:00:00", "13:00:00", "13:00:00", "13:00:00", "14:01:00"})
	for query, want := range map[string][]int64{
		"created_after=2026-01-31T12:30:00Z&created_before=2026-01-31T14:00:00Z": ids[1:4],
		"created_before=2026-01-31T13:00:00Z":                                    ids[:1],
		"created_after=2026-01-31T13:00:01Z":                                     ids[4:],
		"created_after=2026-01-31T13:00:00Z&sort=created_at":                     ids[1:],
		"created_after=2026-01-31T14:00:00Z&created_before=2026-01-31T13:00:00Z": nil,
	} {
		s.wantFiltered(crm.Active, query, want...)
	}
}
