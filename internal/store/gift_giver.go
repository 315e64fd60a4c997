package store

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
)

// giver is the contact that a gift is from, and what becomes of it.
type giver struct {
	Doubt
	contact crm.Contact
	row     *StoredContact // of a contact that is there
	isNew   bool
	plan    *giving.Plan // that a gift of a file makes with it; nil for none
}

// findGiver finds the giver of a gift: the contact that another system's id or ours names, the one that matches, or a
// new one. Nothing is written yet.
func findGiver(u Unit, in *giving.GiftInput, planOf int64, now time.Time) (g giver, err error) {
	said := in.Giver
	if g.row, g.Other, err = matchID(u, in); err != nil {
		return g, err
	}
	if g.row != nil || g.Other != nil && said.SharesID(g.Other.Contact) {
		said.AddedIDs = nil // a contact has the id, perhaps of a source that the file does not tell
	}
	if g.row == nil && in.Contact != nil {
		row, err := activeContact(u, *in.Contact, in.OfPlan)
		if err != nil {
			return g, err
		}
		return giver{contact: row.Contact, row: row}, nil
	}
	if g.row == nil {
		if err = g.match(u, in, planOf); err != nil || g.Skipped {
			return g, err
		}
	}
	switch {
	case g.row == nil && in.Known:
		return g, in.NoGiver()
	case g.row == nil:
		g.contact, err = crm.NewContact(said, now)
		g.isNew = true
	default:
		g.contact, err = g.row.Contact.Merge(said.FillsOnly(&g.row.Contact), now)
	}
	if err != nil {
		return g, giving.GiverFaults(err)
	}
	err = CheckIDs(u, g.contact.ID, said.IDKeys())
	if errors.As(err, new(*doc.Invalid)) {
		if err = Fault(giving.GiverID, doc.ArchivedID); in.Anonymous { // an active one was found by it
			err = Fault("anonymous", giving.ArchivedAnonymous)
		}
	}
	return g, err
}

// matchID finds the contact with the id of a row. Two systems may give the same id to two people, so that one of
// another name, who has neither the email nor the phone of the row, is not the giver, but other.
func matchID(u Unit, in *giving.GiftInput) (row, other *StoredContact, err error) {
	row, err = MatchID(u, &in.Giver)
	if err != nil || row == nil || in.Anonymous || isNamed(in, row) {
		return row, nil, err
	}
	if emails, phones := in.Giver.Shared(row.Contact); len(emails)+len(phones) > 0 {
		return row, nil, nil
	}
	return nil, row, nil
}

// isNamed tells whether a contact may be called as a row calls the giver. Files of gifts often have the name of a
// company where they have those of people.
func isNamed(in *giving.GiftInput, row *StoredContact) bool {
	name, is := in.Giver.PersonName(), row.Contact.PersonName()
	return !name.Contradicts(is) || name.Reads(is)
}

// match finds the contact that a gift is from by its email, or by its phone. In a file, one of another name is not the
// giver, unless a person has said so.
func (g *giver) match(u Unit, in *giving.GiftInput, planOf int64) (err error) {
	row, other, err := MatchFitting(u.Tx, u.Number, &in.Giver, in.Giver.ReachKeys(), func(c *crm.Contact) bool {
		return in.Filed == nil || !in.Giver.PersonName().Contradicts(c.PersonName())
	})
	if g.row = row; err != nil || in.Filed == nil {
		return err
	}
	if row == nil && other != nil && isNamed(in, other) {
		g.row = other
	}
	if err = g.matchFiled(u, in, planOf); err != nil || g.row != nil {
		g.Other = nil // there is no question
		return err
	}
	if g.Other = cmp.Or(g.Other, other); g.Other != nil {
		switch in.Filed.OtherName {
		case crm.Skip:
			g.Skipped = true
		case crm.Dedupe:
			g.row = g.Other
		}
	}
	return nil
}

// matchFiled finds the giver by what only files tell: whose plan it is, the rows before, or a name with an address.
func (g *giver) matchFiled(u Unit, in *giving.GiftInput, planOf int64) (err error) {
	if planOf != 0 && (g.row == nil || g.row.ID != planOf) {
		row, err := active(u, in, planOf)
		if err != nil {
			return err
		}
		if row != nil && (g.row == nil || !g.row.Contact.PersonName().Contradicts(row.Contact.PersonName())) {
			g.row = row
		}
	}
	if g.row == nil {
		g.row, err = sameGiver(u, in)
	}
	if g.row == nil && err == nil && in.Filed.Neighbors > 0 {
		g.row, err = MatchName(u, &in.Giver, in.Filed.Neighbors)
	}
	return err
}

