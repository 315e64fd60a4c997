package certs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/mail"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// setupACME asks an authority for certificates, and renews them. Challenges are answered on the main listener
// (TLS-ALPN-01) and, where there is one, on the plain one (HTTP-01).
func (s Settings) setupACME(log *slog.Logger) Certificates {
	manager := &autocert.Manager{
		Prompt:     autocert.AcceptTOS,
		Cache:      autocert.DirCache(filepath.Join(s.Dir, "acme")),
		HostPolicy: acmePolicy(s.ACMEHosts),
		Email:      s.ACMEEmail,
	}
	if s.ACMEDirectory != "" {
		manager.Client = &acme.Client{DirectoryURL: s.ACMEDirectory}
	}
	config := onlyModern(manager.TLSConfig())
	served := &servedCertificates{next: manager.GetCertificate, until: make(map[string]time.Time)}
	config.GetCertificate = served.certificate
	return Certificates{
		Config:    config,
		Ends:      served.ends,
		Challenge: manager.HTTPHandler,
		Warm:      func() { s.fetchACME(served.certificate, log) },
	}
}

// servedCertificates remembers when the certificates that were served last expire. Clients may ask for any name, but only our own
// names get a certificate.
type servedCertificates struct {
	next func(*tls.ClientHelloInfo) (*tls.Certificate, error)

	mu    sync.Mutex
	until map[string]time.Time
}

func (s *servedCertificates) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	pair, err := s.next(hello)
	if err == nil && pair.Leaf != nil && !slices.Contains(hello.SupportedProtos, acme.ALPNProto) { // which is a challenge
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, name := range pair.Leaf.DNSNames {
			s.until[name] = pair.Leaf.NotAfter
		}
	}
	return pair, err
}

func (s *servedCertificates) ends() map[string]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.until)
}

// acmePolicy allows only our own names, through any port.
func acmePolicy(hosts []string) autocert.HostPolicy {
	allowed := autocert.HostWhitelist(hosts...)
	return func(ctx context.Context, host string) error {
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		return allowed(ctx, host)
	}
}

// fetchACME gets the certificates before the first client asks, so that the operator, not a client, learns what is
// wrong with the setup.
func (s Settings) fetchACME(certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error), log *slog.Logger) {
	for _, host := range s.ACMEHosts {
		pair, err := certificate(&tls.ClientHelloInfo{
			ServerName:   host,
			CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
		})
		if err != nil {
			log.Error("no certificate from the ACME authority yet", "host", host, "error", err)
			continue
		}
		log.Info("certificate from the ACME authority", "host", host, "until", pair.Leaf.NotAfter)
	}
}

func (s Settings) checkACME() error {
	if len(s.ACMEHosts) == 0 {
		return errors.New("acme needs --acme-host, the public name to get a certificate for")
	}
	for _, host := range s.ACMEHosts {
		if net.ParseIP(host) != nil || !strings.Contains(host, ".") || strings.ContainsAny(host, "/:*@ ") {
			return fmt.Errorf("--acme-host %q is not a public host name such as donors.example.org", host)
		}
	}
	if s.ACMEEmail != "" {
		if addr, err := mail.ParseAddress(s.ACMEEmail); err != nil || addr.Address != s.ACMEEmail {
			return fmt.Errorf("--acme-email %q is not an email address", s.ACMEEmail)
		}
	}
	if s.ACMEDirectory != "" {
		if u, err := url.Parse(s.ACMEDirectory); err != nil || u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("--acme-directory %q is not an https URL", s.ACMEDirectory)
		}
	}
	return nil
}
