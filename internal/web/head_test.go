package web

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// eachPort runs a test with a function that connects to a plain port, and with one that connects to a TLS port.
func eachPort(t *testing.T, handler http.Handler, test func(t *testing.T, dial func() net.Conn)) {
	t.Helper()
	for _, mode := range []string{TLSOff, TLSAuto} {
		t.Run(mode, func(t *testing.T) {
			r := start(t, &Server{TLS: TLS{Mode: mode, Dir: t.TempDir()}, Handler: handler})
			test(t, func() (conn net.Conn) {
				conn, err := net.Dial("tcp", r.Main)
				if mode == TLSAuto {
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

// A request with both Content-Length and Transfer-Encoding is refused, whatever the case of its headers and however it arrives,
// and nothing after it is served.
func TestARequestWithTwoEndsIsRefused(t *testing.T) {
	eachPort(t, quietPlumbing().Wrap(echo), func(t *testing.T, dial func() net.Conn) {
		const hidden = "GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n"
		for _, request := range []string{
			"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
			"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nX: y\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + hidden,
			"POST / HTTP/1.1\nhost: localhost\ntransfer-ENCODING:Chunked\ncontent-LENGTH:5\n\n0\r\n\r\n" + hidden,
			"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nX: " + strings.Repeat("y", 9000) + "\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + hidden,
			"POST / HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
		} {
			conn := dial()
			for _, part := range strings.SplitAfter(request, "t") { // each in a packet of its own
				if _, err := io.WriteString(conn, part); err != nil {
					break // it has been refused already
				}
			}
			answer, _ := io.ReadAll(conn)
			_, body, _ := strings.Cut(string(answer), "\r\n\r\n")
			if !strings.Contains(string(answer), " 400 Bad Request\r\n") || !strings.Contains(string(answer), "Connection: close\r\n") ||
				body != `{"message":"The request must not have both Content-Length and Transfer-Encoding."}` {
				t.Errorf("%.120q: %s", request, answer)
			}
		}
	})
}

// Requests with either header may follow each other on one connection, even without waiting for the answer.
func TestRequestsWithOneEndFollowEachOther(t *testing.T) {
	eachPort(t, quietPlumbing().Wrap(echo), func(t *testing.T, dial func() net.Conn) {
		conn, all, want := dial(), "", []string{}
		answers := bufio.NewReader(conn)
		for i := range 6 {
			text := fmt.Sprintf(`{"Content-Length:":"\r\nTransfer-Encoding: %d"}`, i)
			if i%2 == 0 {
				all += fmt.Sprintf("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
			} else {
				all += fmt.Sprintf("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(text), text)
			}
			want = append(want, "="+text)
		}
		if _, err := io.WriteString(conn, all); err != nil {
			t.Fatal(err)
		}
		for _, text := range want {
			response, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err != nil || response.StatusCode != http.StatusOK || string(body) != text {
				t.Fatalf("%d %s, want %s", response.StatusCode, body, text)
			}
		}
	})
}