// active is an active contact that can be read and may be called as a row calls the giver, nil where there is none. It
// stands for those that were merged into it, by their names.
func active(u Unit, in *giving.GiftInput, id int64) (*StoredContact, error) {
	named := false
	row, err := Row(u, id)
	for err == nil && row != nil && row.Damage == nil {
		named = named || isNamed(in, row)
		if row.Contact.MergedInto == 0 {
			break
		}
		row, err = Row(u, row.Contact.MergedInto)
	}
	if err != nil || row == nil || row.Damage != nil || row.Contact.Archived() {
		return nil, err
	}
	if !named {
		named, err = mergedAs(u, in, row.ID)
	}
	if err != nil || !named {
		return nil, err
	}
	return row, nil
}

// mergedLimit is how many of the contacts that were merged into one are asked for their names.
const mergedLimit = 100

// mergedAs tells whether a contact that was merged into another one may be called as a row calls the giver: its gifts
// are those of the other one by now.
func mergedAs(u Unit, in *giving.GiftInput, survivor int64) (bool, error) {
	merged, err := MergedInto(u.Conn, u.Number, survivor)
	for _, id := range merged[:min(len(merged), mergedLimit)] {
		row, err := Row(u, id)
		if err != nil || row != nil && row.Damage == nil && isNamed(in, row) {
			return err == nil, err
		}
	}
	return false, err
}

// sameGiver is the contact of rows before with the same name and nothing else, nil where there is none. It may have
// been archived, renamed or merged since.
func sameGiver(u Unit, in *giving.GiftInput) (*StoredContact, error) {
	if in.Filed.Same == 0 {
		return nil, nil
	}
	return active(u, in, in.Filed.Same)
}

// activeContact is a contact that a gift may be from. The money of a plan has come, whether its contact is archived or
// not.
func activeContact(u Unit, id int64, ofPlan bool) (*StoredContact, error) {
	if Foreign(u.Number, id) {
		return nil, Fault("contact_id", doc.Unknown, "contacts")
	}
	row, err := Load(u.Tx, u.Number, id)
	switch {
	case errors.Is(err, crm.ErrNotFound):
		return nil, Fault("contact_id", doc.Unknown, "contacts")
	case err == nil && row.Contact.MergedInto != 0:
		return nil, Fault("contact_id", doc.MergedID, row.Contact.MergedInto)
	case err == nil && row.Contact.Archived() && (!ofPlan || row.Contact.Erased()):
		return nil, Fault("contact_id", doc.ArchivedID)
	}
	return row, err
}

// isMarked tells whether the giver must not be reached in a way that was open before.
func (g *giver) isMarked() bool {
	if g.row == nil {
		return g.contact.IsKeptFrom(new(crm.Contact))
	}
	return g.contact.IsKeptFrom(&g.row.Contact)
}

// MarkGiver gives the giver of a gift that was there before the marks that a row of a file has, if the row is about the
// same person.
func MarkGiver(u Unit, made *GiftDocument, in *giving.GiftInput, now time.Time) error {
	if names, _ := in.Giver.Marked(); len(names) == 0 {
		return nil
	}
	row, err := active(u, in, made.Contact)
	if row == nil || err != nil {
		return err
	}
	g := giver{row: row}
	if g.contact, err = row.Contact.Merge(in.Giver.MarksAlone(), now); err != nil || !g.isMarked() {
		return err
	}
	made.Marked = true
	_, err = g.save(u)
	return err
}

// save writes the giver, where it is new or has learned something.
func (g *giver) save(u Unit) (id int64, err error) {
	if g.isNew {
		return InsertContact(u.Tx, u.Number, g.contact)
	}
	_, err = ChangeContact(u.Tx, g.row, history.DidMerge,
		func(crm.Contact) (crm.Contact, error) { return g.contact, nil })
	return g.row.ID, err
}

