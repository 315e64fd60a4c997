package move

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/gifts"
	"donorbook/internal/store/jobs"
)

const (
	sqlContactHead = `SELECT revision FROM contact WHERE account_id = $1 AND id = $2`
	sqlGiftHeads   = `SELECT id, revision FROM gift WHERE account_id = $1 AND id = ANY($2)`
	sqlPlanHeads   = `SELECT id, revision FROM plan WHERE account_id = $1 AND id = ANY($2)`
	sqlSaid        = store.ChangeColumns + ` AND revision = ANY($2)`
)

// erasedDocument is a document of a person: the contact, a gift or a plan.
type erasedDocument struct {
	noun history.Noun
	id   int64
	head int64 // its last change
}

func (d erasedDocument) compare(noun history.Noun, id int64) int {
	return cmp.Or(cmp.Compare(d.noun, noun), cmp.Compare(d.id, id))
}

// erasedPiece is what one unit of work removes of a person's documents and of their histories.
type erasedPiece struct {
	documents []erasedDocument // whose own turn has come
	changes   []int64          // revisions
	bytes     int              // that the changes of the contact have
	unit      int              // documents and changes that it may have
	gifts     map[int64]bool   // that the person's history mentions
}

func (p *erasedPiece) room() int { return p.unit - len(p.changes) - len(p.documents) }

func (p *erasedPiece) full() bool { return p.room() <= 0 || p.bytes >= eraseBytes }

// documents erases the next gifts and plans of a person, and empties the next changes of the person's documents.
func (e *eraser) documents(ctx context.Context) error {
	if e.at.Person >= len(e.spec.People) {
		e.next()
		return e.note(ctx, store.Needs{}, nil)
	}
	person := &e.spec.People[e.at.Person]
	documents, own, err := e.documentsOf(ctx, person.Contact)
	if err != nil {
		return err
	}
	piece := erasedPiece{unit: e.unit, gifts: make(map[int64]bool)}
	at := e.at
	e.at.Noun, e.at.ID, e.at.At = 0, 0, 0
	for _, d := range documents {
		if d.compare(at.Noun, at.ID) < 0 {
			continue
		}
		if piece.full() {
			e.at.Noun, e.at.ID, e.at.At = d.noun, d.id, 0
			break
		}
		from := d.head
		if d.compare(at.Noun, at.ID) == 0 && at.At != 0 {
			from = at.At
		} else {
			piece.documents = append(piece.documents, d)
		}
		rest, err := e.readHistory(ctx, &piece, person, d, from)
		if err != nil {
			return err
		}
		if rest != 0 {
			e.at.Noun, e.at.ID, e.at.At = d.noun, d.id, rest
			break
		}
	}
	if e.at.Noun == 0 {
		e.at.Person++
	}
	for gift := range piece.gifts {
		if own[gift] {
			continue
		}
		if err := e.forgetMoved(ctx, person.Contact, gift); err != nil {
			return err
		}
	}
	return e.note(ctx, piece.needs(), piece.write(e.Now()))
}

// documentsOf are the next documents of a person, in the order in which they are erased, and all gifts.
func (e *eraser) documentsOf(ctx context.Context, contact int64) (all []erasedDocument, own map[int64]bool, err error) {
	account := e.job.Account
	err = e.View(ctx, func(c db.Conn) error {
		head, err := store.FindIn(c, crm.ErrNotFound, store.Number, sqlContactHead, account, contact)
		if err != nil {
			return err
		}
		all, own = []erasedDocument{{history.ContactNoun, contact, head}}, make(map[int64]bool)
		for _, of := range []struct {
			noun       history.Noun
			ids, heads string
		}{{history.GiftNoun, sqlGiftIDsOf, sqlGiftHeads}, {history.PlanNoun, sqlPlanIDsOf, sqlPlanHeads}} {
			ids, err := db.List(c, store.Number, of.ids, account, contact)
			if err != nil {
				return err
			}
			if slices.Sort(ids); of.noun == history.GiftNoun {
				for _, id := range ids {
					own[id] = true
				}
			}
			ids = slices.DeleteFunc(ids, func(id int64) bool { return erasedDocument{noun: of.noun, id: id}.compare(e.at.Noun, e.at.ID) < 0 })
			ids = ids[:min(len(ids), eraseUnit+1)]
			err = c.Each(func(r db.Row) error {
				all = append(all, erasedDocument{of.noun, r.Int(0), r.Int(1)})
				return nil
			}, of.heads, account, ids)
			if err != nil {
				return err
			}
		}
		return nil
	})
	slices.SortFunc(all, func(a, b erasedDocument) int { return a.compare(b.noun, b.id) })
	return all, own, err
}

