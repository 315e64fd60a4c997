package backup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"donorbook/internal/db"
)

// staging is a directory for files that are not finished. It is locked while the process that made it lives, so that the next
// one finds and removes what a killed process has left.
type staging struct {
	root string
	path string // where the files go
	lock *os.File
}

func newStaging(dir, prefix string) (s *staging, err error) {
	sweep(dir, prefix)
	for range 10 { // the sweep of another may come between the two steps, but not always
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
	_ = os.RemoveAll(s.root)
	_ = s.lock.Close()
}

// sweep removes what killed processes have left.
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

// lockStaging locks a staging directory and gets it ready. Its file, and not the directory, is locked: network file systems lock
// only what can be written to.
func lockStaging(root string) (*staging, error) {
	lock, files := filepath.Join(root, "lock"), filepath.Join(root, "files")
	f, err := os.OpenFile(lock, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
		_, err = os.Stat(lock) // the process that held the lock may have removed it
	}
	if err == nil {
		err = os.MkdirAll(files, 0o700)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &staging{root, files, f}, nil
}

// moveInto puts everything into the directory around it, the database last: without it, no program takes the
// directory for complete.
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
