package web

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"donorbook/internal/web/certs"
)

// connectFrom opens a connection from an address of this machine.
func connectFrom(t *testing.T, from, to string) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := dialer.Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	return conn
}

// served requests a page and keeps the connection. The answer is "" if the connection was closed without an answer.
func served(t *testing.T, conn net.Conn) string {
	t.Helper()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		return ""
	}
	answer := make([]byte, 4096)
	n, _ := conn.Read(answer)
	return string(answer[:n])
}

func limitedServer(t *testing.T, mode string, all, perAddress int, trusted string) (*running, *Metrics) {
	t.Helper()
	proxies, err := NewProxies([]string{trusted}, "")
	if err != nil {
		t.Fatal(err)
	}
	metrics := NewMetrics("test")
	return start(t, &Server{
		TLS: certs.Settings{Mode: mode, Dir: t.TempDir()}, Handler: quietPlumbing().Wrap(answerOK),
		Connections: NewConnections(all, perAddress, proxies, metrics), MetricsListen: "127.0.0.1:0", MetricsHandler: metrics.Handler(new(Health)),
	}), metrics
}

// One address cannot take the connections of others, and can open a new connection for each one that it closes.
func TestConnectionsOfOneAddressAreLimited(t *testing.T) {
	r, _ := limitedServer(t, certs.Off, 0, 2, "none")
	first, second := connectFrom(t, "127.0.0.1", r.Main), connectFrom(t, "127.0.0.1", r.Main)
	for _, conn := range []net.Conn{first, second, connectFrom(t, "127.0.0.2", r.Main)} {
		if answer := served(t, conn); !strings.HasPrefix(answer, "HTTP/1.1 200 ") {
			t.Errorf("%s: %s", conn.LocalAddr(), answer)
		}
	}
	refused := connectFrom(t, "127.0.0.1", r.Main)
	answer := served(t, refused)
	if !strings.HasPrefix(answer, "HTTP/1.1 503 ") || !strings.Contains(answer, "\r\nRetry-After: 5\r\n") || !strings.HasSuffix(answer, `{"message":"Too many connections are open. Please try again in a moment."}`) {
		t.Errorf("the third: %s", answer)
	}
	if rest, err := io.ReadAll(refused); len(rest) > 0 || err != nil {
		t.Errorf("the third stays open: %q %v", rest, err)
	}
	first.Close()
	waitUntil(t, "a place is free", func() bool {
		return strings.HasPrefix(served(t, connectFrom(t, "127.0.0.1", r.Main)), "HTTP/1.1 200 ")
	})
	if _, body := get(t, http.DefaultClient, "http://"+r.Metrics+"/metrics"); !strings.Contains(body, `donorbook_connections_refused_total{limit="address"} `) {
		t.Error("the metrics do not tell about it")
	}
}

// A trusted proxy sends the requests of many clients, so only the limit on all connections applies to it.
func TestConnectionsOfATrustedProxyAreLimitedInAll(t *testing.T) {
	r, _ := limitedServer(t, certs.Off, 3, 1, "127.0.0.1")
	for i := range 3 {
		if answer := served(t, connectFrom(t, "127.0.0.1", r.Main)); !strings.HasPrefix(answer, "HTTP/1.1 200 ") {
			t.Errorf("number %d: %s", i+1, answer)
		}
	}
	if answer := served(t, connectFrom(t, "127.0.0.2", r.Main)); !strings.HasPrefix(answer, "HTTP/1.1 503 ") {
		t.Errorf("number 4: %s", answer)
	}
}

// Over TLS, a connection over the limit is closed before the handshake.
func TestASecureConnectionTooManyIsClosed(t *testing.T) {
	r, _ := limitedServer(t, certs.Auto, 0, 1, "none")
	config := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // only whether it is greeted matters
	first := tls.Client(connectFrom(t, "127.0.0.1", r.Main), config)
	if answer := served(t, first); !strings.HasPrefix(answer, "HTTP/1.1 200 ") {
		t.Fatal(answer)
	}
	if err := tls.Client(connectFrom(t, "127.0.0.1", r.Main), config).Handshake(); err == nil {
		t.Error("the second is greeted")
	}
	first.Close()
	waitUntil(t, "a place is free", func() bool {
		return tls.Client(connectFrom(t, "127.0.0.1", r.Main), config).Handshake() == nil
	})
}

// There are never more connections than file descriptors, and some are reserved for the server itself.
func TestConnectionsLeaveFileDescriptors(t *testing.T) {
	files := fileLimit()
	for _, all := range []int{0, files, files - 1} {
		if got := NewConnections(all, 0, nil, nil).Max(); got <= 0 || got > files-32 {
			t.Errorf("%d connections wanted: %d allowed with %d file descriptors", all, got, files)
		}
	}
	if got := NewConnections(20, 0, nil, nil).Max(); got != 20 {
		t.Errorf("20 connections wanted: %d", got)
	}
}
