package cli

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"donorbook/internal/store/move"
)

// typed runs a command line in a process of its own.
func typed(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "donorbook", args...)
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), out.String(), errs.String()
}

// wantTyped runs a command line and checks its exit code and its standard error.
func wantTyped(t *testing.T, code int, says string, args ...string) (stdout, stderr string) {
	t.Helper()
	got, stdout, stderr := typed(t, args...)
	if got != code || !strings.Contains(stderr, says) || code != exitOK && stdout != "" {
		t.Errorf("donorbook %s: exit code %d, want %d; stdout %q; stderr %q does not say %q", strings.Join(args, " "), got, code, stdout, stderr, says)
	}
	return stdout, stderr
}

// copySource is a data directory with an account, a key and some contacts.
func copySource(t *testing.T) (data, account, key string) {
	t.Helper()
	data = onlySQLite(t)
	account, key = newKey(t, data)
	p := serve(t, data)
	for i := range 5 {
		p.call(key, http.StatusCreated, "POST", "/v1/contacts", fmt.Sprintf(`{"first_name":"Zoë %d","last_name":"K","emails":[{"value":"z%d@example.org"}],"tags":["日本"]}`, i, i))
	}
	p.stop()
	return data, account, key
}

func TestACopyMovesAServiceToPostgreSQLAndBack(t *testing.T) {
	t.Parallel()
	cluster := cluster(t)
	data, account, key := copySource(t)
	there, back := newDatabase(t, cluster), filepath.Join(t.TempDir(), "new")

	source := serve(t, data) // it may continue
	want := source.call(key, http.StatusOK, "GET", "/v1/contacts?per_page=3", "").body
	stdout, stderr := wantTyped(t, exitOK, "What is written to the source from now on is not copied.\n", "copy", "--from", "sqlite:"+data, "--to", there)
	// The invitation is the setup link that the server printed last.
	const table = `TABLE               ROWS
contact             5
contact_index       5
contact_set         2
tag                 1
campaign            0
campaign_reader     0
campaign_slug       0
picture             0
plan                0
gift                0
external_reference  0
giving              0
change              6
contact_merge       0
duplicate           0
duplicate_run       0
custom_field        0
segment             0
job                 0
job_part            0
job_row             0
column_mapping      0
template            0
receipt             0
mail                0
connection          0
donation            0
provider_event      0
request_answer      0
api_key             1
invitation          1
app_user            0
password_reset      0
user_session        0
member              0
account_setting     0
account_tally       1
account             1
Accounts: 1. Rows and checksums are the same on both sides.
`
	if stdout != table {
		t.Errorf("standard output is\n%s", stdout)
	}
	for _, line := range []string{"copying contact: 5 of 5 rows, 100%", "copying campaign: 0 of 0 rows, 100%", "checking account: 1 of 1 rows, 100%"} {
		if strings.Count(stderr, line) != 1 {
			t.Errorf("standard error does not say once %q:\n%s", line, stderr)
		}
	}
	source.call(key, http.StatusCreated, "POST", "/v1/contacts", `{"first_name":"Late","last_name":"K"}`)

	stdout, _ = wantTyped(t, exitOK, "", "copy", "--from", there, "--to", "sqlite:"+back, "--json")
	report := decode[struct {
		Tables   []move.TableCount
		Accounts []move.AccountSum
	}](t, []byte(stdout))
	if len(report.Tables) != 38 || len(report.Accounts) != 1 || report.Accounts[0].ID != account || len(report.Accounts[0].SHA256) != 64 {
		t.Errorf("the report is %s", stdout)
	}
	for _, p := range []*process{serve(t, t.TempDir(), "--database", there), serve(t, back)} {
		got := p.call(key, http.StatusOK, "GET", "/v1/contacts?per_page=3", "").body
		if got = bytes.ReplaceAll(got, []byte(p.url), []byte(source.url)); !bytes.Equal(got, want) {
			t.Errorf("the copy answers\n%s\nwant\n%s", got, want)
		}
		made := p.call(key, http.StatusCreated, "POST", "/v1/contacts", `{"first_name":"Next","last_name":"K"}`)
		if !bytes.Contains(made.body, []byte(`{"id":6,`)) {
			t.Errorf("the next contact is %s", made)
		}
	}
}

