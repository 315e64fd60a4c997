//go:build unix

package backup

import (
	"io/fs"
	"syscall"
)

// hasModes says that a file tells by its mode who may use it.
const hasModes = true

// ownerOf is the user that a file belongs to.
func ownerOf(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }

// MakeFilesPrivate makes sure that only the owner may read what this process writes from now on.
func MakeFilesPrivate() { syscall.Umask(0o077) }
