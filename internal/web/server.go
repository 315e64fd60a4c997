package web

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"time"

	"donorbook/internal/guard"
	"donorbook/internal/web/certs"
)

// Server runs the main listener and, if wanted, one for metrics and one for ACME's HTTP-01 challenges.
type Server struct {
	Listen  string // host:port; port 0 takes any free one
	Handler http.Handler
	TLS     certs.Settings
	Health  *Health
	Log     *slog.Logger

	MetricsListen  string // "" for none
	MetricsHandler http.Handler
	Metrics        *Metrics // gets when the certificates end; may be nil

	Timeouts    Timeouts
	Connections *Connections // nil for as many as there are file descriptors

	// Listening is called once all listeners are open, with the addresses they really have.
	Listening func(Addresses)

	listen func(network, address string) (net.Listener, error) // nil is net.Listen
}

// Addresses is where a server listens; "" where it does not.
type Addresses struct {
	Main, Metrics, ACME string
}

// Timeouts bound what one client can hold. A zero field takes the value beside it.
type Timeouts struct {
	ReadHeader time.Duration // 10 s
	Read       time.Duration // 30 s
	Write      time.Duration // 60 s
	Idle       time.Duration // 120 s
	Stop       time.Duration // 25 s for requests in flight to end
	StopDelay  time.Duration // 0: how long /readyz says no before the listeners close, for load balancers to notice
}

// maxHeaderBytes is the most that net/http reads. Headers that are only a little too large (headerLimit) are read before they are refused, so that the
// connection stays open. The limit is low because every connection may send as much.
const (
	maxHeaderBytes = 128 << 10
	headerLimit    = 64 << 10
)

const messageLargeHeaders = "The request headers must not be larger than 64 KiB."

// headerSize is about as many bytes as the headers took on the wire.
func headerSize(h http.Header) (size int) {
	for name, values := range h {
		for _, value := range values {
			size += len(name) + len(value) + 4
		}
	}
	return size
}

func (t Timeouts) withDefaults() Timeouts {
	t.ReadHeader = cmp.Or(t.ReadHeader, 10*time.Second)
	t.Read = cmp.Or(t.Read, 30*time.Second)
	t.Write = cmp.Or(t.Write, 60*time.Second)
	t.Idle = cmp.Or(t.Idle, 120*time.Second)
	t.Stop = cmp.Or(t.Stop, 25*time.Second)
	return t
}

// endpoint is one listener and the handler behind it.
type endpoint struct {
	flag, address string
	http          *http.Server
	connections   *Connections
	listener      *limitedListener
}

func (s *Server) openEndpoint(d *endpoint) error {
	tcp, err := s.listen("tcp", d.address)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) && op.Err != nil {
			err = op.Err // the rest only repeats the address
		}
		return fmt.Errorf("%s: cannot listen on %q: %w", d.flag, d.address, err)
	}
	d.listener = newLimitedListener(tcp, d.connections, d.http.TLSConfig == nil, s.Log)
	return nil
}

func (d *endpoint) serve() error {
	if d.http.TLSConfig == nil {
		return d.http.Serve(d.listener)
	}
	return d.http.ServeTLS(d.listener, "", "")
}

// at is the real address: the port in the setting may be 0.
func (d *endpoint) at() string {
	if d == nil {
		return ""
	}
	return d.listener.Addr().String()
}

// Run serves until the context ends, then lets requests in flight finish. It returns nil after an orderly stop.
func (s *Server) Run(ctx context.Context) error {
	s.Timeouts = s.Timeouts.withDefaults()
	if s.Log == nil {
		s.Log = slog.Default()
	}
	if s.Health == nil {
		s.Health = new(Health)
	}
	if s.listen == nil {
		s.listen = net.Listen
	}
	if s.Connections == nil {
		s.Connections = NewConnections(0, 0, nil, nil)
	}
	secured, err := s.TLS.Open(s.Listen, s.Log)
	if err != nil {
		return err
	}
	measureCertificates(s.Metrics, secured.Ends)
	endpoints, err := s.open(secured)
	if err != nil {
		return err
	}
	failed := make(chan error, len(endpoints))
	for _, d := range endpoints {
		go func() { failed <- guard.Do(d.serve) }()
	}
	if secured.Warm != nil {
		go func() {
			if err := guard.Do(func() error { secured.Warm(); return nil }); err != nil {
				s.Log.Error("certificates could not be fetched in advance", "error", err)
			}
		}()
	}
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	return errors.Join(err, s.stop(endpoints))
}

// measureCertificates adds when the certificates expire.
func measureCertificates(m *Metrics, ends func() map[string]time.Time) {
	if ends == nil || m == nil {
		return
	}
	m.Gauges("donorbook_certificate_end_timestamp_seconds", "When a certificate ends, in seconds since 1970.", "certificate", func() map[string]float64 {
		values := make(map[string]float64)
		for name, end := range ends() {
			values[name] = float64(end.Unix())
		}
		return values
	})
}

