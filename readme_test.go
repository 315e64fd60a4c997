//go:build drill

// Package donorbook_test checks the repository as a whole: its documents' commands and the arrows between its packages.
package donorbook_test

import (
	"bytes"
	"encoding/json"
	"fmt"
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

	"donorbook/internal/rig/assert"
)

// block is a fenced part of a document: a command, or the answer that the command before it gives.
type block struct {
	kind, text string
	start      int // of the text, in the document
}

var fence = regexp.MustCompile("(?ms)^```([a-z ]+)\n(.*?)^```$")

func readBlocks(document string) []block {
	var blocks []block
	for _, at := range fence.FindAllStringSubmatchIndex(document, -1) {
		blocks = append(blocks, block{document[at[2]:at[3]], document[at[4]:at[5]], at[4]})
	}
	return blocks
}

// TestReadmeCommandsAnswerAsShown runs every command of the README, and then those of the tour of the API, as a reader
// would who pastes them one by one. UPDATE=1 writes the whole answers again.
func TestReadmeCommandsAnswerAsShown(t *testing.T) {
	t.Parallel()
	w := newWalk(t)
	w.buildInRepository()
	for _, name := range []string{"README.md", "docs/api.md"} {
		document := assert.Must(os.ReadFile(name))(t)
		updated := w.read(name, string(document))
		if updated == string(document) {
			continue
		}
		assert.Succeed(t, os.WriteFile(name, []byte(updated), 0o644))
	}
}

// read follows a document, and returns it with the answers as they are now if UPDATE is set.
func (w *walk) read(name, document string) string {
	updated, command := document, ""
	for i, b := range readBlocks(document) {
		switch b.kind {
		case "sh serve":
			w.serve(b.text)
		case "sh":
			command = b.text
			w.paste(b.text)
		case "json", "json shortened":
			diff := w.compare(b.text, b.kind == "json shortened")
			if diff != "" && os.Getenv("UPDATE") != "" && b.kind == "json" {
				updated = strings.Replace(updated, b.text, indent(w.t, w.output), 1)
			} else if diff != "" {
				w.t.Errorf("%s\nanswers otherwise than %s says (-document +answer):\n%s", command, name, diff)
			}
		case "text":
			assert.Equal(w.t, w.output, b.text, "%s\nprints (%v)", command, name)
		default:
			w.t.Errorf("block %d of %s has the unknown kind %q", i+1, name, b.kind)
		}
	}
	return updated
}

// compare says how the last answer differs from the one in a document.
func (w *walk) compare(shown string, shortened bool) string {
	var want, got any
	if err := json.Unmarshal([]byte(shown), &want); err != nil {
		w.t.Fatalf("%s\nis not JSON: %v", shown, err)
	}
	if err := json.Unmarshal([]byte(w.output), &got); err != nil {
		w.t.Fatalf("expected %s\ngot something that is not JSON: %s", shown, w.output)
	}
	if shortened {
		got = shorten(got, want)
	}
	return cmp.Diff(steady(want), steady(got))
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
	repository := assert.Must(os.Getwd())(t)
	// The walk happens in a directory of its own that looks like the repository, so that the test leaves nothing
	// behind.
	for _, name := range []string{"Makefile", "go.mod", "go.sum", "client", filepath.Dir(built(t))} {
		assert.Succeed(t, os.Symlink(filepath.Join(repository, name), filepath.Join(w.dir, name)))
	}
	l := assert.Must(net.Listen("tcp", "localhost:0"))(t)
	_, w.port, _ = net.SplitHostPort(l.Addr().String())
	l.Close()
	t.Cleanup(w.stop)
	return w
}

// buildInRepository sends Go to the repository. In a directory that it has not seen it would compile everything again.
func (w *walk) buildInRepository() {
	compiler := assert.Must(exec.LookPath("go"))(w.t)
	repository := assert.Must(os.Getwd())(w.t)
	script := fmt.Appendf(nil, "#!/bin/sh\ncd '%s' && exec '%s' \"$@\"\n", repository, compiler)
	assert.Succeed(w.t, os.WriteFile(filepath.Join(w.dir, "go"), script, 0o755))
}

func (w *walk) environment() []string {
	env := []string{"DONORBOOK_LISTEN=localhost:" + w.port, "PATH=" + w.dir + ":" + os.Getenv("PATH")}
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "DONORBOOK_") && !strings.HasPrefix(entry, "CURL_") &&
			!strings.HasPrefix(entry, "PATH=") {
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
	stdout := assert.Must(os.Create(filepath.Join(w.dir, "stdout")))(w.t)
	w.server.Stdout = stdout
	assert.Succeed(w.t, w.server.Start())
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
	script := "set -eu -o pipefail\n[ -f session ] && . ./session\n" + command +
		"\ndeclare -p ACCOUNT ID GIFT DONORBOOK_KEY CURL_CA_BUNDLE > session 2>/dev/null || true\n"
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

// shorten keeps of an answer what a document shows of it.
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
	assert.Succeed(t, json.Indent(&b, []byte(answer), "", "  "))
	return b.String() + "\n"
}
