package history

import (
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
)

// CanUndo tells whether a change of a contact can be taken back. What a gift did is corrected at the gift.
func (k Kind) CanUndo() bool {
	switch k {
	case DidCreate, DidUpdate, DidTag, DidUntag, DidArchive, DidRestore, DidMerge, DidNote:
		return true
	}
	return false
}

// NeedsActive tells whether a person restores an archived contact before such a change is taken back. The undo of work
// on many contacts does not need that: it takes back what was done to archived ones as well.
func (k Kind) NeedsActive() bool {
	return k == DidUpdate || k == DidTag || k == DidUntag || k == DidMerge
}

// Undo takes a change of the contact back. What was changed since stays as it is: left names these fields. A contact
// that was created is archived. Numbers of phones are understood as in a region, like those of a change.
func Undo(c crm.Contact, kind Kind, d doc.Differences, region string,
	now time.Time,
) (undone crm.Contact, left []string, err error) {
	switch {
	case !kind.CanUndo() || kind == DidNote: // a note is no part of the document
		return c, nil, doc.NewInvalid("", doc.CannotUndo)
	case kind == DidCreate && !c.Archived():
		return c.Unmake(now), nil, nil
	}
	return c.TakeBack(d, region, now)
}
