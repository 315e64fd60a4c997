package organization

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"time"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/store"
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
	Contacts       store.Counts
	Growth         page.Chart
	Grown          int64 // new contacts in all of its months
	ThisMonth      int64 // new contacts
	LastMonth      int64
	MonthAt        string // the list of those of this month
	Newest         []crm.Contact
	Tags           []store.TagCount
	Campaigns      []page.CampaignRow
	CampaignsTotal int64
	Giving         *givingView // nil while no gift was recorded
	Tidy           page.TidyView
	ToThank        int64  // gifts
	Reviews        int64  // donations that a person must look at
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

func HomePage(r *page.Request) error {
	view, err := glance(r, r.Context())
	if err == nil {
		view.Steps, err = firstSteps(r, &view)
	}
	if err != nil {
		return err
	}
	return r.Render("home", page.View{Title: "Home", Section: "home", Data: view})
}

func glance(r *page.Request, ctx context.Context) (view homeView, err error) {
	account := r.Account()
	if view.Contacts, err = r.Store.Counts(ctx, account); err != nil {
		return view, err
	}
	campaigns, result, err := r.Store.CampaignPage(ctx, account, campaign.OwnCampaigns, crm.PageRequest{Page: 1, PerPage: homeCampaigns})
	if err != nil {
		return view, err
	}
	view.CampaignsTotal = result.Total
	if view.Giving, err = glanceAtGiving(r, ctx); err != nil {
		return view, err
	}
	if view.Reviews, err = r.Store.Reviews(ctx, account, mostToThank); err != nil {
		return view, err
	}
	if view.Giving != nil {
		if view.ToThank, err = r.Store.ToThank(ctx, account, mostToThank); err != nil {
			return view, err
		}
	}
	for _, campaign := range campaigns {
		view.Campaigns = append(view.Campaigns, r.CampaignRow(campaign))
	}
	if !view.HasContacts() {
		return view, nil
	}
	return view, glanceAtContacts(r, ctx, &view)
}

func glanceAtContacts(r *page.Request, ctx context.Context, view *homeView) (err error) {
	account, months := r.Account(), page.LastMonths(r.Today(), homeMonths)
	before, err := r.Store.Growth(ctx, account, append(months, months[homeMonths-1].AddDate(0, 1, 0)))
	if err != nil {
		return err
	}
	counts := make([]int64, homeMonths)
	for i := range counts {
		counts[i] = before[i+1] - before[i]
		view.Grown += counts[i]
	}
	view.Growth = page.NewChart(months, counts, 1, func(month time.Time, count int64) page.MonthBar {
		return page.MonthBar{Value: page.Count(count), Short: page.ShortCount(count), Address: addedAddress(r, month), SoFar: month.Equal(months[homeMonths-1])}
	})
	view.ThisMonth, view.LastMonth = counts[homeMonths-1], counts[homeMonths-2]
	if view.Newest, _, err = r.Store.ContactPage(ctx, account, crm.Active, crm.PageRequest{Page: 1, PerPage: homeContacts}); err != nil {
		return err
	}
	if view.Tidy, err = r.ToTidy(); err != nil {
		return err
	}
	view.MonthAt = addedAddress(r, months[homeMonths-1])
	view.Tags, err = r.Store.LargestTags(ctx, account, homeTags)
	return err
}

// addedAddress is the list of the contacts that were added in a month.
func addedAddress(r *page.Request, month time.Time) string {
	return page.WithQuery(r.Path("/contacts"), url.Values{"added_from": {month.Format(time.DateOnly)}, "added_to": {month.AddDate(0, 1, -1).Format(time.DateOnly)}})
}

// step is one of the first things to do in a new organization.
type step struct {
	Icon, Title, Text string
	Label, Path       string // of the button
	Done              bool
}

// stepsHidden is the cookie of a browser that hides the first steps of an organization.
func stepsHidden(r *page.Request) string { return "__Host-steps-" + r.Membership.Account.ID }

