package web

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"donorbook/internal/web/certs"
)

func TestMetricsTellWhenCertificatesEnd(t *testing.T) {
	opened, err := certs.Settings{Mode: certs.Auto, Dir: t.TempDir()}.Open("localhost:0", discard())
	if err != nil {
		t.Fatal(err)
	}
	m := NewMetrics("x")
	measureCertificates(m, opened.Ends)
	ends, text := opened.Ends(), scrape(t, m)
	for _, name := range []string{"server", "authority"} {
		if want := fmt.Sprintf("donorbook_certificate_end_timestamp_seconds{certificate=%q} %g\n", name, float64(ends[name].Unix())); !strings.Contains(text, want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
}

// TestAGaugeThatWaitsHoldsNobodyUp: a database that does not answer delays the metrics, but no request.
func TestAGaugeThatWaitsHoldsNobodyUp(t *testing.T) {
	m := NewMetrics("x")
	asked, answer := make(chan struct{}), make(chan struct{})
	m.Gauge("test_gauge", "A number.", func() float64 {
		close(asked)
		<-answer
		return 7
	})
	text := make(chan string)
	go func() { text <- scrape(t, m) }()
	<-asked
	done := make(chan struct{})
	go func() {
		defer close(done)
		(&Plumbing{Log: discard(), Metrics: m}).Wrap(contactsMux().Serve).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/v1/contacts/1", nil))
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Error("a request waits for the metrics")
	}
	close(answer)
	if got := <-text; !strings.Contains(got, "# TYPE test_gauge gauge\ntest_gauge 7\n") {
		t.Error(got)
	}
}
