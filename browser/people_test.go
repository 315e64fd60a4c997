package browser_test

import (
	"os/exec"
	"strings"
	"testing"
)

// The whole path: the setup link, an organization, a key, the call that its page shows. The way back does not show the
// key again.
func TestFromTheSetUpLinkToACallOfTheAPI(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.open()
	link := s.prints(`(https://\S+/console/setup/\S+)`)
	p.visit(link)
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
	status, answer := s.call(secret, "POST", "/v1/contacts", `{"first_name":"Ada","last_name":"Lovelace"}`)
	if status != 201 {
		t.Errorf("a contact: %d %s", status, answer)
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", example).Output()
	if err != nil || !strings.Contains(string(out), `"Ada"`) {
		t.Errorf("%s: %v %s", example, err, out)
	}
	p.back()
	p.doesNotSee(secret)
	stranger := s.open()
	stranger.expects(410)
	stranger.visit(link)
	stranger.sees("This link no longer works")
}
