package donate_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	. "donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/drill"
	"donorbook/internal/rig/rows"
)

var day = time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)

func order() Order {
	return Order{Donation: "d1", Account: "a1", Amount: 51_80, Covered: 1_80, Currency: "USD", Frequency: Once,
		Live: true}
}

func paid() *Snapshot {
	return &Snapshot{Provider: "stripe", At: day, Live: true, Donation: "d1", Account: "a1",
		Payment: &Payment{ID: "pi_1", State: Paid, Amount: 51_80, Currency: "USD", Method: "card", At: day}}
}

// settle does what the store does with a snapshot.
func settle(g *giving.Gift, order Order, s *Snapshot) (*giving.Gift, Outcome) {
	o := Settle(Known{Order: order, Gift: g}, s)
	if o.New != nil {
		g = &giving.Gift{Status: o.New.Status, Currency: o.New.Currency, Method: o.New.Method, At: o.New.At,
			ExternalID: o.New.ExternalID, Test: o.New.Test,
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

// history is a payment with all that may happen to it, and a snapshot after each step. The amounts that go back may be
// more than there was.
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
			p.Refunds = append(p.Refunds, Refund{ID: fmt.Sprint("re_", len(p.Refunds)), Amount: 1 + r.Int64N(p.Amount),
				State: Processing, At: at})
		case 2:
			p.Disputes = append(p.Disputes, Dispute{ID: fmt.Sprint("du_", len(p.Disputes)),
				Amount: 1 + r.Int64N(p.Amount), State: UnderWay, Withdrawn: r.IntN(4) > 0, Fee: 15_00, At: at})
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

// Deliveries are lost, doubled and shuffled; whatever comes before the last snapshot, the books are those of the
// provider.
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

// Nothing is believed that is not about our donation; what was paid in another way than asked for is recorded, and a
// person looks.
func TestDoubts(t *testing.T) {
	for _, c := range rows.Of[struct {
		What, Of string // what changes, and the donation and the organization that it is of
		Amount   int64
		Currency string
		Doubt    Doubt
		Recorded bool
	}](`
		as asked                     d1/a1  5180  USD  ""        true
		test mode                    d1/a1  5180  USD  mode      false
		another donation             d2/a1  5180  USD  foreign   false
		no donation                  /      5180  USD  foreign   false
		another organization         d1/a2  5180  USD  foreign   false
		no organization              d1/    5180  USD  foreign   false
		less                         d1/a1  100   USD  amount    true
		another currency             d1/a1  5180  JPY  currency  true
		currency of the gift         d1/a1  5180  USD  currency  false
		plan of another amount       d1/a1  6000  USD  ""        true
		payment of no plan's amount  d1/a1  700   USD  amount    true
		dispute                      d1/a1  5180  USD  dispute   true
		taken over                   /      5180  USD  ""        true  // from the provider's dashboard: nothing was asked for, so nothing differs
	`) {
		s, known := paid(), Known{Order: order()}
		s.Donation, s.Account, _ = strings.Cut(c.Of, "/")
		s.Payment.Amount, s.Payment.Currency, s.Live = c.Amount, c.Currency, c.What != "test mode"
		switch {
		case c.What == "currency of the gift":
			known.Gift = &giving.Gift{Status: giving.Pending, Currency: "EUR", Entries: []giving.Entry{{Amount: 51_80}}}
		case c.What == "dispute":
			s.Payment.Disputes = []Dispute{{ID: "du_1", Amount: 51_80, State: UnderWay}}
		case c.What == "taken over":
			known.Order = Order{Account: "a1", Live: true}
		case strings.Contains(c.What, "plan"):
			s.Plan = &Plan{ID: "sub_1", Status: giving.ActivePlan, Amount: 60_00, Currency: "USD"}
		}
		o := Settle(known, s)
		assert.Equal(t, o.Doubt, c.Doubt, "%s: the doubt", c.What)
		assert.Equal(t, o.New != nil, c.Recorded, "%s: it is recorded", c.What)
		if !c.Recorded {
			assert.Equal(t, o.Status == "" && o.Entries == nil && o.Plan == nil, true, "%s: %+v", c.What, o)
		} else {
			assert.Equal(t, o.New.ExternalID, "stripe:pi_1", c.What)
			assert.Equal(t, o.New.Amount, c.Amount, c.What)
		}
	}
}

// A bank debit is promised, then paid; its fee comes later, a refund fails, and a ledger that people changed by hand is
// for a person.
func TestDebitFromPromiseToFailedRefund(t *testing.T) {
	s := paid()
	var g *giving.Gift
	var o Outcome
	is := func(want string) {
		t.Helper()
		g, o = settle(g, order(), s)
		p := g.Payment()
		assert.Equal(t, fmt.Sprintf("%s %d, fee %d, covered %d, refunded %v, entries %d%s", g.Status, g.Net(), p.Fee,
			g.LeftCovered(),
			!p.RefundedAt.IsZero(), len(g.Entries), o.Doubt), want)
		assert.Equal(t, g.At, day)
	}
	s.Payment.State = Processing
	is("pending 0, fee 0, covered 180, refunded false, entries 1")
	assert.Equal(t, o.State, Processing)
	s.Payment.State, s.Payment.At = Paid, day.AddDate(0, 0, 5)
	is("succeeded 5000, fee 0, covered 180, refunded false, entries 1")
	assert.Equal(t, o.State, Paid)
	assert.Equal(t, g.Payment().CapturedAt, s.Payment.At)
	s.Payment.Fee, s.Payment.FeeKnown = 1_55, true
	settled := "succeeded 5000, fee 155, covered 180, refunded false, entries "
	is(settled + "1")
	s.Payment.Fee = 9_99 // no fee is told twice
	s.Payment.Refunds = []Refund{{ID: "re_1", Amount: 51_80, State: Processing, At: day.AddDate(0, 0, 6)}}
	is("succeeded 0, fee 155, covered 0, refunded true, entries 2")
	s.Payment.Refunds[0].State = Failed
	is(settled + "3")
	byHand := assert.Must(g.Refund(nil, day))(t)
	_, o = settle(&byHand, order(), s)
	assert.Equal(t, o.Doubt, WrongAmount, "a refund that the provider does not know")
}