const (
	sqlGiftsToMove = `SELECT id FROM gift WHERE account_id = $1 AND contact_id = $2 ORDER BY given_at, id LIMIT $3`
	sqlPlansToMove = `SELECT id FROM plan WHERE account_id = $1 AND contact_id = $2 ORDER BY id LIMIT $3`
	sqlGiftsGiven  = `SELECT COUNT(*) FROM gift WHERE account_id = $1 AND contact_id = $2`
	sqlPlansGiven  = `SELECT COUNT(*) FROM plan WHERE account_id = $1 AND contact_id = $2`
)

// GiftsAndPlansOf is how many gifts and plans a contact has.
func GiftsAndPlansOf(c db.Conn, account, contact int64) (gifts, plans int64, err error) {
	if gifts, err = c.Int(sqlGiftsGiven, account, contact); err == nil {
		plans, err = c.Int(sqlPlansGiven, account, contact)
	}
	return gifts, plans, err
}

// NextGiven are some gifts and plans of a contact, plans first, as many as there are up to a limit. Those that cannot
// be read are left out.
func NextGiven(u Unit, contact int64, limit int) (gifts, plans []int64, err error) {
	plans, err = nextReadable(u, &u.Plans, sqlPlansToMove, contact, limit)
	if err == nil && len(plans) < limit {
		gifts, err = nextReadable(u, &u.Gifts, sqlGiftsToMove, contact, limit-len(plans))
	}
	return gifts, plans, err
}

// nextReadable asks for more rows where some cannot be read.
func nextReadable[D coded](u Unit, rows *Lookup[int64, D], sql string, contact int64,
	limit int,
) (ids []int64, err error) {
	for asked := limit; ; asked *= 2 {
		found, err := db.List(u.Conn, Number, sql, u.Number, contact, int64(asked))
		if err == nil {
			err = rows.Load(u.Tx, u.Number, found)
		}
		if err != nil {
			return nil, err
		}
		ids = slices.DeleteFunc(slices.Clone(found), func(id int64) bool {
			_, damage := rows.Rows[id].state()
			return damage != nil
		})
		if len(ids) >= limit || len(found) < asked {
			return ids[:min(len(ids), limit)], nil
		}
	}
}

// Reassign makes gifts and plans of one contact those of another one, as it is when both turn out to be the same
// person: a gift keeps the name that it was given under. undoes has the changes that this takes back, by the ids of
// gifts and plans; it may be nil.
func Reassign(u Unit, gifts, plans []int64, to int64, undoes map[history.Noun]map[int64]int64) error {
	defer func() { u.Author.Undoes = 0 }()
	if err := db.First(func() error { return u.Plans.Load(u.Tx, u.Number, plans) },
		func() error { return u.Gifts.Load(u.Tx, u.Number, gifts) }); err != nil {
		return err
	}
	for _, id := range plans {
		p := u.Plans.Rows[id]
		if p.Damage != nil {
			return p.Damage
		}
		changed := p.Plan
		changed.Contact, u.Author.Undoes = to, undoes[history.PlanNoun][id]
		if err := SavePlan(u, p, &changed); err != nil {
			return err
		}
	}
	return moveGifts(u, gifts, to, undoes[history.GiftNoun])
}

// moveGifts looks up all that it writes to together: a contact may have many gifts.
func moveGifts(u Unit, ids []int64, to int64, undoes map[int64]int64) error {
	var changes []Derivation
	for _, id := range ids {
		g := u.Gifts.Rows[id]
		if g.Damage != nil {
			return g.Damage
		}
		moved := g.Gift
		moved.Contact = to
		changes = append(changes, Derivation{ID: id, Before: find.GiftRows(&g.Gift), After: find.GiftRows(&moved)})
	}
	if err := LookUpDerived(u, changes); err != nil {
		return err
	}
	givers := map[int64]bool{to: true}
	for _, id := range ids {
		before := u.Gifts.Rows[id].Gift
		after := before
		after.Contact, u.Author.Undoes = to, undoes[id]
		kind, differences := giftDifferences(&before, &after)
		if err := PutGift(u, &after, u.Record(history.GiftNoun, id, kind, differences.Text())); err != nil {
			return err
		}
		givers[before.Contact] = true
	}
	for contact := range givers {
		if err := settleStats(u, contact); err != nil {
			return err
		}
	}
	return nil
}
