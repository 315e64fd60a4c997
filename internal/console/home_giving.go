package console

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/store/gifts"
)

const (
	homeTopCampaigns = 5
	homeLargest      = 5
	largestMonths    = 3 // this one and those before it
)

// givingView is what a fundraiser looks at first. Every number leads to the list behind it.
type givingView struct {
	gifts.GivingOverview
	Figures   []figure
	Chart     chart
	Top       []gifts.CampaignGiving // of the year
	Largest   []gifts.GiftRecord
	Campaigns map[int64]gifts.CampaignName // of the largest gifts
	Year      int64
	OthersAt  string // the list of the gifts of the same time, with those in other currencies
}

// figure is a number with its name, and a sentence about it that may have a number of its own.
type figure struct {
	Label, Value, Address         string
	Before, Number, Linked, After string // the sentence: Number stands between, and leads to Linked
}

// glanceAtGiving reads what was given; it is nil while no gift was recorded.
func (r *request) glanceAtGiving(ctx context.Context) (*givingView, error) {
	now := text.WallClock(r.now(), r.zone())
	overview, err := r.store.GivingOverview(ctx, r.account(), r.now())
	if err != nil || !overview.Any {
		return nil, err
	}
	months := lastMonths(now, gifts.OverviewMonths)
	view := &givingView{GivingOverview: overview, Year: giving.Year(now), Figures: r.givingFigures(overview, now)}
	view.OthersAt = r.giftsAddress(url.Values{"from": {months[0].Format(time.DateOnly)}})
	var amounts []int64
	for _, month := range months {
		amounts = append(amounts, overview.Months[giving.Month(month)].Amount)
	}
	view.Chart = newChart(months, amounts, 2, func(month time.Time, amount int64) monthBar {
		return monthBar{Value: text.Money(amount, overview.Currency), Short: shortCount(text.Major(amount, overview.Currency)), Address: r.monthAddress(month)}
	})
	if view.Top, err = r.store.TopCampaigns(ctx, r.account(), view.Year, homeTopCampaigns); err != nil {
		return nil, err
	}
	if view.Largest, err = r.store.LargestGifts(ctx, r.account(), largestMonths, homeLargest); err != nil {
		return nil, err
	}
	var campaigns []int64
	for _, g := range view.Largest {
		campaigns = append(campaigns, g.Campaign)
	}
	view.Campaigns, err = r.store.CampaignNames(ctx, r.account(), campaigns)
	return view, err
}

// givingFigures are the numbers at the head of the page.
func (r *request) givingFigures(o gifts.GivingOverview, now time.Time) []figure {
	year := giving.Year(now)
	money := func(minor int64) string { return text.Money(minor, o.Currency) }
	first := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	before := first.AddDate(-1, 0, 0)
	thisYear, lastYear := strconv.FormatInt(year, 10), strconv.FormatInt(year-1, 10)
	donors := func(year int64, kind giving.DonorKind) string {
		return r.donorsAddress(giving.DonorFilter{Year: year, Kind: kind}, gifts.DonorPlace{})
	}
	gifts := r.giftsAddress(with(giftsOfYear(year), "status", giving.CountedGifts))
	figures := []figure{
		{
			Label: "Raised this month", Value: money(o.Months[giving.Month(first)].Amount), Address: r.monthAddress(first),
			Number: money(o.Months[giving.Month(before)].Amount), Linked: r.monthAddress(before), After: "in all of " + before.Format("January 2006"),
		},
		r.againstLastYear(o, now),
		{
			Label: "Average gift", Value: money(rounded(o.ThisYear.Amount, o.ThisYear.Gifts)), Address: gifts,
			Number: plural(o.ThisYear.Gifts, "gift"), Linked: gifts, After: "in " + thisYear,
		},
		{
			Label: "Recurring share", Value: percentText(o.ThisYear.Recurring, o.ThisYear.Amount), Address: r.giftsAddress(with(giftsOfYear(year), "plan", "any")),
			Number: money(o.ThisYear.Recurring), Linked: r.giftsAddress(with(giftsOfYear(year), "plan", "any")), After: "from recurring plans in " + thisYear,
		},
		{
			Label: "New donors", Value: shownCount(o.Donors[giving.NewDonors]), Address: donors(year, giving.NewDonors),
			Before: "of", Number: plural(o.Donors[giving.AllDonors], "donor"), Linked: donors(year, giving.AllDonors), After: "in " + thisYear,
		},
		{
			Label: "Returning donors", Value: shownCount(o.Donors[giving.ReturningDonors]), Address: donors(year, giving.ReturningDonors),
			After: "gave in " + lastYear + " and in " + thisYear,
		},
		{
			Label: "Donor retention", Value: percentText(o.Donors[giving.ReturningDonors], o.LastYearDonors), Address: donors(year, giving.ReturningDonors),
			Before: "of", Number: plural(o.LastYearDonors, "donor"), Linked: donors(year-1, giving.AllDonors), After: "of " + lastYear + " gave again",
		},
		{
			Label: "Lapsed donors", Value: shownCount(o.LastYearDonors - o.Donors[giving.ReturningDonors]), Address: donors(year-1, giving.LapsedDonors),
			After: "gave in " + lastYear + " and not yet in " + thisYear,
		},
	}
	return figures
}

// againstLastYear is what was raised this year, and how much more or less that is than at the same day last year.
func (r *request) againstLastYear(o gifts.GivingOverview, now time.Time) figure {
	year := giving.Year(now)
	sameDay := min(now.Day(), time.Date(now.Year()-1, now.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day())
	until := time.Date(now.Year()-1, now.Month(), sameDay, 0, 0, 0, 0, time.UTC)
	f := figure{
		Label: "Raised this year", Value: text.Money(o.ThisYear.Amount, o.Currency), Address: r.giftsAddress(giftsOfYear(year)),
		Number: text.Money(o.LastYearToDate, o.Currency), After: "by " + shownDay(until),
		Linked: r.giftsAddress(giftsBetween(time.Date(now.Year()-1, 1, 1, 0, 0, 0, 0, time.UTC), until)),
	}
	switch more := o.ThisYear.Amount - o.LastYearToDate; {
	case o.LastYearToDate == 0:
	case more > 0:
		f.Before = percentText(more, o.LastYearToDate) + " more than"
	case more < 0:
		f.Before = percentText(-more, o.LastYearToDate) + " less than"
	default:
		f.Before = "The same as"
	}
	return f
}

func (r *request) monthAddress(month time.Time) string {
	return r.giftsAddress(giftsBetween(month, month.AddDate(0, 1, -1)))
}

// rounded is a quotient to the nearest integer, 0 where there is nothing to divide by.
func rounded(n, by int64) int64 {
	if by == 0 {
		return 0
	}
	return (n + by/2) / by
}

// percentText is a share in whole percent, and a dash where there is nothing to compare with.
func percentText(part, whole int64) string {
	if whole == 0 {
		return "–"
	}
	share := 100 * float64(part) / float64(whole)
	if part > 0 && share < 0.5 {
		return "under 1%"
	}
	return shownCount(int64(share+0.5)) + "%"
}
