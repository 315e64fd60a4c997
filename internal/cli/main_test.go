package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"donorbook/internal/pgtest"
	"donorbook/internal/rig"
	"donorbook/internal/rig/assert"
)

// TestMain lets the test binary be donorbook: where a process of its own matters, it is found in the PATH under that
// name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "donorbook" {
		opened = dieAtCommit
		os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	for _, variable := range os.Environ() { // the settings of the person who runs the tests
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "DONORBOOK_") {
			os.Unsetenv(name)
		}
	}
	syscall.Umask(0o077) // as Main sets it: directories of tests are those of an operator who has taken care
	os.Exit(runAsDonorbook(m))
}

func runAsDonorbook(m *testing.M) int {
	bin, err := os.MkdirTemp("", "donorbook-bin-")
	if err == nil {
		defer os.RemoveAll(bin)
		err = install(filepath.Join(bin, "donorbook"))
	}
	if err != nil {
		panic(err)
	}
	os.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return rig.Run(m)
}

// install copies this program: a link could lead to a directory that other users of the machine cannot read.
func install(path string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	from, err := os.Open(program)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Chmod(0o755), to.Close())
}

// engine is a kind of database that the command line works with.
type engine string

const (
	sqlite   engine = "sqlite"
	postgres engine = "postgres"
)

var engines = rig.OfBoth([]engine{sqlite, postgres})

// eachEngine runs a test on every engine, in parallel.
func eachEngine(t *testing.T, test func(*testing.T, engine)) {
	t.Parallel()
	for _, e := range engines {
		t.Run(string(e), func(t *testing.T) {
			t.Parallel()
			test(t, e)
		})
	}
}

// databases has the addresses that belong to data directories. If there is none, the database is in the directory.
var databases sync.Map

func databaseOf(data string) string {
	url, _ := databases.Load(data)
	text, _ := url.(string)
	return text
}

// data creates an empty data directory and a database for the commands that use it: see databaseOf.
func (e engine) data(t *testing.T) string {
	t.Helper()
	return e.dataIn(t, t.TempDir())
}

func (e engine) dataIn(t *testing.T, dir string) string {
	t.Helper()
	if e == sqlite {
		return dir
	}
	url := rig.Database(t)
	databases.Store(dir, url)
	t.Cleanup(func() {
		if _, err := os.Stat(filepath.Join(dir, "donorbook.db")); !os.IsNotExist(err) {
			t.Errorf("something used SQLite: %v", err)
		}
		if n, err := pgtest.Number(url, "SELECT count(*) FROM account"); err != nil || n == 0 {
			t.Errorf("PostgreSQL was not used: %d accounts, %v", n, err)
		}
	})
	return dir
}

// environment is the environment of a process that uses a data directory. Command lines in this process, which share
// one environment, get flags instead.
func environment(data string, more ...string) []string {
	if url := databaseOf(data); url != "" {
		more = append(more, "DONORBOOK_DATABASE="+url)
	}
	return append(os.Environ(), more...)
}

func databaseFlags(args []string) []string {
	if i := slices.Index(args, "--data"); i >= 0 && i+1 < len(args) {
		if url := databaseOf(args[i+1]); url != "" {
			return []string{"--database", url}
		}
	}
	return nil
}

// runLine runs a command line in this process.
func runLine(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), slices.Concat(args, databaseFlags(args)), strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// result is the output of a command that must succeed.
func result(t *testing.T, args ...string) string {
	t.Helper()
	stdout, _ := says(t, exitOK, "", args...)
	return strings.TrimSpace(stdout)
}

// says runs a command line and checks its exit code and its standard error. What fails prints no result.
func says(t *testing.T, code int, want string, args ...string) (stdout, stderr string) {
	t.Helper()
	got, stdout, stderr := runLine(t, args...)
	if got != code || !strings.Contains(stderr, want) || code != exitOK && stdout != "" {
		t.Errorf("donorbook %s: exit code %d, want %d; stdout %q; stderr %q does not say %q",
			strings.Join(args, " "), got, code, stdout, stderr, want)
	}
	return stdout, stderr
}

// exitCode is that of a process that has ended; -1 is a signal.
func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		panic(err)
	}
	return exitOK
}

// newKey makes an account and a key with the command line.
func newKey(t *testing.T, data string) (account, key string) {
	t.Helper()
	account = result(t, "account", "create", "--data", data, "--name", "Harbor Light")
	return account, result(t, "key", "create", "--data", data, "--account", account, "--name", "Test")
}

// checkIntegrity asks SQLite whether its file is intact.
func checkIntegrity(t *testing.T, data string) {
	t.Helper()
	if databaseOf(data) != "" {
		return
	}
	db := must(sqlite3.Open(filepath.Join(data, "donorbook.db")))(t)
	defer db.Close()
	stmt, _ := must2(db.Prepare("PRAGMA integrity_check"))(t)
	defer stmt.Close()
	for stmt.Step() {
		equal(t, stmt.ColumnText(0), "ok", "integrity check")
	}
	succeed(t, stmt.Err())
}

// write makes a file in a directory of its own.
func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	succeed(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// must, must2 and succeed are for calls that must succeed.

func must[T any](v T, err error) func(assert.Failer) T { return assert.Must(v, err) }

func must2[T, U any](v T, u U, err error) func(assert.Failer) (T, U) { return assert.Must2(v, u, err) }

func succeed(t assert.Failer, err error) {
	t.Helper()
	assert.Succeed(t, err)
}

func equal[T any](t assert.Failer, got, want T, what ...any) {
	t.Helper()
	assert.Equal(t, got, want, what...)
}

func contains(t assert.Failer, text, part string, what ...any) {
	t.Helper()
	assert.Contains(t, text, part, what...)
}
