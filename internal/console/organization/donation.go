package organization

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/donate"
	"donorbook/internal/store/donations"
)

// donationsView is how an organization takes gifts on the pages of its campaigns.
type donationsView struct {
	Connection *donations.Connection // nil for none
	Clock      string                // what is wrong with the server's; "" for nothing
	Connect    *page.Form
	Hooks      string // the address for the provider's events
	Events     []string
	Form       *page.Form // the donation form
	Offer      donate.Offer
	Campaigns  []campaign.Campaign // that a test gift can be given to
}

const testCampaigns = 5

// DonationsPage is where an owner connects a payment provider, and says what donation forms ask.
func DonationsPage(r *page.Request) (err error) {
	view := donationsView{
		Connect: r.Form.IfSentTo("/connect"), Form: r.Form.IfSentTo(page.DonationSettingsPath), Events: donate.StripeEvents,
		Hooks: r.Options.Proxies.BaseURL(r.Request) + "/hooks/stripe/" + r.Membership.Account.ID,
	}
	for _, secret := range []string{page.KeyField, page.HookField} {
		view.Connect.Secret(secret)
	}
	if view.Connection, err = connection(r); err != nil {
		return err
	}
	settings, err := r.Store.DonationSettings(r.Context(), r.Account())
	if err != nil {
		return err
	}
	if off := r.Store.ClockOff(); off != 0 {
		view.Clock = "about " + page.Plural(int64(off.Abs()/time.Minute), "minute") + map[bool]string{true: " fast", false: " slow"}[off > 0]
	}
	settings.FillForm(r.Currency(), view.Form.SetUnsent)
	if view.Connection != nil {
		view.Connect.SetUnsent("host", view.Connection.Host)
	}
	if view.Offer, err = r.Offer(r.Currency()); err != nil {
		return err
	}
	all, _, err := r.Store.CampaignPage(r.Context(), r.Account(), campaign.OwnCampaigns, crm.PageRequest{Page: 1, PerPage: testCampaigns})
	if err != nil {
		return err
	}
	for _, c := range all {
		if c.Status == campaign.Published {
			view.Campaigns = append(view.Campaigns, c)
		}
	}
	return r.Render("donation_settings", page.View{Title: "Taking money", Section: "settings", Form: r.Form, Data: &view})
}

// connection is the payment provider of the organization, nil for none.
func connection(r *page.Request) (*donations.Connection, error) {
	c, err := r.Store.Connection(r.Context(), r.Account())
	if errors.Is(err, crm.ErrNotFound) {
		return nil, nil
	}
	return &c, err
}

// settingLabels are what the page calls its fields, where it does not call them by their names.
var settingLabels = map[string]string{
	"once": "One-time amounts", "monthly": "Monthly amounts", "min": "Smallest gift", "max": "Largest gift", "rate": "Percentage", "fixed": "Fixed part", "consent": "Consent to news",
	"notice": "Tell staff about each gift", "bank_name": "Account holder", "iban": "IBAN", "bic": "BIC", "check": "Where to send checks",
}

// SaveDonationSettings saves what donation forms offer and ask.
func SaveDonationSettings(r *page.Request) error {
	settings, err := donate.ReadSettings(r.Form.Value, r.Currency())
	if err == nil {
		err = r.Store.SaveDonationSettings(r.Context(), r.Account(), settings)
	}
	var invalid *doc.Invalid
	if errors.As(err, &invalid) {
		for i := range invalid.Faults {
			invalid.Faults[i].Label = settingLabels[invalid.Faults[i].Field]
		}
	}
	return r.Done(err, r.Path(page.DonationSettingsPath), page.Notice{Text: "Donation form saved."})
}

// ConnectProvider tries a key with the provider, and keeps it if it works.
func ConnectProvider(r *page.Request) error {
	in := donations.Connecting{Provider: "stripe", Key: r.Form.Secret(page.KeyField), Hook: r.Form.Secret(page.HookField), Host: r.Form.Value("host")}
	if strings.TrimSpace(in.Key) == "" {
		r.Form.FailAs(page.KeyField, "Restricted key", "is required")
		return page.ErrRefused
	}
	made, err := r.Store.Connect(r.Context(), r.Membership.Account, in, r.Options.Proxies.BaseURL(r.Request))
	if err != nil {
		return err
	}
	mode := "test mode: no real money is taken"
	if made.Live {
		mode = "live mode: gifts are real"
	}
	return r.Redirect(r.Path(page.DonationSettingsPath), page.Notice{Text: "Stripe is connected in " + mode + "."})
}

// TestConnection tries the key again.
func TestConnection(r *page.Request) error {
	c, err := r.Store.TestConnection(r.Context(), r.Membership.Account)
	said := page.Notice{Text: "The connection works. The key has all the permissions it needs."}
	if trouble := cmp.Or(page.Trouble(err), c.Fault); trouble != "" {
		said = page.Notice{Text: "The connection was tested.", Warning: trouble}
	} else if err != nil {
		return err
	}
	return r.Redirect(r.Path(page.DonationSettingsPath), said)
}

// Disconnect forgets the key. What was given stays.
func Disconnect(r *page.Request) error {
	err := r.Store.Disconnect(r.Context(), r.Account())
	if said := page.Trouble(err); said != "" {
		return r.Redirect(r.Path(page.DonationSettingsPath), page.Notice{Text: "Still connected.", Warning: said})
	}
	return r.Done(err, r.Path(page.DonationSettingsPath), page.Notice{Text: "Disconnected. The key was deleted here. Revoke it in Stripe’s dashboard, too."})
}

// DeleteTests removes what was given in test mode.
func DeleteTests(r *page.Request) error {
	deleted, err := r.Store.DeleteTests(r.Context(), r.Account())
	if said := page.Trouble(err); said != "" {
		return r.Redirect(r.Path(page.DonationSettingsPath), page.Notice{Text: "No test gifts were deleted.", Warning: said})
	}
	return r.Done(err, r.Path(page.DonationSettingsPath), page.Notice{Text: page.Plural(int64(deleted), "test donation") + " deleted."})
}
