package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"donorbook/internal/api"
	"donorbook/internal/assistant"
	"donorbook/internal/config"
	"donorbook/internal/console"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/history"
	"donorbook/internal/demo"
	"donorbook/internal/guard"
	"donorbook/internal/pay"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/store/donations"
	"donorbook/internal/web"
	"donorbook/internal/web/certs"
)

type serveCommand struct {
	config.Server
	Demo bool `help:"Fill an empty database with a sample organization, create a key and a user, and print a curl command and a password to try."`
}

func (serveCommand) Help() string {
	return `Runs until SIGTERM or Ctrl-C; requests in progress finish. The API reference is at /docs.

	donorbook serve                      HTTPS on localhost:8443; clients trust DIR/tls/ca.pem
	donorbook serve --demo               the same, with sample data
	donorbook serve --listen :443 --tls acme --acme-host donors.example.org
	donorbook serve --listen :443 --tls files --tls-cert cert.pem --tls-key key.pem
	donorbook serve --listen :8080 --tls off --trusted-proxy 10.0.0.0/8`
}

func (c *serveCommand) Run(t *terminal) error {
	if err := c.Check(); err != nil {
		return err
	}
	log := newLogger(t.stderr, c.LogFormat, c.LogLevel)
	t.log, t.serving = log, true
	var organization access.Account
	if c.Demo {
		clock := demo.NewClock(time.Now())
		err := t.withStoreAt(clock.Now, func(s *book.Book) (err error) {
			organization, err = demo.Fill(store.By(t.ctx, history.ConsoleChannel, demo.Email), s, clock, log)
			return err
		})
		if err != nil {
			return err
		}
	}
	return t.withStore(func(s *book.Book) error { return c.serve(t, s, organization, log) })
}

