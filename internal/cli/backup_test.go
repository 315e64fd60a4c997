package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/backup"
	"donorbook/internal/rig"
	"donorbook/internal/web"
)

func filesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries := must(os.ReadDir(dir))(t)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// TestAServerBacksItselfUp: the first start makes a backup and the second does not, the log and the metrics report it,
// and a server that starts from the backup has everything, including its certificate.
func TestAServerBacksItselfUp(t *testing.T) {
	t.Parallel()
	data, dir := t.TempDir(), filepath.Join(t.TempDir(), "backups")
	_, key := newKey(t, data)
	first := serve(t, data)
	first.call(key, 201, "POST", "/v1/contacts", `{"first_name":"Ada","last_name":"King"}`)
	first.stop()
	metric := func(p *process, name string) string {
		for line := range strings.Lines(p.scrape()) {
			if value, found := strings.CutPrefix(line, name+" "); found {
				return strings.TrimSpace(value)
			}
		}
		return ""
	}
	p := serve(t, data, "--backup-dir", dir, "--metrics-listen", "127.0.0.1:0")
	p.waitFor("the backup", func() bool { return strings.Contains(p.stderr.String(), "backup written") })
	names := filesIn(t, dir)
	if len(names) != 1 || !strings.Contains(p.stderr.String(), names[0]) {
		t.Fatalf("the directory has %v", names)
	}
	info, err := os.Stat(filepath.Join(dir, names[0]))
	succeed(t, err)
	equal(t, info.Mode().Perm(), 0o600, "%v", info.Mode())
	equal(t, metric(p, `donorbook_backups_total{outcome="succeeded"}`), "1")
	equal(t, metric(p, "donorbook_backup_last_size_bytes"), fmt.Sprint(info.Size()), "the size (%v)", info.Size())
	last := metric(p, "donorbook_backup_last_success_timestamp_seconds")
	if last == "" || last == "0" || metric(p, "donorbook_backup_last_duration_seconds") == "" {
		t.Error("the time of the backup is not among the metrics")
	}
	p.stop()
	again := serve(t, data, "--backup-dir", dir, "--metrics-listen", "127.0.0.1:0")
	equal(t, metric(again, "donorbook_backup_last_success_timestamp_seconds"), last,
		"after a start the last backup")
	again.stop()
	if now := filesIn(t, dir); !slices.Equal(now, names) {
		t.Errorf("a second start made another backup: %v", now)
	}

	from := filepath.Join(t.TempDir(), "new")
	says(t, exitOK, "", "restore", filepath.Join(dir, names[0]), "--data", from)
	back := serve(t, from)
	back.client = p.client // trusts the authority of the server that was backed up
	contains(t, string(back.call(key, 200, "GET", "/v1/contacts", "").body), "King",
		"the restored server answers")
}

// TestARestoreTellsWhatIsWrong: what was changed in a backup is refused and named, unless it is wanted as it is. A
// trigger never is.
func TestARestoreTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	data, dir := t.TempDir(), t.TempDir()
	account, _ := newKey(t, data)
	backedUp := func(name, sql string) string {
		damage(t, data, sql)
		file := filepath.Join(dir, name)
		says(t, exitOK, "", "backup", file, "--data", data)
		return file
	}
	file, target := backedUp("changed", "UPDATE account_tally SET contact_active = 7"), filepath.Join(dir, "new")
	problem := "account " + account + ": "
	_, stderr := says(t, exitInvalid, "or this one as it is with --accept-damage", "restore", file, "--data", target)
	equal(t, strings.HasPrefix(stderr, problem), true)
	if _, err := os.Stat(target); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory was made: %v", err)
	}
	stdout, _ := says(t, exitOK, problem, "restore", file, "--data", target, "--accept-damage")
	contains(t, stdout, "Problems: 1.\nNext: donorbook check --repair --data "+target)
	says(t, exitOK, "", "check", "--repair", "--data", target)
	damage(t, data,
		"UPDATE account_tally SET contact_active = 0; CREATE TRIGGER mine AFTER INSERT ON change BEGIN SELECT 1; END")
	says(t, exitFailed, "the database has the trigger mine, and donorbook makes none", "backup",
		filepath.Join(dir, "another"), "--data", data)
}

