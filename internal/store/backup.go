package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ErrNoBackup: PostgreSQL has its own programs for backups.
var ErrNoBackup = errors.New("the database is in PostgreSQL: back it up and restore it with pg_dump and pg_restore, or with pg_basebackup, " +
	"and copy tls and acme of the data directory (docs/operations.md has the commands)")

// BackupOptions say how a backup is made or restored.
type BackupOptions struct {
	Replace  bool                                 // an existing file
	Progress func(what string, done, total int64) // in bytes; may be nil
}

// BackupReport is what a backup has in it.
type BackupReport struct {
	Contents
	Taken time.Time // the moment that it shows
	Bytes int64     // of the file
}

// Backup writes everything that cannot be derived into one file: the database as it is at one moment, and the other files of
// the data directory. Others may go on writing. The file appears only once it was read again and found right.
func Backup(ctx context.Context, o Options, file string, b BackupOptions) (report BackupReport, err error) {
	dir, err := backupSource(o)
	if err != nil {
		return report, err
	}
	if err := checkBackupPlace(filepath.Dir(file), o.Data, dir); err != nil {
		return report, err
	}
	if info, err := os.Stat(file); err == nil && (info.IsDir() || !b.Replace) {
		return report, &fs.PathError{Op: "backup", Path: file, Err: fs.ErrExist}
	}
	stage, err := newStaging(filepath.Dir(file), ".donorbook-backup-")
	if err != nil {
		return report, err
	}
	defer stage.remove()
	archive := filepath.Join(stage.path, "archive")
	if report, err = pack(ctx, o.Data, dir, stage.path, archive, b); err != nil {
		return report, err
	}
	if err := os.Rename(archive, file); err != nil {
		return report, err
	}
	return report, syncPath(filepath.Dir(file))
}

// pack writes the archive: it copies the database to the staging directory, checks the copy, and reads again what it has written.
func pack(ctx context.Context, data, dir, stage, archive string, b BackupOptions) (report BackupReport, err error) {
	report.Taken = time.Now().UTC().Truncate(time.Second)
	database := filepath.Join(stage, databaseFile)
	if err := copySQLite(ctx, dir, database, b.step("copying the database")); err != nil {
		return report, err
	}
	b.step("checking the database")(0, 0)
	if report.Contents, err = checkSQLite(ctx, database); err != nil {
		return report, err
	}
	if report.Schema >= copyMark {
		return report, ErrUnfinished
	}
	files, err := otherFiles(data)
	if err != nil {
		return report, err
	}
	files = append(files, archived{databaseFile, database})
	sums, err := writeArchive(ctx, archive, manifest{Format: backupFormat, Taken: report.Taken, Schema: report.Schema}, files, b.step("writing the backup"))
	if err != nil {
		return report, err
	}
	if err := compareArchive(ctx, archive, sums, b.step("reading the backup again")); err != nil {
		return report, fmt.Errorf("the backup does not read as it was written: %w", err)
	}
	info, err := os.Stat(archive)
	if err != nil {
		return report, err
	}
	report.Bytes = info.Size()
	return report, nil
}

// Restore puts a backup into a data directory that is empty or missing. Nothing is put in its place before everything was
// read and checked.
func Restore(ctx context.Context, file string, o Options, b BackupOptions) (report BackupReport, err error) {
	if !o.isSQLite() {
		return report, ErrNoBackup
	}
	info, err := os.Stat(file)
	if err != nil {
		return report, err
	}
	report.Bytes = info.Size()
	undo, err := emptyDirectory(o.Data)
	if err != nil {
		return report, err
	}
	defer func() {
		if err != nil {
			undo()
		}
	}()
	stage, err := newStaging(o.Data, restoring)
	if err != nil {
		return report, err
	}
	defer stage.remove()
	m, err := extractArchive(ctx, file, stage.path, b.step("reading the backup"))
	if err != nil {
		return report, fmt.Errorf("%s cannot be restored: %w", file, err)
	}
	b.step("checking the database")(0, 0)
	report.Taken = m.Taken
	report.Contents, err = checkSQLite(ctx, filepath.Join(stage.path, databaseFile))
	if err == nil && report.Schema > len(migrations) {
		err = fmt.Errorf("it has schema version %d, and this program knows versions up to %d: use a newer donorbook", report.Schema, len(migrations))
	}
	switch {
	case ctx.Err() != nil:
		return report, ctx.Err()
	case err != nil:
		return report, fmt.Errorf("%s cannot be restored: %w", file, &DamagedBackupError{err})
	}
	return report, stage.moveInto(o.Data)
}

