package client_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"donorbook/internal/cli"
)

// TestMain lets the test binary be donorbook, and starts a server for the examples.
func TestMain(m *testing.M) {
	testscript.Main(served{m}, map[string]func(){
		"donorbook": func() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// served runs tests beside a server with a certificate of its own. DONORBOOK_URL, DONORBOOK_KEY and DONORBOOK_CA say how to reach it.
type served struct{ *testing.M }

func (s served) Run() int {
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "DONORBOOK_") {
			os.Unsetenv(name) // a setting of someone who runs the tests
		}
	}
	runtime.LockOSThread() // Pdeathsig follows the thread that started the server
	data, err := os.MkdirTemp("", "donorbook-client-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(data)
	server, err := start(data)
	if err != nil {
		panic(err)
	}
	code := s.M.Run()
	_ = server.Process.Signal(syscall.SIGTERM)
	_ = server.Wait()
	return code
}

var listening = regexp.MustCompile(`\bserving\b.*\blisten=(\S+)`)

func start(data string) (*exec.Cmd, error) {
	var made [2]string
	for i, args := range [][]string{{"account", "create", "--name", "River Aid"}, {"key", "create", "--name", "Examples", "--account"}} {
		if i == 1 {
			args = append(args, made[0])
		}
		out, err := exec.Command("donorbook", append(args, "--data", data)...).Output()
		if err != nil {
			return nil, fmt.Errorf("%v: %w", args, err)
		}
		made[i] = strings.TrimSpace(string(out))
	}
	server := exec.Command("donorbook", "serve", "--data", data, "--listen", "127.0.0.1:0", "--rate-limit", "0")
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // an example that fails may end this process
	stderr, err := server.StderrPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		return nil, err
	}
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if found := listening.FindStringSubmatch(lines.Text()); found != nil {
			os.Setenv("DONORBOOK_URL", "https://"+found[1])
			os.Setenv("DONORBOOK_KEY", made[1])
			os.Setenv("DONORBOOK_CA", filepath.Join(data, "tls", "ca.pem"))
			go func() {
				for lines.Scan() { // so that the server never waits for a reader of its log
				}
			}()
			return server, nil
		}
	}
	return nil, errors.New("the server does not listen")
}
