package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"donorbook/internal/console/page"
	"donorbook/internal/crm/access"
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
			if a := browser.signIn(people[n%len(people)].user.Email, testPassword); a.status != http.StatusSeeOther {
				t.Errorf("browser %d: %d %s", n, a.status, a.words())
			}
		})
	}
	group.Wait()
	if n := s.signIns[page.SignedIn].Load(); n != 120 {
		t.Errorf("%d sign-ins were counted", n)
	}
}

// A correct password is not a guess, no matter how often it is typed.
func TestSigningInOftenIsNotThrottled(t *testing.T) {
	s := anySite(t)
	ana := s.member(s.organization("Harbor"), access.Owner)
	for range 12 {
		ana.wantStatus(ana.signIn(ana.user.Email, testPassword), http.StatusSeeOther)
	}
}

// A stranger's guesses do not lock out a user who has signed in from this browser before, until the password changes.
func TestABrowserThatSignedInBeforeIsNotLockedOut(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		ana := s.member(s.organization("Harbor"), access.Owner)
		known, other := s.visitor(), s.visitor()
		known.wantStatus(known.signIn(ana.user.Email, testPassword), http.StatusSeeOther)
		known.wantStatus(known.post("/console/signout"), http.StatusSeeOther)
		lock := func() {
			t.Helper()
			stranger := s.visitor()
			for range 11 {
				stranger.signIn(ana.user.Email, "wrong password")
			}
			other.wantStatus(other.signIn(ana.user.Email, testPassword), http.StatusTooManyRequests)
		}
		lock()
		known.wantStatus(known.signIn(ana.user.Email, testPassword), http.StatusSeeOther)
		known.wantStatus(known.signIn("someone.else@example.org", testPassword), http.StatusUnprocessableEntity) // like any stranger
		for outcome, want := range []int64{2, 11, 2} {
			if n := s.signIns[outcome].Load(); n != want {
				t.Errorf("%d sign-ins have the outcome %d, want %d", n, outcome, want)
			}
		}

		succeed(t, s.store.ResetPassword(t.Context(), ana.user.Email, "another password"))
		known.wantStatus(known.signIn(ana.user.Email, "another password"), http.StatusTooManyRequests)
	})
}

// The browser in which a password was changed stays known.
func TestABrowserThatChangedThePasswordIsKnown(t *testing.T) {
	s := anySite(t)
	ana := s.member(s.organization("Harbor"), access.Owner)
	ana.wantStatus(ana.post("/console/profile/password", "current_password", testPassword, "password", "another password"), http.StatusSeeOther)
	stranger := s.visitor()
	for range 11 {
		stranger.signIn(ana.user.Email, "wrong password")
	}
	ana.wantStatus(ana.signIn(ana.user.Email, "another password"), http.StatusSeeOther)
}

// A known browser cannot guess without limit either.
func TestAKnownBrowserMayNotGuessWithoutEnd(t *testing.T) {
	s := anySite(t)
	ana := s.member(s.organization("Harbor"), access.Owner)
	ana.wantStatus(ana.signIn(ana.user.Email, testPassword), http.StatusSeeOther)
	for n := range 10 {
		ana.wantStatus(ana.signIn(ana.user.Email, fmt.Sprint("wrong password ", n)), http.StatusUnprocessableEntity)
	}
	ana.wantStatus(ana.signIn(ana.user.Email, testPassword), http.StatusTooManyRequests)
}

func TestTheDeviceCookieIsGuarded(t *testing.T) {
	s := anySite(t)
	ana := s.member(s.organization("Harbor"), access.Owner)
	a := ana.signIn(ana.user.Email, testPassword)
	for _, line := range a.header.Values("Set-Cookie") {
		cookie := must(http.ParseSetCookie(line))(t)
		if cookie.Name == "__Host-device" {
			if !cookie.HttpOnly || !cookie.Secure || cookie.Path != "/" || cookie.Domain != "" || cookie.SameSite != http.SameSiteLaxMode || cookie.MaxAge < 300*24*3600 {
				t.Errorf("the cookie is %+v", cookie)
			}
			return
		}
	}
	t.Error("there is no device cookie")
}

// Only a server that no one uses yet says how it is set up.
func TestTheSignInPageNamesNoCommandsOnceThereAreUsers(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		visitor := s.visitor()
		visitor.sees(visitor.get("/console/signin"), "Open the setup link that donorbook serve printed")
		ana := s.member(s.organization("Harbor"), access.Owner)
		for _, page := range []answer{visitor.get("/console/signin"), visitor.signIn(ana.user.Email, "wrong password"), visitor.post(ana.org("/contacts"), "first_name", "Ada")} {
			visitor.sees(page, "Ask an owner of your organization for an invitation.")
			visitor.doesNotSee(page, "donorbook serve", "donorbook user", "setup link")
		}
	})
}

// The reference of the API is for those who have keys; the settings lead everyone to it.
func TestTheMenuHasTheReferenceForPeopleWithKeys(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		owner := s.member(s.organization("Harbor"), access.Owner)
		editor := s.member(owner.account, access.Editor)
		inMenu := func(p *person) bool { return strings.Contains(p.get(p.org("/contacts")).body, `href="/docs"`) }
		if inMenu(owner) {
			t.Error("without a key the reference is in the menu")
		}
		owner.makeKey("name", "K", "permission", "contacts:read", "expires", "never")
		if !inMenu(owner) || inMenu(editor) {
			t.Errorf("the menu has the reference: of the owner %v, of an editor %v", inMenu(owner), inMenu(editor))
		}
	})
}
