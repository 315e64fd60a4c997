package web

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"donorbook/internal/web/certs"
)

// eachPort runs a test with a function that connects to a plain port, and with one that connects to a TLS port.
func eachPort(t *testing.T, handler http.Handler, test func(t *testing.T, dial func() net.Conn)) {
	t.Helper()
	for _, mode := range []string{certs.Off, certs.Auto} {
		t.Run(mode, func(t *testing.T) {
			r := start(t, &Server{TLS: certs.Settings{Mode: mode, Dir: t.TempDir()}, Handler: handler})
			test(t, func() (conn net.Conn) {
				conn, err := net.Dial("tcp", r.Main)
				if mode == certs.Auto {
					conn, err = tls.Dial("tcp", r.Main, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // only what is sent matters
				}
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { conn.Close() })
				_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
				return conn
			})
		})
	}
}

// echo answers with the body.
func echo(w http.ResponseWriter, r *http.Request) error {
	body, err := ReadBody(w, r, 1000)
	if err != nil {
		return err
	}
	return WriteJSON(w, http.StatusOK, append([]byte{'='}, body...))
}

// A request with both Content-Length and Transfer-Encoding may end elsewhere for a proxy than for us: nothing that follows it is served.
func TestNothingIsServedAfterARequestWithTwoEnds(t *testing.T) {
	eachPort(t, quietPlumbing().Wrap(echo), func(t *testing.T, dial func() net.Conn) {
		for _, request := range []string{
			"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			"POST / HTTP/1.1\nhost: localhost\ntransfer-ENCODING:Chunked\ncontent-LENGTH:5\n\n0\r\n\r\n",
			"POST / HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		} {
			conn := dial()
			if _, err := io.WriteString(conn, request+"GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			answer, _ := io.ReadAll(conn)
			if strings.Count(string(answer), "HTTP/1.") != 1 || !strings.Contains(string(answer), "Connection: close\r\n") {
				t.Errorf("%.120q: %s", request, answer)
			}
		}
	})
}

// Long answers are sent in steps. The requests follow each other on one connection, so that a
// byte that is lost, repeated or delayed would also show in the next answer.
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
	for _, mode := range []string{certs.Off, certs.Auto} {
		s := start(t, &Server{TLS: certs.Settings{Mode: mode, Dir: t.TempDir()}, Handler: quietPlumbing().Wrap(answer)})
		scheme := map[string]string{certs.Off: "http://", certs.Auto: "https://"}[mode]
		client := &http.Client{Transport: &http.Transport{
			MaxConnsPerHost: 1, DisableCompression: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // only what is sent matters
		}}
		defer client.CloseIdleConnections()
		for _, length := range []int{1, 4000, 4096, 27_000, paceStep - 1, paceStep, paceStep + 1, 3*paceStep + 8192} {
			for _, query := range []string{"&pieces=1&told", "&pieces=3&told", "&pieces=1", "&pieces=3"} {
				_, body := get(t, client, scheme+s.Main+"/?length="+strconv.Itoa(length)+query)
				if pieces := 1 + 2*strings.Count(query, "3"); body != strings.Repeat(string(text[:length]), pieces) {
					t.Errorf("%s: %d bytes%s: %d bytes came, or others", mode, length, query, len(body))
				}
			}
		}
	}
}
