package merges

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
)

// Undone is what the undoing of a merge has made of its contacts.
type Undone struct {
	Survivor contacts.Document
	Other    contacts.Document // without an id where an undo was undone: then it is part of the survivor again
	Left     []string          // fields that were changed since and stay as they are, and external ids that another contact has by now
	merge    int64
	undo     int64
}

// ID is the id of the undo, by which it can be undone itself.
func (u Undone) ID() int64 { return u.undo }

// Fate tells that it is a change.
func (Undone) Fate() (created, merged bool) { return false, false }

// Merging is the merge that an undone undo has made, 0 for none.
func (u Undone) Merging() (id int64, review bool) { return u.Survivor.Merge, false }

// Append appends the wire form.
func (u Undone) Append(dst []byte) []byte {
	dst = append(dst, `{"undo_id":`...)
	if u.undo != 0 {
		dst = strconv.AppendInt(dst, u.undo, 10)
	} else {
		dst = append(dst, "null"...)
	}
	dst = u.Survivor.Append(append(dst, `,"survivor":`...))
	if dst = append(dst, `,"other":`...); u.Other.ID != 0 {
		dst = u.Other.Append(dst)
	} else {
		dst = append(dst, "null"...)
	}
	return append(doc.AppendTexts(append(dst, `,"left":`...), u.Left), '}')
}

const undoneShown = "unmerge"

// Shown names what was undone for an answer that shows it.
func (u Undone) Shown() store.Shown { return store.Shown{Kind: undoneShown, ID: u.merge} }

func rereadUndone(t *store.Tx, a *store.Account, id int64, _ string) (store.Made, error) {
	row, err := store.FindIn(t.Conn, crm.ErrNotFound, store.ScanMerge, store.SQLMerge, a.Account, id)
	if err != nil {
		return nil, err
	}
	u := Undone{merge: id, undo: row.Undone}
	if u.Survivor, err = contacts.Current(t, a, row.Survivor); err == nil && row.Undone != 0 {
		u.Other, err = contacts.Current(t, a, row.Other)
	}
	return u, err
}

// UndoMerge makes both contacts of a merge again as they were. What was changed since stays with the survivor, and so do gifts that were recorded since, but for those of plans that go back.
// What a create or an import had sent becomes a contact of its own. The id may be that of an undo: then both are merged again.
func (s *MergeStore) UndoMerge(ctx context.Context, account, id int64, region string) (Undone, error) {
	now, begun := s.base.Now(), false
	made, err := store.Answered(ctx, s.base, account, store.Needs{}, func(t *store.Tx, a *store.Account) (made Undone, err error) {
		m := newMerging(t, a, region, now)
		row, err := store.FindIn(t.Conn, crm.ErrNotFound, store.ScanMerge, store.SQLMerge, account, id)
		if errors.Is(err, crm.ErrNotFound) {
			made, err = m.redo(id)
		} else if err == nil {
			made, err = m.undo(row)
		}
		begun = m.begun()
		return made, err
	})
	s.wake(begun)
	return made, err
}

// Unmerge is UndoMerge of a merge in a unit of work. Nothing is done where it was undone before.
func Unmerge(t *store.Tx, a *store.Account, id int64, region string, now time.Time) error {
	row, err := store.FindIn(t.Conn, crm.ErrNotFound, store.ScanMerge, store.SQLMerge, a.Account, id)
	if err != nil || row.Undone != 0 {
		return err
	}
	_, err = newMerging(t, a, region, now).undo(row)
	return err
}

// redo undoes an undo.
func (m merging) redo(id int64) (u Undone, err error) {
	parted, err := store.FindIn(m.t.Conn, crm.ErrNotFound, store.ScanChange, store.SQLChange, m.a.Account, id)
	if err == nil && (parted.Noun != history.ContactNoun || parted.Kind != history.DidPart) {
		err = crm.ErrNotFound
	}
	if err != nil {
		return u, err
	}
	row, err := store.FindIn(m.t.Conn, crm.ErrNotFound, store.ScanMerge, store.SQLMerge, m.a.Account, parted.Undoes)
	if err == nil {
		u.Survivor, err = m.merge(row.Survivor, crm.MergeInput{Contact: row.Other}, parted)
		u.merge = u.Survivor.Merge
	}
	return u, err
}

const (
	sqlMergeChanges = store.ChangeColumns + ` AND revision >= $2 AND revision <= $3 ORDER BY revision`
	sqlStanding     = store.MergeColumns + ` AND survivor = $2 AND undone = 0 AND id > $3 ORDER BY id LIMIT 100`
	sqlPartedSince  = store.MergeColumns + ` AND survivor = $2 AND id < $3 AND undone > $3 ORDER BY id LIMIT 100`
	sqlMergeAway    = store.MergeColumns + ` AND other = $2 AND other <> 0 AND undone = 0`
)

// first is the first change of a merge.
func first(row *store.Merge) int64 {
	if row.Sent != "" {
		return row.ID
	}
	return row.ID - 1
}

