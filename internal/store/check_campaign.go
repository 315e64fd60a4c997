package store

import (
	"errors"
	"fmt"
	"maps"
	"math"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

const (
	sqlCheckCampaigns = `SELECT id, account_id, slug, url_at, body, checksum, cell, revision FROM campaign WHERE id > $1 AND id <= $2 ORDER BY id LIMIT 100` // by the index, whatever the planner knows
	sqlPlaceCampaign  = `UPDATE campaign SET slug = $2, url_at = $3, cell = $4 WHERE id = $1 AND checksum = $5`
)

// checkedCampaign is a campaign as it is stored.
type checkedCampaign struct {
	id, account, urlAt int64
	revision           int64
	slug, cell         string
	campaign           crm.Campaign
	damage             error
}

func scanCheckedCampaign(r db.Row) checkedCampaign {
	c := checkedCampaign{id: r.Int(0), account: r.Int(1), slug: r.Text(2), urlAt: r.Int(3), cell: r.Text(6), revision: r.Int(7)}
	c.campaign, c.damage = parseCampaign(r, 4, c.id)
	return c
}

func (k *checker) everyCampaign() error {
	for last := int64(0); ; {
		part, err := db.List(k.conn, scanCheckedCampaign, sqlCheckCampaigns, last, int64(math.MaxInt64))
		if err != nil || len(part) == 0 {
			return err
		}
		for _, c := range part {
			last = c.id
			k.report.Campaigns++
			if owner := k.accounts[c.account]; k.looksAt(c.account) { // or the account is told to be missing
				owner.heads += owner.headHash(crm.CampaignNoun, c.id, c.revision)
				err = errors.Join(err, k.checkCampaign(c, owner))
			}
		}
		if err := errors.Join(err, k.ctx.Err()); err != nil {
			return err
		}
	}
}

func (k *checker) checkCampaign(c checkedCampaign, owner *checkedAccount) error {
	problem := func(format string, args ...any) Problem {
		return Problem{Account: owner.ID, Campaign: c.id, What: fmt.Sprintf(format, args...)}
	}
	switch body, urlAt := c.campaign.AppendBody(nil); {
	case c.damage != nil:
		k.tell(problem("its document is damaged: %s", restoreIt))
	case c.campaign.AccountID != owner.ID:
		k.tell(problem("its document names the account %q: %s", c.campaign.AccountID, restoreIt))
	case int64(urlAt) != c.urlAt || c.campaign.Slug != c.slug || c.campaign.Cell() != c.cell:
		err := k.mend(problem("its slug %q or the place of its URL or of its sums differs from its document", c.slug), c.account, func(t *tx) error {
			_, err := t.Exec(sqlPlaceCampaign, c.id, c.campaign.Slug, int64(urlAt), c.campaign.Cell(), checksum(body)) // where that has not changed meanwhile
			return err
		})
		if err != nil {
			return err
		}
	}
	have, err := relations(k.conn, c.id)
	if err != nil || maps.Equal(have, k.readers(owner, have)) {
		return err
	}
	return k.mend(problem("the accounts that may list it are not its owner, its beneficiaries and the accounts above them"), c.account, k.renewReaders(owner, c.id))
}

// readers is who may list a campaign. Its beneficiaries are written nowhere else.
func (k *checker) readers(owner *checkedAccount, have map[int64]crm.Relation) map[int64]crm.Relation {
	readers := make(map[int64]crm.Relation)
	for account, relation := range have {
		if k.accounts[account] != nil && relation&crm.Benefiting != 0 {
			readers[account] = crm.Benefiting
		}
	}
	readers[owner.Number] |= crm.Own
	for above := k.accounts[owner.Parent]; above != nil && readers[above.Number]&crm.Chapter == 0; above = k.accounts[above.Parent] { // or it is a circle
		readers[above.Number] |= crm.Chapter
	}
	return readers
}

func (k *checker) renewReaders(owner *checkedAccount, campaign int64) func(*tx) error {
	return func(t *tx) error {
		have, err := relations(t.Conn, campaign)
		if err != nil {
			return err
		}
		for account := range have {
			if k.accounts[account] == nil { // it has no totals that could be moved on
				t.Delete(readerTable, account, campaign)
			}
		}
		return t.saveReaders(campaign, k.readers(owner, have))
	}
}
