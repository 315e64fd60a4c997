package web

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/web/certs"
)

// running is a server under test.
type running struct {
	Addresses
	stop func()
	done chan error
}

func start(t *testing.T, s *Server) *running {
	t.Helper()
	if s.Listen == "" {
		s.Listen = "127.0.0.1:0"
	}
	if s.Log == nil {
		s.Log = discard()
	}
	if s.TLS.Mode == "" {
		s.TLS.Dir = t.TempDir()
	}
	ctx, cancel := context.WithCancel(context.Background())
	up := make(chan Addresses, 1)
	s.Listening = func(a Addresses) { up <- a }
	r := &running{stop: cancel, done: make(chan error, 1)}
	go func() { r.done <- s.Run(ctx) }()
	select {
	case r.Addresses = <-up:
	case err := <-r.done:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		<-r.done
	})
	return r
}

// ended is how Run returned; it may be called more than once.
func (r *running) ended(t *testing.T) error {
	t.Helper()
	select {
	case err := <-r.done:
		r.done <- err
		return err
	case <-time.After(5 * time.Second):
		t.Fatal("the server does not stop")
		return nil
	}
}

// trusting is a client that trusts the authority of a data directory, as curl --cacert does.
func trusting(t *testing.T, data string) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	authority, err := os.ReadFile(filepath.Join(data, "tls", "ca.pem"))
	if err != nil || !roots.AppendCertsFromPEM(authority) {
		t.Fatal("there is no authority: ", err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func get(t *testing.T, client *http.Client, url string) (*http.Response, string) {
	t.Helper()
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func TestServerSpeaksHTTPSWithItsOwnAuthority(t *testing.T) {
	s := &Server{Handler: quietPlumbing().Wrap(one("GET /fine", answerOK))}
	r := start(t, s)
	_, port, _ := net.SplitHostPort(r.Main)
	for _, host := range []string{"localhost", "127.0.0.1"} {
		resp, body := get(t, trusting(t, s.TLS.Dir), "https://"+net.JoinHostPort(host, port)+"/fine")
		if resp.StatusCode != 200 || body != `{}` || resp.ProtoMajor != 2 {
			t.Errorf("%s: %d %s %s", host, resp.StatusCode, resp.Proto, body)
		}
	}
	if _, err := http.Get("https://" + r.Main + "/fine"); err == nil {
		t.Error("a stranger trusts the certificate")
	}
	old := &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10} //nolint:gosec // what must not work
	if conn, err := tls.Dial("tcp", r.Main, old); err == nil {
		conn.Close()
		t.Error("TLS 1.1 is spoken")
	}
}

// TLS 1.2 uses suites that encrypt and authenticate in one step, and none in CBC mode.
func TestNoSuiteInCBCMode(t *testing.T) {
	r := start(t, &Server{Handler: quietPlumbing().Wrap(answerOK)})
	for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		if suite.SupportedVersions[len(suite.SupportedVersions)-1] != tls.VersionTLS12 || !strings.Contains(suite.Name, "ECDHE_ECDSA") {
			continue
		}
		config := &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite.ID}} //nolint:gosec // only the suite is looked at
		conn, err := tls.Dial("tcp", r.Main, config)
		if err == nil {
			conn.Close()
		}
		if modern := strings.Contains(suite.Name, "GCM") || strings.Contains(suite.Name, "POLY1305"); modern != (err == nil) {
			t.Errorf("%s: %v", suite.Name, err)
		}
	}
}

func TestPlainHTTPOnTheTLSPort(t *testing.T) {
	lines := new(logLines)
	r := start(t, &Server{Log: lines.log(), Handler: quietPlumbing().Wrap(func(http.ResponseWriter, *http.Request) error {
		t.Error("the handler is called")
		return nil
	})})
	if resp, body := get(t, http.DefaultClient, "http://"+r.Main+"/v1/contacts"); resp.StatusCode != 400 || !strings.Contains(body, "HTTPS") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if text := lines.String(); strings.Contains(text, "WARN") {
		t.Errorf("a client that speaks no TLS is a warning in the log: %s", text)
	}
}

func TestSilentConnectionHoldsNobodyUp(t *testing.T) {
	s := &Server{Handler: quietPlumbing().Wrap(answerOK)}
	r := start(t, s)
	silent, err := net.Dial("tcp", r.Main)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if resp, _ := get(t, trusting(t, s.TLS.Dir), "https://"+r.Main+"/"); resp.StatusCode != 200 {
		t.Error(resp.Status)
	}
}

// A client that sends half a header, or half a handshake, does not keep its connection.
func TestASlowBeginningIsCutOff(t *testing.T) {
	t.Parallel()
	for mode, beginning := range map[string]string{certs.Off: "GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", certs.Auto: "\x16\x03\x01\x02\x00\x01"} {
		r := start(t, &Server{
			TLS: certs.Settings{Mode: mode, Dir: t.TempDir()}, Handler: quietPlumbing().Wrap(answerOK),
			Timeouts: Timeouts{ReadHeader: 100 * time.Millisecond},
		})
		conn, err := net.Dial("tcp", r.Main)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		io.WriteString(conn, beginning)
		conn.SetReadDeadline(time.Now().Add(5 * time.Second))
		if _, err := io.ReadAll(conn); err != nil {
			t.Errorf("%s: not cut off: %v", mode, err)
		}
	}
}

