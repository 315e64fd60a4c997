package console_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"donorbook/internal/console"
	"donorbook/internal/crm/access"
	"donorbook/internal/store"
)

// unsent sends the headers of a form without its body, and returns the answer.
func (s *site) unsent(path, cookie string, length int) answer {
	s.t.Helper()
	return s.raw(path, cookie, length, "")
}

// raw sends the headers of a form and the given part of its body, and only then reads the answer.
func (s *site) raw(path, cookie string, length int, body string) answer {
	s.t.Helper()
	config := s.http.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	config.NextProtos = []string{"http/1.1"}
	conn := must(tls.Dial("tcp", s.http.Listener.Addr().String(), config))(s.t)
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: example.com\r\nSec-Fetch-Site: same-origin\r\nCookie: %s\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n",
		path, cookie, length)
	if _, err := io.WriteString(conn, body); err != nil {
		s.t.Fatalf("%s breaks the connection: %v", path, err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.t.Fatalf("%s is not answered: %v", path, err)
	}
	defer response.Body.Close()
	page := must(io.ReadAll(response.Body))(s.t)
	return answer{status: response.StatusCode, header: response.Header, body: string(page)}
}

// A form from a client that is not signed in costs nothing: it is refused before its body arrives. An invalid session cookie
// makes no difference if the form is larger than anything that a person types.
func TestAStrangersFormIsNotRead(t *testing.T) {
	s := anySite(t)
	e := s.estate("Harbor")
	for _, route := range append(console.MemberRoutes(), console.UserRoutes()...) {
		if !strings.HasPrefix(route.Pattern, "POST ") {
			continue
		}
		for _, cookie := range []string{"x=y", "__Host-session=wrong"} {
			a := s.unsent(address(route.Pattern, e.account.ID, e), cookie, 1<<20)
			if a.status != http.StatusUnauthorized || !strings.Contains(a.words(), "nothing was saved. Sign in") || len(a.body) > 8<<10 {
				t.Errorf("%s with %s: %d, %d bytes", route.Pattern, cookie, a.status, len(a.body))
			}
		}
	}
	for _, route := range console.StrangerRoutes() {
		if strings.HasPrefix(route.Pattern, "POST ") {
			if a := s.unsent(address(route.Pattern, e.account.ID, e), "__Host-session=wrong", 1<<20); a.status != http.StatusRequestEntityTooLarge {
				t.Errorf("%s: %d", route.Pattern, a.status)
			}
		}
	}
}

// A browser that sends a whole form before it reads gets its answer, no matter how large the form is.
func TestAFormThatIsTooLargeIsAnswered(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Editor)
	cookie := p.client.Jar.Cookies(mustURL(t, s.http.URL))[0].String()
	form := strings.Repeat("a", 10<<20)
	if a := s.raw(p.org("/contacts"), cookie, len(form), form); a.status != http.StatusRequestEntityTooLarge || !strings.Contains(a.words(), "larger than 1 MiB") {
		t.Errorf("%d: %s", a.status, a.words())
	}
	if a := s.raw(p.org("/contacts"), "x=y", len(form), form); a.status != http.StatusUnauthorized {
		t.Errorf("a stranger: %d", a.status)
	}
}

// The sign-in page keeps a form only for a browser that was signed in before.
func TestAStrangersFormIsNotRepeated(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Editor)
	succeed(t, s.store.EndSessions(t.Context(), p.user.ID, ""))
	stranger := s.visitor()
	if a := stranger.post(p.org("/contacts"), "first_name", "Amelia"); a.status != http.StatusUnauthorized || strings.Contains(a.body, "Amelia") {
		t.Errorf("a stranger: %d %s", a.status, a.body)
	}
	large := strings.Repeat("n", 70_000)
	a := p.post(p.org("/contacts"), "first_name", "Amelia", "note", large)
	if a.status != http.StatusUnauthorized || strings.Contains(a.body, "Amelia") || !strings.Contains(a.words(), "Sign in, then fill in the form again.") {
		t.Errorf("a form that is too large: %d, %d bytes", a.status, len(a.body))
	}
}

// The largest form that the sign-in page keeps arrives complete.
func TestALargeFormSurvivesTheEndOfTheSession(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Editor)
	succeed(t, s.store.EndSessions(t.Context(), p.user.ID, ""))
	form := []string{"first_name", "Amelia", "last_name", "Okafor", "note", strings.Repeat("n", 10_000)}
	for i := range 2_500 { // most rows are empty, as on a form with many rows
		form = append(form, fmt.Sprintf("tags.%d", i), strings.Repeat("t", max(0, 64-i)))
	}
	lost := p.post(p.org("/contacts"), form...)
	p.wantStatus(lost, http.StatusUnauthorized)
	again := p.post("/console/signin", append(hiddenFields(lost), "email", p.user.Email, "password", testPassword)...)
	p.wantStatus(again, http.StatusOK)
	p.sees(p.resend(again, p.org("/contacts")), "Amelia Okafor was added")
}

