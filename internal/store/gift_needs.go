package store

import (
	"cmp"

	"donorbook/internal/crm"
)

// giftUnit is what a batch knows of the gifts and plans of an account.
type giftUnit struct {
	gifts      lookup[int64, *storedGift]
	plans      lookup[int64, *storedPlan]
	references lookup[string, int64]
	moved      map[string]bool // sums that have changed
}

var giftsPart = &part{}

func init() {
	*giftsPart = part{
		begin: func() any {
			return &giftUnit{
				gifts: newLookup(sqlLoadGifts, scanGift), plans: newLookup(sqlLoadPlans, scanPlan), references: newLookup(sqlReferences, scanReference),
				moved: make(map[string]bool),
			}
		},
		lookUp: func(t *tx, a *accountUnit, all []*needs) error { return a.lookUpGifts(t, all) },
		lookUpFound: func(t *tx, a *accountUnit, all []*needs) error {
			return cmp.Or(a.lookUpPlanSets(t, all), a.lookUpGiving(t, all))
		},
		write: (*tx).writeGiving,
	}
	register(giftsPart)
}

func giftsOf(a *accountUnit) *giftUnit { return a.known[giftsPart.number].(*giftUnit) }

// lookUpGifts asks for what changes of gifts have named.
func (a *accountUnit) lookUpGifts(t *tx, all []*needs) error {
	var campaigns, gifts, plans []int64
	var references []string
	for _, n := range all {
		campaigns, gifts, references = append(campaigns, n.campaigns...), append(gifts, n.gifts...), append(references, n.references...)
		if n.plan != 0 {
			plans = append(plans, n.plan)
		}
	}
	return firstError(
		campaignsOf(a).campaigns.prefetch(t, a.account, campaigns), giftsOf(a).gifts.prefetch(t, a.account, gifts),
		giftsOf(a).plans.prefetch(t, a.account, plans), giftsOf(a).references.prefetch(t, a.account, references),
	)
}

// lookUpGiving asks for the sums that the changes will move, as far as they can be known: of the contacts that were named or have an email
// or a phone that was sent.
func (a *accountUnit) lookUpGiving(t *tx, all []*needs) error {
	var cells []string
	for _, n := range all {
		for _, id := range n.gifts {
			if g := giftsOf(a).gifts.rows[id]; g != nil && g.damage == nil {
				cells = append(cells, shareOf(&g.Gift).cells()...)
			}
		}
		if n.gift == nil || n.gift.GivenAt == nil {
			continue
		}
		at := crm.GiftClock(n.gift.Time(), a.location())
		s := share{currency: a.currencyOf(n.gift), month: crm.Month(at)}
		if n.gift.Campaign != nil {
			s.campaign = *n.gift.Campaign
		}
		for _, contact := range a.givers(n) {
			s.contact = contact
			cells = append(cells, s.cells()...)
		}
	}
	return campaignsOf(a).giving.prefetch(t, a.account, cells)
}

// currencyOf is the currency that a gift will have: the one that was sent, that of its plan, of its campaign, or of the account. Plan and
// campaign must have been looked up.
func (a *accountUnit) currencyOf(in *crm.GiftInput) string {
	if in.Currency != nil && *in.Currency != "" {
		return *in.Currency
	}
	if plan := a.planOf(in); plan != nil {
		return plan.Currency
	}
	if in.Campaign != nil {
		if campaign := campaignsOf(a).campaigns.rows[*in.Campaign]; campaign != nil {
			return campaign.currency
		}
	}
	return a.currency
}

// planOf is the plan that a gift belongs to, nil where there is none that can be read.
func (a *accountUnit) planOf(in *crm.GiftInput) *storedPlan {
	if in.Plan == nil {
		return nil
	}
	if plan := giftsOf(a).plans.rows[codeID(a.account, *in.Plan)]; plan != nil && plan.damage == nil {
		return plan
	}
	return nil
}

// givers are the contacts that a gift may be from.
func (a *accountUnit) givers(n *needs) []int64 {
	if n.contact != 0 {
		return []int64{n.contact}
	}
	ids := a.having(n.keys)
	if len(ids) == 0 {
		ids = append(ids, 0) // the sums of all
	}
	return ids
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// GiftStore has the gifts and plans of a database, and what they come to.
type GiftStore struct {
	*Base
	*ContactStore
	*CampaignStore
}

func newGiftStore(contacts *ContactStore, campaigns *CampaignStore) *GiftStore {
	return &GiftStore{Base: contacts.Base, ContactStore: contacts, CampaignStore: campaigns}
}
