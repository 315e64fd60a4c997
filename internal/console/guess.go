package console

import (
	"errors"
	"hash/maphash"
	"net/netip"
	"sync"
	"time"

	"donorbook/internal/web"
)

// guesses slows down whoever tries passwords: one place for one user, one place for many users, one network, and many
// places for one user. The last limit is wide, so that nobody can lock somebody else out cheaply. Each node counts by itself.
type guesses struct {
	pairs, places, networks, logins throttle
}

const guessWindow = 15 * time.Minute

func newGuesses() *guesses {
	return &guesses{pairs: newThrottle(10), places: newThrottle(60), networks: newThrottle(150), logins: newThrottle(200)}
}

// take counts an attempt, right or wrong: to tell them apart would take the time that is to be saved.
func (g *guesses) take(login string, client netip.Addr, now time.Time) (wait time.Duration, ok bool) {
	for _, c := range g.counters(login, client) {
		if wait, ok = c.throttle.take(c.bucket, now); !ok {
			return wait, false
		}
	}
	return 0, true
}

// takeBack forgets an attempt in which nothing was tried.
func (g *guesses) takeBack(login string, client netip.Addr, now time.Time) {
	for _, c := range g.counters(login, client) {
		c.throttle.takeBack(c.bucket, now)
	}
}

type guessCounter struct {
	throttle *throttle
	bucket   int
}

// counters are the windows that an attempt counts in. Whoever has an IPv6 network has many places in it.
func (g *guesses) counters(login string, client netip.Addr) []guessCounter {
	place := web.LimitAddr(client)
	all := []guessCounter{
		{&g.places, g.places.bucket(place, "")}, {&g.pairs, g.pairs.bucket(place, login)}, {&g.logins, g.logins.bucket(netip.Addr{}, login)},
	}
	if network, err := client.Prefix(48); err == nil && client.Is6() {
		all = append(all, guessCounter{&g.networks, g.networks.bucket(network.Addr(), "")})
	}
	return all
}

// throttle counts attempts in a fixed number of windows. Who shares a window with whom nobody can know, so that nobody can
// fill the memory, nor choose whom to keep out.
type throttle struct {
	limit   int32
	seed    maphash.Seed
	mu      sync.Mutex
	windows []guessSpan
}

type guessSpan struct {
	end  int64 // seconds since 1970
	used int32
}

const guessBuckets = 1 << 14

func newThrottle(limit int32) throttle {
	return throttle{limit: limit, seed: maphash.MakeSeed(), windows: make([]guessSpan, guessBuckets)}
}

func (t *throttle) bucket(place netip.Addr, login string) int {
	type key struct {
		place netip.Addr
		login string
	}
	return int(maphash.Comparable(t.seed, key{place, login}) % guessBuckets)
}

func (t *throttle) take(bucket int, now time.Time) (wait time.Duration, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := &t.windows[bucket]
	if now.Unix() >= w.end {
		*w = guessSpan{end: now.Add(guessWindow).Unix()}
	}
	if w.used >= t.limit {
		return time.Unix(w.end, 0).Sub(now), false
	}
	w.used++
	return 0, true
}

func (t *throttle) takeBack(bucket int, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w := &t.windows[bucket]; now.Unix() < w.end && w.used > 0 {
		w.used--
	}
}

func tooManyGuesses(wait time.Duration) error {
	err := web.TooManyRequests(wait)
	var own *web.Error
	if errors.As(err, &own) {
		own.Message = "There were too many attempts. Wait a quarter of an hour, then try again."
	}
	return err
}
