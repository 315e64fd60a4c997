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
	"donorbook/internal/rig"
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
	_ = conn.SetDeadline(time.Now().Add(rig.Patience))
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
	return answer{s.t, response.StatusCode, response.Header, string(page)}
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
			a.is(401).sees("nothing was saved. Sign in")
			if len(a.body) > 8<<10 {
				t.Errorf("%s with %s: %d, %d bytes", route.Pattern, cookie, a.status, len(a.body))
			}
		}
	}
	for _, route := range console.StrangerRoutes() {
		if strings.HasPrefix(route.Pattern, "POST ") {
			s.unsent(address(route.Pattern, e.account.ID, e), "__Host-session=wrong", 1<<20).is(413)
		}
	}
}

// A browser that sends a whole form before it reads gets its answer, no matter how large the form is.
func TestAFormThatIsTooLargeIsAnswered(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	cookie := p.client.Jar.Cookies(mustURL(t, s.http.URL))[0].String()
	form := strings.Repeat("a", 10<<20)
	s.raw(p.org("/contacts"), cookie, len(form), form).is(413).sees("larger than 1 MiB")
	s.raw(p.org("/contacts"), "x=y", len(form), form).is(401)
}

// The sign-in page keeps a form only for a browser that was signed in before.
func TestAStrangersFormIsNotRepeated(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	succeed(t, s.store.EndSessions(t.Context(), p.user.ID, ""))
	stranger := s.visitor()
	stranger.post(p.org("/contacts"), "first_name", "Amelia").is(401).hides("Amelia")
	large := strings.Repeat("n", 70_000)
	p.post("contacts", "first_name", "Amelia", "note", large).is(401).hides("Amelia").sees("Sign in, then fill in the form again.")
}

// The largest form that the sign-in page keeps arrives complete.
func TestALargeFormSurvivesTheEndOfTheSession(t *testing.T) {
	_, p := signedIn(t, access.Editor)
	p.post("/console/signout").is(303) // in another tab
	form := []string{"first_name", "Amelia", "last_name", "Okafor", "note", strings.Repeat("n", 10_000)}
	for i := range 2_500 { // most rows are empty, as on a form with many rows
		form = append(form, fmt.Sprintf("tags.%d", i), strings.Repeat("t", max(0, 64-i)))
	}
	lost := p.post("contacts", form...)
	lost.is(401)
	again := p.post("/console/signin", append(hiddenFields(lost), "email", p.user.Email, "password", testPassword)...)
	again.is(200)
	p.resend(again, p.org("/contacts")).sees("Amelia Okafor was added")
}

// Forms of signed-in users are limited as well: most are small.
func TestFormsAreLimitedByWhatTheyAreFor(t *testing.T) {
	s := anySite(t)
	e := s.estate("Harbor")
	large := strings.Repeat("a", 65<<10)
	for path, status := range map[string]int{
		"/settings/organization": 413, "/settings/integrations/api-keys": 413, "/chapters": 413,
		"/contacts": 422, "/campaigns": 422,
	} {
		a := e.owner.post(e.owner.org(path), "name", large)
		a.is(status)
		if status == 413 {
			a.sees("The form is larger than 64 KiB. Nothing was changed.")
		}
	}
}

// The console limits the requests per minute of each user, and of each address that is not signed in. Files are not counted, so
// that every page gets its style sheet.
func TestTheConsoleIsRateLimited(t *testing.T) {
	s := siteOn(t, rig.SQLite, func(o *console.Options) { o.RateLimit = 5 })
	account := s.organization("Harbor")
	p, other, stranger := s.member(account, access.Owner), s.member(account, access.Viewer), s.visitor()
	for _, asker := range []struct {
		person *person
		path   string
		status int
	}{{p, "/console/profile", 200}, {stranger, "/console/signin", 200}} {
		for i := range 5 {
			a := asker.person.get(asker.path)
			a.is(asker.status)
			if left := a.header.Get("X-RateLimit-Remaining"); left != fmt.Sprint(4-i) {
				t.Errorf("%s leaves %q requests", asker.path, left)
			}
		}
		a := asker.person.get(asker.path)
		a.is(429).sees("Too many requests at once.", "Wait a moment")
		if wait := a.header.Get("Retry-After"); wait == "" || !strings.Contains(a.header.Get("Content-Type"), "text/html") {
			t.Errorf("%s: Retry-After %q, %s", asker.path, wait, a.header.Get("Content-Type"))
		}
		asker.person.get("/console/static/console.css").is(200)
	}
	other.get("/console/profile").is(200)
	p.post("/console/profile/name", "name", "Somebody").is(429)
	s.visitor().get("/console/profile").is(429)
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
		e.owner.post(path, c.form...).is(422).sees(c.sees...).has(`value="`+long+`"`, `aria-invalid="true"`)
	}
	e.owner.post(fmt.Sprintf("settings/people/%d/role", e.owner.user.ID), "role", "viewer").is(422).sees("People", "One thing needs your attention.", "Invite a colleague")
}
