package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/api"
	"donorbook/internal/config"
	"donorbook/internal/demo"
	"donorbook/internal/rig/rows"
)

// demoCurl is the command that serve --demo prints, and what it says about signing in. Nothing else is on standard
// output.
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
	response := must(client.PostForm(p.url+"/console/signin",
		url.Values{"email": {demo.Email}, "password": {password}}))(p.t)
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
	p := launch(t, data, "sh", "-c",
		`cd "$0" && exec donorbook serve --demo --data "it's a demo" --listen 127.0.0.1:0 --phone-region NO --rate-limit 0`, parent)
	p.waitUntilServing()
	line, key, password := demoCurl(p)
	page := paste(t, line)
	if len(page.Data) != 3 || page.Meta.Total < 100 || page.Data[0].ID != 1 {
		t.Errorf("the curl command shows %d of %d contacts: %+v", len(page.Data), page.Meta.Total, page.Data)
	}
	checkDemo(p, key)
	equal(t, p.signIn(password), 303, "signing")

	// Starting it twice by mistake gives an error, and the key of the first one continues to work.
	want := map[engine]string{sqlite: "another server", postgres: "address already in use"}[e]
	says(t, exitFailed, want, "serve", "--demo", "--data", data, "--listen", p.addr())
	paste(t, line)
	before := len(p.contacts(key, "all"))
	p.stop()

	// The next start finds the data and creates a new key and a new password, because the old ones are not stored.
	p = serve(t, data, "--demo", "--tls", "off", "--log-format", "json")
	line, next, nextPassword := demoCurl(p)
	if old, new := p.signIn(password), p.signIn(nextPassword); old != 422 || new != 303 {
		t.Errorf("the old password answers %d, the new one %d", old, new)
	}
	if again := paste(t, line); again.Meta.Total != page.Meta.Total || next == key {
		t.Errorf("the second start shows %d contacts, the first %d; a new key: %v", again.Meta.Total, page.Meta.Total,
			next != key)
	}
	equal(t, len(p.contacts(next, "all")), before, "the second start")
	refused := p.call(key, 401, "GET", "/v1/contacts", "")
	checkExamples(p, next)
	p.stop()
	checkLog(t, "json", p.stderr.String(), refused.header.Get("X-Request-Id"), "401")
}

// checkDemo looks for chapters, people and campaigns, whose first ones have the id 1.
func checkDemo(p *process, key string) {
	t := p.t
	t.Helper()
	list := func(args ...string) []map[string]any {
		return decode[[]map[string]any](t, []byte(result(t, append(args, "--data", p.data, "--json")...)))
	}
	total := 0
	accounts := list("account", "list")
	for _, account := range accounts {
		total += len(list("contact", "list", "--scope", "all", "--account", fmt.Sprint(account["id"])))
	}
	if len(accounts) != 3 || total < 180 || total > 230 || len(p.contacts(key, "archived")) == 0 {
		t.Errorf("the demo has %d accounts and %d contacts", len(accounts), total)
	}
	types := map[any]bool{}
	for _, scope := range []string{"", "--scope=benefiting", "--scope=chapters", "--scope=all"} {
		campaigns := list(append([]string{"campaign", "list", "--account", fmt.Sprint(accounts[0]["id"])},
			strings.Fields(scope)...)...)
		for _, c := range campaigns {
			types[c["type"]] = true
		}
		if len(campaigns) == 0 || len(campaigns) > 15 || scope == "" && campaigns[0]["id"] != 1.0 {
			t.Errorf("%d campaigns are listed with %q", len(campaigns), scope)
		}
	}
	equal(t, len(types), 4, "the types of campaigns are %v", types)
}

// TestDemoNeedsAnEmptyDatabase: the demo's data is never mixed with other data.
func TestDemoNeedsAnEmptyDatabase(t *testing.T) { eachEngine(t, demoNeedsAnEmptyDatabase) }

func demoNeedsAnEmptyDatabase(t *testing.T, e engine) {
	data := e.data(t)
	newKey(t, data)
	before := result(t, "account", "list", "--data", data, "--json")
	const needs = "--demo: needs an empty database, and this one has accounts: use another (--data or --database)"
	says(t, exitUsage, needs, "serve", "--demo", "--data", data, "--listen", "127.0.0.1:0")
	equal(t, result(t, "account", "list", "--data", data, "--json"), before, "the accounts were changed")

	// A demo that was interrupted halfway is not treated as complete.
	data = e.data(t)
	result(t, "account", "create", "--data", data, "--name", demo.Name)
	const half = "--demo: an earlier start was interrupted"
	says(t, exitUsage, half, "serve", "--demo", "--data", data, "--listen", "127.0.0.1:0")
}