func TestACopyTellsWhatIsWrongWithItsDatabases(t *testing.T) {
	t.Parallel()
	cluster := cluster(t)
	data, _, _ := copySource(t)
	empty, dir := newDatabase(t, cluster), t.TempDir()
	other := t.TempDir()
	result(t, "account", "create", "--data", other, "--name", "Another")
	before := result(t, "account", "list", "--data", other)
	target := "sqlite:" + filepath.Join(dir, "target")
	for _, c := range []struct {
		code     int
		from, to string
		says     string
	}{
		{exitUsage, "mysql://h/d", target, "--from: the URL must begin with postgres: or sqlite:"},
		{exitUsage, "sqlite:" + data, "donors", "--to: the URL must begin with postgres: or sqlite:"},
		{exitUsage, "sqlite:", target, "--from: the URL names no directory; write sqlite:DIR"},
		{exitUsage, "sqlite:" + data, "sqlite://", "--to: the URL names no directory; write sqlite:DIR"},
		{exitUsage, "", target, "--from: the URL must begin with postgres: or sqlite:"},
		{exitUsage, "sqlite:" + data, "postgres://u:hunter2@h:port/d", "--to: the database URL is not one of PostgreSQL"},
		{exitUsage, "postgres://u:hunter2@h:port/d", target, "--from: the database URL is not one of PostgreSQL"},
		{exitUsage, "sqlite:" + data, "sqlite://" + data + "/.", "--to: the source and the target are the same database"},
		{exitNotFound, "sqlite:" + filepath.Join(dir, "nowhere"), target, "the source has no database"},
		{exitNotFound, empty, target, "the source is no database of donorbook"},
		{exitFailed, "sqlite:" + data, "postgres://u:hunter2@127.0.0.1:1/d", "127.0.0.1"},
		{exitFailed, cluster.URL("nobody_made_this"), target, "nobody_made_this"},
		{exitInvalid, "sqlite:" + data, "sqlite:" + other, "the target is not empty: its table account has rows; nothing was changed"},
	} {
		_, stderr := wantTyped(t, c.code, c.says, "copy", "--from", c.from, "--to", c.to)
		if strings.Contains(stderr, "hunter2") || !strings.HasPrefix(stderr, "donorbook: ") {
			t.Errorf("standard error is %q", stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "nowhere")); !os.IsNotExist(err) {
		t.Errorf("a missing source was made: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "target")); !os.IsNotExist(err) {
		t.Errorf("a target was made: %v", err)
	}
	if after := result(t, "account", "list", "--data", other); after != before {
		t.Errorf("the target that is not empty is changed:\n%s", after)
	}
	for line, says := range map[string]string{
		"copy":                       "missing flags: --from=URL, --to=URL",
		"copy --from sqlite:x":       "missing flags: --to=URL",
		"copy sqlite:x postgres://y": "unexpected argument sqlite:x",
	} {
		wantTyped(t, exitUsage, says, strings.Fields(line)...)
	}
}

// TestACopyThatWasInterruptedCanBeRestarted locks the last table of the target, so that the copy stays in progress for as long as
// needed.
func TestACopyThatWasInterruptedCanBeRestarted(t *testing.T) {
	t.Parallel()
	cluster := cluster(t)
	data, account, _ := copySource(t)
	to := ""
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		to = newDatabase(t, cluster)
		result(t, "account", "list", "--database", to) // creates the tables
		holder := must(pgx.Connect(t.Context(), to))(t)
		if _, err := holder.Exec(t.Context(), "BEGIN; LOCK TABLE account IN EXCLUSIVE MODE"); err != nil { // it can be read
			t.Fatal(err)
		}
		p := launch(t, data, "donorbook", "copy", "--from", "sqlite:"+data, "--to", to)
		p.waitFor("the copy to come to the last table", func() bool { return strings.Contains(p.stderr.String(), "copying account_tally: 1 of 1") })
		p.signal(signal)
		if signal == syscall.SIGTERM {
			p.ended(exitFailed)
			if says := p.stderr.String(); !strings.Contains(says, "donorbook: interrupted\nThe target is not complete") || !strings.Contains(says, "--restart") {
				t.Errorf("standard error is %q", says)
			}
		} else {
			<-p.exited
		}
		succeed(t, holder.Close(t.Context()))
		const says = "a copy into this database is running or was interrupted"
		wantTyped(t, exitInvalid, says, "copy", "--from", "sqlite:"+data, "--to", to)
		wantTyped(t, exitInvalid, says, "copy", "--from", to, "--to", "sqlite:"+t.TempDir())
		wantTyped(t, exitFailed, says, "account", "list", "--database", to)
		wantTyped(t, exitFailed, says, "serve", "--listen", "127.0.0.1:0", "--database", to, "--data", t.TempDir())
	}
	stdout, _ := wantTyped(t, exitOK, "", "copy", "--restart", "--from", "sqlite:"+data, "--to", to)
	if !strings.HasSuffix(stdout, "\nAccounts: 1. Rows and checksums are the same on both sides.\n") {
		t.Errorf("standard output is %q", stdout)
	}
	if list := result(t, "account", "list", "--database", to); !strings.Contains(list, account) {
		t.Errorf("the accounts are\n%s", list)
	}
	wantTyped(t, exitInvalid, "the target is not empty", "copy", "--restart", "--from", "sqlite:"+data, "--to", to)
}

func TestProgressIsOneLineOfATerminalAndManyElsewhere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		terminal bool
		want     string
	}{
		{false, "What is written to the source from now on is not copied.\ncopying contact: 600 of 1000 rows, 60%, 100 rows/s\n" +
			"copying contact: 1000 of 1000 rows, 100%, 125 rows/s\nchecking contact: 0 of 1000 rows, 0%\n"},
		{true, "What is written to the source from now on is not copied.\n\rcopying contact: 200 of 1000 rows, 20%, 100 rows/s\x1b[K" +
			"\rcopying contact: 600 of 1000 rows, 60%, 100 rows/s\x1b[K\rcopying contact: 1000 of 1000 rows, 100%, 125 rows/s\x1b[K\n" +
			"\rchecking contact: 0 of 1000 rows, 0%\x1b[K\n"},
	} {
		var out bytes.Buffer
		at := time.Unix(0, 0)
		w := &watch{t: &terminal{stderr: &out}, intro: "What is written to the source from now on is not copied.", terminal: c.terminal, now: func() time.Time { return at }}
		for _, step := range []struct {
			pass time.Duration
			p    move.CopyProgress
		}{
			{0, move.CopyProgress{Table: "contact", Total: 1000}},
			{2 * time.Second, move.CopyProgress{Table: "contact", Done: 200, Total: 1000}},
			{time.Millisecond, move.CopyProgress{Table: "contact", Done: 201, Total: 1000}},
			{4 * time.Second, move.CopyProgress{Table: "contact", Done: 600, Total: 1000}},
			{2 * time.Second, move.CopyProgress{Table: "contact", Done: 1000, Total: 1000}},
			{0, move.CopyProgress{Table: "contact", Done: 1000, Total: 1000}},
			{0, move.CopyProgress{Checking: true, Table: "contact", Total: 1000}},
			{6 * time.Second, move.CopyProgress{Checking: true, Table: "contact", Total: 1000}},
		} {
			at = at.Add(step.pass)
			w.progress(copyStep(step.p), step.p.Done, step.p.Total)
		}
		w.end()
		if out.String() != c.want {
			t.Errorf("got\n%q, want\n%q", out.String(), c.want)
		}
	}
}

func TestProgressOfABackupIsShownWhereItTakesLong(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	at := time.Unix(0, 0)
	w := &watch{t: &terminal{stderr: &out}, bytes: true, quiet: true, now: func() time.Time { return at }}
	for _, p := range []struct {
		pass        time.Duration
		step        string
		done, total int64
	}{
		{0, "copying the database", 0, 2e6},
		{6 * time.Second, "copying the database", 1e6, 2e6},
		{time.Second, "copying the database", 2e6, 2e6},
		{0, "checking the database", 0, 0},
		{6 * time.Second, "checking the database", 0, 0},
		{0, "writing the backup", 10, 10}, // it ended before it was shown
	} {
		at = at.Add(p.pass)
		w.progress(p.step, p.done, p.total)
	}
	w.end()
	want := "copying the database: 1.0 MB of 2.0 MB, 50%, 166.7 kB/s\ncopying the database: 2.0 MB of 2.0 MB, 100%, 285.7 kB/s\nchecking the database\n"
	if out.String() != want {
		t.Errorf("got\n%s, want\n%s", out.String(), want)
	}
}
