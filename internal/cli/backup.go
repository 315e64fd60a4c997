package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"donorbook/internal/backup"
	"donorbook/internal/config"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store/check"
)

type backupCommand struct {
	File  string `arg:"" help:"File to write, such as donorbook.tar.gz."`
	Force bool   `help:"Replace an existing file."`
	JSON  bool   `help:"Print a JSON object." name:"json"`
}

func (backupCommand) Help() string {
	return `Writes the database and the certificates into one file that only you can read. The backup is a snapshot: the server keeps running, and may write while the backup is made.

	donorbook backup /backups/donorbook.tar.gz
	donorbook restore /backups/donorbook.tar.gz --data another-directory

The file gets its name only when it is complete: the copy of the database was checked, and the file was read back. It is a tar archive, compressed with gzip. The directory needs room for the database and the file. "donorbook serve --backup-dir DIR" makes backups regularly.

For PostgreSQL, use its own tools: pg_dump or pg_basebackup.

Exit codes: 0 written and checked; 1 failed; 2 wrong usage; 3 the file exists and was not changed; 4 there is no database.`
}

func (c *backupCommand) Run(t *terminal) error {
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
	return `Restores a backup of "donorbook backup" or "donorbook serve --backup-dir" into the data directory, which must be empty or missing. The whole backup is read, a database of an older donorbook is upgraded, and everything is checked as "donorbook check" does it before anything is put in place. If something is wrong, the directory stays as it was. A database that has tables, indexes, triggers or views that donorbook does not make is refused.

	donorbook restore /backups/donorbook.tar.gz --data new-directory
	donorbook serve --data new-directory

To return to a backup, first stop the server and move its data directory away. If there is no backup without damage, --accept-damage restores this one as it is, and "donorbook check --repair" repairs what can be repaired.

Exit codes: 0 restored and checked; 1 failed; 2 wrong usage; 3 the directory is not empty, or the file is not an intact backup, nothing changed; 4 file not found.`
}

func (c *restoreCommand) Run(t *terminal) error {
	if strings.HasPrefix(t.storage.Database, "sqlite:") {
		return &config.Problem{Flag: "database", Reason: "a backup is restored into the data directory only; leave --database out"}
	}
	return t.withBackup(c.File, c.JSON, func(progress progressFunc) (string, backup.Report, error) {
		watch := newWatch(t, watch{quiet: true})
		defer watch.end()
		report, err := backup.Restore(t.ctx, c.File, t.storage.Options(), backup.Options{AcceptDamage: c.AcceptDamage, Progress: progress,
			Checking: watch.progress, Found: func(p check.Problem) { fmt.Fprintln(t.stderr, oneLine(p.String())) }})
		if err == nil && len(report.LeftOut) > 0 {
			t.notice("not restored, because only the database and the certificates are: " + oneLine(strings.Join(report.LeftOut, ", ")))
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
		switch info, statErr := os.Lstat(file); {
		case statErr == nil && info.IsDir():
			return usageError{fmt.Errorf("%s is a directory: name a file in it", file)}
		case statErr == nil && !info.Mode().IsRegular():
			return usageError{fmt.Errorf("%s is not a regular file, and is not replaced: name another file", file)}
		}
		return &doc.Malformed{Message: file + " exists already: name another file, or replace it with --force"}
	case errors.As(err, &full), errors.As(err, &damaged):
		return &doc.Malformed{Message: err.Error()}
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted; nothing was written")
	}
	return err
}
