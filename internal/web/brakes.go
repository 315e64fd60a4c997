package web

import (
	"net/netip"
	"time"
)

// Brakes keep thieves from trying cards on a form that anyone may send: by the sender's address, by a crowd on the page, and by the payments that were declined. Each node counts for
// itself, so that two nodes let through at most twice as much. What all nodes together let through is counted in the database, where donations begin.
type Brakes struct {
	minutes, day, unsolved, raisedUnsolved *Limiter[netip.Addr]
	things                                 *Limiter[string]
	crowds                                 *Limiter[int64]
	declines, floods, shut                 *Limiter[int64]
}

// How much is let through.
const (
	brakeTime       = 10 * time.Minute
	startsOfAddress = 5
	startsOfDay     = 20
	startsUnsolved  = 2  // of the five, without a solved puzzle
	startsOfThing   = 3  // a form that is sent again, as after a look back
	crowdOfPage     = 30 // a minute, before puzzles are harder
	fewDeclines     = 10
	manyDeclines    = 30
)

// Zero bits of puzzles: about 16 tries, and about 512.
const (
	usualPuzzle = 4
	hardPuzzle  = 9
)

// NewBrakes are brakes that have seen nothing yet.
func NewBrakes() *Brakes {
	return &Brakes{
		minutes: NewLimiterIn[netip.Addr](startsOfAddress, brakeTime), day: NewLimiterIn[netip.Addr](startsOfDay, 24*time.Hour),
		unsolved: NewLimiterIn[netip.Addr](startsUnsolved, brakeTime), raisedUnsolved: NewLimiterIn[netip.Addr](1, brakeTime),
		things:   NewLimiterIn[string](startsOfThing, puzzleTime),
		crowds:   NewLimiter[int64](crowdOfPage),
		declines: NewLimiterIn[int64](fewDeclines+1, brakeTime), floods: NewLimiterIn[int64](manyDeclines+1, brakeTime), shut: NewLimiterIn[int64](1, brakeTime),
	}
}

// Start is a form that is sent.
type Start struct {
	Client        netip.Addr
	Page, Account int64
	Thing         string               // the id of what the form begins
	Solved        func(zeros int) bool // tells whether its puzzle is; asked only where all else is well, because it takes a while
}

// Zeros is how hard the puzzles of a page are now.
func (b *Brakes) Zeros(page, account int64, now time.Time) int {
	_, declined := b.declines.Full(account, now)
	_, crowded := b.crowds.Full(page, now)
	if declined || crowded {
		return hardPuzzle
	}
	return usualPuzzle
}

// Closed tells whether so many payments of an account were declined that its forms are closed for a while.
func (b *Brakes) Closed(account int64, now time.Time) (wait time.Duration, closed bool) {
	return b.shut.Full(account, now)
}

// Declined counts a payment that was declined. It tells whether this one closes the forms of the account.
func (b *Brakes) Declined(account int64, now time.Time) (closes bool) {
	b.declines.Take(account, now)
	b.floods.Take(account, now)
	if _, many := b.floods.Full(account, now); !many {
		return false
	}
	_, _, closes = b.shut.Take(account, now)
	return closes
}

// Begin counts a form that is sent, or tells how long to wait. What one address sends is counted first, so that it cannot use up what all may send.
func (b *Brakes) Begin(s Start, now time.Time) (wait time.Duration, ok bool) {
	client := LimitAddr(s.Client)
	if _, wait, ok = b.minutes.Take(client, now); !ok {
		return wait, false
	}
	if _, wait, ok = b.day.Take(client, now); !ok {
		return wait, false
	}
	if _, wait, ok = b.things.Take(s.Thing, now); !ok {
		return wait, false
	}
	if zeros := b.Zeros(s.Page, s.Account, now); !s.Solved(zeros) {
		plain := b.unsolved
		if zeros > usualPuzzle {
			plain = b.raisedUnsolved
		}
		if _, wait, ok = plain.Take(client, now); !ok {
			return wait, false
		}
	}
	b.crowds.Take(s.Page, now)
	return 0, true
}
