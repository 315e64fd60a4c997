package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"donorbook/internal/backup"
	"donorbook/internal/config"
	"donorbook/internal/crm/doc"
	"donorbook/internal/guard"
	"donorbook/internal/store"
	"donorbook/internal/store/check"
	"donorbook/internal/web"
)

type backupCommand struct {
	File  string `arg:"" help:"File to write, such as donorbook.tar.gz."`
	Force bool   `help:"Replace an existing file."`
	JSON  bool   `help:"Print a JSON object." name:"json"`
}

func (backupCommand) Help() string {
	return `Writes the database and the certificates into one file that only you can read. The backup is a snapshot: the server keeps running and may write during the backup.

	donorbook backup /backups/donorbook.tar.gz
	donorbook restore /backups/donorbook.tar.gz --data another-directory

The file gets its name only when it is complete: the copy of the database was checked, and the file was read back. It is a tar archive, compressed with gzip. The directory needs space for the database and the file. "donorbook serve --backup-dir DIR" makes backups regularly.

For PostgreSQL, use its own tools: pg_dump or pg_basebackup.

Exit codes: 0 written and checked; 1 failed; 2 wrong usage; 3 the file exists and was not changed; 4 there is no database.`
}

func (c *backupCommand) Run(t *terminal) error {
	if err := checkFile(c.File, c.Force); err != nil {
		return err
	}
	return t.withBackup(c.File, c.JSON, func(progress progressFunc) (string, backup.Report, error) {
		report, err := backup.Write(t.ctx, t.storage.Options(), c.File, backup.Options{Replace: c.Force, Progress: progress})
		return fmt.Sprintf("%s: accounts: %d, contacts: %d, %s. Checked.", c.File, report.Accounts, report.Contacts, bytesInWords(report.Bytes)), report, err
	})
}

type restoreCommand struct {
	File         string `arg:"" help:"Backup to restore."`
	AcceptDamage bool   `help:"Restore even if the check finds damaged documents, or derived data that does not match them." name:"accept-damage"`
	JSON         bool   `help:"Print a JSON object." name:"json"`
}

func (restoreCommand) Help() string {
	return `Restores a backup made by "donorbook backup" or "donorbook serve --backup-dir" into the data directory, which must be empty or missing. Before anything is put in place, the whole backup is read, a database of an older release is upgraded, and everything is checked as by "donorbook check". If something is wrong, the directory stays as it was. A database with tables, indexes, triggers or views that Donorbook did not create is refused.

	donorbook restore /backups/donorbook.tar.gz --data new-directory
	donorbook serve --data new-directory

To go back to a backup, first stop the server and move its data directory away. If you have no undamaged backup, --accept-damage restores this one as it is, and "donorbook check --repair" repairs what can be repaired.

Exit codes: 0 restored and checked; 1 failed; 2 wrong usage; 3 the directory is not empty, or the file is not an intact backup, nothing changed; 4 file not found.`
}

func (c *restoreCommand) Run(t *terminal) error {
	if strings.HasPrefix(t.storage.Database, "sqlite:") {
		return &config.Problem{Flag: "database", Reason: "a backup is restored into the data directory only; omit --database"}
	}
	return t.withBackup(c.File, c.JSON, func(progress progressFunc) (string, backup.Report, error) {
		watch := newWatch(t, watch{quiet: true})
		defer watch.end()
		report, err := backup.Restore(t.ctx, c.File, t.storage.Options(), backup.Options{AcceptDamage: c.AcceptDamage, Progress: progress,
			Checking: watch.progress, Found: func(p check.Problem) { fmt.Fprintln(t.stderr, oneLine(p.String())) }})
		if err == nil && len(report.LeftOut) > 0 {
			t.notice("only the database and certificates are restored; left out: " + oneLine(strings.Join(report.LeftOut, ", ")))
		}
		found, next := "Checked.", "serve"
		if report.Problems > 0 {
			found, next = fmt.Sprintf("Problems: %d.", report.Problems), "check --repair"
		}
		return fmt.Sprintf("%s: as of %s: accounts: %d, contacts: %d. %s\nNext: %s",
			t.storage.Data, report.Taken.Format(time.DateTime+" UTC"), report.Accounts, report.Contacts, found, t.command(next)), report, err
	})
}

