package store

import (
	"donorbook/internal/crm"
)

// Those who gave for a campaign, and of whose gift something is left, are a set: they are found without a look at the gifts.

const sqlGaveToCampaign = `SELECT 1 FROM gift WHERE account_id = $1 AND contact_id = $2 AND campaign_id = $3 AND net > 0`

// lookUpPlanSets asks for the sets that givers join by the campaigns of their plans, which were looked up just now.
func (a *accountUnit) lookUpPlanSets(t *tx, all []*needs) error {
	blocks := make(map[int64][]string)
	for _, n := range all {
		if n.gift == nil || n.gift.Campaign != nil {
			continue
		}
		if plan := a.planOf(n.gift); plan != nil {
			for _, id := range a.givers(n) {
				blocks[blockOf(id)] = append(blocks[blockOf(id)], giftSets(plan.Campaign)...)
			}
		}
	}
	return a.lookUpBlocks(t, blocks)
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
