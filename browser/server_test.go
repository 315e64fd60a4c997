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

// start serves an empty database, or with "--demo" the demo, until the test ends.
func start(t *testing.T, args ...string) *server {
	t.Helper()
	s := &server{t: t, data: t.TempDir(), exited: make(chan struct{})}
	s.cmd = exec.Command(program, append([]string{"serve", "--data", s.data, "--listen", "localhost:0"}, args...)...)
	s.cmd.Stdout, s.cmd.Stderr = &s.output, &s.output
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = s.cmd.Wait() // stop asks for the exit code
		close(s.exited)
	}()
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

// stop shuts the server down gracefully. A request that failed inside the server fails the test, whatever the page said.
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
		s.t.Logf("the server printed:\n%s", log)
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

// call sends a request to the API with a key. It trusts only the server's own authority.
func (s *server) call(key, method, path, body string) (status int, answer string) {
	s.t.Helper()
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	pem, err := os.ReadFile(filepath.Join(s.data, "tls", "ca.pem"))
	if err != nil {
		s.t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Timeout: patience, Transport: transport}).Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}
