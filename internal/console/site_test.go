package console_test

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"donorbook/internal/console"
	"donorbook/internal/crm/access"
	"donorbook/internal/rig"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/web"
)

func TestMain(m *testing.M) {
	rig.CheapPasswords()
	rig.Main(m)
}

// site is the console behind a real listener, with an empty database.
type site struct {
	t     *testing.T
	store *book.Book
	pages *console.Console
	http  *httptest.Server

	created, merged atomic.Int64 // what the metrics would count
	signIns         [3]atomic.Int64
	busy            int64  // the account whose memory is held by other requests while files are sent
	keys            string // the file with the key to the secrets of payment providers
}

// onSite runs a test with an empty site on SQLite. What the engines do differently is in the packages below, whose tests run on both;
// TestEveryPageOpensOnEachEngine opens each page on PostgreSQL, too.
func onSite(t *testing.T, test func(t *testing.T, s *site)) {
	t.Helper()
	test(t, anySite(t))
}

func anySite(t *testing.T) *site {
	t.Helper()
	return siteOn(t, rig.Engines[0])
}

func siteOn(t *testing.T, e rig.Engine) *site {
	t.Helper()
	directory, url := withTables(t, e)
	return newSite(t, store.Options{Data: directory, Database: url})
}

// withTables is a database without rows.
var withTables = rig.Template(func(directory, url string) error {
	s, err := book.Open(context.Background(), store.Options{Data: directory, Database: url})
	if err != nil {
		return err
	}
	return s.Close()
})

func newSite(t *testing.T, o store.Options, settings ...func(*console.Options)) *site {
	t.Helper()
	s := must(book.Open(context.Background(), o))(t)
	made := &site{t: t, store: s}
	options := console.Options{Region: "US", Created: made.count, SignIn: func(o console.SignInOutcome) { made.signIns[o].Add(1) }}
	for _, set := range settings {
		set(&options)
	}
	pages := must(console.New(s, options))(t)
	made.pages = pages
	mux := web.NewMux()
	pages.Routes(mux)
	plumbing := web.Plumbing{Log: slog.New(slog.NewTextHandler(testLog{t}, nil))}
	serve := pages.Fallback(mux.Serve)
	made.http = httptest.NewTLSServer(plumbing.Wrap(func(w http.ResponseWriter, r *http.Request) error {
		if account, _ := strconv.ParseInt(r.Header.Get("X-Busy"), 10, 64); account != 0 { // other requests of the account hold all the memory that it may have
			web.Note(w, account, 0)
			if err := web.Hold(w, 8<<20); err != nil {
				return err
			}
		}
		return serve(w, r)
	}))
	t.Cleanup(func() {
		made.http.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return made
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
	account := must(s.store.CreateAccount(s.t.Context(), name, ""))(s.t)
	return account
}

// people is a counter, so that each person has a different email.
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
	token, err := s.store.StartSession(s.t.Context(), user.ID, access.Device{}) // checking a password takes time
	if err != nil {
		s.t.Fatal(err)
	}
	p.client.Jar.SetCookies(mustURL(s.t, s.http.URL), []*http.Cookie{
		{Name: "__Host-session", Value: token, Path: "/", Secure: true}, {Name: "__Host-user", Value: strconv.FormatInt(user.ID, 10), Path: "/", Secure: true},
	})
	return p
}

// person is a user with a browser: it keeps cookies and sends what browsers send with a form. It does not follow redirects by
// itself.
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

func (p *person) get(path string) answer {
	p.site.t.Helper()
	return p.do(http.MethodGet, path, nil, nil)
}

// post sends a form: names and values alternate.
func (p *person) post(path string, pairs ...string) answer {
	p.site.t.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	return p.do(http.MethodPost, path, form, http.Header{"Sec-Fetch-Site": {"same-origin"}, "Origin": {p.site.http.URL}})
}

// follow posts a form, which must be accepted, and gets the page that it leads to.
func (p *person) follow(path string, pairs ...string) answer {
	p.site.t.Helper()
	a := p.post(path, pairs...)
	if a.status != http.StatusSeeOther {
		p.site.t.Fatalf("POST %s answered %d: %s", path, a.status, a.words())
	}
	return p.get(a.location())
}

func (p *person) do(method, path string, form url.Values, header http.Header) answer {
	p.site.t.Helper()
	request, err := http.NewRequestWithContext(p.site.t.Context(), method, p.site.http.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		p.site.t.Fatal(err)
	}
	for key, values := range header {
		request.Header[key] = values
	}
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return p.send(request)
}

func (p *person) send(request *http.Request) answer {
	p.site.t.Helper()
	response, err := p.client.Do(request)
	if err != nil {
		p.site.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		p.site.t.Fatal(err)
	}
	return answer{status: response.StatusCode, header: response.Header, body: string(body)}
}

// sees fails if the page does not contain all the words.
func (p *person) sees(a answer, words ...string) {
	p.site.t.Helper()
	text := a.words()
	for _, w := range words {
		if !strings.Contains(text, w) {
			p.site.t.Errorf("the page (%d) does not say %q: %s", a.status, w, text)
		}
	}
}

// wantStatus fails if the answer has another status.
func (p *person) wantStatus(a answer, status int) {
	p.site.t.Helper()
	if a.status != status {
		p.site.t.Errorf("status %d, want %d: %s", a.status, status, a.words())
	}
}

func mustURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u := must(url.Parse(text))(t)
	return u
}

// must, must2 and succeed are for calls that must succeed.

func must[T any](v T, err error) func(rig.Failer) T { return rig.Must(v, err) }

func must2[T, U any](v T, u U, err error) func(rig.Failer) (T, U) { return rig.Must2(v, u, err) }

func succeed(t rig.Failer, err error) {
	t.Helper()
	rig.Succeed(t, err)
}
