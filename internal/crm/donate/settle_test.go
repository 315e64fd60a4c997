package donate_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	. "donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/drill"
)

var day = time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)

func order() Order {
	return Order{Donation: "d1", Account: "a1", Amount: 51_80, Covered: 1_80, Currency: "USD", Frequency: Once, Live: true}
}

func paid() *Snapshot {
	return &Snapshot{Provider: "stripe", At: day, Live: true, Donation: "d1", Account: "a1",
		Payment: &Payment{ID: "pi_1", State: Paid, Amount: 51_80, Currency: "USD", Method: "card", At: day}}
}

// settle does what the store does with a snapshot.
func settle(g *giving.Gift, order Order, s *Snapshot) (*giving.Gift, Outcome) {
	o := Settle(Known{Order: order, Gift: g}, s)
	if o.New != nil {
		g = &giving.Gift{Status: o.New.Status, Currency: o.New.Currency, Method: o.New.Method, At: o.New.At, ExternalID: o.New.ExternalID, Test: o.New.Test,
			Entries: []giving.Entry{{ID: "payment", Amount: o.New.Amount, FeeCovered: o.New.Covered}}}
		if g.Status == giving.Succeeded {
			g.Entries[0].CapturedAt = o.New.At
		}
	}
	if g != nil {
		after := o.Apply(*g)
		g = &after
	}
	return g, o
}

// books is what people and sums see of a gift. One that failed is as good as none.
type books struct {
	Status                     giving.GiftStatus
	Left, Covered, Fee, Payout int64
	Entries                    int
}

func booksOf(g *giving.Gift) (b books) {
	if g == nil || g.Status == giving.Failed {
		return books{}
	}
	b = books{Status: g.Status, Left: g.Left(), Covered: g.LeftCovered(), Fee: g.Payment().Fee, Entries: len(g.Entries)}
	for i := range g.Entries {
		b.Payout += g.Entries[i].Payout()
	}
	return b
}

// history is a payment with all that may happen to it, and a snapshot after each step. The amounts that go back may be more than there was.
func history(r *rand.Rand) (all []*Snapshot) {
	s := paid()
	p := s.Payment
	p.State = []State{Open, Processing, Paid}[r.IntN(3)]
	keep := func() {
		copied, payment := *s, *p
		payment.Refunds, payment.Disputes = slices.Clone(p.Refunds), slices.Clone(p.Disputes)
		copied.Payment = &payment
		all = append(all, &copied)
	}
	keep()
	at := day
	for range 1 + r.IntN(8) {
		at = at.Add(time.Hour)
		if p.State != Paid {
			p.State = []State{Open, Processing, Failed, Paid, Paid, Paid}[r.IntN(6)]
			keep()
			continue
		}
		switch r.IntN(4) {
		case 0:
			p.Fee, p.FeeKnown = 1_80, true
		case 1:
			p.Refunds = append(p.Refunds, Refund{ID: fmt.Sprint("re_", len(p.Refunds)), Amount: 1 + r.Int64N(p.Amount), State: Processing, At: at})
		case 2:
			p.Disputes = append(p.Disputes, Dispute{ID: fmt.Sprint("du_", len(p.Disputes)), Amount: 1 + r.Int64N(p.Amount), State: UnderWay, Withdrawn: r.IntN(4) > 0, Fee: 15_00, At: at})
		case 3:
			for i := range p.Refunds {
				if refund := &p.Refunds[i]; refund.State == Processing && r.IntN(2) == 0 {
					if refund.State = []State{Paid, Failed}[r.IntN(2)]; refund.State == Failed {
						refund.FailedAt = at
					}
				}
			}
			for i := range p.Disputes {
				if d := &p.Disputes[i]; d.State == UnderWay && r.IntN(2) == 0 {
					d.State = []DisputeState{Won, Lost}[r.IntN(2)]
					d.Withdrawn = d.Withdrawn || d.State == Lost
					if d.State == Won && d.Withdrawn {
						d.Returned, d.FeeBack, d.BackAt = true, 15_00, at
					}
				}
			}
		}
		keep()
	}
	return all
}

