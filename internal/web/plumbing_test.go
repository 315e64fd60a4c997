package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// logLines keeps what was logged, and tells each line.
type logLines struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	told chan string // nil for nobody
}

func (l *logLines) Write(b []byte) (int, error) {
	if l.told != nil {
		l.told <- string(b)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *logLines) log() *slog.Logger {
	return slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func (l *logLines) plumbing() *Plumbing { return &Plumbing{Log: l.log()} }

// last is the last line, decoded.
func (l *logLines) last(t *testing.T) map[string]any {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(l.String()), "\n")
	var line map[string]any
	succeed(t, json.Unmarshal([]byte(lines[len(lines)-1]), &line))
	return line
}

// try is the answer of a handler to a request.
func try(handler http.Handler, r *http.Request) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	handler.ServeHTTP(rec, r)
	return rec
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func quietPlumbing() *Plumbing { return &Plumbing{Log: discard()} }

func one(pattern string, handle HandlerFunc) HandlerFunc {
	mux := NewMux()
	mux.Handle(pattern, handle)
	return mux.Serve
}

func answerOK(w http.ResponseWriter, _ *http.Request) error {
	return WriteJSON(w, http.StatusOK, []byte(`{}`))
}

func TestLogLineNamesRouteAndCallerButNoPersonalData(t *testing.T) {
	lines := new(logLines)
	handler := lines.plumbing().Wrap(one("GET /v1/contacts/{id}", func(w http.ResponseWriter, r *http.Request) error {
		Note(w, 1000001, 42)
		return answerOK(w, r)
	}))
	rec := try(handler, httptest.NewRequest("GET", "/v1/contacts/77?email=ada@example.org", nil))
	line := lines.last(t)
	for key, want := range map[string]any{
		"msg": "request", "level": "INFO", "method": "GET", "route": "/v1/contacts/{id}", "status": 200.0, "bytes": 2.0,
		"account": 1000001.0, "key": 42.0, "request_id": rec.Header().Get("X-Request-Id"),
	} {
		if line[key] != want {
			t.Errorf("%s is %v, want %v", key, line[key], want)
		}
	}
	try(handler, httptest.NewRequest("GET", "/people/ada@example.org", nil))
	if line := lines.last(t); line["route"] != "none" || line["status"] != 404.0 {
		t.Errorf("unmatched route: %v", line)
	}
	if strings.Contains(lines.String(), "ada@") {
		t.Errorf("personal data in the log: %s", lines)
	}
}

// The operator must be able to tell who is attacking. A stranger cannot put another address into the log.
func TestLogLineNamesTheClientAndTheUser(t *testing.T) {
	lines := new(logLines)
	proxies := mustProxies(t, []string{"10.0.0.0/8"}, "")
	handler := (&Plumbing{Log: lines.log(), Proxies: proxies}).Wrap(one("GET /console",
		func(w http.ResponseWriter, r *http.Request) error {
			NoteUser(w, 31)
			return answerOK(w, r)
		}))
	for _, test := range []struct{ peer, forwarded, want string }{
		{"203.0.113.9:999", "", "203.0.113.9"},
		{"203.0.113.9:999", "198.51.100.7", "203.0.113.9"},
		{"10.1.2.3:999", "198.51.100.7, 10.9.9.9", "198.51.100.7"},
		{"[2001:db8::1]:999", "", "2001:db8::1"},
		{"[::ffff:203.0.113.9]:999", "", "203.0.113.9"},
	} {
		r := httptest.NewRequest("GET", "/console", nil)
		r.RemoteAddr = test.peer
		if test.forwarded != "" {
			r.Header.Set("X-Forwarded-For", test.forwarded)
		}
		try(handler, r)
		if line := lines.last(t); line["client"] != test.want || line["user"] != 31.0 {
			t.Errorf("%s for %q: client %v, user %v", test.peer, test.forwarded, line["client"], line["user"])
		}
	}
	r := httptest.NewRequest("GET", "/console", nil)
	r.RemoteAddr = "10.1.2.3:999"
	r.Header.Set("X-Forwarded-For", "nonsense")
	try(handler, r)
	if client, found := lines.last(t)["client"]; found {
		t.Errorf("nonsense of a proxy is logged as %v", client)
	}
}

func TestEveryAnswerHasRequestIDAndSecurityHeaders(t *testing.T) {
	handler := quietPlumbing().Wrap(one("GET /fine", answerOK))
	seen := map[string]bool{}
	for _, path := range []string{"/fine", "/fine", "/nowhere"} {
		rec := try(handler, httptest.NewRequest("GET", path, nil))
		id := rec.Header().Get("X-Request-Id")
		if !regexp.MustCompile(`^[0-9A-Z]{26}$`).MatchString(id) || seen[id] {
			t.Errorf("%s: request id %q", path, id)
		}
		seen[id] = true
		if rec.Header().Get("X-Content-Type-Options") != "nosniff" || rec.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: headers %v", path, rec.Header())
		}
	}
}

