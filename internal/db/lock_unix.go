//go:build unix

package db

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// OpenLocked opens a file, makes it where there is none, and locks it for this process. The system releases the lock
// with the process, however that ends.
func OpenLocked(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
		return file, nil
	}
	file.Close() //nolint:errcheck // nothing was written
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrLocked
	}
	return nil, fmt.Errorf("%s cannot be locked: %w", path, err)
}

// SyncDirectory makes the names in a directory last.
func SyncDirectory(dir string) error {
	file, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// diskFaults are the system's codes of a disk that cannot be written to, and what they mean.
var diskFaults = map[syscall.Errno]syscall.Errno{syscall.ENOSPC: syscall.ENOSPC, syscall.EDQUOT: syscall.EDQUOT,
	syscall.EROFS: syscall.EROFS}