// readHistory notes the changes of a document from one of them back, as far as there is room, and reads what those of a contact say. rest is the change
// that comes next, 0 where there is none.
func (e *eraser) readHistory(ctx context.Context, p *erasedPiece, person *crm.Identity, d erasedDocument, from int64) (rest int64, err error) {
	err = e.View(ctx, func(c db.Conn) error {
		revisions, err := db.List(c, store.Number, store.SQLBackFrom, e.job.Account, int64(d.noun), d.id, from, int64(max(1, p.room())+1))
		if err != nil {
			return err
		}
		sizes := make(map[int64]int)
		if d.noun == history.ContactNoun {
			if sizes, err = e.readSaid(c, p, person, revisions); err != nil {
				return err
			}
		}
		begun := len(p.changes)
		for _, revision := range revisions {
			if len(p.changes) > begun && p.full() {
				rest = revision
				return nil
			}
			p.changes = append(p.changes, revision)
			p.bytes += sizes[revision]
		}
		return nil
	})
	return rest, err
}

// readSaid learns from changes of a contact what the person was known by before, and which gifts were theirs. It tells how long they are.
func (e *eraser) readSaid(c db.Conn, p *erasedPiece, person *crm.Identity, revisions []int64) (sizes map[int64]int, err error) {
	sizes = make(map[int64]int)
	changes, err := db.List(c, store.ScanChange, sqlSaid, e.job.Account, revisions)
	var undone []int64 // merges
	for i := range changes {
		if sizes[changes[i].Revision] = len(changes[i].Data); changes[i].Kind == history.DidPart {
			undone = append(undone, changes[i].Undoes)
		}
	}
	if err == nil && len(undone) > 0 {
		err = c.Each(func(r db.Row) error {
			person.LearnOthers(differencesOf(r.Text(9)))
			return nil
		}, sqlSaid, e.job.Account, undone)
	}
	for i := range changes {
		switch c := &changes[i]; c.Kind {
		case history.DidGive, history.DidRefund:
			if id := gifts.CodeID(e.job.Account, c.Gift().Gift); id != 0 {
				p.gifts[id] = true
			}
		case history.DidNote, history.DidPart: // what another person is known by has gone with the undo
		default:
			person.Learn(differencesOf(c.Data))
		}
	}
	return sizes, err
}

// differencesOf is what a change did. One that cannot be read did nothing.
func differencesOf(data string) doc.Differences {
	differences, _ := doc.ParseDifferences(data) //nolint:errcheck // see above
	return differences
}

func (p *erasedPiece) needs() (n store.Needs) {
	for _, d := range p.documents {
		switch d.noun {
		case history.GiftNoun:
			n.Gifts = append(n.Gifts, d.id)
		case history.PlanNoun:
			n.More = append(n.More, store.Needs{Plan: d.id})
		}
	}
	return n
}

