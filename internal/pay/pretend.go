package pay

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
)

// PretendName is what the provider of the demo is called in references.
const PretendName = donate.Pretend

// PretendPath is where its page is; the rest of the path is the id of the session.
const PretendPath = "/test-payment/"

// Choice is a button of its page.
type Choice string

const (
	ChoosePay     Choice = "pay"
	ChooseDebit   Choice = "debit" // arrives a minute later
	ChooseDecline Choice = "decline"
	ChooseBack    Choice = "back"
)

// Pretended are payments without money, for the demo. Only this process knows them: when it has stopped, or on another node, there is no such payment, and nothing is recorded.
type Pretended struct {
	Now  func() time.Time // the clock
	base string

	mu       sync.Mutex
	payments map[string]*pretended // by session, whose id its payment and its plan have too
}

type pretended struct {
	order donate.Order
	is    donate.Snapshot
}

const (
	maxPretended = 1000 // the oldest are forgotten
	debitTime    = time.Minute
)

func newPretended(base string) *Pretended {
	return &Pretended{Now: time.Now, base: strings.TrimSuffix(base, "/"), payments: map[string]*pretended{}}
}

// errForgotten is the error of what is not known, or not known any more.
var errForgotten = refused(donate.Gone, "Nothing is known of this test payment: the demo forgets them when it stops.", nil)

// with calls a function with a payment that is known.
func (p *Pretended) with(id string, do func(*pretended) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.payments[id]
	if known == nil {
		return errForgotten
	}
	s, now := &known.is, p.Now()
	if s.Session.State == donate.Open && now.After(s.Session.Expires) {
		s.Session.State = donate.Expired
	}
	if s.Session.State == donate.Processing && now.After(s.Payment.At.Add(debitTime)) {
		s.Session.State, s.Payment.State = donate.Paid, donate.Paid
	}
	return do(known)
}

// PretendedOrder is the order that the page of a session is about.
func (p *Pretended) PretendedOrder(session string) (o donate.Order, err error) {
	err = p.with(session, func(known *pretended) error { o = known.order; return nil })
	return o, err
}

// Choose does what a giver has chosen on the page, and returns where the giver goes next: "" is to the same page, as after a card that was declined.
func (p *Pretended) Choose(session string, choice Choice) (next string, err error) {
	err = p.with(session, func(known *pretended) error {
		o, s := &known.order, &known.is
		switch {
		case choice == ChooseBack:
			next = o.Cancel
		case s.Session.State != donate.Open: // a second click
			next = o.Success
		case choice == ChooseDecline:
			s.Payment = &donate.Payment{ID: session, State: donate.Open, Amount: o.Amount, Currency: o.Currency, Method: "card", At: p.Now().UTC(), Fault: "Your card was declined."}
		default:
			next = o.Success
			known.pay(choice == ChooseDebit, p.Now().UTC().Truncate(time.Second))
		}
		return nil
	})
	return next, err
}

func (known *pretended) pay(isDebit bool, now time.Time) {
	o, s := &known.order, &known.is
	p := donate.Payment{ID: s.Session.ID, State: donate.Paid, Amount: o.Amount, Currency: o.Currency, Method: "card", MethodName: "Visa ending in 4242", Name: o.Name, Email: o.Email, At: now}
	if isDebit {
		p.State, p.Method, p.MethodName = donate.Processing, "direct_debit", "Bank account ending in 6789"
	}
	p.Fee, p.FeeKnown = o.Amount*29/1000+donate.Unit(o.Currency)*3/10, true
	s.Session.State, s.Payment = p.State, &p
	if o.Frequency != donate.Once {
		s.Plan = &donate.Plan{ID: p.ID, Status: giving.ActivePlan, Amount: o.Amount, Covered: o.Covered, Currency: o.Currency, Frequency: o.Frequency, Method: p.Method, StartAt: now, Next: now.AddDate(0, 1, 0)}
	}
}

// pretender is the provider for one account.
type pretender struct {
	*Pretended
	donate.Connection
}

// sessionID follows from a key, so that the same order is the same session.
func sessionID(key string) string {
	sum := sha256.Sum256([]byte(key))
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}

