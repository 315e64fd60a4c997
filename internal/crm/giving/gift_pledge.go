package giving

import (
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/text"
)

// paidInFull is the note of a pledge that was kept by payments of their own.
const paidInFull = "Paid in full. Each payment is a separate gift."

// NamesPledge tells whether a row of a file gives up a pledge that it names, or is a part of one that is to come.
func (in *GiftInput) NamesPledge() bool {
	return in.Filed != nil && in.Filed.Pledge != "" && in.Filed.Pledge != value(in.ExternalID) &&
		(in.Filed.WriteOff || value(in.Status) == string(Pending))
}

// PledgesPaid are the pledges among gifts that a payment may be for: open ones in its currency that are as large and
// were made before, and of these the ones for its campaign.
func PledgesPaid(gifts []*Gift, in *GiftInput, currency string) (open []*Gift) {
	units, _ := text.MinorUnits(value(in.Amount), currency)
	for _, g := range gifts {
		if g.Status == Pending && g.ExternalID != "" && g.Currency == currency && g.Payment().Amount >= units &&
			!g.At.After(in.at.Add(24*time.Hour)) {
			open = append(open, g)
		}
	}
	if len(open) > 1 {
		open = slices.DeleteFunc(open, func(g *Gift) bool { return g.Campaign != value(in.Campaign) })
	}
	return open
}

// PledgeSource is the source of the id by which a payment names its pledge, which may come in a later file.
const PledgeSource = "pledge"

// ids are what a new gift is called elsewhere, and what its pledge is.
func (f *Filed) ids(external string) (ids []crm.ExternalID) {
	if f == nil {
		return nil
	}
	if len(f.IDs) > 1 {
		ids = f.IDs
	}
	if f.Pledge != "" && f.Pledge != external {
		ids = append(slices.Clip(ids), crm.ExternalID{Source: PledgeSource, Value: f.Pledge})
	}
	return cleanIDs(ids)
}

// writtenOff is the note of a pledge that was given up.
const writtenOff = "Written off."

// WriteOff is a pledge of which a row of a file gives up so much, in ten-thousandths. isKnown tells that it was given
// up before. The entry has an id that is made from what the row is called elsewhere.
func (g Gift) WriteOff(reference string, sent int64) (after Gift, isKnown bool) {
	amount, _ := text.MinorUnits(sent, g.Currency)
	id := entryID("write-off " + reference)
	switch left := g.Payment().Amount; {
	case g.Status != Pending, g.hasEntry(id), len(g.Entries)+2 > maxEntries:
		return g, true
	case amount >= left || amount <= 0:
		g.Status, g.Note = Cancelled, joinNote(g.Note, writtenOff)
		return g, false
	default:
		g = g.promise(Entry{Amount: left - amount})
		g.Entries[len(g.Entries)-1].ID = id
		return g, false
	}
}

// PayPledge is a pledge after a payment of it, which is a gift of its own: less is promised, and at last nothing.
func (g Gift) PayPledge(amount int64, now time.Time) Gift {
	if g.Status != Pending || len(g.Entries)+2 > maxEntries {
		return g
	}
	old := *g.Payment()
	if amount >= old.Amount {
		g.Status, g.Note = Cancelled, joinNote(g.Note, paidInFull)
		return g
	}
	return g.promise(Entry{Amount: old.Amount - amount})
}

// UnpayPledge is a pledge of which a payment is withdrawn: what it has paid is promised again.
func (g Gift) UnpayPledge(amount int64) Gift {
	left, isPaid := amount, false
	g.Note, isPaid = strings.CutSuffix(g.Note, paidInFull)
	switch {
	case len(g.Entries)+2 > maxEntries || g.Status != Pending && !(g.Status == Cancelled && isPaid):
		return g
	case g.Status == Pending:
		left += g.Payment().Amount
	}
	g.Status, g.Note = Pending, strings.TrimSpace(g.Note)
	return g.promise(Entry{Amount: min(left, g.Entries[0].Amount)})
}
