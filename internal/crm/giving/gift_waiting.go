package giving

import (
	"strconv"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/text"
)

// A refund whose gift is not known waits for it as a gift of its amount that was given back in full: nothing counts,
// and nothing is forgotten. It knows what the refund calls the gift. When that comes, the refund becomes an entry of
// its ledger, and what has waited is canceled.

// waitingSource is the source of the ids by which a refund that waits names its gift. Several may wait for one gift.
const waitingSource = "refund of"

func isWaiting(id crm.ExternalID) bool { return strings.HasPrefix(id.Source, waitingSource) }

// WaitingID is the id by which the nth refund is found that waits for a gift with a reference, from 0.
func WaitingID(n int, reference string) crm.ExternalID {
	if n == 0 {
		return crm.ExternalID{Source: waitingSource, Value: reference}
	}
	return crm.ExternalID{Source: waitingSource + " " + strconv.Itoa(n+1), Value: reference}
}

// Refunds are what a row may call the gift that it refunds, the surest first.
func (in *GiftInput) Refunds() (references []string) {
	original, refund := in.Filed.Original(value(in.ExternalID))
	if original != refund {
		references = append(references, original)
	}
	for _, id := range in.Filed.IDs {
		if id.Value != refund {
			references = append(references, id.Value)
		}
	}
	references = text.Distinct(append(references, in.Filed.Mentions...))
	return references[:min(len(references), maxIDs)]
}

// Wait is a gift that a refund has given back in full before anyone knew of it. reference is what the refund is called
// elsewhere.
func (g Gift) Wait(reference string, in *GiftInput, named []crm.ExternalID) (Gift, error) {
	g.IDs = cleanIDs(named)
	g, _, err := g.RefundFiled(reference, in)
	return g, err
}

// Waits tells whether the gift is a refund that waits for its gift.
func (g *Gift) Waits() bool {
	return g.Status == Succeeded && len(g.Entries) == 2 && g.Left() == 0 && g.ExternalID != "" &&
		g.hasEntry(entryID(g.ExternalID))
}

// giftHasCome is the note of a refund that has waited.
const giftHasCome = "Its gift has come, and has the refund."

// Take is the gift with a refund that has waited for it; ok is false where the gift has less, or is in another
// currency.
func (g Gift) Take(waiting *Gift) (after Gift, ok bool) {
	id, amount := entryID(waiting.ExternalID), waiting.amount()
	switch {
	case !waiting.Waits() || g.Status != Succeeded || waiting.Currency != g.Currency || waiting.Test != g.Test:
		return g, false
	case g.hasEntry(id):
		return g, true
	}
	if after, ok = g.claim(id, amount); ok {
		return after, true
	}
	if amount > g.Left() || len(g.Entries) >= maxEntries {
		return g, false
	}
	return g.giveBack(id, amount, waiting.At), true
}

// HasMet is a refund that has waited, after its gift has it.
func (g Gift) HasMet() Gift {
	g.Status, g.Note = Cancelled, joinNote(g.Note, giftHasCome)
	return g
}
