package public

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/store/donations"
	"donorbook/internal/web"
)

// thanksView is what became of a gift. It names nobody: the address may be passed on.
type thanksView struct {
	State     donate.State // "" says thank you and no more
	Amount    string
	Frequency string
	Again     string // the form, filled in
	Transfer  *transferView
	Test      bool
	Mailed    bool // a thank-you was written to the giver

	Unconfirmed bool // the promise waits for the link in its email
	Refunded    bool // all of it was given back
}

// transferView is how to pay a promised gift.
type transferView struct {
	Bank      donate.Bank
	IBAN      string // in groups
	Check     string
	Reference string
	Code      string // the address of the code that banking apps read, "" for none
}

// memory is how long the page says what was given.
const memory = 24 * time.Hour

// thanksPage looks at the payment itself: the giver is often here before the provider's event is.
func (g *Gifts) thanksPage(v *visit) error {
	v.w.Header().Set("Referrer-Policy", "no-referrer")
	d, err := g.named(v, g.Store.LookAtDonation)
	if err != nil {
		return err
	}
	if d.State == donate.Open { // what was paid is known in a moment
		v.w.Header().Set("Refresh", strconv.Itoa(int(donations.LookPause/time.Second)))
	}
	view := thanksView{Test: d.Provider != "" && !d.Live}
	promised := d.ID != "" && d.Provider == "" && !d.IsOver()
	if promised || d.ID != "" && g.Now().Sub(d.CreatedAt) < memory {
		view.State, view.Amount, view.Frequency, view.Again = d.State, text.MoneyExact(d.Charged, d.Currency), d.Wish.Frequency, "/"+v.campaign.Slug+"/donate?"+again(&v.offer, &d)
	}
	if view.State == donate.Paid && d.Gift != "" {
		made, err := g.Store.GiftRecord(v.r.Context(), v.account.Number, d.Gift)
		if err != nil && !errors.Is(err, crm.ErrNotFound) {
			return err
		}
		view.Mailed = made.Thanks.How == giving.ThankedMail
		view.Refunded = err == nil && made.Standing() == giving.Refunded
	}
	if promised {
		view.Transfer, view.Unconfirmed = g.transfer(v, &d), !d.IsConfirmed()
	}
	return g.MakeInTurn(v.w, v.r, func(w http.ResponseWriter) error {
		v.w = w
		return g.show(v, "thanks", page.View{Title: "Thank you", Data: view})
	})
}

// named is the donation whose token is in the address, an empty one where there is none for this campaign.
func (g *Gifts) named(v *visit, find func(ctx context.Context, account int64, id string) (donate.Donation, error)) (donate.Donation, error) {
	sent := v.r.URL.Query().Get("d")
	id, proof := sent[:min(idLength, len(sent))], sent[min(idLength, len(sent)):]
	known, err := g.Store.DonationByID(v.r.Context(), v.account.Number, id)
	isOurs := err == nil && known.Campaign == v.campaign.ID && known.Proves(donate.PageLink, proof)
	if errors.Is(err, crm.ErrNotFound) || err == nil && !isOurs {
		return donate.Donation{}, nil
	}
	if err != nil || find == nil {
		return known, err
	}
	return find(v.r.Context(), v.account.Number, known.ID)
}

func (g *Gifts) transfer(v *visit, d *donate.Donation) *transferView {
	t := &transferView{Reference: donate.Groups(d.Reference())}
	if d.Wish.Way == donate.ByCheck {
		t.Check = v.offer.Check
		return t
	}
	t.Bank, t.IBAN = v.offer.Bank, donate.Groups(v.offer.Bank.IBAN)
	if epc(v, d) != "" {
		t.Code = "/" + v.campaign.Slug + "/qr.svg?kind=epc&d=" + token(d)
	}
	return t
}

func epc(v *visit, d *donate.Donation) string {
	if d.Wish.Way != donate.ByTransfer {
		return ""
	}
	return v.offer.Bank.EPC(d.Charged, d.Currency, d.Reference())
}

// codePage draws the address of the campaign as a code, or a transfer.
func (g *Gifts) codePage(v *visit) error {
	words := v.address(g, "")
	if v.r.URL.Query().Get("kind") == "epc" {
		d, err := g.named(v, nil)
		if err != nil {
			return err
		}
		if words = epc(v, &d); words == "" {
			return web.NotFound()
		}
	} else {
		share(g.Site, v.w.Header(), v.campaign)
	}
	image, err := codeImage(words)
	if err != nil {
		return err
	}
	h := v.w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Content-Type", "image/svg+xml")
	h.Set("Content-Length", strconv.Itoa(len(image)))
	if v.r.Method == http.MethodHead {
		return nil
	}
	_, err = bytes.NewReader(image).WriteTo(v.w)
	return err
}
