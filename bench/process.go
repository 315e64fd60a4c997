package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// server is a process that the harness has started.
type server struct {
	address string
	metrics string // address of its counters; "" where it has none
	cmd     *exec.Cmd
	log     *os.File
	scrape  [2]float64    // what asking for the counters allocates by itself
	first   time.Duration // from start to the first answer
	extra   func() []int  // other processes whose time counts as the server's
}

// freeAddress is a port of this machine that nobody uses.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close() //nolint:errcheck // it only lent the number
	return l.Addr().String(), nil
}

// start runs a program and waits until ready is answered. Its standard error goes to a file, as a log usually does.
func start(logs, address, metrics string, ready []byte, program string, args ...string) (*server, error) {
	s := &server{address: address, metrics: metrics, cmd: exec.Command(program, args...)}
	var err error
	if s.log, err = os.CreateTemp(logs, filepath.Base(program)+"-*.log"); err != nil {
		return nil, err
	}
	s.cmd.Stderr, s.cmd.Stdout = s.log, s.log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // it must not outlive us
	begun := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for {
		if err = s.answers(ready); err == nil {
			s.first = time.Since(begun)
			s.calibrate()
			return s, nil
		}
		if time.Since(begun) > patience || s.cmd.Process.Signal(syscall.Signal(0)) != nil {
			s.stop()
			return nil, fmt.Errorf("%s does not answer: %w (see %s)", program, err, s.log.Name())
		}
		time.Sleep(time.Millisecond)
	}
}

func (s *server) answers(ready []byte) error {
	c, err := dial(s.address)
	if err != nil {
		return err
	}
	defer c.close()
	_, err = c.ask(ready, nil)
	return err
}

// stop ends the process in order, and waits for it.
func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(20*time.Second, func() { _ = s.cmd.Process.Kill() })
	_ = s.cmd.Wait()
	timer.Stop()
	_ = s.log.Close()
}

func (s *server) cpu() time.Duration {
	sum := cpuOfProcess(s.cmd.Process.Pid)
	if s.extra != nil {
		for _, pid := range s.extra() {
			sum += cpuOfProcess(pid)
		}
	}
	return sum
}

func (s *server) rss() float64  { return memory(s.cmd.Process.Pid, "VmRSS:") }
func (s *server) peak() float64 { return memory(s.cmd.Process.Pid, "VmHWM:") }

// mallocs are the allocations so far, from the counters that the server offers.
func (s *server) mallocs() (count, bytes float64) {
	if s.metrics == "" {
		return 0, 0
	}
	text, err := once(s.metrics, "GET", "/metrics", "", nil)
	if err != nil {
		return 0, 0
	}
	return gauge(text, "go_memstats_mallocs_total") - s.scrape[0], gauge(text, "go_memstats_alloc_bytes_total") - s.scrape[1]
}

// calibrate learns what a look at the counters costs: each look but the first has paid for the one before.
func (s *server) calibrate() {
	s.mallocs()
	count, bytes := s.mallocs()
	countAfter, bytesAfter := s.mallocs()
	s.scrape = [2]float64{countAfter - count, bytesAfter - bytes}
}

// gauge finds a number in the text that Prometheus reads.
func gauge(text []byte, name string) float64 {
	for line := range bytes.Lines(text) {
		if value, found := bytes.CutPrefix(line, []byte(name+" ")); found {
			n, _ := strconv.ParseFloat(string(bytes.TrimSpace(value)), 64)
			return n
		}
	}
	return 0
}

// cpuOfProcess is the time that a process has used, as in /proc/PID/stat, but from the kernel's clock of that process, which
// counts nanoseconds and not hundredths of a second.
func cpuOfProcess(pid int) time.Duration {
	clock := ^pid<<3 | 2 // as clock_getcpuclockid makes it
	var at syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, uintptr(clock), uintptr(unsafe.Pointer(&at)), 0); errno != 0 {
		return 0
	}
	return time.Duration(at.Nano())
}

// stat are the fields of /proc/PID/stat that follow the program's name, which may hold anything.
func stat(pid int) ([]string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 2 {
		return nil, errors.New("a line of /proc that is too short")
	}
	return fields, nil
}

// memory is a line of /proc/PID/status in MB.
func memory(pid int, name string) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == name {
			kb, _ := strconv.ParseFloat(fields[1], 64)
			return kb / 1024
		}
	}
	return 0
}

// family is a process and its children, such as the processes of PostgreSQL.
func family(parent int) []int {
	pids := []int{parent}
	paths, _ := filepath.Glob("/proc/[0-9]*")
	for _, path := range paths {
		pid, _ := strconv.Atoi(filepath.Base(path))
		if fields, err := stat(pid); err == nil && fields[1] == strconv.Itoa(parent) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// ownCPU is what this process has used, for loops that run in it.
func ownCPU() time.Duration { return cpuOfProcess(os.Getpid()) }
