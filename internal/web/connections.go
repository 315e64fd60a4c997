package web

import (
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Connections limits how many connections are open at once: in all, and from one address. A connection costs memory and a file
// descriptor before we know anything about its client, so without a limit one client could use up both.
type Connections struct {
	all, perAddress int // 0 is no limit
	proxies         *Proxies
	refused         []*atomic.Uint64 // by limit: in all, from one address

	mu   sync.Mutex
	open int
	from map[netip.Addr]int
	told [2]time.Time // when the log last mentioned each limit

	lingering chan struct{} // one element for each connection that is being told why it is refused
}

// keptFiles is how many file descriptors are kept for the database, certificates and listeners. SQLite takes about 20, and so do the
// connections to PostgreSQL.
const keptFiles = 64

// maxLingering is how many connections are told at once why they are refused. They use some of the kept descriptors.
const maxLingering = 8

// The limits that a connection can exceed, as metrics and the log call them.
const (
	limitAll = iota
	limitAddress
)

var limitNames = []string{"all", "address"}

// NewConnections limits connections in all and from one address; 0 is no limit. Connections of trusted proxies carry the
// requests of many clients, so they count in all but not by their address. There are never more connections than file
// descriptors; some of those are kept for the server itself.
func NewConnections(all, perAddress int, proxies *Proxies, metrics *Metrics) *Connections {
	if files := fileLimit(); files > 0 {
		most := files - min(keptFiles, files/2)
		if all == 0 || all > most {
			all = most
		}
	}
	c := &Connections{all: all, perAddress: perAddress, proxies: proxies, from: make(map[netip.Addr]int), lingering: make(chan struct{}, maxLingering)}
	c.refused = metrics.Counters("donorbook_connections_refused_total", "Connections closed because too many were open, by the limit that they exceeded.", "limit", limitNames...)
	return c
}

// Max is how many connections may be open in all; 0 is no limit.
func (c *Connections) Max() int { return c.all }

// enter counts a connection, or says which limit it exceeds.
func (c *Connections) enter(addr netip.Addr) (exceeded int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all > 0 && c.open >= c.all {
		return limitAll, false
	}
	if c.perAddress > 0 && !c.proxies.trusts(addr) {
		place := LimitAddr(addr)
		if c.from[place] >= c.perAddress {
			return limitAddress, false
		}
		c.from[place]++
	}
	c.open++
	return 0, true
}

func (c *Connections) leave(addr netip.Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	if c.perAddress == 0 || c.proxies.trusts(addr) {
		return
	}
	place := LimitAddr(addr)
	if c.from[place]--; c.from[place] <= 0 {
		delete(c.from, place)
	}
}

// tellAgain reports whether the log has not mentioned a limit for a minute.
func (c *Connections) tellAgain(exceeded int, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.told[exceeded]) < time.Minute {
		return false
	}
	c.told[exceeded] = now
	return true
}

// errTooMany answers a connection, or a request of HTTP/2, that exceeds a limit.
var errTooMany = &Error{
	Status: http.StatusServiceUnavailable, Message: "Too many connections are open. Please try again in a moment.", Header: http.Header{"Retry-After": {"5"}},
}
