package move

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

// personal says how the records of a noun hold data of people: which of them are about a contact, how they are shown to
// the person, and what is left of them when the person is erased. Erasures and people's own files are loops over nouns
// that say so.
type personal struct {
	list string // in a person's own file
	// the records about a contact ($2) and their last changes: those after one ($3), at most $4
	of    string
	byID  string                                         // reads records, to show them
	show  func(d *ContactData, r db.Row) ([]byte, error) // nil where a record tells of someone else
	noun  history.Noun                                   // in the history, 0 where it has no history of its own
	shown string                                         // what kept answers call a record that they show
	// adds to a piece what takes the person out of a record; nil where nothing is left to do
	erase func(e *eraser, p *erasedPiece, r heldRecord)
	past  func(*eraser, db.Conn, heldRecord) (former, error) // what else tells of the person because of a record

	// Where a record repeats what the giver was called: that, with what a change of it is made by.
	giver  func(r db.Row) (heldRecord, giving.Giver, error)
	rename func(p *erasedPiece, r heldRecord, to giving.Giver)
}

// heldRecord is a record about a contact.
type heldRecord struct {
	contact, id, head int64 // head is its last change
}

// former is a time in which another record told of a person: its changes that touch what the person has brought to it.
type former struct {
	id, from, to int64
	brought      doc.Differences
	further      []int64 // other records of the noun that tell of such a time because of this one
}

const (
	sqlContactsAbout = `SELECT id, revision FROM contact WHERE account_id = $1 AND id = $2 AND id > $3 LIMIT $4`
	sqlPlansAbout    = `SELECT id, revision FROM plan WHERE account_id = $1 AND contact_id = $2 AND id > $3 ORDER BY id
		LIMIT $4`
	// by the index of contacts alone, which orders them by time
	sqlGiftsAbout = `SELECT id, revision FROM gift WHERE account_id = $1 AND contact_id = $2 AND +id > $3 ORDER BY +id
		LIMIT $4`
	sqlHistoryAbout = `SELECT revision, revision FROM change WHERE account_id = $1 AND noun = ` + store.ContactNoun +
		` AND id = $2 AND id <> 0 AND revision > $3 ORDER BY revision LIMIT $4`
	sqlMergesAbout = `SELECT id, id AS head FROM contact_merge WHERE account_id = $1 AND survivor = $2 AND id > $3
		UNION SELECT id, id AS head FROM contact_merge WHERE account_id = $1 AND other = $2 AND other <> 0 AND id > $3 ORDER BY id LIMIT $4`

	sqlPlansByID  = store.SQLLoadPlans + ` ORDER BY id`
	sqlMergesByID = store.MergeColumns + ` AND id = ANY($2) ORDER BY id`
	// Merges of a contact into others that were undone, from one change to another.
	sqlPartsOf = store.MergeColumns +
		` AND other = $2 AND other <> 0 AND id > $3 AND id < $4 AND undone <> 0 ORDER BY id`
)

