package web

import (
	"container/list"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"
)

const (
	limitWindow = time.Minute
	maxWindows  = 20_000
)

// Limiter gives each caller a share of something in a time, such as requests per minute. The first one of a caller opens a
// window; a caller that has used it up waits for its end. Callers are identified by K, such as the id of a key, or an address. Each
// process counts for itself.
//
// It remembers maxWindows callers. When more come, it forgets the one that it has not seen for the longest time: that one gets a new window when it
// comes again, and no caller ever waits because of others.
type Limiter[K comparable] struct {
	limit  int
	window time.Duration
	value  []string // the limit as a header value

	mu      sync.Mutex
	windows map[K]*list.Element // of windows
	seen    list.List           // the caller that was seen last is in front
}

type window[K comparable] struct {
	caller K
	end    time.Time
	used   int
}

// share is what a caller may take in a window.
type share[K comparable] struct {
	caller K
	limit  int
}

// NewLimiter allows each caller limit requests per minute; 0 is no limit.
func NewLimiter[K comparable](limit int) *Limiter[K] { return NewLimiterIn[K](limit, limitWindow) }

// NewLimiterIn is NewLimiter for another time than a minute.
func NewLimiterIn[K comparable](limit int, window time.Duration) *Limiter[K] {
	return &Limiter[K]{
		limit: max(limit, 0), window: window, value: []string{strconv.Itoa(limit)}, windows: make(map[K]*list.Element),
	}
}

// Take counts one request of a caller. It returns how many are left in the window, or how long to wait.
func (l *Limiter[K]) Take(caller K, now time.Time) (remaining int, retryAfter time.Duration, ok bool) {
	return l.take(now, share[K]{caller, l.limit})
}

// Full tells whether a caller has used up its window, and how long it would have to wait.
func (l *Limiter[K]) Full(caller K, now time.Time) (retryAfter time.Duration, full bool) {
	return l.full(now, share[K]{caller, l.limit})
}

// GiveBack takes back what Take has counted. A window that has ended is gone with what was in it.
func (l *Limiter[K]) GiveBack(caller K, now time.Time) {
	l.giveBack(now, share[K]{caller, l.limit})
}

// take counts one request in all of the shares, or in none where one of them is used up.
func (l *Limiter[K]) take(now time.Time, shares ...share[K]) (remaining int, retryAfter time.Duration, ok bool) {
	if l.limit == 0 {
		return 0, 0, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if wait, full := l.wait(now, shares); full {
		return 0, wait, false
	}
	for i, s := range shares {
		w := l.open(s.caller, now)
		w.used++
		if left := s.limit - w.used; i == 0 || left < remaining {
			remaining = left
		}
	}
	return remaining, 0, true
}

func (l *Limiter[K]) full(now time.Time, shares ...share[K]) (retryAfter time.Duration, full bool) {
	if l.limit == 0 {
		return 0, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wait(now, shares)
}

func (l *Limiter[K]) giveBack(now time.Time, shares ...share[K]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range shares {
		if w := l.find(s.caller, now); w != nil {
			w.used = max(0, w.used-1)
		}
	}
}

// wait is how long a caller has to wait for the end of a window, which someone may have opened who asked later and came first.
func (l *Limiter[K]) wait(now time.Time, shares []share[K]) (wait time.Duration, full bool) {
	for _, s := range shares {
		if w := l.find(s.caller, now); w != nil && w.used >= s.limit {
			wait, full = max(wait, min(w.end.Sub(now), l.window)), true
		}
	}
	return wait, full
}

// open finds the caller's open window, or opens one.
func (l *Limiter[K]) open(caller K, now time.Time) *window[K] {
	if w := l.find(caller, now); w != nil {
		return w
	}
	element := l.windows[caller]
	if element == nil {
		if len(l.windows) >= maxWindows {
			oldest, _ := l.seen.Remove(l.seen.Back()).(*window[K])
			delete(l.windows, oldest.caller)
		}
		element = l.seen.PushFront(&window[K]{caller: caller})
		l.windows[caller] = element
	}
	w, _ := element.Value.(*window[K])
	w.end, w.used = now.Add(l.window), 0
	return w
}

// find is the caller's open window, nil where there is none.
func (l *Limiter[K]) find(caller K, now time.Time) *window[K] {
	element := l.windows[caller]
	if element == nil {
		return nil
	}
	l.seen.MoveToFront(element)
	if w, _ := element.Value.(*window[K]); now.Before(w.end) {
		return w
	}
	return nil
}

// SetHeaders tells the caller the limit, if there is one.
func (l *Limiter[K]) SetHeaders(w http.ResponseWriter, remaining int) {
	if l.limit == 0 {
		return
	}
	h := w.Header()
	h["X-Ratelimit-Limit"] = l.value
	h["X-Ratelimit-Remaining"] = []string{strconv.Itoa(remaining)}
}

// Networks is a Limiter of strangers by their address. Someone with IPv6 has 2^64 addresses at least and often many times as many networks of that
// size, so that a request counts in the /64, the /56 and the /48 of its address. The larger a network is, the more
// it may take: so a whole /48 is bounded, and one network in it does not use up what is there for its neighbors.
type Networks struct{ *Limiter[netip.Prefix] }

// NewNetworks allows an IPv4 address or a /64 limit requests in a time; 0 is no limit.
func NewNetworks(limit int, window time.Duration) Networks {
	return Networks{NewLimiterIn[netip.Prefix](limit, window)}
}

// networkShares says for which networks a request counts, and how many times as much as a /64 they may take. A home has a /56, an
// organization a /48, and thousands of phones of one operator share one, too.
var networkShares = [...]struct{ bits, times int }{{64, 1}, {56, 4}, {48, 16}}

// shares are those of an address. What is no address has one share, too.
func (n Networks) shares(client netip.Addr) []share[netip.Prefix] {
	client = client.Unmap().WithZone("")
	if !client.Is6() {
		prefix, _ := client.Prefix(client.BitLen())
		return []share[netip.Prefix]{{prefix, n.limit}}
	}
	all := make([]share[netip.Prefix], len(networkShares))
	for i, s := range networkShares {
		prefix, _ := client.Prefix(s.bits)
		all[i] = share[netip.Prefix]{prefix, s.times * n.limit}
	}
	return all
}

// Take is that of a Limiter, for an address.
func (n Networks) Take(client netip.Addr, now time.Time) (remaining int, retryAfter time.Duration, ok bool) {
	return n.take(now, n.shares(client)...)
}

// Full is that of a Limiter, for an address.
func (n Networks) Full(client netip.Addr, now time.Time) (retryAfter time.Duration, full bool) {
	return n.full(now, n.shares(client)...)
}

// GiveBack is that of a Limiter, for an address.
func (n Networks) GiveBack(client netip.Addr, now time.Time) { n.giveBack(now, n.shares(client)...) }

// LimitAddr is the address by which a stranger is told from others: with IPv6, that of the /64.
func LimitAddr(client netip.Addr) netip.Addr {
	if !client.Is6() {
		return client
	}
	prefix, err := client.Prefix(64)
	if err != nil {
		return client
	}
	return prefix.Addr()
}
