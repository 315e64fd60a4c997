package cli

import (
	"encoding/json"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"donorbook/internal/config"
)

// demoCurl is the command that serve --demo prints. It must be alone on standard output.
func demoCurl(p *process) (line, key string) {
	p.t.Helper()
	p.waitFor("the curl command", func() bool { return strings.HasSuffix(p.stdout.String(), "\n") })
	line = strings.TrimSuffix(p.stdout.String(), "\n")
	_, key, _ = strings.Cut(line, "Bearer ")
	key, _, _ = strings.Cut(key, "'")
	if !strings.HasPrefix(line, "curl ") || strings.Contains(line, "\n") || key == "" {
		p.t.Fatalf("standard output is %q", line)
	}
	return line, key
}

// paste runs a line in a shell, as whoever reads it does, in a directory of their own.
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

// TestDemo: one line on standard output that works as it is, and a believable organisation behind it.
func TestDemo(t *testing.T) { eachEngine(t, demo) }

func demo(t *testing.T, e engine) {
	parent := t.TempDir()
	data := e.dataIn(t, filepath.Join(parent, "it's a demo"))
	// A directory that needs quoting and is not named from the root; a country in which the demo's numbers are none.
	p := launch(t, data, "sh", "-c", `cd "$0" && exec donorbook serve --demo --data "it's a demo" --listen 127.0.0.1:0 --phone-region NO --rate-limit 0`, parent)
	p.waitUntilServing()
	line, key := demoCurl(p)
	page := paste(t, line)
	if len(page.Data) != 3 || page.Meta.Total < 100 {
		t.Errorf("the curl command shows %d of %d contacts", len(page.Data), page.Meta.Total)
	}
	checkDemoContacts(p)
	checkDemoCampaigns(p, key)

	// Whoever starts it twice by mistake gets an error, and the first one's key goes on working.
	code, stdout, stderr := runLine(t, "serve", "--demo", "--data", data, "--listen", p.addr())
	if code != exitFailed || stdout != "" || !strings.Contains(stderr, "address already in use") {
		t.Errorf("a second demo on the same port: exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	paste(t, line)
	before := len(p.contacts(key, "all"))
	p.stop()

	// The next start finds the data, and makes a new key: nobody knows the old one any more.
	p = serve(t, data, "--demo", "--tls", "off", "--log-format", "json")
	line, next := demoCurl(p)
	if again := paste(t, line); again.Meta.Total != page.Meta.Total || next == key {
		t.Errorf("the second start shows %d contacts, the first %d; a new key: %v", again.Meta.Total, page.Meta.Total, next != key)
	}
	if n := len(p.contacts(next, "all")); n != before {
		t.Errorf("the second start has %d contacts, the first had %d", n, before)
	}
	refused := p.call(key, http.StatusUnauthorized, "GET", "/v1/contacts", "")
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
			if c.Archived != nil {
				archived++
			}
			if c.Email == nil || !strings.Contains(*c.Email, "@") || c.FirstName == "" || c.LastName == "" {
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
	types, all := map[string]int{}, 0
	for _, scope := range []string{"", "benefiting", "chapters", "all"} {
		list := decode[struct {
			Data []struct{ Type string }
		}](t, p.call(key, http.StatusOK, "GET", "/v1/campaigns?per_page=100&scope="+scope, "").body).Data
		if len(list) == 0 {
			t.Errorf("no campaign has the scope %q", scope)
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

// TestDemoNeedsAnEmptyDatabase: nobody's data is mixed with the demo's.
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

	// A demo that was cut off half-way is not taken for a whole one.
	data = e.data(t)
	result(t, "account", "create", "--data", data, "--name", demoName)
	code, stdout, stderr = runLine(t, "serve", "--demo", "--data", data, "--listen", "127.0.0.1:0")
	if code != exitUsage || stdout != "" || !strings.Contains(stderr, "--demo: an earlier start was interrupted") {
		t.Errorf("half a demo: exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// TestDemoAddress: the curl command goes where it works from this machine.
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

// TestDemoFile: the rows that the branches name are the rows of the file.
func TestDemoFile(t *testing.T) {
	t.Parallel()
	var rows []json.RawMessage
	if err := json.Unmarshal(demoCampaigns, &rows); err != nil {
		t.Fatal(err)
	}
	used := map[int]bool{}
	for _, branch := range demoBranches {
		for _, row := range branch.rows {
			used[row] = true
		}
	}
	if len(used) != len(rows) {
		t.Errorf("%d of %d rows are used", len(used), len(rows))
	}
}
