package store

import (
	"context"

	"donorbook/internal/crm"
)

const sqlAccountName = `SELECT name FROM account WHERE account_id = $1`

// CampaignBySlug finds a campaign, and the name of the account that it belongs to, for whoever knows its address.
func (s *Store) CampaignBySlug(ctx context.Context, slug string) (campaign crm.Campaign, owner string, err error) {
	err = s.view(ctx, func(c conn) (err error) {
		var account int64
		if campaign, account, err = campaignBySlug(c, slug, ""); err != nil {
			return err
		}
		_, err = one(c, func(r rows) { owner = r.text(0) }, sqlAccountName, account)
		return err
	})
	if err != nil {
		return crm.Campaign{}, "", err
	}
	return campaign, owner, nil
}