// write erases the documents, unless one was changed meanwhile: then all is read again. It decides about all of them before it writes anything.
func (p *erasedPiece) write(now time.Time) func(t *store.Tx, a *store.Account) error {
	return func(t *store.Tx, a *store.Account) error {
		var writes []func() error
		for _, d := range p.documents {
			write, err := d.erase(t, a, now)
			if err != nil {
				return err
			}
			writes = append(writes, write)
		}
		for _, write := range writes {
			if err := write(); err != nil {
				return err
			}
		}
		return t.Run(sqlEmptyChanges, a.Account, p.changes)
	}
}

// erase is what takes the person out of the document. The contact itself has become a stub before.
func (d erasedDocument) erase(t *store.Tx, a *store.Account, now time.Time) (write func() error, err error) {
	record := func() int64 { return t.Record(a, d.noun, d.id, history.DidErase, "") }
	switch d.noun {
	case history.GiftNoun:
		g, err := gifts.Of(a).Gifts.Get(t, a.Account, d.id)
		if err == nil {
			err = d.unchanged(g.Revision, g.Damage)
		}
		return func() error {
			erased := g.Erase()
			return gifts.PutGift(t, a, &erased, record())
		}, err
	case history.PlanNoun:
		plan, err := gifts.Of(a).Plans.Get(t, a.Account, d.id)
		if err == nil {
			err = d.unchanged(plan.Revision, plan.Damage)
		}
		return func() error {
			erased := plan.Plan.Erase(now)
			return gifts.PutPlan(t, a, &erased, record())
		}, err
	}
	return func() error { return nil }, nil
}

func (d erasedDocument) unchanged(revision int64, damage error) error {
	if damage == nil && revision != d.head {
		return jobs.ErrJobMoved
	}
	return damage
}

// forgetMoved empties the changes of a gift from the time when it was the person's, and the one that made it another contact's. The note goes, too, if it
// is from that time.
func (e *eraser) forgetMoved(ctx context.Context, contact, gift int64) error {
	var head int64
	var changes []store.Change
	err := e.View(ctx, func(c db.Conn) (err error) {
		if head, err = c.Int(gifts.SQLGiftRevision, e.job.Account, gift); err == nil {
			changes, err = store.DocumentChanges(c, e.job.Account, history.GiftNoun, gift, math.MaxInt64)
		}
		return err
	})
	if err != nil {
		return err
	}
	theirs, parts := movedChanges(changes, contact)
	if len(theirs) > 0 && !slices.Contains(e.spec.Gifts, gift) {
		e.spec.Gifts = append(e.spec.Gifts, gift)
	}
	if len(parts) > 0 {
		if err := e.forgetParts(ctx, gift, head, parts); err != nil {
			return err
		}
	}
	return e.empty(ctx, theirs)
}

// empty takes out what changes say, some in each unit of work.
func (e *eraser) empty(ctx context.Context, changes []int64) error {
	for some := range slices.Chunk(changes, eraseUnit) {
		if err := e.UpdateAccount(ctx, e.job.Account, func(t *store.Tx) error { return t.Run(sqlEmptyChanges, e.job.Account, some) }); err != nil {
			return err
		}
	}
	return nil
}

// forgetParts takes out what a gift says of a person, unless it was changed meanwhile.
func (e *eraser) forgetParts(ctx context.Context, gift, head int64, parts []string) error {
	return e.Update(e.job.By(ctx), e.job.Account, store.Needs{Gifts: []int64{gift}}, func(t *store.Tx) error {
		a, err := t.LockAccount(e.job.Account)
		if err != nil {
			return err
		}
		g, err := gifts.Of(a).Gifts.Get(t, a.Account, gift)
		if err != nil || g == nil || g.Damage != nil {
			return err
		}
		erased := g.EraseParts(parts)
		switch {
		case erased.Version() == g.Version():
			return nil
		case g.Revision != head:
			return jobs.ErrJobMoved
		}
		return gifts.PutGift(t, a, &erased, t.Record(a, history.GiftNoun, gift, history.DidErase, ""))
	})
}

