package cli

import (
	"net/http"
	"sync"
	"syscall"
	"testing"
	"unsafe"
)

// limitFiles sets how many file descriptors a process may have; it keeps those that it has.
func (p *process) limitFiles(soft uint64) {
	p.t.Helper()
	limit := syscall.Rlimit{Cur: soft, Max: 4096}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(p.cmd.Process.Pid), syscall.RLIMIT_NOFILE, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	if errno != 0 {
		p.t.Fatal(errno)
	}
}

// A server that is out of file descriptors asks clients to come back, and serves them as soon as there are some.
func TestOutOfFileDescriptors(t *testing.T) { eachEngine(t, outOfFileDescriptors) }

func outOfFileDescriptors(t *testing.T, e engine) {
	data := e.data(t)
	_, key := newKey(t, data)
	p := serve(t, data)
	const clients = 16
	p.together(clients, func() { p.call("", http.StatusOK, "GET", "/healthz", "") }) // their connections stay open
	p.limitFiles(3)
	p.together(clients, func() {
		for range 20 {
			a, err := p.send(key, "GET", "/v1/contacts", "")
			if err != nil || a.status != http.StatusOK && a.status != http.StatusServiceUnavailable {
				t.Errorf("%s, %v", a, err)
			}
			if a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") == "" {
				t.Errorf("%s does not say when to come back", a)
			}
		}
	})
	p.limitFiles(4096)
	p.together(clients, func() { p.call(key, http.StatusOK, "GET", "/v1/contacts", "") })
}

// together does something so many times at once.
func (p *process) together(times int, do func()) {
	var group sync.WaitGroup
	for range times {
		group.Go(do)
	}
	group.Wait()
}
