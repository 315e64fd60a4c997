package web

import (
	"crypto/tls"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestMetricsTellWhenCertificatesEnd: in every mode that has certificates, even after a renewal.
func TestMetricsTellWhenCertificatesEnd(t *testing.T) {
	line := func(name string, end time.Time) string {
		return fmt.Sprintf("donorbook_certificate_end_timestamp_seconds{certificate=%q} %g\n", name, float64(end.Unix()))
	}
	start := time.Now()
	a := openAuthority(t, t.TempDir(), start, "localhost")
	m := NewMetrics("x")
	secured{ends: a.ends}.measure(m)
	for _, now := range []time.Time{start, start.AddDate(2, 0, 0)} {
		a.now = func() time.Time { return now }
		leaf := a.serves(t)
		if text := scrape(t, m); !strings.Contains(text, line("server", leaf.NotAfter)) || !strings.Contains(text, line("authority", start.Add(authorityLife))) {
			t.Errorf("auto: %s", text)
		}
	}

	cert, key := newFiles(t, t.TempDir(), "one.example.org")
	files, err := TLS{Mode: TLSFiles, CertFile: cert, KeyFile: key}.setup(":0", discard())
	if err != nil {
		t.Fatal(err)
	}
	pair, _ := files.config.GetCertificate(nil)
	m = NewMetrics("x")
	files.measure(m)
	if text := scrape(t, m); !strings.Contains(text, line("server", pair.Leaf.NotAfter)) {
		t.Errorf("files: %s", text)
	}

	served := &servedCertificates{until: make(map[string]time.Time), next: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair, nil }}
	m = NewMetrics("x")
	secured{ends: served.ends}.measure(m)
	for protocol, want := range map[string]bool{"acme-tls/1": false, "h2": true} {
		clear(served.until)
		if _, err := served.certificate(&tls.ClientHelloInfo{SupportedProtos: []string{protocol}}); err != nil {
			t.Fatal(err)
		}
		if text := scrape(t, m); strings.Contains(text, line("one.example.org", pair.Leaf.NotAfter)) != want {
			t.Errorf("acme, %s: %s", protocol, text)
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
