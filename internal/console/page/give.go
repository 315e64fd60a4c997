package page

import (
	"cmp"
	"errors"
	"net/url"
	"strings"

	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/text"
)

// Asking is how a campaign asks for gifts of one frequency.
type Asking struct {
	Frequency string
	Link      string // to the form, without an amount
	Amounts   []AskedAmount
}

// AskedAmount is a link to the form with an amount in it.
type AskedAmount struct{ Label, Link string }

// DonationSettingsPath is where owners say how money is taken.
const DonationSettingsPath = "/settings/donations"

// Offer is what the form of a published campaign offers in a currency.
func (r *Request) Offer(currency string) (donate.Offer, error) {
	return r.Store.Offer(r.Context(), r.Account(), &campaign.Campaign{Status: campaign.Published, Currency: currency})
}

// Trouble says what is wrong, where a page has no form to show it: a fault, or what a payment provider did not do; "" for another error and for none.
func Trouble(err error) string {
	if invalid := (*doc.Invalid)(nil); errors.As(err, &invalid) {
		return LabeledFault(invalid.Faults[0])
	}
	return Refusal(err)
}

// Refusal says what a payment provider did not do; "" for faults, which a form shows, for another error and for none.
func Refusal(err error) string {
	refused, invalid := (*donate.Refused)(nil), (*doc.Invalid)(nil)
	switch {
	case errors.As(err, &invalid), !errors.As(err, &refused):
		return ""
	case refused.Reason == donate.Temporary:
		return "The payment provider doesn’t answer. Nothing was changed. Try again in a few minutes."
	}
	return cmp.Or(refused.Text, "The payment provider refused this. Nothing was changed.")
}

// Askings are what the page of a campaign asks for: once, and every month where that is possible. There are none while its form is closed.
func Askings(campaign string, o *donate.Offer) (all []Asking) {
	if len(o.Ways) == 0 {
		return nil
	}
	for _, frequency := range o.Frequencies() {
		a := Asking{Frequency: frequency, Link: GiveLink(campaign, "", frequency)}
		for _, amount := range o.Amounts(frequency) {
			a.Amounts = append(a.Amounts, AskedAmount{text.Money(amount, o.Currency), GiveLink(campaign, text.MoneyInput(amount, o.Currency), frequency)})
		}
		all = append(all, a)
	}
	return all
}

// GiveLink leads to the form of the campaign at an address, with an amount, or with "" for none.
func GiveLink(campaign, amount, frequency string) string {
	prefilled := url.Values{}
	if amount != "" {
		prefilled.Set("amount", amount)
	}
	if frequency != donate.Once {
		prefilled.Set("frequency", frequency)
	}
	if len(prefilled) == 0 {
		return campaign + "/donate"
	}
	return campaign + "/donate?" + prefilled.Encode()
}

// ShareLink passes an address on in one network.
type ShareLink struct{ Name, How, Icon, Link string }

// ShareLinks pass on the page of a campaign. They are plain links: no network learns of anyone who does not follow one.
func ShareLinks(title, address string) []ShareLink {
	t, a, both := url.QueryEscape(title), url.QueryEscape(address), url.QueryEscape(title+"\n"+address)
	return []ShareLink{
		{"WhatsApp", "Share on WhatsApp", "whatsapp", "https://wa.me/?text=" + both},
		{"Facebook", "Share on Facebook", "facebook", "https://www.facebook.com/sharer/sharer.php?u=" + a},
		{"X", "Share on X", "x", "https://x.com/intent/post?text=" + t + "&url=" + a},
		{"Bluesky", "Share on Bluesky", "bluesky", "https://bsky.app/intent/compose?text=" + both},
		{"LinkedIn", "Share on LinkedIn", "linkedin", "https://www.linkedin.com/sharing/share-offsite/?url=" + a},
		{"Email", "Share by email", "mail", strings.ReplaceAll("mailto:?subject="+t+"&body="+a, "+", "%20")},
	}
}
