package store

import (
	"context"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

const sqlAccountName = `SELECT name FROM account WHERE account_id = $1`

// CampaignBySlug finds a campaign, and the name of the account that it belongs to, for anyone who knows its address.
func (s *Store) CampaignBySlug(ctx context.Context, slug string) (campaign crm.Campaign, owner string, err error) {
	err = s.view(ctx, func(c db.Conn) (err error) {
		var account int64
		if campaign, account, err = campaignBySlug(c, slug); err != nil {
			return err
		}
		_, err = c.One(func(r db.Row) { owner = r.Text(0) }, sqlAccountName, account)
		return err
	})
	if err != nil {
		return crm.Campaign{}, "", err
	}
	return campaign, owner, nil
}
