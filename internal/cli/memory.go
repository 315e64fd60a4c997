package cli

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime/debug"
	"strings"
)

// collectAt is the GOGC of the program: a few megabytes are in use, which Go's default of 100 would collect many times per second under load.
const collectAt = 300

// boundMemory sets how much memory the program takes before garbage is collected, unless GOGC and GOMEMLIMIT are set.
func boundMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
	if limit := memoryLimit(os.DirFS("/")); limit > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
}

// memoryLimit is three quarters of the memory of the machine or of the process's control group (version 2): the rest is for the
// database's caches and the system. It is 0 if the system does not tell how much there is.
func memoryLimit(root fs.FS) int64 {
	least := number(root, "proc/meminfo", "MemTotal: %d kB") << 10
	own, _ := fs.ReadFile(root, "proc/self/cgroup")
	_, group, _ := strings.Cut(strings.TrimSpace(string(own)), "0::/") // as in 0::/system.slice/donorbook.service
	for ; ; group = path.Dir(group) {
		limit := number(root, path.Join("sys/fs/cgroup", group, "memory.max"), "%d") // "max" is no number
		if limit > 0 && (least == 0 || limit < least) {
			least = limit
		}
		if group == "." || group == "" {
			return least / 4 * 3
		}
	}
}

// number is the one that a file of the system begins with, 0 if there is none.
func number(root fs.FS, file, format string) (n int64) {
	text, _ := fs.ReadFile(root, file)
	_, _ = fmt.Sscanf(string(text), format, &n)
	return n
}
