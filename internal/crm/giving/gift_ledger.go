package giving

import (
	"math/bits"
	"slices"
	"strconv"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// entriesField is the ledger of a gift, as the wire shows it: plan, sums and items follow from the gift.
func entriesField() doc.Field[*Gift, *GiftInput] {
	f := doc.Derived[*Gift, *GiftInput]("transactions", func(dst []byte, g *Gift) []byte {
		dst = append(dst, '[')
		for i := range g.Entries {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = g.Entries[i].append(dst, g, i > 0)
		}
		return append(dst, ']')
	})
	f.Load = func(r *doc.Reader, g *Gift) {
		r.List(maxEntries+1, func() {
			var e Entry
			r.Element(func(key string) { e.load(r, key, g.Currency) })
			g.Entries = append(g.Entries, e)
		})
	}
	return f
}

// maxEntries is how many entries a gift may have: a partial refund of each cent is none that people make.
const maxEntries = 200

func (e *Entry) append(dst []byte, g *Gift, later bool) []byte {
	number := func(name string, minor int64) {
		dst = append(append(append(dst, `,"`...), name...), `":`...)
		dst = text.AppendMinor(dst, minor, g.Currency)
	}
	dst = append(append(append(dst, `{"id":"`...), e.ID...), `","plan_id":`...)
	dst = doc.AppendText(dst, g.PlanCode)
	number("amount", e.Amount)
	number("fee", e.Fee)
	number("fee_covered", e.FeeCovered)
	number("donated", e.Donated())
	number("payout", e.Payout())
	dst = strconv.AppendBool(append(dst, `,"captured":`...), !e.CapturedAt.IsZero())
	dst = crm.ContactTime.Append(append(dst, `,"captured_at":`...), e.CapturedAt)
	dst = strconv.AppendBool(append(dst, `,"refunded":`...), !e.RefundedAt.IsZero())
	dst = crm.ContactTime.Append(append(dst, `,"refunded_at":`...), e.RefundedAt)
	return append(e.appendItems(append(dst, `,"line_items":`...), g.Currency), '}')
}

func (e *Entry) load(r *doc.Reader, key, currency string) {
	number := func() int64 {
		value, _ := r.Number()
		negative := value != "" && value[0] == '-'
		if negative {
			value = value[1:]
		}
		n, ok := text.ParseDecimal(value, text.Decimals(currency), 18)
		if !ok {
			r.Wrong("is not a stored amount")
		}
		if negative {
			return -n
		}
		return n
	}
	switch key {
	case "id":
		e.ID = r.Text()
	case "amount":
		e.Amount = number()
	case "fee":
		e.Fee = number()
	case "fee_covered":
		e.FeeCovered = number()
	case "captured_at":
		e.CapturedAt = crm.ContactTime.Read(r)
	case "refunded_at":
		e.RefundedAt = crm.ContactTime.Read(r)
	default:
		r.Skip()
	}
}

// appendItems writes what the money is for: the donation, and the fee that the giver covered.
func (e *Entry) appendItems(dst []byte, currency string) []byte {
	item := func(subtype, description string, minor int64) {
		dst = append(append(append(dst, `{"type":"donation","subtype":"`...), subtype...), `","description":"`...)
		dst = append(append(dst, description...), `","quantity":1,"price":`...)
		dst = append(text.AppendMinor(dst, minor, currency), `,"discount":0,"total":`...)
		dst = append(text.AppendMinor(dst, minor, currency), '}')
	}
	dst = append(dst, '[')
	item("donation", "Donation", e.Donated())
	if e.FeeCovered != 0 {
		dst = append(dst, ',')
		item("fee", "Covered fee", e.FeeCovered)
	}
	return append(dst, ']')
}

// What a gift is beyond its statuses: money was received, and went back.
const (
	Refunded       = "refunded"
	PartlyRefunded = "partly_refunded"
)

// Standing is what has become of a gift until now, by its status and its ledger. Whatever tells people about a gift
// says this, in the words that Words has for it.
func (g *Gift) Standing() string {
	switch refunded := g.Refunded(); {
	case g.Status != Succeeded || refunded <= 0:
		return string(g.Status)
	case g.Left() > 0:
		return PartlyRefunded
	}
	return Refunded
}

// Refund gives back a part of a gift, in ten-thousandths, or all that is left where sent is nil.
func (g Gift) Refund(sent *int64, now time.Time) (Gift, error) {
	return g.refund(text.Random62(codeLength), sent, now)
}

func (g Gift) refund(id string, sent *int64, at time.Time) (Gift, error) {
	left := g.Left()
	switch {
	case g.Void != nil:
		return g, g.CheckVoided()
	case g.Status != Succeeded:
		return g, doc.NewInvalid("status", doc.NotPaid, g.Status)
	case left <= 0:
		return g, doc.NewInvalid("amount", doc.NothingLeft)
	}
	amount, err := g.part(sent, left, doc.MoreThanLeft)
	if err != nil {
		return g, err
	}
	return g.giveBack(id, amount, at), nil
}

// giveBack is the gift with an entry for an amount that went back.
func (g Gift) giveBack(id string, amount int64, at time.Time) Gift {
	at = at.UTC().Truncate(time.Second)
	left := g.Left() - amount
	g = g.with(Entry{ID: id, Amount: -amount, FeeCovered: -g.coveredPart(left), RefundedAt: at})
	if left == 0 {
		g.Payment().RefundedAt = at
	}
	return g
}

// UndoRefund takes back what was refunded, or a part of it in ten-thousandths: the refund was entered by mistake, or
// the money came back. The ledger keeps the refund, and gets an entry against it.
func (g Gift) UndoRefund(sent *int64, now time.Time) (Gift, error) {
	refunded := g.Refunded()
	if err := g.CheckVoided(); err != nil {
		return g, err
	}
	if refunded <= 0 {
		return g, doc.NewInvalid("amount", doc.NothingRefunded)
	}
	amount, err := g.part(sent, refunded, doc.MoreThanRefunded)
	if err != nil {
		return g, err
	}
	return g.comeAgain(amount, now), nil
}

// comeAgain is the gift with an entry for refunded money that is there again.
func (g Gift) comeAgain(amount int64, now time.Time) Gift {
	g = g.with(Entry{ID: text.Random62(codeLength), Amount: amount, FeeCovered: -g.coveredPart(g.Left() + amount),
		CapturedAt: now.UTC().Truncate(time.Second)})
	g.Payment().RefundedAt = time.Time{}
	return g
}

// part is how much of an amount a refund, or the undoing of one, is about: all of it where sent is nil.
func (g *Gift) part(sent *int64, most int64, tooMuch doc.Rule) (int64, error) {
	if len(g.Entries) >= maxEntries {
		return 0, doc.NewInvalid("amount", doc.EntriesFull, maxEntries)
	}
	if sent == nil {
		return most, nil
	}
	units, ok := text.MinorUnits(*sent, g.Currency)
	switch {
	case !ok:
		return 0, doc.NewInvalid("amount", doc.TooFine, text.Decimals(g.Currency), g.Currency)
	case units <= 0:
		return 0, doc.NewInvalid("amount", doc.MoneyRange)
	case units > most:
		return 0, doc.NewInvalid("amount", tooMuch, text.MoneyInput(most, g.Currency))
	}
	return units, nil
}

// with is the gift with further entries.
func (g Gift) with(entries ...Entry) Gift {
	g.Entries = append(slices.Clone(g.Entries), entries...)
	return g
}

// IsReversal tells whether an entry takes back a payment that was entered wrong. It is negative, and no refund; the
// payment as it should have been follows.
func (e *Entry) IsReversal() bool { return e.Amount < 0 && e.RefundedAt.IsZero() }

// Movement is one movement of the money of a gift, as people read the ledger.
type Movement struct {
	What    string
	Amount  int64
	Covered int64 // the part of it that is the covered fee; the rest is the gift
	At      time.Time
	Undo    int64 // the amount of a refund that can be undone
}

// Donated is the part of a movement that totals count.
func (m Movement) Donated() int64 { return m.Amount - m.Covered }

// LeftCovered is what is left of the covered fee after all refunds: it shrinks with the amount.
func (g *Gift) LeftCovered() (covered int64) {
	for i := range g.Entries {
		covered += g.Entries[i].FeeCovered
	}
	return covered
}

// Ledger are the movements of a gift's money. A correction is one of them, which says by how much the amount was wrong.
func (g *Gift) Ledger() (all []Movement) {
	undone := g.undoneRefunds()
	for i := 0; i < len(g.Entries); i++ {
		entry := &g.Entries[i]
		m := Movement{"Payment", entry.Amount, entry.FeeCovered, entry.CapturedAt, 0}
		switch {
		case i == 0:
		case entry.Amount == 0: // there was nothing left to go back
			continue
		case entry.IsReversal() && i+1 < len(g.Entries):
			i++
			difference, covered := entry.Amount+g.Entries[i].Amount, entry.FeeCovered+g.Entries[i].FeeCovered
			if difference == 0 && covered == 0 { // the history tells what else was corrected
				continue
			}
			m.What, m.Amount, m.Covered = "Correction", difference, covered
		case entry.Amount < 0:
			m.What, m.At = "Refund", entry.RefundedAt
			if refunded := -entry.Amount; !undone[i] && refunded <= g.Refunded() {
				m.Undo = refunded
			}
		default:
			m.What = "Refund undone"
		}
		all = append(all, m)
	}
	return all
}

// undoneRefunds tells which refunds were undone, by their places. Each undoing is of the refund that it names or, as
// people undo refunds, of the last one before it of the same amount; any other amount is that of the last refunds.
func (g *Gift) undoneRefunds() map[int]bool {
	undone, left := map[int]bool{}, map[int]int64{}
	isOpen := func(at int) bool { return left[at] > 0 }
	for i := range g.Entries {
		e := &g.Entries[i]
		if e.Amount < 0 && !e.IsReversal() {
			left[i] = -e.Amount
		}
		if e.Amount <= 0 || i == 0 || g.Entries[i-1].IsReversal() {
			continue
		}
		back := e.Amount
		take := func(fits func(at int) bool) {
			for at := i - 1; at > 0 && back > 0; at-- {
				if isOpen(at) && fits(at) {
					amount := min(back, left[at])
					back, left[at] = back-amount, left[at]-amount
					undone[at] = left[at] == 0
				}
			}
		}
		take(func(at int) bool { return untoldID(g.Entries[at].ID) == e.ID })
		take(func(at int) bool { return left[at] == back })
		take(isOpen)
	}
	return undone
}

// RefundedAt is when the last money went back that did not come again; zero where all of it stayed.
func (g *Gift) RefundedAt() (at time.Time) {
	if g.Refunded() <= 0 {
		return at
	}
	undone := g.undoneRefunds()
	for i := range g.Entries {
		if e := &g.Entries[i]; e.Amount < 0 && !e.IsReversal() && !undone[i] {
			at = e.RefundedAt
		}
	}
	return at
}

// CanCorrect tells whether the money of the gift can be corrected: a payment provider's stays, and a refund is undone
// first.
func (g *Gift) CanCorrect() bool {
	_, isProviders := providerOf(g.ExternalID)
	return !isProviders && g.Refunded() == 0
}

// Withdraw is the gift after the import that has recorded it was undone: no money is known to have come, so it counts
// nowhere. Its external id is free for the gift that is recorded instead.
func (g Gift) Withdraw() Gift {
	g.Entries = slices.Clone(g.Entries)
	g.Payment().CapturedAt = time.Time{}
	g.Status, g.ExternalID, g.IDs = Cancelled, "", nil
	return g
}

// coveredPart is the share of the covered fee in a refund after which so much of the amount is left. The covered fee
// shrinks with the amount, rounded down once and not at each refund, so that something is donated as long as anything
// is left.
func (g *Gift) coveredPart(left int64) int64 {
	return g.LeftCovered() - share(g.feeCovered(), left, g.amount())
}

// share is the part of a fee that goes with a part of an amount, rounded down.
func share(fee, part, amount int64) int64 {
	high, low := bits.Mul64(uint64(fee), uint64(part))
	n, _ := bits.Div64(high, low, uint64(amount)) // not more than the fee itself
	return int64(n)
}
