package console

import (
	"context"
	"net/http"
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

func (c *Console) homePage(w http.ResponseWriter, r *http.Request, v visit, _ *form) error {
	view, err := c.glance(r.Context(), v)
	if err != nil {
		return err
	}
	return c.render(w, r, v, "home", page{Title: "Home", Section: "home", Data: view})
}

func (c *Console) glance(ctx context.Context, v visit) (view homeView, err error) {
	account := v.account()
	if view.Contacts, err = c.store.Counts(ctx, account); err != nil {
		return view, err
	}
	campaigns, result, err := c.store.CampaignPage(ctx, account, campaign.OwnCampaigns, crm.PageRequest{Page: 1, PerPage: homeCampaigns})
	if err != nil {
		return view, err
	}
	view.CampaignsTotal = result.Total
	if view.Giving, err = c.glanceAtGiving(ctx, v); err != nil {
		return view, err
	}
	for _, campaign := range campaigns {
		view.Campaigns = append(view.Campaigns, c.campaignRow(v, campaign))
	}
	if !view.HasContacts() {
		keys, err := c.store.Keys(ctx, account)
		view.HasKey = len(keys) > 0
		return view, err
	}
	return view, c.glanceAtContacts(ctx, v, &view)
}

func (c *Console) glanceAtContacts(ctx context.Context, v visit, view *homeView) (err error) {
	account, months := v.account(), lastMonths(c.today(v), homeMonths)
	before, err := c.store.Growth(ctx, account, append(months, months[homeMonths-1].AddDate(0, 1, 0)))
	if err != nil {
		return err
	}
	counts := make([]int64, homeMonths)
	for i := range counts {
		counts[i] = before[i+1] - before[i]
	}
	view.Growth = newColumnChart(months, counts)
	view.ThisMonth, view.LastMonth = counts[homeMonths-1], counts[homeMonths-2]
	if view.Newest, _, err = c.store.ContactPage(ctx, account, crm.Active, crm.PageRequest{Page: 1, PerPage: homeContacts}); err != nil {
		return err
	}
	tags, err := c.store.LargestTags(ctx, account, homeTags)
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
