package web

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The ways to get a certificate.
const (
	TLSAuto  = "auto"  // from a small authority of our own, kept in the data directory
	TLSFiles = "files" // from two files that another program renews
	TLSACME  = "acme"  // from Let's Encrypt or another ACME authority
	TLSOff   = "off"   // none: a proxy in front speaks HTTPS
)

// TLS says how the main listener gets its certificate.
type TLS struct {
	Mode string // one of the above; "" is auto
	Dir  string // the data directory: auto keeps its files in tls, acme in acme below it

	Names []string // auto: host names and addresses beyond localhost, the listen host and the machine's name

	CertFile, KeyFile string // files

	ACMEHosts     []string // acme: the names to ask certificates for
	ACMEEmail     string   // contact for the authority, optional
	ACMEDirectory string   // URL of the authority's directory, "" is Let's Encrypt
	ACMEHTTP      string   // where to answer HTTP-01 challenges, as in :80, optional
}

// secured is what a mode provides: the handshake, when the certificates expire, who answers HTTP-01 challenges, and what to do once
// the listeners are open.
type secured struct {
	config    *tls.Config
	ends      func() map[string]time.Time
	challenge func(fallback http.Handler) http.Handler
	warm      func()
}

// Check finds a setting that is missing, makes no sense, or belongs to another mode. Its error follows the words "--tls: ".
func (t TLS) Check() error {
	switch {
	case t.Mode == TLSFiles && t.CertFile == "":
		return errors.New("files needs --tls-cert, the file with the certificate")
	case t.Mode == TLSFiles && t.KeyFile == "":
		return errors.New("files needs --tls-key, the file with the certificate's private key")
	case t.Mode != TLSFiles && (t.CertFile != "" || t.KeyFile != ""):
		return errors.New("--tls-cert and --tls-key need --tls files")
	case t.Mode == TLSACME:
		return t.checkACME()
	case len(t.ACMEHosts) > 0 || t.ACMEEmail != "" || t.ACMEDirectory != "" || t.ACMEHTTP != "":
		return errors.New("--acme-host, --acme-email, --acme-directory and --acme-listen need --tls acme")
	}
	return nil
}

// setup prepares the mode. The config is nil if the mode is off.
func (t TLS) setup(listen string, log *slog.Logger) (made secured, err error) {
	err = t.Check()
	switch {
	case err != nil:
	case t.Mode == TLSOff:
	case t.Mode == TLSFiles:
		return t.setupFiles(log)
	case t.Dir == "":
		err = errors.New("the certificates need a data directory (--data)")
	case t.Mode == TLSAuto || t.Mode == "":
		made, err = t.setupAuto(listen, log)
	case t.Mode == TLSACME:
		return t.setupACME(log), nil
	default:
		err = fmt.Errorf("%q is none of auto, files, acme, off", t.Mode)
	}
	if err != nil {
		err = fmt.Errorf("--tls: %w", err)
	}
	return made, err
}

func baseConfig() *tls.Config {
	return onlyModern(&tls.Config{NextProtos: []string{"h2", "http/1.1"}})
}

// onlyModern leaves TLS 1.2 only the suites that encrypt and authenticate in one step. Go still offers two in CBC mode, whose
// timing leaks. TLS 1.3 has no such suite.
func onlyModern(config *tls.Config) *tls.Config {
	config.MinVersion = tls.VersionTLS12
	config.CipherSuites = []uint16{
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
		tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	}
	return config
}

func (t TLS) setupAuto(listen string, log *slog.Logger) (secured, error) {
	a := &authority{dir: filepath.Join(t.Dir, "tls"), names: t.autoNames(listen), now: time.Now, log: log}
	if err := a.open(); err != nil {
		return secured{}, err
	}
	config := baseConfig()
	config.GetCertificate = a.certificate
	return secured{config: config, ends: a.ends}, nil
}

// autoNames is every name by which a client may reach this machine, sorted, each once.
func (t TLS) autoNames(listen string) []string {
	names := append([]string{"localhost", "127.0.0.1", "::1"}, t.Names...)
	if host, _, err := net.SplitHostPort(listen); err == nil {
		names = append(names, host)
	}
	if host, err := os.Hostname(); err == nil {
		names = append(names, host)
	}
	var clean []string
	for _, name := range names {
		name = strings.ToLower(strings.TrimSuffix(strings.TrimSpace(name), "."))
		if ip := net.ParseIP(name); ip != nil {
			if ip.IsUnspecified() {
				continue
			}
			name = ip.String()
		} else if name == "" || !validHost(name) || strings.ContainsAny(name, ":[]") {
			continue
		}
		clean = append(clean, name)
	}
	slices.Sort(clean)
	return slices.Compact(clean)
}

func (t TLS) setupFiles(log *slog.Logger) (secured, error) {
	f := &certFiles{cert: t.CertFile, key: t.KeyFile, now: time.Now, log: log}
	if err := f.open(); err != nil {
		return secured{}, err
	}
	config := baseConfig()
	config.GetCertificate = f.certificate
	return secured{config: config, ends: f.ends}, nil
}

// measure adds when the certificates expire. A certificate is named server or authority, or by the host that it is for.
func (s secured) measure(m *Metrics) {
	if s.ends == nil || m == nil {
		return
	}
	m.Gauges("donorbook_certificate_end_timestamp_seconds", "When a certificate ends, in seconds since 1970.", "certificate", func() map[string]float64 {
		values := make(map[string]float64)
		for name, end := range s.ends() {
			values[name] = float64(end.Unix())
		}
		return values
	})
}
