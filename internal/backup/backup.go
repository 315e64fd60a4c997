// Package backup takes care of the files of a data directory: it backs them up into one file while servers write, restores them, and
// keeps other users of the machine out of them.
package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/store/check"
)

var (
	// ErrServer says that PostgreSQL has its own programs for backups.
	ErrServer = errors.New("the database is in PostgreSQL: back it up and restore it with pg_dump and pg_restore, or with pg_basebackup, " +
		"and copy tls and acme from the data directory (docs/operations.md has the commands)")

	// ErrPlace refuses a backup in the data directory: it would be lost with it, and become part of the next one.
	ErrPlace = errors.New("a backup must not be in the data directory: it would be lost together with the data")
)

// Options say how to make or restore a backup.
type Options struct {
	Replace  bool        // replace an existing file
	Progress db.Progress // in bytes; may be nil

	AcceptDamage bool                // restore what the check finds fault with
	Checking     db.Progress         // of the check of what is restored, in rows; may be nil
	Found        func(check.Problem) // gets what the check finds; may be nil
}

// Report says what a backup contains.
type Report struct {
	store.Contents
	Taken    time.Time // the time of the snapshot
	Bytes    int64     // of the file
	LeftOut  []string  // files that were not restored: they are not ours, and backups of older programs took them
	Problems int64     // that the check has found in what was restored
}

// Write writes a snapshot of the database and the certificates into one file. Servers may keep writing. The
// file gets its name only after it was read back and found correct.
func Write(ctx context.Context, o store.Options, file string, b Options) (report Report, err error) {
	dir := filepath.Dir(file)
	if err := CheckDir(dir, o); err != nil {
		return report, err
	}
	if _, err := os.Stat(source(o).File()); err != nil { // opening it would create it
		return report, err
	}
	if info, err := os.Lstat(file); err == nil && (!info.Mode().IsRegular() || !b.Replace) { // a link or a device is not ours to replace
		return report, &fs.PathError{Op: "backup", Path: file, Err: fs.ErrExist}
	}
	stage, err := newStaging(dir, ".donorbook-backup-")
	if err != nil {
		return report, err
	}
	defer stage.remove()
	archive := filepath.Join(stage.path, "archive")
	if report, err = pack(ctx, o, stage.path, archive, b); err != nil {
		return report, err
	}
	if err := os.Rename(archive, file); err != nil {
		return report, err
	}
	return report, db.SyncDirectory(dir)
}

// pack copies the database to the staging directory, checks the copy, writes the archive and reads it back.
func pack(ctx context.Context, o store.Options, stage, archive string, b Options) (report Report, err error) {
	report.Taken = time.Now().UTC().Truncate(time.Second)
	database, about := filepath.Join(stage, db.DatabaseFile), filepath.Join(stage, manifestFile)
	if err := db.CopyFile(ctx, source(o).Directory(), database, b.step("copying the database")); err != nil {
		return report, err
	}
	b.step("checking the database")(0, 0)
	if report.Contents, err = store.ContentsOf(ctx, database); err != nil {
		return report, err
	}
	text, err := json.Marshal(manifest{format, report.Taken, report.Schema})
	if err == nil {
		err = os.WriteFile(about, text, 0o600)
	}
	if err != nil {
		return report, err
	}
	files, err := certificates(o.Data)
	if err != nil {
		return report, err
	}
	files = slices.Concat([]archived{{manifestFile, about}}, files, []archived{{db.DatabaseFile, database}})
	sum, err := writeArchive(ctx, archive, files, b.step("writing the backup"))
	if err != nil {
		return report, err
	}
	if err := compareArchive(ctx, archive, sum, b.step("reading the backup back")); err != nil {
		return report, fmt.Errorf("the backup does not read back as it was written: %w", err)
	}
	report.Bytes, err = size(archive)
	return report, err
}

// Restore restores a backup into a data directory that is empty or missing. Nothing is put in place before everything was
// read and checked as "donorbook check" does it.
func Restore(ctx context.Context, file string, o store.Options, b Options) (report Report, err error) {
	if source(o).File() == "" {
		return report, ErrServer
	}
	bytes, err := size(file)
	if err != nil {
		return report, err
	}
	made, err := emptyDirectory(o.Data)
	defer func() {
		if made && err != nil {
			_ = os.Remove(o.Data) // its parents may stay
		}
	}()
	if err != nil {
		return report, err
	}
	stage, err := newStaging(o.Data, restoring)
	if err != nil {
		return report, err
	}
	defer stage.remove()
	if report, err = unpack(ctx, file, stage.path, b); err != nil {
		return report, fmt.Errorf("%s cannot be restored: %w", file, err)
	}
	report.Bytes = bytes
	return report, stage.moveInto(o.Data)
}

