package web

import (
	"bytes"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// Each length makes net/http send its buffer at a different moment. The requests follow each other on one connection, so that a
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
	for _, mode := range []string{TLSOff, TLSAuto} {
		s := start(t, &Server{TLS: TLS{Mode: mode, Dir: t.TempDir()}, Handler: quietPlumbing().Wrap(answer)})
		scheme := map[string]string{TLSOff: "http://", TLSAuto: "https://"}[mode]
		client := &http.Client{Transport: &http.Transport{
			MaxConnsPerHost: 1, DisableCompression: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // only what is sent matters
		}}
		defer client.CloseIdleConnections()
		for _, length := range []int{1, httpBuffer - 200, httpBuffer, joinFrom - 1, joinFrom, joinFrom + 1, 27_000, paceStep - 1, paceStep, paceStep + 1, 3*paceStep + joinFrom} {
			for _, query := range []string{"&pieces=1&told", "&pieces=3&told", "&pieces=1", "&pieces=3"} {
				_, body := get(t, client, scheme+s.Main+"/?length="+strconv.Itoa(length)+query)
				if pieces := 1 + 2*strings.Count(query, "3"); body != strings.Repeat(string(text[:length]), pieces) {
					t.Errorf("%s: %d bytes%s: %d bytes came, or others", mode, length, query, len(body))
				}
			}
		}
	}
}

// recorder is a connection that keeps what is written to it, until it fails.
type recorder struct {
	net.Conn
	bytes.Buffer
	err error
}

func (r *recorder) CloseWrite() error          { return nil }
func (r *recorder) Read(b []byte) (int, error) { return r.Conn.Read(b) }
func (r *recorder) Write(b []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	return r.Buffer.Write(b)
}

func TestNothingIsLeftWaiting(t *testing.T) {
	for _, broken := range []error{nil, errors.New("broken")} {
		to := &recorder{err: broken}
		c := &plainConn{stream: to}
		n, err := c.joined(func() (int, error) { return c.Write([]byte("the beginning")) })
		if n != len("the beginning") || !errors.Is(err, broken) {
			t.Errorf("%d bytes, %v, want %v", n, err, broken)
		}
		if broken == nil && to.String() != "the beginning" || c.first != nil || c.joins {
			t.Errorf("%q was sent", to.String())
		}
		if _, err := c.Write([]byte(", the end")); !errors.Is(err, broken) || broken == nil && to.String() != "the beginning, the end" {
			t.Errorf("%q was sent, %v", to.String(), err)
		}
	}
}
