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
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/gifts"
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
		campaign := must(s.CreateCampaign(t.Context(), m.account, campaign.Input{Title: &title}))(t)
		m.campaigns = append(m.campaigns, campaign)
	}
	for range 350 {
		_, _ = m.step()
	}
	ledger := ledgerOf(t, s, m.account.Number)
	if len(ledger) < 80 {
		t.Fatalf("%d gifts are too few", len(ledger))
	}
	if !slices.IsSortedFunc(ledger, func(a, b giving.Gift) int {
		return cmp.Or(b.Local.Compare(a.Local),
			cmp.Compare(b.ID, a.ID))
	}) {
		t.Fatal("people do not see the latest gift first")
	}
	day := m.now.UTC().Truncate(24 * time.Hour)
	for _, f := range []giving.GiftFilter{
		{}, {Contact: ledger[0].Contact}, {Campaign: m.campaigns[0].ID}, {Plan: m.plans[0].Code}, {Recurring: true}, {Status: giving.Pending}, {Method: "cash"},
		{From: day.AddDate(-1, 0, 0), To: day}, {From: day.AddDate(-1, 0, 0), To: day,
			Days: true}, {From: day.AddDate(0, -2, 0), Days: true, Method: "cash"}, {To: day.AddDate(-2, 0,
			0)}, {From: day.AddDate(0, -2, 0)}, {From: day.AddDate(-1, 0, 0).Add(time.Hour)},
		{Currency: "EUR"}, {Min: 10_000, Max: 20_000}, {Campaign: m.campaigns[1].ID, Status: giving.Succeeded,
			From: day.AddDate(-1, 0, 0)},
		{To: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, {ExternalID: "x1"}, {ExternalID: "none"}, {Contact: 5},
	} {
		t.Run(fmt.Sprintf("%+v", f), func(t *testing.T) { compareFilter(t, s, m.account.Number, f, ledger) })
	}
}

func compareFilter(t *testing.T, s *Book, account int64, f giving.GiftFilter, ledger []giving.Gift) {
	var latest, oldest []string
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
	sorted := slices.Clone(ledger)
	slices.SortFunc(sorted, func(a, b giving.Gift) int { return int(a.ID - b.ID) })
	for i := range sorted {
		if passes(f, &sorted[i]) {
			oldest = append(oldest, sorted[i].Code)
		}
	}
	var shown, listed []string
	for page := int64(1); page <= 100; page++ {
		request := crm.PageRequest{Page: page, PerPage: 7}
		records, totals := must2(s.GiftPage(t.Context(), account, f, request))(t)
		if totals.Total != int64(len(latest)) || totals.Gifts != gifts || fmt.Sprint(totals.Sums) != fmt.Sprint(sums) {
			t.Fatalf("page %d: %+v, want %d, %d that count, %v", page, totals, len(latest), gifts, sums)
		}
		for _, r := range records {
			shown = append(shown, r.Code)
		}
		list, result, err := s.Gifts(t.Context(), account, campaign.OwnCampaigns, f, request, nil, nil)
		succeed(t, err)
		equal(t, result.Total, int64(len(oldest)), "page %d: %+v", page, result)
		var wire []struct{ ID string }
		succeed(t, json.Unmarshal([]byte("["+string(list)+"]"), &wire))
		equal(t, int64(len(wire)), result.Count, "%v", list)
		for _, g := range wire {
			listed = append(listed, g.ID)
		}
		if len(wire)+len(records) == 0 {
			break
		}
	}
	checkSorts(t, s, account, campaign.OwnCampaigns, f, ledger)
	equal(t, strings.Join(shown, " "), strings.Join(latest, " "), "people see %v, want %v", shown, latest)
	equal(t, strings.Join(listed, " "), strings.Join(oldest, " "), "the API lists %v, want %v", listed, oldest)
}

var giftSorts = []giving.Sort{
	{By: giving.ByTime}, {By: giving.ByTime, Descending: true}, {By: giving.ByCreation}, {By: giving.ByCreation,
		Descending: true},
	{By: giving.ByAmount}, {By: giving.ByAmount, Descending: true}, {Descending: true},
}

