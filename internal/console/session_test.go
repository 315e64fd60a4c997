package console_test

import (
	"html"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"donorbook/internal/crm/access"
)

func TestTheSetUpLinkMakesTheFirstUserOnce(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		token := must(s.store.SetupToken(t.Context()))(t)
		link, first := "/console/setup/"+token, s.visitor()
		first.sees(first.get(link), "Welcome to Donorbook", "Name of your organization")

		wrong := first.post(link, "organization", "Harbor Light", "name", " ", "email", "ana at example", "password", "short")
		first.wantStatus(wrong, http.StatusUnprocessableEntity)
		first.sees(wrong, "3 things need your attention", "Name is required", "Email must be a valid email address", "Password must")
		if !strings.Contains(wrong.body, `value="Harbor Light"`) || strings.Contains(wrong.body, `value="short"`) {
			t.Error("what was typed is lost, or the password is shown")
		}

		home := first.post(link, "organization", "Harbor Light", "name", "Ana", "email", "ana@example.org", "password", testPassword)
		first.wantStatus(home, http.StatusSeeOther)
		if !strings.HasPrefix(home.location(), "/console/o/") {
			t.Errorf("it leads to %q", home.location())
		}
		first.sees(first.get("/console/profile"), "Welcome to Harbor Light, Ana.", "Harbor Light")

		second := s.visitor()
		used := second.get(link)
		second.wantStatus(used, http.StatusGone)
		second.sees(used, "This link no longer works", "ask them for an invitation")
		second.wantStatus(second.post(link, "organization", "Mine", "name", "Eve", "email", "eve@example.org", "password", testPassword), http.StatusGone)
	})
}

// An operator has created organizations but no user. The setup link does not give access to an organization that has contacts.
func TestTheSetUpLinkCanTakeAnOrganizationThatExists(t *testing.T) {
	s := anySite(t)
	account, used := s.organization("Harbor Light"), s.organization("Lakeside")
	s.newcomer(used, "Ada", "King")
	token := must(s.store.SetupToken(t.Context()))(t)
	p, link := s.visitor(), "/console/setup/"+token
	page := p.get(link)
	p.sees(page, "These organizations exist", "Harbor Light", "A new organization", "Organizations that already have contacts aren’t listed", "donorbook user create")
	if strings.Contains(page.words(), "Lakeside") {
		t.Error("an organization with contacts is offered")
	}
	p.wantStatus(p.post(link, "account", used.ID, "name", "Ana", "email", "ana@example.org", "password", testPassword), http.StatusUnprocessableEntity)
	a := p.post(link, "account", account.ID, "name", "Ana", "email", "ana@example.org", "password", testPassword)
	if a.location() != "/console/o/"+account.ID {
		t.Errorf("%d to %q: %s", a.status, a.location(), a.words())
	}
}

func TestSigningInLeadsToWhereOneWantedToGo(t *testing.T) {
	s := anySite(t)
	owner := s.member(s.organization("Harbor"), access.Owner)
	p := s.visitor()
	asked := p.get(owner.org("/contacts?scope=archived"))
	page := p.get(asked.location())
	p.sees(page, "Sign in")
	if !strings.Contains(page.body, `name="next" value="/console/o/`+owner.account.ID+`/contacts?scope=archived"`) {
		t.Errorf("the page forgot it: %s", page.body)
	}
	a := p.post("/console/signin", "email", owner.user.Email, "password", testPassword, "next", owner.org("/contacts?scope=archived"))
	if a.location() != owner.org("/contacts?scope=archived") {
		t.Errorf("it leads to %q", a.location())
	}
	if again := p.get("/console/signin"); again.location() != "/console" {
		t.Errorf("somebody who has signed in is asked again: %d", again.status)
	}
}

// A form that is sent after the session has ended is not lost: the user signs in again, and the form is there with what was typed.
func TestWhatWasTypedSurvivesTheEndOfTheSession(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Editor)
	succeed(t, s.store.EndSessions(t.Context(), p.user.ID, ""))
	lost := p.post(p.org("/contacts"), "first_name", "Amelia", "last_name", `O"Kafor`, "tags.0", "vip", "tags.1", "gala")
	p.wantStatus(lost, http.StatusUnauthorized)
	p.sees(lost, "You were signed out, so nothing was saved")
	again := p.post("/console/signin", append(hiddenFields(lost), "email", p.user.Email, "password", testPassword)...)
	p.wantStatus(again, http.StatusOK)
	p.sees(again, "You were signed out before this was saved", "New contact")
	p.sees(p.resend(again, p.org("/contacts")), `Amelia O"Kafor was added`, "vip", "gala")
}

// A password must be typed again, and a form that another site made up leads nowhere else.
func TestASignInPageCarriesNoPassword(t *testing.T) {
	s := anySite(t)
	p := s.visitor()
	a := p.post("/console/profile/password", "current_password", testPassword, "password", "the new password")
	p.wantStatus(a, http.StatusUnauthorized)
	if strings.Contains(a.body, testPassword) || strings.Contains(a.body, "the new password") {
		t.Error("the page holds a password")
	}
	owner := s.member(s.organization("Harbor"), access.Owner)
	a = p.post("/console/signin", "email", owner.user.Email, "password", testPassword, "kept", "https://evil.example/", "kept_by", strconv.FormatInt(owner.user.ID, 10), "kept.x", "1")
	if strings.Contains(a.body, "evil") {
		t.Errorf("%d: %s", a.status, a.body)
	}
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
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Owner)
		thief := s.visitor()
		thief.client.Jar.SetCookies(mustURL(t, s.http.URL), p.client.Jar.Cookies(mustURL(t, s.http.URL)))
		thief.wantStatus(thief.get("/console/profile"), http.StatusOK)
		p.wantStatus(p.post("/console/signout"), http.StatusSeeOther)
		if a := thief.get("/console/profile"); a.status != http.StatusSeeOther {
			t.Errorf("the cookie still works: %d", a.status)
		}
	})
}

