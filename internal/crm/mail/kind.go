package mail

import (
	"slices"
	"time"
)

// Kind is what a mail is for.
type Kind string

const (
	Test       Kind = "test"
	Invitation Kind = "invitation"
	Reset      Kind = "reset"     // of a password that was forgotten
	Password   Kind = "password"  // it was changed
	SignIn     Kind = "signin"    // from a new browser
	Thanks     Kind = "thanks"    // for a gift
	Statement  Kind = "statement" // of what someone gave in a year
	Arrived    Kind = "arrived"   // a gift on a page, for the staff
	Declined   Kind = "declined"  // the card of a monthly gift, for the giver
	Manage     Kind = "manage"    // a link to a monthly gift
	Ended      Kind = "ended"     // a monthly gift, for the giver
	Refunded   Kind = "refunded"  // a gift, or a part of it, for the giver
	Promised   Kind = "promised"  // a check or a transfer: how to send it, for who promised it to confirm
	Confirm    Kind = "confirm"   // a link to the form of a gift, for the giver
	Trouble    Kind = "trouble"   // the payment provider refuses the key, for the staff
)

// State is how far a mail is.
type State int

const (
	Waiting State = iota // it has not been tried yet
	Delayed              // it will be tried again
	Sent                 // the relay has taken it
	Failed               // nobody will try again
)

// Mail is one mail of the outbox, as a person sees it. What it said is not kept once it has left.
type Mail struct {
	ID        int64
	Kind      Kind
	About     string // what it was for, such as an invitation
	To        string
	Error     string // why it did not leave, at the last try
	Tries     int64
	CreatedAt time.Time
	DueAt     time.Time // when it is tried next; zero where it will not be
	EndedAt   time.Time
}

// GoesToDonor tells whether the mail goes to someone who gave, or promised to.
func (m Mail) GoesToDonor() bool {
	return slices.Contains([]Kind{Thanks, Statement, Declined, Manage, Ended, Refunded, Promised, Confirm}, m.Kind)
}

// State is how far the mail is.
func (m Mail) State() State {
	switch {
	case m.DueAt.IsZero() && m.Error == "":
		return Sent
	case m.DueAt.IsZero():
		return Failed
	case m.Error != "":
		return Delayed
	}
	return Waiting
}

const (
	// Kept is for how long a mail is known after it has left or failed.
	Kept = 30 * 24 * time.Hour

	// Lease is for how long a node has a mail to itself while it sends it, and SendTime for how long it tries: nodes
	// whose clocks differ by less than the rest do not send one mail at once.
	Lease    = 10 * time.Minute
	SendTime = 2 * time.Minute

	giveUp = 48 * time.Hour
)

// Again is how long to wait after a number of tries, and false where it was tried for long enough.
func Again(tries int64, createdAt, now time.Time) (time.Duration, bool) {
	wait := min(time.Minute<<min(tries-1, 10), 4*time.Hour)
	return wait, !Outdated(createdAt, now.Add(wait))
}

// Outdated tells whether a mail is too old to be sent: so it is after a long outage, and in a backup that was restored.
func Outdated(createdAt, now time.Time) bool { return now.Sub(createdAt) > giveUp }