// compareGifts sorts in the simplest way.
func compareGifts(by giving.Sort, a, b *giving.Gift) int {
	n := 0
	switch by.By {
	case giving.ByTime:
		n = a.At.Compare(b.At)
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
	for _, by := range giftSorts {
		f.Sort = by
		want := slices.DeleteFunc(slices.Clone(ledger), func(g giving.Gift) bool { return !passes(f, &g) })
		slices.SortFunc(want, func(a, b giving.Gift) int { return compareGifts(by, &a, &b) })
		var codes []string
		for _, g := range want {
			codes = append(codes, g.Code)
		}
		if listed := listedCodes(t, s, account, scope, f, 7, int64(len(codes))); !slices.Equal(listed, codes) {
			t.Errorf("%q by %+v: the API lists %v, want %v", scope, by, listed, codes)
		}
	}
}

// Gifts of which only the day is known are at noon of the organization's clock and of UTC alike, and clocks are put
// back in autumn: by the organization's clock, which the indexes have, gifts come in another order.
func TestGiftsAreSortedByWhenTheyWereMade(t *testing.T) {
	s := newBook(t)
	for _, zone := range []string{"America/Los_Angeles", "Pacific/Kiritimati"} {
		s.Light = store.LightRows
		account, contact := inZone(t, s, "2026-11-03T04:40:00Z", zone)
		chapter := must(s.CreateAccount(t.Context(), "Chapter", account.ID))(t)
		giver := create(t, s, chapter.Number, `{"first_name":"A","last_name":"B","emails":[{"value":"a@b.org"}]}`).ID
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
			of, from := account, contact
			if i%4 == 3 {
				of, from = chapter, giver
			}
			giveAmountAt(t, s, of, from, text, 1+random.IntN(9))
		}
		own, below := ledgerOf(t, s, account.Number), ledgerOf(t, s, chapter.Number)
		all := slices.Concat(own, below)
		checkSorts(t, s, account.Number, campaign.OwnCampaigns, giving.GiftFilter{}, own)
		checkSorts(t, s, account.Number, campaign.OwnCampaigns, giving.GiftFilter{Contact: contact}, own)
		checkSorts(t, s, account.Number, campaign.OwnCampaigns,
			giving.GiftFilter{From: s.Now().AddDate(0, 0, -3)}, own)
		checkSorts(t, s, account.Number, campaign.ChapterCampaigns, giving.GiftFilter{Method: "cash"}, below)
		checkSorts(t, s, chapter.Number, campaign.OwnCampaigns,
			giving.GiftFilter{Email: crm.EmailPrefix + "a@b.org"}, below)
		checkSorts(t, s, account.Number, campaign.OwnCampaigns,
			giving.GiftFilter{Email: crm.EmailPrefix + "a@b.org"}, nil)
		for _, by := range giftSorts {
			if by.By == giving.ByCreation { // all were recorded in the same second
				continue
			}
			slices.SortFunc(all, func(a, b giving.Gift) int { return compareGifts(by, &a, &b) })
			var want []string
			for _, g := range all {
				want = append(want, g.Code)
			}
			if got := listedCodes(t, s, account.Number, campaign.AllCampaigns, giving.GiftFilter{Sort: by}, 11,
				int64(len(all))); !slices.Equal(got, want) {
				t.Errorf("of all accounts by %+v: %v, want %v", by, got, want)
			}
		}
		s.Light = 0 // a page that is found when it is its turn is the same
		checkSorts(t, s, account.Number, campaign.OwnCampaigns, giving.GiftFilter{}, own)
	}
}

func giveAmountAt(t *testing.T, s *Book, account access.Account, contact int64, at string, amount int) {
	t.Helper()
	in := giftInput(t, fmt.Sprintf(`{"amount":%d,"method":"cash","transacted_at":"%s","contact_id":%d}`, amount, at,
		contact), true, s.Now().In(time.FixedZone("", 14*3600)))
	must(s.CreateGift(t.Context(), account.Number, in))(t)
}

