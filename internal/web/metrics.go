package web

import (
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics counts requests for Prometheus. A nil *Metrics does nothing.
type Metrics struct {
	registry  *prometheus.Registry
	inFlight  atomic.Int64
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec

	mu     sync.RWMutex
	series map[seriesKey]series
}

// seriesKey combines routes, known methods and statuses, so a client cannot make the map grow without limit.
type seriesKey struct {
	method, pattern string
	status          int
}

// series counts requests of one kind. It is kept because finding it by its labels is slower and allocates.
type series struct {
	requests prometheus.Counter
	duration prometheus.Observer
}

// durationBounds are the upper bounds of the buckets, in seconds. Alerts refer to them.
var durationBounds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// NewMetrics provides metrics of HTTP, the Go runtime and the process.
func NewMetrics(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "donorbook_http_requests_total", Help: "Requests answered.",
		}, []string{"method", "route", "status"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "donorbook_http_request_duration_seconds", Help: "Time from the request's header to the answer's end.", Buckets: durationBounds,
		}, []string{"method", "route"}),
		series: make(map[seriesKey]series),
	}
	m.registry.MustRegister(m.requests, m.durations,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.Gauge("donorbook_http_requests_in_flight", "Requests being answered.", func() float64 { return float64(m.inFlight.Load()) })
	m.Gauges("donorbook_build_info", "Always 1; the label says what is running.", "version", func() map[string]float64 {
		return map[string]float64{version: 1}
	})
	return m
}

// Counters adds a counter for each value of a label, in that order.
func (m *Metrics) Counters(name, help, label string, values ...string) []*atomic.Uint64 {
	counters := make([]*atomic.Uint64, len(values))
	for i, value := range values {
		counter := new(atomic.Uint64)
		counters[i] = counter
		if m != nil {
			m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
				Name: name, Help: help, ConstLabels: prometheus.Labels{label: value},
			}, func() float64 { return float64(counter.Load()) }))
		}
	}
	return counters
}

// Gauge adds a number that is read at every scrape.
func (m *Metrics) Gauge(name, help string, read func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

// Gauges adds numbers that are read at every scrape, by the values of a label; "" is no label. Unknown numbers are left out.
func (m *Metrics) Gauges(name, help, label string, read func() map[string]float64) {
	var labels []string
	if label != "" {
		labels = []string{label}
	}
	m.registry.MustRegister(gauges{prometheus.NewDesc(name, help, labels, nil), len(labels), read})
}

// gauges are numbers whose labels are known only at a scrape.
type gauges struct {
	desc   *prometheus.Desc
	labels int // none or one
	read   func() map[string]float64
}

func (g gauges) Describe(descs chan<- *prometheus.Desc) { descs <- g.desc }

func (g gauges) Collect(metrics chan<- prometheus.Metric) {
	for value, number := range g.read() {
		metrics <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, number, []string{value}[:g.labels]...)
	}
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
	s.requests.Inc()
	s.duration.Observe(took.Seconds())
}

func (m *Metrics) open(key seriesKey) series {
	route := routeOf(key.pattern)
	s := series{
		requests: m.requests.WithLabelValues(key.method, route, strconv.Itoa(key.status)),
		duration: m.durations.WithLabelValues(key.method, route),
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.series[key] = s
	return s
}

// Handler is for a listener of its own, away from the public: /metrics, /healthz and /readyz.
func (m *Metrics) Handler(health *Health) http.Handler {
	mux := NewMux()
	health.Routes(mux)
	// Prometheus is nearby: compression would cost memory and save no time.
	page := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{DisableCompression: true})
	mux.Handle("GET /metrics", func(w http.ResponseWriter, r *http.Request) error {
		page.ServeHTTP(w, r)
		return nil
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := mux.Serve(w, r); err != nil {
			WriteJSONError(w, err)
		}
	})
}
