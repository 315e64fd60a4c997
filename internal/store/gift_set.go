package store

import (
	"strconv"

	"donorbook/internal/crm"
)

// Those who gave for a campaign, and of whose gift something is left, are a set: they are found without a look at the gifts.

const donorSet = "d:"

const sqlGaveToCampaign = `SELECT 1 FROM gift WHERE account_id = $1 AND contact_id = $2 AND campaign_id = $3 AND net > 0`

// campaignDonors is the set of those who gave for a campaign.
func campaignDonors(campaign int64) string { return donorSet + strconv.FormatInt(campaign, 10) }

// giftSets are the sets that the giver of a gift is in.
func giftSets(campaign int64) []string {
	if campaign == 0 {
		return nil
	}
	return []string{campaignDonors(campaign)}
}

// joinedSets are the sets that the giver of a new gift joins. Its plan must have been looked up.
func (a *accountUnit) joinedSets(in *crm.GiftInput) []string {
	if in == nil {
		return nil
	}
	if in.Campaign != nil {
		return giftSets(*in.Campaign)
	}
	if plan := a.planOf(in); plan != nil {
		return giftSets(plan.Campaign)
	}
	return nil
}

// moveGiftSets moves a giver to the set of a gift and out of the one that it had, where no other gift is left. It sees the gift as it
// is now.
func (t *tx) moveGiftSets(a *accountUnit, before, after *crm.Gift) error {
	if before != nil && before.Campaign != 0 && before.Net() > 0 && (before.Contact != after.Contact || before.Campaign != after.Campaign || after.Net() <= 0) {
		still, err := t.Exists(sqlGaveToCampaign, a.account, before.Contact, before.Campaign)
		if err == nil && !still {
			err = t.moveSets(a, before.Contact, giftSets(before.Campaign), nil)
		}
		if err != nil {
			return err
		}
	}
	if after.Net() <= 0 {
		return nil
	}
	return t.moveSets(a, after.Contact, nil, giftSets(after.Campaign))
}
