// Package certs gets the certificate of a server: from an authority of its own, from files, or from an ACME authority. It renews what
// expires while the server runs.
package certs

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
	Auto  = "auto"  // from a small authority of our own, kept in the data directory
	Files = "files" // from two files that another program renews
	ACME  = "acme"  // from Let's Encrypt or another ACME authority
	Off   = "off"   // none: a proxy in front speaks HTTPS
)

// Settings say how a server gets its certificate.
type Settings struct {
	Mode string // one of the above; "" is auto
	Dir  string // the data directory: auto keeps its files in tls, acme in acme below it

	Names []string // auto: host names and addresses beyond localhost, the listen host and the machine's name

	CertFile, KeyFile string // files

	ACMEHosts     []string // acme: the names to ask certificates for
	ACMEEmail     string   // contact for the authority, optional
	ACMEDirectory string   // URL of the authority's directory, "" is Let's Encrypt
	ACMEHTTP      string   // where to answer HTTP-01 challenges, as in :80, optional
}

// Certificates is what a mode provides.
type Certificates struct {
	Config    *tls.Config                              // for handshakes; nil if the mode is off
	Ends      func() map[string]time.Time              // when each certificate expires, by server or authority, or by its host; nil if the mode is off
	Challenge func(fallback http.Handler) http.Handler // answers HTTP-01 challenges; nil but for ACME
	Warm      func()                                   // is called once the listeners are open; nil but for ACME
}

// Check finds a setting that is missing, makes no sense, or belongs to another mode. Its error follows the words "--tls: ".
func (s Settings) Check() error {
	switch {
	case s.Mode == Files && s.CertFile == "":
		return errors.New("files needs --tls-cert, the file with the certificate")
	case s.Mode == Files && s.KeyFile == "":
		return errors.New("files needs --tls-key, the file with the certificate's private key")
	case s.Mode != Files && (s.CertFile != "" || s.KeyFile != ""):
		return errors.New("--tls-cert and --tls-key need --tls files")
	case s.Mode == ACME:
		return s.checkACME()
	case len(s.ACMEHosts) > 0 || s.ACMEEmail != "" || s.ACMEDirectory != "" || s.ACMEHTTP != "":
		return errors.New("--acme-host, --acme-email, --acme-directory and --acme-listen need --tls acme")
	}
	return nil
}

// Open prepares the mode for a server that listens on an address.
func (s Settings) Open(listen string, log *slog.Logger) (made Certificates, err error) {
	err = s.Check()
	switch {
	case err != nil:
	case s.Mode == Off:
	case s.Mode == Files:
		return s.setupFiles(log)
	case s.Dir == "":
		err = errors.New("the certificates need a data directory (--data)")
	case s.Mode == Auto || s.Mode == "":
		made, err = s.setupAuto(listen, log)
	case s.Mode == ACME:
		return s.setupACME(log), nil
	default:
		err = fmt.Errorf("%q is none of auto, files, acme, off", s.Mode)
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

func (s Settings) setupAuto(listen string, log *slog.Logger) (Certificates, error) {
	a := &authority{dir: filepath.Join(s.Dir, "tls"), names: s.autoNames(listen), now: time.Now, log: log}
	if err := a.open(); err != nil {
		return Certificates{}, err
	}
	config := baseConfig()
	config.GetCertificate = a.certificate
	return Certificates{Config: config, Ends: a.ends}, nil
}

const hostCharacters = "abcdefghijklmnopqrstuvwxyz0123456789.-_"

// autoNames is every name by which a client may reach this machine, sorted, each once.
func (s Settings) autoNames(listen string) []string {
	names := append([]string{"localhost", "127.0.0.1", "::1"}, s.Names...)
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
		} else if name == "" || strings.ContainsFunc(name, func(c rune) bool { return !strings.ContainsRune(hostCharacters, c) }) {
			continue
		}
		clean = append(clean, name)
	}
	slices.Sort(clean)
	return slices.Compact(clean)
}

func (s Settings) setupFiles(log *slog.Logger) (Certificates, error) {
	f := &certFiles{cert: s.CertFile, key: s.KeyFile, now: time.Now, log: log}
	if err := f.open(); err != nil {
		return Certificates{}, err
	}
	config := baseConfig()
	config.GetCertificate = f.certificate
	return Certificates{Config: config, Ends: f.ends}, nil
}
