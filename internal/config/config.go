// Package config holds the settings of Donorbook: one struct, filled from flags, DONORBOOK_* variables and an optional
// file, in that order, checked before anything starts, and shown without secrets.
package config

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"donorbook/internal/crm/text"
	"donorbook/internal/store"
	"donorbook/internal/store/donations"
	"donorbook/internal/web"
	"donorbook/internal/web/certs"
)

// DefaultData is the default of the data directory.
const DefaultData = "donorbook-data"

// Storage says where the data is. Every command takes it.
type Storage struct {
	Data          string `help:"Data directory, for the database and certificates. Default: ${default}." default:"donorbook-data" env:"DONORBOOK_DATA" placeholder:"DIR"`
	Database      string `help:"Database: postgres://USER@HOST/NAME or sqlite:DIR. Default: SQLite in the data directory." env:"DONORBOOK_DATABASE" placeholder:"URL"`
	PaymentKey    string `help:"File with the key that encrypts the secrets of payment providers; the same on all nodes. Default: payments.key in the data directory." env:"DONORBOOK_PAYMENT_KEY" placeholder:"FILE" name:"payment-key"`
	StripeAddress string `help:"Where Stripe is, for tests: https, or this machine." env:"DONORBOOK_STRIPE_ADDRESS" placeholder:"URL" name:"stripe-address"`
	Config        string `help:"TOML file with settings, such as listen = \":443\"; its keys are the names of serve's flags." env:"DONORBOOK_CONFIG" placeholder:"FILE"`
}

// Options are the options of the store.
func (s Storage) Options() store.Options { return store.Options{Data: s.Data, Database: s.Database} }

// PaymentKeys is the key to the secrets of payment providers.
func (s Storage) PaymentKeys() *donations.Keys {
	return donations.NewKeys(cmp.Or(s.PaymentKey, filepath.Join(s.Data, "payments.key")))
}

// Check refuses a place that cannot hold data, before anything is opened. It does not repeat the value: a URL may hold a password.
func (s Storage) Check() error {
	if s.Data == "" {
		return problem("data", "names no directory")
	}
	if s.Database == "" {
		return nil
	}
	return CheckDatabase("database", s.Database, " (or be left out for SQLite in the data directory)")
}

// CheckDatabase refuses a wrong URL of a database. The hint ends the error about its scheme.
func CheckDatabase(flag, url, hint string) error {
	switch scheme, rest, _ := strings.Cut(url, ":"); scheme {
	case "sqlite":
		if strings.TrimPrefix(rest, "//") == "" {
			return problem(flag, "the URL names no directory; write sqlite:DIR")
		}
	case "postgres", "postgresql":
	default:
		return problem(flag, "the URL must begin with postgres: or sqlite:%s", hint)
	}
	return nil
}

