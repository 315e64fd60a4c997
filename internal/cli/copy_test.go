package cli

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"donorbook/internal/rig"
	"donorbook/internal/rig/drill"
	"donorbook/internal/rig/rows"
	"donorbook/internal/store/move"
)

// copySource is a data directory with an account, a key and some contacts.
func copySource(t *testing.T) (data, account, key string) {
	t.Helper()
	data = t.TempDir()
	account, key = newKey(t, data)
	p := serve(t, data)
	for i := range 5 {
		p.create(key,
			fmt.Sprintf(`{"first_name":"Zoë %d","last_name":"K","emails":[{"value":"z%d@example.org"}],"tags":["日本"]}`,
				i, i))
	}
	p.stop()
	return data, account, key
}

// place is the URL of an empty database.
func (e engine) place(t *testing.T) string {
	t.Helper()
	if e == sqlite {
		return "sqlite:" + filepath.Join(t.TempDir(), "new")
	}
	return rig.Database(t)
}

// TestACopyMovesAService: to another database and back, while the source goes on.
func TestACopyMovesAService(t *testing.T) { eachEngine(t, copyMovesAService) }

func copyMovesAService(t *testing.T, e engine) {
	data, account, key := copySource(t)
	there, back := e.place(t), filepath.Join(t.TempDir(), "new")
	source := serve(t, data) // it may continue
	want := source.call(key, 200, "GET", "/v1/contacts?per_page=3", "").body
	stdout, stderr := says(t, exitOK, "What is written to the source from now on is not copied.\n", "copy", "--from",
		"sqlite:"+data, "--to", there)
	for _, line := range []string{
		"TABLE               ROWS\ncontact             5\n",
		"\naccount             1\nAccounts: 1. Rows and checksums are the same on both sides.\n",
	} {
		contains(t, stdout, line, "standard output lacks")
	}
	for _, line := range []string{
		"copying contact: 5 of 5 rows, 100%", "copying campaign: 0 of 0 rows, 100%",
		"checking account: 1 of 1 rows, 100%",
	} {
		equal(t, strings.Count(stderr, line), 1, "standard error does not say once %q:\n%s", line, stderr)
	}
	source.create(key, `{"first_name":"Late","last_name":"K"}`)

	report := decode[struct {
		Tables   []move.TableCount
		Accounts []move.AccountSum
	}](t, []byte(result(t, "copy", "--from", there, "--to", "sqlite:"+back, "--json")))
	lines := strings.Count(stdout, "\n") - 2
	if len(report.Tables) != lines || len(report.Accounts) != 1 || report.Accounts[0].ID != account ||
		len(report.Accounts[0].SHA256) != 64 {
		t.Errorf("%d lines were printed, and the report is %+v", lines, report)
	}
	for _, p := range []*process{serve(t, t.TempDir(), "--database", there), serve(t, back)} {
		got := p.call(key, 200, "GET", "/v1/contacts?per_page=3", "").body
		if got = bytes.ReplaceAll(got, []byte(p.url), []byte(source.url)); !bytes.Equal(got, want) {
			t.Errorf("the copy answers\n%s\nwant\n%s", got, want)
		}
		equal(t, p.create(key, `{"first_name":"Next","last_name":"K"}`), 6, "the next contact has the id")
	}
}

func TestACopyTellsWhatIsWrongWithItsDatabases(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine) {
		data, dir, other := t.TempDir(), t.TempDir(), t.TempDir()
		for _, made := range []string{data, other} {
			result(t, "account", "create", "--data", made, "--name", "Harbor Light")
		}
		before := result(t, "account", "list", "--data", other)
		source, target := "sqlite:"+data, "sqlite:"+filepath.Join(dir, "target")
		type refusal struct {
			code           int
			from, to, says string
		}
		refusals := []refusal{
			{exitUsage, "mysql://h/d", target, "--from: the URL must begin with postgres: or sqlite:"},
			{exitUsage, "sqlite:", target, "--from: the URL names no directory; write sqlite:DIR"},
			{exitUsage, source, "sqlite://", "--to: the URL names no directory; write sqlite:DIR"},
			{exitUsage, source, "postgres://u:hunter2@h:port/d", "--to: the database URL is not one of PostgreSQL"},
			{exitUsage, "postgres://u:hunter2@h:port/d", target, "--from: the database URL is not one of PostgreSQL"},
			{exitUsage, source, "sqlite://" + data + "/.", "--to: the source and the target are the same database"},
			{exitNotFound, "sqlite:" + filepath.Join(dir, "nowhere"), target, "the source has no database"},
			{exitFailed, source, "postgres://u:hunter2@127.0.0.1:1/d", "127.0.0.1"},
			{exitInvalid, source, "sqlite:" + other,
				"the target is not empty: its table account has rows; nothing was changed"},
		}
		if e == postgres {
			refusals = append(refusals, refusal{exitNotFound, e.place(t), target,
				"the source is no database of donorbook"},
				refusal{exitFailed, rig.Cluster(t).URL("nobody_made_this"), target, "nobody_made_this"})
		}
		for _, c := range refusals {
			_, stderr := says(t, c.code, c.says, "copy", "--from", c.from, "--to", c.to)
			if strings.Contains(stderr, "hunter2") || !strings.HasPrefix(stderr, "donorbook: ") {
				t.Errorf("standard error is %q", stderr)
			}
		}
		if made := filesIn(t, dir); len(made) > 0 {
			t.Errorf("%v were made", made)
		}
		equal(t, result(t, "account", "list", "--data", other), before, "the target that is not empty is changed")
	})
}

