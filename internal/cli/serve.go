package cli

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"

	"github.com/prometheus/client_golang/prometheus"

	"donorbook/internal/api"
	"donorbook/internal/config"
	"donorbook/internal/store"
	"donorbook/internal/web"
)

type serveCommand struct {
	config.Server
	Demo bool `help:"Fill an empty database with a believable organisation, make a key, and print a curl command to try."`
}

func (c *serveCommand) Run(t *terminal) (err error) {
	if err := c.Check(); err != nil {
		return err
	}
	log := newLogger(t.stderr, c.LogFormat, c.LogLevel)
	s, err := store.Open(t.ctx, t.storage.Options())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	secret := ""
	if c.Demo {
		if secret, err = fillDemo(t.ctx, s, c.PhoneRegion, t.stderr); err != nil {
			return err
		}
	}
	server, err := c.server(s, t.storage.Data, log)
	if err != nil {
		return err
	}
	server.Listening = func(at web.Addresses) {
		address := c.address(at.Main)
		log.Info("serving", "url", address, "tls", c.TLS, "metrics", at.Metrics, "version", Version())
		if c.TLS == web.TLSOff {
			log.Warn("TLS is off: requests that did not arrive over HTTPS at a trusted proxy are refused, except from this machine")
		}
		if c.Demo {
			c.printDemo(t, address, secret)
		}
	}
	defer log.Info("stopped")
	return server.Run(t.ctx)
}

// server puts the rooms together.
func (c *serveCommand) server(s *store.Store, data string, log *slog.Logger) (*web.Server, error) {
	proxies, err := c.Proxies()
	if err != nil {
		return nil, err
	}
	metrics := web.NewMetrics(Version())
	health := &web.Health{Ready: s.Ready}
	door := api.New(s, api.Options{
		Proxies: proxies, Region: c.PhoneRegion, RateLimit: c.RateLimit, Created: countCreated(metrics),
	})
	health.Routes(door.Mux())
	plumbing := &web.Plumbing{Log: log, Metrics: metrics, Proxies: proxies, RequireHTTPS: c.TLS == web.TLSOff}
	names := []string{}
	if host := proxies.BaseHost(); host != "" {
		names = append(names, host)
	}
	return &web.Server{
		Listen: c.Listen, Handler: plumbing.Wrap(door.Serve), Health: health, Log: log,
		MetricsListen: c.MetricsListen, MetricsHandler: metrics.Handler(health),
		Timeouts: web.Timeouts{StopDelay: c.StopDelay},
		TLS: web.TLS{
			Mode: c.TLS, Dir: data, Names: names, CertFile: c.TLSCert, KeyFile: c.TLSKey,
			ACMEHosts: c.ACMEHost, ACMEEmail: c.ACMEEmail, ACMEDirectory: c.ACMEDirectory, ACMEHTTP: c.ACMEListen,
		},
	}, nil
}

// countCreated counts contacts that were created or merged.
func countCreated(metrics *web.Metrics) func(merged bool) {
	created := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "donorbook_contacts_created_total", Help: "Contacts created through the API, by what became of them.",
	}, []string{"outcome"})
	metrics.Registry.MustRegister(created)
	fresh, merged := created.WithLabelValues("new"), created.WithLabelValues("merged")
	return func(wasMerged bool) {
		if wasMerged {
			merged.Inc()
		} else {
			fresh.Inc()
		}
	}
}

// address is where a person on this machine reaches the server.
func (c *serveCommand) address(listening string) string {
	if c.BaseURL != "" {
		return c.BaseURL
	}
	scheme := "https"
	if c.TLS == web.TLSOff {
		scheme = "http"
	}
	host, _, _ := net.SplitHostPort(c.Listen)
	_, port, _ := net.SplitHostPort(listening)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

func newLogger(w io.Writer, format, level string) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		l = slog.LevelInfo
	}
	options := &slog.HandlerOptions{Level: l}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// printDemo prints what a newcomer pastes into a terminal.
func (c *serveCommand) printDemo(t *terminal, address, secret string) {
	trust := ""
	if c.TLS == web.TLSAuto {
		trust = fmt.Sprintf(" --cacert '%s/tls/ca.pem'", t.storage.Data)
	}
	fmt.Fprintf(t.stdout, "curl%s -H 'Authorization: Bearer %s' '%s/v1/contacts?per_page=3'\n", trust, secret, address)
	fmt.Fprintf(t.stderr, "\nThe demo is ready. Paste the curl command above into another terminal, or read %s/docs\n\n", address)
}
