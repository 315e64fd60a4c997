package certs

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// newFiles puts a certificate for a name into two files, as a renewal would.
func newFiles(t *testing.T, dir, name string) (cert, key string) {
	t.Helper()
	made := t.TempDir()
	openAuthority(t, made, time.Now(), name)
	cert, key = filepath.Join(dir, "site.crt"), filepath.Join(dir, "site.key")
	for from, to := range map[string]string{"cert.pem": cert, "key.pem": key} {
		succeed(t, os.WriteFile(to, []byte(readFile(t, made, "tls", from)), 0o600))
	}
	return cert, key
}

func TestCertificateFilesAreReloaded(t *testing.T) {
	dir, lines := t.TempDir(), new(strings.Builder)
	cert, key := newFiles(t, dir, "one.example.org")
	now := time.Now()
	f := &certFiles{cert: cert, key: key, now: func() time.Time { return now },
		log: slog.New(slog.NewTextHandler(lines, nil))}
	succeed(t, f.open())
	served := func() string {
		pair := must(f.certificate(nil))(t)
		return pair.Leaf.DNSNames[0]
	}
	newFiles(t, dir, "two.example.org")
	equal(t, served(), "one.example.org")
	now = now.Add(certCheckEvery)
	equal(t, served(), "two.example.org")

	good := readFile(t, key)
	for _, broken := range []string{"nonsense", ""} {
		succeed(t, os.WriteFile(key, []byte(broken), 0o600))
		for range 3 {
			now = now.Add(certCheckEvery)
			equal(t, served(), "two.example.org")
		}
	}
	equal(t, strings.Count(lines.String(), "the old one stays"), 2, "two broken files were logged")
	succeed(t, os.WriteFile(key, []byte(good), 0o600))
	newFiles(t, dir, "three.example.org")
	now = now.Add(certCheckEvery)
	equal(t, served(), "three.example.org")
	if strings.Contains(lines.String(), "PRIVATE") {
		t.Error("a key is in the log")
	}
}

func TestWrongTLSSettingsNameTheFlag(t *testing.T) {
	dir := t.TempDir()
	cert, key := newFiles(t, dir, "one.example.org")
	_, otherKey := newFiles(t, t.TempDir(), "two.example.org")
	for _, test := range []struct {
		tls  Settings
		want string
	}{
		{Settings{Mode: "maybe"}, "--tls"},
		{Settings{Mode: Auto}, "--data"},
		{Settings{Mode: Files, KeyFile: key}, "--tls-cert"},
		{Settings{Mode: Files, CertFile: cert}, "--tls-key"},
		{Settings{Mode: Files, CertFile: filepath.Join(dir, "none"), KeyFile: key}, "--tls-cert"},
		{Settings{Mode: Files, CertFile: cert, KeyFile: filepath.Join(dir, "none")}, "--tls-key"},
		{Settings{Mode: Files, CertFile: cert, KeyFile: otherKey}, "--tls-key"},
		{Settings{Mode: ACME, ACMEHosts: []string{"donors.example.org"}}, "--data"},
		{Settings{Mode: ACME, Dir: dir}, "--acme-host"},
		{Settings{Mode: ACME, Dir: dir, ACMEHosts: []string{"localhost"}}, "--acme-host"},
		{Settings{Mode: ACME, Dir: dir, ACMEHosts: []string{"192.0.2.1"}}, "--acme-host"},
		{Settings{Mode: ACME, Dir: dir, ACMEHosts: []string{"https://a.org"}}, "--acme-host"},
		{Settings{Mode: ACME, Dir: dir, ACMEHosts: []string{"a.org"}, ACMEEmail: "nobody"}, "--acme-email"},
		{Settings{Mode: ACME, Dir: dir, ACMEHosts: []string{"a.org"}, ACMEDirectory: "http://x"}, "--acme-directory"},
	} {
		if _, err := test.tls.Open(":0", slog.New(slog.DiscardHandler)); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v", test.tls, err)
		}
	}
}
