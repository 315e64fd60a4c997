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
	"donorbook/internal/store"
)

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
		if err != nil || result.Total != total {
			t.Fatalf("page %d: %+v, %v; want %d in all", page, result, err, total)
		}
		var wire []struct{ ID string }
		if err := json.Unmarshal([]byte("["+string(list)+"]"), &wire); err != nil || int64(len(wire)) != result.Count {
			t.Fatalf("%v: %s", err, list)
		}
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
	eachEngine(t, func(t *testing.T, s *Book) {
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
	})
}

func giveAmountAt(t *testing.T, s *Book, account access.Account, contact int64, at string, amount int) {
	t.Helper()
	in := giftInput(t, fmt.Sprintf(`{"amount":%d,"method":"cash","transacted_at":"%s","contact_id":%d}`, amount, at,
		contact), true, s.Now().In(time.FixedZone("", 14*3600)))
	must(s.CreateGift(t.Context(), account.Number, in))(t)
}

func TestPlansAreFilteredAndSorted(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
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
				if strings.Join(got, " ") != want {
					t.Errorf("%s: %v, want %s", query, got, want)
				}
			}
		}
	})
}