func newLogger(w io.Writer, format, level string) *slog.Logger {
	options := new(slog.HandlerOptions)
	var l slog.Level
	if l.UnmarshalText([]byte(level)) == nil {
		options.Level = l
	}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

func (c *serveCommand) serve(t *terminal, s *book.Book, organization access.Account, log *slog.Logger) error {
	metrics := web.NewMetrics(Version())
	backups, err := c.newBackups(t.storage.Options(), metrics, log)
	if err != nil {
		return err
	}
	if err := c.useRelay(s); err != nil {
		return err
	}
	desk, keys := &pay.Desk{Stripe: t.storage.StripeAddress}, t.storage.PaymentKeys()
	if c.Demo {
		desk = pay.NewDesk("")
	}
	s.UseDesk(desk, keys, c.PhoneRegion)
	if c.Demo {
		if err := pretend(t.ctx, s, organization); err != nil {
			return err
		}
	}
	measureStore(metrics, s)
	server, err := c.server(s, t.storage.Data, desk, keys, metrics, log)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(t.ctx)
	defer stop()
	var startErr error
	var work sync.WaitGroup
	server.Listening = func(at web.Addresses) {
		log.Info("serving", "url", c.address(at.Main), "listen", at.Main, "tls", c.TLS, "metrics", at.Metrics, "version", Version())
		if c.TLS == certs.Off {
			log.Warn("TLS is off: requests are refused unless they arrived over HTTPS at a trusted proxy or come from this machine")
		}
		if c.BaseURL == "" && !c.Demo {
			log.Warn("base-url is not set: links begin with the host that a request names, so proxies are told not to keep public pages")
		}
		if !c.Demo {
			startErr = c.printSetup(t, s, at.Main)
		} else {
			// Not earlier: if the port is taken, the key of the demo that runs there must keep working.
			startErr = c.printDemo(t, s, organization, log, at.Main)
		}
		if startErr != nil {
			stop()
		}
		backups.start(ctx)
		keep := func(trouble string, worker func(context.Context, func(error))) {
			report := func(err error) { log.Error(trouble+"; trying again later", "error", err) }
			work.Go(func() { guard.Keep(ctx, report, func() { worker(ctx, report) }) })
		}
		keep("old data could not be removed", s.Sweep)
		keep("a mail could not be sent", func(ctx context.Context, report func(error)) { s.SendMails(ctx, c.address(at.Main), report) })
		keep("a donation could not be looked at", s.WorkOnDonations)
		keep("a background job failed", s.WorkOnJobs)
	}
	err = server.Run(ctx)
	stop()
	backups.end()
	work.Wait()
	if err == nil {
		log.Info("stopped")
	}
	return errors.Join(startErr, err)
}

// useRelay says who takes the mails: the relay, or in a demo a page that shows them.
func (c *serveCommand) useRelay(s *book.Book) error {
	relay, err := c.Relay()
	switch {
	case err != nil:
		return err
	case relay != nil:
		s.UseRelay(relay)
	case c.Demo:
		s.UseRelay(new(store.Shelf))
	}
	return nil
}

// pretend lets the demo take gifts without money.
func pretend(ctx context.Context, s *book.Book, organization access.Account) error {
	if _, err := s.Connection(ctx, organization.Number); !errors.Is(err, crm.ErrNotFound) {
		return err
	}
	_, err := s.Connect(store.By(ctx, history.ConsoleChannel, demo.Email), organization, donations.Connecting{Provider: pay.PretendName, Key: "none"}, "")
	return err
}

// server puts the parts together.
func (c *serveCommand) server(s *book.Book, data string, desk *pay.Desk, keys *donations.Keys, metrics *web.Metrics, log *slog.Logger) (*web.Server, error) {
	proxies, err := c.Proxies()
	if err != nil {
		return nil, err
	}
	health := &web.Health{Ready: s.Ready}
	created := countCreated(metrics)
	rest := api.New(s, api.Options{Proxies: proxies, Region: c.PhoneRegion, RateLimit: c.RateLimit, Created: created, OwnAuthority: c.TLS == certs.Auto})
	options := console.Options{Proxies: proxies, Region: c.PhoneRegion, RateLimit: c.RateLimit, Created: created, SignIn: countSignIns(metrics), Trust: c.trust(data)}
	options.Secret, err = keys.Derive("pages")
	if err != nil && !errors.Is(err, donations.ErrNoKeyFile) {
		return nil, err
	}
	options.Pretended = desk.Pretended
	pages, err := console.New(s, options)
	if err != nil {
		return nil, err
	}
	pages.Routes(rest.Mux())
	health.Routes(rest.Mux())
	connections := web.NewConnections(c.MaxConnections, c.MaxConnectionsPerAddress, proxies, metrics)
	if allowed := connections.Max(); allowed < c.MaxConnections {
		log.Warn("fewer connections are allowed than --max-connections: the limit of open files is too low", "allowed", allowed, "asked", c.MaxConnections)
	}
	plumbing := &web.Plumbing{Log: log, Metrics: metrics, Proxies: proxies, Health: health, RequireHTTPS: c.TLS == certs.Off}
	handler := plumbing.Wrap(pages.Fallback(rest.Serve))
	if c.MCP == "on" {
		rest.HandleKeyed("POST /mcp", assistant.NewEndpoint(api.Document, Version(), handler).Serve)
	}
	certificate := c.Certificate(data)
	if host := proxies.BaseHost(); host != "" {
		certificate.Names = []string{host}
	}
	return &web.Server{
		Listen: c.Listen, Handler: handler, Health: health, Log: log,
		MetricsListen: c.MetricsListen, MetricsHandler: metrics.Handler(health), Metrics: metrics,
		Timeouts: web.Timeouts{StopDelay: c.StopDelay}, Connections: connections, TLS: certificate,
	}, nil
}

// printSetup prints the link for the first user, if there is no user yet. Anyone with this link owns the service, so it goes to
// standard output and not into a log.
func (c *serveCommand) printSetup(t *terminal, s *book.Book, listening string) error {
	token, err := s.SetupToken(t.ctx)
	if t.ctx.Err() != nil { // stopped already
		return nil
	}
	if err != nil || token == "" {
		return err
	}
	_, err = fmt.Fprintf(t.stdout, "No users yet. Open this link to create the first one:\n%s/console/setup/%s\n", c.demoAddress(listening), token)
	return err
}

// countCreated counts new and merged contacts.
func countCreated(metrics *web.Metrics) func(merged bool) {
	created := metrics.Counters("donorbook_contacts_created_total", "Contacts created, by what became of them.", "outcome", "new", "merged")
	fresh, merged := created[0], created[1]
	return func(wasMerged bool) {
		if wasMerged {
			merged.Add(1)
		} else {
			fresh.Add(1)
		}
	}
}

// countSignIns counts attempts to sign in to the console.
func countSignIns(metrics *web.Metrics) func(console.SignInOutcome) {
	outcomes := metrics.Counters("donorbook_signins_total", "Attempts to sign in to the console, by outcome.", "outcome", "ok", "wrong", "throttled")
	return func(outcome console.SignInOutcome) { outcomes[outcome].Add(1) }
}

// address is the public address of the server.
func (c *serveCommand) address(listening string) string {
	if c.BaseURL != "" {
		return strings.TrimRight(c.BaseURL, "/")
	}
	return c.localAddress(listening)
}

// demoAddress is where a person on this machine reaches the server with a valid certificate: one from files or ACME is for the
// public name.
func (c *serveCommand) demoAddress(listening string) string {
	if c.TLS == certs.Files || c.TLS == certs.ACME {
		return c.address(listening)
	}
	return c.localAddress(listening)
}

// localAddress is where a person on this machine reaches the server.
func (c *serveCommand) localAddress(listening string) string {
	scheme := "https"
	if c.TLS == certs.Off {
		scheme = "http"
	}
	host, _, _ := net.SplitHostPort(c.Listen)
	_, port, _ := net.SplitHostPort(listening)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// trust is the option that makes curl, in any directory of this machine, trust a certificate of our own authority.
func (c *serveCommand) trust(data string) string {
	if c.TLS != certs.Auto {
		return ""
	}
	if absolute, err := filepath.Abs(data); err == nil {
		data = absolute
	}
	return "--cacert " + quoted(filepath.Join(data, "tls", "ca.pem")) + " "
}

// printDemo creates a key and a password, and prints a command to paste into a terminal, in any directory, and how to sign in.
func (c *serveCommand) printDemo(t *terminal, s *book.Book, organization access.Account, log *slog.Logger, listening string) error {
	secret, err := demo.NewKey(t.ctx, s, organization)
	if err != nil {
		return err
	}
	address, trust := c.demoAddress(listening), c.trust(t.storage.Data)
	password, err := demo.NewPassword(t.ctx, s, organization)
	if err != nil {
		return err
	}
	log.Info("the demo is ready: paste the curl command into another terminal, sign in, or read the reference", "docs", address+"/docs")
	_, err = fmt.Fprintf(t.stdout, "curl %s-H 'Authorization: Bearer %s' '%s/v1/contacts?per_page=3'\nSign in at %[3]s/console as %s with the password %s\n",
		trust, secret, address, demo.Email, password)
	return err
}

// measureStore adds the metrics of the database.
func measureStore(metrics *web.Metrics, s *book.Book) {
	metrics.Gauges("donorbook_database_size_bytes", "Size of the database.", "", func() map[string]float64 {
		size, err := s.Size(context.Background())
		return known(float64(size), err == nil)
	})
	metrics.Gauges("donorbook_database_log_size_bytes", "Size of the write-ahead log of SQLite.", "", func() map[string]float64 {
		size, ok := s.LogSize()
		return known(float64(size), ok)
	})
	metrics.Gauge("donorbook_database_changes_waiting", "Changes that are queued or being committed.", func() float64 { return float64(s.Waiting()) })
	counted := func(number func(*donations.Status) float64) func() map[string]float64 {
		return func() map[string]float64 {
			status, err := s.DonationStatus(context.Background())
			return known(number(&status), err == nil)
		}
	}
	metrics.Gauges("donorbook_donations_open", "Donations that a payment provider has not told the end of.", "", counted(func(d *donations.Status) float64 { return float64(d.Open) }))
	metrics.Gauges("donorbook_donations_review", "Donations that a person must look at.", "", counted(func(d *donations.Status) float64 { return float64(d.Review) }))
	metrics.Gauges("donorbook_donation_event_age_seconds", "Age of the oldest event of a payment provider that was not worked on.", "", counted(func(d *donations.Status) float64 {
		if d.Oldest.IsZero() {
			return 0
		}
		return time.Since(d.Oldest).Seconds()
	}))
	metrics.Gauge("donorbook_donation_declines", "Cards that were declined since the server was started.", func() float64 { return float64(s.Declined()) })
	metrics.Gauge("donorbook_donation_events_refused", "Events with a wrong signature, or from another time, since the server was started.", func() float64 { return float64(s.RefusedEvents()) })
	pools := func(number func(store.Pool) int64) func() map[string]float64 {
		return func() map[string]float64 {
			values := make(map[string]float64)
			for _, pool := range s.Pools() {
				values[pool.Name] = float64(number(pool))
			}
			return values
		}
	}
	metrics.Gauges("donorbook_database_connections_in_use", "Connections to the database that are in use, for reading and for writing.", "pool",
		pools(func(p store.Pool) int64 { return p.InUse }))
	metrics.Gauges("donorbook_database_connections_max", "Connections to the database that may be in use at once.", "pool",
		pools(func(p store.Pool) int64 { return p.Max }))
}

// known is a number, or nothing if it is not known.
func known(value float64, ok bool) map[string]float64 {
	if !ok {
		return nil
	}
	return map[string]float64{"": value}
}
