package page

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/web"
)

// Throttle slows down password guessing. It counts wrong passwords by address and user, by address and IPv6 network, and by
// user; the last limit is wide, so that a stranger cannot lock a user out cheaply. A browser that the user has signed in with
// before has a limit of its own, so that strangers cannot lock it out; with any other, a link by email leads past it. Each node counts for itself. Only passwords that were
// compared are counted, so that cheap requests cannot fill the windows.
type Throttle struct {
	pairs, logins, browsers *web.Limiter[guesser]
	addresses               web.Networks

	// Passwords are compared a few at a time, and every attempt waits its turn. Known browsers do not queue behind strangers.
	strangers, known chan struct{}

	// A right password does not count, so one user could fill the queue for all. Each login has a few places in it.
	queued map[place]int

	now func() time.Time
	mu  sync.Mutex // one attempt at a time is counted, or takes a place
}

// place is where attempts for one login queue.
type place struct {
	login string
	known bool
}

const (
	throttleWindow = 15 * time.Minute
	comparedAtOnce = 2
	queuedAtOnce   = 4 // for one login, with those that are being compared
)

func newThrottle(now func() time.Time) *Throttle {
	limit := func(n int) *web.Limiter[guesser] { return web.NewLimiterIn[guesser](n, throttleWindow) }
	return &Throttle{
		pairs: limit(10), addresses: web.NewNetworks(60, throttleWindow), logins: limit(200), browsers: limit(10),
		strangers: make(chan struct{}, comparedAtOnce), known: make(chan struct{}, comparedAtOnce), now: now,
		queued: make(map[place]int),
	}
}

// Attempt is who tries a password, and whose.
type Attempt struct {
	Login   string
	Client  netip.Addr
	Browser string // id of one that the user has signed in with before; "" for a stranger
}

// Try compares a password when it is the attempt's turn. Only a wrong one counts in the end.
func (t *Throttle) Try(ctx context.Context, a Attempt, compare func() (wrong bool, err error)) error {
	counters := t.counters(a)
	if err := t.refusal(counters); err != nil { // one that would be refused anyway does not queue
		return err
	}
	own := place{a.Login, a.Browser != ""}
	if err := t.enter(own); err != nil {
		return err
	}
	defer t.leave(own)
	queue := t.strangers
	if a.Browser != "" {
		queue = t.known
	}
	select {
	case queue <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-queue }()
	// It counts as wrong until it has turned out right: otherwise attempts at the same moment would pass the limit together.
	if err := t.count(counters); err != nil {
		return err
	}
	wrong, err := compare()
	for _, c := range counters {
		if !wrong {
			c.giveBack(t.now())
		}
	}
	return err
}

// enter takes one of the places that a login has; leave gives it back.
func (t *Throttle) enter(p place) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.queued[p] >= queuedAtOnce {
		return tooManyRequests(5*time.Second, "Too many sign-in attempts with this email right now. Try again in a few seconds.")
	}
	t.queued[p]++
	return nil
}

func (t *Throttle) leave(p place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.queued[p]--; t.queued[p] == 0 {
		delete(t.queued, p)
	}
}

// count adds to all counters, or refuses where one of them is full.
func (t *Throttle) count(counters []counter) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.refusal(counters); err != nil {
		return err
	}
	for _, c := range counters {
		if _, wait, ok := c.take(t.now()); !ok {
			return tooManyAttempts(wait)
		}
	}
	return nil
}

// refusal is what an attempt is told where one of its counters is full.
func (t *Throttle) refusal(counters []counter) error {
	for _, c := range counters {
		if wait, full := c.full(t.now()); full {
			return tooManyAttempts(wait)
		}
	}
	return nil
}

// counter is one of the places where an attempt counts.
type counter interface {
	take(now time.Time) (remaining int, wait time.Duration, ok bool)
	full(now time.Time) (wait time.Duration, full bool)
	giveBack(now time.Time)
}

// limiter counts callers: guessers, or their addresses.
type limiter[C any] interface {
	Take(caller C, now time.Time) (remaining int, wait time.Duration, ok bool)
	Full(caller C, now time.Time) (wait time.Duration, full bool)
	GiveBack(caller C, now time.Time)
}

// callerAt is a caller at a limiter.
type callerAt[C any] struct {
	by     limiter[C]
	caller C
}

func (c callerAt[C]) take(now time.Time) (int, time.Duration, bool) { return c.by.Take(c.caller, now) }
func (c callerAt[C]) full(now time.Time) (time.Duration, bool)      { return c.by.Full(c.caller, now) }
func (c callerAt[C]) giveBack(now time.Time)                        { c.by.GiveBack(c.caller, now) }

// guesser is who is counted: a user or a browser, or an address that tries a user.
type guesser struct {
	address netip.Addr
	name    string
}

// counters are where an attempt counts.
func (t *Throttle) counters(a Attempt) []counter {
	if a.Browser != "" {
		return []counter{callerAt[guesser]{t.browsers, guesser{name: a.Browser}}}
	}
	return []counter{
		callerAt[netip.Addr]{t.addresses, a.Client},
		callerAt[guesser]{t.pairs, guesser{web.LimitAddr(a.Client), a.Login}},
		callerAt[guesser]{t.logins, guesser{name: a.Login}},
	}
}

func tooManyAttempts(wait time.Duration) error {
	unit, minutes := "minutes", (wait+time.Minute-1)/time.Minute // rounded up: no one comes too early
	if minutes == 1 {
		unit = "minute"
	}
	return tooManyRequests(wait, fmt.Sprintf("Too many attempts. Try again in %d %s.", minutes, unit))
}

// SignInOutcome is what became of an attempt to sign in.
type SignInOutcome int

const (
	SignedIn SignInOutcome = iota
	WrongPassword
	Throttled
)

// OutcomeOf is ok where the attempt has an outcome: neither the client nor the database was gone.
func OutcomeOf(err error) (outcome SignInOutcome, ok bool) {
	var own *web.Error
	switch {
	case err == nil:
		return SignedIn, true
	case errors.Is(err, crm.ErrUnauthenticated):
		return WrongPassword, true
	case errors.As(err, &own) && own.Status == http.StatusTooManyRequests:
		return Throttled, true
	}
	return 0, false
}
