package console

import (
	"context"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/store/contacts"
)

// How much of each list the home page shows.
const (
	homeMonths    = 12
	homeContacts  = 6
	homeTags      = 8
	homeCampaigns = 5
)

// homeView is an organization at a glance.
type homeView struct {
	Contacts       contacts.Counts
	Growth         columnChart
	ThisMonth      int64 // new contacts
	LastMonth      int64
	Newest         []crm.Contact
	Tags           []tagBar
	Campaigns      []campaignRow
	CampaignsTotal int64
	HasKey         bool
	Giving         *givingView // nil while no gift was recorded
}

// HasContacts tells whether the organization has ever had a contact.
func (h homeView) HasContacts() bool { return h.Contacts.Active+h.Contacts.Archived > 0 }

// New tells whether there is nothing to look at yet.
func (h homeView) New() bool { return !h.HasContacts() && h.CampaignsTotal == 0 && h.Giving == nil }

func (r *request) homePage() error {
	view, err := r.glance(r.Context())
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
	for _, campaign := range campaigns {
		view.Campaigns = append(view.Campaigns, r.campaignRow(campaign))
	}
	if !view.HasContacts() {
		keys, err := r.store.Keys(ctx, account)
		view.HasKey = len(keys) > 0
		return view, err
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
	}
	view.Growth = newColumnChart(months, counts)
	view.ThisMonth, view.LastMonth = counts[homeMonths-1], counts[homeMonths-2]
	if view.Newest, _, err = r.store.ContactPage(ctx, account, crm.Active, crm.PageRequest{Page: 1, PerPage: homeContacts}); err != nil {
		return err
	}
	tags, err := r.store.LargestTags(ctx, account, homeTags)
	view.Tags = newTagBars(tags)
	return err
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
