package cli

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"donorbook/client"
	"donorbook/internal/rig"
)

// patience is how long anything may take on a busy machine before a test gives up.
const patience = rig.Patience

// process is a server as an operator starts it.
type process struct {
	t       *testing.T
	cmd     *exec.Cmd // nil if it runs in this process
	cancel  func()    // stops one that does
	code    int       // how that ended
	url     string    // where it listens
	public  string    // where its log says it is
	metrics string
	data    string
	stdout  output
	stderr  output
	exited  chan struct{}
	client  *http.Client
	closing []func() // the connections of other clients
}

type output = rig.Output

// launch starts a command in a process of its own, without waiting: for signals, limits of the system and what kill -9
// leaves.
func launch(t *testing.T, data string, command ...string) *process {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = environment(data)
	return start(t, data, cmd)
}

// donorbook is a command line for a process of its own.
func donorbook(data string, args ...string) *exec.Cmd {
	cmd := exec.Command("donorbook", args...)
	cmd.Env = environment(data)
	return cmd
}

func start(t *testing.T, data string, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{t: t, data: data, cmd: cmd}
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.exited = rig.Start(t, p.cmd)
	t.Cleanup(func() {
		p.kill()
		p.checkLog()
	})
	return p
}

// launchServer starts donorbook serve in a process of its own and waits until it listens.
func launchServer(t *testing.T, data string, args ...string) *process {
	t.Helper()
	p := launch(t, data, append([]string{"donorbook"}, servingOn(data, args)...)...)
	p.waitUntilServing()
	return p
}

func servingOn(data string, args []string) []string {
	return append([]string{"serve", "--data", data, "--listen", "127.0.0.1:0"}, args...)
}

// serve runs donorbook serve in this process, on a free port, and waits until it listens.
func serve(t *testing.T, data string, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{t: t, data: data, cancel: cancel, exited: make(chan struct{})}
	line := slices.Concat(servingOn(data, args), databaseFlags([]string{"--data", data}))
	go func() {
		defer close(p.exited)
		p.code = run(ctx, line, strings.NewReader(""), &p.stdout, &p.stderr)
	}()
	t.Cleanup(func() {
		for _, closeIdle := range p.closing { // the server waits for a connection that was opened and not used yet
			closeIdle()
		}
		cancel()
		<-p.exited
		p.checkLog()
	})
	p.waitUntilServing()
	return p
}

func (p *process) checkLog() {
	if log := p.stderr.String(); strings.Contains(log, "DATA RACE") || strings.Contains(log, "panic:") || p.t.Failed() {
		p.t.Errorf("the log of the server:\n%s", log)
	}
}

func (p *process) waitUntilServing() {
	p.t.Helper()
	p.waitFor("the server to listen", func() bool {
		serving := servingLine.MatchString(p.stderr.String())
		select {
		case <-p.exited:
			if !serving {
				p.t.Fatalf("the server ended by itself\n%s", &p.stderr)
			}
		default:
		}
		return serving
	})
	line := servingLine.FindString(p.stderr.String())
	scheme := "https://"
	if field(line, "tls") == "off" {
		scheme = "http://"
	}
	p.url, p.public, p.metrics = scheme+field(line, "listen"), field(line, "url"), field(line, "metrics")
	p.client = p.newClient()
	p.closing = append(p.closing, p.client.CloseIdleConnections)
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
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	if pem, err := os.ReadFile(filepath.Join(p.data, "tls", "ca.pem")); err == nil {
		transport.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
		transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem)
	} else if !errors.Is(err, os.ErrNotExist) {
		p.t.Fatal(err)
	}
	return &http.Client{Timeout: patience, Transport: transport}
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

// stop asks the server to end, and checks that it shuts down gracefully.
func (p *process) stop() {
	p.t.Helper()
	for _, closeIdle := range p.closing {
		closeIdle()
	}
	if p.cmd == nil {
		p.cancel()
	} else {
		p.signal(syscall.SIGTERM)
	}
	p.ended(exitOK)
}

// ended waits for the server to exit with a code; -1 is a signal.
func (p *process) ended(code int) {
	p.t.Helper()
	select {
	case <-p.exited:
	case <-time.After(patience):
		p.t.Fatalf("the server does not end\n%s", &p.stderr)
	}
	got := p.code
	if p.cmd != nil {
		got = p.cmd.ProcessState.ExitCode()
	}
	equal(p.t, got, code, "the server exited (%v)", &p.stderr)
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
	equal(p.t, a.status, status, "%s %s: %s", method, path, a)
	return a
}

// create posts a contact and returns its id.
func (p *process) create(key, body string) int64 {
	p.t.Helper()
	return decode[client.Contact](p.t, p.call(key, 201, "POST", "/v1/contacts", body).body).ID
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
		succeed(p.t, err)
		all = append(all, found)
	}
	page := must(c.Contacts.Page(p.t.Context(), client.ContactFilter{Scope: scope}, 1))(p.t)
	equal(p.t, page.Total, int64(len(all)), "the total of scope %s (%v)", scope, len(all))
	return all
}

// dial opens a bare connection, without anything that an HTTP client would do.
func (p *process) dial() net.Conn {
	p.t.Helper()
	config := p.client.Transport.(*http.Transport).TLSClientConfig.Clone()
	config.NextProtos = nil
	conn := must(tls.Dial("tcp", p.addr(), config))(p.t)
	p.t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	return conn
}

func readAnswer(t *testing.T, conn net.Conn) answer {
	t.Helper()
	response := must(http.ReadResponse(bufio.NewReader(conn), nil))(t)
	defer response.Body.Close()
	return answer{response.StatusCode, response.Header, must(io.ReadAll(response.Body))(t)}
}

// sendPlain sends bytes without TLS and reads an answer.
func sendPlain(t *testing.T, addr, request string) answer {
	t.Helper()
	conn := must(net.Dial("tcp", addr))(t)
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	must(io.WriteString(conn, request))(t)
	return readAnswer(t, conn)
}

// scrape reads the metrics as Prometheus does.
func (p *process) scrape() string {
	p.t.Helper()
	response := must(http.Get("http://" + p.metrics + "/metrics"))(p.t)
	defer response.Body.Close()
	return string(must(io.ReadAll(response.Body))(p.t))
}

// health asks the server as the health check of a container does.
func (p *process) health(args ...string) (told string, code int) {
	var out bytes.Buffer
	code = run(p.t.Context(), append([]string{"health", "--listen", p.addr()}, args...), nil, &out, &out)
	return out.String(), code
}
