//go:build drill

package deploy_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"donorbook/internal/rig"
	"donorbook/internal/rig/assert"
)

// load sends requests at a steady rate, whether or not earlier ones were answered.
type load struct {
	clients  []*client
	pause    time.Duration
	sent     atomic.Int64
	created  atomic.Int64
	slowest  atomic.Int64
	mu       sync.Mutex
	ids      []int64
	failures []string
	quit     chan struct{}
	group    sync.WaitGroup
}

func startLoad(t *testing.T, clients []*client, rate int) *load {
	l := &load{clients: clients, pause: time.Second / time.Duration(rate), quit: make(chan struct{})}
	l.group.Go(func() {
		tick := time.NewTicker(l.pause)
		defer tick.Stop()
		for {
			select {
			case <-l.quit:
				return
			case <-tick.C:
				l.group.Go(func() { l.request(t, int(l.sent.Add(1))) })
			}
		}
	})
	return l
}

// request is one of a mixture: reads, creates, changes.
func (l *load) request(t *testing.T, n int) {
	c := l.clients[n%len(l.clients)]
	method, path, body := "GET", fmt.Sprintf("/v1/contacts?per_page=10&page=%d", 1+n%7), ""
	l.mu.Lock()
	if len(l.ids) > 0 {
		id := l.ids[n*7%len(l.ids)]
		switch n % 5 {
		case 1:
			path = fmt.Sprintf("/v1/contacts/%d", id)
		case 2:
			method, path, body = "PATCH", fmt.Sprintf("/v1/contacts/%d", id), fmt.Sprintf(`{"company":"Company %d"}`, n)
		}
	}
	l.mu.Unlock()
	isCreate := n%5 >= 3 || n <= 3
	if isCreate {
		method, path = "POST", "/v1/contacts?force_create=true"
		body = fmt.Sprintf(`{"first_name":"Rolling","last_name":"N%d"}`, n)
	}
	start := time.Now()
	a, err := c.send(method, path, body)
	took := int64(time.Since(start))
	for {
		slowest := l.slowest.Load()
		if took <= slowest || l.slowest.CompareAndSwap(slowest, took) {
			break
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil:
		l.failures = append(l.failures, fmt.Sprintf("%s %s: %v", method, path, err))
	case a.status >= 300:
		l.failures = append(l.failures, fmt.Sprintf("%s %s: %s (%s)", method, path, a, a.header.Get("X-Request-Id")))
	case isCreate:
		l.created.Add(1)
		l.ids = append(l.ids, decode[contact](t, a.body).ID)
	}
}

// end stops sending and waits for the last answers.
func (l *load) end() {
	close(l.quit)
	l.group.Wait()
}

// TestRollingRestartLosesNothing restarts both nodes behind nginx, one after the other, as the README says to.
func TestRollingRestartLosesNothing(t *testing.T) {
	t.Parallel()
	database := rig.Database(t)
	_, keys := newKeys(t, database, 6)
	nodes := startNodes(t, 2, database)
	nginx := startNginx(t, nodes)
	var clients []*client
	for i, key := range keys {
		clients = append(clients, nginx.client(t, key, i%2 == 0))
	}
	start := time.Now()
	l := startLoad(t, clients, 150)
	time.Sleep(time.Second)
	for _, n := range nodes {
		before := l.sent.Load()
		n.stop(syscall.SIGTERM)
		if sent := l.sent.Load() - before; sent < 50 { // in more than five seconds
			t.Errorf("only %d requests were sent while a node stopped", sent)
		}
		n.start(t)
		n.waitUntilReady(t)
	}
	time.Sleep(time.Second)
	l.end()
	t.Logf("%d requests in %s, %d contacts created, slowest %s",
		l.sent.Load(), time.Since(start), l.created.Load(), time.Duration(l.slowest.Load()))
	if len(l.failures) > 0 {
		t.Errorf("%d of %d requests failed, such as %s", len(l.failures), l.sent.Load(), l.failures[0])
	}
	access := ""
	if len(l.failures) > 0 {
		access = readFile(t, filepath.Join(nginx.dir, "access.log"))
	}
	for _, f := range l.failures[:min(10, len(l.failures))] {
		t.Log(f)
		for line := range strings.Lines(access) { // which node failed, and how
			_, id, found := strings.Cut(f, "(")
			if found && strings.Contains(line, "request_id="+strings.TrimSuffix(id, ")")) {
				t.Log(line)
			}
		}
	}
	// Nothing that was acknowledged is lost, and nothing was done twice.
	assert.Equal(t, int64(len(clients[0].walk(t, "all", 100))), l.created.Load())
}
