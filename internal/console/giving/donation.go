package giving

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/text"
	"donorbook/internal/store"
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
	Title   string // of its campaign
	Marks   []page.Mark
	Reviews []reviewed // why someone must look
}

// Who is what the giver is called, as they typed it.
func (d *donationRow) Who() string {
	if name := d.Wish.Name(); name != "" {
		return name
	}
	return "Unknown"
}

// Reference is what the giver writes on a promise, in groups, as they saw it.
func (d *donationRow) Reference() string { return donate.Groups(d.Donation.Reference()) }

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
	view := donationsView{Table: r.NewList(DonationListing, "Online donations, newest first", nil), Filters: r.Filters(DonationListing, q), Tabs: givingTabs(r, "donations")}
	if err := r.OfferCampaigns(&view.Filters, "campaign", "All campaigns"); err != nil {
		return err
	}
	var err error
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
	var codes []string
	for _, d := range all {
		if d.Gift != "" {
			codes = append(codes, d.Gift)
		}
		if d.Campaign != 0 && !slices.Contains(ids, d.Campaign) {
			ids = append(ids, d.Campaign)
		}
	}
	names, err := r.Store.CampaignNames(r.Context(), r.Account(), ids)
	if err != nil {
		return nil, err
	}
	made, err := r.Store.GiftsCalled(r.Context(), r.Account(), codes)
	for _, d := range all {
		rows = append(rows, &donationRow{d, names[d.Campaign].Title, donationMarks(&d, made[d.Gift]), reviewsOf(d.Doubt)})
	}
	return rows, err
}

// donationView is the page of one donation.
type donationView struct {
	*donationRow
	Receive   *page.Form   // of a promise
	Made      *giving.Gift // that it became; nil for none
	Contact   giftContact  // of that
	Mails     bool         // this server sends mail
	Campaigns []page.Option
}

// IsKept tells whether a promise was marked as received, which can be undone.
func (v *donationView) IsKept() bool {
	return v.Provider == "" && v.State == donate.Paid && v.Gift != ""
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
	view := donationView{donationRow: rows[0], Receive: r.Form.IfSentTo("/receive"), Mails: r.Store.Mails()}
	view.Receive.SetUnsent("amount", text.MoneyInput(d.Charged, d.Currency))
	view.Receive.SetUnsent("day", r.Today().Format(time.DateOnly))
	view.Receive.Blame("transacted_at", "day", receivedOn)
	if d.Gift != "" {
		g, err := r.Store.GiftRecord(r.Context(), r.Account(), d.Gift)
		if err == nil {
			view.Made = &g.Gift
			view.Contact, err = contactOf(r, view.Made)
		}
		if err != nil && !errors.Is(err, crm.ErrNotFound) {
			return err
		}
	}
	if d.Doubt.Has(donate.NotHere) {
		if view.Campaigns, err = r.CampaignOptions("", "No campaign", d.Currency); err != nil {
			return err
		}
	}
	return r.Render("donation", page.View{Title: text.Money(d.Charged, d.Currency) + " from " + rows[0].Who(), Section: "gifts", Form: r.Form, Data: &view})
}

// DonationPath is the page of a donation.
func donationPath(d *donate.Donation) string { return "/donations/" + d.ID }

// ResolveReview notes that someone has looked at a donation for a reason that the page has told.
func ResolveReview(r *page.Request, d donate.Donation) error {
	d, err := r.Store.ResolveReview(r.Context(), r.Account(), d.ID, donate.Doubt(r.Form.Value("reason")))
	if d.Doubt != "" {
		return r.Done(err, r.Path(donationPath(&d)), page.Notice{Text: "Marked as reviewed.", Warning: "This donation needs your attention for another reason, too."})
	}
	return r.Done(err, r.Path("/donations?state="+toReview), page.Notice{Text: "Marked as reviewed.", View: r.Path(donationPath(&d)), Link: "View donation"})
}

// TakeOver makes a gift of a payment that did not begin here.
func TakeOver(r *page.Request, d donate.Donation) error {
	made, err := r.Store.TakeOver(r.Context(), r.Account(), d.ID, page.ParseID(r.Form.Value("campaign_id")))
	if said := page.Trouble(err); said != "" {
		return r.Redirect(r.Path(donationPath(&d)), page.Notice{Text: "Not taken over.", Warning: said})
	}
	return r.Done(err, r.Path(donationPath(&made)), page.Notice{Text: "The payment is now a gift.", View: r.Path(page.GiftPath(made.Gift)), Link: "View gift"})
}

// receivedOn is what pages call the day on which the money of a promise came.
const receivedOn = "Received on"

// ReceiveDonation makes a gift of a promise that was kept.
func ReceiveDonation(r *page.Request, d donate.Donation) error {
	faults := new(doc.Invalid)
	amount := giving.ParseMoney(faults, "amount", r.Form.Value("amount"), d.Currency, true)
	if err := faults.Err(); err != nil {
		return err
	}
	made, err := r.Store.Received(r.Context(), r.Account(), d.ID, r.Form.Value("day"), amount)
	if err != nil {
		return err
	}
	g, err := r.Store.GiftRecord(r.Context(), r.Account(), made.Gift)
	if err != nil {
		return err
	}
	path := r.Path(donationPath(&made))
	return r.Redirect(path, page.Notice{Text: page.GiftName(&g.Gift) + " was received and recorded as a gift.", View: r.Path(page.GiftPath(made.Gift)), Link: "View gift", Undo: path + "/receive/undo"})
}

// UnreceiveDonation takes back that a promise was kept. A mail that has left cannot be taken back, which a person has to know.
func UnreceiveDonation(r *page.Request, d donate.Donation) error {
	path := r.Path(donationPath(&d))
	_, err := r.Store.Unreceived(r.Context(), r.Account(), d.ID)
	if said := page.Trouble(err); said != "" {
		return r.Redirect(path, page.Notice{Text: "Nothing was changed.", Warning: said})
	}
	if err != nil {
		return err
	}
	g, err := r.Store.GiftRecord(r.Context(), r.Account(), d.Gift)
	if err != nil {
		return err
	}
	said := page.Notice{Text: page.GiftName(&g.Gift) + " was canceled. This donation waits for its money again."}
	sent, err := r.Store.MailAbout(r.Context(), r.Account(), store.AboutGift(g.ID))
	if err == nil && sent != nil && sent.Kind == mail.Thanks && sent.State() == mail.Sent {
		said.Warning = "A thank-you was already mailed to " + sent.To + ". Tell the donor that it was a mistake."
	}
	return cmp.Or(err, r.Redirect(path, said))
}