func TestRequestIDComesOnlyFromATrustedProxy(t *testing.T) {
	handler := quietPlumbing().Wrap(one("GET /fine", answerOK))
	for _, test := range []struct {
		peer, given string
		taken       bool
	}{
		{"127.0.0.1:999", "abc-1.2_3", true},
		{"127.0.0.1:999", "two words", false},
		{"127.0.0.1:999", strings.Repeat("x", 65), false},
		{"203.0.113.9:999", "abc", false},
	} {
		r := httptest.NewRequest("GET", "/fine", nil)
		r.RemoteAddr = test.peer
		r.Header.Set("X-Request-Id", test.given)
		rec := try(handler, r)
		if got := rec.Header().Get("X-Request-Id"); got == "" || (got == test.given) != test.taken {
			t.Errorf("%s %q: %q", test.peer, test.given, got)
		}
	}
}

func TestPanicIs500InJSON(t *testing.T) {
	lines := new(logLines)
	server := httptest.NewServer(lines.plumbing().Wrap(one("GET /boom",
		func(w http.ResponseWriter, _ *http.Request) error {
			w.Header().Set("Cache-Control", "public")
			w.Header().Set("ETag", `"1"`)
			panic("the inside")
		})))
	defer server.Close()
	resp, body := get(t, http.DefaultClient, server.URL+"/boom")
	equal(t, resp.StatusCode, 500)
	equal(t, body, `{"message":"Something went wrong on our side. Please try again later."}`)
	if resp.Header.Get("X-Request-Id") == "" || resp.Header.Get("Cache-Control") != "no-store" ||
		resp.Header.Get("ETag") != "" {
		t.Errorf("headers %v", resp.Header)
	}
	line := lines.last(t)
	said, _ := line["error"].(string)
	if line["status"] != 500.0 || !strings.Contains(said, "panic: a value of type string") ||
		strings.Contains(said, "the inside") || !strings.Contains(said, "plumbing_test.go") {
		t.Errorf("log line %v", line)
	}
}

func TestHalfAnAnswerIsCutOff(t *testing.T) {
	lines := new(logLines)
	late := errors.New("the database went away")
	for name, end := range map[string]func() error{
		"error": func() error { return late },
		"panic": func() error { panic(late) },
		"abort": func() error { panic(http.ErrAbortHandler) },
	} {
		server := httptest.NewServer(lines.plumbing().Wrap(one("GET /long",
			func(w http.ResponseWriter, _ *http.Request) error {
				w.Write([]byte(`{"data":[`))
				succeed(t, http.NewResponseController(w).Flush())
				return end()
			})))
		resp := must(http.Get(server.URL + "/long"))(t)
		_, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		server.Close()
		if err == nil {
			t.Errorf("%s: half an answer looks whole", name)
		}
		line := lines.last(t)
		told := map[string]string{"error": late.Error(), "panic": "panic: a value of type *errors.errorString"}[name]
		if said, _ := line["error"].(string); name != "abort" &&
			(line["status"] != 500.0 || !strings.Contains(said, told)) {
			t.Errorf("%s: log line %v", name, line)
		}
	}
}

