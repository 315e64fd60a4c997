package web

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"donorbook/internal/rig"
	"donorbook/internal/web/certs"
)

// limited starts a server with limits of connections.
func (n network) limited(t *testing.T, mode string, all, perAddress int, trusted string, handle HandlerFunc) {
	t.Helper()
	proxies, metrics := must(NewProxies([]string{trusted}, ""))(t), NewMetrics("test")
	n.start(t, &Server{
		TLS: certs.Settings{Mode: mode}, Handler: quietPlumbing().Wrap(handle),
		Connections:   NewConnections(all, perAddress, proxies, metrics),
		MetricsListen: "metrics", MetricsHandler: metrics.Handler(new(Health)),
	})
}

// One address cannot take the connections of others, and can open a new connection for each one that it closes.
func TestConnectionsOfOneAddressAreLimited(t *testing.T) {
	bubble(t, func(t *testing.T, n network) {
		n.limited(t, certs.Off, 0, 2, "none", answerOK)
		first := n.dial(t, "192.0.2.1")
		wantServed(t, "the first", first, true)
		wantServed(t, "the second", n.dial(t, "192.0.2.1"), true)
		wantServed(t, "another address", n.dial(t, "192.0.2.2"), true)
		refused := n.dial(t, "192.0.2.1")
		answer, _ := io.ReadAll(refused)
		for _, want := range []string{
			"HTTP/1.1 503 ", "\r\nRetry-After: 5\r\n", "\r\nConnection: close\r\n",
			`{"message":"Too many connections are open. Please try again in a moment."}`,
		} {
			contains(t, string(answer), want, "the third: %s", answer)
		}
		first.Close()
		synctest.Wait()
		wantServed(t, "one more, when the first is closed", n.dial(t, "192.0.2.1"), true)
		_, body := get(t, n.client(t, nil), "http://metrics/metrics")
		contains(t, body, `donorbook_connections_refused_total{limit="address"} 1`+"\n",
			"the metrics do not tell about it")
	})
}

// A trusted proxy sends the requests of many clients, so only the limit on all connections applies to it.
func TestConnectionsOfATrustedProxyAreLimitedInAll(t *testing.T) {
	bubble(t, func(t *testing.T, n network) {
		n.limited(t, certs.Off, 3, 1, "127.0.0.1", answerOK)
		for range 3 {
			wantServed(t, "the proxy", n.dial(t, "127.0.0.1"), true)
		}
		answer, _ := io.ReadAll(n.dial(t, "192.0.2.2"))
		if !strings.HasPrefix(string(answer), "HTTP/1.1 503 ") {
			t.Errorf("number 4: %s", answer)
		}
	})
}

// Over TLS, a connection over the limit is closed before the handshake.
func TestASecureConnectionTooManyIsClosed(t *testing.T) {
	bubble(t, func(t *testing.T, n network) {
		n.limited(t, certs.Auto, 0, 1, "none", answerOK)
		dial := func() *tls.Conn { return tls.Client(n.dial(t, "192.0.2.1"), anyCertificate()) }
		first := dial()
		wantServed(t, "the first", first, true)
		if dial().Handshake() == nil {
			t.Error("the second is greeted")
		}
		first.Close()
		synctest.Wait()
		succeed(t, dial().Handshake())
	})
}

// An HTTP/2 request counts as a connection: one connection cannot carry what many connections are refused for.
func TestRequestsOfHTTP2CountLikeConnections(t *testing.T) {
	bubble(t, func(t *testing.T, n network) {
		release := make(chan struct{})
		n.limited(t, certs.Auto, 0, 5, "none", func(w http.ResponseWriter, r *http.Request) error {
			if r.URL.Path == "/wait" {
				<-release
			}
			return answerOK(w, r)
		})
		client := n.client(t, anyCertificate())
		want := func(path string, status int) {
			response, _ := get(t, client, "https://main"+path)
			retry := response.Header.Get("Retry-After") != ""
			if response.StatusCode != status || response.ProtoMajor != 2 || retry != (status == 503) {
				t.Errorf("%s is answered with %+v", path, response)
			}
		}
		want("/", 200)
		var group sync.WaitGroup
		for range 4 { // with their connection, the maximum for the address
			group.Go(func() { want("/wait", 200) })
		}
		synctest.Wait()
		want("/", 503)
		close(release)
		group.Wait()
		want("/", 200)
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
	equal(t, NewConnections(20, 0, nil, nil).Max(), 20, "20 connections")
}

// Connections that wait for being accepted when the port closes are served, and those that come while it does: a
// proxy in front has already written to them.
func TestConnectionsThatWaitAtThePortAreServed(t *testing.T) {
	tcp := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	connect := func(n int) {
		for range n {
			conn := must(net.Dial("tcp", tcp.Addr().String()))(t)
			t.Cleanup(func() { conn.Close() })
		}
	}
	connect(20)
	l := newLimitedListener(tcp, NewConnections(0, 0, nil, nil), false, discard())
	l.within = rig.Patience
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		l.drain()
	}()
	l.last <- <-l.last // its own connection has been made
	connect(5)
	for n := 0; ; n++ {
		if n == 21 {
			<-drained
		}
		conn, err := l.Accept()
		if err != nil {
			equal(t, n, 25)
			break
		}
		defer conn.Close()
	}
}
