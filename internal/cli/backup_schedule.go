package cli

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"donorbook/internal/backup"
	"donorbook/internal/config"
	"donorbook/internal/store"
	"donorbook/internal/web"
)

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
	b.running.Go(func() {
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
	})
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
