package browser_test

import (
	"net/http"
	"testing"
)

// A note that is typed while the session ends is there again after signing in, with the keyboard and without scripts.
func TestANoteSurvivesTheEndOfTheSession(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	home := p.path()
	s.addContacts(p.organizationID(), `{"first_name":"Amelia","last_name":"Okafor"}`)
	for _, scripts := range []bool{true, false} {
		if !scripts {
			p.withoutScripts()
		}
		p.visit(home + "/contacts")
		p.click("Amelia Okafor")
		p.fill("Add a note", "She calls back on Monday.")
		password := s.donorbook("user", "reset-password", ownerEmail) // which ends all sessions
		p.expects(http.StatusUnauthorized)
		p.click("Add note")
		p.sees("You were signed out, so nothing was saved. Sign in to get back to the form, with what you typed.")
		p.fits()
		p.fill("Email", ownerEmail)
		p.fill("Password", password)
		p.expects(http.StatusUnprocessableEntity)
		p.press("Enter")
		p.in("h1").sees("Amelia Okafor")
		p.sees("You were signed out before this was saved.")
		if typed := p.value("Add a note"); typed != "She calls back on Monday." {
			t.Errorf("the note is %q", typed)
		}
		if focus := p.focused(); scripts && focus[:5] != "alert" {
			t.Errorf("the page begins at %s", focus)
		}
		p.audit()
		p.fits()
		p.click("Add note")
		p.sees("Note added.")
	}
}