func TestPlansAreFilteredAndSorted(t *testing.T) {
	s := newBook(t)
	account := newAccount(t, s)
	title := "Roof"
	roof := must(s.CreateCampaign(t.Context(), account, campaign.Input{Title: &title}))(t)
	ann, bob := create(t, s, account.Number, `{"first_name":"Ann","last_name":"B","emails":[{"value":"ann@lee.example"}]}`).ID, create(t, s, account.Number, `{"first_name":"Bob","last_name":"B"}`).ID
	for _, body := range []string{
		fmt.Sprintf(`{"contact_id":%d,"amount":30,"frequency":"monthly","method":"card","start_at":"2026-03-01","external_id":"p-1"}`, ann),
		fmt.Sprintf(`{"contact_id":%d,"amount":10,"frequency":"yearly","method":"card","start_at":"2026-02-01","campaign_code":%q}`, ann, roof.Slug),
		fmt.Sprintf(`{"contact_id":%d,"amount":20.5,"frequency":"monthly","method":"ach","start_at":"2026-01-01","status":"paused"}`, bob),
		fmt.Sprintf(`{"contact_id":%d,"amount":2000,"currency":"JPY","frequency":"monthly","method":"ach","start_at":"2026-01-01","status":"paused"}`, bob),
	} {
		in, faults, err := giving.DecodePlan(doc.NewBody([]byte(body)))
		if err == nil {
			err = in.Validate(faults, true, "US", s.Now())
		}
		if err == nil {
			_, err = s.CreatePlan(t.Context(), account.Number, in)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for query, want := range map[string]string{
		"":                                   "30 10 20 2000",
		"sort=-id":                           "2000 20 10 30",
		"sort=amount":                        "10 20 30 2000",
		"sort_by_desc=amount":                "2000 30 20 10",
		"sort_by=transacted_at":              "20 2000 10 30",
		"sort=-start_at":                     "30 10 2000 20",
		"sort=created_at status=paused":      "20 2000",
		"contact_id=" + fmt.Sprint(ann):      "30 10",
		"email=Ann@Lee.example":              "30 10",
		"email=ann@lee.example status=ended": "",
		"campaign_id=" + fmt.Sprint(roof.ID): "10",
		"campaign_code=" + roof.Slug:         "10",
		"campaign_code=none":                 "",
		"campaign_code=" + roof.Slug + " campaign_id=999": "",
		"frequency=monthly method=ach":                    "20 2000",
		"external_id=p-1":                                 "30",
		"status=ended":                                    "",
	} {
		sent := map[string]string{}
		for _, pair := range strings.Fields(query) {
			name, value, _ := strings.Cut(pair, "=")
			sent[name] = value
		}
		f := must(giving.ParsePlanFilter(func(name string) string { return sent[name] }))(t)
		for _, light := range []int64{0, 5000} {
			s.Light = light
			var got []string
			for page := int64(1); page <= 3; page++ {
				plans, result, err := s.Plans(t.Context(), account.Number, f,
					crm.PageRequest{Page: page, PerPage: 2})
				if err != nil || result.Total != int64(len(strings.Fields(want))) ||
					result.Count != int64(len(plans)) {
					t.Fatalf("%s: %+v, %v", query, result, err)
				}
				for _, p := range plans {
					amount := p.Amount
					if p.Currency == "USD" {
						amount /= 100
					}
					got = append(got, fmt.Sprint(amount))
				}
			}
			equal(t, strings.Join(got, " "), want, "%s: %v", query, got)
		}
	}
}

func TestTheLatestGiftsAndTheNamesOfCampaigns(t *testing.T) {
	s := newBook(t)
	account, other := newAccount(t, s), newAccount(t, s)
	var ids []int64
	for _, title := range []string{"Gala", "Coats", "Roof"} {
		campaign := must(s.CreateCampaign(t.Context(), account, campaign.Input{Title: &title}))(t)
		ids = append(ids, campaign.ID)
	}
	contact := create(t, s, account.Number, `{"first_name":"A","last_name":"B"}`).ID
	for i := range 6 {
		in := giftInput(t, fmt.Sprintf(`{"contact_id":%d,"campaign_id":%d,"amount":%d,"method":"cash","transacted_at":"2025-0%d-01"}`, contact, ids[i%2], i+1, i+1), true, time.Now())
		must(s.CreateGift(t.Context(), account.Number, in))(t)
	}
	found, err := s.LatestGifts(t.Context(), account.Number, giving.GiftFilter{Campaign: ids[1]}, 2)
	if err != nil || len(found) != 2 || found[0].Net() != 600 || found[1].Net() != 400 || found[0].Slug != "coats" {
		t.Errorf("%+v, %v", found, err)
	}
	newest, err := s.NewestCampaigns(t.Context(), account.Number, 2)
	if want := []gifts.CampaignName{{ID: ids[2], Title: "Roof", Currency: "USD"},
		{ID: ids[1], Title: "Coats", Currency: "USD"}}; err != nil || !slices.Equal(newest, want) {
		t.Errorf("%v, %v, want %v", newest, err, want)
	}
	names, err := s.CampaignNames(t.Context(), account.Number, []int64{ids[0], 5})
	if err != nil || len(names) != 1 || names[ids[0]].Title != "Gala" {
		t.Errorf("%v, %v", names, err)
	}
	expect(t, "another account reads", "0", len(must(s.CampaignNames(t.Context(), other.Number, ids))(t)))
}

// The totals of contacts are stored among those of the account, and a page reads none of them.
func TestAPageOfGiftsReadsNoMoreRowsWhereMoreContactsGave(t *testing.T) {
	s := newBook(t)
	account, e := newAccount(t, s), spyOn(t, s)
	var read []int64
	for _, more := range []int{3, 30} {
		for range more {
			contact := create(t, s, account.Number, `{"first_name":"A","last_name":"B"}`).ID
			in := giftInput(t, fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2025-03-01"}`, contact), true, time.Now())
			must(s.CreateGift(t.Context(), account.Number, in))(t)
		}
		e.rows.Store(0)
		records, totals, err := s.GiftPage(t.Context(), account.Number, giving.GiftFilter{},
			crm.PageRequest{Page: 1, PerPage: 2})
		if err != nil || len(records) != 2 || totals.Sums["USD"] != totals.Gifts*500 {
			t.Fatalf("%d gifts, %+v, %v", len(records), totals, err)
		}
		read = append(read, e.rows.Load())
	}
	expect(t, "where ten times as many contacts gave", fmt.Sprint(read[1]), read[0])
}

// A busy day has thousands of gifts, and its pages skip them.
func TestGiftsThatAPageSkipsAreFoundInAnIndexAlone(t *testing.T) {
	s := openTest(t)
	account := newAccount(t, s)
	contact := create(t, s, account.Number, `{"first_name":"A","last_name":"B"}`).ID
	must(s.CreateGift(t.Context(), account.Number, giftInput(t,
		fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2025-03-01"}`,
			contact), true, time.Now())))(t)
	var skips, plan string
	spyOn(t, s).read = func(sql string) {
		if strings.Contains(sql, "OFFSET") {
			skips = sql
		}
	}
	if records, _, err := s.GiftPage(t.Context(), account.Number, giving.GiftFilter{},
		crm.PageRequest{Page: 1, PerPage: 2}); err != nil || len(records) != 1 {
		t.Fatalf("%+v, %v", records, err)
	}
	err := s.Db.Read(t.Context(), func(c db.Conn) error {
		return c.Each(func(r db.Row) error {
			plan += r.Text(3) + "\n"
			return nil
		}, "EXPLAIN QUERY PLAN "+skips, account.Number, int64(0), int64(0), int64(0))
	})
	succeed(t, err)
	equal(t, plan, "SEARCH g USING COVERING INDEX gift_time (account_id=? AND given_at<?)\n", "%s", skips)
}

// A list that is sorted by time is found in the same index.
func TestAListByTimeIsFoundInAnIndexAlone(t *testing.T) {
	s := openTest(t)
	account := newAccount(t, s)
	contact := create(t, s, account.Number, `{"first_name":"A","last_name":"B"}`).ID
	for day := 1; day <= 9; day++ {
		giveAt(t, s, account, contact, fmt.Sprintf("2025-03-0%d", day))
	}
	var asked []string
	spy := spyOn(t, s)
	spy.read = func(sql string) {
		if strings.Contains(sql, "FROM gift g WHERE") {
			asked = append(asked, sql)
		}
	}
	f := giving.GiftFilter{Sort: giving.Sort{By: giving.ByTime}}
	if _, found, err := s.Gifts(t.Context(), account.Number, campaign.OwnCampaigns, f,
		crm.PageRequest{Page: 2, PerPage: 2}, nil, nil); err != nil || found.Total != 9 {
		t.Fatalf("%+v, %v", found, err)
	}
	spy.read = nil
	if len(asked) != 3 { // the edges of the page, how many lie around it, and those
		t.Errorf("it asks %d times: %q", len(asked), asked)
	}
	for _, sql := range asked {
		plan := ""
		err := s.Db.Read(t.Context(), func(c db.Conn) error {
			return c.Each(func(r db.Row) error {
				plan += r.Text(3) + "\n"
				return nil
			}, "EXPLAIN QUERY PLAN "+sql, account.Number, int64(0), int64(0), int64(0))
		})
		if err != nil || !strings.Contains(plan, "SEARCH g USING COVERING INDEX gift_time (account_id=? AND given_at") || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s\n%s%v", sql, plan, err)
		}
	}
}

func TestAListByTimeReadsNoMoreRowsWhereMoreWasGivenInOtherMonths(t *testing.T) {
	s := newBook(t)
	account, e := newAccount(t, s), spyOn(t, s)
	contact := create(t, s, account.Number, `{"first_name":"A","last_name":"B"}`).ID
	for _, day := range []string{"2025-03-01", "2025-03-02", "2025-05-01", "2025-05-02"} {
		giveAt(t, s, account, contact, day)
	}
	read := map[bool][]int64{}
	for _, more := range []int{1, 30} {
		for range more {
			giveAt(t, s, account, contact, "2025-04-15")
		}
		for _, descending := range []bool{false, true} {
			f := giving.GiftFilter{Sort: giving.Sort{By: giving.ByTime, Descending: descending}}
			e.rows.Store(0)
			if _, found, err := s.Gifts(t.Context(), account.Number, campaign.OwnCampaigns, f,
				crm.PageRequest{Page: 1, PerPage: 2}, nil, nil); err != nil || found.Count != 2 {
				t.Fatalf("%+v, %v", found, err)
			}
			read[descending] = append(read[descending], e.rows.Load())
		}
	}
	for descending, rows := range read {
		expect(t, fmt.Sprintf("descending %v: rows that a page reads where more was given in other months",
			descending), fmt.Sprint(rows[0]), rows[1])
	}
}

// The history of a gift has pages, the latest first, and keeps the beginning of a long note.
func TestAGiftHasAHistory(t *testing.T) {
	s := newBook(t)
	account := newAccount(t, s)
	contact := create(t, s, account.Number, `{"first_name":"A","last_name":"B"}`).ID
	made := must(s.CreateGift(t.Context(), account.Number,
		giftInput(t, fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2025-01-01"}`,
			contact), true, time.Now())))(t)
	for _, note := range []string{"first", "second", strings.Repeat("long ", 1000)} {
		in := giftInput(t, fmt.Sprintf(`{"note":%q}`, note), false, time.Now())
		must(s.UpdateGift(store.By(t.Context(), history.ConsoleChannel, "ana@example.org"), account.Number,
			made.Code, in))(t)
	}
	changes, found, err := s.Timeline(t.Context(), account.Number, history.GiftNoun, made.ID,
		crm.PageRequest{Page: 1, PerPage: 2})
	if err != nil || found.Total != 4 || len(changes) != 2 || changes[0].Who != "ana@example.org" ||
		len(changes[0].Data) > 300 || !strings.Contains(changes[1].Data, `"second"`) {
		t.Errorf("%+v, %+v, %v", changes, found, err)
	}
}

// What recording a gift costs is watched by what it writes: statements, and sums.
func TestRecordingAGiftWritesLittle(t *testing.T) {
	s := newBook(t)
	account, campaigns, _ := generous(t, s)
	contact := create(t, s, account.Number, `{"first_name":"A","last_name":"B"}`).ID
	spy := spyOn(t, s)
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
		body := fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2026-11-02"%s}`,
			contact, c.campaign)
		made := must(s.CreateGift(t.Context(), account.Number, giftInput(t, body, true, donorsNow)))(t)
		if len(wrote) > c.wrote {
			t.Errorf("a gift takes %d statements: %v", len(wrote), wrote)
		}
		expect(t, "a gift is part of the sums", "true", len(giving.ShareOf(&made.Gift).Cells()) == c.sums)
	}
	spy.wrote = nil
}
