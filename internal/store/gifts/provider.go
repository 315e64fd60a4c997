package gifts

import (
	"time"

	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/derived"
)

// What payment providers tell becomes gifts and plans here, in the unit of work of package donations.

// GiftCalled is the gift with an external id, nil where there is none.
func GiftCalled(t *store.Tx, a *store.Account, reference string) (*StoredGift, error) {
	return giftReferred(t, a, reference)
}

// PlanCalled is the plan with an external id, nil where there is none.
func PlanCalled(t *store.Tx, a *store.Account, reference string) (*StoredPlan, error) {
	if reference == "" {
		return nil, nil
	}
	id, err := derived.Of(a).References.Get(t, a.Account, find.PlanReference+reference)
	if err != nil || id == 0 {
		return nil, err
	}
	plan, err := Of(a).Plans.Get(t, a.Account, id)
	if err != nil || plan == nil {
		return nil, err
	}
	return plan, plan.Damage
}

// ProvidersNeeds are the needs of a gift or a plan that a payment provider tells of.
func ProvidersNeeds(account int64, in *giving.GiftInput, plan string) store.Needs {
	n := NewGiftNeeds(account, in)
	if plan != "" {
		n.References = append(n.References, find.PlanReference+plan)
	}
	return n
}

// RecordPlan makes a plan. Its giver is found as that of a gift.
func RecordPlan(t *store.Tx, a *store.Account, in *giving.PlanInput, now time.Time) (giving.Plan, error) {
	made, err := createPlan(t, a, in, now)
	return made.Plan, err
}

// ThankAtOnce thanks for a gift that has arrived by mail, with a receipt where there can be one. Where no mail can be, the gift waits until someone decides.
func (s *GiftStore) ThankAtOnce(t *store.Tx, a *store.Account, g *giving.Gift, now time.Time) error {
	return s.thankAtOnce(t, a, g, now)
}

// Stored is a gift that the unit of work has loaded or written.
func Stored(a *store.Account, id int64) *StoredGift { return Of(a).Gifts.Rows[id] }

// HasCampaign tells whether a campaign that the change has named is one of the account's own.
func HasCampaign(t *store.Tx, a *store.Account, id int64) bool {
	found, err := campaignOf(t, a, &giving.GiftInput{Campaign: &id})
	return err == nil && found != nil
}

// PlanIn is a plan by its public id, nil where there is none.
func (s *GiftStore) PlanIn(c db.Conn, account int64, code string) (*giving.Plan, error) {
	found, err := plansOf(db.List(c, readPlan, SQLLoadPlans, account, []int64{CodeID(account, code)}))
	if err != nil || len(found) == 0 || found[0].Code != code {
		return nil, err
	}
	return &found[0], nil
}
