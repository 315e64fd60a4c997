package gifts

import (
	"donorbook/internal/crm/giving"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/derived"
)

// Those who gave for a campaign, and of whose gift something is left, are a set: they are found without a look at the gifts.

const sqlGaveToCampaign = `SELECT 1 FROM gift WHERE account_id = $1 AND contact_id = $2 AND campaign_id = $3 AND net > 0`

// lookUpPlanSets asks for the sets that givers join by the campaigns of their plans, which were looked up just now.
func lookUpPlanSets(a *store.Account, t *store.Tx, all []*store.Needs) error {
	blocks := make(map[int64][]string)
	for _, n := range all {
		if n.Gift == nil || n.Gift.Campaign != nil {
			continue
		}
		if plan := knownPlan(a, n.Gift); plan != nil {
			for _, id := range givers(a, n) {
				blocks[derived.BlockOf(id)] = append(blocks[derived.BlockOf(id)], contacts.GiftSets(plan.Campaign)...)
			}
		}
	}
	return derived.LookUpBlocks(a, t, blocks)
}

// moveGiftSets moves a giver to the set of a gift and out of the one that it had, where no other gift is left. It sees the gift as it
// is now.
func moveGiftSets(t *store.Tx, a *store.Account, before, after *giving.Gift) error {
	if before != nil && before.Campaign != 0 && before.Net() > 0 && (before.Contact != after.Contact || before.Campaign != after.Campaign || after.Net() <= 0) {
		still, err := t.Exists(sqlGaveToCampaign, a.Account, before.Contact, before.Campaign)
		if err == nil && !still {
			err = derived.MoveSets(t, a, before.Contact, contacts.GiftSets(before.Campaign), nil)
		}
		if err != nil {
			return err
		}
	}
	if after.Net() <= 0 {
		return nil
	}
	return derived.MoveSets(t, a, after.Contact, nil, contacts.GiftSets(after.Campaign))
}
