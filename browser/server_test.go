package browser_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// server is the program as an operator starts it.
type server struct {
	t      *testing.T
	cmd    *exec.Cmd
	url    string
	data   string
	output output
	exited chan struct{}
}

// output collects what the program prints while other goroutines read it.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// begin starts a program that serves until the test ends it.
func begin(t *testing.T, path string, args ...string) *server {
	t.Helper()
	s := &server{t: t, cmd: exec.Command(path, args...), exited: make(chan struct{})}
	s.cmd.Stdout, s.cmd.Stderr = &s.output, &s.output
	must(0, s.cmd.Start())(t)
	go func() {
		_ = s.cmd.Wait() // stop asks for the exit code
		close(s.exited)
	}()
	return s
}

// start serves an empty database, or with "--demo" the demo, until the test ends.
func start(t *testing.T, args ...string) *server {
	t.Helper()
	data := t.TempDir()
	s := begin(t, program, append([]string{"serve", "--data", data, "--listen", "localhost:0"}, args...)...)
	s.data = data
	t.Cleanup(s.stop)
	s.url = "https://localhost:" + s.prints(`msg=serving .*listen=\S+:(\d+)`)
	return s
}

// prints waits until the program has printed something, and returns what the pattern captures.
func (s *server) prints(pattern string) string {
	s.t.Helper()
	search := regexp.MustCompile(pattern)
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if found := search.FindStringSubmatch(s.output.String()); found != nil {
			return found[len(found)-1]
		}
		select {
		case <-s.exited:
			s.t.Fatalf("the program ended by itself: %v\n%s", s.cmd.ProcessState, &s.output)
		default:
		}
		if time.Now().After(end) {
			s.t.Fatalf("waited in vain for the program to print %s\n%s", pattern, &s.output)
		}
	}
}

// stop shuts the server down gracefully. A request that failed inside the server fails the test, whatever the page
// said.
func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already; the exit code tells
	select {
	case <-s.exited:
	case <-time.After(patience):
		_ = s.cmd.Process.Kill()
		<-s.exited
		s.t.Error("the server did not end when it was told to")
	}
	log := s.output.String()
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		s.t.Errorf("the server exited with %d", code)
	}
	if strings.Contains(log, "level=ERROR") || strings.Contains(log, "panic:") {
		s.t.Error("the server logged an error")
	}
	if s.t.Failed() {
		s.t.Logf("the server printed at the end:\n%s", log[max(0, len(log)-2000):])
	}
}

// donorbook runs another command on the server's data and returns what it prints.
func (s *server) donorbook(args ...string) string {
	s.t.Helper()
	cmd := exec.Command(program, append(args, "--data", s.data)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("donorbook %s: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	return strings.TrimSpace(string(out))
}

// key is the secret of a new key of an account.
func (s *server) key(account string) string {
	s.t.Helper()
	return s.donorbook("key", "create", "--account", account, "--name", "Website")
}

// call sends a request to the API with a key. It trusts only the server's own authority.
func (s *server) call(key, method, path, body string) (status int, answer string) {
	s.t.Helper()
	r := must(http.NewRequest(method, s.url+path, strings.NewReader(body)))(s.t)
	r.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(must(os.ReadFile(filepath.Join(s.data, "tls", "ca.pem")))(s.t))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	response := must((&http.Client{Timeout: patience, Transport: transport}).Do(r))(s.t)
	defer response.Body.Close()
	return response.StatusCode, string(must(io.ReadAll(response.Body))(s.t))
}

// addContacts makes contacts through the API, so that a list has something to show.
func (s *server) addContacts(account string, bodies ...string) {
	s.t.Helper()
	key := s.key(account)
	for _, body := range bodies {
		if status, answer := s.call(key, "POST", "/v1/contacts", body); status != 201 {
			s.t.Fatalf("%s: %d %s", body, status, answer)
		}
	}
}

const (
	ownerEmail    = "anna@example.org"
	ownerPassword = "correct horse battery"
	organization  = "Lakeside Animal Rescue"
)

// owner creates the first user and the organization through the setup link, and ends on its home page.
func (s *server) owner(contacts ...string) *page {
	s.t.Helper()
	p := s.open()
	p.visit(s.prints(`(https://\S+/console/setup/\S+)`))
	p.setsUp()
	if len(contacts) > 0 {
		s.addContacts(p.organizationID(), contacts...)
	}
	return p
}

func (p *page) setsUp() {
	p.t.Helper()
	p.fill("Name of your organization", organization, "Your name", "Anna Berg")
	p.fill("Your email", ownerEmail, "Password", ownerPassword)
	p.click("Create account and sign in")
}

// demo starts the demo and signs in as the user that it prints.
func demo(t *testing.T, args ...string) *page {
	t.Helper()
	p := start(t, append(args, "--demo")...).open()
	p.signInToDemo()
	return p
}

const demoEmail = "demo@example.org"

func (p *page) signInToDemo() {
	p.t.Helper()
	p.signIn(demoEmail, p.server.prints(`Sign in at \S+ as demo@example.org with the password (\S+)`))
}

// signIn signs in through the page and ends wherever that leads.
func (p *page) signIn(email, password string) {
	p.t.Helper()
	p.visit("/console/signin")
	p.fill("Email", email, "Password", password)
	p.click("Sign in")
}

// organizationID is the id of the organization whose page is open.
func (p *page) organizationID() string {
	p.t.Helper()
	rest, found := strings.CutPrefix(p.path(), "/console/o/")
	if !found {
		p.t.Fatalf("%s is no page of an organization", p.path())
	}
	id, _, _ := strings.Cut(rest, "/")
	return id
}
