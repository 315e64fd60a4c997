package console_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html"

	"donorbook/internal/console/page"
	"donorbook/internal/crm/access"
	"donorbook/internal/store"
)

// signIn tries a password with this browser.
func (p *person) signIn(email, password string) answer {
	p.site.t.Helper()
	return p.post("/console/signin", "email", email, "password", password)
}

// On the first morning, all people in one office sign in at the same moment, from one address, with four browsers each.
func TestManyPeopleSignInAtOnce(t *testing.T) {
	s := anySite(t)
	account := s.organization("Harbor")
	var people []*person
	for range 30 {
		people = append(people, s.member(account, access.Viewer))
	}
	var group sync.WaitGroup
	for n := range 120 {
		browser := s.visitor()
		group.Go(func() {
			browser.signIn(people[n%len(people)].user.Email, testPassword).is(303)
		})
	}
	group.Wait()
	equal(t, s.signIns[page.SignedIn].Load(), 120)
}

// A correct password is not a guess, no matter how often it is typed.
func TestSigningInOftenIsNotThrottled(t *testing.T) {
	_, ana := signedIn(t, access.Owner)
	for range 12 {
		ana.signIn(ana.user.Email, testPassword).is(303)
	}
}

// A stranger's guesses do not lock out a user who has signed in from this browser before, until the password changes.
func TestABrowserThatSignedInBeforeIsNotLockedOut(t *testing.T) {
	s, ana := signedIn(t, access.Owner)
	known, other := s.visitor(), s.visitor()
	known.signIn(ana.user.Email, testPassword).is(303)
	known.post("/console/signout").is(303)
	lock := func() {
		t.Helper()
		stranger := s.visitor()
		for range 11 {
			stranger.signIn(ana.user.Email, "wrong password")
		}
		other.signIn(ana.user.Email, testPassword).is(429)
	}
	lock()
	known.signIn(ana.user.Email, testPassword).is(303)
	known.signIn("someone.else@example.org", testPassword).is(422) // like any stranger
	for outcome, want := range []int64{2, 11, 2} {
		equal(t, s.signIns[outcome].Load(), want, "%v", outcome)
	}

	succeed(t, s.store.ResetPassword(t.Context(), ana.user.Email, "another password"))
	known.signIn(ana.user.Email, "another password").is(429)
}

// The browser in which a password was changed stays known.
func TestABrowserThatChangedThePasswordIsKnown(t *testing.T) {
	s, ana := signedIn(t, access.Owner)
	ana.post("/console/profile/password", "current_password", testPassword, "password", "another password").is(303)
	stranger := s.visitor()
	for range 11 {
		stranger.signIn(ana.user.Email, "wrong password")
	}
	ana.signIn(ana.user.Email, "another password").is(303)
}

// A known browser cannot guess without limit either.
func TestAKnownBrowserMayNotGuessWithoutEnd(t *testing.T) {
	_, ana := signedIn(t, access.Owner)
	ana.signIn(ana.user.Email, testPassword).is(303)
	for n := range 10 {
		ana.signIn(ana.user.Email, fmt.Sprint("wrong password ", n)).is(422)
	}
	ana.signIn(ana.user.Email, testPassword).is(429)
}

func TestTheDeviceCookieIsGuarded(t *testing.T) {
	_, ana := signedIn(t, access.Owner)
	a := ana.signIn(ana.user.Email, testPassword)
	for _, line := range a.header.Values("Set-Cookie") {
		cookie := must(http.ParseSetCookie(line))(t)
		if cookie.Name == "__Host-device" {
			if !cookie.HttpOnly || !cookie.Secure || cookie.Path != "/" || cookie.Domain != "" ||
				cookie.SameSite != http.SameSiteLaxMode || cookie.MaxAge < 300*24*3600 {
				t.Errorf("the cookie is %+v", cookie)
			}
			return
		}
	}
	t.Error("there is no device cookie")
}

// Only a server that no one uses yet says how it is set up.
func TestTheSignInPageNamesNoCommandsOnceThereAreUsers(t *testing.T) {
	s := anySite(t)
	visitor := s.visitor()
	visitor.get("/console/signin").sees("Open the setup link that donorbook serve printed")
	ana := s.member(s.organization("Harbor"), access.Owner)
	for _, page := range []answer{visitor.get("/console/signin"), visitor.signIn(ana.user.Email, "wrong password"),
		visitor.post(ana.org("/contacts"), "first_name", "Ada")} {
		page.sees("Ask an owner of your organization for an invitation.").
			lacks("donorbook serve", "donorbook user", "setup link")
	}
}

