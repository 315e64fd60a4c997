package contacts

import (
	"maps"
	"strconv"
	"time"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/store"
)

const (
	giftsPerContact = 6 // that a contact's page shows, the latest first
	promisesShown   = 6
)

// contactGiving is what a contact has given, and what is expected next.
type contactGiving struct {
	Sums     store.ContactGiving
	Found    store.GiftTotals
	Years    []yearBar
	Thanked  string      // how the contact was thanked last, and by whom, as far as the latest gifts tell
	At       time.Time   // when
	Waiting  int         // of the latest gifts that no one has thanked for
	Against  string      // this year beside the last one, in words
	Others   string      // sums in other currencies
	Gifts    *page.Table // the latest ones, nil for none
	Promised []*page.GiftRow
	Plans    []*page.PlanRow
	Record   *page.GiftFormView // where the person may record gifts of the contact
	Open     bool               // the form is to be seen at once
}

// ThisYear and LastYear are what was given in them.
func (g contactGiving) ThisYear() int64 { return g.Sums.Years[store.GivingYears-1] }

func (g contactGiving) LastYear() int64 { return g.Sums.Years[store.GivingYears-2] }

// Average is that of all gifts that count.
func (g contactGiving) Average() int64 { return page.Rounded(g.Sums.Total.Amount, g.Sums.Total.Gifts) }

// givingOf reads the giving of a contact. A contact that may get gifts has the form for another one.
func givingOf(r *page.Request, contact *crm.Contact) (view contactGiving, err error) {
	if view.Sums, err = r.Store.ContactGiving(r.Context(), r.Account(), contact.ID); err != nil {
		return view, err
	}
	var latest, promised []store.GiftRecord
	if latest, view.Found, err = r.Store.GiftPage(r.Context(), r.Account(), giving.GiftFilter{Contact: contact.ID}, crm.PageRequest{Page: 1, PerPage: giftsPerContact}); err != nil {
		return view, err
	}
	if view.Gifts, err = r.GiftTable("Gifts, latest first", latest, "who"); err != nil {
		return view, err
	}
	if err = view.tellThanks(r, latest); err != nil {
		return view, err
	}
	if promised, err = r.Store.LatestGifts(r.Context(), r.Account(), giving.GiftFilter{Contact: contact.ID, Status: giving.Pending}, promisesShown); err != nil {
		return view, err
	}
	if view.Promised, err = r.GiftRows(promised); err != nil {
		return view, err
	}
	plans, err := r.Store.ContactPlans(r.Context(), r.Account(), contact.ID, page.ContactPlans)
	if err != nil {
		return view, err
	}
	view.tellSums(r.Today().Year())
	if view.Plans, err = r.PlanRows(plans); err != nil || contact.Archived() || r.Membership.Role < access.Editor {
		return view, err
	}
	last := ""
	if len(latest) > 0 {
		last = latest[0].Method
	}
	form, err := r.NewGiftForm(r.Form, last, view.Sums.Currency, plans)
	view.Record, view.Open = &form, r.Form.SentTo("/gifts") || r.URL.Query().Has("plan") || r.URL.Query().Has("gift")
	return view, err
}

// tellThanks says when, how and by whom the contact was thanked last.
func (g *contactGiving) tellThanks(r *page.Request, latest []store.GiftRecord) error {
	people, err := r.PeopleOf()
	for i := range latest {
		t := &latest[i].Thanks
		switch {
		case latest[i].Awaits():
			g.Waiting++
		case t.Done() && t.How != giving.ThankedNone && t.At.After(g.At):
			g.At, g.Thanked = t.At, map[string]string{giving.ThankedMail: " by mail", giving.ThankedLetter: " by letter", giving.ThankedOther: " in another way"}[t.How]
			if t.By != "" {
				g.Thanked += " (" + people.Called(t.By) + ")"
			}
		}
	}
	return err
}

func (g *contactGiving) tellSums(year int) {
	currency, now, before := g.Sums.Currency, g.ThisYear(), g.LastYear()
	switch {
	case now > before:
		g.Against = text.Money(now-before, currency) + " more than last year"
	case now < before:
		g.Against = text.Money(before-now, currency) + " less than last year so far"
	case now > 0:
		g.Against = "the same as last year"
	}
	others := maps.Clone(g.Found.Sums)
	delete(others, currency)
	g.Others = page.MoneyList(others, currency)
	g.Years = newYearBars(g.Sums.Years[:], year, currency)
}

// yearBar is what was given in a year, as an upright bar.
type yearBar struct {
	Year, Amount              string
	Left, Middle, Top, Height int
}

const (
	yearPlace = 26 // pixels for each bar
	yearRoom  = 34 // for the highest one
)

// newYearBars draws the sums of years, the last of which is named.
func newYearBars(sums []int64, last int, currency string) (bars []yearBar) {
	highest := int64(1)
	for _, sum := range sums {
		highest = max(highest, sum)
	}
	for i, sum := range sums {
		height := max(1, page.BarLength(sum, highest, yearRoom))
		bars = append(bars, yearBar{
			Year: strconv.Itoa(last - len(sums) + 1 + i), Amount: text.Money(sum, currency), Left: i*yearPlace + 4, Middle: i*yearPlace + yearPlace/2, Top: yearRoom - height, Height: height,
		})
	}
	return bars
}
