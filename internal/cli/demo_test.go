package cli

import (
	"cmp"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/config"
	"donorbook/internal/demo"
)

// demoCurl is the command that serve --demo prints, and what it says about signing in. Nothing else is on standard output.
func demoCurl(p *process) (line, key, password string) {
	p.t.Helper()
	p.waitFor("the curl command and the password", func() bool { return strings.Count(p.stdout.String(), "\n") >= 2 })
	found := demoOutput.FindStringSubmatch(p.stdout.String())
	if found == nil {
		p.t.Fatalf("standard output is %q", &p.stdout)
	}
	return found[1], found[2], found[3]
}

var demoOutput = regexp.MustCompile(`^(curl .*Bearer (\w+)'.*)\nSign in at https?://[\w.:]+/console as demo@example\.org with the password (\S+)\n$`)

// signIn tries a password in the console and returns the status: 303 means signed in.
func (p *process) signIn(password string) int {
	p.t.Helper()
	client := *p.client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	response := must(client.PostForm(p.url+"/console/signin", url.Values{"email": {demo.Email}, "password": {password}}))(p.t)
	defer response.Body.Close()
	return response.StatusCode
}

// paste runs a line in a shell, in a new directory, as a reader would.
func paste(t *testing.T, line string) contactPage {
	t.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = t.TempDir()
	said, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return decode[contactPage](t, said)
}

// TestDemo: standard output has a line that works as it is and a password, and the demo has a believable organization.
func TestDemo(t *testing.T) { eachEngine(t, demoServes) }

