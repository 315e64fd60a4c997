package merges

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
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

// Outcome tells that it is a change, and which merge an undone undo has made.
func (u Undone) Outcome() store.Outcome { return store.Outcome{Merge: u.Survivor.Merge} }

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

const UndoneResource = "unmerge"

// Resource names what was undone for an answer that shows it.
func (u Undone) Resource() store.Resource { return store.Resource{Kind: UndoneResource, ID: u.merge} }

func rereadUndone(t *store.Tx, a *store.Account, id int64, _ string) (store.Result, error) {
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

// redo undoes an undo: the merge has happened after all, where it did, with what the other contact says now.
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
		u.Survivor, err = m.merge(row.Survivor, crm.MergeInput{Contact: row.Other}, &row)
		u.merge = u.Survivor.Merge
	}
	return u, err
}

const (
	sqlMergeAway = store.MergeColumns + ` AND other = $2 AND other <> 0 AND undone = 0`
	sqlJoined    = store.ChangeColumns + ` AND noun = $2 AND id = $3 AND id <> 0 AND kind = $4 AND revision < $5 ORDER BY revision DESC LIMIT 1`
)

// refuse tells why a merge cannot be undone.
func (m merging) refuse(row *store.Merge, survivor, other *crm.Contact) error {
	switch {
	case row.Undone != 0:
		return store.Fault("", doc.UndoneMerge)
	case row.ID < m.a.Oldest:
		return store.Fault("", doc.MergeTooOld)
	case survivor.Erased() || other.Erased() || row.Forgotten(): // what was sent named a person who was erased
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
	was := survivor.Contact
	joined, part, err := m.apart(&row, other)
	if err != nil {
		return u, err
	}
	before, left, err := m.rebuilding().Without(survivor, &row, &part)
	if u.Left = left; err == nil {
		before, err = m.withFreeIDs(before, &u)
	}
	if err != nil {
		return u, err
	}
	if u.Survivor, err = m.record(survivor, history.DidPart, row.ID, nil, before); err != nil {
		return u, err
	}
	u.undo = u.Survivor.Tag.Revision
	row.Undone = u.undo
	if before.BouncedEmail != was.BouncedEmail {
		part = part.BouncedWith(&was)
	}
	if part, err = m.withFreeIDs(part, &u); err != nil {
		return u, err
	}
	if row.Sent != "" {
		row.Other, err = contacts.InsertContact(m.t, m.a.Account, part)
	} else {
		_, err = m.record(other, history.DidRestore, joined, nil, part)
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

// apart is the contact that leaves the survivor: the other contact as it was before the merge, or a new one made from what was sent. joined is the change that merged it.
func (m merging) apart(row *store.Merge, other *contacts.Stored) (joined int64, part crm.Contact, err error) {
	if row.Sent != "" {
		part, err = contacts.SentContact(row.Sent, m.now)
		return 0, part, err
	}
	change, err := store.FindIn(m.t.Conn, store.Fault("", doc.MergeTooOld), store.ScanChange, sqlJoined, m.a.Account, int64(history.ContactNoun), row.Other, int64(history.DidJoin), row.ID)
	if err != nil {
		return 0, part, err
	}
	d, err := doc.ParseDifferences(change.Data)
	if err == nil {
		part, err = other.Contact.SeparateFrom(d, m.region, m.now)
	}
	return change.Revision, part, err
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
