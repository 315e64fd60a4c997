package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// server is a process that this program has started. The zero value is one that cannot be looked into.
type server struct {
	address string
	metrics string // address of its counters; "" where it has none
	cmd     *exec.Cmd
	pid     int
	scrape  [2]float64    // what asking for the counters allocates itself
	first   time.Duration // from start to the first answer
	extra   func() []int  // other processes whose time counts as the server's
}

// freeAddress is a free port of this machine.
func freeAddress() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err.Error() // where no server can listen
	}
	defer l.Close() //nolint:errcheck // it only lent the number
	return l.Addr().String()
}

// start runs a program and waits until ready is answered. Its output goes to a file, as a log usually does.
func (b *bench) start(address, metrics string, ready []byte, args ...string) (*server, error) {
	s := &server{address: address, metrics: metrics, cmd: exec.Command(args[0], args[1:]...)}
	log, err := os.CreateTemp(b.tmp, filepath.Base(args[0])+"-*.log")
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // the process has its own
	s.cmd.Stderr, s.cmd.Stdout = log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // it must not outlive us
	begun := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	s.pid = s.cmd.Process.Pid
	b.running = append(b.running, s)
	for {
		if _, err = onceWire(s.address, ready); err == nil {
			s.first = time.Since(begun)
			s.calibrate()
			return s, nil
		}
		if time.Since(begun) > patience || s.cmd.Process.Signal(syscall.Signal(0)) != nil {
			text, _ := os.ReadFile(log.Name())
			return nil, fmt.Errorf("%s does not answer: %w\n%.2000s", args[0], err, text)
		}
		time.Sleep(time.Millisecond)
	}
}

// stop ends the process in order, and waits for it.
func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(20*time.Second, func() { _ = s.cmd.Process.Kill() })
	_ = s.cmd.Wait()
	timer.Stop()
}

func (s *server) cpu() time.Duration {
	pids := []int{s.pid}
	if s.extra != nil {
		pids = append(pids, s.extra()...)
	}
	return cpuOfProcesses(pids...)
}

func (s *server) rss() float64  { return memory(s.pid, "VmRSS") }
func (s *server) peak() float64 { return memory(s.pid, "VmHWM") }

// mallocs are the allocations so far, from the counters that the server offers.
func (s *server) mallocs() (count, bytes float64) {
	if s.metrics == "" {
		return 0, 0
	}
	text, err := once(s.metrics, "GET", "/metrics", "", nil)
	if err != nil {
		return 0, 0
	}
	return numberAfter(text, "go_memstats_mallocs_total ") - s.scrape[0], numberAfter(text, "go_memstats_alloc_bytes_total ") - s.scrape[1]
}

// calibrate learns what a look at the counters costs: each look but the first has paid for the one before.
func (s *server) calibrate() {
	s.mallocs()
	count, bytes := s.mallocs()
	countAfter, bytesAfter := s.mallocs()
	s.scrape = [2]float64{countAfter - count, bytesAfter - bytes}
}

// numberAfter finds a number in a text, on the line that begins with a name.
func numberAfter(text []byte, name string) float64 {
	found := regexp.MustCompile(`(?m)^` + name + `\s*([0-9.e+]+)`).FindSubmatch(text)
	if found == nil {
		return 0
	}
	n, _ := strconv.ParseFloat(string(found[1]), 64)
	return n
}

// memory is a line of /proc/PID/status in MB.
func memory(pid int, name string) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return numberAfter(text, name+":") / 1024
}

// ownProcess is this process, for loops that run in it.
const ownProcess = 0

func ownCPU() time.Duration { return cpuOfProcesses(ownProcess) }

// cpuOfProcesses is the time that processes have used, as in /proc/PID/stat, but from the kernel's clock of each process, which counts
// nanoseconds and not hundredths of a second.
func cpuOfProcesses(pids ...int) (sum time.Duration) {
	for _, pid := range pids {
		clock := ^pid<<3 | 2 // as clock_getcpuclockid makes it
		var at syscall.Timespec
		if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, uintptr(clock), uintptr(unsafe.Pointer(&at)), 0); errno == 0 {
			sum += time.Duration(at.Nano())
		}
	}
	return sum
}
