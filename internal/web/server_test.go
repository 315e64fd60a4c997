package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"donorbook/internal/web/certs"
)

func TestServerSpeaksHTTPSWithItsOwnAuthority(t *testing.T) {
	bubble(t, func(t *testing.T, n network) {
		s := &Server{Handler: quietPlumbing().Wrap(one("GET /fine", answerOK)), TLS: certs.Settings{Mode: certs.Auto}}
		n.start(t, s)
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(must(os.ReadFile(filepath.Join(s.TLS.Dir, "tls", "ca.pem")))(t)) {
			t.Fatal("there is no authority")
		}
		n.dial(t, "127.0.0.1") // a silent connection holds nobody up
		for _, host := range []string{"localhost", "127.0.0.1"} {
			resp, body := get(t, n.client(t, &tls.Config{RootCAs: roots}), "https://"+host+"/fine")
			if resp.StatusCode != 200 || body != `{}` || resp.ProtoMajor != 2 {
				t.Errorf("%s: %d %s %s", host, resp.StatusCode, resp.Proto, body)
			}
		}
		if _, err := n.client(t, nil).Get("https://localhost/fine"); err == nil {
			t.Error("a stranger trusts the certificate")
		}
		greeted := func(config *tls.Config) bool {
			return tls.Client(n.dial(t, "127.0.0.1"), config).Handshake() == nil
		}
		old := anyCertificate()
		old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
		if greeted(old) {
			t.Error("TLS 1.1 is spoken")
		}
		// TLS 1.2 uses suites that encrypt and authenticate in one step, and none in CBC mode.
		for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
			newest := suite.SupportedVersions[len(suite.SupportedVersions)-1]
			if newest != tls.VersionTLS12 || !strings.Contains(suite.Name, "ECDHE_ECDSA") {
				continue
			}
			config := anyCertificate()
			config.MaxVersion, config.CipherSuites = tls.VersionTLS12, []uint16{suite.ID}
			modern := strings.Contains(suite.Name, "GCM") || strings.Contains(suite.Name, "POLY1305")
			equal(t, greeted(config), modern, "%s: spoken %t", suite.Name, !modern)
		}
	})
}

func TestPlainHTTPOnTheTLSPort(t *testing.T) {
	bubble(t, func(t *testing.T, n network) {
		lines := new(logLines)
		n.start(t, &Server{
			Log: lines.log(), TLS: certs.Settings{Mode: certs.Auto},
			Handler: quietPlumbing().Wrap(func(http.ResponseWriter, *http.Request) error {
				t.Error("the handler is called")
				return nil
			}),
		})
		resp, body := get(t, n.client(t, nil), "http://main/v1/contacts")
		equal(t, resp.StatusCode, 400)
		contains(t, body, "HTTPS")
		if text := lines.String(); strings.Contains(text, "WARN") {
			t.Errorf("a client that speaks no TLS is a warning in the log: %s", text)
		}
	})
}

// A client that sends half a header, or half a handshake, does not keep its connection.
func TestASlowBeginningIsCutOff(t *testing.T) {
	for mode, beginning := range map[string]string{
		certs.Off:  "GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
		certs.Auto: "\x16\x03\x01\x02\x00\x01",
	} {
		bubble(t, func(t *testing.T, n network) {
			n.start(t, &Server{TLS: certs.Settings{Mode: mode}, Handler: quietPlumbing().Wrap(answerOK)})
			conn, begun := n.dial(t, "127.0.0.1"), time.Now()
			sent(t, conn, beginning)
			equal(t, time.Since(begun), 10*time.Second, "%s: cut off", mode)
		})
	}
}

// Oversized headers are refused, and such as are far too large not even read.
func TestHeadersHaveAnEnd(t *testing.T) {
	bubble(t, func(t *testing.T, n network) {
		n.serve(t, answerOK)
		for size, closed := range map[int]bool{80 << 10: false, 900 << 10: true} {
			r := must(http.NewRequest("GET", "http://main/", nil))(t)
			r.Header.Set("X-Large", strings.Repeat("x", size))
			response, err := n.client(t, nil).Do(r)
			if closed { // perhaps before the client has read the answer
				if err == nil && (response.StatusCode != 431 || !response.Close) {
					t.Errorf("%d bytes: %s", size, response.Status)
				}
				continue
			}
			_, body := read(t)(response, err)
			want := `{"message":"The request headers must not be larger than 64 KiB."}`
			if response.StatusCode != 431 || response.Close || body != want {
				t.Errorf("%d bytes: %s %s", size, response.Status, body)
			}
		}
	})
}

func TestOptionsStarIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, n network) {
		n.serve(t, contactsMux().Serve)
		answer := sent(t, n.dial(t, "127.0.0.1"), "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if !strings.HasPrefix(answer, "HTTP/1.1 404 ") || !strings.HasSuffix(answer, `{"message":"Not found."}`) {
			t.Error(answer)
		}
	})
}

