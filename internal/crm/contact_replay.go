package crm

import (
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm/doc"
)

// A merge is undone by doing everything else again that has happened to the survivor since: then nothing is left of the
// merge but what people have made of it, and everything is there that other merges bring.

// Event is something that has happened to a contact: another one was merged into it, a tag was renamed, or something
// was changed.
type Event struct {
	Revision int64
	Undoes   int64    // the change that it takes back, 0 for none
	Other    *Contact // that was merged, as it was then; nil for a change
	Choice   MergeChoice
	Rename   *BulkAction
	Edit     doc.Differences
}

// SentID is the id of what was sent among the choices of a merge: it is no contact.
const SentID = -1

// Back is the contact as it was before events that have happened to it, in some fields. What an event did to them
// stands in its differences.
func (c Contact) Back(events []Event, only func(field string) bool, region string) Contact {
	for _, e := range slices.Backward(events) {
		for _, d := range e.Edit {
			if f := ContactTable.Find(fieldName(&d)); f != nil && only(f.Name) {
				before := d.Inverse()
				f.Apply(&c, &before, nil, region)
			}
		}
	}
	return c
}

func fieldName(d *doc.Difference) string {
	name, _, _ := strings.Cut(d.Field, ".")
	return name
}

// Replay is a contact to which events happen, in some fields. conflicts are fields that people have changed in a state
// that does not come about: they are as these people wanted them.
func (c Contact) Replay(events []Event, only func(field string) bool, region string,
	now time.Time,
) (is Contact, conflicts []string) {
	taken := make(map[int64]*doc.Undone[*Contact]) // changes that later ones take back
	for _, e := range events {
		if e.Undoes != 0 {
			taken[e.Undoes] = nil
		}
	}
	conflict := make(map[string]int64) // the change that has met another state
	for i := range events {
		e := &events[i]
		was := c
		switch {
		case e.Other != nil:
			for i := range ContactTable {
				if f := &ContactTable[i]; f.Merge != nil && only(f.Name) {
					c.absorbField(f, e.Other, &e.Choice, region)
				}
			}
		case e.Rename != nil:
			for _, tag := range e.Rename.Tags {
				// nothing else: fields that do not happen again are those of today
				c.Tags = c.RenameTag(tag, e.Rename.Becomes, now).Tags
			}
		default:
			for j := range e.Edit {
				d := &e.Edit[j]
				f := ContactTable.Find(fieldName(d))
				if f == nil || f.Merge == nil || !only(f.Name) {
					continue
				}
				if conflict[d.Field] == e.Undoes {
					delete(conflict, d.Field)
				}
				if f.Apply(&c, d, taken[e.Undoes], region) {
					conflict[d.Field] = e.Revision
				}
			}
		}
		if _, undone := taken[e.Revision]; undone {
			after := c
			taken[e.Revision] = &doc.Undone[*Contact]{Was: &was, Is: &after}
		}
	}
	for field := range conflict {
		conflicts = append(conflicts, field)
	}
	slices.SortFunc(conflicts, func(a, b string) int { return ContactTable.Place(a) - ContactTable.Place(b) })
	return c, conflicts
}

// Rebuilt is the contact with other values in some fields, as a change at a time. Its match keys are those that it or
// one of others had, and else those that its values have in a region.
func (c Contact) Rebuilt(is *Contact, only func(field string) bool, known []string, region string,
	now time.Time,
) (Contact, error) {
	return c.revise(ContactInput{}, now, func(c *Contact, _ *ContactInput, _ time.Time) {
		keys := SortedKeys(slices.Concat(c.MatchKeys, known))
		*c = *is
		for _, rule := range []struct {
			field string
			typed *typedRule
			list  []Typed
		}{{"emails", &emailRule, c.Emails}, {"phones", &phoneRule, c.Phones}} {
			if only(rule.field) {
				c.MatchKeys = rule.typed.rekeyed(c.MatchKeys, rule.list, keys, region)
			}
		}
		if only("external_ids") {
			c.replaceMatchKeys(ExternalPrefix, externalKeys(c.ExternalIDs))
		}
	})
}

// Touched tells of which fields a merge may have something to do with the values of the survivor: those that the other
// contact has, and those that it has changed.
func (c *Contact) Touched(d doc.Differences) func(field string) bool {
	fields := make(map[string]bool)
	for i := range ContactTable {
		if f := &ContactTable[i]; f.Merge != nil && !f.Same(c, &blank) {
			fields[f.Name] = true
		}
	}
	for i := range d {
		fields[fieldName(&d[i])] = true
	}
	return func(field string) bool { return fields[field] }
}

// ChoiceOf is the choice by which another contact must have been merged if that was not kept: a value that gave way was
// not preferred.
func ChoiceOf(d doc.Differences, other *Contact) MergeChoice {
	choice := MergeChoice{Fields: make(map[string]int64)}
	for i := range d {
		f := ContactTable.Find(fieldName(&d[i]))
		if f == nil || f.Merge == nil || f.Unite != nil {
			continue
		}
		if f.Name == "note" && string(f.Append(nil, other)) != string(d[i].After) { // both were put together
			continue
		}
		if before := string(d[i].Before); before != "null" && before != `""` && before != "false" {
			choice.Fields[d[i].Field] = other.ID
		}
	}
	return choice
}
