package api

import (
	"encoding/json"
	"net/http"

	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/text"
	"donorbook/internal/store"
)

// donationWire is a donation as clients see it.
type donationWire struct {
	ID          string          `json:"id"`
	Reference   string          `json:"reference"`
	State       string          `json:"state"`
	Review      *string         `json:"review"`
	Amount      json.RawMessage `json:"amount"`
	FeeCovered  json.RawMessage `json:"fee_covered"`
	Currency    string          `json:"currency"`
	Frequency   *string         `json:"frequency"`
	FirstName   *string         `json:"first_name"`
	LastName    *string         `json:"last_name"`
	Company     *string         `json:"company"`
	Email       *string         `json:"email"`
	Campaign    *int64          `json:"campaign_id"`
	Transaction *string         `json:"transaction_id"`
	Plan        *string         `json:"plan_id"`
	Provider    *string         `json:"provider"`
	Payment     *string         `json:"payment"`
	Live        bool            `json:"livemode"`
	CreatedAt   string          `json:"created_at"`
}

func appendDonation(d *donate.Donation, dst []byte) []byte {
	sent := func(value string) *string {
		if value == "" {
			return nil
		}
		return &value
	}
	wire := donationWire{
		ID: d.ID, Reference: d.Reference(), State: string(d.State), Review: sent(string(d.Doubt)), Amount: text.AppendMinor(nil, d.Charged, d.Currency), FeeCovered: text.AppendMinor(nil, d.Covered, d.Currency),
		Currency: d.Currency, Frequency: sent(d.Wish.Frequency), FirstName: sent(d.Wish.FirstName), LastName: sent(d.Wish.LastName), Company: sent(d.Wish.Company), Email: sent(d.Wish.Email),
		Transaction: sent(d.Gift), Plan: sent(d.GiftPlan), Provider: sent(d.Provider), Payment: sent(d.Payment), Live: d.Live, CreatedAt: d.CreatedAt.UTC().Format("2006-01-02T15:04:05+00:00"),
	}
	if d.Campaign != 0 {
		wire.Campaign = &d.Campaign
	}
	line, _ := json.Marshal(wire) // texts and numbers
	return append(dst, line...)
}

// listDonations are the gifts that people began to make on pages, newest first.
func (a *API) listDonations(r *http.Request, c call, l *list) fetch {
	f, err := donate.ParseFilter(l.text)
	l.note(err)
	return each(func() ([]donate.Donation, store.ListResult, error) {
		return a.store.Donations(r.Context(), c.who.Account, f, l.page)
	}, appendDonation)
}
