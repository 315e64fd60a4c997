// Package merges makes one contact of two that are the same person, undoes that, and lists it, together with the merges
// that creates and imports made by de-duplication.
package merges

import (
	"cmp"
	"context"
	"errors"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

// MergeStore merges the contacts of a database.
type MergeStore struct {
	base *store.Store
	jobs *jobs.JobStore
}

func New(j *jobs.JobStore) *MergeStore { return &MergeStore{j.Store, j} }

// Merge merges a contact into another one: the survivor gets what the other one has, with its gifts and plans. All of
// it is one transaction, but for gifts that are many, which follow (move.go). Phone numbers without a country are of a
// region.
func (s *MergeStore) Merge(ctx context.Context, account, survivor int64, in crm.MergeInput,
	region string,
) (store.ContactDocument, error) {
	if store.Foreign(account, survivor) {
		return store.ContactDocument{}, crm.ErrNotFound
	}
	now, n := s.base.Now(), store.MoveNeeds(survivor)
	if !store.Foreign(account, in.Contact) {
		n.More = []store.Needs{store.MoveNeeds(in.Contact)}
	}
	begun := false
	made, err := store.Answered(ctx, s.base, account, n, func(u store.Unit) (made store.ContactDocument, err error) {
		m := newMerging(u, region, now)
		into, err := m.load(survivor)
		if err == nil && into.ID != 0 && !into.Contact.Archived() { // which is told first
			err = into.Matches(ctx, u.Account)
		}
		if err == nil {
			made, err = m.merge(survivor, in, nil)
		}
		begun = m.begun()
		return made, err
	})
	s.wake(begun)
	return made, err
}

// wake lets the worker know of a job that moves gifts.
func (s *MergeStore) wake(begun bool) {
	if begun {
		s.jobs.WakeJobs()
	}
}

// MergeAll merges contacts into another one, in a unit of work.
func MergeAll(u store.Unit, survivor int64, others []int64, region string, now time.Time) error {
	m := newMerging(u, region, now)
	for _, other := range others {
		if _, err := m.merge(survivor, crm.MergeInput{Contact: other}, nil); err != nil {
			return err
		}
	}
	return nil
}

// Preview is what a merge would do.
type Preview struct {
	Survivor, Other crm.Contact // as they are
	Merged          crm.Contact
	Lost            []crm.Lost // values that the merged contact does not have
	Gifts, Plans    int64      // of the other contact, which become the survivor's
}

// PreviewMerge is what Merge would do. It writes nothing.
func (s *MergeStore) PreviewMerge(ctx context.Context, account, survivor int64, in crm.MergeInput,
	region string,
) (Preview, error) {
	return store.Snapshot(ctx, s.base, func(c db.Conn) (p Preview, err error) {
		found, err := store.LoadContacts(c, account, []int64{survivor, in.Contact})
		for _, one := range found {
			if one.ID == survivor {
				p.Survivor = one
			}
			if one.ID == in.Contact {
				p.Other = one
			}
		}
		if err == nil {
			err = check(&p.Survivor, &p.Other)
		}
		if err == nil {
			p.Merged, err = p.Survivor.Absorb(&p.Other, in.MergeChoice, region, s.base.Now())
		}
		if err != nil {
			return p, err
		}
		fields, err := store.ReadCustomFields(c, account)
		if err != nil {
			return p, err
		}
		p.Lost = append(p.Survivor.LostBy(&p.Merged, fields), p.Other.LostBy(&p.Merged, fields)...)
		p.Gifts, p.Plans, err = store.GiftsAndPlansOf(c, account, in.Contact)
		return p, err
	})
}

// check refuses a merge. A contact that is not there has no id.
func check(survivor, other *crm.Contact) error {
	switch {
	case survivor.ID == 0:
		return crm.ErrNotFound
	case other.ID == 0:
		return store.Fault("contact_id", doc.Unknown, "contacts")
	}
	return survivor.CheckMerge(other)
}

// merging is a unit of work that merges contacts or takes merges apart.
type merging struct {
	store.Unit
	region string
	now    time.Time
	atOnce *int  // gifts and plans that the unit may still move
	before int64 // jobs that there were before it
}

func newMerging(u store.Unit, region string, now time.Time) merging {
	atOnce := MovedAtOnce
	return merging{u, region, now, &atOnce, u.JobSeq}
}

// begun tells whether a job goes on with what the unit has begun.
func (m merging) begun() bool { return m.JobSeq > m.before }

// load reads a contact, and notes it for what the unit does next. One that is not there has no id.
func (m merging) load(id int64) (*store.StoredContact, error) {
	if store.Foreign(m.Number, id) {
		return &store.StoredContact{}, nil
	}
	row, err := store.Load(m.Tx, m.Number, id)
	if errors.Is(err, crm.ErrNotFound) {
		return &store.StoredContact{}, nil
	}
	return row, err
}

// record writes what becomes of a contact, as a change that takes another one back; 0 is none.
func (m merging) record(row *store.StoredContact, kind history.Kind, undoes int64, more doc.Differences,
	is crm.Contact,
) (store.ContactDocument, error) {
	m.Author.Undoes = undoes
	defer func() { m.Author.Undoes = 0 }()
	return store.Record(m.Tx, row, kind, more, func(crm.Contact) (crm.Contact, error) { return is, nil })
}

// merge merges a contact into the survivor. The other contact comes first, since no two have the same external id.
// again is a merge that was undone and is brought back, or nil.
func (m merging) merge(survivor int64, in crm.MergeInput, again *store.Merge) (made store.ContactDocument, err error) {
	into, err := m.load(survivor)
	if err != nil {
		return made, err
	}
	other, err := m.load(in.Contact)
	if err == nil {
		err = check(&into.Contact, &other.Contact)
	}
	if err == nil && in.Seen != "" && in.Seen != into.Contact.SeenWith(&other.Contact) {
		err = crm.ErrChanged
	}
	if err != nil {
		return made, err
	}
	var merged crm.Contact
	if again == nil {
		merged, err = into.Contact.Absorb(&other.Contact, in.MergeChoice, m.region, m.now)
	} else if in.MergeChoice, err = m.choiceOf(again, &other.Contact); err == nil {
		merged, err = m.rebuilding().With(into, again, &other.Contact, in.MergeChoice)
	}
	if err != nil {
		return made, err
	}
	if _, err = m.record(other, history.DidJoin, 0, nil, other.Contact.MergeInto(survivor, m.now)); err != nil {
		return made, err
	}
	told := doc.Differences{doc.NumberDifference("contact_id", other.ID, survivor)}
	var undone, place int64
	if again != nil {
		undone, place = again.Undone, again.Place
	}
	if made, err = m.record(into, history.DidMerge, undone, told, merged); err != nil {
		return made, err
	}
	row := store.Merge{ID: made.Tag.Revision, Survivor: survivor, Other: other.ID, Last: made.Tag.Revision,
		At: store.Moment(m.Author.At), Choice: in.Text(survivor), Place: cmp.Or(place, made.Tag.Revision)}
	if err = m.move(&row, func() (int64, error) { return m.leftBehind(&row) }); err != nil {
		return made, err
	}
	m.Insert(store.MergeTable, row.Values(m.Number)...)
	made, err = store.Current(m.Unit, survivor)
	made.Merge = row.ID
	return made, err
}

// choiceOf is the choice by which a merge was made.
func (m merging) choiceOf(row *store.Merge, other *crm.Contact) (choice crm.MergeChoice, err error) {
	if row.Choice != "" {
		return crm.ReadMergeChoice(row.Choice, row.Survivor, other.ID)
	}
	gone := store.Fault("", doc.BeyondHistory)
	change, err := store.FindIn(m.Conn, gone, store.ScanChange, store.SQLChange, m.Number, row.ID)
	if err != nil {
		return choice, err
	}
	d, err := doc.ParseDifferences(change.Data)
	return crm.ChoiceOf(d, other), err
}

// rebuilding does what has happened to a survivor again.
func (m merging) rebuilding() store.Rebuilding {
	return store.Rebuilding{Unit: m.Unit, Region: m.region, Now: m.now}
}