// Signing in again with the same browser leaves no old session behind.
func TestANewSessionReplacesTheOldOne(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Owner)
	p.wantStatus(p.post("/console/signin", "email", p.user.Email, "password", testPassword), http.StatusSeeOther)
	sessions, err := s.store.Sessions(t.Context(), p.user.ID)
	if err != nil || len(sessions) != 1 {
		t.Errorf("%d sessions, %v", len(sessions), err)
	}
}

func TestAnInvitationMakesAColleague(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		owner := s.member(s.organization("Harbor"), access.Owner)
		_, token := must2(s.store.Invite(t.Context(), owner.account, owner.user, access.Editor, "bo@example.org"))(t)
		bo, link := s.visitor(), "/console/invite/"+token
		page := bo.get(link)
		bo.sees(page, "Join Harbor", owner.user.Name+" invited you to join as an editor", "change contacts, gifts and campaigns")
		if !strings.Contains(page.body, `value="bo@example.org"`) {
			t.Error("the email is not filled in")
		}
		taken := bo.post(link, "name", "Bo", "email", owner.user.Email, "password", testPassword)
		bo.wantStatus(taken, http.StatusUnprocessableEntity)
		bo.sees(taken, "sign in")
		joined := bo.post(link, "name", "Bo", "email", "bo@example.org", "password", testPassword)
		if joined.location() != owner.org("") {
			t.Errorf("%d to %q: %s", joined.status, joined.location(), joined.words())
		}
		bo.wantStatus(s.visitor().get(link), http.StatusGone)
	})
}

func TestSomebodyWhoHasAUserJoinsASecondOrganization(t *testing.T) {
	s := anySite(t)
	ana, bo := s.member(s.organization("Harbor"), access.Owner), s.member(s.organization("Lakeside"), access.Viewer)
	_, token := must2(s.store.Invite(t.Context(), ana.account, ana.user, access.Viewer, ""))(t)
	bo.wantStatus(bo.get(ana.org("/contacts")), http.StatusNotFound)
	bo.sees(bo.get("/console/invite/"+token), "You are signed in as "+bo.user.Name)
	bo.follow("/console/invite/" + token + "/accept")
	bo.sees(bo.get("/console/profile"), "Harbor", "Lakeside")
	bo.wantStatus(bo.get(ana.org("/contacts")), http.StatusOK)
	bo.wantStatus(bo.get(bo.org("/contacts")), http.StatusOK)
}

// The console opens where the user left off.
func TestTheEntranceLeadsToTheOrganizationThatWasOpenLast(t *testing.T) {
	s := anySite(t)
	first, second := s.organization("A first"), s.organization("B second")
	p := s.member(first, access.Owner)
	must(s.store.AddMember(t.Context(), second, access.Viewer, p.user.Email))(t)
	for _, account := range []access.Account{second, first, second} {
		p.wantStatus(p.get("/console/o/"+account.ID+"/contacts"), http.StatusOK)
		if a := p.get("/console"); a.location() != "/console/o/"+account.ID {
			t.Errorf("it leads to %q", a.location())
		}
	}
}

func TestWhoeverBelongsNowhereIsToldSo(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Editor)
	succeed(t, s.store.RemoveMember(t.Context(), p.account.Number, p.user.ID))
	p.wantStatus(p.get(p.org("")), http.StatusNotFound)
	a := p.get(p.get("/console").location())
	p.wantStatus(a, http.StatusOK)
	p.sees(a, "You aren’t a member of any organization")
}

func TestTheBareAddressLeadsToTheConsole(t *testing.T) {
	p := anySite(t).visitor()
	if a := p.get("/"); a.status != http.StatusSeeOther || a.location() != "/console" {
		t.Errorf("%d to %q", a.status, a.location())
	}
	if a := p.get("/console"); a.location() != "/console/signin" {
		t.Errorf("%d to %q", a.status, a.location())
	}
	if a := p.get("/favicon.ico"); a.status != http.StatusOK || a.header.Get("Content-Type") != "image/svg+xml" {
		t.Errorf("the icon: %d %q", a.status, a.header.Get("Content-Type"))
	}
}

func TestAFormThatIsTooLargeIsRefusedInWords(t *testing.T) {
	p := anySite(t).visitor()
	a := p.post("/console/signin", "email", strings.Repeat("a", 1<<20))
	p.wantStatus(a, http.StatusRequestEntityTooLarge)
	p.sees(a, "larger than 16 KiB")
}

func TestFilesAreKeptByBrowsersUntilTheyChange(t *testing.T) {
	p := anySite(t).visitor()
	page := p.get("/console/signin")
	_, rest, _ := strings.Cut(page.body, `rel="stylesheet" href="`)
	address, _, _ := strings.Cut(rest, `"`)
	style := p.get(address)
	if style.status != http.StatusOK || !strings.Contains(style.header.Get("Cache-Control"), "immutable") || !strings.Contains(style.body, ":root") {
		t.Errorf("%s: %d %v", address, style.status, style.header)
	}
	if old := p.get("/console/static/console.css?v=older"); strings.Contains(old.header.Get("Cache-Control"), "immutable") {
		t.Error("a page of an older program would be kept with the new file")
	}
	p.wantStatus(p.get("/console/static/console.go"), http.StatusNotFound)
	p.wantStatus(p.get("/console/static/..%2fconsole.go"), http.StatusNotFound)
}