const restoring = ".donorbook-restore-"

func (b BackupOptions) step(what string) func(done, total int64) {
	return func(done, total int64) {
		if b.Progress != nil {
			b.Progress(what, done, total)
		}
	}
}

func (o Options) isSQLite() bool {
	return o.Database == "" || strings.HasPrefix(o.Database, "sqlite:")
}

// SQLiteDir is the directory of the database; "" where it is in PostgreSQL.
func (o Options) SQLiteDir() string {
	if !o.isSQLite() {
		return ""
	}
	if rest, named := strings.CutPrefix(o.Database, "sqlite:"); named {
		return strings.TrimPrefix(rest, "//")
	}
	return o.Data
}

// backupSource is the directory with the database, which must be there: to open it would make it.
func backupSource(o Options) (string, error) {
	if !o.isSQLite() {
		return "", ErrNoBackup
	}
	_, err := os.Stat(filepath.Join(o.SQLiteDir(), databaseFile))
	return o.SQLiteDir(), err
}

// ErrBackupPlace: a backup in the data directory is lost with it, and would be part of the next one.
var ErrBackupPlace = errors.New("a backup must not be in the data directory: it would be lost together with it")

// CheckBackupDir tells whether backups may be in a directory.
func CheckBackupDir(dir string, o Options) error {
	if !o.isSQLite() {
		return ErrNoBackup
	}
	return checkBackupPlace(dir, o.Data, o.SQLiteDir())
}

func checkBackupPlace(dir string, sources ...string) error {
	for _, source := range sources {
		inside, err := filepath.Rel(realPath(source), realPath(dir))
		if err == nil && filepath.IsLocal(inside) {
			return ErrBackupPlace
		}
	}
	return nil
}

// realPath is the path without links, as far as it exists.
func realPath(path string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(realPath(parent), filepath.Base(path))
	}
	return path
}

// archived is a file and its name in a backup.
type archived struct{ name, path string }

// otherFiles are all files of the data directory but the database and what only a running program needs: its log, its locks, the
// identity of the database file, and files that are being written.
func otherFiles(dir string) (files []archived, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the database is elsewhere, and the certificates, too
	}
	for _, entry := range entries {
		name := entry.Name()
		if err != nil || strings.HasPrefix(name, databaseFile) || strings.HasPrefix(name, identityFile) || strings.HasSuffix(name, ".probe") ||
			strings.HasSuffix(name, ".lock") || name == lostFound {
			continue
		}
		files, err = appendFiles(files, dir, name, maxDepth)
	}
	return files, err
}

const (
	lostFound = "lost+found" // what a new file system has in it
	maxDepth  = 16           // of directories; more are links in a circle
)

// appendFiles appends a file, or those of a directory. It follows links: what counts is what the program finds there.
func appendFiles(files []archived, dir, name string, depth int) ([]archived, error) {
	path := filepath.Join(dir, filepath.FromSlash(name))
	if strings.HasPrefix(filepath.Base(path), ".") {
		return files, nil
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return files, err
	case info.Mode().IsRegular():
		return append(files, archived{name, path}), nil
	case !info.IsDir():
		return files, nil // a socket or the like has no content
	case depth == 0:
		return files, fmt.Errorf("%s is too deep: it may be a link to a directory above it", path)
	}
	entries, err := os.ReadDir(path)
	for _, entry := range entries {
		if err == nil {
			files, err = appendFiles(files, dir, name+"/"+entry.Name(), depth-1)
		}
	}
	return files, err
}

// NotEmptyError is a data directory that a backup cannot be restored into.
type NotEmptyError struct{ Dir, Found string }

func (e *NotEmptyError) Error() string {
	return fmt.Sprintf("%s is not empty (it has %s): restore into another directory with --data, or stop the server and move this one away", e.Dir, e.Found)
}

// emptyDirectory makes a directory, or finds an empty one. undo removes it again where it was made.
func emptyDirectory(dir string) (undo func(), err error) {
	undo = func() {}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		undo = func() { _ = os.Remove(dir) } // its parents may stay
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return undo, err
	}
	_, _ = tightenPath(dir) // where that cannot be done, the next start says so
	sweep(dir, restoring)
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		if entry.Name() != lostFound {
			return undo, &NotEmptyError{dir, entry.Name()}
		}
	}
	return undo, err
}
