package console

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/gifts"
)

// How much of each list the home page shows.
const (
	homeMonths    = 12
	homeContacts  = 6
	homeTags      = 8
	homeCampaigns = 5
	mostToThank   = 10_000
)

// homeView is an organization at a glance.
type homeView struct {
	Contacts       contacts.Counts
	Growth         chart
	Grown          int64 // new contacts in all of its months
	ThisMonth      int64 // new contacts
	LastMonth      int64
	MonthAt        string // the list of those of this month
	Newest         []crm.Contact
	Tags           []contacts.TagCount
	Campaigns      []campaignRow
	CampaignsTotal int64
	Giving         *givingView // nil while no gift was recorded
	Tidy           tidyView
	ToThank        int64  // gifts
	Steps          []step // nil when they are done, or the person has hidden them
}

// HasContacts tells whether the organization has ever had a contact.
func (h homeView) HasContacts() bool { return h.Contacts.Active+h.Contacts.Archived > 0 }

// StepsDone is how many of the first steps are done.
func (h homeView) StepsDone() (n int) {
	for _, s := range h.Steps {
		if s.Done {
			n++
		}
	}
	return n
}

// New tells whether there is nothing to look at yet.
func (h homeView) New() bool { return !h.HasContacts() && h.CampaignsTotal == 0 && h.Giving == nil }

func (r *request) homePage() error {
	view, err := r.glance(r.Context())
	if err == nil {
		view.Steps, err = r.firstSteps(&view)
	}
	if err != nil {
		return err
	}
	return r.render("home", page{Title: "Home", Section: "home", Data: view})
}

func (r *request) glance(ctx context.Context) (view homeView, err error) {
	account := r.account()
	if view.Contacts, err = r.store.Counts(ctx, account); err != nil {
		return view, err
	}
	campaigns, result, err := r.store.CampaignPage(ctx, account, campaign.OwnCampaigns, crm.PageRequest{Page: 1, PerPage: homeCampaigns})
	if err != nil {
		return view, err
	}
	view.CampaignsTotal = result.Total
	if view.Giving, err = r.glanceAtGiving(ctx); err != nil {
		return view, err
	}
	if view.Giving != nil {
		if view.ToThank, err = r.store.ToThank(ctx, account, mostToThank); err != nil {
			return view, err
		}
	}
	for _, campaign := range campaigns {
		view.Campaigns = append(view.Campaigns, r.campaignRow(campaign))
	}
	if !view.HasContacts() {
		return view, nil
	}
	return view, r.glanceAtContacts(ctx, &view)
}

func (r *request) glanceAtContacts(ctx context.Context, view *homeView) (err error) {
	account, months := r.account(), lastMonths(r.today(), homeMonths)
	before, err := r.store.Growth(ctx, account, append(months, months[homeMonths-1].AddDate(0, 1, 0)))
	if err != nil {
		return err
	}
	counts := make([]int64, homeMonths)
	for i := range counts {
		counts[i] = before[i+1] - before[i]
		view.Grown += counts[i]
	}
	view.Growth = newChart(months, counts, 1, func(month time.Time, count int64) monthBar {
		return monthBar{Value: shownCount(count), Short: shortCount(count), Address: r.addedAddress(month), SoFar: month.Equal(months[homeMonths-1])}
	})
	view.ThisMonth, view.LastMonth = counts[homeMonths-1], counts[homeMonths-2]
	if view.Newest, _, err = r.store.ContactPage(ctx, account, crm.Active, crm.PageRequest{Page: 1, PerPage: homeContacts}); err != nil {
		return err
	}
	if view.Tidy, err = r.toTidy(); err != nil {
		return err
	}
	view.MonthAt = r.addedAddress(months[homeMonths-1])
	view.Tags, err = r.store.LargestTags(ctx, account, homeTags)
	return err
}

// addedAddress is the list of the contacts that were added in a month.
func (r *request) addedAddress(month time.Time) string {
	return withQuery(r.path("/contacts"), url.Values{"added_from": {month.Format(time.DateOnly)}, "added_to": {month.AddDate(0, 1, -1).Format(time.DateOnly)}})
}

// step is one of the first things to do in a new organization.
type step struct {
	Icon, Title, Text string
	Label, Path       string // of the button
	Done              bool
}

// stepsHidden is the cookie of a browser that hides the first steps of an organization.
func (r *request) stepsHidden() string { return "__Host-steps-" + r.membership.Account.ID }

