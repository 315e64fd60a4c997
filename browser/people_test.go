package browser_test

import (
	"net/http"
	"os/exec"
	"strings"
	"testing"
)

// The whole path: the setup link, an organization, a key, the call that its page shows. A reload or the way back
// neither makes a second key nor shows the first again.
func TestFromTheSetUpLinkToACallOfTheAPI(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.open()
	link := s.prints(`(https://\S+/console/setup/\S+)`)
	p.visit(link)
	p.fill("Your name", "Anna Berg", "Your email", "anna at home", "Password", "too short")
	p.run(`document.querySelector("form").noValidate = true`)
	p.expects(http.StatusUnprocessableEntity)
	p.click("Create account and sign in")
	p.sees("3 things need your attention")
	p.holds("Your name", "Anna Berg")
	p.setsUp()
	p.sees("Welcome to " + organization + ", Anna Berg.")
	p.click("Settings")
	p.in("main").click("API keys")
	p.click("Create key")
	p.fill("Name", "Website form")
	p.tick("Change contacts")
	p.fill("Expires", "On a date you choose") // shows a field
	p.fill("Last day", "2199-12-31")
	p.click("Create key")
	p.sees("Copy the key now", "shown only once")
	secret, example := p.text("#secret"), p.text("#example")
	status, answer := s.call(secret, http.MethodPost, "/v1/contacts", `{"first_name":"Ada","last_name":"Lovelace"}`)
	if status != http.StatusCreated {
		t.Errorf("a contact: %d %s", status, answer)
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", example).Output()
	if err != nil || !strings.Contains(string(out), `"Ada"`) {
		t.Errorf("%s: %v %s", example, err, out)
	}
	p.reload()
	p.sees("The key was shown once", "create a new one")
	p.doesNotSee(secret)
	p.click("All API keys")
	named := strings.Count(p.text(".keys tbody"), "Website form")
	same(p, "the name of the key, with that in its button", named, 2)
	p.back()
	p.doesNotSee(secret)
	stranger := s.open()
	stranger.expects(http.StatusGone)
	stranger.visit(link)
	stranger.sees("This link no longer works")
}

// A link of an invitation is shown once, and makes a colleague. A form that the page does not offer is refused.
func TestAColleagueJoinsByLink(t *testing.T) {
	t.Parallel()
	s := start(t)
	anna, vera := s.owner(), s.open()
	people := anna.path() + "/settings/people"
	anna.visit(people)
	anna.fill("Email", "vera@example.org", "Role", "Viewer: can view")
	anna.click("Create invitation link")
	link := anna.text("#link")
	anna.reload()
	anna.sees("The invitation link was shown once")
	anna.doesNotSee(link)
	vera.visit(link)
	vera.holds("Your email", "vera@example.org")
	vera.fill("Your name", "Vera Lind", "Password", "another long password")
	vera.click("Join and sign in")
	vera.sees("Welcome to " + organization + ", Vera Lind.")
	vera.visit(people)
	vera.run(`document.querySelector("main").innerHTML = '<form method="post" action="` + people + `/invite">' +
		'<input name="role" value="owner"><button>Send by hand</button></form>'`)
	vera.expects(http.StatusForbidden)
	vera.click("Send by hand")
	vera.sees("Permission denied", "this needs the role owner")
	vera.in(".side").click("Sign out")
	vera.visit(people)
	vera.in("h1").sees("Sign in")
}

// Everything works without a mouse and without scripts.
func TestAKeyIsMadeWithTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	p := start(t).owner()
	p.withoutScripts()
	p.visit(p.path() + "/settings/integrations/api-keys")
	p.enters("link “Create key”")
	p.tabTo("field “Name required”")
	p.types("Keyboard")
	p.press("Tab", "Tab", "Space") // to change contacts, too
	p.enters("button “Create key”")
	p.sees("Your new API key", "Read contacts, Change contacts")
	p.doesNotSee("Read campaigns")
}
