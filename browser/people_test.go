package browser_test

import (
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"
)

const otherPassword = "another long password"

// The whole path: the setup link, an organization, a key, a call.
func TestFromTheSetUpLinkToACallOfTheAPI(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.open()
	p.visit(s.prints(`(https://\S+/console/setup/\S+)`))
	p.audit()
	p.fill("Name of your organization", organization)
	p.fill("Your name", "Anna Berg")
	p.fill("Your email", "anna at home")
	p.fill("Password", "too short")
	p.run(`document.querySelector("form").noValidate = true`)
	p.expects(http.StatusUnprocessableEntity)
	p.click("Create account and sign in")
	p.sees("2 things need your attention", "Your email must be a valid email address", "Password must have at least 10 characters")
	if got := p.value("Your name"); got != "Anna Berg" {
		t.Errorf("the name that was typed became %q", got)
	}
	p.fill("Your email", ownerEmail)
	p.fill("Password", ownerPassword)
	p.click("Create account and sign in")
	p.sees("Welcome to " + organization + ", Anna Berg.")

	p.click("Settings")
	p.audit()
	p.in("main").click("API keys")
	p.sees("No API keys yet")
	p.audit()
	p.click("Create key")
	p.audit()
	p.fill("Name", "Website form")
	p.tick("Change contacts")
	p.click("Create key")
	p.sees("Copy the key now", "shown only once")
	p.audit()
	secret := p.text("#secret")
	example := p.text("#example")
	if status, answer := s.call(secret, http.MethodPost, "/v1/contacts", `{"first_name":"Ada","last_name":"Lovelace"}`); status != http.StatusCreated {
		t.Errorf("a contact: %d %s", status, answer)
	}
	if answer, err := exec.CommandContext(t.Context(), "sh", "-c", example).Output(); err != nil || !strings.Contains(string(answer), `"Ada"`) {
		t.Errorf("%s: %v %s", example, err, answer)
	}
	p.click("I copied the key")
	p.sees("Website form", "Active", "Read contacts, Change contacts")
	p.doesNotSee(secret)

	s.open().visitGone(t, s.prints(`(https://\S+/console/setup/\S+)`))
}

// visitGone opens a link that no longer works.
func (p *page) visitGone(t *testing.T, link string) {
	t.Helper()
	p.expects(http.StatusGone)
	p.visit(link)
	p.sees("This link no longer works")
}