func TestAServerWithPostgreSQLTakesNoBackupDirectory(t *testing.T) {
	t.Parallel()
	url := rig.Database(t)
	says(t, exitUsage, "--backup-dir: the database is in PostgreSQL", "serve", "--database", url, "--data", t.TempDir(),
		"--backup-dir", t.TempDir())
}

// testBackups is a schedule with a clock of the test's own, that writes empty files.
func testBackups(t *testing.T, now *time.Time, names ...string) *backups {
	t.Helper()
	b := &backups{
		dir: t.TempDir(), every: 24 * time.Hour, keep: 3, log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		now: func() time.Time { return *now },
		write: func(_ context.Context, file string) (backup.Report, error) {
			return backup.Report{}, os.WriteFile(file, nil, 0o600)
		},
	}
	for _, name := range names {
		succeed(t, os.WriteFile(filepath.Join(b.dir, name), nil, 0o600))
	}
	b.measure(web.NewMetrics("test"))
	return b
}

func TestBackupsFollowFromWhatIsThere(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name  string
		files []string
		wait  time.Duration
		after []string // a backup was made
	}{
		{"nothing", nil, 0, []string{"donorbook-20260131T120000Z.tar.gz"}},
		{"one of this morning", []string{"donorbook-20260131T060000Z.tar.gz"}, 18 * time.Hour,
			[]string{"donorbook-20260131T060000Z.tar.gz", "donorbook-20260131T120000Z.tar.gz"}},
		{"too many, and files of others", []string{"donorbook-20260101T000000Z.tar.gz",
			"donorbook-20260102T000000Z.tar.gz", "donorbook-20260103T000000Z.tar.gz",
			"donorbook-20260104T000000Z.tar.gz", "donorbook-20260101T000000Z.tar.gz.old", "donorbook-mine.tar.gz",
			"a.tar.gz"}, 0,
			[]string{"a.tar.gz", "donorbook-20260101T000000Z.tar.gz.old", "donorbook-20260103T000000Z.tar.gz",
				"donorbook-20260104T000000Z.tar.gz",
				"donorbook-20260131T120000Z.tar.gz", "donorbook-mine.tar.gz"}},
		{"those of a clock that was ahead", []string{"donorbook-20300101T000000Z.tar.gz",
			"donorbook-20300102T000000Z.tar.gz", "donorbook-20260130T000000Z.tar.gz"}, 0,
			[]string{"donorbook-20260130T000000Z.tar.gz", "donorbook-20260131T120000Z.tar.gz",
				"donorbook-20300102T000000Z.tar.gz"}},
	} {
		b := testBackups(t, &now, test.files...)
		equal(t, b.wait(), test.wait, "%s: the next one is due", test.name)
		b.run(t.Context())
		if got := filesIn(t, b.dir); !slices.Equal(got, test.after) {
			t.Errorf("%s: there is now %v, want %v", test.name, got, test.after)
		}
		equal(t, b.wait(), 24*time.Hour, "%s: after a backup the next one is due", test.name)
	}
}

func TestABackupThatFailsIsTriedAgainLater(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	b := testBackups(t, &now)
	works := b.write
	b.write = func(context.Context, string) (backup.Report, error) {
		return backup.Report{}, errors.New("no space left on device")
	}
	b.run(t.Context())
	equal(t, b.failed.Load(), 1)
	equal(t, b.succeeded.Load(), 0)
	equal(t, b.wait(), backupRetry)
	b.write, now = works, now.Add(backupRetry)
	equal(t, b.wait(), 0, "an hour later, the next one is due")
	b.run(t.Context())
	equal(t, b.succeeded.Load(), 1)
	equal(t, b.wait(), b.every)
	equal(t, b.last.Load(), now.Unix())
}
