package jobs

import (
	"errors"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// The undoing of an import of gifts withdraws each gift that it has recorded: the ledger keeps it, and it counts
// nowhere. A refund would say that money went back.

// Numbers of rows of an undoing: contacts have their sequence numbers, and gifts, plans and campaigns follow.
const (
	keptGifts     = doc.MaxSeq + 1
	keptPlans     = 2 * keptGifts
	keptCampaigns = 3 * keptGifts
)

// withdraw withdraws a gift that the import has recorded. One that was there before is as it was.
func (u *Undoing) withdraw(c store.Change) (undone bool, err error) {
	g, err := u.Gifts.Get(u.Tx, u.Number, c.ID)
	if err != nil || g == nil {
		return false, err
	}
	isRecorded := c.Kind == history.DidCreate
	if !isRecorded && u.made[c.ID] {
		return false, nil // the gift is withdrawn with its first change
	}
	var before giving.Gift
	others := u.isOthers(&c) || g.Damage != nil
	switch {
	case others:
	case isRecorded:
		if before = g.Withdraw(); u.drafts[before.Campaign] {
			before.Campaign = 0
		}
	default:
		told, err := doc.ParseDifferences(c.Data)
		if err != nil {
			return false, err
		}
		var ok bool
		before, ok = g.TakeBack(told, u.Now)
		others = !ok
	}
	if others {
		u.keep(keptGifts+doc.IDSeq(c.ID), g.Contact, Kept{Gift: g.Code})
		return false, nil
	}
	u.Author.Undoes = c.Revision
	if err = store.SaveGift(u.Unit, g, &before, u.Now); err == nil && isRecorded {
		err = errors.Join(store.UnpayPledge(u.Unit, &g.Gift, true, u.Now), store.BreakPromise(u.Unit, &g.Gift, u.Now))
	}
	return true, err
}

// endPlan ends a plan that the import has made. What it is called elsewhere is free for the next import.
func (u *Undoing) endPlan(c store.Change) (undone bool, err error) {
	p, err := u.Plans.Get(u.Tx, u.Number, c.ID)
	if err != nil || p == nil {
		return false, err
	}
	if u.isOthers(&c) || p.Damage != nil {
		u.keep(keptPlans+doc.IDSeq(c.ID), p.Contact, Kept{Plan: p.Code})
		return false, nil
	}
	ended := p.End(u.Now)
	if u.drafts[ended.Campaign] {
		ended.Campaign = 0
	}
	u.Author.Undoes = c.Revision
	err = store.SavePlan(u.Unit, p, &ended)
	u.Author.Undoes = 0
	return true, err
}

// unpay makes a plan wait again for the gift that is withdrawn.
func (u *Undoing) unpay(c store.Change) (undone bool, err error) {
	if c.Kind == history.DidCreate {
		return u.endPlan(c)
	}
	p, err := u.Plans.Get(u.Tx, u.Number, c.ID)
	if err != nil || p == nil {
		return false, err
	}
	differences, err := doc.ParseDifferences(c.Data)
	if err != nil {
		return false, err
	}
	before, ok := p.TakeBack(differences)
	switch {
	case p.Damage != nil || !ok:
		u.keep(keptPlans+doc.IDSeq(c.ID), p.Contact, Kept{Plan: p.Code})
		return false, nil
	case string(before.AppendBody(nil)) == string(p.Body):
		return false, nil
	}
	u.Author.Undoes = c.Revision
	err = store.SavePlan(u.Unit, p, &before)
	u.Author.Undoes = 0
	return true, err
}

// Contacts with gifts that were not withdrawn, and with plans that have not ended.
const (
	sqlGivesStill = `SELECT contact_id FROM gift WHERE account_id = $1 AND contact_id = ANY($2) AND status <> $3
		GROUP BY contact_id`
	sqlPlansStill = `SELECT contact_id FROM plan WHERE account_id = $1 AND contact_id = ANY($2) AND status <> $3
		GROUP BY contact_id`
)

// lookWhoGives asks which contacts that were created still give.
func (u *Undoing) lookWhoGives(created []store.Change) error {
	if u.gives = make(map[int64]bool); len(created) == 0 || u.Of.Kind == BulkJob {
		return nil
	}
	withdrawn, ended := giving.Gift{Status: giving.Cancelled}, giving.Plan{Status: giving.Ended}
	ids := store.Collect(created, func(c store.Change) int64 { return c.ID })
	read := func(r db.Row) error {
		u.gives[r.Int(0)] = true
		return nil
	}
	err := u.Prefetch(read, sqlGivesStill, u.Number, ids, withdrawn.StatusNumber())
	if err == nil {
		err = u.Prefetch(read, sqlPlansStill, u.Number, ids, ended.StatusNumber())
	}
	if err != nil {
		return err
	}
	return u.Fetch()
}
