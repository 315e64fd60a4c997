package cli

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// TestServeLeavesNothingRunning is not parallel: the goroutines of other tests would look like a leak.
func TestServeLeavesNothingRunning(t *testing.T) {
	for _, e := range engines {
		data := e.data(t)
		_, key := newKey(t, data)
		before := goleak.IgnoreCurrent()
		for range 2 {
			p := serve(t, data, "--metrics-listen", "127.0.0.1:0")
			p.create(key, `{"first_name":"Ada","last_name":"King"}`)
			p.call("", 200, "GET", "/readyz", "")
			p.stop()
			if !setUpLink.MatchString(p.stdout.String()) || !strings.Contains(p.stderr.String(), "msg=stopped") {
				t.Errorf("stdout %q, stderr %q", &p.stdout, &p.stderr)
			}
		}
		says(t, exitFailed, `--listen: cannot listen on "192.0.2.1:8443"`, "serve", "--data", data, "--listen",
			"192.0.2.1:8443")
		succeed(t, goleak.Find(before))
	}
}

// setUpLink is everything that serve prints if there is no user yet.
var setUpLink = regexp.MustCompile(`^No users yet\. Open this link to create the first one:\nhttps://\S+/console/setup/([A-Za-z0-9_-]{43})\n$`)

// Every start prints a new link until there is a user, and the link of the start before no longer works. No log has a
// link.
func TestServePrintsASetUpLinkUntilThereIsAUser(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine) {
		data := e.data(t)
		account, _ := newKey(t, data)
		before := ""
		for range 2 {
			p := serve(t, data)
			p.call("", 200, "GET", "/healthz", "") // the link is printed before the server answers
			if before != "" {
				p.call("", 410, "GET", "/console/setup/"+before, "")
			}
			p.stop()
			link := setUpLink.FindStringSubmatch(p.stdout.String())
			if link == nil || link[1] == before || strings.Contains(p.stderr.String(), link[1]) {
				t.Fatalf("it printed %q after %q, and the log\n%s", &p.stdout, before, &p.stderr)
			}
			before = link[1]
		}
		result(t, "user", "create", "--data", data, "--email", "ana@example.org", "--name", "Ana", "--account", account,
			"--role", "owner")
		p := serve(t, data)
		p.stop()
		equal(t, p.stdout.String(), "", "it printed")
	})
}

// TestCommandsBesideAServer: a running server sees what the command line changes.
func TestCommandsBesideAServer(t *testing.T) { eachEngine(t, commandsBesideAServer) }

func commandsBesideAServer(t *testing.T, e engine) {
	data := e.data(t)
	p := serve(t, data)
	account, key := newKey(t, data)
	p.call(key, 200, "GET", "/v1/contacts", "") // immediately
	in := func(args ...string) string { return result(t, append(args, "--data", data)...) }

	type keyLine struct {
		ID       int64   `json:"id"`
		LastUsed *string `json:"last_used_at"`
	}
	listed := func() []keyLine {
		return decode[[]keyLine](t, []byte(in("key", "list", "--account", account, "--json")))
	}
	p.waitFor("the last use of the key", func() bool { return listed()[0].LastUsed != nil })

	limited := in("key", "create", "--account", account, "--name", "Limited", "--permission", "campaigns:read",
		"--expires", "1h")
	p.call(limited, 200, "GET", "/v1/campaigns", "")
	p.call(limited, 403, "GET", "/v1/contacts", "")

	for _, goal := range []string{"100", "250.5"} {
		file := write(t, "campaigns.json", `[{"title":"Seen at once","slug":"seen","type":"event","goal":`+goal+
			`,"event":{"start_at":"2027-01-31 18:00:00"}}]`)
		in("campaign", "import", "--account", account, file)
		fromAPI := decode[struct {
			Data []map[string]any `json:"data"`
		}](t, p.call(key, 200, "GET", "/v1/campaigns", "").body).Data
		fromCLI := decode[[]map[string]any](t, []byte(in("campaign", "list", "--account", account, "--json",
			"--base-url", p.url)))
		if len(fromAPI) != 1 || fmt.Sprint(fromAPI[0]["goal"]) != goal {
			t.Errorf("the server lists %v, want the goal %s", fromAPI, goal)
		}
		equal(t, fromAPI, fromCLI, "campaign list --json and the API differ")
	}

	in("key", "revoke", fmt.Sprint(listed()[0].ID))
	damage(t, data, "UPDATE api_key SET expires_at = 1 WHERE expires_at > 0") // as if the hour was over
	for _, over := range []string{key, limited} {
		p.waitFor("the keys to end", func() bool {
			a, err := p.send(over, "GET", "/v1/campaigns", "")
			return err == nil && a.status == 401
		})
	}
}

// TestASecondServerIsRefused: only one server can use a SQLite data directory, alongside any number of commands. After
// kill -9 the next one starts immediately.
func TestASecondServerIsRefused(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	first := launchServer(t, data)
	_, key := newKey(t, data)
	want := fmt.Sprintf("donorbook: another server (process %d) is using the data directory %s", first.cmd.Process.Pid,
		data)
	says(t, exitFailed, want, servingOn(data, nil)...)
	says(t, exitFailed, want, servingOn(data, []string{"--demo"})...)
	first.call(key, 200, "GET", "/v1/contacts", "")
	first.kill()
	next := serve(t, data)
	next.call(key, 200, "GET", "/v1/contacts", "")
	next.stop()
	checkIntegrity(t, data)
}

// heldRequest is a request whose body lacks its last byte, so that its handler waits.
type heldRequest struct {
	conn net.Conn
	rest string
}

