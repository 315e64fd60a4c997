package console_test

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"donorbook/internal/console"
	"donorbook/internal/crm/access"
	"donorbook/internal/rig"
	"donorbook/internal/rig/assert"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/store/jobs"
	"donorbook/internal/web"
)

func TestMain(m *testing.M) {
	rig.CheapPasswords()
	rig.Main(m)
}

// now is the time of every test that chooses no other: no test depends on the day on which it runs.
var now = time.Date(2026, time.November, 16, 10, 0, 0, 0, time.UTC)

const today = "2026-11-16"

// site is the console behind a real listener, with an empty database.
type site struct {
	t     *testing.T
	store *book.Book
	pages *console.Console
	http  *httptest.Server
	data  string    // the directory of the database
	now   time.Time // the clock, which stands still until a test moves it

	created, merged atomic.Int64 // what the metrics would count
	signIns         [3]atomic.Int64
	busy            int64        // the account whose memory is held by other requests while files are sent
	keys            string       // the file with the key to the secrets of payment providers
	reading         atomic.Value // a channel that is told of each body of which a handler reads the beginning
}

// anySite is an empty site on SQLite. What the engines do differently is in the packages below, whose tests run on
// both; TestEveryPageOpensOnEachEngine opens each page on PostgreSQL, too.
func anySite(t *testing.T) *site { t.Helper(); return siteOn(t, rig.SQLite) }

// siteAt is a site at another time.
func siteAt(t *testing.T, at time.Time) *site {
	t.Helper()
	s := anySite(t)
	s.now = at
	return s
}

// signedIn is a site with an organization called Harbor, and a member of it.
func signedIn(t *testing.T, role access.Role) (*site, *person) {
	t.Helper()
	s := anySite(t)
	return s, s.member(s.organization("Harbor"), role)
}

// withTables is a database without rows.
var withTables = rig.Template(func(directory, url string) error {
	s, err := book.Open(context.Background(), store.Options{Data: directory, Database: url})
	if err != nil {
		return err
	}
	return s.Close()
})

func siteOn(t *testing.T, e rig.Engine, settings ...func(*console.Options)) *site {
	t.Helper()
	directory, url := withTables(t, e)
	made := &site{t: t, data: directory, now: now}
	clock := func() time.Time { return made.now }
	made.store = must(book.Open(context.Background(), store.Options{Data: directory, Database: url, Now: clock}))(t)
	options := console.Options{Region: "US", Now: clock, Created: made.count}
	options.SignIn = func(o console.SignInOutcome) { made.signIns[o].Add(1) }
	for _, set := range settings {
		set(&options)
	}
	made.pages = must(console.New(made.store, options))(t)
	mux := web.NewMux()
	made.pages.Routes(mux)
	plumbing := web.Plumbing{Log: slog.New(slog.NewTextHandler(testLog{t}, nil))}
	serve := made.pages.Fallback(mux.Serve)
	made.http = httptest.NewTLSServer(plumbing.Wrap(func(w http.ResponseWriter, r *http.Request) error {
		// Other requests of the account hold all the memory that it may have.
		if account, _ := strconv.ParseInt(r.Header.Get("X-Busy"), 10, 64); account != 0 {
			web.Note(w, account, 0)
			if err := web.Hold(w, 8<<20); err != nil {
				return err
			}
		}
		if told, _ := made.reading.Load().(chan struct{}); told != nil && r.Method == http.MethodPost {
			r.Body = &noticedBody{ReadCloser: r.Body, told: told}
		}
		return serve(w, r)
	}))
	t.Cleanup(func() {
		made.http.Close()
		if err := made.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return made
}

// noticedBody tells when its first byte was read.
type noticedBody struct {
	io.ReadCloser
	told chan struct{}
}

func (b *noticedBody) Read(into []byte) (n int, err error) {
	n, err = b.ReadCloser.Read(into)
	if b.told != nil && n > 0 {
		b.told <- struct{}{}
		b.told = nil
	}
	return n, err
}

// bodies is a channel that is told of each body, from now on, whose first byte has reached its handler.
func (s *site) bodies() chan struct{} {
	told := make(chan struct{}, 1000)
	s.reading.Store(told)
	return told
}

// work does all that waits in the background, in the test's goroutine.
func (s *site) work() {
	s.t.Helper()
	s.workWhile(func() bool { return true })
}

// done is a page, once all work in the background is done.
func (p *person) done(path string, words ...string) answer {
	p.site.t.Helper()
	p.site.work()
	return p.get(path).sees(words...)
}

// workWhile does what waits in the background until nothing is left, or a test has enough.
func (s *site) workWhile(goOn func() bool) {
	s.t.Helper()
	w := jobs.NewJobWorker(s.store.JobStore)
	defer w.Forget(nil)
	for goOn() {
		busy, err := w.Round(s.t.Context(), func(err error) { s.t.Error(err) })
		succeed(s.t, err)
		if busy {
			continue
		}
		if len(w.Runs) == 0 {
			return
		}
		select {
		case <-w.Ready: // a file was read on
		case <-time.After(rig.Patience):
			s.t.Fatal("a job neither goes on nor ends")
		}
	}
}

// send delivers the mails that wait.
func (s *site) send() {
	s.t.Helper()
	for range 10 {
		succeed(s.t, s.store.SendDue(s.t.Context(), s.http.URL, func(err error) { s.t.Error(err) }))
	}
}

func (s *site) count(merged bool) {
	if merged {
		s.merged.Add(1)
	} else {
		s.created.Add(1)
	}
}

// testLog shows what the server logs as an error: the cause of a 500. No line of any test names a person.
type testLog struct{ t *testing.T }

func (l testLog) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("level=ERROR")) {
		l.t.Logf("server: %s", line)
	}
	if rig.NamesSomebody(line) {
		l.t.Errorf("the log names somebody: %s", line)
	}
	return len(line), nil
}

