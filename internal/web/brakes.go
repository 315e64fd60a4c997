package web

import (
	"net/netip"
	"time"
)

// Brakes keep thieves from trying cards on a form that anyone may send, and close it for nobody. They ask for one of two proofs, which cost who sends
// many forms more than who sends one: a solved puzzle, or a link that was sent to the email address in the form. What strangers send without a proof
// makes proofs necessary, and takes away nothing from who has one. Each node counts for itself; what all nodes
// together begin is counted in the database, where donations begin.
type Brakes struct {
	minutes, day  Networks // forms with a solved puzzle
	unsolved      Networks // forms without one, while nothing is the matter
	links         Networks // links that were asked for
	recipients    *Limiter[string]
	organizations *Limiter[int64] // links that are sent for one without a solved puzzle
	things        *Limiter[string]
	crowds        *Limiter[int64]
	declines      *Limiter[int64]
	floods        *Limiter[int64]
}

// How much is let through.
const (
	brakeTime           = 10 * time.Minute
	startsOfAddress     = 5
	startsOfDay         = 20
	startsUnsolved      = 2
	startsOfThing       = 3  // a form that is sent again, as after a look back
	crowdOfPage         = 30 // a minute, before a solved puzzle is asked of everybody
	fewDeclines         = 10
	manyDeclines        = 30
	linksOfAddress      = 5
	linksToRecipient    = 3
	linksOfOrganization = 500
)

// Zero bits of puzzles: about 16 tries, and about 512, and about 1,024.
const (
	usualPuzzle   = 4
	hardPuzzle    = 9
	hardestPuzzle = 10
)

// NewBrakes are brakes that have seen nothing yet.
func NewBrakes() *Brakes {
	return &Brakes{
		minutes: NewNetworks(startsOfAddress, brakeTime), day: NewNetworks(startsOfDay, 24*time.Hour),
		unsolved: NewNetworks(startsUnsolved, brakeTime), links: NewNetworks(linksOfAddress, brakeTime),
		recipients: NewLimiterIn[string](linksToRecipient, brakeTime), organizations: NewLimiterIn[int64](linksOfOrganization, brakeTime),
		things: NewLimiterIn[string](startsOfThing, puzzleTime), crowds: NewLimiter[int64](crowdOfPage),
		declines: NewLimiterIn[int64](fewDeclines+1, brakeTime), floods: NewLimiterIn[int64](manyDeclines+1, brakeTime),
	}
}

// Start is a form that is sent.
type Start struct {
	Client        netip.Addr
	Page, Account int64
	Thing         string               // the id of what the form begins
	Recipient     string               // the email address in it, to which a link may go; "" where no email can be sent
	Card          bool                 // it leads to a form for cards
	Linked        bool                 // it was opened with a link that was sent to that address
	Tried         bool                 // it comes with a solution
	Solved        func(zeros int) bool // tells whether that solves its puzzle; asked only where it matters, because it takes a while
}

// Ask is what is asked of who sends a form.
type Ask int

const (
	AskNothing Ask = iota // it begins
	AskPuzzle             // to solve a harder puzzle than the one it came with
	AskLink               // to open a link that is sent by email now
	AskWait               // to come back later
)

// Zeros is how hard the puzzles of a page are now.
func (b *Brakes) Zeros(page, account int64, now time.Time) int {
	_, flooded := b.floods.Full(account, now)
	_, declined := b.declines.Full(account, now)
	_, crowded := b.crowds.Full(page, now)
	switch {
	case flooded:
		return hardestPuzzle
	case declined, crowded:
		return hardPuzzle
	}
	return usualPuzzle
}

// Declined counts a payment that was declined. It tells whether this is the first of so many that the account's forms for cards ask for a link from now on.
func (b *Brakes) Declined(account int64, now time.Time) (many bool) {
	_, before := b.floods.Full(account, now)
	b.declines.Take(account, now)
	b.floods.Take(account, now)
	_, many = b.floods.Full(account, now)
	return many && !before
}

// Crowd notes that so many forms of a page begin, here or on other nodes, that a solved puzzle is asked of everybody.
func (b *Brakes) Crowd(page int64, now time.Time) {
	for range crowdOfPage {
		b.crowds.Take(page, now)
	}
}

// Begin counts a form that is sent, and says what is asked of its sender, or how long to wait. proven tells that it came with a proof that is
// as hard as it can be now.
func (b *Brakes) Begin(s Start, now time.Time) (ask Ask, proven bool, wait time.Duration) {
	if wait, full := b.things.Full(s.Thing, now); full {
		return AskWait, false, wait
	}
	zeros := b.Zeros(s.Page, s.Account, now)
	ask, proven = b.weigh(s, zeros, now)
	switch ask {
	case AskPuzzle:
		return ask, false, 0
	case AskLink:
		if wait, ok := b.takeLink(s, now); !ok {
			return AskWait, false, wait
		}
	default:
		b.things.Take(s.Thing, now)
		b.crowds.Take(s.Page, now)
	}
	return ask, proven, 0
}

// weigh decides by the proof that a form comes with. A link is asked for where there is none, where the cards of many are declined, and where the network of the sender
// has used up its share: others may share the network.
func (b *Brakes) weigh(s Start, zeros int, now time.Time) (ask Ask, proven bool) {
	_, flooded := b.floods.Full(s.Account, now)
	switch {
	case s.Linked:
		return AskNothing, true
	case s.Tried && !s.Solved(zeros):
		return AskPuzzle, false
	case !s.Tried && zeros == usualPuzzle:
		if _, _, ok := b.unsolved.Take(s.Client, now); ok {
			return AskNothing, false
		}
		return AskLink, false
	case !s.Tried, flooded && s.Card && s.Recipient != "":
		return AskLink, false
	}
	if _, full := b.day.Full(s.Client, now); full {
		return AskLink, false
	}
	if _, _, ok := b.minutes.Take(s.Client, now); !ok {
		return AskLink, false
	}
	b.day.Take(s.Client, now)
	return AskNothing, zeros > usualPuzzle
}

// takeLink counts a link. Where the recipient has some already, none is sent, and each of them leads on: the sender is told the same.
// What an organization has for those without a solved puzzle is theirs alone: strangers may use it up.
func (b *Brakes) takeLink(s Start, now time.Time) (wait time.Duration, ok bool) {
	if s.Recipient == "" {
		return brakeTime, false
	}
	if _, wait, ok = b.links.Take(s.Client, now); !ok {
		return wait, false
	}
	if s.Tried { // and solved, or a harder puzzle would be asked for
		return 0, true
	}
	_, wait, ok = b.organizations.Take(s.Account, now)
	return wait, ok
}

// MaySend tells whether one more link may go to a recipient, who has others otherwise.
func (b *Brakes) MaySend(recipient string, now time.Time) bool {
	_, _, ok := b.recipients.Take(recipient, now)
	return ok
}