// hold sends requests without their last bytes, and waits until they are in flight.
func (p *process) hold(n int, key string) (held []heldRequest) {
	p.t.Helper()
	for i := range n {
		body := fmt.Sprintf(`{"first_name":"Held","last_name":"%d","tags":["held"]}`, i)
		h := heldRequest{p.dial(), body[len(body)-1:]}
		must(fmt.Fprintf(h.conn,
			"POST /v1/contacts HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s",
			key, len(body), body[:len(body)-1]))(p.t)
		held = append(held, h)
	}
	p.waitFor("the requests to be in flight", func() bool {
		return strings.Contains(p.scrape(), fmt.Sprintf("donorbook_http_requests_in_flight %d\n", n))
	})
	return held
}

// TestStopDelay: /readyz tells a load balancer to send no more requests, while the server still answers all of them. A
// person who presses Ctrl-C twice does not want to wait for that, nor for a slow client.
func TestStopDelay(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	_, key := newKey(t, data)
	p := launchServer(t, data, "--stop-delay", "24h", "--metrics-listen", "127.0.0.1:0")
	p.call("", 200, "GET", "/readyz", "")
	if told, code := p.health(); code != exitOK || told != "ready\n" {
		t.Errorf("donorbook health: exit %d, %s", code, told)
	}
	p.hold(1, key)
	p.signal(syscall.SIGINT)
	p.waitFor("/readyz to say no", func() bool {
		a, err := p.send("", "GET", "/readyz", "")
		return err == nil && a.status == 503
	})
	p.call(key, 200, "GET", "/v1/contacts", "")
	p.call("", 200, "GET", "/healthz", "")
	if told, code := p.health(); code != exitFailed || !strings.Contains(told, "503 Service Unavailable") ||
		!strings.Contains(told, "The service is stopping.") {
		t.Errorf("donorbook health while it stops: exit %d, %s", code, told)
	}
	p.signal(syscall.SIGINT)
	p.ended(-1) // ended by the signal
	if told, code := p.health(); code != exitFailed || !strings.Contains(told, "no answer at 127.0.0.1:") {
		t.Errorf("donorbook health after it: exit %d, %s", code, told)
	}
	if log := p.stderr.String(); strings.Contains(log, "level=ERROR") {
		t.Errorf("a stop that was asked for is told as an error:\n%s", log)
	}
}

// TestFullDisk: a write that is not possible is refused with 503 and changes nothing; reads continue; everything that
// was acknowledged before is there when there is space again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	_, key := newKey(t, data)
	p := launch(t, data, "sh", "-c", `ulimit -f 1000; exec "$@"`, "sh", "donorbook", "serve", "--data", data,
		"--listen", "127.0.0.1:0")
	p.waitUntilServing()
	acknowledged := 0
	for i := 0; ; i++ {
		a := must(p.send(key, "POST", "/v1/contacts", fmt.Sprintf(`{"first_name":"Ada","last_name":"%d","title":"%s"}`,
			i, strings.Repeat("x", 255))))(t)
		if a.status == 503 {
			equal(t, string(a.body), `{"message":"The service is temporarily unavailable. Please try again."}`,
				"a full disk is told as %s", a)
			break
		}
		if acknowledged++; a.status != 201 || acknowledged > 5000 {
			t.Fatalf("the disk is never full: %s", a)
		}
	}
	equal(t, len(p.contacts(key, "all")), acknowledged)
	p.waitFor("/readyz to say that nothing can be written", func() bool {
		// there may be space for a small contact
		a, err := p.send(key, "POST", "/v1/contacts", `{"first_name":"Ada","last_name":"Small"}`)
		if err == nil && a.status == 201 {
			acknowledged++
		}
		ready, err := p.send("", "GET", "/readyz", "")
		return err == nil && ready.status == 503
	})
	p.stop()
	empty := t.TempDir()
	full := launch(t, empty, "sh", "-c", `ulimit -f 20; exec donorbook account list --data "$0"`, empty)
	full.ended(exitFailed)
	if said := full.stderr.String(); !strings.HasPrefix(said,
		"donorbook: the database "+empty+"/donorbook.db cannot be opened: ") {
		t.Errorf("a command on a full disk: %s", said)
	}

	p = serve(t, data)
	p.create(key, `{"first_name":"Ada","last_name":"Again"}`)
	equal(t, len(p.contacts(key, "all")), acknowledged+1)
	p.stop()
	checkIntegrity(t, data)
}

// TestReadOnlyDirectory: the error names the path and the problem.
func TestReadOnlyDirectory(t *testing.T) {
	t.Parallel()
	dir := must(os.MkdirTemp("", "donorbook-readonly-"))(t)
	t.Cleanup(func() { os.RemoveAll(dir) })
	succeed(t, os.Chmod(dir, 0o555))
	for args, want := range map[string]string{
		"account list": "the database " + dir + "/donorbook.db cannot be opened",
		"serve":        "the database " + dir + "/donorbook.db cannot be opened",
		"account create --name X --data " + dir + "/below": "the data directory cannot be made: mkdir " + dir +
			"/below: permission denied",
	} {
		cmd := donorbook(dir, append([]string{"--data", dir}, strings.Fields(args)...)...)
		if os.Geteuid() == 0 { // root may write everywhere
			succeed(t, os.Chmod(filepath.Dir(cmd.Path), 0o755))
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		p := start(t, dir, cmd)
		p.ended(exitFailed)
		if p.stdout.String() != "" || !strings.Contains(p.stderr.String(), want) {
			t.Errorf("%s: stdout %q, stderr %q", args, &p.stdout, &p.stderr)
		}
	}
}
