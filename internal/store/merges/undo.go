package merges

import (
	"context"
	"errors"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/store"
)

// UndoMerge makes both contacts of a merge again as they were. What was changed since stays with the survivor, and so
// do gifts that were recorded since, but for those of plans that go back. What a create or an import had sent becomes a
// contact of its own. The id may be that of an undo: then both are merged again.
func (s *MergeStore) UndoMerge(ctx context.Context, account, id int64, region string) (store.Undone, error) {
	now, begun := s.base.Now(), false
	made, err := store.Answered(ctx, s.base, account, store.Needs{}, func(u store.Unit) (made store.Undone, err error) {
		m := newMerging(u, region, now)
		row, err := store.FindIn(u.Conn, crm.ErrNotFound, store.ScanMerge, store.SQLMerge, account, id)
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
func Unmerge(u store.Unit, id int64, region string, now time.Time) error {
	row, err := store.FindIn(u.Conn, crm.ErrNotFound, store.ScanMerge, store.SQLMerge, u.Number, id)
	if err != nil || row.Undone != 0 {
		return err
	}
	_, err = newMerging(u, region, now).undo(row)
	return err
}

// redo undoes an undo: the merge has happened after all, where it did, with what the other contact says now.
func (m merging) redo(id int64) (u store.Undone, err error) {
	parted, err := store.FindIn(m.Conn, crm.ErrNotFound, store.ScanChange, store.SQLChange, m.Number, id)
	if err == nil && (parted.Noun != history.ContactNoun || parted.Kind != history.DidPart) {
		err = crm.ErrNotFound
	}
	if err != nil {
		return u, err
	}
	row, err := store.FindIn(m.Conn, crm.ErrNotFound, store.ScanMerge, store.SQLMerge, m.Number, parted.Undoes)
	if err == nil {
		u.Survivor, err = m.merge(row.Survivor, crm.MergeInput{Contact: row.Other}, &row)
		u.Of = u.Survivor.Merge
	}
	return u, err
}

const (
	sqlMergeAway = store.MergeColumns + ` AND other = $2 AND other <> 0 AND undone = 0`
	sqlJoined    = store.ChangeColumns +
		` AND noun = $2 AND id = $3 AND id <> 0 AND kind = $4 AND revision < $5 ORDER BY revision DESC LIMIT 1`
)

// refuse tells why a merge cannot be undone.
func (m merging) refuse(row *store.Merge, survivor, other *crm.Contact) error {
	switch {
	case row.Undone != 0:
		return store.Fault("", doc.UndoneMerge)
	case row.ID < m.Oldest:
		return store.Fault("", doc.BeyondHistory)
	case survivor.Erased() || other.Erased() || row.Forgotten(): // what was sent named a person who was erased
		return store.Fault("", doc.ErasedMerge)
	case survivor.MergedInto != 0:
		away, err := store.FindIn(m.Conn, crm.ErrNotFound, store.ScanMerge, sqlMergeAway, m.Number, survivor.ID)
		if err != nil {
			return err
		}
		return store.Fault("", doc.MergedSince, survivor.ID, survivor.MergedInto, away.ID)
	case survivor.Archived():
		return store.Fault("", doc.ArchivedFirst)
	}
	return nil
}

func (m merging) undo(row store.Merge) (u store.Undone, err error) {
	u.Of = row.ID
	survivor, err := m.load(row.Survivor)
	if err != nil {
		return u, err
	}
	other := &store.StoredContact{}
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
	u.By = u.Survivor.Tag.Revision
	row.Undone = u.By
	if before.BouncedEmail != was.BouncedEmail {
		part = part.BouncedWith(&was)
	}
	if part, err = m.withFreeIDs(part, &u); err != nil {
		return u, err
	}
	if row.Sent != "" {
		row.Other, err = store.InsertContact(m.Tx, m.Number, part)
	} else {
		_, err = m.record(other, history.DidRestore, joined, nil, part)
	}
	if err == nil {
		err = m.move(&row, func() (int64, error) { return row.Last - row.ID, nil })
	}
	if err != nil {
		return u, err
	}
	m.Save(store.MergeTable, row.Values(m.Number)...)
	if u.Survivor, err = store.Current(m.Unit, row.Survivor); err == nil {
		u.Other, err = store.Current(m.Unit, row.Other)
	}
	return u, err
}

// apart is the contact that leaves the survivor: the other contact as it was before the merge, or a new one made from
// what was sent. joined is the change that merged it.
func (m merging) apart(row *store.Merge, other *store.StoredContact) (joined int64, part crm.Contact, err error) {
	if row.Sent != "" {
		part, err = store.SentContact(row.Sent, m.now)
		return 0, part, err
	}
	change, err := store.FindIn(m.Conn, store.Fault("", doc.BeyondHistory), store.ScanChange, sqlJoined, m.Number,
		int64(history.ContactNoun), row.Other, int64(history.DidJoin), row.ID)
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
func (m merging) withFreeIDs(c crm.Contact, u *store.Undone) (_ crm.Contact, err error) {
	const field = "external_ids"
	c = c.WithoutExternalIDs(func(key string) bool {
		var taken *doc.Invalid
		switch failed := store.CheckIDs(m.Unit, c.ID, []string{key}); {
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
