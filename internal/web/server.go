package web

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"
)

// Server runs the main listener, and where asked a listener for metrics and one for ACME's HTTP-01 challenges.
type Server struct {
	Listen  string // host:port; port 0 takes any free one
	Handler http.Handler
	TLS     TLS
	Health  *Health
	Log     *slog.Logger

	MetricsListen  string // "" for none
	MetricsHandler http.Handler

	Timeouts Timeouts

	// Listening is called once all listeners are open, with the addresses they really have.
	Listening func(Addresses)
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

const maxHeaderBytes = 64 << 10

func (t Timeouts) withDefaults() Timeouts {
	for _, field := range []struct {
		value    *time.Duration
		standard time.Duration
	}{
		{&t.ReadHeader, 10 * time.Second},
		{&t.Read, 30 * time.Second},
		{&t.Write, 60 * time.Second},
		{&t.Idle, 120 * time.Second},
		{&t.Stop, 25 * time.Second},
	} {
		if *field.value == 0 {
			*field.value = field.standard
		}
	}
	return t
}

// door is one listener and who answers there.
type door struct {
	http     *http.Server
	listener net.Listener
	tls      bool
}

func (d door) serve() error {
	if d.tls {
		return d.http.ServeTLS(d.listener, "", "")
	}
	return d.http.Serve(d.listener)
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
	doors, err := s.open()
	if err != nil {
		return err
	}
	failed := make(chan error, len(doors))
	for _, d := range doors {
		go func() { failed <- d.serve() }()
	}
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	return errors.Join(err, s.stop(doors))
}

// open opens every listener before anybody is served, so that a wrong setting is found at start.
func (s *Server) open() (doors []door, err error) {
	defer func() {
		if err != nil {
			for _, d := range doors {
				d.listener.Close()
			}
		}
	}()
	secured, err := s.TLS.setup(s.Listen, s.Log)
	if err != nil {
		return nil, err
	}
	var at Addresses
	add := func(flag, address string, handler http.Handler, addr *string) error {
		listener, err := listen(flag, address)
		if err != nil {
			return err
		}
		*addr = listener.Addr().String()
		doors = append(doors, door{http: s.httpServer(handler), listener: listener})
		return nil
	}
	if err := add("--listen", s.Listen, s.Handler, &at.Main); err != nil {
		return doors, err
	}
	if secured.config != nil {
		main := &doors[0]
		main.tls = true
		main.http.TLSConfig = secured.config
		main.listener = sniffListener{main.listener, s.Log}
	}
	if s.MetricsListen != "" {
		if err := add("--metrics-listen", s.MetricsListen, s.MetricsHandler, &at.Metrics); err != nil {
			return doors, err
		}
	}
	if s.TLS.ACMEHTTP != "" && secured.challenge != nil {
		refuse := (&Plumbing{Log: s.Log}).Wrap(func(http.ResponseWriter, *http.Request) error { return httpsOnly() })
		if err := add("--acme-http", s.TLS.ACMEHTTP, secured.challenge(refuse), &at.ACME); err != nil {
			return doors, err
		}
	}
	if s.Listening != nil {
		s.Listening(at)
	}
	return doors, nil
}

func listen(flag, address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err == nil {
		return listener, nil
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		err = op.Err // the rest only repeats the address
	}
	return nil, fmt.Errorf("%s: cannot listen on %q: %w", flag, address, err)
}

func (s *Server) httpServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:                      handler,
		ReadHeaderTimeout:            s.Timeouts.ReadHeader,
		ReadTimeout:                  s.Timeouts.Read,
		WriteTimeout:                 s.Timeouts.Write,
		IdleTimeout:                  s.Timeouts.Idle,
		MaxHeaderBytes:               maxHeaderBytes,
		DisableGeneralOptionsHandler: true, // OPTIONS * is ours to refuse
		ErrorLog:                     log.New(errorLog{s.Log}, "", 0),
	}
}

// stop turns /readyz, closes the main listener and waits for requests in flight. The other listeners close last: an
// orchestrator wants to watch the stop.
func (s *Server) stop(doors []door) error {
	s.Health.stopping.Store(true)
	time.Sleep(s.Timeouts.StopDelay)
	ctx, cancel := context.WithTimeout(context.Background(), s.Timeouts.Stop)
	defer cancel()
	var errs []error
	for _, d := range doors {
		err := d.http.Shutdown(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			d.http.Close()
			err = fmt.Errorf("requests were cut off after %s", s.Timeouts.Stop)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// errorLog is where net/http tells about connections. What any stranger can cause by knocking is for debugging.
type errorLog struct{ log *slog.Logger }

func (e errorLog) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	if strings.HasPrefix(text, "http: TLS handshake error") {
		e.log.Debug(text)
	} else {
		e.log.Warn(text)
	}
	return len(line), nil
}
