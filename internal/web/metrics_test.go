package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"donorbook/internal/rig/rows"
	"donorbook/internal/web/certs"
)

func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	rec := try(m.Handler(new(Health)), httptest.NewRequest("GET", "/metrics", nil))
	equal(t, rec.Code, 200)
	return rec.Body.String()
}

func TestMetrics(t *testing.T) {
	m := NewMetrics("1.2.3")
	handler := (&Plumbing{Log: discard(), Metrics: m}).Wrap(contactsMux().Serve)
	for method, path := range rows.Pairs(`
		GET     /v1/contacts/1
		GET     /v1/contacts/2
		HEAD    /v1/contacts/2
		DELETE  /v1/contacts/2
		GET     /wp-login.php
		GET     /.env
		BREW    /v1/contacts
		SPILL   /x
	`) {
		try(handler, httptest.NewRequest(method, path, nil))
	}
	text := scrape(t, m)
	for _, want := range rows.All(`
		donorbook_http_requests_total{method="GET",route="/v1/contacts/{id}",status="200"} 2
		donorbook_http_requests_total{method="HEAD",route="/v1/contacts/{id}",status="200"} 1
		donorbook_http_requests_total{method="GET",route="none",status="404"} 2
		donorbook_http_requests_total{method="DELETE",route="none",status="405"} 1
		donorbook_http_requests_total{method="other",route="none",status="405"} 1
		donorbook_http_requests_total{method="other",route="none",status="404"} 1
		donorbook_http_request_duration_seconds_count{method="GET",route="/v1/contacts/{id}"} 2
		donorbook_http_requests_in_flight 0
		donorbook_build_info{version="1.2.3"} 1
		"go_goroutines "
		"process_cpu_seconds_total "
	`) {
		contains(t, text, want, "no line")
	}
	for _, noise := range []string{"wp-login", ".env", "BREW", "SPILL"} {
		if strings.Contains(text, noise) {
			t.Errorf("a label grew from %q", noise)
		}
	}
}

// The golden file was written by the Prometheus library: dashboards and alerts use these names and labels.
func TestMetricsAreThoseThatDashboardsKnow(t *testing.T) {
	m := NewMetrics("dev")
	m.Counters("donorbook_contacts_created_total", "Contacts created, by what became of them.", "outcome", "new",
		"merged")
	m.begin()
	m.end("GET", "GET /healthz", 200, 49*time.Microsecond)
	want := must(os.ReadFile("testdata/metrics.golden"))(t)
	equal(t, withoutNumbers(scrape(t, m)), string(want))
}

// withoutNumbers is an exposition without the values that differ from run to run.
func withoutNumbers(text string) string {
	var names strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			line = line[:strings.LastIndexByte(line, ' ')] + "\n"
		}
		names.WriteString(strings.Replace(line, runtime.Version(), "VERSION", 1))
	}
	return names.String()
}

func TestDurationsAreCountedInTheirBucketAndAllAbove(t *testing.T) {
	m := NewMetrics("x")
	for _, took := range []time.Duration{time.Millisecond, time.Millisecond + 1, time.Minute} {
		m.begin()
		m.end("GET", "GET /x", 200, took)
	}
	text := scrape(t, m)
	for _, want := range []string{`le="0.0005"} 0`, `le="0.001"} 1`, `le="0.0025"} 2`, `le="30"} 2`, `le="+Inf"} 3`} {
		contains(t, text, `_bucket{method="GET",route="/x",`+want+"\n", "no bucket %s", want)
	}
	contains(t, text, `_sum{method="GET",route="/x"} 60.002000001`+"\n", "the sum is wrong")
}

func TestLabelsAreEscaped(t *testing.T) {
	contains(t, scrape(t, NewMetrics("a\"b\\c\nd")), `{version="a\"b\\c\nd"} 1`)
}

func TestInFlightIsCountedDownAfterAPanic(t *testing.T) {
	m := NewMetrics("x")
	handler := (&Plumbing{Log: discard(), Metrics: m}).Wrap(func(http.ResponseWriter,
		*http.Request) error {
		panic("x")
	})
	try(handler, httptest.NewRequest("GET", "/", nil))
	contains(t, scrape(t, m), "donorbook_http_requests_in_flight 0", "a panic stays in flight for ever")
}

func TestMetricsTellWhenCertificatesEnd(t *testing.T) {
	opened := must(certs.Settings{Mode: certs.Auto, Dir: t.TempDir()}.Open("localhost:0", discard()))(t)
	m := NewMetrics("x")
	measureCertificates(m, opened.Ends)
	ends, text := opened.Ends(), scrape(t, m)
	for _, name := range []string{"server", "authority"} {
		const line = "donorbook_certificate_end_timestamp_seconds{certificate=%q} %g\n"
		contains(t, text, fmt.Sprintf(line, name, float64(ends[name].Unix())))
	}
}

// TestAGaugeThatWaitsHoldsNobodyUp: a database that does not answer delays the metrics, but no request.
func TestAGaugeThatWaitsHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMetrics("x")
		m.Gauge("test_gauge", "A number.", func() float64 {
			time.Sleep(time.Hour)
			return 7
		})
		text, begun := make(chan string), time.Now()
		go func() { text <- scrape(t, m) }()
		synctest.Wait()
		handler := (&Plumbing{Log: discard(), Metrics: m}).Wrap(contactsMux().Serve)
		try(handler, httptest.NewRequest("GET", "/v1/contacts/1", nil))
		if waited := time.Since(begun); waited > 0 {
			t.Errorf("a request waits %v for the metrics", waited)
		}
		contains(t, <-text, "# TYPE test_gauge gauge\ntest_gauge 7\n")
	})
}

func TestProbes(t *testing.T) {
	broken := errors.New("secret: no database at 10.0.0.5")
	var ready error
	health := &Health{Ready: func(context.Context) error { return ready }}
	lines := new(logLines)
	mux := NewMux()
	health.Routes(mux)
	for name, handler := range map[string]http.Handler{
		"main": lines.plumbing().Wrap(mux.Serve), "metrics": NewMetrics("x").Handler(health),
	} {
		for _, test := range []struct {
			path   string
			ready  error
			status int
			body   string
		}{
			{"/healthz", nil, 200, `{"status":"ok"}`},
			{"/healthz", broken, 200, `{"status":"ok"}`},
			{"/readyz", nil, 200, `{"status":"ready"}`},
			{"/readyz", broken, 503, `{"message":"The service is not ready."}`},
			{"/readyz", fmt.Errorf("%w: %w", broken, syscall.ENOSPC), 503,
				`{"message":"The service is not ready: there is no space left on the disk."}`},
			{"/readyz", fmt.Errorf("%w: %w", broken, syscall.EROFS), 503,
				`{"message":"The service is not ready: the disk is read-only."}`},
			{"/nothing", nil, 404, `{"message":"Not found."}`},
		} {
			ready = test.ready
			rec := try(handler, httptest.NewRequest("GET", test.path, nil))
			if rec.Code != test.status || rec.Body.String() != test.body {
				t.Errorf("%s %s: %d %s", name, test.path, rec.Code, rec.Body)
			}
		}
	}
	contains(t, lines.String(), broken.Error(), "the log does not say why the service is not ready")
}
