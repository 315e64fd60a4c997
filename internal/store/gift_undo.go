package store

import (
	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
)

// The undoing of an import of gifts withdraws each gift that it has recorded: the ledger keeps it, and it counts nowhere. A refund would say
// that money went back.

// Numbers of rows of an undoing: contacts have their sequence numbers, and gifts and plans follow.
const (
	keptGifts = crm.MaxSeq + 1
	keptPlans = 2 * keptGifts
)

// withdraw withdraws a gift that the import has recorded.
func (u *undoing) withdraw(c Change) (undone bool, err error) {
	g, err := giftsOf(u.a).gifts.get(u.t, u.a.account, c.ID)
	switch {
	case err != nil || g == nil:
		return false, err
	case g.damage != nil || g.revision != c.Revision:
		u.keep(keptGifts+crm.IDSeq(c.ID), g.Contact, Kept{Gift: g.Code})
		return false, nil
	}
	u.t.author.undoes = c.Revision
	return true, u.t.saveGift(u.a, g, g.Withdraw(), u.now)
}

// unpay makes a plan wait again for the gift that is withdrawn.
func (u *undoing) unpay(c Change) (undone bool, err error) {
	p, err := giftsOf(u.a).plans.get(u.t, u.a.account, c.ID)
	if err != nil || p == nil {
		return false, err
	}
	differences, err := doc.ParseDifferences(c.Data)
	if err != nil {
		return false, err
	}
	before, ok := p.TakeBack(differences)
	switch {
	case p.damage != nil || !ok:
		u.keep(keptPlans+crm.IDSeq(c.ID), p.Contact, Kept{Plan: p.Code})
		return false, nil
	case string(before.AppendBody(nil)) == string(p.body):
		return false, nil
	}
	u.t.author.undoes = c.Revision
	u.t.savePlan(u.a, p, &before)
	u.t.author.undoes = 0
	return true, nil
}

// Gifts of a contact that were not withdrawn, and plans.
const sqlGivesStill = `SELECT (SELECT COUNT(*) FROM gift WHERE account_id = $1 AND contact_id = $2 AND status <> $3) +
	(SELECT COUNT(*) FROM plan WHERE account_id = $1 AND contact_id = $2)`

// gives tells whether a contact has gifts that were not withdrawn, or plans.
func (u *undoing) gives(contact int64) (bool, error) {
	withdrawn := crm.Gift{Status: crm.Cancelled}
	left, err := u.t.Int(sqlGivesStill, u.a.account, contact, withdrawn.StatusNumber())
	return left > 0, err
}