// unpack writes the files of an archive to the staging directory and checks the database.
func unpack(ctx context.Context, archive, stage string, b Options) (report Report, err error) {
	m, leftOut, err := extractArchive(ctx, archive, stage, b.step("reading the backup"))
	if err != nil {
		return report, err
	}
	b.step("checking the database")(0, 0)
	report.Taken, report.LeftOut = m.Taken, leftOut
	report.Contents, err = store.ContentsOf(ctx, filepath.Join(stage, db.DatabaseFile))
	if err != nil && ctx.Err() == nil {
		err = &DamagedError{err}
	}
	if err == nil {
		report.Problems, err = b.check(ctx, stage)
	}
	return report, err
}

// check opens the database that was unpacked, which upgrades an older one, and compares everything in it that is kept twice.
func (b Options) check(ctx context.Context, dir string) (problems int64, err error) {
	s, err := book.Open(ctx, store.Options{Data: dir, Progress: b.rows("upgrading the database: ")})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	var first check.Problem
	report, err := s.Check(ctx, check.CheckOptions{Progress: b.rows("checking "), Found: func(p check.Problem) {
		if first.What == "" {
			first = p
		}
		if b.Found != nil {
			b.Found(p)
		}
	}})
	if err == nil && report.Problems > 0 && !b.AcceptDamage {
		err = &DamagedError{fmt.Errorf("the check finds problems in it: %d, first %q: restore another backup, or this one as it is with --accept-damage", report.Problems, first)}
	}
	return report.Problems, err
}

func (b Options) rows(task string) db.Progress {
	return func(what string, done, total int64) {
		if b.Checking != nil {
			b.Checking(task+what, done, total)
		}
	}
}

const restoring = ".donorbook-restore-"

func (b Options) step(what string) progress {
	return func(done, total int64) {
		if b.Progress != nil {
			b.Progress(what, done, total)
		}
	}
}

// source is the place of the database.
func source(o store.Options) db.Options { return db.Options{Dir: o.Data, URL: o.Database} }

func size(file string) (int64, error) {
	info, err := os.Stat(file)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// CheckDir refuses a directory that cannot hold backups.
func CheckDir(dir string, o store.Options) error {
	if source(o).File() == "" {
		return ErrServer
	}
	for _, data := range Directories(o) {
		inside, err := filepath.Rel(realPath(data), realPath(dir))
		if err == nil && filepath.IsLocal(inside) {
			return ErrPlace
		}
	}
	return nil
}

// realPath resolves links as far as the path exists.
func realPath(path string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	real, err := filepath.EvalSymlinks(path)
	if parent := filepath.Dir(path); err != nil && parent != path {
		return filepath.Join(realPath(parent), filepath.Base(path))
	}
	return real
}

const (
	lostFound = "lost+found" // in every new file system
	maxDepth  = 16           // of directories; deeper ones are a loop of links
)

// certificateDirs are what a backup has besides the database.
var certificateDirs = []string{"acme", "tls"}

// isTaken tells whether a backup has a file of this name. Files of others in a data directory, such as logs, may change while they are read.
func isTaken(name string) bool {
	dir, _, inside := strings.Cut(name, "/")
	return name == db.DatabaseFile || inside && slices.Contains(certificateDirs, dir) && !isHidden(name)
}

// isHidden tells whether a file, or a directory on the way to it, is one that is being written.
func isHidden(name string) bool { return strings.HasPrefix(name, ".") || strings.Contains(name, "/.") }

// certificates are the files of a data directory that a backup has besides the database.
func certificates(data string) (files []archived, err error) {
	for _, dir := range certificateDirs {
		found, err := filesBelow(data, dir, maxDepth)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		files = append(files, found...)
	}
	return files, nil
}

// filesBelow are the files of a directory, but for those that are being written. It follows links, as the program does.
func filesBelow(data, dir string, depth int) (files []archived, err error) {
	entries, err := os.ReadDir(filepath.Join(data, dir))
	for _, entry := range entries {
		name := path.Join(dir, entry.Name())
		if !isTaken(name) {
			continue
		}
		file := filepath.Join(data, name)
		info, err := os.Stat(file)
		switch {
		case err != nil:
			return nil, err
		case info.Mode().IsRegular():
			files = append(files, archived{name, file})
		case info.IsDir() && depth == 0:
			return nil, fmt.Errorf("%s is nested too deeply: look for a link to a directory above it", file)
		case info.IsDir(): // a socket or the like has no content
			more, err := filesBelow(data, name, depth-1)
			if err != nil {
				return nil, err
			}
			files = append(files, more...)
		}
	}
	return files, err
}

// NotEmptyError refuses to restore into a directory with files in it.
type NotEmptyError struct{ Dir, Found string }

func (e *NotEmptyError) Error() string {
	return fmt.Sprintf("%s is not empty (it has %s): restore into another directory with --data, or stop the server and move this one away", e.Dir, e.Found)
}

// emptyDirectory creates a directory, or accepts an empty one.
func emptyDirectory(dir string) (made bool, err error) {
	_, err = os.Stat(dir)
	made = errors.Is(err, fs.ErrNotExist)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return made, err
	}
	_, _ = tightenPath(dir) // if that fails, the next start says so
	sweep(dir, restoring)
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		if entry.Name() != lostFound {
			return made, &NotEmptyError{dir, entry.Name()}
		}
	}
	return made, err
}