// refuse tells why a merge cannot be undone.
func (m merging) refuse(row *store.Merge, survivor, other *crm.Contact) error {
	switch {
	case row.Undone != 0:
		return store.Fault("", doc.UndoneMerge)
	case first(row) < m.a.Oldest:
		return store.Fault("", doc.MergeTooOld)
	case survivor.Erased() || other.Erased() || row.Sent != "" && row.SentDocument() == "": // what was sent named a person who was erased
		return store.Fault("", doc.ErasedMerge)
	case survivor.MergedInto != 0:
		away, err := store.FindIn(m.t.Conn, crm.ErrNotFound, store.ScanMerge, sqlMergeAway, m.a.Account, survivor.ID)
		if err != nil {
			return err
		}
		return store.Fault("", doc.MergedSince, survivor.ID, survivor.MergedInto, away.ID)
	case survivor.Archived():
		return store.Fault("", doc.ArchivedFirst)
	}
	return nil
}

func (m merging) undo(row store.Merge) (u Undone, err error) {
	u.merge = row.ID
	survivor, err := m.load(row.Survivor)
	if err != nil {
		return u, err
	}
	other := &contacts.Stored{}
	if row.Other != 0 {
		other, err = m.load(row.Other)
	}
	if err == nil {
		err = m.refuse(&row, &survivor.Contact, &other.Contact)
	}
	if err != nil {
		return u, err
	}
	changes, err := db.List(m.t.Conn, store.ScanChange, sqlMergeChanges, m.a.Account, first(&row), row.ID)
	if err != nil {
		return u, err
	}
	own := changes[row.ID-first(&row)]
	before, left, err := takeBack(survivor.Contact, own, m.region, m.now)
	if err == nil {
		before, err = m.regain(before, &survivor.Contact, &row)
	}
	if err != nil {
		return u, err
	}
	if u.Survivor, err = m.record(survivor, history.DidPart, row.ID, nil, before); err != nil {
		return u, err
	}
	u.undo, u.Left = u.Survivor.Tag.Revision, left
	row.Undone = u.undo
	if row.Sent != "" {
		row.Other, err = m.makeSent(row.Sent, &u)
	} else {
		err = m.bringBack(other, changes[0], &u)
	}
	if err == nil {
		err = m.move(&row, func() (int64, error) { return row.Last - row.ID, nil })
	}
	if err != nil {
		return u, err
	}
	m.t.Save(store.MergeTable, row.Values(m.a.Account)...)
	if u.Survivor, err = contacts.Current(m.t, m.a, row.Survivor); err == nil {
		u.Other, err = contacts.Current(m.t, m.a, row.Other)
	}
	return u, err
}

// regain gives the survivor back what contacts have, too, that were merged into it later and are still part of it: these merges added nothing that it had already. What it had kept in this way when earlier merges were undone goes first.
func (m merging) regain(before crm.Contact, was *crm.Contact, undone *store.Merge) (crm.Contact, error) {
	parted, err := db.List(m.t.Conn, store.ScanMerge, sqlPartedSince, m.a.Account, undone.Survivor, undone.ID)
	for _, row := range parted {
		change, unknown := store.FindIn(m.t.Conn, crm.ErrNotFound, store.ScanChange, store.SQLChange, m.a.Account, row.ID)
		if errors.Is(unknown, crm.ErrNotFound) {
			continue
		}
		if before, _, err = takeBack(before, change, m.region, m.now); err != nil || unknown != nil {
			return before, cmp.Or(unknown, err)
		}
	}
	if err != nil {
		return before, err
	}
	standing, err := db.List(m.t.Conn, store.ScanMerge, sqlStanding, m.a.Account, undone.Survivor, undone.ID)
	for _, row := range standing {
		var part crm.Contact
		if row.Other != 0 {
			var other *contacts.Stored
			if other, err = m.load(row.Other); err == nil {
				part = other.Contact
			}
		} else if row.SentDocument() != "" {
			part, err = contacts.SentContact(row.Sent, m.now)
		}
		if err != nil {
			return before, err
		}
		before = before.Regain(was, &part, m.region)
	}
	return before, err
}

// bringBack makes the other contact what it was.
func (m merging) bringBack(other *contacts.Stored, joined store.Change, u *Undone) error {
	d, err := doc.ParseDifferences(joined.Data)
	if err != nil {
		return err
	}
	before, err := other.Contact.SeparateFrom(d, m.region, m.now)
	if err == nil {
		before, err = m.withFreeIDs(before, u)
	}
	if err == nil {
		_, err = m.record(other, history.DidRestore, joined.Revision, nil, before)
	}
	return err
}

// makeSent makes a contact of what was sent.
func (m merging) makeSent(sent string, u *Undone) (id int64, err error) {
	c, err := contacts.SentContact(sent, m.now)
	if err == nil {
		c, err = m.withFreeIDs(c, u)
	}
	if err != nil {
		return 0, err
	}
	return contacts.InsertContact(m.t, m.a.Account, c)
}

// withFreeIDs is a contact without the external ids that another one has by now.
func (m merging) withFreeIDs(c crm.Contact, u *Undone) (_ crm.Contact, err error) {
	const field = "external_ids"
	c = c.WithoutExternalIDs(func(key string) bool {
		var taken *doc.Invalid
		switch failed := contacts.CheckIDs(m.t, m.a, c.ID, []string{key}); {
		case failed == nil:
			return false
		case !errors.As(failed, &taken):
			err = failed
		case !slices.Contains(u.Left, field):
			u.Left = append(u.Left, field)
		}
		return true
	})
	return c, err
}
