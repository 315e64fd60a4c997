package crm

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
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
func (c Contact) Undo(kind ChangeKind, d Differences, region string, now time.Time) (undone Contact, left []string, err error) {
	switch {
	case !kind.CanUndo() || kind == DidNote: // a note is no part of the document
		return c, nil, invalid("", CannotUndo)
	case kind == DidCreate && !c.Archived():
		return c.Archive(now), nil, nil
	}
	undone, err = c.revise(ContactInput{}, now, func(c *Contact, _ *ContactInput, _ time.Time) {
		for i := range d {
			name, _, _ := strings.Cut(d[i].Field, ".")
			if f := contactTable.find(name); f != nil && !f.takeBack(c, &d[i], region) {
				left = append(left, d[i].Field)
			}
		}
	})
	if err == nil && undone.sameAs(&c) {
		err = invalid("", NothingToUndo)
	}
	return undone, left, err
}

// takeBack gives a field the value that it had before, and tells whether all of it was taken back.
func (s *stored[D]) takeBack(doc D, d *Difference, region string) bool {
	switch {
	case s.load == nil || s.name == "stats" || s.name == "created_at": // which follow from something else, or never change
		return true
	case s.undo != nil:
		return !s.undo(doc, d, region)
	case string(s.value(doc)) == string(d.After):
		readKept(d.Before, func(r *jsonReader) { s.load(r, doc) })
		return true
	}
	return string(s.value(doc)) == string(d.Before) // someone has done it before
}

// readKept reads a value that the history keeps. It was written by us; what cannot be read is empty.
func readKept(value []byte, read func(*jsonReader)) {
	r := newJSONReader("The history", value)
	read(r)
	_ = r.end()
}

// parse reads elements that the history keeps.
func (of *element[E]) parse(raw []json.RawMessage) []E {
	list := make([]E, len(raw))
	for i := range raw {
		readKept(raw[i], func(r *jsonReader) { of.load(r, &list[i]) })
	}
	return list
}

// takeBack takes out of a list what a change has put in, and puts back what it has taken out. An element that was changed since stays.
func (of *element[E]) takeBack(list []E, d *Difference, region string) (kept []E, left bool) {
	kept = slices.Clone(list)
	find := func(e *E) int {
		key := of.key(e, region)
		return slices.IndexFunc(kept, func(other E) bool { return of.key(&other, region) == key })
	}
	for _, e := range of.parse(d.In) {
		if i := find(&e); i >= 0 && kept[i] == e {
			kept = slices.Delete(kept, i, i+1)
		} else if i >= 0 {
			left = true
		}
	}
	var back []E
	for _, e := range of.parse(d.Out) {
		if i := find(&e); i < 0 {
			back = append(back, e)
		} else if kept[i] != e {
			left = true
		}
	}
	return slices.Insert(kept, min(d.At, len(kept)), back...), left
}

// TakeBack is the plan as it was before a change that a gift made to it. ok is false where it was changed since.
func (p Plan) TakeBack(d Differences) (before Plan, ok bool) {
	ok = true
	for i := range d {
		if f := planTable.find(d[i].Field); f == nil || !f.takeBack(&p, &d[i], "") {
			ok = false
		}
	}
	return p, ok
}
