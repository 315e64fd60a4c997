package gifts

import (
	"cmp"

	"donorbook/internal/store"
)

const (
	GiftResource = "gift"
	PlanResource = "plan"
)

// Resource names the gift for an answer that shows it.
func (d GiftDocument) Resource() store.Resource { return store.Resource{Kind: GiftResource, ID: d.ID} }

// Resource names the plan for an answer that shows it.
func (d PlanDocument) Resource() store.Resource { return store.Resource{Kind: PlanResource, ID: d.ID} }

func rereadGift(t *store.Tx, a *store.Account, id int64, _ string) (store.Result, error) {
	g, err := Of(a).Gifts.Get(t, a.Account, id)
	if err = cmp.Or(err, store.Missing(g == nil)); err != nil {
		return nil, err
	}
	return GiftDocument{Gift: g.Gift, Slug: slug(t, a, g.Campaign)}, g.Damage
}

func rereadPlan(t *store.Tx, a *store.Account, id int64, _ string) (store.Result, error) {
	p, err := Of(a).Plans.Get(t, a.Account, id)
	if err = cmp.Or(err, store.Missing(p == nil)); err != nil {
		return nil, err
	}
	return PlanDocument{Plan: p.Plan}, p.Damage
}
