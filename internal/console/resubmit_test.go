package console_test

import (
	"net/http"
	"strings"
	"testing"

	"donorbook/internal/crm"
)

// pretender has a cookie that was a session, or never was one.
func (s *site) pretender() *person {
	p := s.visitor()
	p.client.Jar.SetCookies(mustURL(s.t, s.http.URL), []*http.Cookie{{Name: "__Host-session", Value: "ended", Path: "/", Secure: true}})
	return p
}

// Clients that are not signed in and send large forms slowly do not make a user lose what they typed. If they hold all the memory
// that they may have, the user is asked to try again, and a sign-in without a large form still works.
func TestStrangersDoNotMakePeopleLoseTheirForms(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), crm.Editor)
	if err := s.store.EndSessions(t.Context(), p.user.ID, ""); err != nil {
		t.Fatal(err)
	}
	lost := p.post(p.org("/contacts"), "first_name", "Amelia", "last_name", "Okafor", "note", strings.Repeat("n", 60_000))
	p.wantStatus(lost, http.StatusUnauthorized)
	signIn := append(hiddenFields(lost), "email", p.user.Email, "password", testPassword)
	slowForms := func(n int) {
		for range n {
			s.pretender().begin("/console/signin", strings.Repeat("a", 90_000)) // its first byte is all that arrives
		}
	}

	slowForms(40)
	person := s.pretender()
	a := person.post("/console/signin", signIn...)
	person.wantStatus(a, http.StatusOK)
	person.sees(a, "Unsaved form")

	slowForms(40)
	for a.status == http.StatusOK { // until all of them have reached the server
		person = s.pretender()
		a = person.post("/console/signin", signIn...)
	}
	person.wantStatus(a, http.StatusServiceUnavailable)
	person.sees(a, "Please try again in a moment.")
	if a.header.Get("Retry-After") == "" {
		t.Error("the answer does not say how long to wait")
	}
	person.wantStatus(person.signIn(p.user.Email, testPassword), http.StatusSeeOther)
}