// open opens every listener before the first request, so that a wrong setting is found at start.
func (s *Server) open(secured certs.Certificates) ([]*endpoint, error) {
	var metrics, challenge *endpoint
	main := s.endpoint("--listen", s.Listen, s.Handler)
	main.http.TLSConfig = secured.Config
	endpoints := []*endpoint{main}
	if s.MetricsListen != "" {
		metrics = s.endpoint("--metrics-listen", s.MetricsListen, s.MetricsHandler)
		metrics.connections = NewConnections(0, 0, nil, nil) // so that an operator can watch an attack
		endpoints = append(endpoints, metrics)
	}
	if s.TLS.ACMEHTTP != "" && secured.Challenge != nil {
		refuse := (&Plumbing{Log: s.Log}).Wrap(func(http.ResponseWriter, *http.Request) error { return httpsOnly() })
		challenge = s.endpoint("--acme-listen", s.TLS.ACMEHTTP, secured.Challenge(refuse))
		endpoints = append(endpoints, challenge)
	}
	for i, d := range endpoints {
		if err := s.openEndpoint(d); err != nil {
			for _, opened := range endpoints[:i] {
				opened.listener.Close()
			}
			return nil, err
		}
	}
	if s.Listening != nil {
		s.Listening(Addresses{Main: main.at(), Metrics: metrics.at(), ACME: challenge.at()})
	}
	return endpoints, nil
}

func (s *Server) endpoint(flag, address string, handler http.Handler) *endpoint {
	return &endpoint{flag: flag, address: address, http: s.httpServer(handler), connections: s.Connections}
}

// http2Limits keep one HTTP/2 connection from costing as much as hundreds of others: it may carry 10 requests at once, and buffer
// 256 KiB of their bodies. net/http allows 250 and 1 MiB. Our pages need fewer.
var http2Limits = &http.HTTP2Config{MaxConcurrentStreams: 10, MaxReceiveBufferPerConnection: 256 << 10, MaxReceiveBufferPerStream: 256 << 10}

func (s *Server) httpServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:                      s.ending(handler),
		ReadHeaderTimeout:            s.Timeouts.ReadHeader,
		ReadTimeout:                  s.Timeouts.Read,
		WriteTimeout:                 s.Timeouts.Write,
		IdleTimeout:                  s.Timeouts.Idle,
		MaxHeaderBytes:               maxHeaderBytes,
		DisableGeneralOptionsHandler: true, // OPTIONS * is ours to refuse
		ErrorLog:                     log.New(connectionLog{s.Log}, "", 0),
		HTTP2:                        http2Limits,
	}
}

// connectionLog is where net/http says what is wrong with connections. Scanners of ports cause failed handshakes all the time, so these are for debugging.
type connectionLog struct{ *slog.Logger }

func (l connectionLog) Write(line []byte) (int, error) {
	level := slog.LevelWarn
	if bytes.HasPrefix(line, []byte("http: TLS handshake error")) {
		level = slog.LevelDebug
	}
	l.Log(context.Background(), level, string(bytes.TrimSpace(line)))
	return len(line), nil
}

// ending closes connections after their next answer once the server stops: a client that reuses connections must not be writing to
// one while it is closed. Answers to what was asked before are closed by the plumbing.
func (s *Server) ending(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.Health.stopping.Load() {
			w.Header()["Connection"] = connectionClose
		}
		if r.ProtoMajor > 1 { // an HTTP/2 request costs as much as an HTTP/1 connection, so it counts as one
			addr := peer(r)
			if _, ok := s.Connections.enter(addr); !ok {
				clear(r.Header) // so that they take no memory while a slow client reads the answer
				WriteJSONError(w, errTooMany)
				return
			}
			defer s.Connections.leave(addr)
		}
		next.ServeHTTP(w, r)
		// A client that sends many requests without waiting for answers takes turns with others after each request.
		// Otherwise each connection in turn would be served for 10 ms.
		runtime.Gosched()
	})
}

var connectionClose = []string{"close"}

// lastCall is how long open connections are served after the port has closed: net/http drops requests that arrive during its shutdown.
const lastCall = 500 * time.Millisecond

// stop lets /readyz fail, closes the main listener and waits for requests in flight. The other listeners close last, so that an
// orchestrator can watch the stop.
func (s *Server) stop(endpoints []*endpoint) error {
	s.Health.stopping.Store(true)
	if s.Timeouts.StopDelay > 0 {
		time.Sleep(s.Timeouts.StopDelay)
		endpoints[0].listener.drain() // Shutdown closes it again
		time.Sleep(lastCall)
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.Timeouts.Stop)
	defer cancel()
	var errs []error
	for _, d := range endpoints {
		err := d.http.Shutdown(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			d.http.Close()
			err = fmt.Errorf("requests were cut off after %s", s.Timeouts.Stop)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
