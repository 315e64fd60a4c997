package jobs

import (
	"math"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
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

// withdraw withdraws a gift that the import has recorded. One that was there before is as it was.
func (u *Undoing) withdraw(c store.Change) (undone bool, err error) {
	g, err := gifts.Of(u.A).Gifts.Get(u.T, u.A.Account, c.ID)
	if err != nil || g == nil {
		return false, err
	}
	isRecorded := c.Kind == history.DidCreate
	if !isRecorded {
		if isRecorded, err = u.T.Exists(sqlCreatedBy, u.A.Account, int64(history.GiftNoun), c.ID, int64(history.DidCreate), u.Of.ID); err != nil || isRecorded {
			return false, err // the gift is withdrawn with its first change
		}
	}
	others, err := u.T.Exists(sqlOthersBetween, u.A.Account, int64(history.GiftNoun), c.ID, c.Revision, int64(math.MaxInt64))
	if err != nil {
		return false, err
	}
	var before giving.Gift
	switch others = others || g.Damage != nil; {
	case others:
	case isRecorded:
		before = g.Withdraw()
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
	u.T.Author.Undoes = c.Revision
	return true, gifts.SaveGift(u.T, u.A, g, before, u.Now)
}

const sqlCreatedBy = `SELECT 1 FROM change WHERE account_id = $1 AND noun = $2 AND id = $3 AND id <> 0 AND kind = $4 AND job = $5`

// endPlan ends a plan that the import has made. What it is called elsewhere is free for the next import.
func (u *Undoing) endPlan(c store.Change) (undone bool, err error) {
	p, err := gifts.Of(u.A).Plans.Get(u.T, u.A.Account, c.ID)
	if err != nil || p == nil {
		return false, err
	}
	others, err := u.T.Exists(sqlOthersBetween, u.A.Account, int64(history.PlanNoun), c.ID, c.Revision, int64(math.MaxInt64))
	switch {
	case err != nil:
		return false, err
	case others || p.Damage != nil:
		u.keep(keptPlans+doc.IDSeq(c.ID), p.Contact, Kept{Plan: p.Code})
		return false, nil
	}
	ended := p.End(u.Now)
	u.T.Author.Undoes = c.Revision
	gifts.MoveReference(u.T, u.A, gifts.PlanReference, p.ExternalID, ended.ExternalID, p.ID)
	gifts.SavePlan(u.T, u.A, p, &ended)
	u.T.Author.Undoes = 0
	return true, nil
}

// unpay makes a plan wait again for the gift that is withdrawn.
func (u *Undoing) unpay(c store.Change) (undone bool, err error) {
	if c.Kind == history.DidCreate {
		return u.endPlan(c)
	}
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

// Gifts of a contact that were not withdrawn, and plans that have not ended.
const sqlGivesStill = `SELECT (SELECT COUNT(*) FROM gift WHERE account_id = $1 AND contact_id = $2 AND status <> $3) +
	(SELECT COUNT(*) FROM plan WHERE account_id = $1 AND contact_id = $2 AND status <> $4)`

// gives tells whether a contact has gifts that were not withdrawn, or plans.
func (u *Undoing) gives(contact int64) (bool, error) {
	withdrawn, ended := giving.Gift{Status: giving.Cancelled}, giving.Plan{Status: giving.Ended}
	left, err := u.T.Int(sqlGivesStill, u.A.Account, contact, withdrawn.StatusNumber(), ended.StatusNumber())
	return left > 0, err
}
