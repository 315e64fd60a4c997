package donate

import (
	"time"

	"donorbook/internal/crm/giving"
)

// Snapshot is what is true at a provider: about a session, and the payment and the plan that belong to it. Amounts are
// in the smallest unit of their currency, as everywhere in the books.
type Snapshot struct {
	Provider string    // stripe
	At       time.Time // when the provider was asked: a plan follows its newest snapshot
	Live     bool
	Donation string // what the provider has kept of our order, "" for a payment that did not come from here
	Account  string
	Session  Session
	Payment  *Payment // nil while nothing was paid or tried
	Plan     *Plan    // nil for a gift that does not come again
}

// Session is the provider's page of one order.
type Session struct {
	ID      string // "" where the snapshot was not taken of a session
	State   State  // Open, Expired, or what became of its payment
	URL     string // while it is open
	Expires time.Time
	Plan    string // of a session for another card: the plan that it is for
	Card    string // and the card, once it was entered
}

// Payment is one payment, once or as a part of a plan.
type Payment struct {
	ID         string
	State      State // Open, Processing, Paid or Failed
	Amount     int64
	Currency   string
	Fee        int64  // what the provider kept, in the currency of the payment
	FeeKnown   bool   // it becomes known after the payment
	Method     string // one of giving.Methods
	MethodName string // as people call it: Visa ending in 4242 (Apple Pay)
	Name       string // of the giver, as they told the provider
	Email      string
	At         time.Time // when it was paid, or begun
	Invoice    string    // of a plan
	Fault      string    // why it failed
	Refunds    []Refund
	Disputes   []Dispute
}

// Refund is money that went back to the giver.
type Refund struct {
	ID       string
	Amount   int64
	State    State // Processing, Paid, or Failed, which is that the money is back again
	At       time.Time
	FailedAt time.Time
}

// Dispute is a payment that the giver's bank takes back.
type Dispute struct {
	ID        string
	Amount    int64
	State     DisputeState
	Withdrawn bool  // the money was taken
	Fee       int64 // what the provider charges for that
	At        time.Time
	Returned  bool  // the money came back
	FeeBack   int64 // the part of the fee that came back with it
	BackAt    time.Time
}

// DisputeState is how a dispute stands.
type DisputeState string

const (
	UnderWay DisputeState = "under_way"
	Won      DisputeState = "won"
	Lost     DisputeState = "lost"
)

// Plan is a gift that comes again, as the provider has it.
type Plan struct {
	ID         string
	Status     giving.PlanStatus // "" while its first payment is not made
	Amount     int64
	Covered    int64
	Currency   string
	Frequency  string // one of giving.Frequencies
	Method     string // one of giving.Methods, "" for unknown
	StartAt    time.Time
	Next       time.Time // zero where nothing is due
	CanceledAt time.Time
}
