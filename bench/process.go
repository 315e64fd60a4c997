package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// server is a process that this program has started. The zero value is one that cannot be looked into.
type server struct {
	address string
	cmd     *exec.Cmd
	pid     int
	first   time.Duration // from start to the first answer
	extra   func() []int  // other processes whose time counts as the server's
}

// freeAddress is a free port of this machine.
func freeAddress() string {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close() //nolint:errcheck // it only lent the number
	return l.Addr().String()
}

// start runs a program and waits until ready is answered. Its output goes to a file, as a log usually does.
func (b *bench) start(address string, ready []byte, args ...string) *server {
	s := &server{address: address, cmd: exec.Command(args[0], args[1:]...)}
	log := must(os.CreateTemp(b.tmp, filepath.Base(args[0])+"-*.log"))
	defer log.Close() //nolint:errcheck // the process has its own
	s.cmd.Stderr, s.cmd.Stdout = log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // it must not outlive us
	begun := time.Now()
	check(s.cmd.Start())
	s.pid = s.cmd.Process.Pid
	b.running = append(b.running, s)
	for {
		_, err := once(s.address, ready)
		if err == nil {
			s.first = time.Since(begun)
			return s
		}
		if time.Since(begun) > patience || s.cmd.Process.Signal(syscall.Signal(0)) != nil {
			text, _ := os.ReadFile(log.Name())
			fail("%s does not answer: %v\n%.2000s", args[0], err, text)
		}
		time.Sleep(time.Millisecond)
	}
}

// serve starts our server on a dataset, with more arguments.
func (b *bench) serve(d *dataset, more ...string) *server {
	address, a := freeAddress(), d.Accounts[0]
	args := []string{b.program, "--data", d.dir, "serve", "--tls", "off", "--rate-limit", "0", "--listen", address}
	return b.start(address, request(nil, "GET", contactPath(a.id(0)), a.Key, nil), append(args, more...)...)
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

// memory is a line of /proc/PID/status in MB.
func memory(pid int, name string) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return numberAfter(text, name+":") / 1024
}

// numberAfter finds a number in a text, on the line that begins with a name.
func numberAfter(text []byte, name string) float64 {
	found := regexp.MustCompile(`(?m)^` + name + `\s*([0-9.]+)`).FindSubmatch(text)
	if found == nil {
		return 0
	}
	n, _ := strconv.ParseFloat(string(found[1]), 64)
	return n
}

// ownProcess is this process, for loops that run in it.
const ownProcess = 0

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

// command runs a command of the program to its end, and tells how many seconds it took and the most MB of memory that it had.
func (b *bench) command(args ...string) (seconds, peak float64) {
	var out bytes.Buffer
	cmd, begun, ended := exec.Command(b.program, args...), time.Now(), make(chan error, 1)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = &out, &out, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	check(cmd.Start())
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			if err != nil {
				fail("%s: %v: %s", strings.Join(args, " "), err, &out)
			}
			return time.Since(begun).Seconds(), peak
		case <-time.After(10 * time.Millisecond): // the kernel keeps the peak as long as the process lives, and rusage may have ours
			peak = max(peak, memory(cmd.Process.Pid, "VmHWM"))
		}
	}
}

// failure is an error that ends a step.
type failure struct{ error }

// check ends the step on an error, must on one beside a value, fail always; try turns that into an error again.
func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func fail(format string, args ...any) { check(fmt.Errorf(format, args...)) }

func try(fn func()) (err error) {
	defer func() {
		if caught := recover(); caught != nil {
			failed, ours := caught.(failure)
			if !ours {
				panic(caught)
			}
			err = failed.error
		}
	}()
	fn()
	return nil
}

// output runs a program to its end, and returns what it prints.
func output(program string, args ...string) string {
	cmd := exec.Command(program, args...)
	var faults bytes.Buffer
	cmd.Stderr = &faults
	out, err := cmd.Output()
	if err != nil {
		fail("%s %s: %v\n%s%s", program, args[0], err, out, &faults)
	}
	return strings.TrimSpace(string(out))
}

// describeMachine says where the figures come from.
func describeMachine() string {
	cpu, _ := os.ReadFile("/proc/cpuinfo")
	memory, _ := os.ReadFile("/proc/meminfo")
	load, _ := os.ReadFile("/proc/loadavg")
	processor := "unknown"
	if found := regexp.MustCompile(`model name\s*: (.*)`).FindSubmatch(cpu); found != nil {
		processor = string(found[1])
	}
	return fmt.Sprintf("%d processors (%s) with a load of %s, %.0f GB of memory, %s", runtime.NumCPU(), processor, bytes.Fields(load)[0], numberAfter(memory, "MemTotal:")/1e6, runtime.Version())
}

// ceiling is the fastest server that can be expected of net/http: it routes, takes a bearer key, hashes it, looks it up in a map, and
// answers bytes that never change. It is this program again, called as bench ceiling ADDRESS KEY FILE-OF-A-CONTACT FILE-OF-A-LIST.
func ceiling(args []string) {
	keys := map[[sha256.Size]byte]int64{sha256.Sum256([]byte(args[1])): 1}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/contacts/{id}", behindKey(keys, must(os.ReadFile(args[2]))))
	mux.HandleFunc("GET /v1/contacts", behindKey(keys, must(os.ReadFile(args[3]))))
	check(http.ListenAndServe(args[0], mux))
}

// behindKey answers those who have a key.
func behindKey(keys map[[sha256.Size]byte]int64, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		key, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if _, known := keys[sha256.Sum256([]byte(key))]; !found || !known {
			http.Error(w, "unknown key", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body)
	}
}
