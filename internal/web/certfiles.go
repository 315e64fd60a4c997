package web

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// How often a handshake looks whether the certificate's files changed.
const certCheckEvery = 2 * time.Second

// certFiles is a certificate in two files that somebody else renews. A handshake notices new files; broken ones are
// logged once and change nothing.
type certFiles struct {
	cert, key string
	now       func() time.Time
	log       *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	loaded  stamp // the files that current came from
	refused stamp // the files that were found broken
	checked time.Time
}

// stamp tells one state of the two files from another.
type stamp struct {
	certTime, keyTime time.Time
	certSize, keySize int64
}

func (f *certFiles) open() error {
	s, err := f.stamp()
	if err != nil {
		return err
	}
	pair, err := f.load()
	if err != nil {
		return err
	}
	f.current, f.loaded, f.checked = pair, s, f.now()
	return nil
}

func (f *certFiles) stamp() (stamp, error) {
	cert, err := os.Stat(f.cert)
	if err != nil {
		return stamp{}, fmt.Errorf("--tls-cert: %w", err)
	}
	key, err := os.Stat(f.key)
	if err != nil {
		return stamp{}, fmt.Errorf("--tls-key: %w", err)
	}
	return stamp{cert.ModTime(), key.ModTime(), cert.Size(), key.Size()}, nil
}

func (f *certFiles) load() (*tls.Certificate, error) {
	cert, err := os.ReadFile(f.cert)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert: %w", err)
	}
	key, err := os.ReadFile(f.key)
	if err != nil {
		return nil, fmt.Errorf("--tls-key: %w", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert %s and --tls-key %s do not go together: %w", f.cert, f.key, err)
	}
	return &pair, nil
}

func (f *certFiles) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := f.now(); now.Sub(f.checked) >= certCheckEvery {
		f.checked = now
		f.reload()
	}
	return f.current, nil
}

// ends tells when the certificate ends.
func (f *certFiles) ends() map[string]time.Time {
	pair, _ := f.certificate(nil)
	return map[string]time.Time{"server": pair.Leaf.NotAfter}
}

// reload tries again as long as the files are broken: a renewal writes one file after the other.
func (f *certFiles) reload() {
	s, err := f.stamp()
	if err == nil && s == f.loaded {
		return
	}
	var pair *tls.Certificate
	if err == nil {
		pair, err = f.load()
	}
	if err != nil {
		if s != f.refused || s == (stamp{}) {
			f.log.Error("the new certificate cannot be used, the old one stays", "error", err)
		}
		f.refused = s
		return
	}
	f.current, f.loaded, f.refused = pair, s, stamp{}
	f.log.Info("certificate reloaded", "file", f.cert, "until", pair.Leaf.NotAfter)
}
