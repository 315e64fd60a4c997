package crm

import (
	"strings"
	"time"

	"donorbook/internal/crm/doc"
)

// CanUndo tells whether a change of a contact can be taken back. What a gift did is corrected at the gift.
func (k ChangeKind) CanUndo() bool {
	switch k {
	case DidCreate, DidUpdate, DidTag, DidUntag, DidArchive, DidRestore, DidMerge, DidNote:
		return true
	}
	return false
}

// NeedsActive tells whether a person restores an archived contact before such a change is taken back. The undo of work on many contacts does
// not need that: it takes back what was done to archived ones as well.
func (k ChangeKind) NeedsActive() bool {
	return k == DidUpdate || k == DidTag || k == DidUntag || k == DidMerge
}

// Undo takes a change of the contact back. What was changed since stays as it is: left names these fields. A contact that was created
// is archived. Numbers of phones are understood as in a region, like those of a change.
func (c Contact) Undo(kind ChangeKind, d doc.Differences, region string, now time.Time) (undone Contact, left []string, err error) {
	switch {
	case !kind.CanUndo() || kind == DidNote: // a note is no part of the document
		return c, nil, doc.NewInvalid("", doc.CannotUndo)
	case kind == DidCreate && !c.Archived():
		return c.Archive(now), nil, nil
	}
	undone, err = c.revise(ContactInput{}, now, func(c *Contact, _ *ContactInput, _ time.Time) {
		for i := range d {
			name, _, _ := strings.Cut(d[i].Field, ".")
			if f := contactTable.Find(name); f != nil && !f.TakeBack(c, &d[i], region) {
				left = append(left, d[i].Field)
			}
		}
	})
	if err == nil && undone.sameAs(&c) {
		err = doc.NewInvalid("", doc.NothingToUndo)
	}
	return undone, left, err
}

// TakeBack is the plan as it was before a change that a gift made to it. ok is false where it was changed since.
func (p Plan) TakeBack(d doc.Differences) (before Plan, ok bool) {
	ok = true
	for i := range d {
		if f := planTable.Find(d[i].Field); f == nil || !f.TakeBack(&p, &d[i], "") {
			ok = false
		}
	}
	return p, ok
}
