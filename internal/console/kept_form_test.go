package console_test

import (
	"bufio"
	"crypto/tls"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"donorbook/internal/console"
	"donorbook/internal/crm/access"
)

// pretender has the cookie of a browser that was signed in, or never was.
func (s *site) pretender() *person {
	p := s.visitor()
	p.client.Jar.SetCookies(mustURL(s.t, s.http.URL),
		[]*http.Cookie{{Name: "__Host-user", Value: "1", Path: "/", Secure: true}})
	return p
}

// Clients that are not signed in and send large forms slowly do not make a user lose what they typed. If they hold all
// the memory that they may have, the user is asked to try again, and a sign-in without a large form still works.
func TestStrangersDoNotMakePeopleLoseTheirForms(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	succeed(t, s.store.EndSessions(t.Context(), p.user.ID, ""))
	lost := p.post("contacts", "first_name", "Amelia", "last_name", "Okafor", "note", strings.Repeat("n", 60_000))
	lost.is(401)
	signIn := append(hiddenFields(lost), "email", p.user.Email, "password", testPassword)
	slowForms := func(n int) {
		for range n {
			s.pretender().begin("/console/signin", strings.Repeat("a", 90_000)) // its first byte is all that arrives
		}
	}

	slowForms(40)
	person := s.pretender()
	a := person.post("/console/signin", signIn...)
	a.is(200).sees("You were signed out before this was saved")

	slowForms(40)
	for a.status == 200 { // until all of them have reached the server
		person = s.pretender()
		a = person.post("/console/signin", signIn...)
	}
	a.is(503).sees("Please try again in a moment.")
	if a.header.Get("Retry-After") == "" {
		t.Error("the answer does not say how long to wait")
	}
	person.signIn(p.user.Email, testPassword).is(303)
}

// signBackIn sends the sign-in page that kept a form.
func (p *person) signBackIn(kept answer) answer {
	p.site.t.Helper()
	return p.post("/console/signin", append(hiddenFields(kept), "email", p.user.Email, "password", testPassword)...)
}

// Every form of the console comes back after the session has ended: on its page, with what was typed into it. What is
// only a button is pressed again on its page. Nothing is done before the form is sent again, whatever its fields are
// called.
func TestEveryFormComesBackAfterSigningIn(t *testing.T) {
	s := anySite(t)
	e := s.estate("Harbor")
	before := s.state(e)
	typed := map[string]string{"query": "tag=Harbor+friends"}
	for i := 0; i < len(valid); i += 2 {
		typed[valid[i]] = valid[i+1]
	}
	maps.Copy(typed, map[string]string{"again": "", "kept": "", "kept_by": "", "kept.": "", "kept.kept": "",
		"confirmed": "1", "note": "a typed note", "frequency": "yearly", "method": "cash", "status": "pending",
		"parent": e.chapter.ID, "tag": "Harbor friends", "action": "tag"})
	// What is on its page only while there is something to do.
	rare := []string{"/undo", "/tags/remove", "/resume", "/merge", "/role", "/remove", "/delete", "/receive",
		"/receipt"}
	for i, route := range append(console.MemberRoutes(), console.UserRoutes()...) {
		if !strings.HasPrefix(route.Pattern, "POST ") {
			continue
		}
		path := address(route.Pattern, e.account.ID, e)
		succeed(t, s.store.EndSessions(t.Context(), e.owner.user.ID, ""))
		switch typed["type"] = "number"; {
		case strings.Contains(path, "/campaigns"):
			typed["type"] = "event"
		case strings.Contains(path, "/contacts"):
			typed["type"] = "company"
		}
		form := url.Values{}
		for name, value := range typed {
			if !strings.Contains(name, "password") {
				form.Set(name, value)
			}
		}
		from := e.owner.org("/segments?from=" + strconv.Itoa(i))
		kept := e.owner.do(http.MethodPost, path, form,
			http.Header{"Sec-Fetch-Site": {"same-origin"}, "Referer": {s.http.URL + from}})
		kept.is(401)
		again := e.owner.signBackIn(kept)
		if route.Button {
			again.leads(from)
			continue
		}
		fields, found := controls(again, path)
		isRare := slices.ContainsFunc(rare, func(end string) bool { return strings.HasSuffix(path, end) })
		again.sees("You were signed out before ")
		if !found && !isRare {
			t.Errorf("%s: %d, no such form: %s", route.Pattern, again.status, again.words())
		}
		for name, values := range fields {
			if want, sent := typed[name]; sent && !isRare && !slices.Contains(values, want) &&
				!strings.Contains(name, "password") {
				t.Errorf("%s: %s holds %q, typed was %q", route.Pattern, name, values, want)
			}
		}
	}
	equal(t, s.state(e), before, "something changed")
}

