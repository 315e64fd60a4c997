package rig

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"donorbook/internal/pgtest"
	"donorbook/internal/rig/assert"
)

// Patience is how long anything may take on a busy machine before a test gives up.
const Patience = 2 * time.Minute

// Output collects what a process prints while a test looks at it.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *Output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Start starts a command, and returns a channel that is closed when it has ended.
func Start(t testing.TB, cmd *exec.Cmd) (exited chan struct{}) {
	t.Helper()
	exited = make(chan struct{})
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // Pdeathsig follows the thread that started the process: it must live as long
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // its exit code is asked for where it matters
			close(exited)
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	return exited
}

// FreeAddress is a place to listen on.
func FreeAddress() string { return fmt.Sprintf("127.0.0.1:%d", pgtest.FreePort()) }

// Program is a server of the built program, in a process of its own.
type Program struct {
	Address, Metrics string
	t                testing.TB
	path, data       string
	pid              int
}

// Serve starts the program at a path on an empty directory, with more arguments, and waits until it listens.
func Serve(t testing.TB, path string, args ...string) *Program {
	t.Helper()
	p := &Program{t: t, path: path, data: t.TempDir(), Address: FreeAddress(), Metrics: FreeAddress()}
	cmd := exec.Command(path, append([]string{"--data", p.data, "serve", "--tls", "off", "--listen", p.Address, "--metrics-listen", p.Metrics}, args...)...)
	cmd.Env = append(os.Environ(), "GOGC=", "GOMEMLIMIT=") // its own defaults count
	exited := Start(t, cmd)
	p.pid = cmd.Process.Pid
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-exited
	})
	for end := time.Now().Add(Patience); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", p.Address)
		if err == nil {
			conn.Close()
			return p
		}
		select {
		case <-exited:
			t.Fatalf("the program has ended: %v", cmd.ProcessState)
		default:
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// Run runs another command on the program's data, and returns what it prints.
func (p *Program) Run(args ...string) string {
	p.t.Helper()
	out, err := exec.Command(p.path, append([]string{"--data", p.data}, args...)...).Output()
	if err != nil {
		p.t.Fatalf("%v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// Account makes an account, and returns the secret of a key of it.
func (p *Program) Account(name string) (secret string) {
	p.t.Helper()
	return p.Run("key", "create", "--account", p.Run("account", "create", "--name", name), "--name", name)
}

// MemoryPeak is the most memory that the program has had so far, in bytes.
func (p *Program) MemoryPeak() int { return p.told("status", `VmHWM:\s+(\d+) kB`) << 10 }

// ForgetMemoryPeak begins to look for the most memory anew.
func (p *Program) ForgetMemoryPeak() {
	p.t.Helper()
	assert.Succeed(p.t, os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.pid), []byte("5"), 0))
}

// Slowed begins to measure by how much the program is slowed down because others have the processors. What it returns ends that: 3 is that for each second of work, the program waited for two.
func (p *Program) Slowed() (end func() float64) {
	had, waited := p.processors()
	return func() float64 {
		hadThen, waitedThen := p.processors()
		return 1 + max(0, waitedThen-waited)/max(1, hadThen-had)
	}
}

// processors is for how many nanoseconds the threads of the program had a processor so far, and waited for one.
func (p *Program) processors() (had, waited float64) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.pid))
	for _, thread := range threads {
		var h, w float64
		if text, err := os.ReadFile(thread); err == nil { // it may have ended
			_, _ = fmt.Sscan(string(text), &h, &w)
		}
		had, waited = had+h, waited+w
	}
	return had, waited
}

// Processor is for how long the program had a processor so far.
func (p *Program) Processor() time.Duration {
	had, _ := p.processors()
	return time.Duration(had)
}

// told is a number that the system tells about the program.
func (p *Program) told(file, pattern string) int {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.pid, file))
	if err != nil {
		p.t.Fatal(err)
	}
	found := regexp.MustCompile(pattern).FindSubmatch(text)
	if found == nil {
		p.t.Fatalf("the system does not tell %s:\n%s", pattern, text)
	}
	number, _ := strconv.Atoi(string(found[1]))
	return number
}

// Call sends a request that must be answered with a status, and returns the body.
func (p *Program) Call(secret string, status int, method, path, body string) []byte {
	p.t.Helper()
	response, answer, err := Send(http.DefaultClient, secret, method, "http://"+p.Address+path, body)
	if err != nil || response.StatusCode != status {
		p.t.Fatalf("%s %s: %v: %.300s", method, path, err, answer)
	}
	return answer
}

// Send makes a request, with a key where there is one, and reads the answer. The error is one of the connection: then nothing was
// acknowledged.
func Send(client *http.Client, key, method, url, body string, headers ...string) (*http.Response, []byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(ctx, method, url, reader)
	if err != nil {
		return nil, nil, err
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := client.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return response, content, err
}

var somebody = regexp.MustCompile(`[\w.+-]+@[A-Za-z][\w-]*\.[A-Za-z]|\+\d{9,}`)

// NamesSomebody tells whether a line has an email or a phone number. No log has one.
func NamesSomebody(line []byte) bool { return somebody.Match(line) }