var (
	contactData = &personal{list: "merged_contacts", of: sqlContactsAbout, byID: sqlContactsByID,
		noun: history.ContactNoun, shown: store.ContactResource,
		show: func(d *ContactData, r db.Row) ([]byte, error) {
			row := store.ScanContact(r)
			if row.ID == d.contact.ID || row.Damage != nil {
				return nil, row.Damage
			}
			return wire(row, d.fields)
		}}

	planData = &personal{list: "plans", of: sqlPlansAbout, byID: sqlPlansByID, noun: history.PlanNoun,
		shown: store.PlanResource,
		show: func(_ *ContactData, r db.Row) (line []byte, err error) {
			line, _, err = planLine(r)
			return line, err
		},
		erase: func(e *eraser, p *erasedPiece, r heldRecord) {
			p.erasePlan(r, func(plan giving.Plan) giving.Plan { return plan.Erase(e.Now()) })
		},
		giver: func(r db.Row) (heldRecord, giving.Giver, error) {
			id, plan := store.ScanPlan(r)
			return heldRecord{id: id, head: plan.Revision}, plan.Giver, plan.Damage
		},
		rename: func(p *erasedPiece, r heldRecord, to giving.Giver) {
			p.erasePlan(r, func(plan giving.Plan) giving.Plan { plan.Giver = to; return plan })
		}}

	giftData = &personal{list: "transactions", of: sqlGiftsAbout, byID: store.SQLGiftsByID, noun: history.GiftNoun,
		shown: store.GiftResource,
		show: func(_ *ContactData, r db.Row) (line []byte, err error) {
			line, _, err = giftLine(r)
			return line, err
		},
		erase: func(_ *eraser, p *erasedPiece, r heldRecord) {
			p.write(sqlForgetReceipts, r.id)
			p.write(sqlForgetDonations, r.id)
			p.eraseGift(r, giving.Gift.Erase)
		},
		giver: func(r db.Row) (heldRecord, giving.Giver, error) {
			id, g := store.ScanGift(r)
			return heldRecord{id: id, head: g.Revision}, g.Giver, g.Damage
		},
		rename: func(p *erasedPiece, r heldRecord, to giving.Giver) {
			p.eraseGift(r, func(g giving.Gift) giving.Gift { g.Giver = to; return g })
		}}

	changeData = &personal{list: "history", of: sqlHistoryAbout, byID: store.SQLOldest,
		show: func(_ *ContactData, r db.Row) ([]byte, error) {
			c := store.ScanChange(r)
			return plainJSON(lineOf(&c))
		}}

	mergeData = &personal{list: "merges", of: sqlMergesAbout, byID: sqlMergesByID, shown: store.UndoneResource,
		show: func(d *ContactData, r db.Row) ([]byte, error) {
			m := store.ScanMerge(r)
			if m.Undone != 0 && !slices.Contains(d.person, m.Other) { // of what is another person now
				return nil, nil
			}
			return plainJSON(lineOfMerge(&m))
		},
		erase: func(_ *eraser, p *erasedPiece, r heldRecord) { p.write(store.SQLForgetSent, []int64{r.id}) },
		past:  timeAsAPart}
)

// timeAsAPart is the time in which a person was a part of another contact, until the merge was undone. What that
// contact was a part of meanwhile tells of the person, too.
func timeAsAPart(e *eraser, c db.Conn, r heldRecord) (f former, err error) {
	m, err := store.FindIn(c, crm.ErrNotFound, store.ScanMerge, store.SQLMerge, e.job.Account, r.id)
	if err != nil || m.Undone == 0 || m.Survivor == r.contact {
		return f, err
	}
	f = former{id: m.Survivor, from: m.ID, to: m.Undone}
	change, err := store.FindIn(c, crm.ErrNotFound, store.ScanChange, store.SQLChange, e.job.Account, m.ID)
	if errors.Is(err, crm.ErrNotFound) {
		err = nil // what it said is forgotten
	}
	if f.brought = doc.KnownDifferences(change.Data); err == nil {
		err = f.keepOwn(c, e.job.Account)
	}
	if err != nil {
		return f, err
	}
	f.brought = append(f.brought, crm.BouncedOf(f.brought)...)
	further, err := db.List(c, store.ScanMerge, sqlPartsOf, e.job.Account, m.Survivor, m.ID, m.Undone)
	f.further = store.Collect(further, func(m store.Merge) int64 { return m.ID })
	return f, err
}

// keepOwn leaves with the other contact what it still says, because it was told the same: its history has to say where
// that came from, so that it can be undone.
func (f *former) keepOwn(c db.Conn, account int64) error {
	row, err := store.FindIn(c, crm.ErrNotFound, store.ScanContact, store.SQLLoadContacts, account, []int64{f.id})
	switch {
	case errors.Is(err, crm.ErrNotFound), err == nil && row.Damage != nil:
		return nil // a check tells of it
	case err != nil:
		return err
	}
	without := row.Contact.Back([]crm.Event{{Edit: f.brought}}, func(string) bool { return true }, "")
	f.brought = f.brought.Without(doc.Compare(crm.ContactTable, &without, &row.Contact))
	return nil
}

// tells is whether a change of the other record tells of the person.
func (f *former) tells(c *store.Change) bool {
	return c.Revision == f.from || c.Revision == f.to || f.brought.Meet(doc.KnownDifferences(c.Data))
}

