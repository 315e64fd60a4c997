package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"
)

// greeter shakes hands with the clients of a TLS port before net/http hears of them, so that what clients of HTTP/1 send
// can be looked at (see heads). Each is greeted in a goroutine of its own, so that a slow client holds up no other.
type greeter struct {
	net.Listener
	config  *tls.Config
	timeout time.Duration
	log     *slog.Logger

	greeted chan greeting
	closed  chan struct{}
	close   func()
}

// greeting is what Accept returns.
type greeting struct {
	conn net.Conn
	err  error
}

func newGreeter(l net.Listener, config *tls.Config, timeout time.Duration, log *slog.Logger) *greeter {
	g := &greeter{Listener: l, config: config, timeout: timeout, log: log, greeted: make(chan greeting), closed: make(chan struct{})}
	g.close = sync.OnceFunc(func() { close(g.closed) })
	go g.run()
	return g
}

func (g *greeter) Accept() (net.Conn, error) {
	select {
	case next := <-g.greeted:
		return next.conn, next.err
	case <-g.closed:
		return nil, net.ErrClosed
	}
}

// Close also ends connections that were not greeted yet.
func (g *greeter) Close() error {
	g.close()
	return g.Listener.Close()
}

// run accepts connections until the listener is closed. An error waits for net/http to take it, which pauses after one.
func (g *greeter) run() {
	for {
		conn, err := g.Listener.Accept()
		if err == nil {
			go g.greet(conn)
			continue
		}
		g.hand(greeting{err: err})
		if errors.Is(err, net.ErrClosed) {
			return
		}
	}
}

func (g *greeter) hand(next greeting) {
	select {
	case g.greeted <- next:
	case <-g.closed:
		if next.conn != nil {
			_ = next.conn.Close()
		}
	}
}

func (g *greeter) greet(conn net.Conn) {
	defer func() {
		if p := recover(); p != nil { // one client must not end the server, as with net/http
			g.log.Error("a TLS handshake panicked", "error", fmt.Sprint(p))
			_ = conn.Close()
		}
	}()
	secure := tls.Server(conn, g.config)
	_ = secure.SetDeadline(time.Now().Add(g.timeout))
	if err := secure.HandshakeContext(context.Background()); err != nil {
		g.log.Debug("TLS handshake failed", "client", addrOf(conn.RemoteAddr()).String(), "error", err)
		_ = conn.Close()
		return
	}
	_ = secure.SetDeadline(time.Time{})
	if secure.ConnectionState().NegotiatedProtocol == "h2" {
		g.hand(greeting{conn: secure}) // HTTP/2 takes nothing but a *tls.Conn
	} else {
		g.hand(greeting{conn: &secureConn{Conn: secure}})
	}
}
