package console_test

import (
	"testing"

	"donorbook/internal/crm/access"
)

// again is the same person with another browser.
func (p *person) again(password string) *person {
	p.site.t.Helper()
	other := p.site.visitor()
	other.user, other.account = p.user, p.account
	if a := other.post("/console/signin", "email", p.user.Email, "password", password); a.status != 303 {
		p.site.t.Fatalf("signing in answered %d", a.status)
	}
	return other
}

func (p *person) isIn() bool { return p.get("/console/profile").status == 200 }

func TestSomebodyIsRenamed(t *testing.T) {
	_, p := signedIn(t, access.Viewer)
	p.follow("/console/profile/name", "name", " Zoë ").sees("Your name is now Zoë.")
	p.post("/console/profile/name", "name", " ").is(422).sees("name is required")
	p.get("settings/people").sees("Zoë")
}

func TestAPasswordIsChangedByWhoeverKnowsIt(t *testing.T) {
	_, p := signedIn(t, access.Viewer)
	other := p.again(testPassword)
	p.post("/console/profile/password", "current_password", "not this one", "password", "short").is(422).sees("2 things need your attention", "The current password is wrong", "New password must have at least 10 characters").hides("not this one", `value="short"`)
	if !other.isIn() {
		t.Error("what was refused has ended a session")
	}
	p.follow("/console/profile/password", "current_password", testPassword, "password", "another password").sees("Password changed")
	if other.isIn() || !p.isIn() {
		t.Error("not exactly the other session has ended")
	}
	p.again("another password")

}

// A browser that was left open must not help anyone guess the password.
func TestGuessingTheCurrentPasswordIsThrottled(t *testing.T) {
	_, p := signedIn(t, access.Viewer)
	for range 10 {
		p.post("/console/profile/password", "current_password", "guess", "password", "another password").is(422)
	}
	p.post("/console/profile/password", "current_password", testPassword, "password", "another password").is(429)
}

func TestSessionsAreListedAndEnded(t *testing.T) {
	s, p := signedIn(t, access.Viewer)
	second, third := p.again(testPassword), p.again(testPassword)
	stranger := s.member(p.account, access.Viewer)
	sessions, err := s.store.Sessions(t.Context(), p.user.ID)
	if err != nil || len(sessions) != 3 {
		t.Fatalf("%v: %d sessions", err, len(sessions))
	}
	end := func(id string) string { return "/console/profile/sessions/" + id + "/end" }
	mine := must(s.store.Session(t.Context(), cookieOf(t, second)))(t)
	stranger.post(end(mine.ID)).is(404)
	stranger.post(end("x")).is(404)
	p.get("/console/profile").sees("This browser", "Sign out everywhere else", "127.0.0.1")
	p.follow(end(mine.ID)).sees("Browser signed out.")
	if second.isIn() || !third.isIn() || !p.isIn() {
		t.Error("not exactly that session has ended")
	}
	p.follow("/console/profile/sessions/end", "which", "others").sees("You were signed out everywhere else.")
	if third.isIn() || !p.isIn() {
		t.Error("not exactly the others have ended")
	}
	last := p.again(testPassword)
	p.post("/console/profile/sessions/end", "which", "all").leads("/console/signin")
	if p.isIn() || last.isIn() || !stranger.isIn() {
		t.Error("not exactly all of one's own sessions have ended")
	}

}

func cookieOf(t *testing.T, p *person) string {
	t.Helper()
	for _, c := range p.client.Jar.Cookies(mustURL(t, p.site.http.URL)) {
		if c.Name == "__Host-session" {
			return c.Value
		}
	}
	t.Fatal("there is no session")
	return ""
}

func TestBrowsersAreCalledByTheirNames(t *testing.T) {
	s, p := signedIn(t, access.Viewer)
	for agent, want := range map[string]string{
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0":           "Edge on Windows",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15":                   "Safari on Mac",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1": "Safari on iPhone",
		"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0":                                                                  "Firefox on Linux",
		"Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36":                   "Chrome on Android",
		"curl/8.14.1":    "curl",
		"Something else": "Something else",
		"":               "Unknown browser",
	} {
		must(s.store.StartSession(t.Context(), p.user.ID, access.Device{Agent: agent}))(t)
		p.get("/console/profile").sees(want)
	}
}
