package giving

import (
	"slices"
	"time"

	"donorbook/internal/console/page"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/text"
)

const (
	donationsPerPage = 50
	mostReviews      = 10_000
)

// Choices of the filter by state that are none of the states.
const (
	toReview = "review"
	notHere  = "not_here"
	promised = "promised"
)

// DonationListing is the list of gifts that people began to make on a page.
var DonationListing = &page.Listing{
	Name: "donations", Things: "online donations", Columns: donationColumns, More: []string{"created_after", "created_before"},
	Fields: []page.Filter{
		{Name: "state", Label: "State", Choices: append(page.NewOptions("=All states", toReview+"=Please review", notHere+"=Not from here", promised+"=Promised"), stateOptions()...)},
		{Name: "campaign", Label: "Campaign"},
		{Name: "find", Label: "Reference or email", Said: "Reference or email "},
		{Name: "from", Label: "From", Parameter: "created_after", Kind: page.DayAsked, Ends: "Begun"},
		{Name: "to", Label: "To", Parameter: "created_before", Kind: page.LastDayAsked},
	},
}

var donationColumns = []page.Column{
	{Name: "when", Label: "Date"}, {Name: "who", Label: "From"}, {Name: "campaign", Label: "Campaign", Optional: true, Usual: true, Told: true}, {Name: "state", Label: "State", Told: true},
	{Name: "amount", Label: "Amount", Class: "right number amount"},
}

// donationRow is a donation in a list.
type donationRow struct {
	donate.Donation
	Title  string // of its campaign
	Marks  []page.Mark
	Review review // zero where no one must look
}

// Who is what the giver is called, as they typed it.
func (d *donationRow) Who() string {
	if name := d.Wish.Name(); name != "" {
		return name
	}
	return "Unknown"
}

// donationsView is the list of donations.
type donationsView struct {
	page.Table
	page.Filters
	Tabs    []page.Tab
	Reviews int64 // that a person must look at
	Beyond  bool  // there are more than pages lead to
}

func DonationsPage(r *page.Request) error {
	q, to := r.Asked(DonationListing)
	if to != "" {
		return r.Redirect(to)
	}
	currency, err := r.Store.Currency(r.Context(), r.Account())
	if err != nil {
		return err
	}
	view := donationsView{Table: r.NewList(DonationListing, "Online donations, newest first", nil), Filters: r.Filters(DonationListing, q), Tabs: givingTabs(r, "donations")}
	if err := r.OfferCampaigns(&view.Filters, "campaign", "All campaigns", currency); err != nil {
		return err
	}
	if view.Reviews, err = r.Store.Reviews(r.Context(), r.Account(), mostReviews); err != nil {
		return err
	}
	state := q.Get("state")
	filter, err := donate.ParseFilter(func(name string) string {
		if name == "state" && slices.Contains([]string{toReview, notHere, promised}, state) {
			return ""
		}
		return q.Get(name)
	})
	if err == nil {
		filter.Campaign, filter.Find = page.ParseID(q.Get("campaign")), q.Get("find")
		filter.Review, filter.NotHere, filter.Promised = state == toReview, state == notHere, state == promised
		err = listDonations(r, &view, filter)
	}
	if err := view.Refuse(err); err != nil {
		return err
	}
	return r.Render("donations", page.View{Title: "Online donations", Section: "gifts", Form: view.Panel, Data: &view})
}

func listDonations(r *page.Request, view *donationsView, filter donate.Filter) error {
	l := view.List(r, donationsPerPage)
	all, found, err := r.Store.Donations(r.Context(), r.Account(), filter, l.PageRequest)
	if err != nil {
		return err
	}
	view.Rows, err = donationRows(r, all)
	view.Pager, view.Beyond = l.Pager(min(found.Total, donate.Listed)), found.Total > donate.Listed
	return err
}

func donationRows(r *page.Request, all []donate.Donation) (rows []*donationRow, err error) {
	var ids []int64
	for _, d := range all {
		if d.Campaign != 0 && !slices.Contains(ids, d.Campaign) {
			ids = append(ids, d.Campaign)
		}
	}
	names, err := r.Store.CampaignNames(r.Context(), r.Account(), ids)
	for _, d := range all {
		rows = append(rows, &donationRow{d, names[d.Campaign].Title, donationMarks(&d), reviews[d.Doubt]})
	}
	return rows, err
}

// donationView is the page of one donation.
type donationView struct {
	*donationRow
	Receive   *page.Form // of a promise
	Campaigns []page.Option
}

func DonationOf(r *page.Request) (donate.Donation, error) {
	return r.Store.DonationByID(r.Context(), r.Account(), r.PathValue("donation"))
}

// DonationPage shows what someone asked for on a page, what became of it, and what a person should do about it.
func DonationPage(r *page.Request, d donate.Donation) error {
	rows, err := donationRows(r, []donate.Donation{d})
	if err != nil {
		return err
	}
	view := donationView{donationRow: rows[0], Receive: r.Form.IfSentTo("/receive")}
	view.Receive.SetUnsent("day", r.Today().Format(time.DateOnly))
	if d.Doubt == donate.NotHere {
		if view.Campaigns, err = r.CampaignOptions("", "No campaign", d.Currency); err != nil {
			return err
		}
	}
	return r.Render("donation", page.View{Title: text.Money(d.Charged, d.Currency) + " from " + rows[0].Who(), Section: "gifts", Form: r.Form, Data: &view})
}

// DonationPath is the page of a donation.
func donationPath(d *donate.Donation) string { return "/donations/" + d.ID }

// ResolveReview notes that someone has looked at a donation.
func ResolveReview(r *page.Request, d donate.Donation) error {
	if _, err := r.Store.ResolveReview(r.Context(), r.Account(), d.ID); err != nil {
		return err
	}
	return r.Redirect(r.Path("/donations?state="+toReview), page.Notice{Text: "Marked as reviewed.", View: r.Path(donationPath(&d)), Link: "View donation"})
}

// TakeOver makes a gift of a payment that did not begin here.
func TakeOver(r *page.Request, d donate.Donation) error {
	made, err := r.Store.TakeOver(r.Context(), r.Account(), d.ID, page.ParseID(r.Form.Value("campaign_id")))
	if said := page.Trouble(err); said != "" {
		return r.Redirect(r.Path(donationPath(&d)), page.Notice{Text: "Not taken over.", Warning: said})
	}
	if err != nil {
		return err
	}
	return r.Redirect(r.Path(donationPath(&made)), page.Notice{Text: "The payment is now a gift.", View: r.Path(page.GiftPath(made.Gift)), Link: "View gift"})
}

// ReceiveDonation makes a gift of a promise that was kept.
func ReceiveDonation(r *page.Request, d donate.Donation) error {
	made, err := r.Store.Received(r.Context(), r.Account(), d.ID, r.Form.Value("day"))
	if err != nil {
		return err
	}
	return r.Redirect(r.Path(donationPath(&made)), page.Notice{Text: text.Money(d.Charged, d.Currency) + " from " + d.Wish.Name() + " was received.", View: r.Path(page.GiftPath(made.Gift)), Link: "View gift"})
}