// unchanged refuses to erase a record that was changed since its history was read: then that is read again.
func unchanged(head, revision int64, damage error) error {
	if damage == nil && revision != head {
		return jobs.ErrJobMoved
	}
	return damage
}

// erasePlan takes out of a plan what tells of a person.
func (p *erasedPiece) erasePlan(r heldRecord, erase func(giving.Plan) giving.Plan) {
	p.needs.More = append(p.needs.More, store.Needs{Plan: r.id})
	p.decide(func(u store.Unit) (func() error, error) {
		plan, err := u.Plans.Get(u.Tx, u.Number, r.id)
		if err == nil {
			err = unchanged(r.head, plan.Revision, plan.Damage)
		}
		return func() error {
			erased := erase(plan.Plan)
			return store.PutPlan(u, &erased, u.Record(history.PlanNoun, r.id, history.DidErase, ""))
		}, err
	})
}

// eraseGift takes out of a gift what tells of a person.
func (p *erasedPiece) eraseGift(r heldRecord, erase func(giving.Gift) giving.Gift) {
	p.write(sqlForgetMails, store.AboutGift(r.id), store.AboutRefund(r.id))
	p.needs.Gifts = append(p.needs.Gifts, r.id)
	p.decide(func(u store.Unit) (func() error, error) {
		g, err := u.Gifts.Get(u.Tx, u.Number, r.id)
		if err == nil {
			err = unchanged(r.head, g.Revision, g.Damage)
		}
		return func() error {
			erased := erase(g.Gift)
			if g.Contact != r.contact && erased.Version() == g.Version() {
				return nil
			}
			return store.PutGift(u, &erased, u.Record(history.GiftNoun, r.id, history.DidErase, ""))
		}, err
	})
}