// The reference of the API is for those who have keys; the settings lead everyone to it.
func TestTheMenuHasTheReferenceForPeopleWithKeys(t *testing.T) {
	s, owner := signedIn(t, access.Owner)
	editor := s.member(owner.account, access.Editor)
	inMenu := func(p *person) bool { return strings.Contains(p.get("contacts").body, `href="/docs"`) }
	if inMenu(owner) {
		t.Error("without a key the reference is in the menu")
	}
	owner.makeKey("name", "K", "permission", "contacts:read", "expires", "never")
	if !inMenu(owner) || inMenu(editor) {
		t.Errorf("the menu has the reference: of the owner %v, of an editor %v", inMenu(owner), inMenu(editor))
	}
}

func TestTheSetUpLinkMakesTheFirstUserOnce(t *testing.T) {
	s := anySite(t)
	token := must(s.store.SetupToken(t.Context()))(t)
	link, first := "/console/setup/"+token, s.visitor()
	first.get(link).sees("Welcome to Donorbook", "Name of your organization")

	first.post(link, "organization", "Harbor Light", "name", " ", "email", "ana at example", "password", "short").
		is(422).sees("3 things need your attention", "Name is required", "Email must be a valid email address",
		"Password must").has(`value="Harbor Light"`).hides(`value="short"`)

	home := first.post(link, "organization", "Harbor Light", "name", "Ana", "email", "ana@example.org", "password",
		testPassword)
	home.is(303)
	if !strings.HasPrefix(home.location(), "/console/o/") {
		t.Errorf("it leads to %q", home.location())
	}
	first.get("/console/profile").sees("Welcome to Harbor Light, Ana.", "Harbor Light")

	second := s.visitor()
	second.get(link).is(410).sees("This link no longer works", "ask them for an invitation")
	second.post(link, "organization", "Mine", "name", "Eve", "email", "eve@example.org", "password", testPassword).
		is(410)
}

// An operator has created organizations but no user. The setup link does not give access to an organization that has
// contacts.
func TestTheSetUpLinkCanTakeAnOrganizationThatExists(t *testing.T) {
	s := anySite(t)
	account, used := s.organization("Harbor Light"), s.organization("Lakeside")
	s.newcomer(used, "Ada", "King")
	token := must(s.store.SetupToken(t.Context()))(t)
	p, link := s.visitor(), "/console/setup/"+token
	p.get(link).sees("These organizations exist", "Harbor Light", "A new organization",
		"Organizations that already have contacts aren’t listed", "donorbook user create").lacks("Lakeside")
	p.post(link, "account", used.ID, "name", "Ana", "email", "ana@example.org", "password", testPassword).is(422)
	p.post(link, "account", account.ID, "name", "Ana", "email", "ana@example.org", "password", testPassword).
		leads("/console/o/" + account.ID)
}

func TestSigningInLeadsToWhereOneWantedToGo(t *testing.T) {
	s, owner := signedIn(t, access.Owner)
	p := s.visitor()
	asked := p.get(owner.org("/contacts?scope=archived"))
	p.get(asked.location()).sees("Sign in").has(`name="next" value="/console/o/` + owner.account.ID +
		`/contacts?scope=archived"`)
	p.post("/console/signin", "email", owner.user.Email, "password", testPassword, "next",
		owner.org("/contacts?scope=archived")).leads(owner.org("/contacts?scope=archived"))
	p.get("/console/signin").leads("/console")
}

// A password must be typed again, and a form that another site made up leads nowhere else.
func TestASignInPageCarriesNoPassword(t *testing.T) {
	s := anySite(t)
	p := s.visitor()
	p.post("/console/profile/password", "current_password", testPassword, "password", "the new password").is(401).
		hides(testPassword, "the new password")
	owner := s.member(s.organization("Harbor"), access.Owner)
	p.post("/console/signin", "email", owner.user.Email, "password", testPassword, "kept", "https://evil.example/",
		"kept_by", strconv.FormatInt(owner.user.ID, 10), "kept.x", "1").hides("evil")
}

// hiddenFields are the names and values of the hidden fields of a page.
func hiddenFields(a answer) (pairs []string) {
	for _, m := range hidden.FindAllStringSubmatch(a.body, -1) {
		pairs = append(pairs, html.UnescapeString(m[1]), html.UnescapeString(m[2]))
	}
	return pairs
}