func TestHeaderThatIsTooLarge(t *testing.T) {
	t.Parallel()
	r := start(t, &Server{TLS: certs.Settings{Mode: certs.Off}, Handler: quietPlumbing().Wrap(answerOK)})
	req, err := http.NewRequest("GET", "http://"+r.Main+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Large", strings.Repeat("x", 80<<10))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if want := `{"message":"The request headers must not be larger than 64 KiB."}`; err != nil || resp.StatusCode != 431 || string(body) != want {
		t.Errorf("%s %s %v", resp.Status, body, err)
	}
}

func TestStopFinishesRequestsInFlight(t *testing.T) {
	entered, leave := make(chan bool), make(chan bool)
	health := new(Health)
	mux := NewMux()
	health.Routes(mux)
	mux.Handle("GET /slow", func(w http.ResponseWriter, r *http.Request) error {
		entered <- true
		<-leave
		return errors.Join(r.Context().Err(), answerOK(w, r))
	})
	r := start(t, &Server{
		TLS: certs.Settings{Mode: certs.Off}, Handler: quietPlumbing().Wrap(mux.Serve), Health: health,
		MetricsListen: "127.0.0.1:0", MetricsHandler: NewMetrics("test").Handler(health),
	})
	if resp, body := get(t, http.DefaultClient, "http://"+r.Metrics+"/readyz"); resp.StatusCode != 200 || body != `{"status":"ready"}` {
		t.Errorf("ready: %d %s", resp.StatusCode, body)
	}
	answered := make(chan string)
	go func() {
		resp, err := http.Get("http://" + r.Main + "/slow")
		if err != nil {
			answered <- err.Error()
			return
		}
		resp.Body.Close()
		answered <- resp.Status
	}()
	<-entered
	r.stop()
	waitUntil(t, "the listener closes", func() bool {
		conn, err := net.Dial("tcp", r.Main)
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	if resp, body := get(t, http.DefaultClient, "http://"+r.Metrics+"/readyz"); resp.StatusCode != 503 || body != `{"message":"The service is stopping."}` {
		t.Errorf("stopping: %d %s", resp.StatusCode, body)
	}
	leave <- true
	if got := <-answered; got != "200 OK" {
		t.Errorf("the request in flight got %s", got)
	}
	if err := r.ended(t); err != nil {
		t.Error(err)
	}
}

func waitUntil(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what + ": never")
		}
	}
}

func TestStopCutsOffWhatDoesNotEnd(t *testing.T) {
	entered, gone := make(chan bool), make(chan bool)
	r := start(t, &Server{
		TLS: certs.Settings{Mode: certs.Off}, Timeouts: Timeouts{Stop: 100 * time.Millisecond},
		Handler: quietPlumbing().Wrap(func(_ http.ResponseWriter, r *http.Request) error {
			entered <- true
			<-r.Context().Done()
			close(gone)
			return r.Context().Err()
		}),
	})
	go http.Get("http://" + r.Main + "/") //nolint:bodyclose,errcheck // it never answers
	<-entered
	r.stop()
	if err := r.ended(t); err == nil || !strings.Contains(err.Error(), "cut off after 100ms") {
		t.Error(err)
	}
	<-gone
}

func TestListenAddressThatCannotBeUsed(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	taken := busy.Addr().String()
	for _, test := range []struct {
		server Server
		want   []string
	}{
		{Server{Listen: taken}, []string{"--listen", taken, "address already in use"}},
		{Server{Listen: "nonsense"}, []string{"--listen", "nonsense", "missing port"}},
		{Server{Listen: "127.0.0.1:0", MetricsListen: taken}, []string{"--metrics-listen", taken}},
	} {
		test.server.TLS.Mode = certs.Off
		test.server.Log = discard()
		err := test.server.Run(context.Background())
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q does not say %q", fmt.Sprint(err), want)
			}
		}
	}
}

// newCertificate puts a certificate for a name into two files, as a renewal would.
func newCertificate(t *testing.T, dir, name string) (cert, key string) {
	t.Helper()
	made := t.TempDir()
	if _, err := (certs.Settings{Mode: certs.Auto, Dir: made, Names: []string{name}}).Open("localhost:0", discard()); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"cert.pem", "key.pem"} {
		text, err := os.ReadFile(filepath.Join(made, "tls", file))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
}

func TestFilesModeServesTheNewCertificate(t *testing.T) {
	t.Parallel()
	cert, key := newCertificate(t, t.TempDir(), "one.example.org")
	r := start(t, &Server{
		TLS: certs.Settings{Mode: certs.Files, CertFile: cert, KeyFile: key}, Handler: quietPlumbing().Wrap(answerOK),
	})
	serves := func(name string) bool {
		conn, err := tls.Dial("tcp", r.Main, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // only the name is looked at
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return slices.Contains(conn.ConnectionState().PeerCertificates[0].DNSNames, name)
	}
	if !serves("one.example.org") {
		t.Error("the certificate of the files is not served")
	}
	newCertificate(t, filepath.Dir(cert), "two.example.org")
	waitUntil(t, "the new certificate is served", func() bool { return serves("two.example.org") })
}

func TestOptionsStarIsRefused(t *testing.T) {
	r := start(t, &Server{TLS: certs.Settings{Mode: certs.Off}, Handler: quietPlumbing().Wrap(contactsMux().Serve)})
	conn, err := net.Dial("tcp", r.Main)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != 404 || string(body) != `{"message":"Not found."}` {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}
