package store

import (
	"strconv"

	"donorbook/internal/crm"
)

// The contacts of whose gifts of a month something is left are a set, and so are those of a campaign: who gave in some years, or for a campaign, is
// found without a look at the gifts.

const donorSet = "d:"

const (
	sqlGaveInMonth    = `SELECT 1 FROM gift WHERE account_id = $1 AND contact_id = $2 AND given_at >= $3 AND given_at < $4 AND net > 0`
	sqlGaveToCampaign = `SELECT 1 FROM gift WHERE account_id = $1 AND contact_id = $2 AND campaign_id = $3 AND net > 0`
)

// campaignDonors is the set of those who gave for a campaign.
func campaignDonors(campaign int64) string { return donorSet + strconv.FormatInt(campaign, 10) }

// giftSets are the sets that the giver of a gift is in.
func giftSets(at, campaign int64) []string {
	names := []string{giftMonths.name(at)}
	if campaign != 0 {
		names = append(names, campaignDonors(campaign))
	}
	return names
}

// joinedSets are the sets that the giver of a new gift joins. Its plan must have been looked up.
func (a *accountUnit) joinedSets(in *crm.GiftInput) []string {
	if in == nil || in.GivenAt == nil {
		return nil
	}
	var campaign int64
	if in.Campaign != nil {
		campaign = *in.Campaign
	} else if plan := a.planOf(in); plan != nil {
		campaign = plan.Campaign
	}
	return giftSets(crm.GiftClock(in.Time(), a.location()).Unix(), campaign)
}

// moveGiftSets moves a giver to the sets of a gift and out of those that it had, where no other gift is left. It sees the gift as it
// is now.
func (t *tx) moveGiftSets(a *accountUnit, before, after *crm.Gift) error {
	if before != nil && before.Net() > 0 && (before.Contact != after.Contact || !before.Local.Equal(after.Local) || before.Campaign != after.Campaign || after.Net() <= 0) {
		left, err := t.leftSets(a, before)
		if err == nil {
			err = t.moveSets(a, before.Contact, left, nil)
		}
		if err != nil {
			return err
		}
	}
	if after.Net() <= 0 {
		return nil
	}
	return t.moveSets(a, after.Contact, nil, giftSets(after.Local.Unix(), after.Campaign))
}

// leftSets are the sets of a gift that its giver is in no longer.
func (t *tx) leftSets(a *accountUnit, g *crm.Gift) (names []string, err error) {
	start, end := giftMonths.around(g.Local.Unix())
	still, err := t.Exists(sqlGaveInMonth, a.account, g.Contact, start, end)
	if err == nil && !still {
		names = append(names, giftMonths.name(start))
	}
	if err != nil || g.Campaign == 0 {
		return names, err
	}
	if still, err = t.Exists(sqlGaveToCampaign, a.account, g.Contact, g.Campaign); err == nil && !still {
		names = append(names, campaignDonors(g.Campaign))
	}
	return names, err
}
