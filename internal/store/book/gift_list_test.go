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
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/giving"
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
	eachEngine(t, func(t *testing.T, s *Book) {
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
	})
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
		if err != nil || result.Total != int64(len(oldest)) {
			t.Fatalf("page %d: %+v, %v", page, result, err)
		}
		var wire []struct{ ID string }
		if err := json.Unmarshal([]byte("["+string(list)+"]"), &wire); err != nil || int64(len(wire)) != result.Count {
			t.Fatalf("%v: %s", err, list)
		}
		for _, g := range wire {
			listed = append(listed, g.ID)
		}
		if len(wire)+len(records) == 0 {
			break
		}
	}
	checkSorts(t, s, account, campaign.OwnCampaigns, f, ledger)
	if strings.Join(shown, " ") != strings.Join(latest, " ") {
		t.Errorf("people see %v, want %v", shown, latest)
	}
	if strings.Join(listed, " ") != strings.Join(oldest, " ") {
		t.Errorf("the API lists %v, want %v", listed, oldest)
	}
}
