// Package donorbook_test checks the repository as a whole: the README's commands and the arrows between its packages.
package donorbook_test

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// block is a fenced part of the README: a command, or the answer that the command before it gives.
type block struct {
	kind, text string
	start, end int // of the text, in the README
}

var fence = regexp.MustCompile("(?ms)^```([a-z ]+)\n(.*?)^```$")

func readBlocks(readme string) []block {
	var blocks []block
	for _, at := range fence.FindAllStringSubmatchIndex(readme, -1) {
		blocks = append(blocks, block{readme[at[2]:at[3]], readme[at[4]:at[5]], at[4], at[5]})
	}
	return blocks
}

// TestReadmeCommandsAnswerAsShown runs every command of the README, as somebody would who pastes them one by one.
// UPDATE=1 writes the whole answers anew.
func TestReadmeCommandsAnswerAsShown(t *testing.T) {
	document, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	readme := string(document)
	w := newWalk(t)
	updated := readme
	blocks := readBlocks(readme)
	for i, b := range blocks {
		switch b.kind {
		case "sh serve":
			w.serve(b.text)
		case "sh":
			w.paste(b.text)
		case "json", "json shortened":
			var want, got any
			if err := json.Unmarshal([]byte(b.text), &want); err != nil {
				t.Fatalf("README block %d is not JSON: %v", i+1, err)
			}
			if err := json.Unmarshal([]byte(w.output), &got); err != nil {
				t.Fatalf("%s\nanswered with something that is not JSON: %s", blocks[i-1].text, w.output)
			}
			if b.kind == "json shortened" {
				got = shorten(got, want)
			}
			if diff := cmp.Diff(steady(want), steady(got)); diff != "" {
				if os.Getenv("UPDATE") != "" && b.kind == "json" {
					updated = strings.Replace(updated, b.text, indent(t, w.output), 1)
					continue
				}
				t.Errorf("%s\nanswers otherwise than the README says (-README +answer):\n%s", blocks[i-1].text, diff)
			}
		case "text":
			if w.output != b.text {
				t.Errorf("%s\nprints %q, and the README says %q", blocks[i-1].text, w.output, b.text)
			}
		case "sh skip": // this test is part of it
		default:
			t.Errorf("README block %d has the unknown kind %q", i+1, b.kind)
		}
	}
	if updated != readme {
		if err := os.WriteFile("README.md", []byte(updated), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// walk is a person with two terminals: one for the server, one for the commands.
type walk struct {
	t      *testing.T
	dir    string
	port   string
	output string // of the last command
	server *exec.Cmd
	ended  chan error // of the server
}

func newWalk(t *testing.T) *walk {
	w := &walk{t: t, dir: t.TempDir()}
	repository, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	// The walk happens in a directory of its own that looks like the repository, so that the test leaves nothing behind.
	for _, name := range []string{"Makefile", "go.mod", "go.sum", "cmd", "internal", ".git"} {
		if err := os.Symlink(filepath.Join(repository, name), filepath.Join(w.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	_, w.port, _ = net.SplitHostPort(l.Addr().String())
	l.Close()
	t.Cleanup(w.stop)
	return w
}

func (w *walk) environment() []string {
	env := []string{"DONORBOOK_LISTEN=localhost:" + w.port}
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "DONORBOOK_") && !strings.HasPrefix(entry, "CURL_") {
			env = append(env, entry)
		}
	}
	return env
}

// serve starts a server in the first terminal, in place of the one before.
func (w *walk) serve(command string) {
	w.stop()
	os.RemoveAll(filepath.Join(w.dir, "donorbook-data"))
	var stderr bytes.Buffer
	w.server = exec.Command("sh", "-c", command)
	w.server.Dir, w.server.Env, w.server.Stderr = w.dir, w.environment(), &stderr
	w.server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := os.Create(filepath.Join(w.dir, "stdout"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.server.Stdout = stdout
	if err := w.server.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.ended = make(chan error, 1)
	go func(server *exec.Cmd, ended chan<- error) { ended <- server.Wait() }(w.server, w.ended)
	for listening := false; !listening; {
		select {
		case err := <-w.ended:
			w.server = nil
			w.t.Fatalf("%s ended: %v\n%s", command, err, stderr.String())
		case <-time.After(50 * time.Millisecond): // building takes its time
		}
		if c, err := net.Dial("tcp", "localhost:"+w.port); err == nil {
			c.Close()
			listening = true
		}
	}
	if strings.Contains(command, "make run") {
		w.pasteDemo()
	}
}

// pasteDemo runs the curl command that the demo prints.
func (w *walk) pasteDemo() {
	var printed string
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		text, _ := os.ReadFile(filepath.Join(w.dir, "stdout"))
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "curl ") && strings.HasSuffix(line, "\n") {
				printed = line
			}
		}
		if printed != "" {
			break
		}
	}
	if printed == "" {
		w.t.Fatal("make run printed no curl command")
	}
	w.paste(printed)
	var page struct {
		Data []any `json:"data"`
	}
	if err := json.Unmarshal([]byte(w.output), &page); err != nil || len(page.Data) != 3 {
		w.t.Fatalf("the demo's curl command answered %q", w.output)
	}
}

func (w *walk) stop() {
	if w.server != nil {
		_ = syscall.Kill(-w.server.Process.Pid, syscall.SIGTERM)
		<-w.ended
		w.server = nil
	}
}

// paste runs a command in the second terminal, where earlier variables are still set.
func (w *walk) paste(command string) {
	w.t.Helper()
	command = strings.ReplaceAll(command, "localhost:8443", "localhost:"+w.port)
	// The shell's variables are kept in a file between commands.
	script := "set -eu -o pipefail\n[ -f session ] && . ./session\n" + command + "\ndeclare -p ACCOUNT ID DONORBOOK_KEY CURL_CA_BUNDLE > session 2>/dev/null || true\n"
	shell := exec.Command("bash", "-c", script)
	var stdout, stderr bytes.Buffer
	shell.Dir, shell.Env, shell.Stdout, shell.Stderr = w.dir, w.environment(), &stdout, &stderr
	if err := shell.Run(); err != nil {
		w.t.Fatalf("%s\n%v\n%s%s", command, err, stdout.String(), stderr.String())
	}
	w.output = strings.ReplaceAll(stdout.String(), "localhost:"+w.port, "localhost:8443")
}

var (
	unsteadyTime = regexp.MustCompile(`^20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d`)
	accountID    = regexp.MustCompile(`^[0-9A-Za-z]{16}$`)
)

// steady replaces what differs from run to run: ids, times, account ids.
func steady(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			out[key] = steady(value)
			if key == "id" {
				out[key] = "id"
			}
		}
		return out
	case []any:
		out := []any{}
		for _, value := range v {
			out = append(out, steady(value))
		}
		return out
	case string:
		if accountID.MatchString(v) {
			return "account"
		}
		if unsteadyTime.MatchString(v) && !strings.HasPrefix(v, "1") {
			return "time"
		}
	}
	return v
}

// shorten keeps of an answer what the README shows of it.
func shorten(got, want any) any {
	switch want := want.(type) {
	case map[string]any:
		whole, ok := got.(map[string]any)
		if !ok {
			return got
		}
		out := map[string]any{}
		for key, value := range want {
			if have, ok := whole[key]; ok {
				out[key] = shorten(have, value)
			}
		}
		return out
	case []any:
		whole, ok := got.([]any)
		if !ok || len(whole) != len(want) {
			return got
		}
		out := []any{}
		for i, value := range want {
			out = append(out, shorten(whole[i], value))
		}
		return out
	}
	return got
}

func indent(t *testing.T, answer string) string {
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(answer), "", "  "); err != nil {
		t.Fatal(err)
	}
	return b.String() + "\n"
}
