package move

import (
	"cmp"
	"encoding/json"
	"slices"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

// accountWriter is one unit of work of an import: it writes lines that were checked, with the ids that they have from
// now on.
type accountWriter struct {
	store.Unit
	*accountRun
	moved map[int64]int64 // campaigns of this unit: ids, as they were and as they are
	done  accountProgress

	staged  []func() error     // records that it writes
	changes []store.Derivation // what follows from them, which is looked up before
	givers  map[int64]bool     // contacts whose gifts it writes
}

// stage notes a record that is to be written when what follows from all records of the unit was looked up together.
func (w *accountWriter) stage(id int64, rows *find.Rows, write func() error) {
	w.changes, w.staged = append(w.changes, store.Derivation{ID: id, After: rows}), append(w.staged, write)
}

// place writes what was staged.
func (w *accountWriter) place() error {
	if err := store.LookUpDerived(w.Unit, w.changes); err != nil {
		return err
	}
	for _, write := range w.staged {
		if err := write(); err != nil {
			return err
		}
	}
	return w.settleGiven()
}

const sqlSetGiven = `UPDATE contact SET given = $3 WHERE account_id = $1 AND id = $2`

// settleGiven notes the totals of the contacts whose gifts the unit has written. Files have them in whole units alone.
func (w *accountWriter) settleGiven() error {
	for contact := range w.givers {
		sums, err := w.Giving.Get(w.Tx, w.Number, giving.Cell(0, 0, w.Currency, contact))
		if err != nil {
			return err
		}
		row := w.Contacts[contact]
		if row == nil {
			err = w.Prefetch(nil, sqlSetGiven, w.Number, contact, store.GivenOf(sums))
		} else { // of this unit, and not written yet
			at := row.Trace
			at.Given = store.GivenOf(sums)
			store.PutColumns(w.Unit, row, row.Contact.Stats, at)
		}
		if err != nil {
			return err
		}
	}
	return w.Fetch()
}

// id is an id of the files as it is from now on; 0 is none.
func (w *accountWriter) id(id int64) int64 {
	if id == 0 {
		return 0
	}
	return doc.MakeID(w.Number, doc.IDSeq(id))
}

// revision is a revision of the files as it is from now on; 0 is none.
func (w *accountWriter) revision(revision int64) int64 {
	if revision == 0 {
		return 0
	}
	return revision + w.spec.Revision - (w.line.Sequences.Oldest - 1)
}

// data is what a change says, with the ids in it as they are from now on.
func (w *accountWriter) data(data json.RawMessage) json.RawMessage {
	var exported Exported
	if json.Unmarshal(data, &exported) == nil && exported.Contact != 0 {
		exported.Contact = w.id(exported.Contact)
		return jobs.JSONOf(exported)
	}
	differences, err := doc.ParseDifferences(string(data))
	if err != nil || !w.renumbered() || !slices.ContainsFunc(differences, isID) {
		return data
	}
	for i, d := range differences {
		if isID(d) {
			differences[i].Before, differences[i].After = w.idText(d.Field, d.Before), w.idText(d.Field, d.After)
		}
	}
	return json.RawMessage(differences.Text())
}

// isID tells whether a difference has ids.
func isID(d doc.Difference) bool {
	return d.Field == "contact_id" || d.Field == "campaign_id" || d.Field == "merged_into"
}

func (w *accountWriter) idText(field string, text json.RawMessage) json.RawMessage {
	var id int64
	if json.Unmarshal(text, &id) != nil || id == 0 {
		return text
	}
	is := cmp.Or(w.campaigns[id], id)
	if field != "campaign_id" {
		is = w.id(id)
	}
	return jobs.JSONOf(is)
}
