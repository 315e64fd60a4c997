package page

import (
	"net/url"

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

// Monthly is a frequency that a page offers beside donate.Once.
const Monthly = "monthly"

// Askings are what the page of a campaign asks for: once, and every month where that is possible. There are none while its form is closed.
func Askings(campaign string, o *donate.Offer) (all []Asking) {
	if len(o.Ways) == 0 {
		return nil
	}
	ask := func(frequency string, amounts []int64) {
		a := Asking{Frequency: frequency, Link: GiveLink(campaign, "", frequency)}
		for _, amount := range amounts {
			a.Amounts = append(a.Amounts, AskedAmount{text.Money(amount, o.Currency), GiveLink(campaign, text.MoneyInput(amount, o.Currency), frequency)})
		}
		all = append(all, a)
	}
	ask(donate.Once, o.Once)
	if !o.NoMonthly {
		ask(Monthly, o.Monthly)
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
type ShareLink struct{ Name, Icon, Link string }

// ShareLinks pass on the page of a campaign. They are plain links: no network learns of anyone who does not follow one.
func ShareLinks(title, address string) []ShareLink {
	t, a, both := url.QueryEscape(title), url.QueryEscape(address), url.QueryEscape(title+"\n"+address)
	return []ShareLink{
		{"WhatsApp", "whatsapp", "https://wa.me/?text=" + both},
		{"Facebook", "facebook", "https://www.facebook.com/sharer/sharer.php?u=" + a},
		{"X", "x", "https://x.com/intent/post?text=" + t + "&url=" + a},
		{"Bluesky", "bluesky", "https://bsky.app/intent/compose?text=" + both},
		{"LinkedIn", "linkedin", "https://www.linkedin.com/sharing/share-offsite/?url=" + a},
	}
}
