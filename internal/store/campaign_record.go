package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

const (
	sqlCampaign = `SELECT r.relation, c.body, c.checksum FROM campaign_reader r JOIN campaign c ON c.id = r.campaign_id
		WHERE r.account_id = $1 AND r.campaign_id = $2`
	sqlOwnCampaign = `SELECT body, checksum FROM campaign WHERE id = $1 AND account_id = $2`
	sqlSlugID      = `SELECT id FROM campaign WHERE slug = $1`
	sqlPublicID    = `SELECT public_id FROM account WHERE account_id = $1`
)

// CampaignRecord is a campaign as an account that may list it sees it.
type CampaignRecord struct {
	Campaign      crm.Campaign
	Relation      crm.Relation
	Beneficiaries []string // public ids of accounts in ascending order; only for the owner
}

// Version names the state that the owner sees.
func (r CampaignRecord) Version() string { return r.Campaign.Version(r.Beneficiaries) }

// Campaign finds a campaign that the account may list, for whatever reason. All others do not exist for it.
func (s *Store) Campaign(ctx context.Context, account, id int64) (record CampaignRecord, err error) {
	err = s.view(ctx, func(c db.Conn) error {
		record = CampaignRecord{}
		err := c.Each(func(r db.Row) (err error) {
			record.Relation = crm.Relation(r.Int(0))
			record.Campaign, err = parseCampaign(r, 1, id)
			return err
		}, sqlCampaign, account, id)
		if err == nil && record.Relation == 0 {
			err = crm.ErrNotFound
		}
		if err == nil && record.Relation&crm.Own != 0 {
			record.Beneficiaries, err = beneficiaries(c, id)
		}
		return err
	})
	return record, err
}

func beneficiaries(c db.Conn, campaign int64) (ids []string, err error) {
	var accounts []int64
	err = c.Each(func(r db.Row) error {
		if crm.Relation(r.Int(1))&crm.Benefiting != 0 {
			accounts = append(accounts, r.Int(0))
		}
		return nil
	}, sqlCampaignReaders, campaign)
	for _, account := range accounts {
		if err == nil {
			_, err = c.One(func(r db.Row) { ids = append(ids, r.Text(0)) }, sqlPublicID, account)
		}
	}
	slices.Sort(ids)
	return ids, err
}

// CampaignPage is one page of campaigns, newest first.
func (s *Store) CampaignPage(ctx context.Context, account int64, scope crm.CampaignScope, page crm.PageRequest) (campaigns []crm.Campaign, result ListResult, err error) {
	err = s.view(ctx, func(c db.Conn) (err error) {
		campaigns = nil
		var ids []int64
		result, ids, err = s.campaigns.page(c, account, scope, page, newestFirst)
		if err != nil || len(ids) == 0 {
			return err
		}
		return c.Each(func(r db.Row) error {
			campaign, err := parseCampaign(r, 2, r.Int(0))
			campaigns = append(campaigns, campaign)
			return err
		}, sqlCampaigns, ids)
	})
	slices.Reverse(campaigns)
	return campaigns, result, err
}

// CampaignTotals is how many campaigns the account has in each scope.
func (s *Store) CampaignTotals(ctx context.Context, account int64) (totals map[crm.CampaignScope]int64, err error) {
	err = s.view(ctx, func(c db.Conn) error {
		list, err := s.campaigns.of(c, account)
		if err != nil {
			return err
		}
		totals = map[crm.CampaignScope]int64{}
		for _, scope := range crm.CampaignScopes {
			totals[scope] = int64(len(list.ids[scope]))
		}
		return nil
	})
	return totals, err
}

// CreateCampaign makes a new campaign of a validated input, whatever the account has already: a slug that was sent must
// be free, and one made from the title goes on until it is.
func (s *Store) CreateCampaign(ctx context.Context, owner crm.Account, in crm.CampaignInput) (crm.Campaign, error) {
	return s.changeCampaign(ctx, owner, func(t *tx, now time.Time) (campaignPlan, error) {
		return t.planNew(owner, in, now)
	})
}

// UpdateCampaign changes a campaign that the account owns: what a validated input does not say stays.
func (s *Store) UpdateCampaign(ctx context.Context, owner crm.Account, id int64, in crm.CampaignInput) (crm.Campaign, error) {
	return s.changeCampaign(ctx, owner, func(t *tx, now time.Time) (campaignPlan, error) {
		return t.planUpdate(owner, id, in, now)
	})
}

func (s *Store) changeCampaign(ctx context.Context, owner crm.Account, decide func(*tx, time.Time) (campaignPlan, error)) (campaign crm.Campaign, err error) {
	err = s.changeCampaigns(ctx, owner, func(t *tx, now time.Time) error {
		p, err := decide(t, now)
		if err != nil {
			return err
		}
		if err := t.checkCampaigns(owner, []campaignPlan{p}); err != nil {
			return err
		}
		campaign = p.campaign
		return t.saveCampaign(owner.Number, p)
	})
	if err != nil {
		return crm.Campaign{}, err
	}
	return campaign, nil
}

func (t *tx) planNew(owner crm.Account, in crm.CampaignInput, now time.Time) (p campaignPlan, err error) {
	slug, slugErr := t.freeSlug(in)
	readers, readersErr := t.campaignReaders(owner, in.Beneficiaries)
	if err := firstOrFaults(in.CheckNew(), slugErr, readersErr); err != nil {
		return p, err
	}
	id, err := t.freeCampaignID(in.ID(now), newImport())
	return campaignPlan{campaign: crm.NewCampaign(in, owner, id, slug, now), isNew: true, changed: true, readers: readers}, err
}

// planUpdate locks the campaign first, so that two people who change different fields at once both have their way.
func (t *tx) planUpdate(owner crm.Account, id int64, in crm.CampaignInput, now time.Time) (p campaignPlan, err error) {
	var old crm.Campaign
	err = t.Each(func(r db.Row) (err error) {
		old, err = parseCampaign(r, 0, id)
		return err
	}, sqlOwnCampaign, id, owner.Number)
	if err == nil && old.ID == 0 {
		err = crm.ErrNotFound
	}
	if err == nil && in.Seen != "" {
		err = t.checkSeen(old, in.Seen)
	}
	if err != nil {
		return p, err
	}
	p = planChange(old, in, now)
	var slugErr, readersErr error
	if p.campaign.Slug != old.Slug {
		_, slugErr = t.freeSlug(in)
	}
	if in.Beneficiaries != nil {
		p.readers, readersErr = t.campaignReaders(owner, in.Beneficiaries)
	}
	return p, firstOrFaults(slugErr, readersErr)
}

// checkSeen tells whether a campaign that is locked is still what the user saw of it.
func (t *tx) checkSeen(c crm.Campaign, seen string) error {
	ids, err := beneficiaries(t.Conn, c.ID)
	if err == nil && c.Version(ids) != seen {
		err = crm.ErrChanged
	}
	return err
}

// freeSlug is the first slug for the input that no campaign has.
func (t *tx) freeSlug(in crm.CampaignInput) (string, error) {
	for slug := range crm.SlugCandidates(in, nil) {
		found, err := t.Exists(sqlSlugID, slug)
		if err != nil || !found {
			return slug, err
		}
	}
	return "", slugIsTaken()
}

// firstOrFaults is the first error that is not about the input, or all faults of the input together.
func firstOrFaults(errs ...error) error {
	all := &crm.Invalid{}
	for _, err := range errs {
		var faults *crm.Invalid
		switch {
		case errors.As(err, &faults):
			all.Faults = append(all.Faults, faults.Faults...)
		case err != nil:
			return err
		}
	}
	return all.Err()
}
