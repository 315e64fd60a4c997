package web

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics counts requests for Prometheus. Other rooms add theirs to the Registry. A nil *Metrics counts nothing.
type Metrics struct {
	Registry *prometheus.Registry

	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge

	mu     sync.RWMutex
	series map[seriesKey]series
}

// seriesKey can take as many values as there are routes, known methods and statuses: none of it is in a client's hand.
type seriesKey struct {
	method, pattern string
	status          int
}

// series is where a request of one kind is counted, looked up once and kept.
type series struct {
	requests prometheus.Counter
	duration prometheus.Observer
}

// NewMetrics makes a registry with the metrics of HTTP, of the Go runtime and of the process.
func NewMetrics(version string) *Metrics {
	m := &Metrics{
		Registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "donorbook_http_requests_total", Help: "Requests answered.",
		}, []string{"method", "route", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "donorbook_http_request_duration_seconds", Help: "Time from the request's header to the answer's end.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"method", "route"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "donorbook_http_requests_in_flight", Help: "Requests being answered.",
		}),
		series: make(map[seriesKey]series),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "donorbook_build_info", Help: "Always 1; the label says what is running.",
		ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	m.Registry.MustRegister(m.requests, m.duration, m.inFlight, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *Metrics) begin() {
	if m != nil {
		m.inFlight.Inc()
	}
}

func (m *Metrics) end(method, pattern string, status int, took time.Duration) {
	if m == nil {
		return
	}
	m.inFlight.Dec()
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
		duration: m.duration.WithLabelValues(key.method, route),
	}
	m.mu.Lock()
	m.series[key] = s
	m.mu.Unlock()
	return s
}

// Handler is for a listener of its own, away from the public: /metrics, /healthz and /readyz.
func (m *Metrics) Handler(health *Health) http.Handler {
	mux := NewMux()
	health.Routes(mux)
	exposition := promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{})
	mux.Handle("GET /metrics", func(w http.ResponseWriter, r *http.Request) error {
		exposition.ServeHTTP(w, r)
		return nil
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := mux.Serve(w, r); err != nil {
			WriteJSONError(w, err)
		}
	})
}
