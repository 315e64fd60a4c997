package donations

import (
	"context"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

const (
	sqlTests = `SELECT ` + donationColumns + ` FROM donation WHERE account_id = $1 AND live = 0 AND provider <> ''
		AND provider <> 'pretend' ORDER BY id LIMIT 20`
	sqlGiftsOfPlan = `SELECT id FROM gift WHERE account_id = $1 AND plan_id = $2 AND plan_id <> 0`
)

// testsComeBack is broken by deleting test gifts that a look at the provider would find again.
const testsComeBack doc.Rule = "Your pages take test payments at the moment, so these gifts would come back. Connect your live key first, or disconnect the provider."

// DeleteTests removes what was begun in a provider's test mode. Gifts and plans that it became are canceled, as by the
// undo of an import: the ledger has no gaps, and they have counted nowhere. It tells how many donations there were.
func (s *DonationStore) DeleteTests(ctx context.Context, account int64) (deleted int, err error) {
	err = store.Stepwise(ctx, func() (more bool, err error) {
		some := 0
		err = s.store.UpdateAccount(ctx, account, func(t *store.Tx) error {
			some = 0
			c, err := db.List(t.Conn, scanConnection, sqlConnection, account)
			if err == nil && len(c) > 0 && !c[0].Live && c[0].Provider != donate.Pretend {
				err = doc.NewInvalid("", testsComeBack)
			}
			if err != nil {
				return err
			}
			u := t.Account(account)
			tests, err := db.List(t.Conn, scanDonation, sqlTests, account)
			for _, d := range tests {
				if err == nil {
					err = s.deleteTest(u, d)
				}
				some++
			}
			return err
		})
		deleted += some
		return some > 0 && err == nil, err
	})
	return deleted, err
}

func (s *DonationStore) deleteTest(u store.Unit, d *row) error {
	ids := []int64{store.CodeID(u.Number, d.Gift)}
	if d.GiftPlan != "" {
		id := store.CodeID(u.Number, d.GiftPlan)
		of, err := db.List(u.Conn, store.Number, sqlGiftsOfPlan, u.Number, id)
		if ids = append(ids, of...); err != nil {
			return err
		}
		p, err := u.Plans.Get(u.Tx, u.Number, id)
		if err != nil {
			return err
		}
		if p != nil && p.Damage == nil && p.Code == d.GiftPlan && p.Status != giving.Ended {
			ended := p.End(s.store.Now())
			if err := store.SavePlan(u, p, &ended); err != nil {
				return err
			}
		}
	}
	for _, id := range ids {
		g, err := u.Gifts.Get(u.Tx, u.Number, id)
		if err != nil {
			return err
		}
		if g != nil && g.Damage == nil && g.Test && g.Status != giving.Cancelled {
			canceled := g.Withdraw()
			if err := store.SaveGift(u, g, &canceled, s.store.Now()); err != nil {
				return err
			}
		}
	}
	u.Delete(store.DonationTable, u.Number, d.ID)
	return nil
}
