package console

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/web"
)

// throttle slows down password guessing. It counts wrong passwords by address and user, by address, by IPv6 network and by
// user; the last limit is wide, so that a stranger cannot lock a user out cheaply. A browser that the user has signed in with
// before is counted by itself alone, so that strangers cannot lock it out at all. Each node counts by itself.
type throttle struct {
	pairs, addresses, networks, logins, browsers failureWindows

	// Passwords are compared a few at a time, and every attempt waits its turn. Known browsers do not queue behind strangers.
	strangers, known chan struct{}

	// A right password does not count, so one user could fill the queue for all. Each login has a few places in it.
	queued map[place]int

	now func() time.Time
	mu  sync.Mutex // guards all windows, and the places
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

func newThrottle(now func() time.Time) *throttle {
	windows := func(limit int32) failureWindows {
		return failureWindows{limit: limit, seed: maphash.MakeSeed(), started: now(), spans: make([]failureSpan, throttleBuckets)}
	}
	return &throttle{
		pairs: windows(10), addresses: windows(60), networks: windows(150), logins: windows(200), browsers: windows(10),
		strangers: make(chan struct{}, comparedAtOnce), known: make(chan struct{}, comparedAtOnce), now: now,
		queued: make(map[place]int),
	}
}

// attempt is who tries a password, and whose.
type attempt struct {
	login   string
	client  netip.Addr
	browser string // id of one that the user has signed in with before; "" for a stranger
}

// try compares a password when it is the attempt's turn. Only a wrong one counts in the end.
func (t *throttle) try(ctx context.Context, a attempt, compare func() (wrong bool, err error)) error {
	counters := t.counters(a)
	if err := t.count(counters, 0); err != nil { // one that would be refused anyway does not queue
		return err
	}
	own := place{a.login, a.browser != ""}
	if err := t.enter(own); err != nil {
		return err
	}
	defer t.leave(own)
	queue := t.strangers
	if a.browser != "" {
		queue = t.known
	}
	select {
	case queue <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-queue }()
	// It counts as wrong until it has turned out right: otherwise attempts at the same moment would pass the limit together.
	if err := t.count(counters, 1); err != nil {
		return err
	}
	wrong, err := compare()
	if !wrong {
		_ = t.count(counters, -1)
	}
	return err
}

// enter takes one of the places that a login has; leave gives it back.
func (t *throttle) enter(p place) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.queued[p] >= queuedAtOnce {
		return tooManyRequests(5*time.Second, "Too many attempts with this email are waiting. Try again in a few seconds.")
	}
	t.queued[p]++
	return nil
}

func (t *throttle) leave(p place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.queued[p]--; t.queued[p] == 0 {
		delete(t.queued, p)
	}
}

// count adds to all counters, or refuses where one of them is full.
func (t *throttle) count(counters []failureCounter, n int32) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	for _, c := range counters {
		if wait, full := c.full(c.bucket, now); full && n >= 0 {
			return tooManyAttempts(wait)
		}
	}
	for _, c := range counters {
		c.add(c.bucket, now, n)
	}
	return nil
}

type failureCounter struct {
	*failureWindows
	bucket int
}

// counters are where an attempt counts. One IPv6 customer has many addresses in one network.
func (t *throttle) counters(a attempt) []failureCounter {
	if a.browser != "" {
		return []failureCounter{t.browsers.counter(netip.Addr{}, a.browser)}
	}
	address := web.LimitAddr(a.client)
	all := []failureCounter{t.addresses.counter(address, ""), t.pairs.counter(address, a.login), t.logins.counter(netip.Addr{}, a.login)}
	if network, err := a.client.Prefix(48); err == nil && a.client.Is6() {
		all = append(all, t.networks.counter(network.Addr(), ""))
	}
	return all
}

// failureWindows counts in a fixed number of windows. Which callers share one cannot be known from outside, so that no one can
// fill the memory, nor choose whom to keep out.
type failureWindows struct {
	limit   int32
	seed    maphash.Seed
	started time.Time // times are measured from here by the monotonic clock: the wall clock may jump
	spans   []failureSpan
}

type failureSpan struct {
	end  time.Duration
	used int32
}

const throttleBuckets = 1 << 14

func (w *failureWindows) counter(address netip.Addr, name string) failureCounter {
	type key struct {
		address netip.Addr
		name    string
	}
	return failureCounter{w, int(maphash.Comparable(w.seed, key{address, name}) % throttleBuckets)}
}

func (w *failureWindows) full(bucket int, now time.Time) (wait time.Duration, full bool) {
	span := w.spans[bucket]
	wait = span.end - now.Sub(w.started)
	return wait, wait > 0 && span.used >= w.limit
}

// add counts in the open window. What is taken back from a window that has ended is gone with it.
func (w *failureWindows) add(bucket int, now time.Time, n int32) {
	span, at := &w.spans[bucket], now.Sub(w.started)
	if at >= span.end && n > 0 {
		*span = failureSpan{end: at + throttleWindow}
	}
	span.used = max(0, span.used+n)
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

// outcomeOf is ok where the attempt has an outcome: neither the client nor the database was gone.
func outcomeOf(err error) (outcome SignInOutcome, ok bool) {
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
