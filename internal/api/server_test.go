package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"donorbook/internal/api"
	"donorbook/internal/crm/access"
	"donorbook/internal/rig"
	"donorbook/internal/rig/assert"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/web"
)

// openStore opens a store in a directory of its own.
func openStore(t testing.TB) *book.Book {
	t.Helper()
	directory, _ := withTables(t, rig.SQLite)
	s := must(book.Open(context.Background(), store.Options{Data: directory, Now: clock.now}))(t)
	t.Cleanup(func() {
		succeed(t, s.Close())
	})
	return s
}

// withTables is a database without rows.
var withTables = rig.Template(func(directory, url string) error {
	s, err := book.Open(context.Background(), store.Options{Data: directory, Database: url})
	if err != nil {
		return err
	}
	return s.Close()
})

// settings are what an operator may configure.
type settings struct {
	baseURL   string
	rateLimit int
}

// manual is a clock that somebody sets. No test sees another day, or the end of a minute, unless it goes there.
type manual struct{ since atomic.Int64 }

func (m *manual) now() time.Time {
	return time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC).Add(time.Duration(m.since.Load()))
}

func (m *manual) pass(d time.Duration) { m.since.Add(int64(d)) }

// clock is that of all servers here. Scenarios that wait let seconds of it pass for all of them.
var clock manual

var noExpiry time.Time

var usual = settings{rateLimit: 6000}

// server is the complete handler, including middleware, behind a real listener.
type server struct {
	engine    string // the name of its shared engine
	store     *book.Book
	handler   http.Handler
	client    *http.Client
	url       string
	rateLimit int
}

// bothEngines are the databases of the tests that say what an engine must do, and engines those of all others. Each has
// one server with the usual settings, for all tests that only need their own accounts: an API is slow to create,
// because it renders its reference page.
var bothEngines = []*engine{
	{name: "sqlite", open: func() (o store.Options, remove func(), err error) {
		o.Data, err = os.MkdirTemp("", "donorbook-api-test-")
		return o, func() { _ = os.RemoveAll(o.Data) }, err
	}},
	{name: "postgres", open: func() (o store.Options, remove func(), err error) {
		cluster, err := rig.Shared()
		if err == nil {
			o.Database, err = cluster.Database()
		}
		return o, func() {}, err
	}},
}

var engines = rig.OfBoth(bothEngines)

type engine struct {
	name  string
	open  func() (o store.Options, remove func(), err error)
	once  sync.Once
	made  *server
	close func() error
}

// server is the engine's shared one.
func (e *engine) server(t testing.TB) *server {
	t.Helper()
	if e.name == rig.Postgres.Name {
		rig.Cluster(t)
	}
	e.once.Do(func() {
		options, remove := must2(e.open())(t)
		options.Now = clock.now
		s, err := book.Open(context.Background(), options)
		if err != nil {
			remove()
			t.Fatal(err)
		}
		made, stop := startServer(t, s, usual)
		made.engine = e.name
		e.made = made
		e.close = func() error {
			defer remove()
			stop()
			return s.Close()
		}
	})
	if e.made == nil {
		t.Fatalf("there is no server with %s", e.name)
	}
	return e.made
}

// eachEngine runs a test on every engine.
func eachEngine(t *testing.T, test func(t *testing.T, s *server)) {
	t.Helper()
	onEach(t, engines, test)
}

func onEach(t *testing.T, engines []*engine, test func(t *testing.T, s *server)) {
	t.Helper()
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) { test(t, e.server(t)) })
	}
}

// anyServer is for tests of what happens before a request reaches the store.
func anyServer(t testing.TB) *server { return engines[0].server(t) }

func TestMain(m *testing.M) {
	if options := os.Getenv(killedUpgrade); options != "" {
		dieUpgrading(options)
	}
	_ = flag.Set("test.parallel", "8") // scenarios wait for clocks and disks more than they compute
	os.Exit(rig.Run(withServers{m}))
}

// openLog is the log of all servers of the tests. No line of it names a person.
type openLog struct{}

var linesThatName atomic.Int64

func (*openLog) Write(line []byte) (int, error) {
	if rig.NamesSomebody(line) && linesThatName.Add(1) <= 10 {
		fmt.Fprintf(os.Stderr, "the log names somebody: %s", line)
	}
	return len(line), nil
}

// withServers runs the tests and closes the shared servers after them.
type withServers struct{ m *testing.M }

