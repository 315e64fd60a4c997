package console_test

import (
	"html"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"donorbook/internal/crm/access"
)

func TestTheSetUpLinkMakesTheFirstUserOnce(t *testing.T) {
	s := anySite(t)

	token := must(s.store.SetupToken(t.Context()))(t)
	link, first := "/console/setup/"+token, s.visitor()
	first.get(link).sees("Welcome to Donorbook", "Name of your organization")

	first.post(link, "organization", "Harbor Light", "name", " ", "email", "ana at example", "password", "short").is(422).sees("3 things need your attention", "Name is required", "Email must be a valid email address", "Password must").has(`value="Harbor Light"`).hides(`value="short"`)

	home := first.post(link, "organization", "Harbor Light", "name", "Ana", "email", "ana@example.org", "password", testPassword)
	home.is(303)
	if !strings.HasPrefix(home.location(), "/console/o/") {
		t.Errorf("it leads to %q", home.location())
	}
	first.get("/console/profile").sees("Welcome to Harbor Light, Ana.", "Harbor Light")

	second := s.visitor()
	second.get(link).is(410).sees("This link no longer works", "ask them for an invitation")
	second.post(link, "organization", "Mine", "name", "Eve", "email", "eve@example.org", "password", testPassword).is(410)

}

// An operator has created organizations but no user. The setup link does not give access to an organization that has contacts.
func TestTheSetUpLinkCanTakeAnOrganizationThatExists(t *testing.T) {
	s := anySite(t)
	account, used := s.organization("Harbor Light"), s.organization("Lakeside")
	s.newcomer(used, "Ada", "King")
	token := must(s.store.SetupToken(t.Context()))(t)
	p, link := s.visitor(), "/console/setup/"+token
	p.get(link).sees("These organizations exist", "Harbor Light", "A new organization", "Organizations that already have contacts aren’t listed", "donorbook user create").lacks("Lakeside")
	p.post(link, "account", used.ID, "name", "Ana", "email", "ana@example.org", "password", testPassword).is(422)
	p.post(link, "account", account.ID, "name", "Ana", "email", "ana@example.org", "password", testPassword).leads("/console/o/" + account.ID)
}

func TestSigningInLeadsToWhereOneWantedToGo(t *testing.T) {
	s, owner := signedIn(t, access.Owner)
	p := s.visitor()
	asked := p.get(owner.org("/contacts?scope=archived"))
	p.get(asked.location()).sees("Sign in").has(`name="next" value="/console/o/` + owner.account.ID + `/contacts?scope=archived"`)
	p.post("/console/signin", "email", owner.user.Email, "password", testPassword, "next", owner.org("/contacts?scope=archived")).leads(owner.org("/contacts?scope=archived"))
	p.get("/console/signin").leads("/console")
}

// A password must be typed again, and a form that another site made up leads nowhere else.
func TestASignInPageCarriesNoPassword(t *testing.T) {
	s := anySite(t)
	p := s.visitor()
	p.post("/console/profile/password", "current_password", testPassword, "password", "the new password").is(401).hides(testPassword, "the new password")
	owner := s.member(s.organization("Harbor"), access.Owner)
	p.post("/console/signin", "email", owner.user.Email, "password", testPassword, "kept", "https://evil.example/", "kept_by", strconv.FormatInt(owner.user.ID, 10), "kept.x", "1").hides("evil")
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
	if err != nil || len(sessions) != 1 {
		t.Errorf("%d sessions, %v", len(sessions), err)
	}
}

func TestAnInvitationMakesAColleague(t *testing.T) {
	s, owner := signedIn(t, access.Owner)
	_, token := must2(s.store.Invite(t.Context(), owner.account, owner.user, access.Editor, "bo@example.org"))(t)
	bo, link := s.visitor(), "/console/invite/"+token
	bo.get(link).sees("Join Harbor", owner.user.Name+" invited you to join as an editor", "change contacts, gifts and campaigns").has(`value="bo@example.org"`)
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
	if !strings.Contains(style.header.Get("Cache-Control"), "immutable") {
		t.Errorf("%s: %d %v", address, style.status, style.header)
	}
	if old := p.get("/console/static/console.css?v=older"); strings.Contains(old.header.Get("Cache-Control"), "immutable") {
		t.Error("a page of an older program would be kept with the new file")
	}
	p.get("/console/static/console.go").is(404)
	p.get("/console/static/..%2fconsole.go").is(404)
}