// records erases the next records about the people, and empties what their histories say.
func (e *eraser) records(ctx context.Context) error {
	var p *erasedPiece
	begun := e.at
	err := e.View(ctx, func(c db.Conn) error {
		p, e.at = &erasedPiece{unit: e.unit}, begun
		for !p.full() && e.at.Person < len(e.spec.People) {
			if err := e.some(c, p); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if e.at.Person >= len(e.spec.People) {
		e.next()
	}
	return e.note(ctx, p)
}

// some adds records of a noun about a person to a piece: the one whose history is looked at, those that come next
// because of it, or those behind it. It goes on with the next noun, or the next person, where none is left.
func (e *eraser) some(c db.Conn, p *erasedPiece) error {
	all := slices.DeleteFunc(slices.Clone(nouns), func(n *noun) bool { return n.person == nil || n.person.shown == "" })
	place := max(0, slices.IndexFunc(all, func(n *noun) bool { return n.person.list == e.at.List }))
	of, contact := all[place].person, e.spec.People[e.at.Person].Contact
	switch {
	case e.at.At != 0:
		return e.record(c, p, of, heldRecord{contact: contact, id: e.at.Record})
	case len(e.at.Also) > 0:
		one := e.at.Also[0]
		e.at.Also = e.at.Also[1:]
		return e.record(c, p, of, heldRecord{contact: contact, id: one})
	}
	found, err := db.List(c, func(r db.Row) heldRecord { return heldRecord{contact, r.Int(0), r.Int(1)} }, of.of,
		e.job.Account, contact, e.at.ID, int64(p.unit))
	for _, r := range found {
		if e.at.ID = r.id; err == nil {
			err = e.record(c, p, of, r)
		}
		if e.at.At != 0 || len(e.at.Also) > 0 || p.full() {
			return err
		}
	}
	if len(found) == 0 {
		if e.at = (erasureProgress{Step: e.at.Step, Person: e.at.Person, Parts: e.at.Parts}); place+1 < len(all) {
			e.at.List = all[place+1].person.list
		} else {
			e.at.Person++
		}
	}
	return err
}

// record adds a record to a piece, with its history or what else tells of the person because of it, as far as there is
// room.
func (e *eraser) record(c db.Conn, p *erasedPiece, of *personal, r heldRecord) error {
	noun, time, from := of.noun, former{id: r.id, to: r.head}, e.at.At
	if of.past != nil {
		var err error
		if time, err = of.past(e, c, r); err != nil {
			return err
		}
		noun = history.ContactNoun
	}
	if from == 0 {
		p.unit--
		p.answer(of.shown, r.id)
		if of.erase != nil {
			of.erase(e, p, r)
		}
		if of.past != nil && time.id != 0 {
			p.answer(store.ContactResource, time.id)
			e.partOf(time.id)
		}
		e.at.Also, from = append(e.at.Also, time.further...), time.to
	}
	if e.at.At = 0; time.id == 0 {
		return nil
	}
	changes, err := db.List(c, store.ScanChange, store.SQLBackFrom, e.job.Account, int64(noun), time.id, from,
		time.from, int64(max(1, p.unit)+1))
	var moved map[int64]int64
	if err == nil && of == contactData {
		moved, err = e.learn(c, r.contact, changes)
	}
	for i := range changes {
		change := &changes[i]
		if i > 0 && p.full() {
			e.at.Record, e.at.At = r.id, change.Revision
			break
		}
		if p.unit, p.bytes = p.unit-1, p.bytes+len(change.Data); of.past == nil {
			p.changes = append(p.changes, change.Revision)
		} else if time.tells(change) { // what else it says is the other contact's, and its merges can still be undone
			p.write(sqlRewriteChange, change.Revision, doc.KnownDifferences(change.Data).Without(time.brought).Text())
		}
		if change.Kind == history.DidNote {
			p.answer(store.NoteResource, change.Revision)
		}
		if gift := mentioned(e.job.Account, change); err == nil && moved[gift] != 0 {
			err = e.forgetMoved(c, p, heldRecord{r.contact, gift, moved[gift]})
			delete(moved, gift)
		}
	}
	return err
}

// mentioned is the gift that a change of a contact tells of, 0 for none.
func mentioned(account int64, c *store.Change) int64 {
	if c.Kind != history.DidGive && c.Kind != history.DidRefund {
		return 0
	}
	return store.CodeID(account, c.Gift().Gift)
}

const (
	sqlRewriteChange = `UPDATE change SET data = $3 WHERE account_id = $1 AND revision = $2`

	sqlSaid       = store.ChangeColumns + ` AND revision = ANY($2)`
	sqlGiftsMoved = `SELECT id, revision FROM gift WHERE account_id = $1 AND id = ANY($2) AND contact_id <> $3`
)

// learn learns from changes of a contact what the person was known by before. moved are the gifts that they tell of and
// that are another contact's now, with their last changes.
func (e *eraser) learn(c db.Conn, contact int64, changes []store.Change) (moved map[int64]int64, err error) {
	person := &e.spec.People[e.at.Person]
	var undone, given []int64 // merges, and gifts
	for i := range changes {
		if gift := mentioned(e.job.Account, &changes[i]); gift != 0 {
			given = append(given, gift)
		}
		if changes[i].Kind == history.DidPart {
			undone = append(undone, changes[i].Undoes)
		}
	}
	err = c.Scan(func(r db.Row) { person.LearnOthers(doc.KnownDifferences(r.Text(9))) }, sqlSaid, e.job.Account, undone)
	for i := range changes {
		switch changes[i].Kind {
		case history.DidGive, history.DidRefund, history.DidNote, history.DidPart:
			// what another person is known by has gone with the undo
		default:
			person.Learn(doc.KnownDifferences(changes[i].Data))
		}
	}
	if moved = make(map[int64]int64); err == nil {
		err = c.Scan(func(r db.Row) { moved[r.Int(0)] = r.Int(1) }, sqlGiftsMoved, e.job.Account, given, contact)
	}
	return moved, err
}

// forgetMoved empties the changes of a gift from the time when it was the person's, and the one that made it another
// contact's. What it still says from that time goes, too.
func (e *eraser) forgetMoved(c db.Conn, p *erasedPiece, r heldRecord) error {
	changes, err := store.DocumentChanges(c, e.job.Account, history.GiftNoun, r.id, 1<<30)
	theirs, parts := history.WhileOf(changes, r.contact)
	if err != nil || len(theirs) == 0 {
		return err
	}
	p.write(sqlForgetVoid, r.id) // the receipt that is valid is the other contact's
	if len(parts) > 0 {
		p.eraseGift(r, func(g giving.Gift) giving.Gift { return g.EraseParts(parts) })
	}
	p.changes, p.unit = append(p.changes, theirs...), p.unit-len(theirs)-1
	p.answer(store.GiftResource, r.id)
	return nil
}

// partOf notes a contact that a person was part of for a while.
func (e *eraser) partOf(contact int64) {
	if !slices.Contains(e.spec.PartOf, contact) {
		e.spec.PartOf = append(e.spec.PartOf, contact)
	}
}

// givers takes the people out of gifts and plans of contacts that they were part of for a while. These repeat what
// their giver was called, and that may have been what a person had brought.
func (e *eraser) givers(ctx context.Context, p *erasedPiece) (ended bool, err error) {
	if e.at.Person >= len(e.spec.PartOf) {
		e.spec.PartOf = nil
		return true, nil
	}
	contact, err := e.ContactRecord(ctx, e.job.Account, e.spec.PartOf[e.at.Person])
	switch {
	case errors.Is(err, crm.ErrNotFound), errors.As(err, new(*store.Damaged)): // a check tells of it
		e.at = erasureProgress{Step: e.at.Step, Person: e.at.Person + 1, Parts: e.at.Parts}
		return false, nil
	case err != nil:
		return false, err
	case contact.MergedInto != 0: // and has its gifts now
		e.partOf(contact.MergedInto)
	}
	some := 0
	begun := e.at
	err = e.View(ctx, func(c db.Conn) (err error) {
		*p, e.at, some = erasedPiece{}, begun, 0
		if e.at.List == changeData.list {
			some, err = e.giverChanges(c, p, &contact)
		} else {
			some, err = e.giverRecords(c, p, &contact)
		}
		return err
	})
	if err == nil && some == 0 {
		switch e.at.ID, e.at.At = 0, 0; e.at.List {
		case "", giftData.list:
			e.at.List = planData.list
		case planData.list:
			e.at.List = changeData.list
		default:
			e.at.List, e.at.Person = "", e.at.Person+1
		}
	}
	return false, err
}

// giverRecords looks at some gifts or plans of a contact, and tells how many there were.
func (e *eraser) giverRecords(c db.Conn, p *erasedPiece, contact *crm.Contact) (int, error) {
	of := giftData
	if e.at.List == planData.list {
		of = planData
	}
	some, err := db.List(c, store.Number, of.of, e.job.Account, contact.ID, e.at.ID, int64(eraseUnit))
	if err != nil || len(some) == 0 {
		return 0, err
	}
	e.at.ID = some[len(some)-1]
	if of == giftData {
		if err := e.giverReceipts(c, p, contact, some); err != nil {
			return 0, err
		}
	}
	return len(some), c.Scan(func(row db.Row) {
		r, giver, damage := of.giver(row)
		is := giver
		for i := range e.spec.People {
			is = is.Without(&e.spec.People[i], contact)
		}
		if damage == nil && is != giver {
			r.contact = contact.ID
			of.rename(p, r, is)
			p.answer(of.shown, r.id)
		}
	}, of.byID, e.job.Account, some)
}

// giverChanges looks at the histories of some gifts that a contact has or had.
func (e *eraser) giverChanges(c db.Conn, p *erasedPiece, contact *crm.Contact) (int, error) {
	if e.at.At == 0 {
		e.at.At = math.MaxInt64
	}
	some, err := db.List(c, store.ScanChange, store.SQLBackFrom, e.job.Account, int64(history.ContactNoun), contact.ID,
		e.at.At, int64(0), int64(eraseUnit))
	for i := 0; i < len(some) && err == nil; i++ {
		e.at.At = cmp.Or(some[i].Revision-1, -1)
		gift := mentioned(e.job.Account, &some[i])
		if gift == 0 {
			continue
		}
		var changes []store.Change
		changes, err = store.DocumentChanges(c, e.job.Account, history.GiftNoun, gift, math.MaxInt64)
		for _, change := range changes {
			left, told := doc.KnownDifferences(change.Data), false
			for n := range e.spec.People {
				var one bool
				left, one = giving.ChangeWithout(left, &e.spec.People[n], contact)
				told = told || one
			}
			if told {
				p.write(sqlRewriteChange, change.Revision, left.Text())
				p.answer(giftData.shown, gift)
			}
		}
	}
	return len(some), err
}
