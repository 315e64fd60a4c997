package jobs

import (
	"slices"
	"strconv"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// sqlMergedAway are merges of contacts into others.
const sqlMergedAway = store.MergeColumns + ` AND other = ANY($2) AND other <> 0`

// others are the changes of documents by anyone else. What was changed and changed back, such as the contact of a gift
// by a merge that was undone, counts as untouched, and so does what a merge has moved.
type others struct {
	last   map[int64]int64 // the last change of a document
	before map[int64]int64 // the change before one
	moved  map[int64]move  // the changes that have given a gift or a plan to another contact, and did nothing else
}

type move struct{ from, to int64 }

func newOthers() others {
	return others{make(map[int64]int64), make(map[int64]int64), make(map[int64]move)}
}

// add notes the next change of a document.
func (o others) add(r db.Row) error {
	id, revision, undoes := r.Int(0), r.Int(1), r.Int(2)
	if before, theirs := o.before[undoes]; theirs && o.last[id] == undoes {
		o.last[id] = before
		return nil
	}
	o.before[revision], o.last[id] = o.last[id], revision
	if noun := history.Noun(r.Int(3)); noun == history.GiftNoun || noun == history.PlanNoun {
		if moved, only := moveOf(r.Text(4)); only {
			o.moved[revision] = moved
		}
	}
	return nil
}

// moveOf is from whom to whom a change has moved a gift or a plan, if it did nothing else.
func moveOf(told string) (m move, only bool) {
	differences := doc.KnownDifferences(told)
	if len(differences) != 1 || differences[0].Field != "contact_id" {
		return m, false
	}
	var errs [2]error
	m.from, errs[0] = strconv.ParseInt(string(differences[0].Before), 10, 64)
	m.to, errs[1] = strconv.ParseInt(string(differences[0].After), 10, 64)
	return m, errs == [2]error{}
}

// forgetMoves leaves out what merges have moved, and their undos. A person who has given a gift to another contact has
// changed it.
func (o others) forgetMoves(c db.Conn, account int64) error {
	var contacts []int64
	for _, m := range o.moved {
		contacts = append(contacts, m.from, m.to)
	}
	if len(contacts) == 0 {
		return nil
	}
	slices.Sort(contacts)
	merged, err := db.List(c, store.ScanMerge, sqlMergedAway, account, slices.Compact(contacts))
	if err != nil {
		return err
	}
	byMerge := func(revision int64) bool {
		m, only := o.moved[revision]
		return only && slices.ContainsFunc(merged, func(row store.Merge) bool {
			isIn := m == move{row.Other, row.Survivor} && row.ID < revision
			isBack := m == move{row.Survivor, row.Other} && row.Undone != 0 && row.Undone < revision
			return isIn || isBack
		})
	}
	for id := range o.last {
		for byMerge(o.last[id]) {
			o.last[id] = o.before[o.last[id]]
		}
	}
	return nil
}