// organization makes an account.
func (s *site) organization(name string) access.Account {
	s.t.Helper()
	return must(s.store.CreateAccount(s.t.Context(), name, ""))(s.t)
}

const testPassword = "correct horse battery"

// member creates a user with a role in an account, and signs them in.
func (s *site) member(account access.Account, role access.Role) *person {
	s.t.Helper()
	users := must(s.store.Users(s.t.Context()))(s.t)
	email := fmt.Sprintf("person%d@example.org", len(users)+1)
	in := access.UserInput{Name: fmt.Sprintf("Person %d", len(users)+1), Email: email, Password: testPassword}
	user := must(s.store.CreateUser(s.t.Context(), account, role, in))(s.t)
	p := s.visitor()
	p.user, p.account = user, account
	token := must(s.store.StartSession(s.t.Context(), user.ID, access.Device{}))(s.t) // checking a password takes time
	p.client.Jar.SetCookies(mustURL(s.t, s.http.URL), []*http.Cookie{
		{Name: "__Host-session", Value: token, Path: "/", Secure: true},
		{Name: "__Host-user", Value: strconv.FormatInt(user.ID, 10), Path: "/", Secure: true},
	})
	return p
}

// person is a user with a browser: it keeps cookies and sends what browsers send with a form. It does not follow
// redirects by itself.
type person struct {
	site    *site
	user    access.User
	account access.Account
	client  *http.Client
}

// visitor is a person who has not signed in.
func (s *site) visitor() *person {
	s.t.Helper()
	jar := must(cookiejar.New(nil))(s.t)
	client := *s.http.Client()
	client.Jar = jar
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &person{site: s, client: &client}
}

// answer is the server's answer.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   string // as it was sent
}

// words is the text of the page: without tags, with entities decoded and whitespace collapsed.
func (a answer) words() string {
	text := tags.ReplaceAllString(scripts.ReplaceAllString(a.body, " "), " ")
	return strings.Join(strings.Fields(html.UnescapeString(text)), " ")
}

// location is where a redirect leads.
func (a answer) location() string { return a.header.Get("Location") }

var (
	tags    = regexp.MustCompile(`<[^>]*>`)
	scripts = regexp.MustCompile(`(?s)<(script|style|template|dialog)[^>]*>.*?</(script|style|template|dialog)>`)
)

// org is the address of a page of the person's organization.
func (p *person) org(rest string) string { return "/console/o/" + p.account.ID + rest }

// at is the address of a path: one without a slash at its beginning is below the person's organization.
func (p *person) at(path string) string {
	if strings.HasPrefix(path, "/") {
		return path
	}
	return strings.TrimSuffix(p.org("/"+path), "/")
}

func (p *person) get(path string) answer {
	p.site.t.Helper()
	return p.do(http.MethodGet, path, nil, nil)
}

// pairs are the fields of a form whose names and values alternate.
func pairs(all []string) url.Values {
	form := url.Values{}
	for pair := range slices.Chunk(all, 2) {
		form.Add(pair[0], pair[1])
	}
	return form
}