// TestDemoAddress: the curl command uses an address that works from this machine.
func TestDemoAddress(t *testing.T) {
	t.Parallel()
	for _, c := range rows.Of[struct{ Listen, TLS, Base, Want string }](`
		localhost:0  auto   ""                           https://localhost:8443
		:0           auto   ""                           https://localhost:8443
		0.0.0.0:0    off    ""                           http://localhost:8443
		[::]:0       auto   ""                           https://localhost:8443
		[::1]:0      auto   ""                           https://[::1]:8443
		192.0.2.1:0  auto   ""                           https://192.0.2.1:8443
		localhost:0  auto   https://donors.example.org   https://localhost:8443
		localhost:0  off    https://donors.example.org   http://localhost:8443
		:0           files  https://donors.example.org/  https://donors.example.org
	`) {
		command := serveCommand{Server: config.Server{Listen: c.Listen, TLS: c.TLS, BaseURL: c.Base}}
		equal(t, command.demoAddress(net.JoinHostPort("127.0.0.1", "8443")), c.Want,
			"--listen %s --tls %s --base-url %s", c.Listen, c.TLS, c.Base)
	}
}

// exampleDocument is what the OpenAPI document says in examples.
type exampleDocument struct {
	Paths      map[string]map[string]exampleOperation
	Components struct{ Parameters map[string]exampleParameter }
}

type exampleOperation struct {
	Parameters  []exampleParameter
	RequestBody struct {
		Content map[string]struct {
			Examples map[string]struct{ Value json.RawMessage }
		}
	}
}

type exampleParameter struct {
	Name, In string
	Ref      string
	Required bool
	Example  any
}

// values are what a parameter is sent with.
func (p exampleParameter) values() (values []string) {
	list, ok := p.Example.([]any)
	if !ok {
		list = []any{p.Example}
	}
	for _, value := range list {
		values = append(values, fmt.Sprint(value))
	}
	return values
}

// checkExamples sends every example of the OpenAPI document to the demo: its ids are those of the demo, so that tests
// that are generated from the document run.
func checkExamples(p *process, key string) {
	t := p.t
	t.Helper()
	document := decode[exampleDocument](t, []byte(strings.ReplaceAll(string(api.Document()), `"$ref"`, `"ref"`)))
	sent, merge := 0, ""
	for _, method := range []string{"GET", "POST", "PATCH", "PUT", "DELETE"} {
		for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
			operation, ok := document.Paths[path][strings.ToLower(method)]
			if !ok || !strings.HasPrefix(path, "/v1/") {
				continue
			}
			address, queries := path, []string{""}
			for _, parameter := range operation.Parameters {
				if parameter.Ref != "" {
					parameter = document.Components.Parameters[parameter.Ref[strings.LastIndexByte(parameter.Ref, '/')+
						1:]]
				}
				switch {
				case parameter.In == "path":
					address = strings.ReplaceAll(address, "{"+parameter.Name+"}", url.PathEscape(parameter.values()[0]))
				case parameter.In == "query" && parameter.Example != nil:
					query := "?" + url.Values{parameter.Name: parameter.values()}.Encode()
					if parameter.Required {
						queries = nil
					}
					queries = append(queries, query)
				}
			}
			bodies := []string{""}
			if examples := operation.RequestBody.Content["application/json"].Examples; len(examples) > 0 {
				bodies = nil
				// a part is refunded before all of it
				for _, name := range slices.Backward(slices.Sorted(maps.Keys(examples))) {
					bodies = append(bodies, string(examples[name].Value))
				}
			}
			if strings.HasPrefix(path, "/v1/merges/") { // no number of the history is the same in every demo
				address = strings.Replace(path, "{id}", merge, 1)
			}
			for _, query := range queries {
				for _, body := range bodies {
					// an example before may have renamed it
					_, _ = p.send(key, "POST", "/v1/contacts/41/tags/add", `{"tags":["alumni"]}`)
					answer := must(p.send(key, method, address+query, body))(t)
					sent++
					merge = cmp.Or(answer.header.Get("X-Merge-Id"), merge)
					hasGifts := method+" "+path == "DELETE /v1/campaigns/{id}" && answer.status == 409
					if answer.status/100 != 2 && !hasGifts {
						t.Errorf("%s %s %s: %d %s", method, address+query, body, answer.status, answer.body)
					}
				}
			}
		}
	}
	if sent < 100 {
		t.Errorf("%d examples were sent", sent)
	}
}
