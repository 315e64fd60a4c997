package giving

import (
	"crypto/sha256"
	"math/big"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// Filed is what a row of a file says about a gift and a client cannot: other systems have told before what became of it.
type Filed struct {
	Back     *GivenBack // nil where all of it stayed
	Won      bool       // a dispute about it was won
	Plan     string     // what its plan is called elsewhere; one that is not known is made. "" is none
	Every    string     // how often the gifts of that plan come; "" is not known
	Pledge   string     // the external id of the pledge that it pays for; "" is none
	RefundOf string     // of a row that is a refund: the external id of the gift; "" is not told
	IsRefund bool       // the row is no gift, but gives one back
	Key      string     // of a refund: all that its row says, in short

	Same      int64 // the contact of rows before that name the same giver, and no email, phone or id; 0 is none
	Neighbors int64 // the giver may be a contact with the same name and address, made up to this number; 0 is that none may
	PlanOf    int64 // in a dry run, the contact whose plan rows before would make; 0 is none

	OtherName crm.CreateMode // of a row with the id, email or phone of a contact of another name: Force is a gift of a contact of its own, Dedupe one of that contact, Skip none
}

// Original is the external id of the gift that a refund gives back, and what the refund itself is known by. A row that has no other id has that of the gift.
func (f *Filed) Original(external string) (gift, refund string) {
	switch f.RefundOf {
	case "", external:
		return external, f.Key
	}
	return f.RefundOf, external
}

// PlanOf is the contact whose plan a row of a file names by what it is called elsewhere, 0 where there is none. plan is the one that is known.
func (in *GiftInput) PlanOf(plan *Plan) int64 {
	switch {
	case in.Filed == nil || in.Filed.Plan == "" || value(in.Plan) != "":
		return 0
	case plan != nil:
		return plan.Contact
	}
	return in.Filed.PlanOf
}

// GivenBack is money of a gift that went back.
type GivenBack struct {
	Amount *int64  // in ten-thousandths; nil is all of it
	On     *string // a date or a time; nil is the day of the gift

	Disputed bool // it comes again if the dispute is won

	at time.Time
}

// The rules of what a file says about refunds.
const (
	BackOverAmount doc.Rule = "must not be more than the amount"
	NoOriginal     doc.Rule = "says that %v was refunded of gift %q, which is not known: import that gift first, then this row"
	RefundOfNone   doc.Rule = `says that %v was refunded, but not of which gift: add a column "Refund of" with the ID of that gift, or record the refund on the page of the gift`
)

// checkFiled checks what went back, and what the plan is called elsewhere.
func (in *GiftInput) checkFiled(c *doc.Checker) {
	if in.Filed == nil {
		return
	}
	c.CheckText(doc.Place{}, "plan", in.Filed.Plan, maxReference)
	back := in.Filed.Back
	if back == nil {
		return
	}
	if back.Amount != nil && in.Amount != nil && *back.Amount > *in.Amount {
		c.AddAt(doc.Place{}, "refunded", BackOverAmount)
	}
	if back.On != nil && !c.HasFault("refunded_at") {
		back.at = CheckTime(c, doc.Place{}, "refunded_at", *back.On, c.Now.Add(ClockSkew), doc.NotInFuture)
	}
}

// ValidateRefund checks a row of a file that gives money back. Who gave it is known by the gift.
func (in *GiftInput) ValidateRefund(faults *doc.Invalid, now time.Time) error {
	c := doc.NewChecker(faults, false)
	c.Now = now
	if in.Amount == nil {
		c.AddAt(doc.Place{}, "amount", doc.Required)
	}
	GiftTable.Check(c, doc.Place{}, in)
	in.checkMoney(c)
	doc.SortFaults(&c.Invalid, giftFields)
	return c.Err()
}

// takeBack is a new gift less what a file says went back.
func (g Gift) takeBack(in *GiftInput) (Gift, error) {
	if in.Filed == nil || in.Filed.Back == nil || g.Status != Succeeded {
		return g, nil
	}
	return g.refund(in.Filed.Back.entry(&g), in.Filed.Back.Amount, in.Filed.Back.when(&g))
}

// entry is the id of the entry for money that went back. That of a dispute is made from what the gift is called elsewhere, so that it is known when the
// dispute is won.
func (b *GivenBack) entry(g *Gift) string {
	if b == nil || !b.Disputed {
		return text.Random62(codeLength)
	}
	_, next := g.disputeIDs()
	return next
}

// disputeIDs are the id of the last entry for a dispute, "" for none, and that of the next.
func (g *Gift) disputeIDs() (last, next string) {
	for next = entryID("dispute " + g.ExternalID); g.hasEntry(next); next = entryID(next) {
		last = next
	}
	return last, next
}

// winDispute takes back the refund of a dispute that a file says was won, but for what the file says was refunded all the same. The refund stays if anything
// was done about the money since.
func (g Gift) winDispute(in *GiftInput, told int64, now time.Time) (after Gift, isWon bool) {
	last := &g.Entries[len(g.Entries)-1]
	id, _ := g.disputeIDs()
	amount := min(-last.Amount, g.Refunded()-told)
	if !in.Filed.Won || g.Status != Succeeded || last.ID != id || amount <= 0 || len(g.Entries) >= maxEntries {
		return g, false
	}
	return g.comeAgain(amount, now), true
}

func (b *GivenBack) when(g *Gift) time.Time {
	if b.at.IsZero() {
		return g.At
	}
	return b.at
}

// sameWithin is how far apart two systems may date one payment.
const sameWithin = 7 * 24 * time.Hour

// samePayment tells whether a gift is the payment that a row of a file with the same external id describes. What else the row says is another description.
func (in *GiftInput) samePayment(g *Gift) bool {
	units, ok := text.MinorUnits(value(in.Amount), g.Currency)
	currency := value(in.Currency)
	return ok && (units == g.amount() || units == g.Entries[0].Amount) && (currency == "" || currency == g.Currency) &&
		(g.Status == Pending || in.at.Sub(g.At).Abs() <= sameWithin)
}

// Advance is a gift that is known after a file has told what became of it since: a promise was kept or given up, money went back, or a dispute was won.
// What people have undone since stays undone.
func (g Gift) Advance(in *GiftInput, now time.Time) (after Gift, isChanged bool, err error) {
	status := GiftStatus(value(in.Status))
	if g.Status == Pending && status != "" && status != Pending {
		if g, err = g.Change(&GiftInput{Status: in.Status, at: in.at}, nil, now); err != nil {
			return g, false, err
		}
		isChanged = true
	}
	told, at := int64(0), now
	switch {
	case g.Status != Succeeded:
	case status == Failed, status == Cancelled:
		told = g.amount()
	case in.Filed.Back != nil:
		told, at = g.amount(), in.Filed.Back.when(&g)
		if sent := in.Filed.Back.Amount; sent != nil {
			told, _ = text.MinorUnits(*sent, g.Currency)
		}
	}
	if more := min(told-g.everRefunded(), g.Left()); more > 0 && len(g.Entries) < maxEntries {
		return g.giveBack(in.Filed.Back.entry(&g), more, at), true, nil
	}
	after, isWon := g.winDispute(in, told, now)
	return after, isChanged || isWon, nil
}

// everRefunded is what was ever given back, whether people have undone that or not. What an import has told that was undone was never told.
func (g *Gift) everRefunded() (amount int64) {
	for i := range g.Entries {
		if e := &g.Entries[i]; e.Amount < 0 && !e.IsReversal() && !g.hasEntry(untoldID(e)) {
			amount -= e.Amount
		}
	}
	return amount
}

// RefundFiled gives back what a row of a file says, in ten-thousandths. The entry has an id that is made from what the row is called elsewhere, so that the
// same row is known when it comes again.
func (g Gift) RefundFiled(reference string, in *GiftInput) (after Gift, isKnown bool, err error) {
	id := entryID(reference)
	for g.hasEntry(id) {
		if !g.hasEntry(untoldID(&Entry{ID: id})) {
			return g, true, nil
		}
		id = entryID(id)
	}
	if sent, _ := text.MinorUnits(value(in.Amount), g.Currency); sent > g.Left() && sent <= g.everRefunded() { // the gift itself has told it
		return g, true, nil
	}
	after, err = g.refund(id, in.Amount, in.at)
	return after, false, err
}

// entryID is an id that is made from a text.
func entryID(reference string) string {
	sum := sha256.Sum256([]byte(reference))
	return text.Encode62(new(big.Int).SetBytes(sum[:11]), codeLength)
}

// untoldID is the id of the entry against a refund whose import was undone.
func untoldID(e *Entry) string { return entryID("untold " + e.ID) }

func (g *Gift) hasEntry(id string) bool {
	return slices.ContainsFunc(g.Entries, func(e Entry) bool { return e.ID == id })
}

// paidInFull is the note of a pledge that was kept by payments of their own.
const paidInFull = "Paid in full. Each payment is a gift of its own."

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
	left := Entry{ID: text.Random62(codeLength), Amount: old.Amount - amount}
	return g.with(Entry{ID: text.Random62(codeLength), Amount: -old.Amount, Fee: -old.Fee, FeeCovered: -old.FeeCovered}, left)
}

