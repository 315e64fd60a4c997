package web

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"donorbook/internal/web/certs"
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
		TLS: certs.Settings{
			Mode: certs.ACME, Dir: t.TempDir(), ACMEHosts: []string{"donors.example.org"},
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
