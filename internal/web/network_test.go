package web

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"donorbook/internal/rig/assert"
	"donorbook/internal/web/certs"
)

// network is one in memory. In a bubble its clock goes on only when everybody waits, so that no test depends on how
// fast the machine is. A port has the name under which a server listens.
type network map[string]*port

// bubble runs a test with a network and a clock of its own.
func bubble(t *testing.T, test func(t *testing.T, n network)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, network{}) })
}

type port struct {
	name    string
	waiting chan net.Conn
	closed  chan struct{}
	close   func()
}

func (n network) listen(_, name string) (net.Listener, error) {
	p := &port{name: name, waiting: make(chan net.Conn), closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	n[name] = p
	return p, nil
}

func (p *port) Accept() (net.Conn, error) {
	select {
	case conn := <-p.waiting:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *port) Close() error {
	p.close()
	return nil
}

func (p *port) Addr() net.Addr  { return p }
func (p *port) Network() string { return "memory" }
func (p *port) String() string  { return p.name }

// serverEnd is a connection as a server has it.
type serverEnd struct {
	net.Conn
	from net.Addr
}

func (e serverEnd) RemoteAddr() net.Addr { return e.from }
func (e serverEnd) CloseWrite() error    { return e.Close() }

// dial connects to the main port from an address; nil if the port is closed.
func (n network) dial(t *testing.T, from string) net.Conn {
	t.Helper()
	conn, err := n["main"].connect(from)
	if err != nil {
		return nil
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func (p *port) connect(from string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case <-p.closed:
		return nil, net.ErrClosed
	case p.waiting <- serverEnd{there, &net.TCPAddr{IP: net.ParseIP(from), Port: 999}}:
		return here, nil
	}
}

// client is one on this machine. What is no port by its name is the main one.
func (n network) client(t *testing.T, config *tls.Config) *http.Client {
	t.Helper()
	transport := &http.Transport{
		TLSClientConfig: config, ForceAttemptHTTP2: true, MaxConnsPerHost: 1, DisableCompression: true,
		DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
			host, _, _ := net.SplitHostPort(address)
			if p := n[host]; p != nil {
				return p.connect("127.0.0.1")
			}
			return n["main"].connect("127.0.0.1")
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// anyCertificate is for clients that look at other things.
func anyCertificate() *tls.Config { return &tls.Config{InsecureSkipVerify: true} } //nolint:gosec // see above

// running is a server under test.
type running struct {
	Addresses
	stop func()
	done chan error
}

// start lets a server run until the test ends: in a network, or on ports of this machine if it is nil.
func (n network) start(t *testing.T, s *Server) *running {
	t.Helper()
	s.Listen = "main"
	if n == nil {
		s.Listen = "127.0.0.1:0"
	} else {
		s.listen = n.listen
	}
	if s.Log == nil {
		s.Log = discard()
	}
	if s.TLS.Mode == "" {
		s.TLS.Mode = certs.Off
	}
	if s.TLS.Dir == "" {
		s.TLS.Dir = t.TempDir()
	}
	ctx, cancel := context.WithCancel(context.Background())
	up := make(chan Addresses, 1)
	s.Listening = func(a Addresses) { up <- a }
	r := &running{stop: cancel, done: make(chan error, 1)}
	go func() { r.done <- s.Run(ctx) }()
	select {
	case r.Addresses = <-up:
	case err := <-r.done:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		<-r.done
	})
	return r
}

// serve starts a server with a handler and nothing else.
func (n network) serve(t *testing.T, handle HandlerFunc) *running {
	t.Helper()
	return n.start(t, &Server{Handler: quietPlumbing().Wrap(handle)})
}

// ended is how Run returned; it may be called more than once.
func (r *running) ended() error {
	err := <-r.done
	r.done <- err
	return err
}

// sent sends a text and returns what comes back until the connection ends, or until nothing more comes for a minute.
func sent(t *testing.T, conn net.Conn, text string) string {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		return ""
	}
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	answer, _ := io.ReadAll(conn)
	return string(answer)
}

// served requests a page and keeps the connection. The answer is "" if the connection was closed without an answer.
func served(conn net.Conn) string {
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		return ""
	}
	answer := make([]byte, 4096)
	n, _ := conn.Read(answer)
	return string(answer[:n])
}

func wantServed(t *testing.T, what string, conn net.Conn, want bool) {
	t.Helper()
	equal(t, strings.HasPrefix(served(conn), "HTTP/1.1 200 "), want, "%s", what)
}

func get(t *testing.T, client *http.Client, url string) (*http.Response, string) {
	t.Helper()
	return read(t)(client.Get(url))
}

func read(t *testing.T) func(*http.Response, error) (*http.Response, string) {
	t.Helper()
	return func(response *http.Response, err error) (*http.Response, string) {
		t.Helper()
		succeed(t, err)
		defer response.Body.Close()
		return response, string(must(io.ReadAll(response.Body))(t))
	}
}

// newCertificate puts a certificate for a name into two files, as a renewal would.
func newCertificate(t *testing.T, dir, name string) (cert, key string) {
	t.Helper()
	made := t.TempDir()
	must((certs.Settings{Mode: certs.Auto, Dir: made, Names: []string{name}}).Open("localhost:0", discard()))(t)
	for _, file := range []string{"cert.pem", "key.pem"} {
		text := must(os.ReadFile(filepath.Join(made, "tls", file)))(t)
		succeed(t, os.WriteFile(filepath.Join(dir, file), text, 0o600))
	}
	return filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
}

func must[T any](v T, err error) func(assert.Failer) T { return assert.Must(v, err) }

func succeed(t assert.Failer, err error) {
	t.Helper()
	assert.Succeed(t, err)
}

func equal[T any](t assert.Failer, got, want T, what ...any) {
	t.Helper()
	assert.Equal(t, got, want, what...)
}

func contains(t assert.Failer, text, part string, what ...any) {
	t.Helper()
	assert.Contains(t, text, part, what...)
}