// leftAt is what the provider's books have left of a payment, by themselves.
func leftAt(s *Snapshot) int64 {
	p := s.Payment
	if p.State != Paid {
		return p.Amount
	}
	left := p.Amount
	for _, r := range p.Refunds {
		if r.State != Failed {
			left -= r.Amount
		}
	}
	for _, d := range p.Disputes {
		if d.Withdrawn && !d.Returned {
			left -= d.Amount
		}
	}
	return max(0, left)
}

// Deliveries are lost, doubled and shuffled; whatever comes before the last snapshot, the books are those of the provider.
func TestBooksFollowTheProviderInAnyOrder(t *testing.T) {
	histories := 10_000
	if drill.On {
		histories = 100_000
	}
	r := rand.New(rand.NewPCG(45, 1))
	refunded, failed, disputed, over := 0, 0, 0, 0
	for range histories {
		all := history(r)
		last := all[len(all)-1]
		var want, got *giving.Gift
		want, _ = settle(nil, order(), last)
		for range r.IntN(len(all) + 3) {
			got, _ = settle(got, order(), all[r.IntN(len(all))])
		}
		got, outcome := settle(got, order(), last)
		assert.Equal(t, booksOf(got), booksOf(want), "the books (%v)", cmp.Diff(nil, all))
		if got != nil && got.Status == giving.Succeeded {
			assert.Equal(t, got.Left(), leftAt(last), "%v", cmp.Diff(nil, last))
			if covered := got.LeftCovered(); covered < 0 || covered > got.Left() {
				t.Fatalf("%d are covered of %d", covered, got.Left())
			}
			assert.Equal(t, !got.Payment().RefundedAt.IsZero(), (got.Left() == 0), "refunded (%v)", got.Left())
		}
		again, _ := settle(got, order(), last)
		if booksOf(again) != booksOf(got) {
			t.Fatal("the same snapshot has changed the books a second time")
		}
		refunded += len(last.Payment.Refunds)
		disputed += len(last.Payment.Disputes)
		failed += len(movedBack(got))
		if outcome.Doubt == TooMuchBack {
			over++
		}
	}
	if refunded < histories/10 || disputed < histories/10 || failed < histories/50 || over < histories/50 {
		t.Errorf("%d refunds, %d disputes, %d that came to nothing, %d payments of which too much went back: too few to tell anything", refunded, disputed, failed, over)
	}
}

// movedBack are the entries of a ledger with money that is there again.
func movedBack(g *giving.Gift) (entries []giving.Entry) {
	for i := 1; g != nil && i < len(g.Entries); i++ {
		if g.Entries[i].Amount > 0 {
			entries = append(entries, g.Entries[i])
		}
	}
	return entries
}

