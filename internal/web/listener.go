package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"
)

// listener hands net/http the connections that the limits allow. On a TLS port it does the handshake first, so that it can look at
// what clients of HTTP/1 send (see heads). Each handshake has a goroutine of its own: a slow client delays no other.
type listener struct {
	*gate
	connections *Connections
	tls         *tls.Config // nil for plain HTTP
	timeout     time.Duration
	log         *slog.Logger

	ready     chan accepted
	closed    chan struct{}
	setClosed func()
}

// accepted is what Accept returns.
type accepted struct {
	conn net.Conn
	err  error
}

func newListener(g *gate, connections *Connections, config *tls.Config, timeout time.Duration, log *slog.Logger) *listener {
	l := &listener{gate: g, connections: connections, tls: config, timeout: timeout, log: log, ready: make(chan accepted), closed: make(chan struct{})}
	l.setClosed = sync.OnceFunc(func() { close(l.closed) })
	if config != nil {
		go l.run()
	}
	return l
}

func (l *listener) Accept() (net.Conn, error) {
	if l.tls == nil {
		conn, err := l.admit()
		if err != nil {
			return nil, err
		}
		return &plainConn{stream: conn, log: l.log}, nil
	}
	select {
	case next := <-l.ready:
		return next.conn, next.err
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close also ends connections whose handshake is not done.
func (l *listener) Close() error {
	l.setClosed()
	return l.gate.Close()
}

// admit accepts the next connection that no limit refuses.
func (l *listener) admit() (*countedConn, error) {
	for {
		conn, err := l.gate.Accept()
		if err != nil {
			return nil, err
		}
		tcp, addr := conn.(*net.TCPConn), addrOf(conn.RemoteAddr())
		exceeded, ok := l.connections.enter(addr)
		if ok {
			return &countedConn{TCPConn: tcp, leave: sync.OnceFunc(func() { l.connections.leave(addr) })}, nil
		}
		l.refuse(tcp, exceeded)
	}
}

// countedConn gives its place back when it is closed.
type countedConn struct {
	*net.TCPConn
	leave func()
}

func (c *countedConn) Close() error {
	defer c.leave()
	return c.TCPConn.Close()
}

// refuse closes a connection as cheaply as it can. Over plain HTTP it says why. To say it over TLS would take a handshake,
// which is the most expensive part.
func (l *listener) refuse(conn *net.TCPConn, exceeded int) {
	c := l.connections
	c.refused[exceeded].Add(1)
	if c.tellAgain(exceeded, time.Now()) {
		l.log.Warn("too many connections are open, new ones are refused", "limit", limitNames[exceeded], "client", addrOf(conn.RemoteAddr()).String())
	}
	if l.tls == nil {
		select {
		case c.lingering <- struct{}{}:
			go func() {
				defer func() { <-c.lingering }()
				dismiss(conn, errTooMany)
			}()
			return
		default: // enough refused clients are being answered already
		}
	}
	_ = conn.Close()
}

// run accepts connections until the listener is closed. An error waits for net/http to take it, which pauses after one.
func (l *listener) run() {
	for {
		conn, err := l.admit()
		if err == nil {
			go l.greet(conn)
			continue
		}
		l.hand(nil, err)
		if errors.Is(err, net.ErrClosed) {
			return
		}
	}
}

func (l *listener) hand(conn net.Conn, err error) {
	select {
	case l.ready <- accepted{conn, err}:
	case <-l.closed:
		if conn != nil {
			_ = conn.Close()
		}
	}
}

// greet does the handshake. A client that speaks plain HTTP gets an answer that it can read, in the form of all our errors;
// net/http would send plain text.
func (l *listener) greet(conn *countedConn) {
	defer func() {
		if p := recover(); p != nil { // one client must not end the server, as with net/http
			l.log.Error("a TLS handshake panicked", "error", fmt.Sprint(p))
			_ = conn.Close()
		}
	}()
	secure := tls.Server(conn, l.tls)
	_ = secure.SetDeadline(time.Now().Add(l.timeout))
	err := secure.HandshakeContext(context.Background())
	var notTLS tls.RecordHeaderError
	switch client := addrOf(conn.RemoteAddr()).String(); {
	case errors.As(err, &notTLS) && notTLS.Conn != nil && 'A' <= notTLS.RecordHeader[0] && notTLS.RecordHeader[0] <= 'Z': // as every HTTP method begins
		dismiss(conn, unserved(l.log, conn, http.StatusBadRequest, messageHTTPSOnly, "plain HTTP on the HTTPS port"))
	case err != nil:
		l.log.Debug("TLS handshake failed", "client", client, "error", err)
		_ = conn.Close()
	default:
		_ = secure.SetDeadline(time.Time{})
		if state := secure.ConnectionState(); state.NegotiatedProtocol != "h2" {
			l.hand(&secureConn{plainConn{stream: secure, log: l.log}, state}, nil)
		} else {
			l.hand(secure, nil) // HTTP/2 accepts only a *tls.Conn
		}
	}
}

// unserved is the answer to a request that no handler sees. It is in the log like all others.
func unserved(log *slog.Logger, conn net.Conn, status int, message, cause string) *Error {
	random := newRequestID()
	id := string(random[:])
	log.Info("request", "request_id", id, "route", "none", "status", status, "client", addrOf(conn.RemoteAddr()).String(), "error", cause)
	return &Error{Status: status, Message: message, Header: http.Header{"X-Request-Id": {id}}}
}

// How long and how many bytes are read from a client after it was dismissed.
const (
	dismissTime = time.Second
	dismissRead = 1 << 20 // the longest body of an API request
)

// dismiss answers a connection that net/http never sees and closes it. It reads on for a moment first: closing while the client
// still sends would reset the connection, and the answer might be lost.
func dismiss(conn stream, e *Error) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(dismissTime))
	if _, err := conn.Write(lastAnswer(e)); err == nil && conn.CloseWrite() == nil {
		_, _ = io.CopyN(io.Discard, conn, dismissRead)
	}
}

// lastAnswer is an error as it is sent on a connection that is closed after it.
func lastAnswer(e *Error) []byte {
	body := errorBody(nil, e.Message)
	answer := http.Response{
		StatusCode: e.Status, ProtoMajor: 1, ProtoMinor: 1, Close: true, ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)),
		Header: http.Header{"Content-Type": jsonType, "Cache-Control": noStore, "X-Content-Type-Options": nosniff},
	}
	maps.Copy(answer.Header, e.Header)
	var text bytes.Buffer
	_ = answer.Write(&text) // a buffer takes everything
	return text.Bytes()
}