func (p *pretender) Start(_ context.Context, o *donate.Order) (donate.Handover, error) {
	if o.Live {
		return donate.Handover{}, refused(donate.Definite, "The demo takes no money.", nil)
	}
	id := sessionID(o.Key)
	session := donate.Session{ID: id, State: donate.Open, URL: p.base + PretendPath + id, Expires: o.At.Add(sessionTime)}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.payments[id] == nil {
		if len(p.payments) >= maxPretended {
			oldest := slices.MinFunc(slices.Collect(maps.Values(p.payments)), func(a, b *pretended) int { return a.order.At.Compare(b.order.At) })
			delete(p.payments, oldest.is.Session.ID)
		}
		p.payments[id] = &pretended{*o, donate.Snapshot{Provider: PretendName, Donation: o.Donation, Account: o.Account, Session: session}}
	}
	return donate.Handover{URL: session.URL, Session: donate.Ref{Kind: donate.SessionRef, ID: id}, Expires: session.Expires}, nil
}

// Verify refuses all: the demo has no events.
func (p *pretender) Verify(func(string) string, []byte, time.Time) (donate.Hint, error) {
	return donate.Hint{}, donate.ErrForged
}

func (p *pretender) Look(_ context.Context, ref donate.Ref) (s donate.Snapshot, err error) {
	err = p.with(ref.ID, func(known *pretended) error {
		s = known.is
		s.At = p.Now().UTC()
		if s.Payment != nil {
			s.Payment = new(*s.Payment)
			s.Payment.Refunds = slices.Clone(s.Payment.Refunds)
		}
		if s.Plan != nil {
			s.Plan = new(*s.Plan)
		}
		return nil
	})
	return s, err
}

func (p *pretender) Refund(_ context.Context, payment string, amount int64, _, key string) error {
	return p.with(payment, func(known *pretended) error {
		of, id := known.is.Payment, "re_"+sessionID(key)
		if of == nil || of.State != donate.Paid {
			return refused(donate.Definite, "Nothing was paid.", nil)
		}
		left := of.Amount
		for _, r := range of.Refunds {
			if left -= r.Amount; r.ID == id {
				return nil
			}
		}
		if amount <= 0 || amount > left {
			return refused(donate.Definite, "Not so much is left to refund.", nil)
		}
		of.Refunds = append(of.Refunds, donate.Refund{ID: id, Amount: amount, State: donate.Paid, At: p.Now().UTC()})
		return nil
	})
}

func (p *pretender) Plan(_ context.Context, plan string, c donate.Change) error {
	return p.with(plan, func(known *pretended) error {
		switch is := known.is.Plan; {
		case is == nil || is.Status == giving.Ended:
			return refused(donate.Definite, "This gift does not come again.", nil)
		case c.Kind == donate.CancelPlan:
			is.Status, is.Next, is.CanceledAt = giving.Ended, time.Time{}, p.Now().UTC()
		case c.Kind == donate.PausePlan:
			is.Status = giving.Paused
		case c.Kind == donate.ResumePlan:
			is.Status = giving.ActivePlan
		case c.Kind == donate.NewAmount:
			is.Amount, is.Covered = c.Amount, c.CoveredBy(is.Covered)
		}
		return nil
	})
}

// NewCard has nothing to ask: the giver comes straight back.
func (p *pretender) NewCard(_ context.Context, plan, back, _ string) (donate.Handover, error) {
	return donate.Handover{URL: back, Session: donate.Ref{Kind: donate.SessionRef, ID: plan}}, nil
}

func (p *pretender) Since(_ context.Context, since time.Time, each func(donate.Ref) error) error {
	p.mu.Lock()
	known := slices.Collect(maps.Values(p.payments))
	p.mu.Unlock()
	for _, s := range known {
		if s.order.Account == p.Account && !s.order.At.Before(since) {
			if err := each(donate.Ref{Kind: donate.SessionRef, ID: s.is.Session.ID}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *pretender) Check(context.Context, string) error { return nil }

// Register makes up a secret: no event will be signed by it.
func (p *pretender) Register(context.Context, string) (string, error) { return text.Random62(32), nil }
