package book

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

var donorsNow = time.Date(2026, time.November, 16, 10, 0, 0, 0, time.UTC)

// generous is an account with gifts of three years from many contacts, in two currencies.
func generous(t *testing.T, s *Book) (account access.Account, campaigns []campaign.Campaign, gifts []giving.Gift) {
	account = newAccount(t, s)
	random := rand.New(rand.NewPCG(3, 4))
	for _, title := range []string{"Gala", "Coats", "Books"} {
		campaigns = append(campaigns, createCampaign(t, s, account, fmt.Sprintf(`{"title":%q}`, title)))
	}
	var contacts []int64
	for i := range 60 {
		contacts = append(contacts, create(t, s, account.Number,
			fmt.Sprintf(`{"first_name":"A%d","last_name":"B"}`, i)).ID)
	}
	for range 200 {
		body := fmt.Sprintf(`{"contact_id":%d,"amount":%d.50,"method":%q,"transacted_at":%q,"status":%q`,
			contacts[random.IntN(60)], 1+random.IntN(200),
			giving.Methods[random.IntN(len(giving.Methods))], donorsNow.AddDate(0, 0,
				-random.IntN(1000)).Format(time.DateOnly),
			[]string{"succeeded", "succeeded", "succeeded", "pending"}[random.IntN(4)])
		if random.IntN(5) == 0 {
			body += `,"currency":"EUR"`
		} else if random.IntN(2) == 0 {
			body += fmt.Sprintf(`,"campaign_id":%d`, campaigns[random.IntN(2)].ID)
		}
		made, err := s.CreateGift(t.Context(), account.Number, giftInput(t, body+"}", true, donorsNow))
		if err != nil {
			t.Fatal(err)
		}
		if random.IntN(10) == 0 && made.Status == giving.Succeeded {
			if made, err = s.RefundGift(t.Context(), account.Number, made.Code, nil, ""); err != nil {
				t.Fatal(err)
			}
		}
		gifts = append(gifts, made.Gift)
	}
	return account, campaigns, gifts
}

// gave are the contacts who gave in a currency, in a year (0 for any) and for a campaign (0 for any).
func gave(gifts []giving.Gift, currency string, campaign, year int64) map[int64]int64 {
	given := map[int64]int64{}
	for i := range gifts {
		g := &gifts[i]
		if (currency == "" || g.Currency == currency) && (year == 0 || giving.Year(g.Local) == year) &&
			(campaign == 0 || g.Campaign == campaign) && g.Net() > 0 {
			given[g.Contact] += g.Net()
		}
	}
	return given
}

