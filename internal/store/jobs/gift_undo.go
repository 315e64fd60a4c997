package jobs

import (
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store"
	"donorbook/internal/store/gifts"
)

// The undoing of an import of gifts withdraws each gift that it has recorded: the ledger keeps it, and it counts nowhere. A refund would say
// that money went back.

// Numbers of rows of an undoing: contacts have their sequence numbers, and gifts and plans follow.
const (
	keptGifts = doc.MaxSeq + 1
	keptPlans = 2 * keptGifts
)

// withdraw withdraws a gift that the import has recorded.
func (u *Undoing) withdraw(c store.Change) (undone bool, err error) {
	g, err := gifts.Of(u.A).Gifts.Get(u.T, u.A.Account, c.ID)
	switch {
	case err != nil || g == nil:
		return false, err
	case g.Damage != nil || g.Revision != c.Revision:
		u.keep(keptGifts+doc.IDSeq(c.ID), g.Contact, Kept{Gift: g.Code})
		return false, nil
	}
	u.T.Author.Undoes = c.Revision
	return true, gifts.SaveGift(u.T, u.A, g, g.Withdraw(), u.Now)
}

// unpay makes a plan wait again for the gift that is withdrawn.
func (u *Undoing) unpay(c store.Change) (undone bool, err error) {
	p, err := gifts.Of(u.A).Plans.Get(u.T, u.A.Account, c.ID)
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
	u.T.Author.Undoes = c.Revision
	gifts.SavePlan(u.T, u.A, p, &before)
	u.T.Author.Undoes = 0
	return true, nil
}

// Gifts of a contact that were not withdrawn, and plans.
const sqlGivesStill = `SELECT (SELECT COUNT(*) FROM gift WHERE account_id = $1 AND contact_id = $2 AND status <> $3) +
	(SELECT COUNT(*) FROM plan WHERE account_id = $1 AND contact_id = $2)`

// gives tells whether a contact has gifts that were not withdrawn, or plans.
func (u *Undoing) gives(contact int64) (bool, error) {
	withdrawn := giving.Gift{Status: giving.Cancelled}
	left, err := u.T.Int(sqlGivesStill, u.A.Account, contact, withdrawn.StatusNumber())
	return left > 0, err
}
