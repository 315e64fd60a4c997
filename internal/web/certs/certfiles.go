package certs

import (
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"
)

// A handshake reads the certificate's files again after this time, to notice a renewal.
const certCheckEvery = 2 * time.Second

// certFiles is a certificate in two files that another program renews. Files that cannot be used are logged once, and the
// certificate in use stays.
type certFiles struct {
	cert, key string
	now       func() time.Time
	log       *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	seen    [sha256.Size]byte // what was read last
	checked time.Time
}

func (f *certFiles) open() error {
	_, err := f.load()
	return err
}

// load reads the files, and uses them if they are new and belong together.
func (f *certFiles) load() (changed bool, err error) {
	f.checked = f.now()
	cert, err := os.ReadFile(f.cert)
	if err != nil {
		return false, fmt.Errorf("--tls-cert: %w", err)
	}
	key, err := os.ReadFile(f.key)
	if err != nil {
		return false, fmt.Errorf("--tls-key: %w", err)
	}
	sum := sha256.Sum256(slices.Concat(cert, key))
	if sum == f.seen {
		return false, nil
	}
	f.seen = sum
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return false, fmt.Errorf("--tls-cert %s and --tls-key %s do not belong together: %w", f.cert, f.key, err)
	}
	f.current = &pair
	return true, nil
}

func (f *certFiles) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now().Sub(f.checked) < certCheckEvery {
		return f.current, nil
	}
	switch changed, err := f.load(); {
	case err != nil: // a renewal writes one file after the other
		f.log.Error("the new certificate cannot be used, the old one stays", "error", err)
	case changed:
		f.log.Info("certificate reloaded", "file", f.cert, "until", f.current.Leaf.NotAfter)
	}
	return f.current, nil
}

// ends is when the certificate expires.
func (f *certFiles) ends() map[string]time.Time {
	pair, _ := f.certificate(nil)
	return map[string]time.Time{"server": pair.Leaf.NotAfter}
}
