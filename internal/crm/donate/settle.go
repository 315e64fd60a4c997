package donate

import (
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm/giving"
)

// Known is what our side knows about a payment.
type Known struct {
	Order Order        // of a payment that did not come from here: Account and Live alone
	Gift  *giving.Gift // that the payment became, nil where there is none yet
}

// Outcome is what a snapshot changes. The second time, nothing of it is new.
type Outcome struct {
	State   State             // of the donation, "" where the snapshot does not tell it
	New     *NewGift          // the gift to make before Apply, nil for none
	Status  giving.GiftStatus // what the gift becomes, "" where it stays as it is
	At      time.Time         // when it was paid
	Fee     int64             // the fee, where it became known; else 0
	Entries []Entry           // for the ledger, in this order; also of a new gift
	Plan    *Plan             // what the plan is now, nil where there is none
	Doubt   Doubt             // why a person must look, "" where no one must
}

// NewGift is a payment that the books do not have.
type NewGift struct {
	ExternalID string // stripe:pi_...
	Status     giving.GiftStatus
	Amount     int64
	Covered    int64
	Currency   string
	Method     string
	At         time.Time
	Test       bool
}

// Entry is a further movement of a gift's money.
type Entry struct {
	Reference string // unique, such as stripe re_...
	Amount    int64  // negative where money went back; 0 where there was nothing left to go back
	Fee       int64  // of a dispute
	At        time.Time
}

// Doubt is why a person must look at a donation: one of these reasons, or several with spaces between them, the first
// one first.
type Doubt string

const (
	// a test payment at a live connection, or the other way around: nothing is recorded
	WrongMode     Doubt = "mode"
	Foreign       Doubt = "foreign"  // it names another donation or organization: nothing is recorded
	WrongCurrency Doubt = "currency" // not paid in the currency that was asked for
	WrongAmount   Doubt = "amount"   // not what was asked for, or the ledger was changed by hand
	TooMuchBack   Doubt = "back"     // more was taken back than was given
	Disputed      Doubt = "dispute"  // a dispute waits for an answer at the provider
	NotHere       Doubt = "not_here" // it did not begin on a page of ours
	OtherName     Doubt = "name"     // the contact with this email or phone is called differently
	Archived      Doubt = "archived" // the contact with this email or phone, or of the plan, is archived
)

// All are the single reasons.
func (d Doubt) All() (all []Doubt) {
	for one := range strings.FieldsSeq(string(d)) {
		all = append(all, Doubt(one))
	}
	return all
}

// Has tells whether a reason is among them.
func (d Doubt) Has(one Doubt) bool { return slices.Contains(d.All(), one) }

// And adds reasons to those that there are.
func (d Doubt) And(more Doubt) Doubt {
	for _, one := range more.All() {
		if !d.Has(one) {
			d = Doubt(strings.TrimSpace(string(d + " " + one)))
		}
	}
	return d
}

// But leaves out reasons.
func (d Doubt) But(less Doubt) (left Doubt) {
	for _, one := range d.All() {
		if !less.Has(one) {
			left = left.And(one)
		}
	}
	return left
}

// HoldsThanks tells whether the contact of a gift may be someone else than its giver, or the money may go back: nothing
// is said to them until a person has looked. The new contact beside an archived one is who gave.
func (d Doubt) HoldsThanks() bool { return d.But(Archived) != "" }

// Settle is what follows from a snapshot for the books. Whatever order snapshots come in, however often, and whichever
// of them are lost: after the last one the books are the same. Money that was recorded is never taken out, but answered
// by a further entry.
func Settle(known Known, s *Snapshot) (o Outcome) {
	order := &known.Order
	switch {
	case s.Live != order.Live:
		return Outcome{State: Review, Doubt: WrongMode}
	case s.Donation != order.Donation, s.Account != order.Account && (s.Account != "" || s.Donation != ""):
		return Outcome{State: Review, Doubt: Foreign}
	}
	o.State, o.Plan = s.Session.State, s.Plan
	if o.Plan != nil && o.Plan.Status == "" {
		o.Plan = nil
	}
	p := s.Payment
	if p == nil {
		return o
	}
	// a later payment of a plan changes nothing about the first one, but proves that it was paid
	switch isLater := s.Plan != nil && s.Session.ID == ""; {
	case p.State == Paid, p.State != Open && !isLater:
		o.State = p.State
	}
	if known.Gift != nil && known.Gift.Currency != p.Currency {
		o.Doubt = WrongCurrency
		return o
	}
	o.status(known, s)
	if p.State == Paid {
		o.At = p.At
		o.money(known.Gift, s)
		o.Doubt = order.doubt(s).And(o.Doubt)
	}
	return o
}