// What one person has typed is shown to no one else who signs in with the same browser.
func TestAFormComesBackToWhoTypedItAlone(t *testing.T) {
	s := anySite(t)
	account := s.organization("Harbor")
	ana, bo := s.member(account, access.Editor), s.member(account, access.Editor)
	succeed(t, s.store.EndSessions(t.Context(), ana.user.ID, ""))
	kept := ana.post("contacts", "first_name", "Confidential", "last_name", "Person")
	kept.is(401)
	a := ana.post("/console/signin", append(hiddenFields(kept), "email", bo.user.Email, "password", testPassword)...)
	a.is(303)
	if home := ana.get(ana.get(a.location()).location()); strings.Contains(home.body, "Confidential") {
		t.Error("the form of another person is shown")
	} else {
		home.sees("filled in by someone else")
	}

	succeed(t, s.store.RemoveMember(t.Context(), account.Number, ana.user.ID))
	s.visitor().post("/console/signin", append(hiddenFields(kept), "email", ana.user.Email, "password",
		testPassword)...).is(404).hides("Confidential")
}

// Suggestions for a field do not take the page away on which a person types.
func TestSuggestionsLeaveThePageAloneWhenTheSessionHasEnded(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	succeed(t, s.store.EndSessions(t.Context(), p.user.ID, ""))
	p.do(http.MethodGet, "tags?tag=a", nil, http.Header{"Hx-Request": {"true"}, "Hx-Target": {"tag-options"}}).is(401).
		with("HX-Redirect", "")
}

// What is not kept is said, with what to do, and signing in leads to the page of the form.
func TestASignInPageSaysWhatItDoesNotKeep(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	succeed(t, s.store.EndSessions(t.Context(), p.user.ID, ""))
	from := http.Header{"Sec-Fetch-Site": {"same-origin"}, "Referer": {s.http.URL + p.org("/contacts/new")}}
	large := p.do(http.MethodPost, "contacts", url.Values{"note": {strings.Repeat("n", 70_000)}}, from)
	large.is(401).sees("It was too large to be kept")
	p.signBackIn(large).leads(p.org("/contacts/new"))
	succeed(t, s.store.EndSessions(t.Context(), p.user.ID, ""))
	file := must(http.NewRequestWithContext(t.Context(), http.MethodPost, s.http.URL+p.org("/contacts/import"),
		strings.NewReader("--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\r\nx\r\n--x--")))(t)
	file.Header = http.Header{"Sec-Fetch-Site": {"same-origin"}, "Content-Type": {"multipart/form-data; boundary=x"}}
	p.send(file).sees("choose the file again")
}

// pending is a form that was only partly sent.
type pending struct {
	conn *tls.Conn
	rest string
}

// begin sends the headers of a form and its first byte.
func (p *person) begin(path, form string) *pending {
	p.site.t.Helper()
	cookie := p.client.Jar.Cookies(mustURL(p.site.t, p.site.http.URL))[0]
	conn := p.site.dial(path, cookie.String(), len(form), form[:1])
	return &pending{conn: conn, rest: form[1:]}
}

// finish sends the rest, and returns the status.
func (q *pending) finish(t *testing.T) int {
	t.Helper()
	must(io.WriteString(q.conn, q.rest))(t)
	response := must(http.ReadResponse(bufio.NewReader(q.conn), nil))(t)
	defer response.Body.Close()
	return response.StatusCode
}

// A user who starts to send a form while it is allowed, and finishes when it no longer is, is refused.
func TestAFormThatIsSentSlowlyCountsWhenItIsComplete(t *testing.T) {
	s := anySite(t)
	account := s.organization("Harbor")
	s.member(account, access.Owner)
	p := s.member(account, access.Owner)
	me := strconv.FormatInt(p.user.ID, 10)
	forms := map[string]*pending{
		"a role":        p.begin(p.org("/settings/people/"+me+"/role"), "role=owner"),
		"an invitation": p.begin(p.org("/settings/people/invite"), "role=owner&email="),
		"a key": p.begin(p.org("/settings/integrations/api-keys"),
			"name=k&permission=contacts:read&expires=never"),
	}
	succeed(t, s.store.SetRole(t.Context(), account.Number, p.user.ID, access.Viewer))
	for what, form := range forms {
		equal(t, form.finish(t), 403, "%s", what)
	}
	m, err := s.store.Membership(t.Context(), p.user.ID, account.ID)
	succeed(t, err)
	equal(t, m.Role, access.Viewer, "the role")
	late := p.begin("/console/profile/name", "name=Somebody")
	succeed(t, s.store.EndSessions(t.Context(), p.user.ID, ""))
	equal(t, late.finish(t), 401, "a name after the session")
	if members, err := s.store.Members(t.Context(), account.Number); err != nil || members[0].User.Name == "Somebody" ||
		members[1].User.Name == "Somebody" {
		t.Errorf("%+v, %v", members, err)
	}
}