// Forms of signed-in users are limited as well: most are small.
func TestFormsAreLimitedByWhatTheyAreFor(t *testing.T) {
	s := anySite(t)
	e := s.estate("Harbor")
	large := strings.Repeat("a", 65<<10)
	for path, status := range map[string]int{
		"/settings/organization": http.StatusRequestEntityTooLarge, "/settings/integrations/api-keys": http.StatusRequestEntityTooLarge, "/chapters": http.StatusRequestEntityTooLarge,
		"/contacts": http.StatusUnprocessableEntity, "/campaigns": http.StatusUnprocessableEntity,
	} {
		a := e.owner.post(e.owner.org(path), "name", large)
		e.owner.wantStatus(a, status)
		if status == http.StatusRequestEntityTooLarge {
			e.owner.sees(a, "The form is larger than 64 KiB. Nothing was changed.")
		}
	}
}

// The console limits the requests per minute of each user, and of each address that is not signed in. Files are not counted, so
// that every page gets its style sheet.
func TestTheConsoleIsRateLimited(t *testing.T) {
	s := newSite(t, store.Options{Data: t.TempDir()}, func(o *console.Options) { o.RateLimit = 5 })
	account := s.organization("Harbor")
	p, other, stranger := s.member(account, access.Owner), s.member(account, access.Viewer), s.visitor()
	for _, asker := range []struct {
		person *person
		path   string
		status int
	}{{p, "/console/profile", http.StatusOK}, {stranger, "/console/signin", http.StatusOK}} {
		for i := range 5 {
			a := asker.person.get(asker.path)
			asker.person.wantStatus(a, asker.status)
			if left := a.header.Get("X-RateLimit-Remaining"); left != fmt.Sprint(4-i) {
				t.Errorf("%s leaves %q requests", asker.path, left)
			}
		}
		a := asker.person.get(asker.path)
		asker.person.wantStatus(a, http.StatusTooManyRequests)
		asker.person.sees(a, "Too many requests at once.", "Wait a moment")
		if wait := a.header.Get("Retry-After"); wait == "" || !strings.Contains(a.header.Get("Content-Type"), "text/html") {
			t.Errorf("%s: Retry-After %q, %s", asker.path, wait, a.header.Get("Content-Type"))
		}
		asker.person.wantStatus(asker.person.get("/console/static/console.css"), http.StatusOK)
	}
	other.wantStatus(other.get("/console/profile"), http.StatusOK)
	if a := p.post("/console/profile/name", "name", "Somebody"); a.status != http.StatusTooManyRequests {
		t.Errorf("a form: %d", a.status)
	}
	if a := s.visitor().get("/console/profile"); a.status != http.StatusTooManyRequests {
		t.Errorf("another stranger at the same address: %d", a.status)
	}
}

// A form that is refused comes back on the page it was sent from, with what was typed and what is wrong, on every page.
func TestARefusedFormIsAnsweredByThePageItCameFrom(t *testing.T) {
	s := anySite(t)
	e := s.estate("Harbor")
	long := strings.Repeat("n", 300)
	for path, c := range map[string]struct {
		form, sees []string
	}{
		"/console/profile/name":                                           {[]string{"name", long}, []string{"Your profile", "Where you are signed in"}},
		e.owner.org("/settings/organization"):                             {[]string{"name", long}, []string{"Settings", "Public pages"}},
		e.owner.org("/settings/integrations/api-keys"):                    {[]string{"name", long}, []string{"New API key", "Permissions"}},
		e.owner.org("/settings/people/invite"):                            {[]string{"email", long, "role", "viewer"}, []string{"People", "Invite a colleague"}},
		e.owner.org("/chapters"):                                          {[]string{"name", long}, []string{"Chapters", "New chapter"}},
		e.owner.org("/chapters/" + e.chapter.ID):                          {[]string{"name", long}, []string{"Chapters", "Structure"}},
		e.owner.org(fmt.Sprintf("/contacts/%d", e.contact)) + "/tags/add": {[]string{"tag", long}, []string{"Recurring gifts and pledges", "Add a tag"}},
	} {
		a := e.owner.post(path, c.form...)
		e.owner.wantStatus(a, http.StatusUnprocessableEntity)
		e.owner.sees(a, c.sees...)
		if !strings.Contains(a.body, `value="`+long+`"`) || !strings.Contains(a.body, `aria-invalid="true"`) {
			t.Errorf("%s: what was typed, or what is wrong with it, is missing", path)
		}
	}
	people := e.owner.post(e.owner.org(fmt.Sprintf("/settings/people/%d/role", e.owner.user.ID)), "role", "viewer")
	e.owner.wantStatus(people, http.StatusUnprocessableEntity)
	e.owner.sees(people, "People", "One thing needs your attention.", "Invite a colleague")
}
