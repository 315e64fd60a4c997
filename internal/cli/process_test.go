package cli

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"donorbook/client"
	"donorbook/internal/rig"
)

// patience is how long anything may take on a busy machine before a test gives up.
const patience = rig.Patience

// process is a server in its own process, as an operator starts it.
type process struct {
	t       *testing.T
	cmd     *exec.Cmd
	url     string // where it listens
	public  string // where its log says it is
	metrics string
	data    string
	stdout  output
	stderr  output
	exited  chan struct{}
	client  *http.Client
	closing []func() // the connections of other clients
}

type output = rig.Output

// launch starts a command without waiting.
func launch(t *testing.T, data string, command ...string) *process {
	t.Helper()
	p := &process{t: t, data: data, cmd: exec.Command(command[0], command[1:]...)}
	p.cmd.Env = environment(data)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.exited = rig.Start(t, p.cmd)
	t.Cleanup(func() {
		p.kill()
		if log := p.stderr.String(); strings.Contains(log, "DATA RACE") || strings.Contains(log, "panic:") || t.Failed() {
			t.Errorf("the log of the server:\n%s", log)
		}
	})
	return p
}

// serve starts donorbook serve on a free port and waits until it listens.
func serve(t *testing.T, data string, args ...string) *process {
	t.Helper()
	p := launch(t, data, append([]string{"donorbook", "serve", "--data", data, "--listen", "127.0.0.1:0"}, args...)...)
	p.waitUntilServing()
	return p
}

func (p *process) waitUntilServing() {
	p.t.Helper()
	p.waitFor("the server to listen", func() bool {
		select {
		case <-p.exited:
			p.t.Fatalf("the server ended by itself: %v\n%s", p.cmd.ProcessState, &p.stderr)
		default:
		}
		return servingLine.MatchString(p.stderr.String())
	})
	line := servingLine.FindString(p.stderr.String())
	scheme := "https://"
	if field(line, "tls") == "off" {
		scheme = "http://"
	}
	p.url, p.public, p.metrics = scheme+field(line, "listen"), field(line, "url"), field(line, "metrics")
	p.client = p.newClient()
	p.t.Cleanup(p.client.CloseIdleConnections)
}

var servingLine = regexp.MustCompile(`.*\bserving\b.*\n`)

// field is an attribute of a log line of either format.
func field(line, name string) string {
	found := regexp.MustCompile(`"?\b` + name + `"?[=:]"?([^" ]*)`).FindStringSubmatch(line)
	if found == nil {
		return ""
	}
	return found[1]
}

func (p *process) waitFor(what string, done func() bool) {
	p.t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("waited in vain for %s\n%s", what, &p.stderr)
		}
	}
}

// newClient trusts only the server's own authority.
func (p *process) newClient() *http.Client {
	p.t.Helper()
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if pem, err := os.ReadFile(filepath.Join(p.data, "tls", "ca.pem")); err == nil {
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM(pem)
	} else if !errors.Is(err, os.ErrNotExist) {
		p.t.Fatal(err)
	}
	return &http.Client{Timeout: patience, Transport: &http.Transport{TLSClientConfig: config, MaxIdleConnsPerHost: 64}}
}

func (p *process) addr() string {
	_, addr, _ := strings.Cut(p.url, "://")
	return addr
}

// signal sends a signal to the process.
func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	succeed(p.t, p.cmd.Process.Signal(s))
}

// kill ends the process as a power failure would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.exited
}

// stop asks the process to end, and checks that it shuts down gracefully.
func (p *process) stop() {
	p.t.Helper()
	p.client.CloseIdleConnections() // the server waits for a connection that was opened and not used yet
	for _, closeIdle := range p.closing {
		closeIdle()
	}
	p.signal(syscall.SIGTERM)
	p.ended(exitOK)
}

// ended waits for the process to exit with a code.
func (p *process) ended(code int) {
	p.t.Helper()
	select {
	case <-p.exited:
	case <-time.After(patience):
		p.t.Fatalf("the server does not end\n%s", &p.stderr)
	}
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Errorf("the server exited with %d (%v), want %d\n%s", got, p.cmd.ProcessState, code, &p.stderr)
	}
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) String() string { return fmt.Sprintf("%d %s", a.status, a.body) }

// send makes a request. An error is a connection error: then nothing was acknowledged.
func (p *process) send(key, method, path, body string, headers ...string) (answer, error) {
	response, content, err := rig.Send(p.client, key, method, p.url+path, body, headers...)
	if response == nil {
		return answer{}, err
	}
	return answer{response.StatusCode, response.Header, content}, err
}

// call makes a request and checks the status.
func (p *process) call(key string, status int, method, path, body string, headers ...string) answer {
	p.t.Helper()
	a, err := p.send(key, method, path, body, headers...)
	if err != nil {
		p.t.Fatalf("%s %s: %v", method, path, err)
	}
	if a.status != status {
		p.t.Fatalf("%s %s: %s, want %d", method, path, a, status)
	}
	return a
}

// contactPage is the part of a list that the tests look at when they read it without the client.
type contactPage struct {
	Data  []client.Contact `json:"data"`
	Links struct {
		First string `json:"first"`
	} `json:"links"`
	Meta struct {
		Total int `json:"total"`
	} `json:"meta"`
}

func decode[T any](t *testing.T, body []byte) (value T) {
	t.Helper()
	if err := json.Unmarshal(body, &value); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return value
}

// api is an integrator's client: it trusts the server's own authority.
func (p *process) api(key string, options ...client.Option) *client.Client {
	p.t.Helper()
	if strings.HasPrefix(p.url, "https:") {
		options = append(options, client.WithCAFile(filepath.Join(p.data, "tls", "ca.pem")))
	}
	c := must(client.New(p.url, key, options...))(p.t)
	p.closing = append(p.closing, c.CloseIdleConnections)
	p.t.Cleanup(c.CloseIdleConnections)
	return c
}

// contacts are all contacts of a scope. The total must match.
func (p *process) contacts(key, scope string) []client.Contact {
	p.t.Helper()
	c := p.api(key)
	var all []client.Contact
	for found, err := range c.Contacts.List(p.t.Context(), client.ContactFilter{Scope: scope}) {
		if err != nil {
			p.t.Fatal(err)
		}
		all = append(all, found)
	}
	page, err := c.Contacts.Page(p.t.Context(), client.ContactFilter{Scope: scope}, 1)
	if err != nil || page.Total != int64(len(all)) {
		p.t.Errorf("the total of scope %s is %d, and the pages have %d contacts: %v", scope, page.Total, len(all), err)
	}
	return all
}

// newKey makes an account and a key with the command line.
func newKey(t *testing.T, data string) (account, key string) {
	t.Helper()
	account = result(t, "account", "create", "--data", data, "--name", "Harbor Light")
	return account, result(t, "key", "create", "--data", data, "--account", account, "--name", "Test")
}

// dial opens a bare connection, without anything that an HTTP client would do.
func (p *process) dial() net.Conn {
	p.t.Helper()
	pool := x509.NewCertPool()
	pem := must(os.ReadFile(filepath.Join(p.data, "tls", "ca.pem")))(p.t)
	pool.AppendCertsFromPEM(pem)
	conn := must(tls.Dial("tcp", p.addr(), &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}))(p.t)
	p.t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	return conn
}
