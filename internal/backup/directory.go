package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"donorbook/internal/store"
)

// Directories are the data directory and, if it is another one, the directory of the database.
func Directories(o store.Options) []string {
	dirs := slices.Compact([]string{o.Data, source(o).Directory()})
	return slices.DeleteFunc(dirs, func(dir string) bool { return dir == "" })
}

// Tightened is a file that other users of the machine could use until now.
type Tightened struct {
	Path string
	Was  fs.FileMode
}

// Tighten keeps other users of the machine out of a data directory, no matter which mode it was created with: only its owner may
// use the directory and our files in it. Other files are left as they are. It changes what it can, and its error says what the
// operator must do about the rest.
func Tighten(dir string) (changed []Tightened, err error) {
	info, err := os.Stat(dir)
	if !hasModes || errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, nil // it will be created with the right mode, or opening it will fail
	}
	if err != nil {
		return nil, err
	}
	if owner := ownerOf(info); owner != os.Geteuid() {
		err = fmt.Errorf("%s belongs to user %d, and this program runs as user %d: run it as the owner, or give it the directory with chown -R",
			dir, owner, os.Geteuid())
	}
	errs := []error{err}
	tighten := func(path string) {
		was, err := tightenPath(path)
		errs = append(errs, err)
		if was != 0 {
			changed = append(changed, Tightened{path, was})
		}
	}
	entries, err := os.ReadDir(dir)
	errs = append(errs, err)
	if stranger := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return !isOurs(e.Name()) }); stranger < 0 {
		tighten(dir)
	} else if info.Mode().Perm()&0o077 != 0 { // other programs may need the directory
		errs = append(errs, fmt.Errorf("%s is open to other users of this machine (mode %04o), and stays so because it has other files in it, such as %s: run chmod 700, or use a directory that holds only the data",
			dir, info.Mode().Perm(), entries[stranger].Name()))
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		switch name := entry.Name(); {
		case name == "tls" || name == "acme":
			errs = append(errs, filepath.WalkDir(path, func(path string, _ fs.DirEntry, err error) error {
				if err == nil {
					tighten(path)
				}
				return err
			}))
		case strings.HasPrefix(name, "donorbook."):
			tighten(path)
		}
	}
	return changed, errors.Join(errs...)
}

// isOurs tells whether a file in a data directory belongs to this program.
func isOurs(name string) bool {
	return strings.HasPrefix(name, "donorbook") || strings.HasPrefix(name, ".") || name == "tls" || name == "acme" || name == lostFound
}

// tightenPath removes the permissions of others on a file or directory. It returns the mode before, or 0 if nothing had to change.
func tightenPath(path string) (was fs.FileMode, err error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // such as a log that the database has just removed
	}
	if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
		return 0, err // a link has no mode, and its target is not ours
	}
	taken := fs.FileMode(0o177)
	if info.IsDir() {
		taken = 0o077
	}
	was = info.Mode().Perm()
	if was&taken == 0 {
		return 0, nil
	}
	err = os.Chmod(path, info.Mode()&^taken)
	if err == nil {
		if info, err = os.Lstat(path); err == nil && info.Mode().Perm()&taken != 0 {
			err = errors.New("its file system does not store modes")
		}
	}
	if err != nil {
		return 0, fmt.Errorf("%s is open to other users of this machine (mode %04o) and cannot be closed: run chmod -R go= as its owner, or use another directory: %w",
			path, was, err)
	}
	return was, nil
}