// A request with both Content-Length and Transfer-Encoding may end elsewhere for a proxy than for us: nothing that
// follows it is served.
func TestNothingIsServedAfterARequestWithTwoEnds(t *testing.T) {
	echo := func(w http.ResponseWriter, r *http.Request) error {
		body, err := ReadBody(w, r, 1000)
		if err != nil {
			return err
		}
		return WriteJSON(w, http.StatusOK, append([]byte{'='}, body...))
	}
	for _, mode := range []string{certs.Off, certs.Auto} {
		bubble(t, func(t *testing.T, n network) {
			n.start(t, &Server{TLS: certs.Settings{Mode: mode}, Handler: quietPlumbing().Wrap(echo)})
			for _, request := range []string{
				"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
				"POST / HTTP/1.1\nhost: localhost\ntransfer-ENCODING:Chunked\ncontent-LENGTH:5\n\n0\r\n\r\n",
				"POST / HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			} {
				conn := n.dial(t, "127.0.0.1")
				if mode == certs.Auto {
					conn = tls.Client(conn, anyCertificate())
				}
				answer := sent(t, conn, request+"GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n")
				if strings.Count(answer, "HTTP/1.") != 1 || !strings.Contains(answer, "Connection: close\r\n") {
					t.Errorf("%s %.120q: %s", mode, request, answer)
				}
			}
		})
	}
}

// Long answers are sent in steps. The requests follow each other on one connection, so that a byte that is lost,
// repeated or delayed would also show in the next answer.
func TestAnswersOfEveryLengthArriveWhole(t *testing.T) {
	text := bytes.Repeat([]byte("0123456789abcdef"), 20<<10)
	answer := func(w http.ResponseWriter, r *http.Request) error {
		length, _ := strconv.Atoi(r.URL.Query().Get("length"))
		pieces, _ := strconv.Atoi(r.URL.Query().Get("pieces"))
		if r.URL.Query().Has("told") {
			w.Header().Set("Content-Length", strconv.Itoa(length*pieces))
		}
		for range pieces {
			if _, err := w.Write(text[:length]); err != nil {
				return err
			}
		}
		return nil
	}
	for mode, scheme := range map[string]string{certs.Off: "http://", certs.Auto: "https://"} {
		bubble(t, func(t *testing.T, n network) {
			n.start(t, &Server{TLS: certs.Settings{Mode: mode}, Handler: quietPlumbing().Wrap(answer)})
			client := n.client(t, anyCertificate())
			const step = paceStep
			for _, length := range []int{1, 4000, 4096, 27_000, step - 1, step, step + 1, 3*step + 8192} {
				for query, pieces := range map[string]int{"1&told": 1, "3&told": 3, "1": 1, "3": 3} {
					_, body := get(t, client, scheme+"main/?length="+strconv.Itoa(length)+"&pieces="+query)
					equal(t, body, strings.Repeat(string(text[:length]), pieces),
						"%s: %d bytes, %s: %d bytes came, or others", mode, length, query, len(body))
				}
			}
		})
	}
}

func TestListenAddressThatCannotBeUsed(t *testing.T) {
	busy := must(net.Listen("tcp", "127.0.0.1:0"))(t)
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
		test.server.TLS.Mode, test.server.Log = certs.Off, discard()
		err := test.server.Run(context.Background())
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q does not say %q", fmt.Sprint(err), want)
			}
		}
	}
}

func TestFilesModeServesTheNewCertificate(t *testing.T) {
	bubble(t, func(t *testing.T, n network) {
		cert, key := newCertificate(t, t.TempDir(), "one.example.org")
		n.start(t, &Server{
			TLS:     certs.Settings{Mode: certs.Files, CertFile: cert, KeyFile: key},
			Handler: quietPlumbing().Wrap(answerOK),
		})
		wantName := func(name string) {
			t.Helper()
			conn := tls.Client(n.dial(t, "127.0.0.1"), anyCertificate())
			succeed(t, conn.Handshake())
			if names := conn.ConnectionState().PeerCertificates[0].DNSNames; !slices.Contains(names, name) {
				t.Errorf("a certificate for %v is served, not for %s", names, name)
			}
		}
		wantName("one.example.org")
		newCertificate(t, filepath.Dir(cert), "two.example.org")
		time.Sleep(time.Minute)
		wantName("two.example.org")
	})
}