// donorsOf computes which donors a filter finds, in the simplest way.
func donorsOf(gifts []giving.Gift, f giving.DonorFilter) (ids []int64) {
	currency := "" // of a year any, of a campaign its own
	if f.Campaign != 0 {
		currency = "USD"
	}
	in := f.Year
	if f.Kind == giving.LapsedDonors {
		in--
	}
	for id := range gave(gifts, currency, f.Campaign, in) {
		earlier := false
		for i := range gifts {
			g := &gifts[i]
			earlier = earlier || g.Contact == id && g.Net() > 0 && giving.Year(g.Local) < f.Year
		}
		keep := map[giving.DonorKind]bool{
			giving.AllDonors: true, giving.NewDonors: !earlier, giving.ReturningDonors: gave(gifts, "", 0,
				f.Year-1)[id] > 0,
			giving.LapsedDonors: gave(gifts, "", 0, f.Year)[id] == 0,
		}
		if keep[f.Kind] {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func TestDonorsAreThoseOfTheLedger(t *testing.T) {
	s := newBook(t)
	account, campaigns, ledger := generous(t, s)
	filters := []giving.DonorFilter{{Campaign: campaigns[0].ID}, {Campaign: campaigns[2].ID}, {Year: 2020}}
	for year := int64(2024); year <= 2026; year++ {
		for _, kind := range giving.DonorKinds {
			filters = append(filters, giving.DonorFilter{Year: year, Kind: kind})
		}
	}
	for _, f := range filters {
		in := f.Year // lapsed donors gave in the year before
		if f.Kind == giving.LapsedDonors {
			in--
		}
		want, dollars := donorsOf(ledger, f), gave(ledger, "USD", f.Campaign, in)
		euros := gave(ledger, "EUR", f.Campaign, in)
		var got []int64
		var at, last store.DonorPlace
		for more := true; more; more = at != (store.DonorPlace{}) {
			page := must(s.Donors(t.Context(), account.Number, f, at, 7))(t)
			equal(t, page.Totals[f.Kind], int64(len(want)), "%+v: a total", f)
			equal(t, page.Currency, "USD")
			equal(t, at.After != 0 && page.Prev == (store.DonorPlace{}), false, "%+v: no page before %+v", f, at)
			for _, d := range page.Donors {
				got = append(got, d.Contact.ID)
				equal(t, d.Sums["USD"], dollars[d.Contact.ID], "%+v: dollars", f)
				equal(t, f.Year != 0 && d.Sums["EUR"] != euros[d.Contact.ID], false, "%+v: not their euros", f)
			}
			at, last = page.Next, page.Prev
		}
		equal(t, got, want, "%+v", f)
		if len(want) > 7 {
			back := must(s.Donors(t.Context(), account.Number, f, last, 7))(t)
			expect(t, "back from the last page", fmt.Sprint(7, want[(len(want)-1)/7*7-1], false), len(back.Donors),
				back.Donors[6].Contact.ID, back.Next == (store.DonorPlace{}))
		}
	}
}

// Pages of statements have every giver of a year once, in the order of their ids, forward and back, whatever the
// currency.
func TestStatementsHaveEveryGiverOnce(t *testing.T) {
	s := newBook(t)
	account, _, ledger := generous(t, s)
	for _, year := range []int64{2020, 2024, 2025, 2026} {
		want := slices.Sorted(maps.Keys(gave(ledger, "", 0, year)))
		for _, back := range []bool{false, true} {
			var got []int64
			at := store.DonorPlace{}
			if back {
				at.Before = doc.MakeID(account.Number, doc.MaxSeq)
			}
			for more := true; more; more = at != (store.DonorPlace{}) {
				people, page := must2(statementPageOf(s, account.Number, giving.DonorFilter{Year: year}, at, 3))(t)
				ids := store.Collect(people, func(c crm.Contact) int64 { return c.ID })
				if at = page.Next; back {
					at, ids, got = page.Prev, got, ids
				}
				got = append(got, ids...)
			}
			equal(t, got, want, "%d, back: %v", year, back)
		}
		for _, id := range want {
			checkCountedGifts(t, s, account, id, year, ledger)
		}
	}
}

func statementPageOf(s *Book, account int64, f giving.DonorFilter, at store.DonorPlace,
	limit int) (contacts []crm.Contact, page store.StatementPage, err error) {
	err = s.Db.Read(context.Background(), func(c db.Conn) error {
		contacts, page, err = store.StatementContacts(c, account, f, at, limit)
		return err
	})
	return contacts, page, err
}

func checkCountedGifts(t *testing.T, s *Book, account access.Account, contact, year int64, gifts []giving.Gift) {
	t.Helper()
	var got []int64
	for record, err := range s.CountedGifts(t.Context(), account.Number, contact, year) {
		succeed(t, err)
		got = append(got, record.ID)
	}
	gifts = slices.DeleteFunc(slices.Clone(gifts), func(g giving.Gift) bool {
		return g.Contact != contact || giving.Year(g.At) != year || g.Net() <= 0
	})
	slices.SortFunc(gifts, func(a, b giving.Gift) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	equal(t, got, store.Collect(gifts, func(g giving.Gift) int64 { return g.ID }), "contact %d in %d", contact, year)
}

// More gifts than are read at once, many of them at the same moment.
func TestManyGiftsOfOneContactComeInOrder(t *testing.T) {
	s := newOrg(t, newBook(t))
	contact := s.person(`{"first_name":"A","last_name":"B"}`)
	var found []giving.Gift
	for i := range store.GiftsAtOnce + 5 {
		found = append(found, s.gave(contact, fmt.Sprintf("2025-%02d-01", 1+i%2), ""))
	}
	checkCountedGifts(t, s.Book, s.Account, contact, 2025, found)
}

func TestAnOverviewIsThatOfTheLedger(t *testing.T) {
	s := newBook(t)
	account, _, found := generous(t, s)
	sums := sumsOf(found)
	donors := func(year int64, kind giving.DonorKind) int64 {
		return int64(len(donorsOf(found, giving.DonorFilter{Year: year, Kind: kind})))
	}
	for _, now := range []time.Time{donorsNow, time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2025, time.December, 31, 23, 59, 0, 0, time.UTC),
		time.Date(2025, time.February, 28, 8, 0, 0, 0, time.UTC)} {
		year, toDate := int64(now.Year()), int64(0)
		for i := range found {
			if g := &found[i]; g.Currency == "USD" && giving.Year(g.At) == year-1 &&
				giving.Day(g.At) <= giving.Day(now)-10000 {
				toDate += g.Net()
			}
		}
		o := must(s.GivingOverview(t.Context(), account.Number, now))(t)
		expect(t, now.String(), fmt.Sprint("true USD ", toDate, donors(year-1, giving.AllDonors)), o.Any, o.Currency,
			o.LastYearToDate, o.LastYearDonors)
		equal(t, o.ThisYear, yearOf(found, year, 0), "%v", now)
		for _, kind := range giving.DonorKinds {
			equal(t, o.Donors[kind], donors(year, kind), "%v (%v)", now, kind)
		}
		for i := range store.OverviewMonths + 1 {
			month := giving.Month(time.Date(now.Year(), now.Month()-time.Month(i), 1, 0, 0, 0, 0, time.UTC))
			want := sums[giving.Cell(0, month, "USD", 0)]
			if i == store.OverviewMonths {
				want = giving.Sums{} // not shown
			}
			equal(t, o.Months[month], want, "%v: the month %d", now, month)
		}
	}
	top := must(s.TopCampaigns(t.Context(), account.Number, 2026, 5))(t)
	expect(t, "top campaigns", "2 true", len(top), top[0].Giving.Amount >= top[1].Giving.Amount)
	for _, c := range top {
		want := yearOf(found, 2026, c.Campaign.ID)
		expect(t, "it was given", fmt.Sprint(want.Gifts, want.Amount, false), c.Giving.Gifts, c.Giving.Amount,
			c.Campaign.Title == "")
	}
	o := must(s.GivingOverview(t.Context(), newAccount(t, s).Number, donorsNow))(t)
	equal(t, o.Any, false)
	equal(t, o.ThisYear, giving.Sums{})
}

// The home page and the lists of gifts and donors read the same amount, no matter how many contacts gave. Donors are
// counted by their gifts.
func TestManyDonorsCostNoMoreThanOne(t *testing.T) {
	b := newBook(t)
	var costs [2][]int64
	for i := range costs {
		s := newOrg(t, b)
		contact := s.person(`{"first_name":"A","last_name":"B"}`)
		for n := range 40 {
			if i == 1 && n > 0 {
				contact = s.person(fmt.Sprintf(`{"first_name":"A%d","last_name":"B"}`, n))
			}
			s.gave(contact, "2026-11-01", "")
		}
		spy := spyOn(t, b)
		rows := func(err error) int64 {
			succeed(t, err)
			return spy.rows.Swap(0)
		}
		costs[i] = []int64{rows(errOf(s.GivingOverview(t.Context(), s.Number, donorsNow))),
			rows(errOf(s.TopCampaigns(t.Context(), s.Number, 2026, 5))),
			rows(errOf2(s.GiftPage(t.Context(), s.Number, giving.GiftFilter{}, crm.PageRequest{Page: 1, PerPage: 5})))}
		if n := rows(errOf(s.Donors(t.Context(), s.Number, giving.DonorFilter{Year: 2026}, store.DonorPlace{},
			5))); n > 40+30 {
			t.Errorf("five donors take %d rows", n)
		}
	}
	equal(t, costs[0], costs[1], "rows of one donor, and of 40")
}
