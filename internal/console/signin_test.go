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
			browser.signIn(people[n%len(people)].user.Email, testPassword).is(303)
		})
	}
	group.Wait()
	if n := s.signIns[page.SignedIn].Load(); n != 120 {
		t.Errorf("%d sign-ins were counted", n)
	}
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
		if n := s.signIns[outcome].Load(); n != want {
			t.Errorf("%d sign-ins have the outcome %d, want %d", n, outcome, want)
		}
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
	s := anySite(t)

	visitor := s.visitor()
	visitor.get("/console/signin").sees("Open the setup link that donorbook serve printed")
	ana := s.member(s.organization("Harbor"), access.Owner)
	for _, page := range []answer{visitor.get("/console/signin"), visitor.signIn(ana.user.Email, "wrong password"), visitor.post(ana.org("/contacts"), "first_name", "Ada")} {
		page.sees("Ask an owner of your organization for an invitation.").lacks("donorbook serve", "donorbook user", "setup link")
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