func (c withServers) Run() int {
	code := c.m.Run()
	if linesThatName.Load() > 0 {
		code = 1
	}
	for _, e := range bothEngines {
		if e.close == nil {
			continue
		}
		if err := e.close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}

// newServer is a server with its own settings or its own store.
func newServer(t testing.TB, s *book.Book, o settings) *server {
	t.Helper()
	made, stop := startServer(t, s, o)
	t.Cleanup(stop)
	return made
}

func startServer(t testing.TB, s *book.Book, o settings) (made *server, stop func()) {
	t.Helper()
	proxies := must(web.NewProxies(nil, o.baseURL))(t)
	rest := api.New(s, api.Options{Proxies: proxies, Region: "US", RateLimit: o.rateLimit})
	plumbing := &web.Plumbing{Log: slog.New(slog.NewTextHandler(new(openLog), nil)), Proxies: proxies}
	handler := plumbing.Wrap(rest.Serve)
	listener := httptest.NewServer(handler)
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 100}
	stop = func() {
		transport.CloseIdleConnections()
		listener.Close()
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request,
		[]*http.Request) error {
		return http.ErrUseLastResponse
	}}
	return &server{store: s, handler: handler, client: client, url: listener.URL, rateLimit: o.rateLimit}, stop
}

// newAccount makes an account; parent is the public id of the one above.
func newAccount(t testing.TB, s *book.Book, name, parent string) access.Account {
	t.Helper()
	account := must(s.CreateAccount(context.Background(), name, parent))(t)
	return account
}

// newKey makes a key with the named permissions, none for all, and returns its secret.
func newKey(t testing.TB, s *book.Book, account access.Account, permissions ...string) string {
	t.Helper()
	_, secret := makeKey(t, s, account, noExpiry, permissions...)
	return secret
}

// anyKey is a key of a new account.
func (s *server) anyKey(t testing.TB) string {
	return newKey(t, s.store, newAccount(t, s.store, "main", ""))
}

func makeKey(t testing.TB, s *book.Book, account access.Account, expires time.Time,
	permissions ...string,
) (access.Key, string) {
	t.Helper()
	rights, err := access.ParsePermissions(permissions)
	if len(permissions) == 0 {
		rights = access.AllPermissions
	}
	if err != nil {
		t.Fatal(err)
	}
	key, secret := must2(s.CreateKey(context.Background(), account.Number,
		access.KeyInput{Name: "test", Permissions: rights, ExpiresAt: expires}))(t)
	return key, secret
}

// expiredKey is the secret of a key that has expired.
func expiredKey(t testing.TB, s *book.Book, account access.Account) string {
	t.Helper()
	_, secret := makeKey(t, s, account, clock.now().Add(time.Second))
	clock.pass(2 * time.Second)
	return secret
}

// answer is what a client got.
type answer struct {
	status int
	header http.Header
	body   string
}

