package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// setUpLink is everything that serve prints if there is no user yet.
var setUpLink = regexp.MustCompile(`^No users yet\. Open this link to create the first one:\nhttps://\S+/console/setup/([A-Za-z0-9_-]{43})\n$`)

// Every start prints a new link until there is a user, and the link of the previous start no longer works. The log never contains
// a link.
func TestServePrintsASetUpLinkUntilThereIsAUser(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine) {
		data := e.data(t)
		account, _ := newKey(t, data)
		var before []string // links of earlier starts
		printed := func() string {
			t.Helper()
			p := serve(t, data)
			p.call("", 200, "GET", "/healthz", "") // the link is printed before the server answers
			for _, token := range before {
				p.call("", 410, "GET", "/console/setup/"+token, "")
			}
			p.stop()
			link := setUpLink.FindStringSubmatch(p.stdout.String())
			if link != nil && strings.Contains(p.stderr.String(), link[1]) {
				t.Error("the log holds the link")
			}
			if link != nil {
				before = append(before, link[1])
			}
			return p.stdout.String()
		}
		first, second := printed(), printed()
		if !setUpLink.MatchString(first) || !setUpLink.MatchString(second) || first == second {
			t.Errorf("it printed %q, then %q", first, second)
		}
		result(t, "user", "create", "--data", data, "--email", "ana@example.org", "--name", "Ana", "--account", account, "--role", "owner")
		if third := printed(); third != "" {
			t.Errorf("it printed %q although there is a user", third)
		}
	})
}

// newParser knows the whole command line.
func newParser() (*kong.Kong, error) {
	var c commands
	c.addData(func(string) bool { return true })
	return kong.New(&c, kong.Name("donorbook"))
}
