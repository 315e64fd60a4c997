package web

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/big"
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

// authority is a certificate authority for one machine, made on first start: whoever trusts its ca.pem trusts this
// server under all its names. Its directory appears whole, by one rename, and a new certificate keeps the old key, so
// that every change is one file replaced at once and two processes can start on the same directory.
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

// open loads what is there, makes what is not, and renews what does not fit.
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

// create makes the authority and its first certificate beside the directory and moves them there together. Where
// another process was faster, its work is used.
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
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	now := a.now()
	template := &x509.Certificate{
		SerialNumber:          serialNumber(),
		Subject:               pkix.Name{CommonName: authorityName, Organization: []string{"Donorbook on " + host}},
		NotBefore:             now.Add(-time.Hour), // clocks differ
		NotAfter:              now.Add(authorityLife),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	if err := writeKey(a.path("ca-key.pem"), key); err != nil {
		return err
	}
	return writeFile(a.path("ca.pem"), certificatePEM(der), 0o644)
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
	case a.now().After(leaf.NotAfter.Add(-leafRenew)):
		return nil, errors.New("it ends on " + leaf.NotAfter.Format(time.DateOnly))
	case !slices.Equal(certificateNames(leaf), a.names):
		return nil, errors.New("the names of this server changed")
	}
	return &pair, nil
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
	now := a.now()
	if now.After(ca.NotAfter.Add(-leafRenew)) {
		return nil, fmt.Errorf("the authority %s ends on %s; move %s away to start with a new one",
			a.path("ca.pem"), ca.NotAfter.Format(time.DateOnly), a.dir)
	}
	key, err := a.leafKey()
	if err != nil {
		return nil, err
	}
	template := a.leafTemplate(now, ca.NotAfter)
	der, err := x509.CreateCertificate(rand.Reader, template, ca, key.Public(), caKey)
	if err != nil {
		return nil, err
	}
	if err := writeFile(a.path("cert.pem"), certificatePEM(der), 0o644); err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	a.log.Info("certificate issued", "file", a.path("cert.pem"), "names", a.names, "until", leaf.NotAfter)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}

func (a *authority) leafTemplate(now, latest time.Time) *x509.Certificate {
	until := now.Add(leafLife)
	if until.After(latest) {
		until = latest
	}
	template := &x509.Certificate{
		SerialNumber: serialNumber(),
		Subject:      pkix.Name{CommonName: "Donorbook"},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     until,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
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
	made, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return made, writeKey(a.path("key.pem"), made)
}

func (a *authority) authorityCertificate() (*x509.Certificate, error) {
	text, err := os.ReadFile(a.path("ca.pem"))
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, fmt.Errorf("%s holds no certificate", a.path("ca.pem"))
	}
	return x509.ParseCertificate(block.Bytes)
}

// certificate is for handshakes. A long-running server renews its certificate here, and goes on with the old one
// while that does not work.
func (a *authority) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	if now.Before(a.current.Leaf.NotAfter.Add(-leafRenew)) || now.Before(a.retry) {
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

// certificateNames is the sorted list of what a certificate is good for.
func certificateNames(leaf *x509.Certificate) []string {
	names := slices.Clone(leaf.DNSNames)
	for _, ip := range leaf.IPAddresses {
		names = append(names, ip.String())
	}
	slices.Sort(names)
	return names
}

func serialNumber() *big.Int {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		panic(err) // the system's random source never fails; without it no certificate may be made
	}
	return n
}
