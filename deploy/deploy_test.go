//go:build drill

// Package deploy_test runs the example files of this directory for real: the program as the systemd unit starts it,
// nginx with nginx.conf, and PostgreSQL. Only ports, paths and certificates are replaced.
package deploy_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"donorbook/internal/rig"
	"donorbook/internal/rig/assert"
)

// patience is how long anything may take on a busy machine before a test gives up.
const patience = rig.Patience

var (
	binary string // the program, built once
	shared string // a directory that every user may enter
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if shared, err = os.MkdirTemp("", "donorbook-deploy-"); err != nil {
		return 1, err
	}
	defer os.RemoveAll(shared)
	if err := os.Chmod(shared, 0o755); err != nil {
		return 1, err
	}
	binary = filepath.Join(shared, "donorbook")
	build := exec.Command("go", "build", "-trimpath", "-o", binary, "donorbook/cmd/donorbook")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as a release is built
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("%w\n%s", err, out)
	}
	return rig.Run(m), nil
}

// nobody is whom programs run as where the tests run as root.
func nobody(t *testing.T) *syscall.SysProcAttr {
	t.Helper()
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true}
	if os.Getuid() == 0 {
		who := assert.Must(user.Lookup("nobody"))(t)
		uid, _ := strconv.Atoi(who.Uid)
		gid, _ := strconv.Atoi(who.Gid)
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return attr
}

// newDir is a directory for a program that does not run as root.
func newDir(t *testing.T) string {
	t.Helper()
	dir := assert.Must(os.MkdirTemp(shared, ""))(t)
	if c := nobody(t).Credential; c != nil {
		assert.Succeed(t, os.Chown(dir, int(c.Uid), int(c.Gid)))
	}
	return dir
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	return string(assert.Must(os.ReadFile(name))(t))
}

// writeFile writes a file that everybody may read.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	assert.Succeed(t, os.WriteFile(name, []byte(text), 0o644))
	return name
}

// example is a file of this directory with other ports and paths. Each of the texts to replace must be there.
func example(t *testing.T, name string, pairs ...string) string {
	t.Helper()
	text := readFile(t, name)
	for i := 0; i < len(pairs); i += 2 {
		assert.Contains(t, text, pairs[i], "%s does not hold", name)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// process is a program that runs until it is told to end.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	log    rig.Output
	exited chan struct{}
}

// start starts a program as somebody who is not root.
func start(t *testing.T, environment []string, command ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(command[0], command[1:]...)}
	p.cmd.Env, p.cmd.Dir, p.cmd.SysProcAttr = environment, shared, nobody(t)
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	p.exited = rig.Start(t, p.cmd)
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s said:\n%s", filepath.Base(command[0]), tail(p.log.String()))
		}
	})
	return p
}

// tail is the end of a log, long enough to see what happened last.
func tail(log string) string {
	if len(log) > 8_000 {
		return "...\n" + log[len(log)-8_000:]
	}
	return log
}

// kill ends the process and those that it started.
func (p *process) kill() {
	select {
	case <-p.exited:
		return
	default:
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.exited
}

// stop asks the process to end, and wants it to do so in order.
func (p *process) stop(signal syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		p.t.Error(err)
	}
	select {
	case <-p.exited:
	case <-time.After(patience):
		p.t.Errorf("%v does not end", p.cmd.Args)
		p.kill()
	}
	if !p.cmd.ProcessState.Success() {
		p.t.Errorf("%v ended with %v\n%s", p.cmd.Args, p.cmd.ProcessState, tail(p.log.String()))
	}
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// node is one Donorbook, as donorbook@.service starts it.
type node struct {
	*process
	address string
	command []string
	env     []string
}

// newNode is a node that does not run yet.
func newNode(t *testing.T, database string, flags ...string) *node {
	t.Helper()
	dir := newDir(t)
	settings := example(t, "donorbook.toml", "/var/lib/donorbook", dir)
	settings = writeFile(t, filepath.Join(dir, "donorbook.toml"), settings)
	address := rig.FreeAddress()
	line := strings.NewReplacer(
		"/usr/local/bin/donorbook", binary, "/etc/donorbook/donorbook.toml", settings,
		"127.0.0.1:808%i", address, "127.0.0.1:946%i", "127.0.0.1:0",
	).Replace(readUnit(t, "donorbook@.service").one(t, "ExecStart"))
	if strings.ContainsAny(line, "%") || strings.Contains(line, "/etc/") || strings.Contains(line, "/usr/") {
		t.Fatalf("the unit starts something else: %s", line)
	}
	return &node{
		address: address, command: append(strings.Fields(line), flags...),
		env: []string{"DONORBOOK_DATABASE=" + database},
	}
}

// start starts the node; it does not wait.
func (n *node) start(t *testing.T) {
	t.Helper()
	n.process = start(t, n.env, n.command...)
}

// isReady asks what the README says to ask.
func (n *node) isReady() bool {
	response, err := http.Get("http://" + n.address + "/readyz")
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == 200
}

func (n *node) waitUntilReady(t *testing.T) {
	t.Helper()
	waitFor(t, "a node to be ready", func() bool {
		select {
		case <-n.exited:
			t.Fatalf("the node ended by itself: %v\n%s", n.cmd.ProcessState, &n.log)
		default:
		}
		return n.isReady()
	})
}

// startNodes starts nodes on one database, all at once.
func startNodes(t *testing.T, count int, database string, flags ...string) []*node {
	t.Helper()
	nodes := make([]*node, count)
	for i := range nodes {
		nodes[i] = newNode(t, database, flags...)
		nodes[i].start(t)
	}
	for _, n := range nodes {
		n.waitUntilReady(t)
	}
	return nodes
}

// hasty are the flags of nodes that count no requests and wait for no proxy when they are stopped.
var hasty = []string{"--rate-limit", "0", "--stop-delay", "0s"}

// donorbook runs a command of the program and returns what it printed.
func donorbook(t *testing.T, database string, args ...string) string {
	t.Helper()
	var errs bytes.Buffer
	cmd := exec.Command(binary, args...)
	cmd.Env, cmd.Dir, cmd.SysProcAttr = []string{"DONORBOOK_DATABASE=" + database}, shared, nobody(t)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("donorbook %v: %v\n%s", args, err, &errs)
	}
	return strings.TrimSpace(string(out))
}

// newKeys makes an account with some keys.
func newKeys(t *testing.T, database string, count int) (account string, keys []string) {
	t.Helper()
	account = donorbook(t, database, "account", "create", "--name", "Harbor Light")
	for i := range count {
		name := fmt.Sprintf("Key %d", i)
		keys = append(keys, donorbook(t, database, "key", "create", "--account", account, "--name", name))
	}
	return account, keys
}