// withBackup makes or restores a backup, shows its progress, and prints the report as JSON or in words.
func (t *terminal) withBackup(file string, asJSON bool, do func(progressFunc) (string, backup.Report, error)) error {
	if err := t.storage.Check(); err != nil {
		return err
	}
	watch := newWatch(t, watch{bytes: true, quiet: true})
	words, report, err := do(watch.progress)
	watch.end()
	switch {
	case err != nil:
		return backupFailure(err, file)
	case asJSON:
		return t.printJSON(map[string]any{
			"file": file, "bytes": report.Bytes, "taken_at": report.Taken, "schema": report.Schema, "accounts": report.Accounts, "contacts": report.Contacts,
		})
	}
	_, err = fmt.Fprintln(t.stdout, words)
	return err
}

// backupFailure gives an error the type that decides the exit code.
func backupFailure(err error, file string) error {
	var full *backup.NotEmptyError
	var damaged *backup.DamagedError
	switch {
	case errors.Is(err, backup.ErrServer):
		return &config.Problem{Flag: "database", Reason: err.Error()}
	case errors.Is(err, backup.ErrPlace):
		return usageError{err}
	case errors.Is(err, fs.ErrExist):
		return usageError{fmt.Errorf("%s is not a regular file and is not replaced; choose another file", file)}
	case errors.As(err, &full), errors.As(err, &damaged):
		return &doc.Malformed{Message: err.Error()}
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted; nothing was written")
	}
	return err
}

// backups makes backups while the server runs. The existing files tell when the next one is due, so that restarts make no extra
// backups.
type backups struct {
	dir   string
	every time.Duration
	keep  int
	log   *slog.Logger
	now   func() time.Time
	write func(ctx context.Context, file string) (backup.Report, error)

	retry   time.Time // not before, after a failure
	running sync.WaitGroup

	succeeded, failed *atomic.Uint64
	last              atomic.Int64 // when the last one was made, in seconds since 1970
	bytes             atomic.Int64 // of the last one
	took              atomic.Int64 // by the last one, in nanoseconds
}

const (
	// backupName is the name of a backup. Only files with such a name are ever removed.
	backupName  = "donorbook-20060102T150405Z.tar.gz"
	backupLook  = time.Minute // how often to look whether a backup is due: the clock may have been set
	backupRetry = time.Hour   // after a failure, unless backups are more frequent
)

// newBackups checks the settings. It returns nil if no backups are wanted.
func (c *serveCommand) newBackups(o store.Options, metrics *web.Metrics, log *slog.Logger) (*backups, error) {
	if c.BackupDir == "" {
		return nil, nil
	}
	if err := backup.CheckDir(c.BackupDir, o); err != nil {
		return nil, &config.Problem{Flag: "backup-dir", Reason: err.Error()}
	}
	if err := os.MkdirAll(c.BackupDir, 0o700); err != nil {
		return nil, &config.Problem{Flag: "backup-dir", Reason: err.Error()}
	}
	b := &backups{dir: c.BackupDir, every: c.BackupEvery, keep: c.BackupKeep, log: log, now: time.Now}
	b.write = func(ctx context.Context, file string) (backup.Report, error) {
		return backup.Write(ctx, o, file, backup.Options{})
	}
	b.measure(metrics)
	return b, nil
}

