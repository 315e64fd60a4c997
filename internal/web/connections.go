package web

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"donorbook/internal/guard"
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

// limitedListener hands net/http the connections that the limits allow.
type limitedListener struct {
	net.Listener
	connections *Connections
	answers     bool // tells why a connection is refused; over TLS that would take a handshake, which is the most expensive part
	log         *slog.Logger
	within      time.Duration // what closing the port may take

	draining atomic.Bool
	last     chan string // the address of the last connection that is accepted as usual
	rest     []net.Conn  // that waited when the port was closed
}

func newLimitedListener(l net.Listener, connections *Connections, answers bool, log *slog.Logger) *limitedListener {
	return &limitedListener{
		Listener: l, connections: connections, answers: answers, log: log,
		within: drainTime, last: make(chan string, 1),
	}
}

// drainTime is how long closing a port takes at most.
const drainTime = time.Second

// drain closes the port when the connections that are waiting there have been accepted: closing resets them, and a proxy in front does not repeat a change that it has sent. The last one
// that is accepted as usual is made here, and comes after those that are waiting now.
func (l *limitedListener) drain() {
	defer l.Close()
	l.draining.Store(true)
	conn, err := net.DialTimeout("tcp", l.Addr().String(), l.within/5)
	if err != nil {
		l.last <- ""
		return
	}
	defer conn.Close()
	l.last <- conn.LocalAddr().String()
	_ = conn.SetReadDeadline(time.Now().Add(l.within))
	_, _ = conn.Read(make([]byte, 1)) // until it is closed
}

// isLast tells whether a connection is the one that drain has made.
func (l *limitedListener) isLast(conn net.Conn) bool {
	if !l.draining.Load() {
		return false
	}
	last := <-l.last
	l.last <- last
	return last == conn.RemoteAddr().String()
}

// closePort closes the port while no client waits there: its queue has room for one connection, and that one is made here. The system of a client that connects meanwhile gets no answer,
// tries again, and finds the port closed.
func (l *limitedListener) closePort() {
	defer l.Close()
	for range 5 {
		l.rest = append(l.rest, acceptWaiting(l.Listener)...)
		if conn, err := net.DialTimeout("tcp", l.Addr().String(), l.within/20); err == nil {
			defer conn.Close()
			return
		}
	}
}

// next is the next connection.
func (l *limitedListener) next() (conn net.Conn, err error) {
	if len(l.rest) == 0 {
		return l.Listener.Accept()
	}
	conn, l.rest = l.rest[0], l.rest[1:]
	return conn, nil
}

func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.next()
		if err != nil {
			return nil, err
		}
		if l.isLast(conn) {
			l.closePort()
			_ = conn.Close()
			continue
		}
		addr := addrOf(conn.RemoteAddr())
		exceeded, ok := l.connections.enter(addr)
		if ok {
			return &countedConn{Conn: conn, leave: sync.OnceFunc(func() { l.connections.leave(addr) })}, nil
		}
		l.refuse(conn, exceeded)
	}
}

// countedConn gives its place back when it is closed.
type countedConn struct {
	net.Conn
	leave func()
}

func (c *countedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// CloseWrite lets net/http end an answer before the client has sent everything.
func (c *countedConn) CloseWrite() error { return c.Conn.(closeWriter).CloseWrite() }

// closeWriter is a connection whose client may go on sending after the last answer.
type closeWriter interface{ CloseWrite() error }

// refuse closes a connection as cheaply as it can.
func (l *limitedListener) refuse(conn net.Conn, exceeded int) {
	c := l.connections
	c.refused[exceeded].Add(1)
	if c.tellAgain(exceeded, time.Now()) {
		l.log.Warn("too many connections are open, new ones are refused", "limit", limitNames[exceeded], "client", addrOf(conn.RemoteAddr()).String())
	}
	if l.answers {
		select {
		case c.lingering <- struct{}{}:
			go func() {
				defer func() { <-c.lingering }()
				if err := guard.Do(func() error { dismiss(conn); return nil }); err != nil {
					l.log.Error("a connection could not be refused", "error", err)
				}
			}()
			return
		default: // enough refused clients are being answered already
		}
	}
	_ = conn.Close()
}

// dismiss tells a client that there are too many connections. It reads on for a moment first: closing while the client still sends
// would reset the connection, and the answer might be lost.
func dismiss(conn net.Conn) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	body := errorBody(nil, errTooMany.Message)
	_, err := fmt.Fprintf(conn, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"+
		"Retry-After: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", errTooMany.Header.Get("Retry-After"), len(body), body)
	if err == nil && conn.(closeWriter).CloseWrite() == nil {
		_, _ = io.CopyN(io.Discard, conn, MaxBody)
	}
}
