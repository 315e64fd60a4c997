package book

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/rig/rows"
	"donorbook/internal/store"
)

// passes tells in the simplest way whether a gift matches a filter.
func passes(f giving.GiftFilter, g *giving.Gift) bool {
	at := g.At
	if f.Days {
		at = g.Local
	}
	return (f.Contact == 0 || f.Contact == g.Contact) && (f.Campaign == 0 || f.Campaign == g.Campaign) &&
		(f.Plan == "" || f.Plan == g.PlanCode) && (!f.Recurring || g.PlanCode != "") &&
		(f.Status == "" || f.Status == g.Status) && (f.Method == "" || f.Method == g.Method) &&
		(f.ExternalID == "" || f.ExternalID == g.ExternalID) &&
		(f.From.IsZero() || !at.Before(f.From)) && (f.To.IsZero() || at.Before(f.To)) &&
		(f.Currency == "" || f.Currency == g.Currency) &&
		(f.Min == 0 || g.Net() >= f.Min) && (f.Max == 0 || g.Net() <= f.Max)
}

func TestFiltersFindWhatTheyName(t *testing.T) {
	s := newBook(t)
	m := &giftModel{T: t, nodes: []*Book{s}, random: rand.New(rand.NewPCG(3, 4)), account: newAccount(t, s),
		now: time.Now()}
	for _, title := range []string{"Gala", "Coats"} {
		m.campaigns = append(m.campaigns, must(s.CreateCampaign(t.Context(), m.account,
			campaign.Input{Title: &title}))(t))
	}
	for range 350 {
		_, _ = m.step()
	}
	ledger := ledgerOf(t, s, m.account.Number)
	if len(ledger) < 80 {
		t.Fatalf("%d gifts are too few", len(ledger))
	}
	if !slices.IsSortedFunc(ledger, func(a, b giving.Gift) int {
		return cmp.Or(b.Local.Compare(a.Local), cmp.Compare(b.ID, a.ID))
	}) {
		t.Fatal("people do not see the latest gift first")
	}
	day := m.now.UTC().Truncate(24 * time.Hour)
	ago := func(years, months int) time.Time { return day.AddDate(-years, -months, 0) }
	for _, f := range []giving.GiftFilter{
		{}, {Contact: ledger[0].Contact}, {Campaign: m.campaigns[0].ID}, {Plan: m.plans[0].Code}, {Recurring: true},
		{Status: giving.Pending}, {Method: "cash"}, {From: ago(1, 0), To: day}, {From: ago(1, 0), To: day, Days: true},
		{From: ago(0, 2), Days: true, Method: "cash"}, {To: ago(2, 0)}, {From: ago(0, 2)},
		{From: ago(1, 0).Add(time.Hour)}, {Currency: "EUR"}, {Min: 10_000, Max: 20_000},
		{Campaign: m.campaigns[1].ID, Status: giving.Succeeded, From: ago(1, 0)},
		{To: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, {ExternalID: "x1"}, {ExternalID: "none"}, {Contact: 5},
	} {
		t.Run(fmt.Sprintf("%+v", f), func(t *testing.T) { compareFilter(t, s, m.account.Number, f, ledger) })
	}
}

func compareFilter(t *testing.T, s *Book, account int64, f giving.GiftFilter, ledger []giving.Gift) {
	var latest, shown []string
	sums, gifts := map[string]int64{}, int64(0)
	for i := range ledger {
		if g := &ledger[i]; passes(f, g) {
			latest = append(latest, g.Code)
			if g.Net() > 0 {
				gifts++
				sums[g.Currency] += g.Net()
			}
		}
	}
	for page := range int64(len(latest)/7 + 2) {
		records, totals := must2(s.GiftPage(t.Context(), account, f, crm.PageRequest{Page: page + 1, PerPage: 7}))(t)
		expect(t, "the totals of a page", fmt.Sprint(len(latest), gifts, sums), totals.Total, totals.Gifts, totals.Sums)
		for _, r := range records {
			shown = append(shown, r.Code)
		}
	}
	equal(t, shown, latest, "people see")
	checkSorts(t, s, account, campaign.OwnCampaigns, f, ledger)
}

var giftSorts = []giving.Sort{
	{}, {By: giving.ByTime}, {By: giving.ByTime, Descending: true}, {By: giving.ByCreation}, {By: giving.ByCreation,
		Descending: true},
	{By: giving.ByAmount}, {By: giving.ByAmount, Descending: true}, {Descending: true},
}

// compareGifts sorts in the simplest way.
func compareGifts(by giving.Sort, a, b *giving.Gift) int {
	n := 0
	switch by.By {
	case giving.ByTime:
		n = a.Local.Compare(b.Local)
	case giving.ByAmount:
		n = cmp.Compare(a.Payment().Amount, b.Payment().Amount) // of currencies with two decimals
	}
	if n = cmp.Or(n, cmp.Compare(a.ID, b.ID)); by.Descending {
		return -n
	}
	return n
}

// listedCodes reads all pages of a list.
func listedCodes(t *testing.T, s *Book, account int64, scope campaign.Scope, f giving.GiftFilter, perPage,
	total int64) (codes []string) {
	t.Helper()
	for page := int64(1); ; page++ {
		list, result, err := s.Gifts(t.Context(), account, scope, f, crm.PageRequest{Page: page, PerPage: perPage},
			nil, nil)
		succeed(t, err)
		equal(t, result.Total, total, "page %d: %+v", page, result)
		var wire []struct{ ID string }
		succeed(t, json.Unmarshal([]byte("["+string(list)+"]"), &wire))
		equal(t, int64(len(wire)), result.Count, "%v", list)
		for _, g := range wire {
			codes = append(codes, g.ID)
		}
		if len(wire) == 0 {
			return codes
		}
	}
}

// checkSorts compares each order with the simplest way to sort what passes a filter.
func checkSorts(t *testing.T, s *Book, account int64, scope campaign.Scope, f giving.GiftFilter, ledger []giving.Gift) {
	t.Helper()
	want := slices.DeleteFunc(slices.Clone(ledger), func(g giving.Gift) bool { return !passes(f, &g) })
	for _, by := range giftSorts {
		f.Sort = by
		slices.SortFunc(want, func(a, b giving.Gift) int { return compareGifts(by, &a, &b) })
		equal(t, listedCodes(t, s, account, scope, f, 7, int64(len(want))), codesOf(want), "%q by %+v", scope, by)
	}
}

// By the organization's clock, gifts of which only the day is known are at noon. Clocks are put back in autumn, and
// what was given in the hour that they show twice comes as they showed it.
func TestGiftsAreSortedByWhenTheyWereMade(t *testing.T) {
	s := newOrg(t, newBook(t))
	for _, zone := range []string{"America/Los_Angeles", "Pacific/Kiritimati"} {
		s.Light = store.LightRows
		root, contact := inZone(t, s.Book, "2026-11-03T04:40:00Z", zone)
		chapter := must(s.CreateAccount(t.Context(), "Chapter", root.ID))(t)
		giver := create(t, s.Book, chapter.Number, `{"first_name":"A","last_name":"B",
			"emails":[{"value":"a@b.org"}]}`).ID
		random := rand.New(rand.NewPCG(5, 6))
		for i := range 120 {
			at := s.Now().Add(-time.Duration(random.IntN(5*24*3600)) * time.Second).Truncate(time.Hour)
			if i%40 == 0 {
				at = at.AddDate(0, -1-i/40, 0) // another month
			}
			text := at.Format(time.RFC3339)
			if random.IntN(3) == 0 {
				text = at.Format(time.DateOnly)
			}
			of, from := root, contact
			if i%4 == 3 {
				of, from = chapter, giver
			}
			giveAmountAt(t, s.Book, of, from, text, 1+random.IntN(9))
		}
		own, below := ledgerOf(t, s.Book, root.Number), ledgerOf(t, s.Book, chapter.Number)
		all := slices.Concat(own, below)
		byEmail := giving.GiftFilter{Email: crm.EmailPrefix + "a@b.org"}
		for _, c := range []struct {
			of     access.Account
			scope  campaign.Scope
			f      giving.GiftFilter
			ledger []giving.Gift
		}{
			{root, campaign.OwnCampaigns, giving.GiftFilter{}, own},
			{root, campaign.OwnCampaigns, giving.GiftFilter{Contact: contact}, own},
			{root, campaign.OwnCampaigns, giving.GiftFilter{From: s.Now().AddDate(0, 0, -3)}, own},
			{root, campaign.ChapterCampaigns, giving.GiftFilter{Method: "cash"}, below},
			{chapter, campaign.OwnCampaigns, byEmail, below}, {root, campaign.OwnCampaigns, byEmail, nil},
		} {
			checkSorts(t, s.Book, c.of.Number, c.scope, c.f, c.ledger)
		}
		for _, by := range giftSorts {
			if by.By == giving.ByCreation || by == (giving.Sort{}) { // all were recorded in the same second
				continue
			}
			slices.SortFunc(all, func(a, b giving.Gift) int { return compareGifts(by, &a, &b) })
			equal(t, listedCodes(t, s.Book, root.Number, campaign.AllCampaigns, giving.GiftFilter{Sort: by}, 11,
				int64(len(all))), codesOf(all), "of all accounts by %+v", by)
		}
		s.Light = 0 // a page that is found when it is its turn is the same
		checkSorts(t, s.Book, root.Number, campaign.OwnCampaigns, giving.GiftFilter{}, own)
	}
}

func codesOf(all []giving.Gift) []string {
	return store.Collect(all, func(g giving.Gift) string { return g.Code })
}

func giveAmountAt(t *testing.T, s *Book, account access.Account, contact int64, at string, amount int) {
	t.Helper()
	in := giftInput(t, fmt.Sprintf(`{"amount":%d,"method":"cash","transacted_at":"%s","contact_id":%d}`, amount, at,
		contact), true, s.Now().In(time.FixedZone("", 14*3600)))
	must(s.CreateGift(t.Context(), account.Number, in))(t)
}

func TestPlansAreFilteredAndSorted(t *testing.T) {
	s := newOrg(t, newBook(t))
	roof := s.campaignOf("Roof")
	ann := s.person(`{"first_name":"Ann","last_name":"B","emails":[{"value":"ann@lee.example"}]}`)
	bob := s.person(`{"first_name":"Bob","last_name":"B"}`)
	for _, p := range []struct {
		contact int64
		body    string
	}{
		{ann, `"amount":30,"frequency":"monthly","method":"card","start_at":"2026-03-01","external_id":"p-1"`},
		{ann, `"amount":10,"frequency":"yearly","method":"card","start_at":"2026-02-01","campaign_code":"roof"`},
		{bob, `"amount":20.5,"frequency":"monthly","method":"ach","start_at":"2026-01-01","status":"paused"`},
		{bob, `"amount":2000,"currency":"JPY","frequency":"monthly","method":"ach","start_at":"2026-01-01",
			"status":"paused"`},
	} {
		newPlan(t, s.Book, s.Number, fmt.Sprintf(`{"contact_id":%d,%s}`, p.contact, p.body))
	}
	ids := strings.NewReplacer("ANN", fmt.Sprint(ann), "ROOF", fmt.Sprint(roof.ID))
	for query, want := range rows.Pairs(ids.Replace(`
		""                                   "3000 1000 2050 2000"
		sort=-id                             2000 2050 1000 3000
		sort=amount                          1000 2050 3000 2000
		sort_by_desc=amount                  2000 3000 2050 1000
		sort_by=transacted_at                2050 2000 1000 3000
		sort=-start_at                       3000 1000 2000 2050
		sort=created_at status=paused        2050 2000
		contact_id=ANN                       3000 1000
		email=Ann@Lee.example                3000 1000
		email=ann@lee.example status=ended   ""
		campaign_id=ROOF                     1000
		campaign_code=roof                   1000
		campaign_code=none                   ""
		campaign_code=roof campaign_id=999   ""
		frequency=monthly method=ach         2050 2000
		external_id=p-1                      3000
		status=ended                         ""`)) {
		sent := map[string]string{}
		for _, pair := range strings.Fields(query) {
			name, value, _ := strings.Cut(pair, "=")
			sent[name] = value
		}
		f := must(giving.ParsePlanFilter(func(name string) string { return sent[name] }))(t)
		for _, s.Light = range []int64{0, 5000} {
			var got []string
			for page := int64(1); page <= 3; page++ {
				plans, result := must2(s.Plans(t.Context(), s.Number, f, crm.PageRequest{Page: page, PerPage: 2}))(t)
				equal(t, result, store.ListResult{Total: int64(len(strings.Fields(want))), Count: int64(len(plans))})
				for _, p := range plans {
					got = append(got, fmt.Sprint(p.Amount))
				}
			}
			expect(t, query, want, strings.Join(got, " "))
		}
	}
}

func TestTheLatestGiftsAndTheNamesOfCampaigns(t *testing.T) {
	s := newOrg(t, newBook(t))
	gala, coats, roof := s.campaignOf("Gala").ID, s.campaignOf("Coats").ID, s.campaignOf("Roof").ID
	contact := s.person(`{"first_name":"A","last_name":"B"}`)
	for i := range 6 {
		s.gave(contact, fmt.Sprintf("2025-0%d-01", i+1), fmt.Sprintf(`,"campaign_id":%d`, []int64{gala, coats}[i%2]))
	}
	found := must(s.LatestGifts(t.Context(), s.Number, giving.GiftFilter{Campaign: coats}, 2))(t)
	expect(t, "the latest", "2 June April coats", len(found), found[0].At.Month(), found[1].At.Month(), found[0].Slug)
	newest := must(s.NewestCampaigns(t.Context(), s.Number, 2))(t)
	equal(t, newest, []store.CampaignName{{ID: roof, Title: "Roof", Currency: "USD"},
		{ID: coats, Title: "Coats", Currency: "USD"}})
	names := must(s.CampaignNames(t.Context(), s.Number, []int64{gala, 5}))(t)
	expect(t, "names", "1 Gala", len(names), names[gala].Title)
	expect(t, "another account reads", "0",
		len(must(s.CampaignNames(t.Context(), newAccount(t, s.Book).Number, []int64{gala, coats}))(t)))
}

// The totals of contacts are stored among those of the account, and a page reads none of them.
func TestAPageOfGiftsReadsNoMoreRowsWhereMoreContactsGave(t *testing.T) {
	s := newOrg(t, newBook(t))
	e := spyOn(t, s.Book)
	var read []int64
	for _, more := range []int{3, 30} {
		for range more {
			s.gave(s.person(`{"first_name":"A","last_name":"B"}`), "2025-03-01", "")
		}
		e.rows.Store(0)
		records, totals := must2(s.GiftPage(t.Context(), s.Number, giving.GiftFilter{},
			crm.PageRequest{Page: 1, PerPage: 2}))(t)
		equal(t, len(records), 2)
		equal(t, totals.Sums["USD"], totals.Gifts*500)
		read = append(read, e.rows.Load())
	}
	expect(t, "where ten times as many contacts gave", fmt.Sprint(read[1]), read[0])
}

// A busy day has thousands of gifts, and its pages skip them. A list that is sorted by time is found in the same
// index.
func TestGiftsThatAPageSkipsAreFoundInAnIndexAlone(t *testing.T) {
	s := newOrg(t, openTest(t))
	contact := s.person(`{"first_name":"A","last_name":"B"}`)
	for day := 1; day <= 9; day++ {
		s.gave(contact, fmt.Sprintf("2025-03-0%d", day), "")
	}
	var asked []string
	spy := spyOn(t, s.Book)
	note := func(part string, list func() error) {
		t.Helper()
		asked, spy.read = nil, func(sql string) {
			if strings.Contains(sql, part) {
				asked = append(asked, sql)
			}
		}
		succeed(t, list())
		spy.read = nil
	}
	plan := func(sql string) (plan string) {
		succeed(t, s.Db.Read(t.Context(), func(c db.Conn) error {
			return c.Each(func(r db.Row) error { plan += r.Text(3) + "\n"; return nil },
				"EXPLAIN QUERY PLAN "+sql, s.Number, int64(0), int64(0), int64(0))
		}))
		return plan
	}
	second := crm.PageRequest{Page: 2, PerPage: 2}
	note("OFFSET", func() error { return errOf2(s.GiftPage(t.Context(), s.Number, giving.GiftFilter{}, second)) })
	equal(t, plan(asked[0]), "SEARCH g USING COVERING INDEX gift_time (account_id=? AND given_at<?)\n", "%s", asked[0])
	note("FROM gift g WHERE", func() error {
		f := giving.GiftFilter{Sort: giving.Sort{By: giving.ByTime}}
		return errOf2(s.Gifts(t.Context(), s.Number, campaign.OwnCampaigns, f, second, nil, nil))
	})
	equal(t, plan(asked[0]), "SEARCH g USING COVERING INDEX gift_time (account_id=? AND given_at<?)\n", "%s", asked)
}

func TestAListByTimeReadsNoMoreRowsWhereMoreWasGivenInOtherMonths(t *testing.T) {
	s := newOrg(t, newBook(t))
	e, contact := spyOn(t, s.Book), s.person(`{"first_name":"A","last_name":"B"}`)
	for _, day := range []string{"2025-03-01", "2025-03-02", "2025-05-01", "2025-05-02"} {
		s.gave(contact, day, "")
	}
	read := map[bool][]int64{}
	for _, more := range []int{1, 30} {
		for range more {
			s.gave(contact, "2025-04-15", "")
		}
		for _, descending := range []bool{false, true} {
			f := giving.GiftFilter{Sort: giving.Sort{By: giving.ByTime, Descending: descending}}
			e.rows.Store(0)
			_, found := must2(s.Gifts(t.Context(), s.Number, campaign.OwnCampaigns, f,
				crm.PageRequest{Page: 1, PerPage: 2}, nil, nil))(t)
			equal(t, found.Count, 2)
			read[descending] = append(read[descending], e.rows.Load())
		}
	}
	for descending, rows := range read {
		equal(t, rows[0], rows[1], "descending %v: rows of a page where more was given in other months", descending)
	}
}

// The history of a gift has pages, the latest first, and keeps the beginning of a long note.
func TestAGiftHasAHistory(t *testing.T) {
	s := newOrg(t, newBook(t))
	made := s.gave(s.person(`{"first_name":"A","last_name":"B"}`), "2025-01-01", "")
	for _, note := range []string{"first", "second", strings.Repeat("long ", 1000)} {
		s.edit(made.Code, fmt.Sprintf(`{"note":%q}`, note))
	}
	changes, found := must2(s.Timeline(t.Context(), s.Number, history.GiftNoun, made.ID,
		crm.PageRequest{Page: 1, PerPage: 2}))(t)
	expect(t, "changes", "4 2 true", found.Total, len(changes), len(changes[0].Data) <= 300)
	contains(t, changes[1].Data, `"second"`)
}

// What recording a gift costs is watched by what it writes: statements, and sums.
func TestRecordingAGiftWritesLittle(t *testing.T) {
	s := newOrg(t, newBook(t))
	var campaigns []campaign.Campaign
	s.Account, campaigns, _ = generous(t, s.Book)
	contact, spy := s.person(`{"first_name":"A","last_name":"B"}`), spyOn(t, s.Book)
	for _, c := range []struct {
		campaign    string
		sums, wrote int
	}{{"", 2, 7}, {fmt.Sprintf(`,"campaign_id":%d`, campaigns[0].ID), 4, 9}} {
		var wrote []string
		spy.wrote = func(sql string) {
			if !strings.Contains(sql, "contact_set") { // which depends on what the contact was in
				wrote = append(wrote, strings.Fields(sql)[2])
			}
		}
		made := s.gave(contact, "2026-11-02", c.campaign)
		if len(wrote) > c.wrote {
			t.Errorf("a gift takes %d statements: %v", len(wrote), wrote)
		}
		equal(t, len(giving.ShareOf(&made).Cells()), c.sums, "a gift is part of the sums")
	}
	spy.wrote = nil
}