// movedChanges are those changes of a gift, the newest first, that happened while it was a contact's, those that gave it to them or took it away, and those that replaced what it said in that time. The one that tells of the
// others comes last. parts are those of the gift that still say what was written in that time.
func movedChanges(changes []store.Change, contact int64) (theirs []int64, parts []string) {
	id := strconv.FormatInt(contact, 10)
	mine, ever := false, false
	replacedBy := make(map[string]int64) // the change that replaced what a part said, 0 for what it says now
	var replaced []int64
	written := func(part string) {
		if by := replacedBy[part]; by != 0 {
			replaced = append(replaced, by)
		} else {
			parts = append(parts, part)
		}
	}
	for _, c := range changes {
		was := mine
		for _, d := range differencesOf(c.Data) {
			if d.Field == "contact_id" && (string(d.Before) == id || string(d.After) == id) {
				mine, ever = string(d.Before) == id, true
				theirs = append(theirs, c.Revision)
			}
			if part := giving.PersonalPart(d.Field); part != "" && replacedBy[part] != c.Revision {
				if was {
					written(part)
				}
				replacedBy[part] = c.Revision
			}
		}
		if was && mine {
			theirs = append(theirs, c.Revision)
		}
	}
	if mine { // from the beginning
		for _, part := range giving.PersonalParts {
			written(part)
		}
	}
	if !ever {
		return nil, nil
	}
	slices.Sort(theirs)
	theirs = slices.Compact(theirs)
	replaced = slices.DeleteFunc(replaced, func(change int64) bool { return slices.Contains(theirs, change) })
	return append(replaced, theirs...), parts
}

// moved tells whether a change made a gift that of another contact, with their name, or that of this one.
func moved(c *store.Change, contact int64) bool {
	theirs, _ := movedChanges([]store.Change{*c}, contact)
	return len(theirs) > 0
}

const (
	// Merges of a contact into others that were undone, from one change to another.
	sqlPartsOf = store.MergeColumns + ` AND other = $2 AND other <> 0 AND id > $3 AND id < $4 AND undone <> 0 ORDER BY id`
	sqlBetween = store.ChangeColumns + ` AND noun = $2 AND id = $3 AND id <> 0 AND revision > $4 AND revision < $5 ORDER BY revision LIMIT $6`
)

// forgetPart empties what the history of another contact says of the time when a person was part of it, and of those that this contact was part of in that time.
func (e *eraser) forgetPart(ctx context.Context, merge *store.Merge) error {
	for parts := []store.Merge{*merge}; len(parts) > 0; parts = parts[1:] {
		part := &parts[0]
		further, err := store.List(ctx, e.JobStore.Base, store.ScanMerge, sqlPartsOf, e.job.Account, part.Survivor, part.ID, part.Undone)
		if err != nil {
			return err
		}
		if err := e.forgetTime(ctx, part); err != nil {
			return err
		}
		parts = append(parts, further...)
	}
	return nil
}

// forgetTime empties the changes of a survivor between a merge and its undo that touch what the merge has brought, and these two.
func (e *eraser) forgetTime(ctx context.Context, m *store.Merge) error {
	change, err := store.Find(ctx, e.JobStore.Base, crm.ErrNotFound, store.ScanChange, store.SQLChange, e.job.Account, m.ID)
	if err != nil && !errors.Is(err, crm.ErrNotFound) {
		return err
	}
	brought := differencesOf(change.Data)
	var found []int64
	for after, more := m.ID, len(brought) > 0; more; {
		some, err := store.List(ctx, e.JobStore.Base, store.ScanChange, sqlBetween, e.job.Account, int64(history.ContactNoun), m.Survivor, after, m.Undone, int64(eraseUnit))
		if err != nil {
			return err
		}
		for i := range some {
			if after = some[i].Revision; brought.Meet(differencesOf(some[i].Data)) {
				found = append(found, after)
			}
		}
		more = len(some) == eraseUnit
	}
	return e.empty(ctx, append(found, m.Undone, m.ID)) // what tells of the others goes last
}