var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)

func TestSigningOutEndsTheSession(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	thief := s.visitor()
	thief.client.Jar.SetCookies(mustURL(t, s.http.URL), p.client.Jar.Cookies(mustURL(t, s.http.URL)))
	thief.get("/console/profile").is(200)
	p.post("/console/signout").is(303)
	thief.get("/console/profile").is(303)
}

// Signing in again with the same browser leaves no old session behind.
func TestANewSessionReplacesTheOldOne(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	p.post("/console/signin", "email", p.user.Email, "password", testPassword).is(303)
	sessions, err := s.store.Sessions(t.Context(), p.user.ID)
	succeed(t, err)
	equal(t, len(sessions), 1)
}

func TestAnInvitationMakesAColleague(t *testing.T) {
	s, owner := signedIn(t, access.Owner)
	_, token := must2(s.store.Invite(t.Context(), owner.account, owner.user, access.Editor, "bo@example.org"))(t)
	bo, link := s.visitor(), "/console/invite/"+token
	bo.get(link).sees("Join Harbor", owner.user.Name+" invited you to join as an editor",
		"change contacts, gifts and campaigns").has(`value="bo@example.org"`)
	bo.post(link, "name", "Bo", "email", owner.user.Email, "password", testPassword).is(422).sees("sign in")
	bo.post(link, "name", "Bo", "email", "bo@example.org", "password", testPassword).leads(owner.org(""))
	s.visitor().get(link).is(410)
}

func TestSomebodyWhoHasAUserJoinsASecondOrganization(t *testing.T) {
	s := anySite(t)
	ana, bo := s.member(s.organization("Harbor"), access.Owner), s.member(s.organization("Lakeside"), access.Viewer)
	_, token := must2(s.store.Invite(t.Context(), ana.account, ana.user, access.Viewer, ""))(t)
	bo.get(ana.org("/contacts")).is(404)
	bo.get("/console/invite/" + token).sees("You are signed in as " + bo.user.Name)
	bo.follow("/console/invite/" + token + "/accept")
	bo.get("/console/profile").sees("Harbor", "Lakeside")
	bo.get(ana.org("/contacts")).is(200)
	bo.get("contacts").is(200)
}

// The console opens where the user left off.
func TestTheEntranceLeadsToTheOrganizationThatWasOpenLast(t *testing.T) {
	s := anySite(t)
	first, second := s.organization("A first"), s.organization("B second")
	p := s.member(first, access.Owner)
	must(s.store.AddMember(t.Context(), second, access.Viewer, p.user.Email))(t)
	for _, account := range []access.Account{second, first, second} {
		p.get("/console/o/" + account.ID + "/contacts").is(200)
		p.get("/console").leads("/console/o/" + account.ID)
	}
}

func TestWhoeverBelongsNowhereIsToldSo(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	succeed(t, s.store.RemoveMember(t.Context(), p.account.Number, p.user.ID))
	p.get("").is(404)
	p.get(p.get("/console").location()).is(200).sees("You aren’t a member of any organization")
}

func TestTheBareAddressLeadsToTheConsole(t *testing.T) {
	p := anySite(t).visitor()
	p.get("/").is(303).leads("/console")
	p.get("/console").leads("/console/signin")
	p.get("/favicon.ico").is(200).with("Content-Type", "image/svg+xml")
}

func TestFilesAreKeptByBrowsersUntilTheyChange(t *testing.T) {
	p := anySite(t).visitor()
	page := p.get("/console/signin")
	_, rest, _ := strings.Cut(page.body, `rel="stylesheet" href="`)
	address, _, _ := strings.Cut(rest, `"`)
	style := p.get(address)
	style.is(200).has(":root")
	contains(t, style.header.Get("Cache-Control"), "immutable", "%s: %d %v", address, style.status, style.header)
	if old := p.get("/console/static/console.css?v=older"); strings.Contains(old.header.Get("Cache-Control"),
		"immutable") {
		t.Error("a page of an older program would be kept with the new file")
	}
	p.get("/console/static/console.go").is(404)
	p.get("/console/static/..%2fconsole.go").is(404)
}

