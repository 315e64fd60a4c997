package web

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// setupACME asks an authority for certificates when clients first call, and renews them. Challenges are answered on
// the main listener (TLS-ALPN-01) and, where there is one, on the plain one (HTTP-01).
func (t TLS) setupACME() (secured, error) {
	if err := t.checkACME(); err != nil {
		return secured{}, err
	}
	manager := &autocert.Manager{
		Prompt:     autocert.AcceptTOS,
		Cache:      autocert.DirCache(filepath.Join(t.Dir, "acme")),
		HostPolicy: autocert.HostWhitelist(t.ACMEHosts...),
		Email:      t.ACMEEmail,
	}
	if t.ACMEDirectory != "" {
		manager.Client = &acme.Client{DirectoryURL: t.ACMEDirectory}
	}
	config := manager.TLSConfig()
	config.MinVersion = tls.VersionTLS12
	return secured{config: config, challenge: manager.HTTPHandler}, nil
}

func (t TLS) checkACME() error {
	switch {
	case t.Dir == "":
		return errors.New("--tls acme needs a data directory (--data) for its certificates")
	case len(t.ACMEHosts) == 0:
		return errors.New("--tls acme needs --acme-host, the name to get a certificate for")
	}
	for _, host := range t.ACMEHosts {
		if net.ParseIP(host) != nil || !strings.Contains(host, ".") || strings.ContainsAny(host, "/:*@ ") {
			return fmt.Errorf("--acme-host %q is not a public host name such as donors.example.org", host)
		}
	}
	if t.ACMEEmail != "" {
		if addr, err := mail.ParseAddress(t.ACMEEmail); err != nil || addr.Address != t.ACMEEmail {
			return fmt.Errorf("--acme-email %q is not an email address", t.ACMEEmail)
		}
	}
	if t.ACMEDirectory != "" {
		if u, err := url.Parse(t.ACMEDirectory); err != nil || u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("--acme-directory %q is not an https URL", t.ACMEDirectory)
		}
	}
	return nil
}
