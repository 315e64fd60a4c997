package cli

import (
	"fmt"
	"os"
	"regexp"
	"syscall"
	"testing"
	"unsafe"

	"donorbook/internal/rig"
)

// limitFiles limits the file descriptors of a process; it keeps those that it has.
func (p *process) limitFiles(soft uint64) {
	p.t.Helper()
	limit := syscall.Rlimit{Cur: soft, Max: 4096}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(p.cmd.Process.Pid), syscall.RLIMIT_NOFILE,
		uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	equal(p.t, errno, 0)
}

// A server that is out of file descriptors asks clients to come back, and serves them as soon as it has some.
func TestOutOfFileDescriptors(t *testing.T) { eachEngine(t, outOfFileDescriptors) }

func outOfFileDescriptors(t *testing.T, e engine) {
	data := e.data(t)
	_, key := newKey(t, data)
	p := launchServer(t, data)
	const clients = 16
	rig.AtOnce(clients, func(int) { p.call("", 200, "GET", "/healthz", "") }) // their connections stay open
	p.limitFiles(3)
	rig.AtOnce(clients, func(int) {
		for range 20 {
			a, err := p.send(key, "GET", "/v1/contacts", "")
			if err != nil || a.status != 200 && a.status != 503 {
				t.Errorf("%s, %v", a, err)
			}
			if a.status == 503 && a.header.Get("Retry-After") == "" {
				t.Errorf("%s does not say when to come back", a)
			}
		}
	})
	p.limitFiles(4096)
	rig.AtOnce(clients, func(int) { p.call(key, 200, "GET", "/v1/contacts", "") })
}

// serveWithFiles starts a server in a shell that limits its file descriptors.
func serveWithFiles(t *testing.T, data, ulimit string) *process {
	t.Helper()
	p := launch(t, data, "sh", "-c", ulimit+` && exec donorbook serve --tls off --listen 127.0.0.1:0 --data "$0"`, data)
	p.waitUntilServing()
	return p
}

// The server raises the soft limit of open files, which many systems set low, to the hard limit.
func TestTheSoftLimitOfFilesIsRaised(t *testing.T) {
	t.Parallel()
	p := serveWithFiles(t, t.TempDir(), "ulimit -S -n 64")
	limits := must(os.ReadFile(fmt.Sprintf("/proc/%d/limits", p.cmd.Process.Pid)))(t)
	if soft := regexp.MustCompile(`Max open files +(\d+)`).FindSubmatch(limits); soft == nil || len(soft[1]) < 4 {
		t.Errorf("the soft limit is low:\n%s", limits)
	}
}
