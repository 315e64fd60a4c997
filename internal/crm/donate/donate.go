// Package donate has gifts that people make on a page: what is asked of a payment provider, what the provider says is
// true, and what follows from that for the ledger. A provider's event is a hint about where to look; only what is found
// there counts.
package donate

import (
	"cmp"
	"context"
	"time"
)

// State is what became of a donation, and of a payment at a provider.
type State string

const (
	Started    State = "started"    // the form was sent; the provider knows nothing yet
	Open       State = "open"       // the provider's page waits for the giver
	Processing State = "processing" // the giver is done, the money is under way, as with a bank debit
	Paid       State = "paid"
	Failed     State = "failed"
	Expired    State = "expired"
	Review     State = "review" // a person must look
)

// Once is the frequency of a gift that does not come again; the others are those of plans.
const Once = "once"

// Order is what a giver wants to pay. The amounts are in the smallest unit of the currency.
type Order struct {
	Donation  string    // the public id of the donation: the provider keeps it with the payment
	At        time.Time // when the form was sent: the provider's page is open for an hour from then on
	Account   string    // the public id of the organization, kept there too
	Key       string    // two orders with one key are one; it is stored before the first attempt
	Amount    int64     // what is charged, with the covered fee
	Covered   int64     // the part of the amount that covers the fee
	Currency  string    // ISO 4217, upper case
	Frequency string    // Once, or one of giving.Frequencies
	For       string    // what the provider's page calls it: Donation to Clean Water
	Email     string    // of the giver, "" for unknown
	Name      string
	Success   string // the addresses of our pages to come back to
	Cancel    string
	Live      bool // real money; false is a provider's test mode
}

// Handover is the provider's page that the giver goes to. Its address is as good as a password until it expires.
type Handover struct {
	URL     string // "" where nothing is to be done at a provider: a promised gift
	Session Ref
	Expires time.Time
}

// RefKind is the kind of an object at a provider.
type RefKind string

const (
	SessionRef RefKind = "session"
	PaymentRef RefKind = "payment"
	PlanRef    RefKind = "plan"    // a subscription
	InvoiceRef RefKind = "invoice" // what is due of a plan
	ChargeRef  RefKind = "charge"  // an attempt of a payment; refunds and disputes hang on it
	RefundRef  RefKind = "refund"
	DisputeRef RefKind = "dispute"
)

// Ref names an object at a provider.
type Ref struct {
	Kind RefKind
	ID   string
}

// Hint is an event of a provider: something happened to what it names.
type Hint struct {
	Event    string // the provider's id of the event: the second delivery has the same
	Kind     string // as the provider calls it: charge.updated
	Ref      Ref    // zero where the event is about nothing of ours
	Declined bool   // an attempt to pay was declined
	Live     bool
	At       time.Time
}

// StripeEvents are the events of Stripe that we ask for: it lists at most twenty kinds at once.
var StripeEvents = []string{
	"checkout.session.completed", "checkout.session.async_payment_succeeded", "checkout.session.async_payment_failed",
	"checkout.session.expired",
	"payment_intent.payment_failed", "charge.updated", "refund.created", "refund.updated", "refund.failed",
	"charge.dispute.created", "charge.dispute.updated", "charge.dispute.funds_withdrawn",
	"charge.dispute.funds_reinstated", "charge.dispute.closed",
	"invoice.paid", "invoice.payment_failed", "customer.subscription.updated", "customer.subscription.deleted",
	"customer.subscription.paused", "customer.subscription.resumed",
}

// Connection is how an account is known to a provider.
type Connection struct {
	Provider string // stripe, or pretend
	Live     bool
	Account  string   // the public id of the organization
	Key      string   // a secret
	Hooks    []string // the secrets by which events are signed: two while one replaces the other
	// of the provider's page, where the organization has a domain of its own for it; "" for the provider's
	Host    string
	Address string // where the provider is, "" for where it really is: for tests
}