// post sends a form: names and values alternate.
func (p *person) post(path string, fields ...string) answer {
	p.site.t.Helper()
	return p.do(http.MethodPost, path, pairs(fields),
		http.Header{"Sec-Fetch-Site": {"same-origin"}, "Origin": {p.site.http.URL}})
}

// sends posts a form with files, as a browser does. Each is called as its field, a space and the name of the file.
func (p *person) sends(path string, files map[string]io.Reader, fields ...string) answer {
	p.site.t.Helper()
	var text bytes.Buffer
	var body []io.Reader
	arriving := false
	form := multipart.NewWriter(&text)
	for pair := range slices.Chunk(fields, 2) {
		succeed(p.site.t, form.WriteField(pair[0], pair[1]))
	}
	for name, file := range files {
		field, called, _ := strings.Cut(name, " ")
		must(form.CreateFormFile(field, called))(p.site.t)
		body = append(body, bytes.NewReader(slices.Clone(text.Bytes())), file)
		text.Reset()
		_, arriving = file.(*io.PipeReader)
	}
	succeed(p.site.t, form.Close())
	whole := io.MultiReader(append(body, &text)...)
	if !arriving { // browsers tell how long a form is
		whole = bytes.NewReader(must(io.ReadAll(whole))(p.site.t))
	}
	r := p.request(http.MethodPost, path, whole)
	r.Header = http.Header{"Content-Type": {form.FormDataContentType()}, "X-Busy": {fmt.Sprint(p.site.busy)}}
	return p.send(fromHere(r))
}

// fromHere says that a form stands on a page of the console.
func fromHere(r *http.Request) *http.Request {
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return r
}

// follow posts a form, which must be accepted, and gets the page that it leads to.
func (p *person) follow(path string, fields ...string) answer {
	p.site.t.Helper()
	a := p.post(path, fields...)
	equal(p.site.t, a.status, http.StatusSeeOther, "POST %s (%v)", path, a.words())
	return p.get(a.location())
}

func (p *person) do(method, path string, form url.Values, header http.Header) answer {
	p.site.t.Helper()
	r := p.request(method, path, strings.NewReader(form.Encode()))
	for key, values := range header {
		r.Header[key] = values
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return p.send(r)
}

func (p *person) request(method, path string, body io.Reader) *http.Request {
	p.site.t.Helper()
	return must(http.NewRequestWithContext(p.site.t.Context(), method, p.site.http.URL+p.at(path), body))(p.site.t)
}

func (p *person) send(request *http.Request) answer {
	p.site.t.Helper()
	response := must(p.client.Do(request))(p.site.t)
	defer response.Body.Close()
	body := must(io.ReadAll(response.Body))(p.site.t)
	return answer{p.site.t, response.StatusCode, response.Header, string(body)}
}

// is fails if the answer has another status.
func (a answer) is(status int) answer {
	a.t.Helper()
	equal(a.t, a.status, status, "status (%v)", a.words())
	return a
}

// leads fails if the answer does not lead to an address.
func (a answer) leads(address string) answer {
	a.t.Helper()
	equal(a.t, a.location(), address, "it (%d) leads (%v)", a.status, a.words())
	return a
}

// with fails if a header has another value: names and values alternate.
func (a answer) with(headers ...string) answer {
	a.t.Helper()
	for pair := range slices.Chunk(headers, 2) {
		equal(a.t, a.header.Get(pair[0]), pair[1], "%s (%v)", pair[0], a.status)
	}
	return a
}

// sees fails if the page does not say all of it, and lacks if it says any of it.
func (a answer) sees(words ...string) answer  { a.t.Helper(); return a.holds(a.words(), true, words) }
func (a answer) lacks(words ...string) answer { a.t.Helper(); return a.holds(a.words(), false, words) }

// has fails if the source of the page does not have all the parts, and hides if it has any of them.
func (a answer) has(parts ...string) answer   { a.t.Helper(); return a.holds(a.body, true, parts) }
func (a answer) hides(parts ...string) answer { a.t.Helper(); return a.holds(a.body, false, parts) }

func (a answer) holds(text string, want bool, parts []string) answer {
	a.t.Helper()
	for _, part := range parts {
		equal(a.t, strings.Contains(text, part), want,
			"the page (%d) has %q: %v (%v)", a.status, part, !want, text)
	}
	return a
}

func mustURL(t *testing.T, text string) *url.URL {
	t.Helper()
	return must(url.Parse(text))(t)
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
