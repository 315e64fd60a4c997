package donations

import (
	"context"
	"encoding/json"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// sqlOffer is all that a form depends on, in one statement: every view of a campaign asks.
const sqlOffer = `SELECT t.currency, COALESCE(s.donations, ''), COALESCE(c.provider, ''), COALESCE(c.live, 0),
	COALESCE(c.fault, '')
	FROM account_tally t LEFT JOIN account_setting s ON s.account_id = t.account_id LEFT JOIN connection c ON c.account_id = t.account_id WHERE t.account_id = $1`

// parseSettings reads settings that we have written.
func parseSettings(text string) donate.Settings {
	set, _ := donate.ParseSettings(text)
	return set
}

// DonationSettings are how an organization takes gifts on its pages.
func (s *DonationStore) DonationSettings(ctx context.Context, account int64) (donate.Settings, error) {
	settings, err := s.store.AccountSettings(ctx, account)
	return parseSettings(settings.Donations), err
}

// SaveDonationSettings keeps settings that are valid.
func (s *DonationStore) SaveDonationSettings(ctx context.Context, account int64, set donate.Settings) error {
	return s.store.UpdateOnce(ctx, account, func(t *store.Tx) error {
		u := t.Account(account)
		if err := set.Validate(u.Currency); err != nil {
			return err
		}
		settings, err := store.AccountSettings(t.Conn, account)
		if err != nil {
			return err
		}
		if kept := set.Document(); kept != settings.Donations {
			settings.Donations = kept
		} else {
			return nil
		}
		store.SaveSettings(t, account, settings)
		record(u, "donation_form", "", "changed")
		return nil
	})
}

// record notes in the history of the organization what became of one of its settings.
func record(u store.Unit, field, before, after string) {
	text := func(value string) json.RawMessage {
		if value == "" {
			return json.RawMessage("null")
		}
		said, _ := json.Marshal(value)
		return said
	}
	u.Record(history.SettingNoun, 0, history.DidUpdate,
		doc.Differences{{Field: field, Before: text(before), After: text(after), At: -1}}.Text())
}

// Offer is what the form of a campaign offers. It has no way to give while nothing is set up, and after the campaign
// has ended.
func (s *DonationStore) Offer(ctx context.Context, account int64, c *campaign.Campaign) (donate.Offer, error) {
	return store.Lend(ctx, s.store.Read, func(conn db.Conn) (donate.Offer, error) { return s.offer(conn, account, c) })
}

func (s *DonationStore) offer(conn db.Conn, account int64, c *campaign.Campaign) (o donate.Offer, err error) {
	return store.FindIn(conn, crm.ErrNotFound, func(r db.Row) donate.Offer {
		var online *donate.Connection
		if s.desk != nil && r.Text(2) != "" && r.Text(4) == "" {
			online = &donate.Connection{Provider: r.Text(2), Live: r.Int(3) != 0}
		}
		o := parseSettings(r.Text(1)).Offer(r.Text(0), c.Currency, online)
		if c.Status != campaign.Published || !c.EndAt.IsZero() && c.EndAt.Before(s.store.Now()) {
			o.Ways = nil
		}
		return o
	}, sqlOffer, account)
}
