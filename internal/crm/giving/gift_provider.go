package giving

import (
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm/doc"
)

// Settled is a gift of a payment provider with the status that its payment has, and the fee, each where it became
// known: "" and 0 are that they stay.
func (g Gift) Settled(status GiftStatus, fee int64, at time.Time) Gift {
	g.Entries = slices.Clone(g.Entries)
	if status != "" && g.Status != Succeeded {
		if g.Status = status; status == Succeeded {
			g.Payment().CapturedAt = at.UTC().Truncate(time.Second)
		}
	}
	if payment := g.Payment(); payment.Fee == 0 {
		payment.Fee = min(fee, payment.Amount)
	}
	return g
}

// Moved is a gift with a movement of its money that a payment provider has told: a refund, a dispute, or that one of
// these came to nothing. The reference names the movement; the second time nothing changes.
func (g Gift) Moved(reference string, amount, fee int64, at time.Time) Gift {
	id, left := entryID(reference), g.Left()
	if g.hasEntry(id) || len(g.Entries) >= maxEntries {
		return g
	}
	amount = max(-left, min(amount, g.amount()-left))
	e := Entry{ID: id, Amount: amount, Fee: fee, FeeCovered: -g.coveredPart(left + amount)}
	if at.IsZero() { // an entry against a payment without a day would be a correction
		at = g.At
	}
	if at = at.UTC().Truncate(time.Second); amount < 0 {
		e.RefundedAt = at
	} else {
		e.CapturedAt = at
	}
	g = g.with(e)
	switch payment := g.Payment(); {
	case g.Left() > 0:
		payment.RefundedAt = time.Time{}
	case payment.RefundedAt.IsZero():
		payment.RefundedAt = at
	}
	return g
}

// HasMoved tells whether the ledger has a movement that a payment provider has told.
func (g *Gift) HasMoved(reference string) bool { return g.hasEntry(entryID(reference)) }

// Provider is the payment provider that a gift came from, and what it calls the payment; "" for one that came from
// elsewhere.
func (g *Gift) Provider() (provider, payment string) {
	return atProvider(g.ExternalID)
}

// Provider is the payment provider that takes the gifts of a plan, and what it calls the plan; "" for one whose gifts
// people record.
func (p *Plan) Provider() (provider, plan string) {
	return atProvider(p.ExternalID)
}

func atProvider(reference string) (provider, id string) {
	if _, is := providerOf(reference); !is {
		return "", ""
	}
	provider, id, _ = strings.Cut(reference, ":")
	return strings.ToLower(provider), id
}

// Followed is a plan as its payment provider has it now; next is a day.
func (p Plan) Followed(status PlanStatus, amount, covered int64, method string, next, canceled time.Time) Plan {
	p.Status, p.Amount, p.Covered = status, amount, covered
	if slices.Contains(Methods, method) {
		p.Method = method
	}
	if !next.IsZero() {
		p.NextBill = next
	}
	p.CanceledAt = time.Time{}
	if status == Ended {
		p.NextBill, p.CanceledAt = time.Time{}, canceled.UTC().Truncate(time.Second)
	}
	return p
}

// referenceKind is the id of a gift in the system that it came from.
func referenceKind() doc.Kind[string] {
	return doc.String(maxReference).And(func(c *doc.Checker, at doc.Place, name string, value *string) {
		if c.IsNew {
			checkReference(&c.Invalid, value, "")
		}
	})
}

// checkReference keeps the references by which gifts and plans are found at a payment provider: no one else gives one,
// or takes it away.
func checkReference(v *doc.Invalid, sent *string, old string) {
	if sent == nil || *sent == old {
		return
	}
	if provider, found := providerOf(*sent); found {
		v.Add("external_id", doc.Reserved, provider+":")
	} else if _, found := providerOf(old); found {
		v.Add("external_id", doc.ProvidersID, old)
	}
}

// providerOf is the payment provider that a reference is from, as it is written.
func providerOf(reference string) (provider string, found bool) {
	provider, _, found = strings.Cut(reference, ":")
	return provider, found && slices.Contains(providers, strings.ToLower(provider))
}
