package store

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"donorbook/internal/crm"
)

// trialGifts is what a dry run knows of the gifts that it would have recorded.
type trialGifts struct {
	made    int64
	holders map[uint64]int64 // the gift that has an external id
	kept    map[int64]*storedGift
	order   []int64 // of kept, as they came
	bytes   int
}

// maxGiftBytes bounds the documents of gifts that a dry run keeps: about 3,000 of them. A row with the external id of any other one counts as known,
// even if it says something else.
const maxGiftBytes = 4 << 20

// keepGift notes a gift that a row would record. Equal rows without an external id are different gifts, so that no row is about one of them.
func (tr *trial) keepGift(g *storedGift, fromRow bool) {
	gifts := &tr.gifts
	gifts.made++
	if fromRow {
		return
	}
	if gifts.holders == nil {
		gifts.holders, gifts.kept = make(map[uint64]int64), make(map[int64]*storedGift)
	}
	gifts.holders[maphash.String(tr.seed, g.ExternalID)] = g.ID
	gifts.kept[g.ID] = &storedGift{Gift: g.Gift, body: bytes.Clone(g.body)} // a body that was just made has room for more
	gifts.order = append(gifts.order, g.ID)
	for gifts.bytes += len(g.body); gifts.bytes > maxGiftBytes; gifts.order = gifts.order[1:] {
		gifts.bytes -= len(gifts.kept[gifts.order[0]].body)
		delete(gifts.kept, gifts.order[0])
	}
}

// learnGift keeps what a row of gifts has done.
func (tr *trial) learnGift(out *TrialRow) {
	if out.newContact {
		tr.lines = append(tr.lines, out.Line)
	}
	if out.made != nil {
		tr.keepGift(out.made, out.fromRow)
		out.made = nil
	}
}

// placeGift puts the gift that has the external id of a row before the unit of work. One that is not kept any more is nil.
func (tr *trial) placeGift(a *accountUnit, row *giftRow) {
	if row.FromRow || row.ExternalID == nil {
		return
	}
	if id, found := tr.gifts.holders[maphash.String(tr.seed, *row.ExternalID)]; found {
		a.references.rows[giftReference+*row.ExternalID], a.gifts.rows[id] = id, tr.gifts.kept[id]
	}
}

// tryGift decides about a row in a unit of work that is taken back. giver is the contact as the row has left it, where it is new or has learned
// something.
func (r *importRun) tryGift(t *tx, a *accountUnit, row *importRow, out *TrialRow, now time.Time) (giver *stored, err error) {
	out.Of = ImportGifts
	if r.trial.forgotten(a, row) {
		out.Outcome = RowUnchanged
		return nil, nil
	}
	var before [][]int64 // who had the keys of the row
	for _, key := range row.matchKeys() {
		before = append(before, a.keys[key])
	}
	var made GiftDocument
	if out.Outcome, made, out.Reason, err = t.importGift(a, row, now); err != nil {
		return nil, err
	}
	switch out.Outcome {
	case RowRejected:
		out.Object = row.rejected(out.Reason).Object
	case RowUnchanged:
		if !r.trial.isNew(made.ID) {
			out.Gift, out.Contact, out.Name = made.Code, made.Contact, made.Giver.Name()
		}
	case RowCreated:
		out.newContact, out.made, out.fromRow = made.NewGiver, a.gifts.rows[made.ID], row.gift.FromRow
		if made.NewGiver || slices.ContainsFunc(before, func(ids []int64) bool { return !slices.Contains(ids, made.Contact) }) {
			giver = a.contacts[made.Contact]
		}
	}
	return giver, nil
}

// forgotten tells whether a row has the external id of a gift that is not kept any more.
func (tr *trial) forgotten(a *accountUnit, row *importRow) bool {
	if row.Reason != "" || row.gift.ExternalID == nil {
		return false
	}
	id := a.references.rows[giftReference+*row.gift.ExternalID]
	return id != 0 && tr.isNew(id) && a.gifts.rows[id] == nil
}

// knownGift says which gift a row is about.
func (row *TrialRow) knownGift() string {
	if row.Gift == "" {
		return "is the same gift as a row further up."
	}
	return fmt.Sprintf("is known: gift %s of %s.", row.Gift, crm.Clip(row.Name, keptText))
}