// Server holds the settings of serve.
type Server struct {
	Listen  string `help:"Address to listen on; :443 is every address of this machine. Default: ${default}." default:"localhost:8443" env:"DONORBOOK_LISTEN" placeholder:"HOST:PORT"`
	BaseURL string `help:"Public address of the service, used in links. Default: scheme and host of the request." env:"DONORBOOK_BASE_URL" placeholder:"URL" name:"base-url"`

	TLS           string   `help:"Certificate: auto (a local authority in the data directory), files, acme, or off (behind a proxy that handles HTTPS). Default: ${default}." enum:"auto,files,acme,off" default:"auto" env:"DONORBOOK_TLS" placeholder:"MODE" name:"tls"`
	TLSCert       string   `help:"With --tls files: certificate chain (PEM)." env:"DONORBOOK_TLS_CERT" placeholder:"FILE" name:"tls-cert"`
	TLSKey        string   `help:"With --tls files: private key (PEM)." env:"DONORBOOK_TLS_KEY" placeholder:"FILE" name:"tls-key"`
	ACMEHost      []string `help:"With --tls acme: public name to get a certificate for; may be repeated." env:"DONORBOOK_ACME_HOST" placeholder:"NAME" name:"acme-host"`
	ACMEEmail     string   `help:"With --tls acme: contact for the authority." env:"DONORBOOK_ACME_EMAIL" placeholder:"EMAIL" name:"acme-email"`
	ACMEDirectory string   `help:"With --tls acme: the authority's directory. Default: Let's Encrypt." env:"DONORBOOK_ACME_DIRECTORY" placeholder:"URL" name:"acme-directory"`
	ACMEListen    string   `help:"With --tls acme: where to answer HTTP-01 challenges, such as :80. Default: TLS-ALPN-01 on the main port." env:"DONORBOOK_ACME_LISTEN" placeholder:"HOST:PORT" name:"acme-listen"`
	TrustedProxy  []string `help:"Address or range of a proxy whose X-Forwarded-* headers are trusted; may be repeated; none trusts no proxy. Default: this machine." env:"DONORBOOK_TRUSTED_PROXY" placeholder:"CIDR" name:"trusted-proxy"`

	MaxConnections           int `help:"Maximum open connections in total; 0 is as many as there are file descriptors. Default: ${default}." default:"2000" env:"DONORBOOK_MAX_CONNECTIONS" placeholder:"N" name:"max-connections"`
	MaxConnectionsPerAddress int `help:"Maximum open connections from one address that is not a trusted proxy; 0 is no limit. Default: ${default}." default:"200" env:"DONORBOOK_MAX_CONNECTIONS_PER_ADDRESS" placeholder:"N" name:"max-connections-per-address"`

	RateLimit   int           `help:"Requests per minute for each key, each console user, and each address without either; 0 is no limit. Default: ${default}." default:"6000" env:"DONORBOOK_RATE_LIMIT" placeholder:"N" name:"rate-limit"`
	MCP         string        `help:"Allow assistants at /mcp: on or off. Default: ${default}." enum:"on,off" default:"on" env:"DONORBOOK_MCP" placeholder:"MODE" name:"mcp"`
	PhoneRegion string        `help:"Country of phone numbers written without +, as a two-letter code. Default: ${default}." default:"US" env:"DONORBOOK_PHONE_REGION" placeholder:"CC" name:"phone-region"`
	BackupDir   string        `help:"Directory for regular backups of SQLite, outside the data directory. Default: no backups." env:"DONORBOOK_BACKUP_DIR" placeholder:"DIR" name:"backup-dir"`
	BackupEvery time.Duration `help:"With --backup-dir: time between backups. Default: ${default}." default:"24h" env:"DONORBOOK_BACKUP_EVERY" placeholder:"TIME" name:"backup-every"`
	BackupKeep  int           `help:"With --backup-dir: how many backups to keep; older ones are removed. Default: ${default}." default:"7" env:"DONORBOOK_BACKUP_KEEP" placeholder:"N" name:"backup-keep"`
	Mail

	MetricsListen string        `help:"Where to serve /metrics for Prometheus, such as localhost:9464. Default: off." env:"DONORBOOK_METRICS_LISTEN" placeholder:"HOST:PORT" name:"metrics-listen"`
	StopDelay     time.Duration `help:"On SIGTERM, how long /readyz fails before the port closes, so that load balancers notice; such as 5s. Default: ${default}." default:"0s" env:"DONORBOOK_STOP_DELAY" placeholder:"TIME" name:"stop-delay"`
	LogFormat     string        `help:"Format of the log on standard error: text or json. Default: ${default}." enum:"text,json" default:"text" env:"DONORBOOK_LOG_FORMAT" placeholder:"FORMAT" name:"log-format"`
	LogLevel      string        `help:"What is logged: debug, info (every request), warn or error. Default: ${default}." enum:"debug,info,warn,error" default:"info" env:"DONORBOOK_LOG_LEVEL" placeholder:"LEVEL" name:"log-level"`
}

// Problem is a setting that cannot be used.
type Problem struct {
	Flag   string
	Reason string
}

func (p *Problem) Error() string { return "--" + p.Flag + ": " + p.Reason }

func problem(flag, format string, args ...any) error {
	return &Problem{Flag: flag, Reason: fmt.Sprintf(format, args...)}
}

