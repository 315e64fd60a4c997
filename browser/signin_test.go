package browser_test

import "strings"

// The steps that tests use to sign in. The sign-in itself is tested in people_test.go.

const (
	ownerEmail    = "anna@example.org"
	ownerPassword = "correct horse battery"
	organization  = "Lakeside Animal Rescue"
)

// owner creates the first user and the organization through the setup link, and ends on its home page.
func (s *server) owner() *page {
	s.t.Helper()
	p := s.open()
	p.visit(s.prints(`(https://\S+/console/setup/\S+)`))
	p.fill("Name of your organization", organization)
	p.fill("Your name", "Anna Berg")
	p.fill("Your email", ownerEmail)
	p.fill("Password", ownerPassword)
	p.click("Create account and sign in")
	return p
}

// signIn signs in through the page and ends wherever that leads.
func (p *page) signIn(email, password string) {
	p.t.Helper()
	p.visit("/console/signin")
	p.fill("Email", email)
	p.fill("Password", password)
	p.click("Sign in")
}

// visitor creates a user with a role in an account by the command line, and signs them in.
func (s *server) visitor(account, email, role string) *page {
	s.t.Helper()
	password := s.donorbook("user", "create", "--email", email, "--name", "Vera Lind", "--account", account, "--role", role)
	p := s.open()
	p.signIn(email, password)
	return p
}

// organizationID is the id of the organization whose page is open.
func (p *page) organizationID() string {
	p.t.Helper()
	rest, found := strings.CutPrefix(p.path(), "/console/o/")
	if !found {
		p.t.Fatalf("%s is no page of an organization", p.path())
	}
	id, _, _ := strings.Cut(rest, "/")
	return id
}
