package certs

import (
	"crypto/tls"
	"crypto/x509"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"donorbook/internal/rig/assert"
)

// openAuthority simulates a start of the server on a data directory.
func openAuthority(t *testing.T, data string, now time.Time, names ...string) *authority {
	t.Helper()
	slices.Sort(names)
	a := &authority{dir: filepath.Join(data, "tls"), names: names, now: func() time.Time { return now },
		log: slog.New(slog.DiscardHandler)}
	succeed(t, a.open())
	return a
}

func (a *authority) serves(t *testing.T) *x509.Certificate {
	t.Helper()
	pair := must(a.certificate(nil))(t)
	return pair.Leaf
}

func readFile(t *testing.T, path ...string) string {
	t.Helper()
	text := must(os.ReadFile(filepath.Join(path...)))(t)
	return string(text)
}

// verify does what curl --cacert does.
func verify(t *testing.T, data string, leaf *x509.Certificate, name string, now time.Time) error {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(readFile(t, data, "tls", "ca.pem"))) {
		t.Fatal("ca.pem holds no certificate")
	}
	_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: now})
	return err
}

func TestAuthorityIsMadeOnFirstStart(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	now := time.Now()
	leaf := openAuthority(t, data, now, "localhost", "127.0.0.1", "::1", "donors.example.org").serves(t)
	for _, name := range []string{"localhost", "127.0.0.1", "::1", "donors.example.org"} {
		if err := verify(t, data, leaf, name, now); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if verify(t, data, leaf, "elsewhere.example.org", now) == nil {
		t.Error("the certificate is good for any name")
	}
	if days := leaf.NotAfter.Sub(now).Hours() / 24; days < 396 || days > 397.1 {
		t.Errorf("the certificate lives %.1f days", days)
	}
	equal(t, leaf.Issuer.CommonName, "Donorbook local authority", "issuer")
	for file, mode := range map[string]fs.FileMode{"": 0o700, "ca.pem": 0o600, "ca-key.pem": 0o600, "cert.pem": 0o600,
		"key.pem": 0o600} {
		info, err := os.Stat(filepath.Join(data, "tls", file))
		succeed(t, err)
		equal(t, info.Mode().Perm(), mode, "%q: %v", file, info.Mode())
	}
	if entries, _ := os.ReadDir(data); len(entries) != 1 {
		t.Errorf("left in the data directory: %v", entries)
	}
}

func TestRestartKeepsTheCertificate(t *testing.T) {
	data, now := t.TempDir(), time.Now()
	first := openAuthority(t, data, now, "localhost").serves(t)
	again := openAuthority(t, data, now.Add(300*24*time.Hour), "localhost").serves(t)
	if !first.Equal(again) {
		t.Error("a restart made a new certificate")
	}
}

func TestNewNameGetsANewCertificateFromTheSameAuthority(t *testing.T) {
	data, now := t.TempDir(), time.Now()
	openAuthority(t, data, now, "localhost")
	ca := readFile(t, data, "tls", "ca.pem")
	leaf := openAuthority(t, data, now, "localhost", "new.example.org").serves(t)
	succeed(t, verify(t, data, leaf, "new.example.org", now))
	equal(t, readFile(t, data, "tls", "ca.pem"), ca,
		"the authority changed: whoever trusts it must be asked again")
	if _, err := tls.LoadX509KeyPair(filepath.Join(data, "tls", "cert.pem"),
		filepath.Join(data, "tls", "key.pem")); err != nil {
		t.Error(err)
	}
}

func TestOldCertificateIsRenewedAtStartAndWhileRunning(t *testing.T) {
	data, start := t.TempDir(), time.Now()
	now := start
	a := openAuthority(t, data, start, "localhost")
	a.now = func() time.Time { return now }
	first := a.serves(t)
	now = start.Add(366 * 24 * time.Hour)
	if !a.serves(t).Equal(first) {
		t.Error("renewed with 31 days left")
	}
	now = start.Add(368 * 24 * time.Hour)
	running := a.serves(t)
	if running.Equal(first) {
		t.Error("not renewed with 29 days left")
	}
	succeed(t, verify(t, data, running, "localhost", now))
	now = now.Add(368 * 24 * time.Hour)
	if openAuthority(t, data, now, "localhost").serves(t).Equal(running) {
		t.Error("not renewed at start")
	}
}

func TestAWrongClockLeavesNoUnusableCertificate(t *testing.T) {
	right := time.Now()
	for name, wrong := range map[string]time.Time{
		"twenty years ahead": right.AddDate(20, 0, 0), "two days ahead": right.AddDate(0, 0, 2),
		"at the beginning of time": time.Unix(0, 0),
		"two years late":           right.AddDate(-2, 0, 0),
	} {
		t.Run("made with a clock "+name, func(t *testing.T) {
			data := t.TempDir()
			running := openAuthority(t, data, wrong, "localhost")
			if err := verify(t, data, running.serves(t), "localhost", wrong); err != nil {
				t.Errorf("while the clock is wrong: %v", err)
			}
			restored := filepath.Join(t.TempDir(), "data")
			succeed(t, os.CopyFS(restored, os.DirFS(data)))
			if err := verify(t, restored, openAuthority(t, restored, right, "localhost").serves(t), "localhost",
				right); err != nil {
				t.Errorf("started when the clock was right: %v", err)
			}
			running.now = func() time.Time { return right }
			if err := verify(t, data, running.serves(t), "localhost", right); err != nil {
				t.Errorf("still running when the clock was right: %v", err)
			}
		})
		t.Run("in use with a clock "+name, func(t *testing.T) {
			data := t.TempDir()
			running := openAuthority(t, data, right, "localhost")
			trusted := readFile(t, data, "tls", "ca.pem")
			running.now = func() time.Time { return wrong }
			if err := verify(t, data, running.serves(t), "localhost", wrong); err != nil {
				t.Errorf("while the clock is wrong: %v", err)
			}
			running.now = func() time.Time { return right }
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM([]byte(trusted))
			if _, err := running.serves(t).Verify(x509.VerifyOptions{Roots: roots, DNSName: "localhost",
				CurrentTime: right}); err != nil {
				t.Errorf("a client that trusts the authority as it was: %v", err)
			}
			if err := verify(t, data, running.serves(t), "localhost", right); err != nil {
				t.Errorf("a client that trusts the authority as it is: %v", err)
			}
		})
	}
}

func TestRenewalThatFailsKeepsTheOldCertificate(t *testing.T) {
	data, start := t.TempDir(), time.Now()
	now := start
	a := openAuthority(t, data, start, "localhost")
	a.now = func() time.Time { return now }
	first := a.serves(t)
	key := filepath.Join(data, "tls", "ca-key.pem")
	succeed(t, os.Rename(key, key+".away"))
	now = start.Add(380 * 24 * time.Hour)
	if !a.serves(t).Equal(first) {
		t.Error("the old certificate is gone")
	}
	succeed(t, os.Rename(key+".away", key))
	now = now.Add(leafRetry)
	if a.serves(t).Equal(first) {
		t.Error("not tried again")
	}
}

func TestManyProcessesStartAtOnce(t *testing.T) {
	data, now := t.TempDir(), time.Now()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			a := &authority{dir: filepath.Join(data, "tls"), names: []string{"localhost"}, now: time.Now,
				log: slog.New(slog.DiscardHandler)}
			if err := a.open(); err != nil {
				t.Error(err)
				return
			}
			if err := verify(t, data, a.serves(t), "localhost", now); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if entries, _ := os.ReadDir(data); len(entries) != 1 {
		t.Errorf("left in the data directory: %v", entries)
	}
}

func TestDamagedAuthorityIsSaidSo(t *testing.T) {
	for file, want := range map[string]string{"ca.pem": "ca.pem", "ca-key.pem": "ca-key.pem"} {
		data := t.TempDir()
		openAuthority(t, data, time.Now(), "localhost")
		succeed(t, os.WriteFile(filepath.Join(data, "tls", file), []byte("broken"), 0o600))
		_, err := Settings{Dir: data, Names: []string{"other"}}.Open(":0", slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", file, err)
		}
	}
	data := t.TempDir()
	openAuthority(t, data, time.Now(), "localhost")
	os.Remove(filepath.Join(data, "tls", "ca.pem"))
	if _, err := (Settings{Dir: data}).Open(":0", slog.New(slog.DiscardHandler)); err == nil ||
		!strings.Contains(err.Error(), "no ca.pem") {
		t.Errorf("ca.pem missing: %v", err)
	}
}

func TestNamesOfTheCertificate(t *testing.T) {
	host := must(os.Hostname())(t)
	names := Settings{Names: []string{"Give.Example.ORG", "", "192.0.2.7",
		"not a name"}}.autoNames("office.example.org:8443")
	for _, want := range []string{"localhost", "127.0.0.1", "::1", "give.example.org", "192.0.2.7",
		"office.example.org", strings.ToLower(host)} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not in %v", want, names)
		}
	}
	for _, listen := range []string{":8443", "0.0.0.0:8443", "[::]:8443"} {
		for _, name := range (Settings{}).autoNames(listen) {
			if name == "" || name == "0.0.0.0" || name == "::" {
				t.Errorf("%s: name %q", listen, name)
			}
		}
	}
}

// must and succeed are for calls that must succeed.

func must[T any](v T, err error) func(assert.Failer) T { return assert.Must(v, err) }

func succeed(t assert.Failer, err error) {
	t.Helper()
	assert.Succeed(t, err)
}

func equal[T any](t assert.Failer, got, want T, what ...any) {
	t.Helper()
	assert.Equal(t, got, want, what...)
}
