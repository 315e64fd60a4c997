package cli

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"donorbook/internal/rig"
)

// TestScripts runs what a user could have typed; testdata doubles as a manual of the command line. The commands run in
// this process, one script after the other, because the working directory and the environment are the process's.
func TestScripts(t *testing.T) {
	files := must(filepath.Glob("testdata/*.txt"))(t)
	for i := range files {
		files[i] = must(filepath.Abs(files[i]))(t)
	}
	t.Chdir(t.TempDir())
	for _, e := range engines {
		t.Run(string(e), func(t *testing.T) {
			testscript.RunT(inTurn{t}, testscript.Params{
				Files:               slices.DeleteFunc(slices.Clone(files), e.leavesOut),
				RequireExplicitExec: true,
				Setup:               e.setUp,
				Cmds: map[string]func(*testscript.TestScript, bool, []string){
					"donorbook": func(ts *testscript.TestScript, neg bool, args []string) {
						typed(ts, exitOK, neg,
							args)
					},
					"exits":  exits,
					"keep":   keep,
					"prints": prints,
					"expand": expand,
				},
			})
		})
	}
}

// inTurn runs scripts one after the other.
type inTurn struct{ *testing.T }

func (t inTurn) Parallel()     {}
func (t inTurn) Verbose() bool { return testing.Verbose() }
func (t inTurn) Run(name string, script func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { script(inTurn{t}) })
}

// leavesOut tells whether a script is about settings and directories themselves; all others run on every engine.
func (e engine) leavesOut(file string) bool {
	return e != sqlite && slices.Contains([]string{"backup.txt", "config.txt", "database.txt", "usage.txt"},
		filepath.Base(file))
}

// setUp gives a script its own database and directory. $THERE is what hints about other commands add for the database.
func (e engine) setUp(env *testscript.Env) error {
	env.Setenv("TABBED", "One\tTwo")
	env.Setenv("THERE", "")
	if e == postgres {
		cluster, err := rig.Shared()
		if err != nil {
			return err
		}
		url, err := cluster.Database()
		if err != nil {
			return err
		}
		env.Setenv("DONORBOOK_DATABASE", url)
		env.Setenv("THERE", " --database URL")
	}
	return os.Chdir(env.Cd)
}

// typed runs a command line that must end with an exit code. A last argument <FILE is its standard input.
func typed(ts *testscript.TestScript, want int, neg bool, args []string) {
	if neg {
		ts.Fatalf("use exits CODE donorbook ...")
	}
	input := ""
	if last := len(args) - 1; last >= 0 && strings.HasPrefix(args[last], "<") {
		input, args = ts.ReadFile(args[last][1:]), args[:last]
	}
	for _, name := range []string{"DONORBOOK_CONFIG", "DONORBOOK_DATABASE"} {
		if value := ts.Getenv(name); value != "" {
			ts.Check(os.Setenv(name, value))
			defer os.Unsetenv(name)
		}
	}
	if got := run(context.Background(), args, strings.NewReader(input), ts.Stdout(), ts.Stderr()); got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// exits runs a command that must end with an exit code for a kind of failure: exits 3 donorbook ...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARGUMENT]...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if args[1] == "donorbook" {
		typed(ts, want, false, args[2:])
		return
	}
	if got := exitCode(ts.Exec(args[1], args[2:]...)); got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// keep stores what the last command printed in a variable, as NAME=$(...) does in a shell, or what a group in a pattern
// has matched.
func keep(ts *testscript.TestScript, neg bool, args []string) {
	found := []string{"", strings.TrimSpace(ts.ReadFile("stdout"))}
	if len(args) == 2 {
		found = regexp.MustCompile(args[1]).FindStringSubmatch(found[1])
	}
	if neg || len(args) == 0 || len(found) != 2 {
		ts.Fatalf("usage: keep NAME [PATTERN]; the pattern must match")
	}
	ts.Setenv(args[0], found[1])
}

// expand replaces variables in a file.
func expand(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(os.Expand(ts.ReadFile(args[0]), ts.Getenv)), 0o600))
}

// prints compares standard output with a file in which variables are expanded and values that differ from run to run
// have names.
func prints(ts *testscript.TestScript, neg bool, args []string) {
	got := hint.ReplaceAllString(moment.ReplaceAllString(ts.ReadFile("stdout"), "TIME"), "HINT")
	if diff := cmp.Diff(os.Expand(ts.ReadFile(args[0]), ts.Getenv), got); diff != "" {
		ts.Fatalf("standard output differs from %s (-want +got):\n%s", args[0], diff)
	}
}

var (
	moment = regexp.MustCompile(`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\dZ?`)
	hint   = regexp.MustCompile(`\bdbk_\w{8}\.\.\.\w{4}\b`)
)
