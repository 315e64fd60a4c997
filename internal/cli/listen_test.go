package cli

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"donorbook/client"
	"donorbook/internal/rig/rows"
)

func TestTLSAuto(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	_, key := newKey(t, data)
	p := serve(t, data)
	p.call(key, 200, "GET", "/v1/contacts", "")
	stranger := must(client.New(p.url, key, client.WithRetries(0)))(t) // who does not know ca.pem
	var untrusted *tls.CertificateVerificationError
	if _, err := stranger.Contacts.Get(t.Context(), 1); !errors.As(err, &untrusted) {
		t.Errorf("a client that does not know ca.pem: %v", err)
	}
	browser := p.newClient()
	browser.Transport.(*http.Transport).ForceAttemptHTTP2 = true
	response := must(browser.Get(strings.Replace(p.url, "127.0.0.1", "localhost", 1) + "/healthz"))(t)
	response.Body.Close()
	equal(t, response.ProtoMajor, 2, "the server answered a client that can do HTTP/2 with %s", response.Proto)

	request := "GET /v1/contacts HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + key + "\r\n\r\n"
	got := sendPlain(t, p.addr(), request)
	equal(t, got.status, 400, "plain HTTP")
	contains(t, string(got.body), "HTTPS", "plain HTTP")
	for _, name := range []string{"ca-key.pem", "key.pem"} {
		equal(t, must(os.Stat(filepath.Join(data, "tls", name)))(t).Mode().Perm(), 0o600, "%s", name)
	}
	// The authority stays the same: clients that trusted it still do.
	before, _ := os.ReadFile(filepath.Join(data, "tls", "ca.pem"))
	p.stop()
	p = serve(t, data)
	p.call(key, 200, "GET", "/v1/contacts", "")
	if after, _ := os.ReadFile(filepath.Join(data, "tls", "ca.pem")); !bytes.Equal(before, after) {
		t.Error("the second start made a new authority")
	}
}

// TestTLSOff: behind a proxy, the server takes the scheme from a trusted proxy and from no other client.
func TestTLSOff(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	_, key := newKey(t, data)
	p := serve(t, data, "--tls", "off", "--trusted-proxy", "127.0.0.2/32")
	p.waitFor("the log to say that TLS is off", func() bool {
		return strings.Contains(p.stderr.String(),
			"TLS is off")
	})
	p.waitFor("the log to say what is missing", func() bool {
		return strings.Contains(p.stderr.String(), "base-url is not set")
	})
	if _, err := os.Stat(filepath.Join(data, "tls")); err == nil {
		t.Error("certificates were made for a server without TLS")
	}
	if told, code := p.health("--tls", "off"); code != exitOK {
		t.Errorf("donorbook health: exit %d, %s", code, told)
	}
	for _, c := range rows.Of[struct {
		From    string
		Headers []string
		Status  int
		Says    string
	}](`
		127.0.0.1  ""                                                        200  "first":"http://
		127.0.0.1  X-Forwarded-Proto https                                   400  This service only answers over HTTPS.
		127.0.0.2  X-Forwarded-Proto https X-Forwarded-For 203.0.113.9       200  "first":"https://
		127.0.0.2  X-Forwarded-For 203.0.113.9                               400  This service only answers over HTTPS.
	`) {
		p.client = &http.Client{Transport: &http.Transport{
			DisableKeepAlives: true,
			DialContext:       (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(c.From)}}).DialContext,
		}}
		contains(t, string(p.call(key, c.Status, "GET", "/v1/contacts", "", c.Headers...).body), c.Says, "%v", c)
	}
}

func TestTLSFiles(t *testing.T) {
	t.Parallel()
	dir, data := t.TempDir(), t.TempDir()
	cert, key := writeCertificate(t, dir, "one")
	_, otherKey := writeCertificate(t, dir, "two")
	p := serve(t, data, "--tls", "files", "--tls-cert", cert, "--tls-key", key)
	chain := must(os.ReadFile(cert))(t)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(chain)
	p.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool,
		MinVersion: tls.VersionTLS12}}}
	p.call("", 200, "GET", "/healthz", "")
	p.stop()

	missing := filepath.Join(dir, "missing.pem")
	for _, c := range []struct {
		cert, key string
		code      int
		want      string
	}{
		{missing, key, exitNotFound, "--tls-cert: open " + missing + ": no such file or directory"},
		{cert, missing, exitNotFound, "--tls-key: open " + missing + ": no such file or directory"},
		{cert, otherKey, exitFailed, "do not belong together"},
		{key, cert, exitFailed, "do not belong together"},
		{dir, key, exitFailed, "is a directory"},
	} {
		says(t, c.code, c.want, "serve", "--data", data, "--listen", "127.0.0.1:0", "--tls", "files",
			"--tls-cert", c.cert, "--tls-key", c.key)
	}
}

// writeCertificate creates a self-signed certificate for 127.0.0.1.
func writeCertificate(t *testing.T, dir, name string) (cert, key string) {
	t.Helper()
	private := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.ParseIP("127.0.0.1")}, IsCA: true, BasicConstraintsValid: true,
	}
	der := must(x509.CreateCertificate(rand.Reader, template, template, private.Public(), private))(t)
	pkcs8 := must(x509.MarshalPKCS8PrivateKey(private))(t)
	cert, key = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+"-key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der},
		key: {Type: "PRIVATE KEY", Bytes: pkcs8}} {
		succeed(t, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
	}
	return cert, key
}

// TestPortInUse: the error names the flag and the address, and the server that has the port is not affected.
func TestPortInUse(t *testing.T) {
	t.Parallel()
	taken := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer taken.Close()
	addr := taken.Addr().String()
	for flag, other := range map[string][]string{"--listen": nil, "--metrics-listen": {"--listen", "127.0.0.1:0"}} {
		want := fmt.Sprintf(`donorbook: %s: cannot listen on %q: bind: address already in use`, flag, addr)
		_, stderr := says(t, exitFailed, want, append([]string{"serve", "--data", t.TempDir(), flag, addr},
			other...)...)
		if strings.Contains(stderr, "serving") || strings.Contains(stderr, "stopped") {
			t.Errorf("%s: the log tells of a server that never ran: %s", flag, stderr)
		}
	}
}