// firstSteps are those that the person may do, while one of them is left. A browser that has seen all of them done does not ask again.
func firstSteps(r *page.Request, view *homeView) ([]step, error) {
	if r.Membership.Role < access.Editor || page.CookieValue(r.Request, stepsHidden(r)) != "" {
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
	if r.Membership.Role >= access.Owner {
		more, err := ownersSteps(r)
		if err != nil {
			return nil, err
		}
		steps = append(steps, more...)
	}
	if !slices.ContainsFunc(steps, func(s step) bool { return !s.Done }) {
		page.SetCookie(r.W, stepsHidden(r), "1", page.MemoryTime)
		return nil, nil
	}
	return steps, nil
}

// ownersSteps are those that only owners may do.
func ownersSteps(r *page.Request) ([]step, error) {
	offer, err := r.Offer(r.Currency())
	if err != nil {
		return nil, err
	}
	keys, err := r.Store.Keys(r.Context(), r.Account())
	if err != nil {
		return nil, err
	}
	members, err := r.Store.Members(r.Context(), r.Account())
	if err != nil {
		return nil, err
	}
	invited, err := r.Store.Invitations(r.Context(), r.Account())
	return []step{
		{"card", "Take gifts on your campaign pages", "Connect Stripe, or enter a bank account or an address for checks.", "Set up taking money", page.DonationSettingsPath, len(offer.Ways) > 0},
		{"mail", "Set up mail", "Donorbook then mails thank-yous, receipts and invitations. The person who runs your server turns it on.", "See how", "/settings/mail", r.Store.Mails()},
		{"person", "Invite a colleague", "Choose whether they may view, edit or manage.", "Invite colleague", "/settings/people", len(members)+len(invited) > 1},
		{"key", "Create an API key", "Your website and other tools use it to add contacts and gifts.", "Create API key", "/settings/integrations/api-keys/new", len(keys) > 0},
	}, err
}

// HideSteps hides the first steps in this browser.
func HideSteps(r *page.Request) error {
	page.SetCookie(r.W, stepsHidden(r), "1", page.MemoryTime)
	return r.Redirect(r.Path(""))
}

const (
	homeTopCampaigns = 5
	homeLargest      = 5
	largestMonths    = 3 // this one and those before it
)

// givingView is what a fundraiser looks at first. Every number leads to the list behind it.
type givingView struct {
	store.GivingOverview
	Figures   []page.Figure
	Chart     page.Chart
	Top       []store.CampaignGiving // of the year
	Largest   []store.GiftRecord
	Campaigns map[int64]store.CampaignName // of the largest gifts
	Year      int64
	OthersAt  string // the list of the gifts of the same time, with those in other currencies
}

// glanceAtGiving reads what was given; it is nil while no gift was recorded.
func glanceAtGiving(r *page.Request, ctx context.Context) (*givingView, error) {
	now := text.WallClock(r.Now(), r.Zone())
	overview, err := r.Store.GivingOverview(ctx, r.Account(), r.Now())
	if err != nil || !overview.Any {
		return nil, err
	}
	months := page.LastMonths(now, store.OverviewMonths)
	view := &givingView{GivingOverview: overview, Year: giving.Year(now), Figures: givingFigures(r, overview, now)}
	view.OthersAt = r.GiftsAddress(url.Values{"from": {months[0].Format(time.DateOnly)}})
	amounts := store.Collect(months, func(month time.Time) int64 { return overview.Months[giving.Month(month)].Amount })
	view.Chart = r.MoneyChart(months, amounts, overview.Currency)
	if view.Top, err = r.Store.TopCampaigns(ctx, r.Account(), view.Year, homeTopCampaigns); err != nil {
		return nil, err
	}
	if view.Largest, err = r.Store.LargestGifts(ctx, r.Account(), largestMonths, homeLargest); err != nil {
		return nil, err
	}
	campaigns := store.Collect(view.Largest, func(g store.GiftRecord) int64 { return g.Campaign })
	view.Campaigns, err = r.Store.CampaignNames(ctx, r.Account(), campaigns)
	return view, err
}

// givingFigures are the numbers at the head of the page. The first is the one that people look for.
func givingFigures(r *page.Request, o store.GivingOverview, now time.Time) []page.Figure {
	year := giving.Year(now)
	money := func(minor int64) string { return text.Money(minor, o.Currency) }
	first := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	before := first.AddDate(-1, 0, 0)
	thisYear, lastYear := strconv.FormatInt(year, 10), strconv.FormatInt(year-1, 10)
	donors := func(year int64, kind giving.DonorKind) string {
		return r.DonorsAddress(giving.DonorFilter{Year: year, Kind: kind}, store.DonorPlace{})
	}
	gifts := r.GiftsAddress(page.With(page.GiftsOfYear(year), "status", giving.CountedGifts))
	figures := []page.Figure{
		againstLastYear(r, o, now),
		{
			Label: "Raised this month", Value: money(o.Months[giving.Month(first)].Amount), Address: r.MonthAddress(first),
			Number: money(o.Months[giving.Month(before)].Amount), Linked: r.MonthAddress(before), After: "in " + before.Format("January 2006") + " (full month)",
		},
		{
			Label: "Average gift", Value: money(page.Rounded(o.ThisYear.Amount, o.ThisYear.Gifts)), Address: gifts,
			Number: page.Plural(o.ThisYear.Gifts, "gift"), Linked: gifts, After: "in " + thisYear,
		},
		{
			Label: "Recurring share", Value: page.PercentText(o.ThisYear.Recurring, o.ThisYear.Amount), Address: r.GiftsAddress(page.With(page.GiftsOfYear(year), "plan", "any")),
			Number: money(o.ThisYear.Recurring), Linked: r.GiftsAddress(page.With(page.GiftsOfYear(year), "plan", "any")), After: "from recurring gifts in " + thisYear,
		},
		{
			Label: "New donors", Value: page.Count(o.Donors[giving.NewDonors]), Address: donors(year, giving.NewDonors),
			Before: "of", Number: page.Plural(o.Donors[giving.AllDonors], "donor"), Linked: donors(year, giving.AllDonors), After: "in " + thisYear,
		},
		{
			Label: "Returning donors", Value: page.Count(o.Donors[giving.ReturningDonors]), Address: donors(year, giving.ReturningDonors),
			After: "gave in " + lastYear + " and in " + thisYear,
		},
		{
			Label: "Donor retention", Value: page.PercentText(o.Donors[giving.ReturningDonors], o.LastYearDonors), Address: donors(year, giving.ReturningDonors),
			Before: "of", Number: page.Plural(o.LastYearDonors, "donor"), Linked: donors(year-1, giving.AllDonors), After: "of " + lastYear + " gave again",
		},
		{
			Label: "Lapsed donors", Value: page.Count(o.Donors[giving.LapsedDonors]), Address: donors(year, giving.LapsedDonors),
			After: "gave in " + lastYear + " and not yet in " + thisYear,
		},
	}
	return figures
}

// againstLastYear is what was raised this year, and how much more or less that is than at the same day last year.
func againstLastYear(r *page.Request, o store.GivingOverview, now time.Time) page.Figure {
	year := giving.Year(now)
	until := page.SameDayBefore(now)
	f := page.Figure{
		Label: "Raised this year", Value: text.Money(o.ThisYear.Amount, o.Currency), Address: r.GiftsAddress(page.GiftsOfYear(year)),
		Number: text.Money(o.LastYearToDate, o.Currency), After: "by " + page.Day(until),
		Linked: r.GiftsAddress(page.GiftsBetween(time.Date(now.Year()-1, 1, 1, 0, 0, 0, 0, time.UTC), until)),
	}
	f.Before, f.Trend = page.Comparison(o.ThisYear.Amount, o.LastYearToDate)
	return f
}