// stopper is standard error; it calls a function when a text is written.
type stopper struct {
	output
	at   string
	stop func()
}

func (s *stopper) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(s.at)) {
		s.stop()
	}
	return s.output.Write(b)
}

func TestACopyThatWasInterruptedCanBeRestarted(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine) {
		data, account, _ := copySource(t)
		to := e.place(t)
		refused := func() {
			t.Helper()
			const running = "a copy into this database is running or was interrupted"
			says(t, exitInvalid, running, "copy", "--from", "sqlite:"+data, "--to", to)
			says(t, exitInvalid, running, "copy", "--from", to, "--to", "sqlite:"+t.TempDir())
			says(t, exitFailed, running, "account", "list", "--database", to)
			says(t, exitFailed, running, "serve", "--listen", "127.0.0.1:0", "--database", to, "--data", t.TempDir())
		}
		ctx, stop := context.WithCancel(t.Context())
		stderr := &stopper{at: "copying account_tally", stop: stop}
		code := run(ctx, []string{"copy", "--from", "sqlite:" + data, "--to", to}, nil, stderr, stderr)
		said := stderr.String()
		equal(t, code, exitFailed, "exit code")
		contains(t, said, "donorbook: interrupted\nThe target is not complete", "exit code")
		contains(t, said, "--restart", "exit code")
		refused()
		// the last table of the target is locked, so that the copy is under way for as long as needed
		if drill.On && e == postgres {
			to = e.place(t)
			result(t, "account", "list", "--database", to) // creates the tables
			holder := must(pgx.Connect(t.Context(), to))(t)
			must(holder.Exec(t.Context(), "BEGIN; LOCK TABLE account IN EXCLUSIVE MODE"))(t) // it can be read
			p := launch(t, data, "donorbook", "copy", "--from", "sqlite:"+data, "--to", to)
			p.waitFor("the copy to come to the last table", func() bool {
				return strings.Contains(p.stderr.String(),
					"copying account_tally: 1 of 1")
			})
			p.signal(syscall.SIGKILL)
			p.ended(-1)
			succeed(t, holder.Close(t.Context()))
			refused()
		}
		stdout := result(t, "copy", "--restart", "--from", "sqlite:"+data, "--to", to)
		if !strings.HasSuffix(stdout, "\nAccounts: 1. Rows and checksums are the same on both sides.") {
			t.Errorf("standard output is %q", stdout)
		}
		contains(t, result(t, "account", "list", "--database", to), account, "the accounts")
		says(t, exitInvalid, "the target is not empty", "copy", "--restart", "--from", "sqlite:"+data, "--to", to)
	})
}

func TestProgressIsShownWhereItTakesLong(t *testing.T) {
	t.Parallel()
	type step struct {
		Pass        time.Duration // in milliseconds
		Step        string
		Done, Total int64
	}
	const intro = "What is written to the source from now on is not copied."
	copied := rows.Of[step](`
		0     copying contact   0     1000
		2000  copying contact   200   1000
		1     copying contact   201   1000
		4000  copying contact   600   1000
		2000  copying contact   1000  1000
		0     copying contact   1000  1000
		0     checking contact  0     1000
		6000  checking contact  0     1000
	`)
	backedUp := rows.Of[step](`
		0     copying the database   0        2000000
		6000  copying the database   1000000  2000000
		1000  copying the database   2000000  2000000
		0     checking the database  0        0
		6000  checking the database  0        0
		0     writing the backup     10       10       // it ended before it was shown
	`)
	for _, c := range []struct {
		name  string
		watch watch
		steps []step
		want  string
	}{
		{"a terminal has one line", watch{intro: intro, terminal: true}, copied,
			intro + "\n\rcopying contact: 200 of 1000 rows, 20%, 100 rows/s\x1b[K" +
				"\rcopying contact: 600 of 1000 rows, 60%, 100 rows/s\x1b[K\rcopying contact: 1000 of 1000 rows, 100%, 125 rows/s\x1b[K\n" +
				"\rchecking contact: 0 of 1000 rows, 0%\x1b[K\n"},
		{"a file has many", watch{intro: intro}, copied, intro +
			"\ncopying contact: 600 of 1000 rows, 60%, 100 rows/s\n" +
			"copying contact: 1000 of 1000 rows, 100%, 125 rows/s\nchecking contact: 0 of 1000 rows, 0%\n"},
		{"a backup counts bytes", watch{bytes: true, quiet: true}, backedUp,
			"copying the database: 1.0 MB of 2.0 MB, 50%, 166.7 kB/s\n" +
				"copying the database: 2.0 MB of 2.0 MB, 100%, 285.7 kB/s\nchecking the database\n"},
	} {
		var out bytes.Buffer
		at := time.Unix(0, 0)
		w := &c.watch
		w.t, w.now = &terminal{stderr: &out}, func() time.Time { return at }
		for _, s := range c.steps {
			at = at.Add(s.Pass * time.Millisecond)
			w.progress(s.Step, s.Done, s.Total)
		}
		w.end()
		equal(t, out.String(), c.want, "%s", c.name)
	}
}