// Change is what becomes of a plan at a provider.
type Change struct {
	Kind    ChangeKind
	Amount  int64  // of NewAmount: what is charged from the next time on
	Covered int64  // the part of it that covers the fee; KeepCovered is what it was
	Card    string // of UseCard: what a session for another card has found
	Key     string
}

// KeepCovered leaves the part that covers the fee as it is: who changes an amount for a giver is told the whole of it.
const KeepCovered = -1

// CoveredBy is the part of the new amount that covers the fee, where it was so much. An amount that leaves nothing
// beside that covers no fee.
func (c *Change) CoveredBy(was int64) int64 {
	switch {
	case c.Covered != KeepCovered:
		return c.Covered
	case was < c.Amount:
		return was
	}
	return 0
}

// ChangeKind is a kind of change.
type ChangeKind string

const (
	CancelPlan ChangeKind = "cancel" // now: nothing is charged again
	PausePlan  ChangeKind = "pause"
	ResumePlan ChangeKind = "resume"
	NewAmount  ChangeKind = "amount"
	UseCard    ChangeKind = "card"
)

// Provider takes money for an account. Everything but Verify asks the provider, which takes at most ten seconds.
type Provider interface {
	// Start makes the page on which the giver pays. The same order may be started again: it is the same page.
	Start(ctx context.Context, o *Order) (Handover, error)
	// Verify reads an event, as it was posted to us. header finds a header of the request by its name. An error of a
	// wrong signature is ErrForged; where nothing but its time is wrong, the hint has that.
	Verify(header func(name string) string, body []byte, now time.Time) (Hint, error)
	// Look tells what is true now about an object and the payment or the plan that it belongs to.
	Look(ctx context.Context, ref Ref) (Snapshot, error)
	// Refund gives back an amount of a payment. That it was made is told by a Look.
	Refund(ctx context.Context, payment string, amount int64, currency, key string) error
	// Plan changes a plan.
	Plan(ctx context.Context, plan string, change Change) error
	// NewCard is the provider's page on which the giver of a plan enters another card, and comes back from. When its
	// session is done, a Look at it finds the card, and Plan with UseCard makes it that of the plan.
	NewCard(ctx context.Context, plan, back, key string) (Handover, error)
	// Since names every payment, refund, dispute and plan that something happened to since a time, each at least once,
	// oldest first or not.
	Since(ctx context.Context, since time.Time, each func(Ref) error) error
	// Check tries all that the key must be allowed to do, in the currency of the organization. No money moves. The
	// error is what the owner must mend.
	Check(ctx context.Context, currency string) error
	// Register asks for events at an address of ours, and returns the secret that signs them.
	Register(ctx context.Context, address string) (secret string, err error)
}

// Refused is an error of a provider.
type Refused struct {
	Reason Reason
	Text   string // for the owner: a sentence, never with a key; "" for none
	Err    error  // for the log
}

// Reason is what can be done about an error.
type Reason string

const (
	Temporary Reason = "temporary" // try again with the same key
	Definite  Reason = "definite"  // another attempt, with a new key, must ask for something else
	NoKey     Reason = "key"       // the key was revoked, or may not do this: the owner must connect again
	Gone      Reason = "gone"      // there is no such object
	Forged    Reason = "forged"    // an event that did not come from the provider, or not for us, or not now
)

// Error is for the log: Text may have what a provider says of a person.
func (r *Refused) Error() string { return string(r.Reason) + ": " + cmp.Or(errText(r.Err), r.Text) }

func (r *Refused) Unwrap() error { return r.Err }

// Is lets errors.Is(err, donate.ErrForged) find a refusal by its reason.
func (r *Refused) Is(other error) bool {
	o, ok := other.(*Refused)
	return ok && o.Err == nil && o.Text == "" && o.Reason == r.Reason
}

// Refusals, for errors.Is.
var (
	ErrTemporary = &Refused{Reason: Temporary}
	ErrDefinite  = &Refused{Reason: Definite}
	ErrNoKey     = &Refused{Reason: NoKey}
	ErrGone      = &Refused{Reason: Gone}
	ErrForged    = &Refused{Reason: Forged}
)

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
