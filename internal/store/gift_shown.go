package store

import "cmp"

const (
	giftShown = "gift"
	planShown = "plan"
)

// Shown names the gift for an answer that shows it.
func (d GiftDocument) Shown() Shown { return Shown{giftShown, d.ID} }

// Shown names the plan for an answer that shows it.
func (d PlanDocument) Shown() Shown { return Shown{planShown, d.ID} }

func init() {
	readers[giftShown] = func(t *tx, a *accountUnit, id int64, _ string) (Made, error) {
		g, err := giftsOf(a).gifts.get(t, a.account, id)
		if err = cmp.Or(err, missing(g == nil)); err != nil {
			return nil, err
		}
		return GiftDocument{Gift: g.Gift, Slug: t.slug(a, g.Campaign)}, g.damage
	}
	readers[planShown] = func(t *tx, a *accountUnit, id int64, _ string) (Made, error) {
		p, err := giftsOf(a).plans.get(t, a.account, id)
		if err = cmp.Or(err, missing(p == nil)); err != nil {
			return nil, err
		}
		return PlanDocument{Plan: p.Plan}, p.damage
	}
}
