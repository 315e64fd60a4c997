package move

import (
	"context"

	"donorbook/internal/crm"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// ExportGifts prepares a file of the account's own gifts that pass a filter, in the order in which they were recorded.
func (s *MoveStore) ExportGifts(ctx context.Context, account int64, filter giving.GiftFilter,
	how ExportOptions,
) (*Export, error) {
	filter, err := s.ByCampaign(ctx, filter)
	if err != nil {
		return nil, err
	}
	set, err := s.GiftSet(ctx, account, filter)
	if err != nil {
		return nil, err
	}
	out, titles := sheet.GiftTable(), map[int64]string{}
	named := func(piece []*store.GiftRecord) error {
		names, err := s.CampaignNames(ctx, account, store.Collect(piece,
			func(g *store.GiftRecord) int64 { return g.Campaign }))
		for id, name := range names {
			titles[id] = name.Title
		}
		return err
	}
	return s.Prepared(ctx, account, "transactions", &Export{Rows: set.Count(), How: how, head: out.Header,
		write: func(ctx context.Context, to *records, done func(int) error) error {
			return InParts(account, &set, func(ids []int64) error {
				return s.eachGift(ctx, account, ids, func(g *store.GiftRecord) error {
					return to.add(func() ([]byte, error) {
						return store.GiftDocument{Gift: g.Gift,
							Slug: g.Slug}.Append(nil), nil
					}, func() ([]any, error) { return out.Gift(&g.Gift, titles[g.Campaign]), nil })
				}, named, done)
			})
		}})
}

// eachGift reads gifts by their ids. done is told how many of them each piece had.
func (s *MoveStore) eachGift(ctx context.Context, account int64, ids []int64, read func(*store.GiftRecord) error,
	fill func([]*store.GiftRecord) error, done func(n int) error,
) error {
	return eachOf(ctx, s, account, ids, store.SQLGiftsByID, func(r db.Row) (*store.GiftRecord, int, error) {
		g, err := store.ScanGiftRecord(r)
		return &g, len(r.Bytes(6)), err
	}, fill, read, done)
}

// ExportPlans prepares a file of the plans that pass a filter, in the order in which they were recorded.
func (s *MoveStore) ExportPlans(ctx context.Context, account int64, filter giving.PlanFilter,
	how ExportOptions,
) (*Export, error) {
	set, err := store.Admitted(ctx, s.Store, account, func(c db.Conn, w store.Admit) (db.Set,
		error) {
		return store.PlanSet(c, w, account, filter)
	})
	if err != nil {
		return nil, err
	}
	contacts := map[int64]crm.Contact{}
	named := func(piece []*store.StoredPlan) error { // a plan keeps the names of people alone
		names, err := s.ContactNames(ctx, account, store.Collect(piece,
			func(p *store.StoredPlan) int64 { return p.Contact }))
		contacts = names
		return err
	}
	return s.Prepared(ctx, account, "plans", &Export{Rows: set.Count(), How: how,
		head: sheet.PlanRow(new(giving.Plan), "").Header,
		write: func(ctx context.Context, to *records, done func(int) error) error {
			return InParts(account, &set, func(ids []int64) error {
				return eachOf(ctx, s, account, ids, sqlPlansByID, func(r db.Row) (*store.StoredPlan, int, error) {
					_, p := store.ScanPlan(r)
					return p, len(p.Body), p.Damage
				}, named, func(p *store.StoredPlan) error {
					company := contacts[p.Contact].Company
					return to.add(func() ([]byte, error) { return p.Append(nil), nil },
						func() ([]any, error) { return sheet.PlanRow(&p.Plan, company).Cells(), nil })
				}, done)
			})
		}})
}
