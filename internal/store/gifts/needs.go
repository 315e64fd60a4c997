package gifts

import (
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/mail"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/campaigns"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/derived"
)

// giftUnit is what a batch knows of the gifts and plans of an account.
type giftUnit struct {
	Gifts store.Lookup[int64, *StoredGift]
	Plans store.Lookup[int64, *StoredPlan]

	Given func(contact int64, ids []int64) ([]int64, error) // adds the gifts of a contact that units before this one would have left, and puts all of them there, where all are only considered; nil for most
}

const partName = "gifts"

// Part is what a unit of work does with gifts and plans.
func Part() *store.Part {
	return &store.Part{
		Name: partName,
		Begin: func() any {
			return &giftUnit{Gifts: store.NewLookup(sqlLoadGifts, ScanGift), Plans: store.NewLookup(SQLLoadPlans, ScanPlan)}
		},
		LookUp: func(t *store.Tx, a *store.Account, all []*store.Needs) error { return lookUpGifts(a, t, all) },
		LookUpFound: func(t *store.Tx, a *store.Account, all []*store.Needs) error {
			return db.First(func() error { return lookUpPlanSets(a, t, all) }, func() error { return lookUpGiving(a, t, all) })
		},
		Readers: map[string]store.Reader{GiftResource: rereadGift, PlanResource: rereadPlan},
	}
}

func Of(a *store.Account) *giftUnit { return a.Known(partName).(*giftUnit) }

// lookUpGifts asks for what changes of gifts have named.
func lookUpGifts(a *store.Account, t *store.Tx, all []*store.Needs) error {
	var found, gifts, plans []int64
	for _, n := range all {
		found, gifts = append(found, n.Campaigns...), append(gifts, n.Gifts...)
		if n.Plan != 0 {
			plans = append(plans, n.Plan)
		}
	}
	return db.First(
		func() error { return campaigns.Of(a).Campaigns.Prefetch(t, a.Account, found) },
		func() error { return Of(a).Gifts.Prefetch(t, a.Account, gifts) },
		func() error { return Of(a).Plans.Prefetch(t, a.Account, plans) },
	)
}

// lookUpPlanSets asks for the sets that givers join by the campaigns of their plans, which were looked up just now.
func lookUpPlanSets(a *store.Account, t *store.Tx, all []*store.Needs) error {
	blocks := make(map[int64][]string)
	for _, n := range all {
		if n.Gift == nil || n.Gift.Campaign != nil {
			continue
		}
		if plan := knownPlan(a, n.Gift); plan != nil {
			for _, id := range givers(a, n) {
				blocks[derived.BlockOf(id)] = append(blocks[derived.BlockOf(id)], find.GiftSets(plan.Campaign)...)
			}
		}
	}
	return derived.LookUpBlocks(a, t, blocks)
}

// lookUpGiving asks for the sums that the changes will move, as far as they can be known: of the contacts that were named or have an email
// or a phone that was sent.
func lookUpGiving(a *store.Account, t *store.Tx, all []*store.Needs) error {
	var cells []string
	for _, n := range all {
		for _, id := range n.Gifts {
			if g := Of(a).Gifts.Rows[id]; g != nil && g.Damage == nil {
				cells = append(cells, giving.ShareOf(&g.Gift).Cells()...)
			}
		}
		if n.Gift == nil || n.Gift.GivenAt == nil {
			continue
		}
		at := giving.GiftClock(n.Gift.Time(), a.Location())
		s := giving.Share{Currency: CurrencyOf(a, n.Gift), At: at.Unix()}
		if n.Gift.Campaign != nil {
			s.Campaign = *n.Gift.Campaign
		}
		for _, contact := range givers(a, n) {
			s.Contact = contact
			cells = append(cells, s.Cells()...)
		}
	}
	return derived.Of(a).Giving.Prefetch(t, a.Account, cells)
}

// CurrencyOf is the currency that a gift will have: the one that was sent, that of its plan, of its campaign, or of the account. Plan and
// campaign must have been looked up.
func CurrencyOf(a *store.Account, in *giving.GiftInput) string {
	if in.Currency != nil && *in.Currency != "" {
		return *in.Currency
	}
	if plan := knownPlan(a, in); plan != nil {
		return plan.Currency
	}
	if in.Campaign != nil {
		if campaign := campaigns.Of(a).Campaigns.Rows[*in.Campaign]; campaign != nil {
			return campaign.Currency
		}
	}
	return a.Currency
}

// knownPlan is the plan that a gift belongs to, nil where there is none that can be read.
func knownPlan(a *store.Account, in *giving.GiftInput) *StoredPlan {
	if in.Plan == nil {
		return nil
	}
	if plan := Of(a).Plans.Rows[CodeID(a.Account, *in.Plan)]; plan != nil && plan.Damage == nil {
		return plan
	}
	return nil
}

// givers are the contacts that a gift may be from.
func givers(a *store.Account, n *store.Needs) []int64 {
	if n.Contact != 0 {
		return []int64{n.Contact}
	}
	ids := derived.Having(a, n.Keys)
	if len(ids) == 0 {
		ids = append(ids, 0) // the sums of all
	}
	return ids
}

// GiftStore has the gifts and plans of a database, and what they come to.
type GiftStore struct {
	*store.Base
	*contacts.ContactStore
	*campaigns.CampaignStore

	// Upkeep is what a thank-you says beside the rest for a gift that comes again by itself, nil for nothing.
	Upkeep func(c db.Conn, account int64, g *giving.Gift) (*mail.Message, error)

	// PlanEnded hears of a plan that a person has ended, in the same unit of work.
	PlanEnded func(t *store.Tx, a *store.Account, p *giving.Plan) error
}

func New(contacts *contacts.ContactStore, campaigns *campaigns.CampaignStore) *GiftStore {
	s := &GiftStore{Base: contacts.Base, ContactStore: contacts, CampaignStore: campaigns}
	s.WriteLate(mail.Thanks, s.completeThanks)
	s.OnFailure(mail.Thanks, s.thankAgain)
	s.WriteLate(mail.Refunded, s.writeRefund)
	s.OnBounce(contacts.MarkBounced)
	return s
}
