package gifts

import (
	"cmp"

	"donorbook/internal/crm"
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

// coded is what is found by its public id.
type coded interface {
	comparable
	state() (code string, damage error)
}

func (g *StoredGift) state() (string, error) { return g.Code, g.Damage }
func (p *StoredPlan) state() (string, error) { return p.Code, p.Damage }

// byCode is a gift or a plan by its whole public id: one that only has the same sequence number is none.
func byCode[D coded](t *store.Tx, a *store.Account, rows *store.Lookup[int64, D], code string) (row D, err error) {
	var none D
	if id := CodeID(a.Account, code); id != 0 {
		row, err = rows.Get(t, a.Account, id)
	}
	if err != nil || row == none {
		return none, cmp.Or(err, crm.ErrNotFound)
	}
	found, damage := row.state()
	if damage == nil && found != code {
		damage = crm.ErrNotFound
	}
	return row, damage
}