// Check refuses settings that cannot be used, before anything is opened.
func (s *Server) Check() error {
	for _, address := range []struct{ flag, value string }{
		{"listen", s.Listen}, {"metrics-listen", s.MetricsListen}, {"acme-listen", s.ACMEListen},
	} {
		if address.value == "" && address.flag != "listen" {
			continue
		}
		if !isAddress(address.value) {
			return problem(address.flag, "%q is not an address such as localhost:8443", address.value)
		}
	}
	if _, err := s.Proxies(); err != nil {
		return err
	}
	if err := s.Mail.Check(); err != nil {
		return err
	}
	if s.SMTPHost != "" && s.BaseURL == "" {
		return problem("smtp-host", "needs --base-url: links in mails begin with it, and not with what a request says")
	}
	switch {
	case s.RateLimit < 0:
		return problem("rate-limit", "%d is negative; 0 is no limit", s.RateLimit)
	case s.MaxConnections < 0:
		return problem("max-connections", "%d is negative; 0 is as many as there are file descriptors", s.MaxConnections)
	case s.MaxConnectionsPerAddress < 0:
		return problem("max-connections-per-address", "%d is negative; 0 is no limit", s.MaxConnectionsPerAddress)
	case !text.IsPhoneRegion(s.PhoneRegion):
		return problem("phone-region", "%q is not a two-letter country code, such as US", s.PhoneRegion)
	case s.BackupEvery < time.Minute:
		return problem("backup-every", "%s is too short: use at least a minute, such as 1m", s.BackupEvery)
	case s.BackupKeep < 1:
		return problem("backup-keep", "%d is too few: keep at least 1", s.BackupKeep)
	case s.StopDelay < 0:
		return problem("stop-delay", "%s is negative; 0s is no delay", s.StopDelay)
	}
	if err := s.Certificate("").Check(); err != nil {
		return problem("tls", "%v", err)
	}
	return nil
}

func isAddress(text string) bool {
	_, port, err := net.SplitHostPort(text)
	if err != nil || port == "" {
		return false
	}
	_, err = net.LookupPort("tcp", port)
	return err == nil
}

// Certificate says how the server gets its certificate.
func (s *Server) Certificate(data string) certs.Settings {
	return certs.Settings{
		Mode: s.TLS, Dir: data, CertFile: s.TLSCert, KeyFile: s.TLSKey,
		ACMEHosts: s.ACMEHost, ACMEEmail: s.ACMEEmail, ACMEDirectory: s.ACMEDirectory, ACMEHTTP: s.ACMEListen,
	}
}

// Proxies are the trusted proxies and the public address.
func (s *Server) Proxies() (*web.Proxies, error) {
	if err := CheckBaseURL(s.BaseURL); err != nil {
		return nil, err
	}
	proxies, err := web.NewProxies(s.TrustedProxy, s.BaseURL)
	if err != nil {
		return nil, problem("trusted-proxy", "%v", err)
	}
	return proxies, nil
}

// CheckBaseURL refuses what cannot be the beginning of a link. It does not repeat the value: a URL may hold a password.
func CheckBaseURL(text string) error {
	if _, err := web.NewProxies(nil, text); err != nil {
		return problem("base-url", "give only scheme and host, such as https://donors.example.org")
	}
	return nil
}

// Setting is one of the effective settings. Its value is a string, an int or a list of strings.
type Setting struct {
	Name  string
	Value any
}

// Text is the value on one line.
func (s Setting) Text() string {
	if list, ok := s.Value.([]string); ok {
		return strings.Join(list, ",")
	}
	return fmt.Sprint(s.Value)
}

// Dump lists settings by the names of their flags, without secrets.
func Dump(structs ...any) []Setting {
	var settings []Setting
	for _, s := range structs {
		v := reflect.Indirect(reflect.ValueOf(s))
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if field.Anonymous {
				settings = append(settings, Dump(v.Field(i).Interface())...)
				continue
			}
			name := field.Tag.Get("name")
			if name == "" {
				name = strings.ToLower(field.Name)
			}
			settings = append(settings, Setting{name, shown(v.Field(i).Interface())})
		}
	}
	return settings
}

// shown is a value without its secrets.
func shown(value any) any {
	switch v := value.(type) {
	case string:
		return withoutPassword(v)
	case time.Duration:
		return v.String()
	case []string:
		list := make([]string, 0, len(v))
		for _, text := range v {
			list = append(list, withoutPassword(text))
		}
		return list
	}
	return value
}

// withoutPassword hides the passwords in a URL, and the whole value if it seems to hold one in another form.
func withoutPassword(value string) string {
	u, err := url.Parse(value)
	if err != nil || !strings.Contains(value, "://") {
		if strings.Contains(value, ":") && strings.Contains(value, "@") || strings.Contains(value, "=") && isPassword(value) {
			return "(not shown: not a valid URL)"
		}
		return value
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		u.RawQuery = "xxxxx"
	}
	for name := range q {
		if isPassword(name) {
			q.Set(name, "xxxxx")
			u.RawQuery = q.Encode()
		}
	}
	return u.Redacted()
}

func isPassword(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "pass") || strings.Contains(name, "pwd")
}