// again is the same person with another browser.
func (p *person) again(password string) *person {
	p.site.t.Helper()
	other := p.site.visitor()
	other.user, other.account = p.user, p.account
	equal(p.site.t, other.post("/console/signin", "email", p.user.Email, "password", password).status, 303,
		"signing")
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
	p.post("/console/profile/password", "current_password", "not this one", "password", "short").is(422).
		sees("2 things need your attention", "The current password is wrong",
			"New password must have at least 10 characters").hides("not this one", `value="short"`)
	if !other.isIn() {
		t.Error("what was refused has ended a session")
	}
	p.follow("/console/profile/password", "current_password", testPassword, "password", "another password").
		sees("Password changed")
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
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 " +
			"Safari/537.36 Edg/140.0.0.0": "Edge on Windows",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 " +
			"Safari/605.1.15": "Safari on Mac",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) " +
			"Version/18.1 Mobile/15E148 Safari/604.1": "Safari on iPhone",
		"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0": "Firefox on Linux",
		"Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile " +
			"Safari/537.36": "Chrome on Android",
		"curl/8.14.1":    "curl",
		"Something else": "Something else",
		"":               "Unknown browser",
	} {
		must(s.store.StartSession(t.Context(), p.user.ID, access.Device{Agent: agent}))(t)
		p.get("/console/profile").sees(want)
	}
}

// Who asks for a new password learns nothing about who is a user, and what is done is the same: a row in the outbox.
func TestAForgottenPasswordTellsNothing(t *testing.T) {
	s, anna := signedIn(t, access.Owner)
	if words := s.visitor().get("/console/signin").words(); strings.Contains(words, "We mail") ||
		!strings.Contains(words, "Ask your administrator") {
		t.Error(words)
	}
	s.store.UseRelay(new(store.Shelf))
	var answers []answer
	for _, email := range []string{anna.user.Email, "nobody@example.org"} {
		v := s.visitor()
		sent := v.post("/console/forgot", "email", email)
		page := v.get(sent.location())
		waiting, err := s.store.RecentMails(t.Context(), 0, 50)
		sent.is(303)
		succeed(t, err)
		equal(t, len(waiting), len(answers)/2+1, "%s: %d", email, sent.status)
		answers = append(answers, sent, page)
	}
	answers[0].leads(answers[2].location())
	equal(t, answers[1].words(), answers[3].words())
	s.visitor().post("/console/forgot", "email", "a@b.org\r\nBcc: c@d.org").is(422)
	for range 10 {
		s.visitor().post("/console/forgot", "email", anna.user.Email)
	}
	s.visitor().post("/console/forgot", "email", anna.user.Email).is(429)
}

func TestOwnersTryTheMail(t *testing.T) {
	s := anySite(t)
	account := s.organization("Harbor Light")
	anna, victor := s.member(account, access.Owner), s.member(account, access.Viewer)
	path := "/console/o/" + account.ID + "/settings/mail"
	if words := anna.get(path).words(); !strings.Contains(words, "This server isn’t set up to send mail") ||
		!strings.Contains(words, "--smtp-host") {
		t.Error(words)
	}
	anna.post(path + "/test")
	equal(t, len(must(s.store.RecentMails(t.Context(), account.Number, 50))(t)), 0,
		"a mail waits for a relay that is not there")
	s.visitor().get("/console/mails").is(404)
	s.store.UseRelay(new(store.Shelf))
	victor.post(path + "/test").is(403)
	anna.post(path + "/test")
	if words := anna.get(path).words(); !strings.Contains(words, anna.user.Email+" Test") ||
		!strings.Contains(words, "Waiting") {
		t.Error(words)
	}
	s.send()
	contains(t, anna.get(path).words(), "Sent")
	contains(t, s.visitor().get("/console/mails").words(), "Test mail from Harbor Light")
}

// The mail to who is invited says what they may do, and has the last day of its link by the clock of the organization,
// as the page has it.
func TestTheMailOfAnInvitationSaysWhatItIsFor(t *testing.T) {
	s := siteAt(t, time.Date(2026, time.November, 17, 4, 37, 0, 0, time.UTC))
	owner := s.clockIn("America/New_York", access.Owner)
	s.store.UseRelay(new(store.Shelf))
	owner.post("settings/people/invite", "email", "bob@example.org", "role", "viewer")
	s.send()
	owner.get("/console/mails").
		sees(owner.user.Name+" invited you to join Harbor on Donorbook. As a viewer, you can see contacts, gifts and "+
			"campaigns.", "The link works once and until November 23, 2026.")
	owner.get("settings/people").sees("Nov 23, 2026")
}