// firstSteps are those that the person may do, while one of them is left. A browser that has seen all of them done does not ask again.
func (r *request) firstSteps(view *homeView) ([]step, error) {
	if r.membership.Role < access.Editor || cookieValue(r.Request, r.stepsHidden()) != "" {
		return nil, nil
	}
	gift := step{"gift", "Record your first gift", "Open a contact and enter the amount. This page then shows what you have raised.", "Choose contact", "/contacts", view.Giving != nil}
	if !view.HasContacts() {
		gift.Text, gift.Label, gift.Path = "Import gifts with their donors, or add a contact first and enter the amount there.", "Import gifts", "/contacts/import?of=gifts"
	}
	steps := []step{
		{"people", "Add your contacts", "Upload a spreadsheet of your donors and prospects. You see a preview first, and can undo it.", "Import contacts", "/contacts/import", view.HasContacts()},
		gift,
		{"flag", "Create your first campaign", "Give it a goal, a story and a public page that you can share.", "Create campaign", "/campaigns/new", view.CampaignsTotal > 0},
	}
	if r.membership.Role >= access.Owner {
		keys, err := r.store.Keys(r.Context(), r.account())
		if err != nil {
			return nil, err
		}
		members, err := r.store.Members(r.Context(), r.account())
		if err != nil {
			return nil, err
		}
		invited, err := r.store.Invitations(r.Context(), r.account())
		if err != nil {
			return nil, err
		}
		steps = append(steps,
			step{"person", "Invite a colleague", "Choose whether they may view, edit or manage.", "Invite colleague", "/settings/people", len(members)+len(invited) > 1},
			step{"key", "Create an API key", "Your website and other tools use it to add contacts and gifts.", "Create API key", "/settings/keys/new", len(keys) > 0})
	}
	if !slices.ContainsFunc(steps, func(s step) bool { return !s.Done }) {
		setCookie(r.w, r.stepsHidden(), "1", memoryTime)
		return nil, nil
	}
	return steps, nil
}

// hideSteps hides the first steps in this browser.
func (r *request) hideSteps() error {
	setCookie(r.w, r.stepsHidden(), "1", memoryTime)
	return r.redirect(r.path(""))
}

// lastMonths are the first moments of the last n months, of which this is the last, where now is.
func lastMonths(now time.Time, n int) []time.Time {
	year, month, _ := now.Date()
	months := make([]time.Time, 0, n+1)
	for i := range n {
		months = append(months, time.Date(year, month-time.Month(n-1-i), 1, 0, 0, 0, 0, now.Location()))
	}
	return months
}

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
	Trend                         string // up or down, "" for neither
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
	view.Chart = r.moneyChart(months, amounts, overview.Currency)
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

// givingFigures are the numbers at the head of the page. The first is the one that people look for.
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
		r.againstLastYear(o, now),
		{
			Label: "Raised this month", Value: money(o.Months[giving.Month(first)].Amount), Address: r.monthAddress(first),
			Number: money(o.Months[giving.Month(before)].Amount), Linked: r.monthAddress(before), After: "in " + before.Format("January 2006") + " (full month)",
		},
		{
			Label: "Average gift", Value: money(rounded(o.ThisYear.Amount, o.ThisYear.Gifts)), Address: gifts,
			Number: plural(o.ThisYear.Gifts, "gift"), Linked: gifts, After: "in " + thisYear,
		},
		{
			Label: "Recurring share", Value: percentText(o.ThisYear.Recurring, o.ThisYear.Amount), Address: r.giftsAddress(with(giftsOfYear(year), "plan", "any")),
			Number: money(o.ThisYear.Recurring), Linked: r.giftsAddress(with(giftsOfYear(year), "plan", "any")), After: "from recurring gifts in " + thisYear,
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
			Label: "Lapsed donors", Value: shownCount(o.Donors[giving.LapsedDonors]), Address: donors(year, giving.LapsedDonors),
			After: "gave in " + lastYear + " and not yet in " + thisYear,
		},
	}
	return figures
}

// againstLastYear is what was raised this year, and how much more or less that is than at the same day last year.
func (r *request) againstLastYear(o gifts.GivingOverview, now time.Time) figure {
	year := giving.Year(now)
	until := sameDayBefore(now)
	f := figure{
		Label: "Raised this year", Value: text.Money(o.ThisYear.Amount, o.Currency), Address: r.giftsAddress(giftsOfYear(year)),
		Number: text.Money(o.LastYearToDate, o.Currency), After: "by " + shownDay(until),
		Linked: r.giftsAddress(giftsBetween(time.Date(now.Year()-1, 1, 1, 0, 0, 0, 0, time.UTC), until)),
	}
	f.Before, f.Trend = comparison(o.ThisYear.Amount, o.LastYearToDate)
	return f
}

// sameDayBefore is the same day of the year before, or the last one of its month.
func sameDayBefore(now time.Time) time.Time {
	last := time.Date(now.Year()-1, now.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
	return time.Date(now.Year()-1, now.Month(), min(now.Day(), last), 0, 0, 0, 0, time.UTC)
}

// comparison says how much more or less one amount is than another, which follows; "" where there is nothing to compare with.
func comparison(is, was int64) (words, trend string) {
	switch more := is - was; {
	case was == 0:
		return "", ""
	case more > 0:
		return percentText(more, was) + " more than", "up"
	case more < 0:
		return percentText(-more, was) + " less than", "down"
	}
	return "The same as", ""
}

// moneyChart draws what was given in the months of two years, side by side.
func (r *request) moneyChart(months []time.Time, amounts []int64, currency string) chart {
	this := giving.Month(text.WallClock(r.now(), r.zone()))
	return newChart(months, amounts, 2, func(month time.Time, amount int64) monthBar {
		return monthBar{Value: text.Money(amount, currency), Short: shortCount(rounded(amount, text.ScaleOf(text.Decimals(currency)))), Address: r.monthAddress(month), SoFar: giving.Month(month) == this}
	})
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
