package store

import (
	"cmp"
	"encoding/json"

	"donorbook/internal/crm"
)

// accountWriter is one unit of work of an import: it writes lines that were checked, with the ids that they have from now on.
type accountWriter struct {
	*tx
	*accountRun
	a     *accountUnit
	moved map[int64]int64 // campaigns of this unit: ids, as they were and as they are
	done  accountProgress

	contacts []importedContact
	plans    []importedPlan
	gifts    []importedGift
}

type (
	importedContact struct {
		crm.Contact
		trace trace
	}
	importedPlan struct {
		crm.Plan
		revision int64
		row      int64
	}
	importedGift struct {
		crm.Gift
		revision int64
		row      int64
	}
)

// id is an id of the files as it is from now on; 0 is none.
func (w *accountWriter) id(id int64) int64 {
	if id == 0 {
		return 0
	}
	return crm.MakeID(w.a.account, crm.IDSeq(id))
}

// revision is a revision of the files as it is from now on; 0 is none.
func (w *accountWriter) revision(revision int64) int64 {
	if revision == 0 {
		return 0
	}
	return revision + w.spec.Revision - (w.line.Sequences.Oldest - 1)
}

// place writes the contacts, plans and gifts of the unit. What they need is looked up for all of them together.
func (w *accountWriter) place() error {
	if err := w.lookUp(); err != nil {
		return err
	}
	w.done.Contacts += int64(len(w.contacts))
	w.done.Plans += int64(len(w.plans))
	w.done.Gifts += int64(len(w.gifts))
	for i := range w.contacts {
		if err := w.placeContact(w.a, w.contacts[i].Contact, w.contacts[i].trace); err != nil {
			return err
		}
	}
	for i := range w.plans {
		p := &w.plans[i]
		w.a.planSeq = crm.IDSeq(p.ID)
		w.writePlan(w.Insert, w.a, p.revision, &p.Plan)
		w.moveReference(w.a, planReference, "", p.ExternalID, p.ID)
	}
	for i := range w.gifts {
		g := &w.gifts[i]
		w.a.giftSeq = crm.IDSeq(g.ID)
		w.writeGift(w.Insert, w.a, g.revision, &g.Gift)
		w.moveReference(w.a, giftReference, "", g.ExternalID, g.ID)
		if err := w.moveGift(w.a, nil, &g.Gift); err != nil {
			return err
		}
	}
	return nil
}

// lookUp reads the sets and sums that the unit changes, and refuses an external id that is taken.
func (w *accountWriter) lookUp() error {
	var cells, references []string
	rows := make(map[string]int64)
	var twice *FileProblem
	blocks := make(map[int64][]string)
	for i := range w.contacts {
		c := &w.contacts[i]
		blocks[blockOf(c.ID)] = append(blocks[blockOf(c.ID)], setsOf(&c.Contact)...)
	}
	refer := func(kind, external string, row int64) {
		if external == "" {
			return
		}
		if rows[kind+external] != 0 {
			twice = &FileProblem{Line: row, Reason: sameExternalID}
		}
		rows[kind+external] = row
		references = append(references, kind+external)
	}
	for i := range w.plans {
		refer(planReference, w.plans[i].ExternalID, w.plans[i].row)
	}
	for i := range w.gifts {
		g := &w.gifts[i]
		refer(giftReference, g.ExternalID, g.row)
		g.Local = crm.GiftClock(g.At, w.a.location())
		cells = append(cells, shareOf(&g.Gift).cells()...)
		blocks[blockOf(g.Contact)] = append(blocks[blockOf(g.Contact)], giftSets(g.Local.Unix(), g.Campaign)...)
	}
	err := w.a.lookUpBlocks(w.tx, blocks)
	if err == nil {
		err = w.a.references.prefetch(w.tx, w.a.account, references)
	}
	if err == nil {
		err = w.a.giving.load(w.tx, w.a.account, cells)
	}
	for reference, row := range rows {
		if err == nil && w.a.references.rows[reference] != 0 {
			twice = &FileProblem{Line: row, Reason: sameExternalID}
		}
	}
	if err == nil && twice != nil {
		return twice
	}
	return err
}

const sameExternalID = "has the external id of a record before it"

// placeContact writes a contact as it was, under the next sequence number.
func (t *tx) placeContact(a *accountUnit, c crm.Contact, at trace) error {
	if err := t.moveSets(a, c.ID, nil, setsOf(&c)); err != nil {
		return err
	}
	a.touch(t)
	a.listRevision++
	a.contactSeq++
	if c.Archived() {
		t.Insert(archivalTable, a.account, a.listRevision, c.ID, int64(1))
	} else {
		a.contactActive++
	}
	t.countTags(a.account, c, 1)
	t.writeContact(t.Insert, a, a.listRevision, at, c, c.AppendBody(make([]byte, 0, usualBody)))
	t.insertKeys(a, c.ID, c.MatchKeys)
	t.Insert(wordsTable, a.account, c.ID, c.SearchDocument(a.account))
	return nil
}

// data is what a change says, with the ids in it as they are from now on.
func (w *accountWriter) data(data json.RawMessage) json.RawMessage {
	var exported Exported
	if json.Unmarshal(data, &exported) == nil && exported.Contact != 0 {
		exported.Contact = w.id(exported.Contact)
		return jsonOf(exported)
	}
	differences, err := crm.ParseDifferences(string(data))
	if err != nil || !w.renumbered() || !differences.Has("contact_id") && !differences.Has("campaign_id") {
		return data
	}
	for i, d := range differences {
		if d.Field == "contact_id" || d.Field == "campaign_id" {
			differences[i].Before, differences[i].After = w.idText(d.Field, d.Before), w.idText(d.Field, d.After)
		}
	}
	return json.RawMessage(differences.Text())
}

func (w *accountWriter) idText(field string, text json.RawMessage) json.RawMessage {
	var id int64
	if json.Unmarshal(text, &id) != nil || id == 0 {
		return text
	}
	is := cmp.Or(w.campaigns[id], id)
	if field == "contact_id" {
		is = w.id(id)
	}
	return jsonOf(is)
}
