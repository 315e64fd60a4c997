package store

import (
	"slices"

	"donorbook/internal/crm"
)

// The history of an account is numbered without a gap. Each change of a document names the one before it, and the document names the last one; a
// chain may begin with a change that is no longer kept.

// history goes through the changes, and learns from them which one is the last of each document.
func (d *derivation) history() error {
	d.heads, d.versions = make(map[crm.Noun]perID[int64]), make(perID[int64])
	for _, noun := range []crm.Noun{crm.ContactNoun, crm.CampaignNoun, crm.GiftNoun, crm.PlanNoun} {
		d.heads[noun] = make(perID[int64])
	}
	given, last := d.revision, int64(0)
	var gaps [][2]int64
	err := d.conn.EachOf(changeTable, d.account, func(row []any) error {
		revision := row[1].(int64)
		if last == 0 {
			d.oldest = revision
		} else if revision > last+1 {
			gaps = append(gaps, [2]int64{last + 1, revision - 1})
		}
		last = revision
		if err := d.link(row); err != nil {
			return err
		}
		return d.read("changes", 1)
	})
	switch {
	case last == 0:
		d.oldest = given + 1 // all of them are gone, as if they were too old
	case last < given:
		gaps = append(gaps, [2]int64{last + 1, given})
	}
	d.revision = max(given, last)
	for _, gap := range gaps {
		if err == nil {
			err = d.on.gap(d.account, gap[0], gap[1])
		}
	}
	return err
}

// link compares which change a change of a document names as the one before it.
func (d *derivation) link(row []any) error {
	revision, noun, id, prev := row[1].(int64), crm.Noun(row[2].(int64)), row[4].(int64), row[5].(int64)
	heads := d.heads[noun]
	if heads == nil {
		return nil
	}
	should := slices.Clone(row)
	should[5] = d.head(noun, id, prev)
	*heads.at(id) = revision
	if noun == crm.ContactNoun {
		*d.versions.at(id)++
	}
	return d.settle(changeTable, row, should)
}

// head is the last change of a document so far, which was named otherwise. One that is no longer kept can be named as well.
func (d *derivation) head(noun crm.Noun, id, named int64) int64 {
	switch head := d.heads[noun].get(id); {
	case d.heads == nil:
		return named
	case head == 0 && named < d.oldest:
		return named
	default:
		return head
	}
}

// version is how many changes a contact has had. Where the first ones are no longer kept, only its row knows.
func (d *derivation) version(s *stored) int64 {
	if d.heads == nil || d.oldest > 1 {
		return s.version
	}
	return d.versions.get(s.id)
}