// Nothing is believed that is not about our donation; what was paid in another way than asked for is recorded, and a person looks.
func TestDoubts(t *testing.T) {
	pending := &giving.Gift{Status: giving.Pending, Currency: "EUR", Entries: []giving.Entry{{Amount: 51_80}}}
	for name, c := range map[string]struct {
		gift     *giving.Gift
		change   func(*Snapshot)
		doubt    Doubt
		recorded bool
	}{
		"as asked":             {nil, func(s *Snapshot) {}, "", true},
		"test mode":            {nil, func(s *Snapshot) { s.Live = false }, WrongMode, false},
		"another donation":     {nil, func(s *Snapshot) { s.Donation = "d2" }, Foreign, false},
		"no donation":          {nil, func(s *Snapshot) { s.Donation, s.Account = "", "" }, Foreign, false},
		"another organization": {nil, func(s *Snapshot) { s.Account = "a2" }, Foreign, false},
		"no organization":      {nil, func(s *Snapshot) { s.Account = "" }, Foreign, false},
		"less":                 {nil, func(s *Snapshot) { s.Payment.Amount = 1_00 }, WrongAmount, true},
		"another currency":     {nil, func(s *Snapshot) { s.Payment.Currency = "JPY" }, WrongCurrency, true},
		"currency of the gift": {pending, func(s *Snapshot) {}, WrongCurrency, false},
		"plan of another amount": {nil, func(s *Snapshot) {
			s.Payment.Amount, s.Plan = 60_00, &Plan{ID: "sub_1", Status: giving.ActivePlan, Amount: 60_00, Currency: "USD"}
		}, "", true},
		"payment of no plan's amount": {nil, func(s *Snapshot) {
			s.Payment.Amount, s.Plan = 7_00, &Plan{ID: "sub_1", Status: giving.ActivePlan, Amount: 60_00, Currency: "USD"}
		}, WrongAmount, true},
		"dispute": {nil, func(s *Snapshot) { s.Payment.Disputes = []Dispute{{ID: "du_1", Amount: 51_80, State: UnderWay}} }, Disputed, true},
	} {
		s := paid()
		c.change(s)
		o := Settle(Known{Order: order(), Gift: c.gift}, s)
		if o.Doubt != c.doubt || (o.New != nil) != c.recorded || !c.recorded && (o.Status != "" || o.Entries != nil || o.Plan != nil) {
			t.Errorf("%s: %+v, want the doubt %q", name, o, c.doubt)
		}
	}
}

// A payment that was made in the provider's dashboard can be taken over: nothing was asked for, so nothing differs.
func TestPaymentFromElsewhere(t *testing.T) {
	s := paid()
	s.Donation, s.Account = "", ""
	g, o := settle(nil, Order{Account: "a1", Live: true}, s)
	if o.Doubt != "" || g == nil || g.Donated() != 51_80 || g.ExternalID != "stripe:pi_1" {
		t.Errorf("%+v became %+v", o, g)
	}
}

// A bank debit is promised, then paid; its fee comes later, a refund fails, and a ledger that people changed by hand is for a person.
func TestDebitFromPromiseToFailedRefund(t *testing.T) {
	s := paid()
	s.Payment.State = Processing
	g, o := settle(nil, order(), s)
	if o.State != Processing || g.Status != giving.Pending || g.Net() != 0 || g.LeftCovered() != 1_80 {
		t.Fatalf("a debit under way is %+v", g)
	}
	s.Payment.State, s.Payment.At = Paid, day.AddDate(0, 0, 5)
	g, o = settle(g, order(), s)
	if o.State != Paid || g.Status != giving.Succeeded || g.Net() != 50_00 || !g.Payment().CapturedAt.Equal(s.Payment.At) || !g.At.Equal(day) {
		t.Fatalf("a debit that arrived is %+v", g)
	}
	s.Payment.Fee, s.Payment.FeeKnown = 1_55, true
	g, _ = settle(g, order(), s)
	s.Payment.Fee = 9_99 // no fee is told twice
	s.Payment.Refunds = []Refund{{ID: "re_1", Amount: 51_80, State: Processing, At: day.AddDate(0, 0, 6)}}
	g, _ = settle(g, order(), s)
	if g.Payment().Fee != 1_55 || g.Net() != 0 || g.Payment().RefundedAt.IsZero() {
		t.Fatalf("a refund makes %+v", g)
	}
	s.Payment.Refunds[0].State = Failed
	g, o = settle(g, order(), s)
	if g.Net() != 50_00 || len(g.Entries) != 3 || !g.Payment().RefundedAt.IsZero() || o.Doubt != "" {
		t.Fatalf("a refund that failed makes %+v", g)
	}
	byHand := assert.Must(g.Refund(nil, day))(t)
	if _, o = settle(&byHand, order(), s); o.Doubt != WrongAmount {
		t.Errorf("a refund that the provider does not know is %+v", o)
	}
}
