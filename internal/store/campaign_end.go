package store

import (
	"context"
	"errors"
	"time"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
)

const (
	sqlCampaignGift = `SELECT 1 FROM gift WHERE account_id = $1 AND campaign_id = $2 AND campaign_id <> 0 LIMIT 1`
	sqlCampaignPlan = `SELECT 1 FROM plan WHERE account_id = $1 AND campaign_id = $2 AND campaign_id <> 0 LIMIT 1`

	// A gift may still come of what was begun on its page. What came to nothing needs no campaign.
	sqlCampaignDonation = `SELECT 1 FROM donation WHERE account_id = $1 AND campaign_id = $2
		AND state IN ('started', 'open', 'processing') LIMIT 1`
	sqlLeftDonations = `UPDATE donation SET campaign_id = 0 WHERE account_id = $1 AND campaign_id = $2`

	SQLOldSlugs = `SELECT slug FROM campaign_slug WHERE campaign_id = $1 ORDER BY left_at, slug`
)

// CheckDeletable refuses a campaign of the account that has gifts or plans, whatever became of them.
func (s *Store) CheckDeletable(ctx context.Context, owner, id int64) error {
	return s.View(ctx, func(c db.Conn) error { return checkDeletable(c, owner, id) })
}

func checkDeletable(c db.Conn, owner, id int64) error {
	for _, sql := range []string{sqlCampaignGift, sqlCampaignPlan, sqlCampaignDonation} {
		found, err := c.Exists(sql, owner, id)
		if err != nil {
			return err
		}
		if found {
			faults := new(doc.Invalid)
			faults.Add("", doc.HasGifts)
			return faults
		}
	}
	return nil
}

// DeleteCampaign removes a campaign that the account owns, where nothing hangs on it and it is still what the user saw
// of it. The account is locked, as it is by one that records a gift, so that no gift can come in between.
func (s *Store) DeleteCampaign(ctx context.Context, owner access.Account, id int64, seen string) error {
	_, err := s.changeCampaigns(ctx, owner, nil, func(c *campaignChange) ([]campaignPlan, error) {
		old, err := c.own(id, seen)
		if err == nil {
			err = checkDeletable(c.Conn, owner.Number, id)
		}
		if err == nil {
			err = Matches(ctx, MadeCampaign{Campaign: old}.ETag)
		}
		if err != nil {
			return nil, err
		}
		p, err := c.planRemoval(old)
		return []campaignPlan{p}, err
	})
	return err
}

func (c *campaignChange) planRemoval(old campaign.Campaign) (campaignPlan, error) {
	was, err := Relations(c.Conn, old.ID)
	if err == nil {
		err = c.Run(sqlLeftDonations, c.owner.Number, old.ID)
	}
	p := campaignPlan{campaign: old, deleted: true}
	c.move(&p, was)
	return p, err
}

// Family is a unit of work that has locked an account and those above it, and makes or removes campaigns of the account
// beside other things.
type Family struct {
	*Tx
	Owner access.Account
	Above []int64
	Now   time.Time
}

func (u Family) change(decide func(c *campaignChange) (campaignPlan, error)) (p campaignPlan, err error) {
	c := newChange(u.Tx, u.Owner, u.Above, nil, u.Now)
	if p, err = decide(c); err != nil {
		return p, err
	}
	if len(c.unlocked) > 0 { // there is another account above
		return p, ErrAgain
	}
	plans := []campaignPlan{p}
	if err = c.number(plans, TopOf(u.Owner, u.Above)); err == nil {
		err = c.save(plans)
	}
	return plans[0], err
}

func (c *campaignChange) planNew(in campaign.Input) (campaignPlan, error) {
	slug, _, err := c.findSlug(in, false)
	return c.plan(nil, in, slug, err)
}

func newChange(t *Tx, owner access.Account, above []int64, beneficiaries map[string]int64,
	now time.Time,
) *campaignChange {
	return &campaignChange{Tx: t, owner: owner, now: now, above: above, beneficiaries: beneficiaries,
		slugs: map[string]bool{}, tried: map[string]int{}}
}

// Create makes a campaign of a validated input.
func (u Family) Create(in campaign.Input) (id int64, err error) {
	p, err := u.change(func(c *campaignChange) (campaignPlan, error) { return c.planNew(in) })
	return p.campaign.ID, err
}

// Remove removes a campaign, unless anything hangs on it.
func (u Family) Remove(id int64) (removed bool, err error) {
	_, err = u.change(func(c *campaignChange) (p campaignPlan, err error) {
		old, err := c.own(id, "")
		if err == nil {
			err = checkDeletable(c.Conn, u.Owner.Number, id)
		}
		if err != nil {
			return p, err
		}
		return c.planRemoval(old)
	})
	if errors.As(err, new(*doc.Invalid)) {
		return false, nil
	}
	return err == nil, err
}

// moveSlugs keeps the slug that a campaign had. A slug that is kept is not taken: the campaign that has it now comes
// first.
func (c *campaignChange) moveSlugs(p campaignPlan) error {
	switch {
	case p.deleted:
		return c.dropSlugs(p.campaign.ID, 0)
	case p.slug != "":
		c.Save(SlugTable, p.slug, p.campaign.ID, c.now.UnixMicro())
		return c.dropSlugs(p.campaign.ID, campaign.OldSlugs)
	}
	return nil
}

// dropSlugs forgets the slugs that a campaign had, but for the last ones.
func (c *campaignChange) dropSlugs(campaign int64, keep int) error {
	old, err := db.List(c.Conn, func(r db.Row) string { return r.Text(0) }, SQLOldSlugs, campaign)
	for _, slug := range old[:max(0, len(old)-keep)] {
		c.Delete(SlugTable, slug)
	}
	return err
}