// gifts are what states of a payment mean for its gift. One that is open again was tried, and waits for another card.
var gifts = map[State]giving.GiftStatus{Open: giving.Failed, Processing: giving.Pending, Paid: giving.Succeeded,
	Failed: giving.Failed}

// status makes the gift, or lets it follow the payment. Only a promise or money makes a gift; a gift that has succeeded
// stays so.
func (o *Outcome) status(known Known, s *Snapshot) {
	p, status := s.Payment, gifts[s.Payment.State]
	switch g := known.Gift; {
	case g == nil && (p.State == Paid || p.State == Processing):
		o.New = &NewGift{ExternalID: s.Provider + ":" + p.ID, Status: status, Amount: p.Amount,
			Covered: known.Order.covered(s), Currency: p.Currency, Method: p.Method, At: p.At, Test: !s.Live}
	case g == nil, g.Status == status, g.Status == giving.Succeeded:
	case p.State == Paid, g.Status != giving.Cancelled:
		o.Status = status
	}
}

// covered is the part of a payment that covers the fee.
func (order *Order) covered(s *Snapshot) int64 {
	switch paid := s.Payment.Amount; {
	case s.Plan != nil && s.Plan.Amount == paid && s.Plan.Covered < paid:
		return s.Plan.Covered
	case order.Amount == paid:
		return order.Covered
	}
	return 0
}

// doubt compares what was paid with what was asked for. The amount of a plan may have been changed since.
func (order *Order) doubt(s *Snapshot) Doubt {
	switch p := s.Payment; {
	case order.Amount == 0:
		return ""
	case p.Currency != order.Currency:
		return WrongCurrency
	case p.Amount != order.Amount && (s.Plan == nil || p.Amount != s.Plan.Amount):
		return WrongAmount
	}
	return ""
}

// money finds the fee, and the movements that the ledger does not have. A ledger never gives back more than there was:
// what is beyond is for a person.
func (o *Outcome) money(g *giving.Gift, s *Snapshot) {
	p := s.Payment
	if p.FeeKnown && (g == nil || g.Payment().Fee == 0) {
		o.Fee = min(p.Fee, p.Amount)
	}
	left := p.Amount // with the movements that are known; below 0 where too much went back
	var more []Entry
	for _, m := range movements(s) {
		if g != nil && g.HasMoved(m.Reference) {
			left += m.Amount
		} else {
			more = append(more, m)
		}
	}
	within := func() int64 { return max(0, min(left, p.Amount)) }
	if g != nil && (g.Payment().Amount != p.Amount || g.Left() != within()) {
		o.Doubt = o.Doubt.And(WrongAmount)
	}
	for _, m := range more {
		was := within()
		left += m.Amount
		m.Amount = within() - was
		o.Entries = append(o.Entries, m)
	}
	if left < 0 {
		o.Doubt = o.Doubt.And(TooMuchBack)
	}
	for _, d := range p.Disputes {
		if d.State == UnderWay {
			o.Doubt = o.Doubt.And(Disputed)
		}
	}
}

// movements are all refunds and disputes of a payment, as entries. What was taken back again is two.
func movements(s *Snapshot) (all []Entry) {
	add := func(id string, amount, fee int64, at time.Time) {
		all = append(all, Entry{s.Provider + " " + id, amount, fee, at})
	}
	for _, r := range s.Payment.Refunds {
		add(r.ID, -r.Amount, 0, r.At)
		if r.State == Failed {
			add(r.ID+" failed", r.Amount, 0, later(r.FailedAt, r.At))
		}
	}
	for _, d := range s.Payment.Disputes {
		if d.Withdrawn || d.Returned {
			add(d.ID, -d.Amount, d.Fee, d.At)
		}
		if d.Returned {
			add(d.ID+" won", d.Amount, -d.FeeBack, later(d.BackAt, d.At))
		}
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return a.At.Compare(b.At) })
	return all
}

func later(t, than time.Time) time.Time {
	if t.Before(than) {
		return than
	}
	return t
}

// Apply is a gift with everything of the outcome but New.
func (o *Outcome) Apply(g giving.Gift) giving.Gift {
	g = g.Settled(o.Status, o.Fee, o.At)
	for _, e := range o.Entries {
		g = g.Moved(e.Reference, e.Amount, e.Fee, e.At)
	}
	return g
}
