package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// heldRequest is a request whose body lacks its last byte, so that its handler waits.
type heldRequest struct {
	conn net.Conn
	rest string
}

func holdRequest(p *process, key, body string) *heldRequest {
	p.t.Helper()
	h := &heldRequest{conn: p.dial(), rest: body[len(body)-1:]}
	must(fmt.Fprintf(h.conn, "POST /v1/contacts HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s",
		key, len(body), body[:len(body)-1]))(p.t)
	return h
}

// finish sends the missing byte and returns the status of the answer.
func (h *heldRequest) finish(t *testing.T) int {
	t.Helper()
	if _, err := io.WriteString(h.conn, h.rest); err != nil {
		t.Error(err)
		return 0
	}
	response, err := http.ReadResponse(bufio.NewReader(h.conn), nil)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer response.Body.Close()
	return response.StatusCode
}

// refuses tells whether new connections are refused.
func (p *process) refuses() bool {
	conn, err := net.Dial("tcp", p.addr())
	if err == nil {
		conn.Close()
	}
	return err != nil
}

// scrape reads the metrics as Prometheus does.
func (p *process) scrape() string {
	p.t.Helper()
	response := must(http.Get("http://" + p.metrics + "/metrics"))(p.t)
	defer response.Body.Close()
	text := must(io.ReadAll(response.Body))(p.t)
	return string(text)
}

// TestStopFinishesRequests: on SIGTERM the server answers the requests in flight and accepts no new connections, and nothing that
// was acknowledged is lost.
func TestStopFinishesRequests(t *testing.T) { eachEngine(t, stopFinishesRequests) }

func stopFinishesRequests(t *testing.T, e engine) {
	data := e.data(t)
	_, key := newKey(t, data)
	p := serve(t, data, "--rate-limit", "0", "--metrics-listen", "127.0.0.1:0")
	const held = 5
	conns := make([]*heldRequest, held)
	for i := range conns {
		conns[i] = holdRequest(p, key, fmt.Sprintf(`{"first_name":"Held","last_name":"%d","tags":["held"]}`, i))
	}
	p.waitFor("the requests to be in flight", func() bool {
		return strings.Contains(p.scrape(), fmt.Sprintf("donorbook_http_requests_in_flight %d\n", held))
	})
	w := &worker{name: "busy"}
	var acknowledged atomic.Int64
	var group sync.WaitGroup
	group.Go(func() { w.work(t, p, key, &acknowledged) })
	p.waitFor("some writes", func() bool { return acknowledged.Load() > 10 || t.Failed() })

	p.signal(syscall.SIGTERM)
	group.Wait()
	p.waitFor("the port to close", p.refuses)
	for i, c := range conns {
		if status := c.finish(t); status != http.StatusCreated {
			t.Errorf("request %d, in flight when the server was told to stop, was answered with %d", i, status)
		}
	}
	p.ended(exitOK)
	if !strings.Contains(p.stderr.String(), "msg=stopped") || !setUpLink.MatchString(p.stdout.String()) {
		t.Errorf("stdout %q, stderr\n%s", &p.stdout, &p.stderr)
	}

	p = serve(t, data)
	there := map[int64]bool{}
	n := 0
	for _, c := range p.contacts(key, "all") {
		there[c.ID] = true
		if slices.Contains(c.Tags, "held") {
			n++
		}
	}
	if n != held {
		t.Errorf("%d of %d requests that were in flight are there", n, held)
	}
	for _, who := range w.people {
		if !there[who.id] {
			t.Errorf("contact %d was acknowledged and is lost", who.id)
		}
	}
	p.stop()
}

// TestStopDelay: /readyz tells a load balancer to send no more requests, while the server still answers all of them.
func TestStopDelay(t *testing.T) {
	t.Parallel()
	data := onlySQLite(t)
	_, key := newKey(t, data)
	p := serve(t, data, "--stop-delay", "1500ms")
	p.call("", http.StatusOK, "GET", "/readyz", "")
	if told, code := p.health(); code != exitOK || told != "ready\n" {
		t.Errorf("donorbook health: exit %d, %s", code, told)
	}
	start := time.Now()
	p.signal(syscall.SIGTERM)
	p.waitFor("/readyz to say no", func() bool {
		a, err := p.send("", "GET", "/readyz", "")
		return err == nil && a.status == http.StatusServiceUnavailable
	})
	p.call(key, http.StatusOK, "GET", "/v1/contacts", "")
	p.call("", http.StatusOK, "GET", "/healthz", "")
	if told, code := p.health(); code != exitFailed || !strings.Contains(told, "503 Service Unavailable") || !strings.Contains(told, "The service is stopping.") {
		t.Errorf("donorbook health while it stops: exit %d, %s", code, told)
	}
	p.ended(exitOK)
	if told, code := p.health(); code != exitFailed || !strings.Contains(told, "no answer at 127.0.0.1:") {
		t.Errorf("donorbook health after it: exit %d, %s", code, told)
	}
	if log := p.stderr.String(); strings.Contains(log, "level=ERROR") {
		t.Errorf("a stop that was asked for is told as an error:\n%s", log)
	}
	if took := time.Since(start); took < 1500*time.Millisecond {
		t.Errorf("the server ended after %s, before the delay was over", took)
	}
}

// health asks the server as the health check of a container does.
func (p *process) health(args ...string) (told string, code int) {
	var out bytes.Buffer
	_, address, _ := strings.Cut(p.url, "://")
	code = run(p.t.Context(), append([]string{"health", "--listen", address}, args...), nil, &out, &out)
	return out.String(), code
}

// TestSecondSignal: a person who presses Ctrl-C twice does not want to wait for a slow client.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	data := onlySQLite(t)
	_, key := newKey(t, data)
	p := serve(t, data, "--metrics-listen", "127.0.0.1:0")
	holdRequest(p, key, `{"first_name":"Slow","last_name":"Client"}`)
	p.waitFor("the request to be in flight", func() bool {
		return strings.Contains(p.scrape(), "donorbook_http_requests_in_flight 1\n")
	})
	p.signal(syscall.SIGINT)
	p.waitFor("the port to close", p.refuses)
	p.signal(syscall.SIGINT)
	p.ended(-1) // ended by the signal
}
