package web

import (
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"
)

const (
	limitWindow = time.Minute
	maxWindows  = 50_000
)

// Limiter allows each caller a number of requests per minute, or of something else in another time. The first one of a caller opens a
// window; a caller that has used it up waits for its end. Callers are identified by K, such as the id of a key, or an address. Each
// process counts for itself.
type Limiter[K comparable] struct {
	limit  int
	window time.Duration
	value  []string // the limit as a header value

	mu sync.Mutex
	// Once in the time of a window young becomes old, and the old windows, which have all ended, are dropped. So no code has to
	// look for windows that ended.
	young, old map[K]*window
	turned     time.Time
}

type window struct {
	end  time.Time
	used int
}

// NewLimiter allows each caller limit requests per minute; 0 is no limit.
func NewLimiter[K comparable](limit int) *Limiter[K] { return NewLimiterIn[K](limit, limitWindow) }

// NewLimiterIn is NewLimiter for another time than a minute.
func NewLimiterIn[K comparable](limit int, window time.Duration) *Limiter[K] {
	return &Limiter[K]{limit: max(limit, 0), window: window, value: []string{strconv.Itoa(limit)}}
}

// Take counts one request of a caller. It returns how many are left in the window, or how long to wait.
func (l *Limiter[K]) Take(caller K, now time.Time) (remaining int, retryAfter time.Duration, ok bool) {
	if l.limit == 0 {
		return 0, 0, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.open(caller, now)
	if w.used >= l.limit {
		return 0, l.wait(w, now), false
	}
	w.used++
	return l.limit - w.used, 0, true
}

// Full tells whether a caller has used up its window, and how long it would have to wait.
func (l *Limiter[K]) Full(caller K, now time.Time) (retryAfter time.Duration, full bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.find(caller, now)
	if w == nil || w.used < l.limit {
		return 0, false
	}
	return l.wait(w, now), true
}

// wait is how long a caller has to wait for the end of a window, which someone may have opened who asked later and came first.
func (l *Limiter[K]) wait(w *window, now time.Time) time.Duration {
	return min(w.end.Sub(now), l.window)
}

// GiveBack takes back what Take has counted. A window that has ended is gone with what was in it.
func (l *Limiter[K]) GiveBack(caller K, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.find(caller, now); w != nil {
		w.used = max(0, w.used-1)
	}
}

// open finds the caller's open window, or opens one.
func (l *Limiter[K]) open(caller K, now time.Time) *window {
	l.turn(now)
	w := l.find(caller, now)
	if w == nil && len(l.young) >= maxWindows && l.young[caller] == nil {
		// There is no room for more callers: the rest share one window.
		var rest K
		caller = rest
		w = l.find(caller, now)
	}
	if w == nil {
		w = &window{end: now.Add(l.window)}
		l.young[caller] = w
	}
	return w
}

// find is the caller's open window, nil where there is none.
func (l *Limiter[K]) find(caller K, now time.Time) *window {
	w := l.young[caller]
	if w == nil {
		w = l.old[caller]
	}
	if w == nil || !now.Before(w.end) {
		return nil
	}
	return w
}

func (l *Limiter[K]) turn(now time.Time) {
	age := now.Sub(l.turned)
	if age < l.window {
		return
	}
	l.old = l.young
	if age >= 2*l.window {
		l.old = nil
	}
	l.young = make(map[K]*window)
	l.turned = now
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

// LimitAddr is the address by which a stranger is counted. An IPv6 customer has a whole /64, so that counts as one address.
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
