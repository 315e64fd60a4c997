package backup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"donorbook/internal/db"
)

// staging is a directory for unfinished files. It is locked while its process is alive, so that the next process can find and
// remove what a killed one left.
type staging struct {
	root string
	path string // of the files
	lock *os.File
}

func newStaging(dir, prefix string) (s *staging, err error) {
	sweep(dir, prefix)
	for range 10 { // another process may sweep between the two steps, but not always
		root, made := os.MkdirTemp(dir, prefix+"*") // mode 0700
		if made != nil {
			return nil, made
		}
		if s, err = lockStaging(root); err == nil {
			return s, nil
		}
		_ = os.RemoveAll(root)
	}
	return nil, err
}

func (s *staging) remove() {
	_ = os.RemoveAll(s.root) // while it is locked, or another process could lock what is left
	_ = s.lock.Close()
	_ = os.RemoveAll(s.root) // Windows may keep an open file until it is closed
}

// sweep removes what killed processes left.
func sweep(dir, prefix string) {
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		if !entry.IsDir() || !strings.HasPrefix(entry.Name(), prefix) {
			continue
		}
		if s, err := lockStaging(filepath.Join(dir, entry.Name())); err == nil {
			s.remove()
		}
	}
}

// lockStaging locks and prepares a staging directory. It locks a file, not the directory: network file systems lock only what can
// be written to.
func lockStaging(root string) (*staging, error) {
	lock, files := filepath.Join(root, "lock"), filepath.Join(root, "files")
	f, err := db.OpenLocked(lock)
	if err != nil {
		return nil, err
	}
	_, err = os.Stat(lock) // the process that held the lock may have removed it
	if err == nil {
		err = os.MkdirAll(files, 0o700)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &staging{root, files, f}, nil
}

// moveInto moves everything into the data directory, the database last: without it, no program considers the
// directory complete.
func (s *staging) moveInto(dir string) error {
	err := filepath.WalkDir(s.path, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			err = db.SyncDirectory(path)
		}
		return err
	})
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(s.path)
	for _, last := range []bool{false, true} {
		for _, entry := range entries {
			if err == nil && last == (entry.Name() == db.DatabaseFile) {
				err = os.Rename(filepath.Join(s.path, entry.Name()), filepath.Join(dir, entry.Name()))
			}
		}
	}
	if err != nil {
		return err
	}
	return db.SyncDirectory(dir)
}
