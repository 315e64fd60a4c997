package web

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Metrics counts requests, and tells Prometheus in its text format. A nil *Metrics counts nothing.
type Metrics struct {
	version  string
	inFlight atomic.Int64

	mu        sync.RWMutex
	series    map[seriesKey]series
	requests  map[string]*atomic.Uint64 // by labels
	durations map[string]*histogram     // by labels
	others    []func() family
}

// seriesKey can take as many values as there are routes, known methods and statuses: none of it is in a client's hand.
type seriesKey struct {
	method, pattern string
	status          int
}

// series is where a request of one kind is counted, looked up once and kept.
type series struct {
	requests *atomic.Uint64
	duration *histogram
}

// NewMetrics makes metrics of HTTP, of the Go runtime and of the process.
func NewMetrics(version string) *Metrics {
	return &Metrics{
		version:   version,
		series:    make(map[seriesKey]series),
		requests:  make(map[string]*atomic.Uint64),
		durations: make(map[string]*histogram),
	}
}

// Counters adds a counter of another room, one for each value of a label, in that order.
func (m *Metrics) Counters(name, help, label string, values ...string) []*atomic.Uint64 {
	counters := make(map[string]*atomic.Uint64, len(values))
	var inOrder []*atomic.Uint64
	for _, value := range values {
		counter := new(atomic.Uint64)
		counters[labels(label, value)] = counter
		inOrder = append(inOrder, counter)
	}
	if m == nil {
		return inOrder
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.others = append(m.others, func() family { return counterFamily(name, help, counters) })
	return inOrder
}

// Gauge adds a number of another room, which is asked for whenever the metrics are read.
func (m *Metrics) Gauge(name, help string, read func() float64) {
	m.Gauges(name, help, "", func() map[string]float64 { return map[string]float64{"": read()} })
}

// Gauges adds numbers of another room, by the values of a label. A number that is not known now is left out.
func (m *Metrics) Gauges(name, help, label string, read func() map[string]float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.others = append(m.others, func() family {
		f := family{name: name, kind: "gauge", help: help}
		values := read()
		for _, value := range slices.Sorted(maps.Keys(values)) {
			text := ""
			if label != "" {
				text = labels(label, value)
			}
			f.samples = append(f.samples, sample{"", text, values[value]})
		}
		return f
	})
}

func (m *Metrics) begin() {
	if m != nil {
		m.inFlight.Add(1)
	}
}

func (m *Metrics) end(method, pattern string, status int, took time.Duration) {
	if m == nil {
		return
	}
	m.inFlight.Add(-1)
	key := seriesKey{knownMethod(method), pattern, status}
	m.mu.RLock()
	s, ok := m.series[key]
	m.mu.RUnlock()
	if !ok {
		s = m.open(key)
	}
	s.requests.Add(1)
	s.duration.observe(took)
}

func (m *Metrics) open(key seriesKey) series {
	route := routeOf(key.pattern)
	m.mu.Lock()
	defer m.mu.Unlock()
	s := series{
		requests: once(m.requests, labels("method", key.method, "route", route, "status", strconv.Itoa(key.status))),
		duration: once(m.durations, labels("method", key.method, "route", route)),
	}
	m.series[key] = s
	return s
}

// once is the value of a key, made at its first use.
func once[V any](values map[string]*V, key string) *V {
	if values[key] == nil {
		values[key] = new(V)
	}
	return values[key]
}

// families are all metrics, in the order of their names.
func (m *Metrics) families() []family {
	m.mu.RLock()
	all := []family{
		gauge("donorbook_build_info", "Always 1; the label says what is running.", labels("version", m.version), 1),
		gauge("donorbook_http_requests_in_flight", "Requests being answered.", "", float64(m.inFlight.Load())),
		counterFamily("donorbook_http_requests_total", "Requests answered.", m.requests),
		histogramFamily("donorbook_http_request_duration_seconds", "Time from the request's header to the answer's end.", m.durations),
	}
	others := m.others
	m.mu.RUnlock()
	for _, other := range others { // without the lock, which every request takes: another room may have to ask its database
		all = append(all, other())
	}
	all = append(all, runtimeFamilies()...)
	all = append(all, processFamilies()...)
	slices.SortFunc(all, byName)
	return all
}

// Handler is for a listener of its own, away from the public: /metrics, /healthz and /readyz.
func (m *Metrics) Handler(health *Health) http.Handler {
	mux := NewMux()
	health.Routes(mux)
	mux.Handle("GET /metrics", func(w http.ResponseWriter, _ *http.Request) error {
		var text []byte
		for _, f := range m.families() {
			text = f.append(text)
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(text) // who went away needs no answer
		return nil
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := mux.Serve(w, r); err != nil {
			WriteJSONError(w, err)
		}
	})
}
