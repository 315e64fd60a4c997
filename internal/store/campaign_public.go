package store

import (
	"context"
	"slices"

	"donorbook/internal/crm"
)

const sqlAccountName = `SELECT name FROM account WHERE account_id = $1`

// CampaignBySlug finds a campaign, and the name of the account that it belongs to, for whoever knows its address.
func (s *Store) CampaignBySlug(ctx context.Context, slug string) (campaign crm.Campaign, owner string, err error) {
	err = s.view(ctx, func(c conn) error {
		var id, account int64
		var body []byte
		found, err := one(c, func(r rows) {
			id, account, body = r.int(0), r.int(1), slices.Clone(r.bytes(2))
		}, sqlCampaignBySlug, slug)
		if err == nil && !found {
			err = crm.ErrNotFound
		}
		if err != nil {
			return err
		}
		if _, err = one(c, func(r rows) { owner = r.text(0) }, sqlAccountName, account); err != nil {
			return err
		}
		campaign, err = crm.ParseCampaign(id, body)
		return err
	})
	if err != nil {
		return crm.Campaign{}, "", err
	}
	return campaign, owner, nil
}
