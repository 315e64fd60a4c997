package check

import (
	"donorbook/internal/crm/history"
	"donorbook/internal/store"
)

// The history of an account is numbered without a gap, and each document names its last change, which may be from
// before the first one that is there (Tally.Oldest).

// history goes through the changes, and learns from them which one is the last of each document.
func (d *derivation) history() error {
	d.heads = make(map[history.Noun]perID[int64])
	for _, noun := range []history.Noun{history.ContactNoun, history.CampaignNoun, history.GiftNoun, history.PlanNoun} {
		d.heads[noun] = make(perID[int64])
	}
	given, last := d.Revision, int64(0)
	var gaps [][2]int64
	err := d.conn.EachOf(store.ChangeTable, d.Number, func(row []any) error {
		revision := row[1].(int64)
		if last == 0 {
			d.Oldest = revision
		} else if revision > last+1 {
			gaps = append(gaps, [2]int64{last + 1, revision - 1})
		}
		last = revision
		if heads := d.heads[history.Noun(row[2].(int64))]; heads != nil {
			*heads.at(row[4].(int64)) = revision
		}
		return d.read("changes", 1)
	})
	switch {
	case last == 0:
		d.Oldest = given + 1
	case last < given:
		gaps = append(gaps, [2]int64{last + 1, given})
	}
	d.Revision = max(given, last)
	for _, gap := range gaps {
		if err == nil {
			err = d.on.gap(d.Number, gap[0], gap[1])
		}
	}
	return err
}

// head is the last change of a document, which may name another one. One from before the history can be named as well.
func (d *derivation) head(noun history.Noun, id, named int64) int64 {
	switch head := d.heads[noun].get(id); {
	case d.heads == nil:
		return named
	case head == 0 && named < d.Oldest:
		return named
	default:
		return head
	}
}
