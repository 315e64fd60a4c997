package cli

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
)

// collectAt is the GOGC of the program: a few megabytes are in use, which Go's default of 100 would collect many times per second under load. Where more is in
// use, garbage may not fill several times as much: it is collected when usualMemory is reached, or at leastCollectAt where that much is in use itself.
const (
	collectAt      = 300
	leastCollectAt = 25

	// The program promises 400 MiB under attack. Databases and stacks take 100 of them, and while garbage is collected, an
	// attack makes half as much again.
	usualMemory = 160 << 20
)

// boundMemory sets how much memory the program takes before garbage is collected, unless GOGC and GOMEMLIMIT are set.
func boundMemory() {
	if os.Getenv("GOGC") == "" {
		collecting.Do(func() { collectInTime(0) })
	}
	if limit := memoryLimit(os.DirFS("/")); limit > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
}

var collecting sync.Once

// collectInTime sets GOGC by what is in use, now and after each collection. before is what it was.
func collectInTime(before int) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	percent := gcPercent(live[0].Value.Uint64())
	if percent != before {
		debug.SetGCPercent(percent)
	}
	garbage := new([64]byte) // the next collection finds it
	runtime.AddCleanup(garbage, collectInTime, percent)
}

// gcPercent is GOGC where so many bytes are in use.
func gcPercent(live uint64) int {
	if live == 0 {
		return collectAt
	}
	return int(min(collectAt, max(leastCollectAt, (usualMemory-int64(live))*100/int64(live))))
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
