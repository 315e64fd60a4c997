package db

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

const sharingViolation = syscall.Errno(32)

// OpenLocked opens a file, makes it where there is none, and locks it for this process: others may read or remove it,
// but not open it like this. The system releases the lock with the process, however that ends.
func OpenLocked(path string) (*os.File, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	handle, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE,
		syscall.FILE_SHARE_READ|syscall.FILE_SHARE_DELETE, nil,
		syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, sharingViolation) {
		err = ErrLocked
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be locked: %w", path, err)
	}
	return os.NewFile(uintptr(handle), path), nil
}

// SyncDirectory does nothing: Windows cannot flush a directory.
func SyncDirectory(string) error { return nil }

// diskFaults are the system's codes of a disk that cannot be written to, and what they mean: ERROR_HANDLE_DISK_FULL,
// ERROR_DISK_FULL, ERROR_DISK_QUOTA_EXCEEDED and ERROR_WRITE_PROTECT.
var diskFaults = map[syscall.Errno]syscall.Errno{39: syscall.ENOSPC, 112: syscall.ENOSPC, 1295: syscall.EDQUOT,
	19: syscall.EROFS}
