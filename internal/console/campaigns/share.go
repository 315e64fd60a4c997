package campaigns

import (
	"html"

	"donorbook/internal/console/page"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/donate"
)

// shareView is what an organization passes on about a campaign.
type shareView struct {
	Code   string // the address of the QR code of the page
	Links  []shareLink
	Button string // a piece of HTML for another site; "" while no one can give
}

// shareLink is an address to copy, with what it is for.
type shareLink struct{ Name, What, Link string }

// buttonStyle is that of a button on a site whose styles we do not know. It has no script, and takes nothing from us when the site is shown.
const buttonStyle = "display:inline-block;padding:14px 28px;border-radius:8px;background:#0f6a5b;color:#ffffff;font:600 17px/1.2 system-ui,sans-serif;text-decoration:none"

// shareOf is nil for a campaign that is not to be passed on. An amount is one that the form offers.
func shareOf(c *campaign.Campaign, address string, o *donate.Offer) *shareView {
	if c.Status != campaign.Published || c.Public().Slug == "" {
		return nil
	}
	v := &shareView{Code: "/" + c.Slug + "/qr.svg", Links: []shareLink{{"page", "The page", address}}}
	to := address
	for _, ask := range page.Askings(address, o) {
		if ask.Frequency != donate.Once {
			v.Links = append(v.Links, shareLink{"monthly", "The form, for a monthly gift", ask.Link})
			continue
		}
		to = ask.Link
		v.Links = append(v.Links, shareLink{"form", "The form", to})
		if len(ask.Amounts) > 1 {
			v.Links = append(v.Links, shareLink{"amount", "The form, with " + ask.Amounts[1].Label + " filled in", ask.Amounts[1].Link})
		}
	}
	if c.PaymentLink == "" && len(o.Ways) == 0 {
		return v // a Donate button would lead to a page without one
	}
	v.Button = `<a href="` + html.EscapeString(to) + `" style="` + buttonStyle + `">Donate</a>`
	return v
}

// noWay tells whether visitors of a campaign's page cannot give: there is no form, and no link to a page elsewhere.
func noWay(r *page.Request, c *campaign.Campaign) (bool, error) {
	if c.PaymentLink != "" || c.Status == campaign.Closed {
		return false, nil
	}
	offer, err := r.Offer(c.Currency)
	return len(offer.Ways) == 0, err
}
