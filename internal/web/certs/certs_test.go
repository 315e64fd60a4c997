package certs

import (
	"crypto/tls"
	"log/slog"
	"testing"
	"time"
)

// Every mode that has certificates tells when they end, even after a renewal.
func TestTheEndOfACertificateIsKnown(t *testing.T) {
	start := time.Now()
	a := openAuthority(t, t.TempDir(), start, "localhost")
	for _, now := range []time.Time{start, start.AddDate(2, 0, 0)} {
		a.now = func() time.Time { return now }
		leaf := a.serves(t)
		if ends := a.ends(); !ends["server"].Equal(leaf.NotAfter) ||
			ends["authority"].Unix() != start.Add(authorityLife).Unix() {
			t.Errorf("auto: %v", ends)
		}
	}

	cert, key := newFiles(t, t.TempDir(), "one.example.org")
	files := must(Settings{Mode: Files, CertFile: cert, KeyFile: key}.Open(":0", slog.New(slog.DiscardHandler)))(t)
	pair, _ := files.Config.GetCertificate(nil)
	if ends := files.Ends(); !ends["server"].Equal(pair.Leaf.NotAfter) {
		t.Errorf("files: %v", ends)
	}

	served := &servedCertificates{until: make(map[string]time.Time),
		next: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair, nil }}
	for protocol, want := range map[string]bool{"acme-tls/1": false, "h2": true} {
		clear(served.until)
		if _, err := served.certificate(&tls.ClientHelloInfo{SupportedProtos: []string{protocol}}); err != nil {
			t.Fatal(err)
		}
		if _, known := served.ends()["one.example.org"]; known != want {
			t.Errorf("acme, %s: %t", protocol, known)
		}
	}
}