func demoServes(t *testing.T, e engine) {
	parent := t.TempDir()
	data := e.dataIn(t, filepath.Join(parent, "it's a demo"))
	// A relative directory that needs quoting; a country in which the demo's numbers are not valid.
	p := launch(t, data, "sh", "-c", `cd "$0" && exec donorbook serve --demo --data "it's a demo" --listen 127.0.0.1:0 --phone-region NO --rate-limit 0`, parent)
	p.waitUntilServing()
	line, key, password := demoCurl(p)
	page := paste(t, line)
	if len(page.Data) != 3 || page.Meta.Total < 100 || page.Data[0].ID != 1 {
		t.Errorf("the curl command shows %d of %d contacts: %+v", len(page.Data), page.Meta.Total, page.Data)
	}
	checkDemoContacts(p)
	checkDemoCampaigns(p, key)
	if status := p.signIn(password); status != http.StatusSeeOther {
		t.Errorf("signing in answered %d", status)
	}

	// Starting it twice by mistake gives an error, and the key of the first one continues to work.
	code, stdout, stderr := runLine(t, "serve", "--demo", "--data", data, "--listen", p.addr())
	want := map[engine]string{sqlite: "another server", postgres: "address already in use"}[e]
	if code != exitFailed || stdout != "" || !strings.Contains(stderr, want) {
		t.Errorf("a second demo on the same port: exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	paste(t, line)
	before := len(p.contacts(key, "all"))
	p.stop()

	// The next start finds the data and creates a new key and a new password, because the old ones are not stored.
	p = serve(t, data, "--demo", "--tls", "off", "--log-format", "json")
	line, next, nextPassword := demoCurl(p)
	if old, new := p.signIn(password), p.signIn(nextPassword); old != http.StatusUnprocessableEntity || new != http.StatusSeeOther {
		t.Errorf("the old password answers %d, the new one %d", old, new)
	}
	if again := paste(t, line); again.Meta.Total != page.Meta.Total || next == key {
		t.Errorf("the second start shows %d contacts, the first %d; a new key: %v", again.Meta.Total, page.Meta.Total, next != key)
	}
	if n := len(p.contacts(next, "all")); n != before {
		t.Errorf("the second start has %d contacts, the first had %d", n, before)
	}
	refused := p.call(key, http.StatusUnauthorized, "GET", "/v1/contacts", "")
	checkExamples(p, next)
	p.stop()
	checkLog(t, "json", p.stderr.String(), refused.header.Get("X-Request-Id"), "401")
}

func checkDemoContacts(p *process) {
	t := p.t
	t.Helper()
	accounts := decode[[]struct {
		ID       string  `json:"id"`
		ParentID *string `json:"parent_id"`
	}](t, []byte(result(t, "account", "list", "--data", p.data, "--json")))
	total, chapters, tagged, archived := 0, 0, 0, 0
	for _, account := range accounts {
		if account.ParentID != nil && *account.ParentID == accounts[0].ID {
			chapters++
		}
		key := result(t, "key", "create", "--data", p.data, "--account", account.ID, "--name", "Count")
		for _, c := range p.contacts(key, "all") {
			total++
			if len(c.Tags) > 0 {
				tagged++
			}
			if !c.ArchivedAt.IsZero() {
				archived++
			}
			if reached := strings.Contains(c.PrimaryEmail, "@") || c.PrimaryPhone != "" || len(c.Addresses) > 0; !reached || c.FirstName == "" || c.LastName == "" { // those who were entered twice have little
				t.Errorf("not a believable person: %+v", c)
			}
		}
	}
	if chapters != 2 || total < 180 || total > 230 || tagged < total/2 || archived == 0 {
		t.Errorf("the demo has %d chapters, %d contacts, %d of them with tags, %d archived", chapters, total, tagged, archived)
	}
}

func checkDemoCampaigns(p *process, key string) {
	t := p.t
	t.Helper()
	type campaign struct {
		ID   int32
		Type string
	}
	types, all := map[string]int{}, 0
	for _, scope := range []string{"", "benefiting", "chapters", "all"} {
		list := decode[struct {
			Data []campaign
		}](t, p.call(key, http.StatusOK, "GET", "/v1/campaigns?per_page=100&scope="+scope, "").body).Data
		if len(list) == 0 {
			t.Errorf("no campaign has the scope %q", scope)
		}
		if scope == "" && !slices.ContainsFunc(list, func(c campaign) bool { return c.ID == 1 }) {
			t.Errorf("no campaign of the organization has the id 1: %v", list)
		}
		if scope == "" && !slices.IsSortedFunc(list, func(a, b campaign) int { return cmp.Compare(a.ID, b.ID) }) {
			t.Errorf("the ids are not in the order of the list: %v", list)
		}
		all = len(list)
		for _, c := range list {
			types[c.Type]++
		}
	}
	if all < 10 || all > 15 {
		t.Errorf("the demo has %d campaigns, want a dozen", all)
	}
	for _, kind := range []string{"general", "collect", "fundraise", "event"} {
		if types[kind] == 0 {
			t.Errorf("no campaign has the type %s", kind)
		}
	}
}

// TestDemoNeedsAnEmptyDatabase: the demo's data is never mixed with other data.
func TestDemoNeedsAnEmptyDatabase(t *testing.T) { eachEngine(t, demoNeedsAnEmptyDatabase) }

func demoNeedsAnEmptyDatabase(t *testing.T, e engine) {
	data := e.data(t)
	newKey(t, data)
	before := result(t, "account", "list", "--data", data, "--json")
	code, stdout, stderr := runLine(t, "serve", "--demo", "--data", data, "--listen", "127.0.0.1:0")
	if code != exitUsage || stdout != "" || !strings.Contains(stderr, "--demo: needs an empty database, and this one has accounts: use another (--data or --database)") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	if after := result(t, "account", "list", "--data", data, "--json"); after != before {
		t.Errorf("the accounts were changed:\n%s", after)
	}

	// A demo that was interrupted halfway is not treated as complete.
	data = e.data(t)
	result(t, "account", "create", "--data", data, "--name", demo.Name)
	code, stdout, stderr = runLine(t, "serve", "--demo", "--data", data, "--listen", "127.0.0.1:0")
	if code != exitUsage || stdout != "" || !strings.Contains(stderr, "--demo: an earlier start was interrupted") {
		t.Errorf("half a demo: exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// TestDemoAddress: the curl command uses an address that works from this machine.
func TestDemoAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		listen, tls, base, want string
	}{
		{"localhost:0", "auto", "", "https://localhost:8443"},
		{":0", "auto", "", "https://localhost:8443"},
		{"0.0.0.0:0", "off", "", "http://localhost:8443"},
		{"[::]:0", "auto", "", "https://localhost:8443"},
		{"[::1]:0", "auto", "", "https://[::1]:8443"},
		{"192.0.2.1:0", "auto", "", "https://192.0.2.1:8443"},
		{"localhost:0", "auto", "https://donors.example.org", "https://localhost:8443"},
		{"localhost:0", "off", "https://donors.example.org", "http://localhost:8443"},
		{":0", "files", "https://donors.example.org/", "https://donors.example.org"},
	} {
		command := serveCommand{Server: config.Server{Listen: c.listen, TLS: c.tls, BaseURL: c.base}}
		if got := command.demoAddress(net.JoinHostPort("127.0.0.1", "8443")); got != c.want {
			t.Errorf("--listen %s --tls %s --base-url %s: %s, want %s", c.listen, c.tls, c.base, got, c.want)
		}
	}
}
