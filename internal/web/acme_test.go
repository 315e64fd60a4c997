package web

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// fakeDirectory is an ACME authority that offers nothing.
func fakeDirectory(t *testing.T) string {
	t.Helper()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // no client here trusts its certificate
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

func TestACMEModeSpeaksOnlyForItsHosts(t *testing.T) {
	lines := new(logLines)
	r := start(t, &Server{
		Log: lines.log(), Handler: quietPlumbing().Wrap(answerOK),
		TLS: TLS{
			Mode: TLSACME, Dir: t.TempDir(), ACMEHosts: []string{"donors.example.org"},
			ACMEDirectory: fakeDirectory(t), ACMEHTTP: "127.0.0.1:0",
		},
	})
	if conn, err := tls.Dial("tcp", r.Main, &tls.Config{ServerName: "other.example.org"}); err == nil {
		conn.Close()
		t.Error("a foreign name is answered")
	}
	waitUntil(t, "the log says that there is no certificate", func() bool {
		return strings.Contains(lines.String(), "no certificate from the ACME authority yet")
	})
	resp, body := get(t, http.DefaultClient, "http://"+r.ACME+"/v1/contacts")
	if resp.StatusCode != 400 || body != `{"message":"This service only answers over HTTPS."}` {
		t.Errorf("plain HTTP: %d %s", resp.StatusCode, body)
	}
	for host, status := range map[string]int{"donors.example.org": 404, "donors.example.org:80": 404, "other.example.org": 403} {
		req, err := http.NewRequest("GET", "http://"+r.ACME+"/.well-known/acme-challenge/unknown", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode != status {
			t.Errorf("challenge for %s: %s", host, resp.Status)
		}
	}
}

func TestACMEModeOffersTheProtocols(t *testing.T) {
	s, err := TLS{Mode: TLSACME, Dir: t.TempDir(), ACMEHosts: []string{"donors.example.org"}}.setup(":443", discard())
	if err != nil {
		t.Fatal(err)
	}
	for _, proto := range []string{"h2", "http/1.1", "acme-tls/1"} {
		if !slices.Contains(s.config.NextProtos, proto) {
			t.Errorf("%s is not offered: %v", proto, s.config.NextProtos)
		}
	}
	if s.config.MinVersion != tls.VersionTLS12 {
		t.Errorf("oldest version %x", s.config.MinVersion)
	}
}