func (b *backups) measure(metrics *web.Metrics) {
	counters := metrics.Counters("donorbook_backups_total", "Backups by how they ended.", "outcome", "succeeded", "failed")
	b.succeeded, b.failed = counters[0], counters[1]
	if files, err := b.files(); err == nil && len(files) > 0 {
		newest := files[len(files)-1]
		b.last.Store(max(newest.taken.Unix(), 0))
		if info, err := os.Stat(newest.path); err == nil {
			b.bytes.Store(info.Size())
		}
	}
	metrics.Gauge("donorbook_backup_last_success_timestamp_seconds", "When the last backup was made, in seconds since 1970; 0 if there is none.",
		func() float64 { return float64(b.last.Load()) })
	metrics.Gauge("donorbook_backup_last_size_bytes", "Size of the last backup.", func() float64 { return float64(b.bytes.Load()) })
	metrics.Gauge("donorbook_backup_last_duration_seconds", "How long the last backup took.",
		func() float64 { return time.Duration(b.took.Load()).Seconds() })
}

// start makes backups until the context ends.
func (b *backups) start(ctx context.Context) {
	if b == nil {
		return
	}
	failed := func(err error) { b.log.Error("the backup failed", "error", err) }
	b.running.Go(func() { guard.Keep(ctx, failed, func() { b.work(ctx) }) })
}

func (b *backups) work(ctx context.Context) {
	for ctx.Err() == nil {
		if wait := b.wait(); wait > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(min(wait, backupLook)):
			}
			continue
		}
		b.run(ctx)
	}
}

// end waits for a running backup to give up after the server stopped.
func (b *backups) end() {
	if b != nil {
		b.running.Wait()
	}
}

// wait is the time until the next backup is due.
func (b *backups) wait() time.Duration {
	now, next := b.now(), time.Time{}
	files, err := b.files()
	if err == nil && len(files) > 0 && !files[len(files)-1].taken.IsZero() {
		next = files[len(files)-1].taken.Add(b.every)
	}
	return max(next.Sub(now), b.retry.Sub(now), 0)
}

// run makes a backup and removes old ones. After a failure, the server keeps running.
func (b *backups) run(ctx context.Context) {
	start := b.now()
	file := filepath.Join(b.dir, start.UTC().Format(backupName))
	report, err := b.write(ctx, file)
	switch took := b.now().Sub(start); {
	case err == nil:
		b.succeeded.Add(1)
		b.last.Store(start.Unix())
		b.bytes.Store(report.Bytes)
		b.took.Store(int64(took))
		b.log.Info("backup written", "file", file, "bytes", report.Bytes, "accounts", report.Accounts, "contacts", report.Contacts, "took", took)
		b.removeOld()
	case ctx.Err() != nil:
		b.log.Info("the backup was canceled because the server stops")
	default:
		b.failed.Add(1)
		b.retry = b.now().Add(min(b.every, backupRetry))
		b.log.Error("the backup failed", "file", file, "error", unwrapped(err), "next", b.retry.UTC())
	}
}

// removeOld removes the oldest backups if there are more than to keep.
func (b *backups) removeOld() {
	files, err := b.files()
	var errs []error
	for _, old := range files[:max(len(files)-b.keep, 0)] {
		if err := os.Remove(old.path); err != nil {
			errs = append(errs, err)
			continue
		}
		b.log.Info("old backup removed", "file", old.path)
	}
	if err := errors.Join(append(errs, err)...); err != nil {
		b.log.Warn("old backups cannot be removed", "error", err)
	}
}

// backupFile is an existing backup.
type backupFile struct {
	path  string
	taken time.Time // zero if its name is in the future: it was made while the clock was wrong
}

// files are the existing backups, oldest first. Those of the future come before all others, so that they neither delay the next
// backup nor push out a newer one.
func (b *backups) files() (files []backupFile, err error) {
	entries, err := os.ReadDir(b.dir)
	for _, entry := range entries {
		taken, wrong := time.Parse(backupName, entry.Name())
		if wrong != nil || !entry.Type().IsRegular() {
			continue
		}
		if taken.After(b.now()) {
			taken = time.Time{}
		}
		files = append(files, backupFile{filepath.Join(b.dir, entry.Name()), taken})
	}
	slices.SortStableFunc(files, func(x, y backupFile) int { return x.taken.Compare(y.taken) })
	return files, err
}