func TestHandlersReachTheConnection(t *testing.T) {
	server := httptest.NewServer(quietPlumbing().Wrap(one("GET /stream",
		func(w http.ResponseWriter, _ *http.Request) error {
			succeed(t, http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute)))
			w.(http.Flusher).Flush()
			_, err := io.WriteString(w, "late")
			return err
		})))
	defer server.Close()
	if resp, body := get(t, http.DefaultClient, server.URL+"/stream"); resp.StatusCode != 200 || body != "late" {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

func TestCauseIsLoggedAndNotSent(t *testing.T) {
	lines := new(logLines)
	rec := httptest.NewRecorder()
	lines.plumbing().Wrap(one("GET /x", func(http.ResponseWriter, *http.Request) error {
		return errors.New("secret cause")
	})).ServeHTTP(rec, httptest.NewRequest("GET", "/x", nil))
	if rec.Code != 500 || strings.Contains(rec.Body.String(), "secret") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if line := lines.last(t); line["error"] != "secret cause" || line["level"] != "ERROR" {
		t.Errorf("log line %v", line)
	}
}

func TestCanceledIs499OnlyWhenTheClientLeft(t *testing.T) {
	for _, left := range []bool{true, false} {
		lines := new(logLines)
		ctx, cancel := context.WithCancel(context.Background())
		if left {
			cancel()
		}
		rec := httptest.NewRecorder()
		lines.plumbing().Wrap(one("GET /x", func(http.ResponseWriter, *http.Request) error {
			return context.Canceled
		})).ServeHTTP(rec, httptest.NewRequest("GET", "/x", nil).WithContext(ctx))
		cancel()
		want := map[bool]float64{true: 499, false: 503}[left]
		if line := lines.last(t); line["status"] != want || rec.Code != 503 || rec.Header().Get("Retry-After") != "1" {
			t.Errorf("client left %t: %d, log line %v", left, rec.Code, line)
		}
	}
}

func TestConcurrentRequestsKeepTheirOwnAnswers(t *testing.T) {
	server := httptest.NewServer(quietPlumbing().Wrap(one("GET /{id}",
		func(w http.ResponseWriter, r *http.Request) error {
			NewLimiter[int64](100).SetHeaders(w, len(r.PathValue("id")))
			return WriteJSON(w, http.StatusOK, []byte(RequestID(w)+" "+r.PathValue("id")))
		})))
	defer server.Close()
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for j := range 50 {
				id := strings.Repeat("x", 1+(i+j)%20)
				resp, body := get(t, http.DefaultClient, server.URL+"/"+id)
				equal(t, body, resp.Header.Get("X-Request-Id")+" "+id,
					"answer (%v)", resp.Header.Get("X-Request-Id"))
			}
		})
	}
	group.Wait()
}

// bareWriter is the cheapest ResponseWriter there is.
type bareWriter struct{ header http.Header }

func (w *bareWriter) Header() http.Header         { return w.header }
func (w *bareWriter) Write(b []byte) (int, error) { return len(b), nil }
func (w *bareWriter) WriteHeader(int)             {}

func wrapperUnderTest() (http.Handler, *bareWriter, *http.Request) {
	limiter := NewLimiter[int64](1_000_000_000)
	body := []byte(`{"id":1}`)
	p := &Plumbing{Log: slog.New(slog.NewJSONHandler(io.Discard, nil)), Metrics: NewMetrics("test")}
	handler := p.Wrap(one("GET /v1/contacts", func(w http.ResponseWriter, _ *http.Request) error {
		remaining, _, _ := limiter.Take(7, time.Now())
		limiter.SetHeaders(w, remaining)
		Note(w, 1, 7)
		return WriteJSON(w, http.StatusOK, body)
	}))
	r := httptest.NewRequest("GET", "https://donors.example.org/v1/contacts", nil)
	return handler, &bareWriter{header: make(http.Header)}, r
}

func TestWrapperAllocations(t *testing.T) {
	handler, w, r := wrapperUnderTest()
	got := testing.AllocsPerRun(1000, func() { handler.ServeHTTP(w, r) })
	const want = 10 // the exchange, its id, the values of headers, and the log line
	if got > want {
		t.Errorf("%v allocations a request, want at most %v", got, want)
	}
}

func BenchmarkWrapper(b *testing.B) {
	handler, w, r := wrapperUnderTest()
	b.ReportAllocs()
	for b.Loop() {
		handler.ServeHTTP(w, r)
	}
}