func joinNote(note, more string) string {
	if note == "" {
		return more
	}
	return note + "\n\n" + more
}

// PlanOf is the plan that the first gift of it in a file tells of. Where the file does not say how often its gifts come, they come monthly.
func PlanOf(g *Gift, filed *Filed, now time.Time) *Plan {
	every := filed.Every
	if every == "" {
		every = "monthly"
	}
	return &Plan{Contact: g.Contact, Giver: g.Giver, Campaign: g.Campaign, Frequency: every, Status: ActivePlan, Method: g.Method, Amount: g.Payment().Amount,
		Currency: g.Currency, StartAt: g.At, NextBill: g.At, CreatedAt: now.UTC().Truncate(time.Second), ExternalID: filed.Plan}
}

// RefundedAt is when the last money went back that did not come again; zero where all of it stayed.
func (g *Gift) RefundedAt() (at time.Time) {
	if g.Refunded() <= 0 {
		return at
	}
	for i := range g.Entries {
		if e := &g.Entries[i]; e.Amount < 0 && !e.IsReversal() {
			at = e.RefundedAt
		}
	}
	return at
}

// Unrefund takes back the refund that a file has told last, of those that were not taken back before. isOther tells that something else was told last, which stays.
func (g Gift) Unrefund(now time.Time) (before Gift, isOther bool) {
	i := len(g.Entries) - 1
	for i > 0 && g.isUntold(i) {
		i--
	}
	last := g.Entries[i]
	if last.Amount >= 0 || last.IsReversal() {
		return g, true
	}
	before = g.with(Entry{ID: untoldID(&last), Amount: -last.Amount, FeeCovered: -last.FeeCovered, CapturedAt: now.UTC().Truncate(time.Second)})
	before.Payment().RefundedAt = time.Time{}
	return before, false
}

// isUntold tells whether an entry is a refund whose import was undone, or the entry against one.
func (g *Gift) isUntold(i int) bool {
	e := &g.Entries[i]
	return g.hasEntry(untoldID(e)) || slices.ContainsFunc(g.Entries[:i], func(refund Entry) bool { return untoldID(&refund) == e.ID })
}

// End is a plan that no more gifts are expected of, after the import that has made it was undone. Its external id is free for the plan that is made instead.
func (p Plan) End(now time.Time) Plan {
	p.Status, p.ExternalID, p.NextBill, p.CanceledAt = Ended, "", time.Time{}, now.UTC().Truncate(time.Second)
	return p
}
