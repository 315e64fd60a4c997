package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// staging is a directory for files that are not finished. It is locked while the process that made it lives, so that the next
// one finds and removes what a killed process has left.
type staging struct {
	root string
	path string // where the files go
	lock *os.File
}

func newStaging(dir, prefix string) (*staging, error) {
	sweep(dir, prefix)
	for attempt := 1; ; attempt++ {
		root, err := os.MkdirTemp(dir, prefix+"*") // mode 0700
		if err != nil {
			return nil, err
		}
		s, err := lockStaging(root)
		if err == nil {
			if err = os.Mkdir(s.path, 0o700); err != nil {
				s.remove()
				return nil, err
			}
			return s, nil
		}
		_ = os.RemoveAll(root)
		if attempt == 10 { // the sweeps of others may come between the two steps, but not always
			return nil, err
		}
	}
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

// lockStaging locks a staging directory. Its file, and not the directory, is locked: network file systems lock only what can
// be written to.
func lockStaging(root string) (*staging, error) {
	path := filepath.Join(root, "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
		_, err = os.Stat(path) // the process that held the lock may have removed it
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &staging{root, filepath.Join(root, "files"), f}, nil
}

// moveInto puts everything into the directory around it, the database last: without it, no program takes the
// directory for complete.
func (s *staging) moveInto(dir string) error {
	err := filepath.WalkDir(s.path, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			err = syncPath(path)
		}
		return err
	})
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(s.path)
	if err != nil {
		return err
	}
	names := []string{}
	for _, entry := range entries {
		if entry.Name() != databaseFile {
			names = append(names, entry.Name())
		}
	}
	for _, name := range append(names, databaseFile) {
		if err := os.Rename(filepath.Join(s.path, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return syncPath(dir)
}

// syncPath makes a file, or the names in a directory, last.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
