package certs

import (
	"crypto"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

const (
	authorityName = "Donorbook local authority"
	authorityLife = 10 * 365 * 24 * time.Hour
	leafLife      = 397 * 24 * time.Hour // the longest that browsers accept
	leafRenew     = 30 * 24 * time.Hour
	leafRetry     = time.Minute // after a renewal that failed
)

// authority is a certificate authority for one machine, made on first start: a client that trusts its ca.pem trusts this
// server under all its names. Its directory appears complete, by one rename, and a new certificate keeps the old key. So every
// change replaces one file, and two processes can start on the same directory. The authority keeps its key as well: while the clock
// is wrong its certificate may have to be replaced, and clients that trust the old one trust the server again once the clock is right.
type authority struct {
	dir   string
	names []string // sorted, each once
	now   func() time.Time
	log   *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	retry   time.Time
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

// open loads the certificate, makes what is missing, and renews what can no longer be used.
func (a *authority) open() error {
	if _, err := os.Stat(a.path("ca.pem")); errors.Is(err, fs.ErrNotExist) {
		if err := a.create(); err != nil {
			return err
		}
	}
	pair, err := a.load()
	if err != nil {
		a.log.Info("a new certificate is needed", "reason", err)
		pair, err = a.issue()
	}
	if err != nil {
		return err
	}
	a.current = pair
	return nil
}

// create makes the authority and its first certificate in a directory beside its own and renames that. If another process was
// faster, its files are used.
func (a *authority) create() error {
	if err := os.MkdirAll(filepath.Dir(a.dir), 0o700); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(a.dir), ".tls-*") // mode 0700
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	made := &authority{dir: temp, names: a.names, now: a.now, log: slog.New(slog.DiscardHandler)}
	if err := made.createAuthority(); err != nil {
		return err
	}
	if _, err := made.issue(); err != nil {
		return err
	}
	if err := syncDir(temp); err != nil {
		return err
	}
	if err := os.Rename(temp, a.dir); err != nil {
		if _, there := os.Stat(a.path("ca.pem")); there == nil {
			return nil
		}
		return fmt.Errorf("%s holds files but no ca.pem; move it away to start with a new authority: %w", a.dir, err)
	}
	a.log.Info("local certificate authority made", "file", a.path("ca.pem"), "names", a.names)
	return syncDir(filepath.Dir(a.dir))
}

func (a *authority) createAuthority() error {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	key, err := newKey(a.path("ca-key.pem"))
	if err != nil {
		return err
	}
	subject := pkix.Name{CommonName: authorityName, Organization: []string{"Donorbook on " + host}}
	_, err = a.signAuthority(key, &x509.Certificate{Subject: subject})
	return err
}

// signAuthority makes the authority's certificate, under the name of the one before.
func (a *authority) signAuthority(key crypto.Signer, before *x509.Certificate) (*x509.Certificate, error) {
	template := &x509.Certificate{
		Subject:               before.Subject,
		SubjectKeyId:          before.SubjectKeyId,
		NotAfter:              a.now().Add(authorityLife),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	return a.sign("ca.pem", template, template, key, key)
}

// sign makes a certificate and puts it in place.
func (a *authority) sign(file string, template, parent *x509.Certificate, key, parentKey crypto.Signer) (*x509.Certificate, error) {
	template.NotBefore = a.now().Add(-time.Hour) // clocks differ
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		return nil, err
	}
	if err := writePEM(a.path(file), "CERTIFICATE", der); err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// load reads the certificate in use, and says why it can no longer be used.
func (a *authority) load() (*tls.Certificate, error) {
	ca, err := a.authorityCertificate()
	if err != nil {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(a.path("cert.pem"), a.path("key.pem"))
	if err != nil {
		return nil, err
	}
	leaf := pair.Leaf
	switch {
	case leaf.CheckSignatureFrom(ca) != nil:
		return nil, errors.New("it is not from this authority")
	case a.mustRenew(leaf), a.mustRenew(ca):
		return nil, fmt.Errorf("it is valid from %s to %s, and its authority from %s to %s",
			leaf.NotBefore.Format(time.DateOnly), leaf.NotAfter.Format(time.DateOnly), ca.NotBefore.Format(time.DateOnly), ca.NotAfter.Format(time.DateOnly))
	case !slices.Equal(certificateNames(leaf), a.names):
		return nil, errors.New("the names of this server changed")
	}
	return &pair, nil
}

// mustRenew tells whether a certificate expires soon, or begins in the future because it was made while the clock was wrong.
func (a *authority) mustRenew(c *x509.Certificate) bool {
	now := a.now()
	return now.Before(c.NotBefore) || !now.Before(c.NotAfter.Add(-leafRenew))
}

// issue signs a certificate for all names and puts it in place.
func (a *authority) issue() (*tls.Certificate, error) {
	ca, err := a.authorityCertificate()
	if err != nil {
		return nil, err
	}
	caKey, err := readKey(a.path("ca-key.pem"))
	if err != nil {
		return nil, err
	}
	if a.mustRenew(ca) {
		old := ca
		if ca, err = a.signAuthority(caKey, old); err != nil {
			return nil, err
		}
		a.log.Warn("the authority's certificate was replaced, because it was not valid or about to expire; give clients the new one",
			"file", a.path("ca.pem"), "was_from", old.NotBefore, "was_until", old.NotAfter, "until", ca.NotAfter)
	}
	key, err := a.leafKey()
	if err != nil {
		return nil, err
	}
	leaf, err := a.sign("cert.pem", a.leafTemplate(ca.NotAfter), ca, key, caKey)
	if err != nil {
		return nil, err
	}
	a.log.Info("certificate issued", "file", a.path("cert.pem"), "names", a.names, "until", leaf.NotAfter)
	return &tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key, Leaf: leaf}, nil
}

func (a *authority) leafTemplate(latest time.Time) *x509.Certificate {
	until := a.now().Add(leafLife)
	if until.After(latest) {
		until = latest
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "Donorbook"},
		NotAfter:    until,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range a.names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	return template
}

// leafKey is the key of all certificates that this authority issues; the first one makes it.
func (a *authority) leafKey() (crypto.Signer, error) {
	key, err := readKey(a.path("key.pem"))
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	return newKey(a.path("key.pem"))
}

func (a *authority) authorityCertificate() (*x509.Certificate, error) {
	der, err := readPEM(a.path("ca.pem"), "CERTIFICATE")
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// certificate is for handshakes. A long-running server renews its certificate here, and keeps the old one if that fails.
func (a *authority) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	if !a.mustRenew(a.current.Leaf) || now.Before(a.retry) {
		return a.current, nil
	}
	pair, err := a.issue()
	if err != nil {
		a.retry = now.Add(leafRetry)
		a.log.Error("the certificate cannot be renewed", "until", a.current.Leaf.NotAfter, "error", err)
		return a.current, nil
	}
	a.current = pair
	return pair, nil
}

// ends is when the certificates expire.
func (a *authority) ends() map[string]time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	ends := map[string]time.Time{"server": a.current.Leaf.NotAfter}
	if ca, err := a.authorityCertificate(); err == nil {
		ends["authority"] = ca.NotAfter
	}
	return ends
}

// certificateNames is the sorted list of names in a certificate.
func certificateNames(leaf *x509.Certificate) []string {
	names := slices.Clone(leaf.DNSNames)
	for _, ip := range leaf.IPAddresses {
		names = append(names, ip.String())
	}
	slices.Sort(names)
	return names
}