func TestACMEModeSpeaksOnlyForItsHosts(t *testing.T) {
	directory := httptest.NewUnstartedServer(http.NotFoundHandler()) // an authority that offers nothing
	directory.Config.ErrorLog = log.New(io.Discard, "", 0)           // no client here trusts its certificate
	directory.StartTLS()
	t.Cleanup(directory.Close)
	told := make(chan string, 100)
	r := network(nil).start(t, &Server{
		Log: (&logLines{told: told}).log(), Handler: quietPlumbing().Wrap(answerOK),
		TLS: certs.Settings{
			Mode: certs.ACME, ACMEHosts: []string{"donors.example.org"}, ACMEDirectory: directory.URL,
			ACMEHTTP: "127.0.0.1:0",
		},
	})
	if conn, err := tls.Dial("tcp", r.Main, &tls.Config{ServerName: "other.example.org"}); err == nil {
		conn.Close()
		t.Error("a foreign name is answered")
	}
	for !strings.Contains(<-told, "no certificate from the ACME authority yet") {
	}
	resp, body := get(t, http.DefaultClient, "http://"+r.ACME+"/v1/contacts")
	equal(t, resp.StatusCode, 400, "plain HTTP")
	equal(t, body, `{"message":"This service only answers over HTTPS."}`, "plain HTTP")
	for host, status := range map[string]int{
		"donors.example.org": 404, "donors.example.org:80": 404, "other.example.org": 403,
	} {
		req := must(http.NewRequest("GET", "http://"+r.ACME+"/.well-known/acme-challenge/unknown", nil))(t)
		req.Host = host
		if resp, _ := read(t)(http.DefaultClient.Do(req)); resp.StatusCode != status {
			t.Errorf("challenge for %s: %s", host, resp.Status)
		}
	}
}

func TestStopFinishesRequestsInFlight(t *testing.T) {
	bubble(t, func(t *testing.T, n network) {
		leave := make(chan bool)
		health := new(Health)
		mux := NewMux()
		health.Routes(mux)
		mux.Handle("GET /slow", func(w http.ResponseWriter, r *http.Request) error {
			<-leave
			return errors.Join(r.Context().Err(), answerOK(w, r))
		})
		r := n.start(t, &Server{
			Handler: quietPlumbing().Wrap(mux.Serve), Health: health,
			MetricsListen: "metrics", MetricsHandler: NewMetrics("test").Handler(health),
		})
		ready := func(status int, want string) {
			t.Helper()
			resp, body := get(t, n.client(t, nil), "http://metrics/readyz")
			equal(t, resp.StatusCode, status)
			equal(t, body, want)
		}
		ready(200, `{"status":"ready"}`)
		go func() {
			if resp, _ := get(t, n.client(t, nil), "http://main/slow"); resp.StatusCode != 200 {
				t.Errorf("the request in flight got %s", resp.Status)
			}
		}()
		synctest.Wait()
		r.stop()
		synctest.Wait()
		if n.dial(t, "127.0.0.1") != nil {
			t.Error("the port is open")
		}
		ready(503, `{"message":"The service is stopping."}`)
		leave <- true
		succeed(t, r.ended())
	})
}

func TestStopCutsOffWhatDoesNotEnd(t *testing.T) {
	bubble(t, func(t *testing.T, n network) {
		gone := make(chan bool)
		r := n.serve(t, func(_ http.ResponseWriter, r *http.Request) error {
			<-r.Context().Done()
			close(gone)
			return r.Context().Err()
		})
		go n.client(t, nil).Get("http://main/") //nolint:bodyclose,errcheck // it never answers
		synctest.Wait()
		r.stop()
		if err := r.ended(); err == nil || !strings.Contains(err.Error(), "cut off after 25s") {
			t.Error(err)
		}
		<-gone
	})
}

// Between the delay and the end the port is closed, and open connections are served: a proxy may already have written a
// request to one.
func TestOpenConnectionsAreServedUntilTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T, n network) {
		timeouts := Timeouts{StopDelay: 5 * time.Second}
		r := n.start(t, &Server{Handler: quietPlumbing().Wrap(answerOK), Timeouts: timeouts})
		early := n.dial(t, "127.0.0.1")
		r.stop()
		time.Sleep(4 * time.Second)
		wantServed(t, "before the end of the delay", n.dial(t, "127.0.0.1"), true)
		time.Sleep(time.Second + lastCall/2)
		if n.dial(t, "127.0.0.1") != nil {
			t.Error("the port is open")
		}
		answer := served(early)
		equal(t, strings.HasPrefix(answer, "HTTP/1.1 200 "), true)
		contains(t, answer, "Connection: close\r\n")
		succeed(t, r.ended())
	})
}

// A proxy would keep the connection, and write the next request to it at the moment in which the server closes it.
func TestAnAnswerThatWasAskedForBeforeTheStopClosesItsConnection(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter){
		"a status": func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) },
		"a body":   func(w http.ResponseWriter) { _, _ = io.WriteString(w, "served") },
		"nothing":  func(http.ResponseWriter) {},
	} {
		bubble(t, func(t *testing.T, n network) {
			health := new(Health)
			plumbing := &Plumbing{Log: discard(), Health: health}
			r := n.start(t, &Server{
				Health: health, Timeouts: Timeouts{StopDelay: 10 * time.Second},
				Handler: plumbing.Wrap(func(w http.ResponseWriter, _ *http.Request) error {
					time.Sleep(5 * time.Second)
					answer(w)
					return nil
				}),
			})
			time.AfterFunc(time.Second, r.stop)
			if response, _ := get(t, n.client(t, nil), "http://main/"); !response.Close {
				t.Errorf("%s: the connection stays open", name)
			}
			succeed(t, r.ended())
		})
	}
}