func TestAKeyMayDoWhatWasTickedUntilItIsRevoked(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	p.visit("/console/o/" + p.organizationID() + "/settings/integrations/api-keys/new")
	p.fill("Name", "Report")
	for _, box := range []string{"Read contacts", "Change contacts", "Read campaigns", "Change campaigns", "Read gifts", "Change gifts"} {
		p.untick(box)
	}
	p.expects(http.StatusUnprocessableEntity)
	p.click("Create key")
	p.sees("Choose at least one permission")
	p.audit()
	if p.value("Name") != "Report" || p.value("Read contacts") != "false" {
		t.Error("what was typed is lost")
	}
	p.tick("Read contacts")
	if p.has("#f-expires_on") {
		t.Error("a day is asked for before anybody wants to choose one")
	}
	p.fill("Expires", "On a date you choose")
	p.expects(http.StatusUnprocessableEntity)
	p.click("Create key")
	p.sees("Choose the last day on which the key works")
	p.fill("Last day", "2199-12-31")
	p.click("Create key")
	secret := p.text("#secret")
	p.sees("Read contacts", "Jan 1, 2200, 12:00 AM UTC")
	if status, _ := s.call(secret, http.MethodGet, "/v1/contacts", ""); status != http.StatusOK {
		t.Errorf("reading: %d", status)
	}
	if status, _ := s.call(secret, http.MethodPost, "/v1/contacts", `{"first_name":"Ada","last_name":"Lovelace"}`); status != http.StatusForbidden {
		t.Errorf("writing: %d", status)
	}

	p.click("I copied the key")
	p.audit()
	p.click("Revoke Report")
	p.sees("Revoke “Report”?", "Last used")
	p.audit()
	p.click("Keep key")
	p.click("Revoke Report")
	p.click("Revoke key")
	p.sees("Key “Report” revoked.", "Revoked")
	deadline := time.Now().Add(5 * time.Second)
	for status := 0; status != http.StatusUnauthorized; {
		if status, _ = s.call(secret, http.MethodGet, "/v1/contacts", ""); time.Now().After(deadline) {
			t.Fatalf("the revoked key still answers %d", status)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func TestAColleagueJoinsByLinkAndHasARole(t *testing.T) {
	t.Parallel()
	s := start(t)
	anna := s.owner()
	people := "/console/o/" + anna.organizationID() + "/settings/people"
	anna.visit(people)
	anna.sees("Only owner")
	anna.fill("Email", "vera@example.org")
	anna.fill("Role", "Viewer: can view")
	anna.click("Create invitation link")
	anna.sees("Invitation link", "vera@example.org", "Open invitations")
	anna.audit()
	link := anna.text("#link")

	vera := s.open()
	vera.visit(link)
	vera.sees("Join "+organization, "Anna Berg invited you to join as a viewer")
	vera.audit()
	if got := vera.value("Your email"); got != "vera@example.org" {
		t.Errorf("the email is %q", got)
	}
	vera.fill("Your name", "Vera Lind")
	vera.fill("Password", otherPassword)
	vera.click("Join and sign in")
	vera.sees("Welcome to " + organization + ", Vera Lind.")
	s.open().visitGone(t, link)

	// A viewer is offered nothing that the role does not allow, and sending a form by hand does not help.
	vera.visit(people)
	vera.sees("Anna Berg", "Vera Lind", "Leave")
	vera.doesNotSee("Invite a colleague", "Save the role")
	vera.audit()
	vera.visit("/console/o/" + vera.organizationID() + "/settings")
	vera.sees("API keys", "Managed by owners")
	vera.doesNotSee("Save organization")
	vera.audit()
	vera.sendByHand(people+"/invite", http.StatusForbidden)
	vera.sees("Permission denied", "this needs the role owner")
	vera.audit()
	vera.expects(http.StatusForbidden)
	vera.visit("/console/o/" + anna.organizationID() + "/settings/integrations/api-keys")

	anna.reload()
	anna.visit(people)
	anna.fill("Role of Vera Lind", "Owner")
	anna.click("Save the role of Vera Lind")
	anna.sees("Vera Lind’s role is now owner")
	vera.visit("/console/o/" + anna.organizationID() + "/settings/integrations/api-keys")
	vera.sees("No API keys yet")

	anna.click("Remove Vera Lind")
	anna.sees("will lose access to " + organization)
	anna.audit()
	anna.click("Remove member")
	anna.sees("Vera Lind removed. The invitations they sent no longer work.")
	vera.expects(http.StatusNotFound)
	vera.visit(people)
	vera.sees("Page not found")
	vera.visit("/console")
	vera.sees("You aren’t a member of any organization")
	vera.audit()
}

// sendByHand posts a form that the page does not offer.
func (p *page) sendByHand(path string, status int) {
	p.t.Helper()
	p.run(`document.querySelector("main").innerHTML = '<form method="post" action="` + path + `"><input name="role" value="owner"><button>Send by hand</button></form>'`)
	p.expects(status)
	p.click("Send by hand")
}

func TestAnInvitationIsTakenBack(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	p.visit("/console/o/" + p.organizationID() + "/settings/people")
	p.click("Create invitation link")
	link := p.text("#link")
	p.click("Cancel invitation")
	p.sees("Invitation canceled")
	p.doesNotSee("Open invitations")
	s.open().visitGone(t, link)
}

func TestSomebodyOfTwoOrganizationsSwitches(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	second := s.donorbook("account", "create", "--name", "Harbor Light")
	s.donorbook("user", "create", "--email", ownerEmail, "--name", "Anna", "--account", second, "--role", "viewer")
	p.reload()
	p.click(".orgs > summary")
	p.click("Harbor Light")
	p.sees("Harbor Light")
	if got := p.organizationID(); got != second {
		t.Errorf("the organization is %s", got)
	}
	again := s.open()
	again.signIn(ownerEmail, ownerPassword) // opens the organization that was open last
	if got := again.organizationID(); got != second {
		t.Errorf("after signing in the organization is %s", got)
	}
}

func TestPasswordsAndSessions(t *testing.T) {
	t.Parallel()
	s := start(t)
	p, elsewhere := s.owner(), s.open()
	elsewhere.visit("/console/signin")
	elsewhere.audit()
	elsewhere.expects(http.StatusUnprocessableEntity)
	elsewhere.signIn(ownerEmail, "not the password")
	elsewhere.sees("Wrong email or password.")
	elsewhere.audit()
	elsewhere.signIn(ownerEmail, ownerPassword)

	p.visit("/console/profile")
	p.sees("This browser", "Sign out everywhere else", "Chrome on Linux")
	p.audit()
	p.fill("Current password", "not the password")
	p.fill("New password", ownerEmail)
	p.expects(http.StatusUnprocessableEntity)
	p.click("Change password")
	p.sees("The current password is wrong", "New password must not be the email address")
	p.audit()
	p.fill("Current password", ownerPassword)
	p.fill("New password", otherPassword)
	p.click("Change password")
	p.sees("Password changed")
	elsewhere.visit("/console/profile")
	elsewhere.sees("Sign in")
	elsewhere.expects(http.StatusUnprocessableEntity)
	elsewhere.signIn(ownerEmail, ownerPassword)
	elsewhere.signIn(ownerEmail, otherPassword)

	p.visit("/console/profile")
	p.in("main").click("Sign out everywhere")
	for _, window := range []*page{p, elsewhere} {
		window.visit("/console/profile")
		if !strings.HasPrefix(window.path(), "/console/signin") {
			t.Errorf("the page is %s", window.path())
		}
	}
}

func TestNamesOfPeopleAndOrganizationsChange(t *testing.T) {
	t.Parallel()
	p := start(t).owner()
	settings := "/console/o/" + p.organizationID() + "/settings"
	p.visit(settings)
	p.fill("Name", "Lakeside & Friends <b>")
	p.click("Save organization")
	p.sees("Organization saved.", "Lakeside & Friends <b>")
	p.visit("/console/profile")
	p.fill("Your name", "Anna Maria Berg")
	p.click("Save name")
	p.sees("Your name is now Anna Maria Berg", "Lakeside & Friends <b>")
}

func TestChaptersGrowAndAreRenamed(t *testing.T) {
	t.Parallel()
	p := start(t).owner()
	p.click("Chapters")
	p.sees("No chapters yet")
	p.audit()
	p.fill("Name", "South")
	p.click("Create chapter")
	p.sees("South created. You are its owner.")
	p.fill("Name", "South Harbour")
	p.fill("Parent", "South")
	p.click("Create chapter")
	p.sees("South Harbour")
	p.click("Rename South Harbour")
	p.audit()
	p.in(".tree details[open]").fill("New name", " ")
	p.expects(http.StatusUnprocessableEntity)
	p.in(".tree details[open]").click("Save name")
	p.sees("Name is required")
	p.audit()
	p.in(".tree details[open]").fill("New name", "Old Harbour")
	p.in(".tree details[open]").click("Save name")
	p.sees("Renamed to Old Harbour.")
	p.click("Old Harbour")
	p.click("Settings")
	p.sees("Chapter of", "South")
	p.audit()
}

func TestAReloadMakesNoSecondKeyAndNoSecondInvitation(t *testing.T) {
	t.Parallel()
	p := start(t).owner()
	settings := "/console/o/" + p.organizationID() + "/settings"
	p.visit(settings + "/keys/new")
	p.fill("Name", "Website form")
	p.click("Create key")
	secret := p.text("#secret")
	if strings.Contains(p.path(), secret) {
		t.Error("the secret is in the address")
	}
	p.reload()
	p.sees("The key was shown once", "create a new one")
	p.doesNotSee(secret)
	p.audit()
	p.click("All API keys")
	if rows := strings.Count(p.text(".keys tbody"), "Website form"); rows != 2 { // its name, and once more in the words of its button
		t.Errorf("the name of the key is there %d times", rows)
	}
	p.back()
	p.doesNotSee(secret)

	p.visit(settings + "/people")
	p.fill("Email", "vera@example.org")
	p.click("Create invitation link")
	link := p.text("#link")
	p.reload()
	p.sees("The invitation link was shown once")
	p.doesNotSee(link)
	p.audit()
	if rows := strings.Count(p.text("#invitations ~ .card tbody"), "vera@example.org"); rows != 2 {
		t.Errorf("the invitation is there %d times", rows)
	}
}

// Everything works without a mouse and without scripts.
func TestAKeyIsMadeWithTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	p := start(t).owner()
	p.visit("/console/o/" + p.organizationID() + "/settings/integrations/api-keys")
	p.withoutScripts()
	p.tabTo("link “Create key”")
	p.press("Enter")
	p.tabTo("field “Name required”")
	p.types("Keyboard")
	p.press("Tab", "Tab", "Space") // to change contacts, too
	p.tabTo("button “Create key”")
	p.press("Enter")
	p.sees("Your new API key", "Read contacts, Change contacts")
	p.doesNotSee("Read campaigns")
}