// request makes a request to the server; body is sent as JSON if it is not empty.
func (s *server) request(t testing.TB, method, target, secret, body string) *http.Request {
	t.Helper()
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	if strings.HasPrefix(target, "/") {
		target = s.url + target
	}
	r := must(http.NewRequestWithContext(context.Background(), method, target, content))(t)
	if secret != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// send makes the request and checks what every answer promises. It may be called by any goroutine.
func (s *server) send(t testing.TB, r *http.Request) answer {
	t.Helper()
	response, err := s.client.Do(r)
	if err != nil {
		t.Errorf("%s %s: %v", r.Method, r.URL, err)
		return answer{}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Errorf("%s %s: %v", r.Method, r.URL, err)
		return answer{}
	}
	a := answer{status: response.StatusCode, header: response.Header, body: string(body)}
	for _, broken := range brokenPromises(r, a, s.rateLimit) {
		t.Errorf("%s %s: %d %s: %s", r.Method, r.URL, a.status, clip(a.body), broken)
	}
	return a
}

// ask is request and send in one.
func (s *server) ask(t testing.TB, method, target, secret, body string) answer {
	t.Helper()
	return s.send(t, s.request(t, method, target, secret, body))
}

// make posts something and returns its id.
func (s *server) make(t testing.TB, secret, target, body string) string {
	t.Helper()
	return idOf(t, s.ask(t, "POST", target, secret, body).body)
}

var ownRequestID = regexp.MustCompile(`^[0-9A-Z]{26}$`)

// brokenPromises is what is wrong with an answer, whatever the request was.
func brokenPromises(r *http.Request, a answer, rateLimit int) (broken []string) {
	is := func(name, want string) {
		if got := a.header.Values(name); len(got) != 1 || got[0] != want {
			broken = append(broken, fmt.Sprintf("%s is %q instead of %q", name, got, want))
		}
	}
	if id := a.header.Get("X-Request-Id"); !ownRequestID.MatchString(id) && id != r.Header.Get("X-Request-Id") {
		broken = append(broken, fmt.Sprintf("X-Request-Id is %q", id))
	}
	is("Cache-Control", "no-store")
	is("X-Content-Type-Options", "nosniff")
	if rateLimit == 0 {
		if a.header.Get("X-RateLimit-Limit")+a.header.Get("X-RateLimit-Remaining") != "" {
			broken = append(broken, "there is no rate limit to tell of")
		}
	} else {
		is("X-RateLimit-Limit", strconv.Itoa(rateLimit))
		remaining, err := strconv.Atoi(a.header.Get("X-RateLimit-Remaining"))
		if err != nil || remaining < 0 || remaining >= rateLimit {
			broken = append(broken, fmt.Sprintf("X-RateLimit-Remaining is %q", a.header.Get("X-RateLimit-Remaining")))
		}
	}
	if a.status == 401 {
		is("WWW-Authenticate", "Bearer")
	} else if a.header.Get("WWW-Authenticate") != "" {
		broken = append(broken, "WWW-Authenticate belongs to 401")
	}
	if a.status >= 500 {
		broken = append(broken, "the server failed")
	}
	if wait, err := strconv.Atoi(a.header.Get("Retry-After")); a.status == 429 &&
		(err != nil || wait < 1 || wait > 60) {
		broken = append(broken, fmt.Sprintf("Retry-After is %q", a.header.Get("Retry-After")))
	}
	switch {
	case r.Method == "HEAD":
		if a.body != "" {
			broken = append(broken, "HEAD has a body")
		}
	case a.status == 200 && r.Method == "DELETE":
		is("Content-Type", "text/plain; charset=utf-8")
		if a.body != "" {
			broken = append(broken, "the body is not empty")
		}
	case a.status == 204:
		if a.body != "" || a.header.Get("Content-Type") != "" || r.Method != "DELETE" {
			broken = append(broken, "204 has a body or a type, or is the answer of another method than DELETE")
		}
	case a.status == 304:
		if a.body != "" || a.header.Get("ETag") == "" {
			broken = append(broken, "304 has a body, or no ETag")
		}
	default:
		is("Content-Type", "application/json")
		broken = append(broken, brokenJSON(a)...)
	}
	for name, values := range a.header {
		if strings.Contains(strings.Join(values, " "), "dbk_") {
			broken = append(broken, "the secret came back in "+name)
		}
	}
	if strings.Contains(a.body, "dbk_") {
		broken = append(broken, "the secret came back in the body")
	}
	return broken
}

// messages are what answers say whatever the request was.
var messages = map[int]string{
	401: "Unauthenticated.", 403: "This action is unauthorized.", 405: "This method is not allowed here.",
}

var firstOfErrors = regexp.MustCompile(`^\{"message":"((?:[^"\\]|\\.)*?)(?: \(and ([0-9]+) more errors?\))?",` +
	`"errors":\{"[^"]+":\["((?:[^"\\]|\\.)*)"`)

func brokenJSON(a answer) (broken []string) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(a.body)); err != nil {
		return []string{"the body is not JSON: " + err.Error()}
	}
	if compact.String() != a.body {
		broken = append(broken, "the JSON is not compact")
	}
	if a.status < 400 {
		return broken
	}
	var said struct {
		Message string
		Errors  map[string][]string
	}
	if err := json.Unmarshal([]byte(a.body), &said); err != nil || said.Message == "" {
		broken = append(broken, "an error has a message")
	}
	if want := messages[a.status]; want != "" && said.Message != want {
		broken = append(broken, "the message is not "+want)
	}
	told := firstOfErrors.FindStringSubmatch(a.body)
	if (told != nil) != (a.status == 422) || told != nil && told[1] != told[3] {
		broken = append(broken, "422 and nothing else has errors, and its message is the first of them")
	}
	all := 0
	for _, errors := range said.Errors {
		all += len(errors)
	}
	if told != nil && all < 100 && told[2] != map[bool]string{true: strconv.Itoa(all - 1)}[all > 1] {
		broken = append(broken, fmt.Sprintf("it has %d errors", all))
	}
	return broken
}

// clip shortens a text for a message.
func clip(text string) string {
	if len(text) > 600 {
		return strings.ToValidUTF8(text[:600], "") + "..."
	}
	return text
}

// must, must2 and succeed are for calls that must succeed.

func must[T any](v T, err error) func(assert.Failer) T { return assert.Must(v, err) }

func must2[T, U any](v T, u U, err error) func(assert.Failer) (T, U) { return assert.Must2(v, u, err) }

func succeed(t assert.Failer, err error) {
	t.Helper()
	assert.Succeed(t, err)
}

func equal[T any](t assert.Failer, got, want T, what ...any) {
	t.Helper()
	assert.Equal(t, got, want, what...)
}

func contains(t assert.Failer, text, part string, what ...any) {
	t.Helper()
	assert.Contains(t, text, part, what...)
}
