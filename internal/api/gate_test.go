package api_test

import (
	"fmt"
	"net/http"
	"runtime"
	"testing"
)

// nowhere takes an answer and costs nothing.
type nowhere struct {
	header http.Header
	status int
}

func (n *nowhere) Header() http.Header         { return n.header }
func (n *nowhere) WriteHeader(status int)      { n.status = status }
func (n *nowhere) Write(b []byte) (int, error) { return len(b), nil }

// What a request may allocate between the plumbing and the store, all of it counted.
func TestReadingAContactAllocatesLittle(t *testing.T) {
	s := newServer(t, openStore(t), settings{})
	key := s.anyKey(t)
	var id string
	for i := range 20 {
		id = idOf(t, s.ask(t, "POST", "/v1/contacts", key, fmt.Sprintf(`{"first_name":"Ana","last_name":"Okafor",
			"company":"Blue Heron Books","title":"Director of Development",
			"emails":[{"type":"personal","value":"p%d@example.org"},{"type":"work","value":"w%[1]d@example.com"}],
			"addresses":[{"address_1":"12 Harbor Street","city":"Boston","state":"MA","zipcode":"02110","country":"USA"}],
			"tags":["newsletter","gala 2026","volunteer"]}`, i)).body)
	}
	for _, test := range []struct {
		path               string
		allocations, bytes float64
	}{
		{"/v1/contacts/" + id, 15, 1000},
		{"/v1/contacts", 27, 2500},
	} {
		r := s.request(t, "GET", test.path, key, "")
		r.RemoteAddr = "127.0.0.1:1"
		w := &nowhere{header: http.Header{}}
		ask := func() {
			clear(w.header)
			s.handler.ServeHTTP(w, r)
		}
		const runs = 1000
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		allocations := testing.AllocsPerRun(runs-1, ask) // and one for practice
		runtime.ReadMemStats(&after)
		bytes := float64(after.TotalAlloc-before.TotalAlloc) / runs
		t.Logf("GET %s: %.0f allocations and %.0f bytes", test.path, allocations, bytes)
		if w.status != 200 || allocations > test.allocations || bytes > test.bytes {
			t.Errorf("GET %s: %d, %.0f allocations and %.0f bytes, may take %.0f and %.0f: look for what became a copy, "+
				"a closure or an interface between web.Plumbing and the store",
				test.path, w.status, allocations, bytes, test.allocations, test.bytes)
		}
	}
}
