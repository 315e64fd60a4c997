package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// describeMachine says where the figures come from.
func describeMachine(dir string) string {
	cpu, _ := os.ReadFile("/proc/cpuinfo")
	processor := "unknown"
	if found := regexp.MustCompile(`model name\s*: (.*)`).FindSubmatch(cpu); found != nil {
		processor = string(found[1])
	}
	text, _ := os.ReadFile("/proc/meminfo")
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	release, _, _ := strings.Cut(strings.TrimSpace(string(kernel)), "-") // what follows is a name of the distribution's
	return fmt.Sprintf("%d processors (%s), %.0f GB of memory, %s, where a flush takes %.2f ms, Linux %s, %s, SQLite %s",
		runtime.NumCPU(), processor, numberAfter(text, "MemTotal:")/1e6, filesystem(dir), milliseconds(flushTime(dir)), release, runtime.Version(), sqliteVersion())
}

// filesystem is what a directory lies on, such as "ext4 on sda1".
func filesystem(dir string) string {
	out, _ := exec.Command("df", "--output=fstype,source", dir).Output()
	if fields := strings.Fields(string(out)); len(fields) >= 4 {
		return fields[len(fields)-2] + " on " + filepath.Base(fields[len(fields)-1])
	}
	return "an unknown filesystem"
}

// sqliteVersion is that of the engine and of the library that brings it, which our server shares.
func sqliteVersion() (version string) {
	db, err := openDatabase(":memory:", nil)
	if err != nil {
		return "unknown"
	}
	defer db.close() //nolint:errcheck // there is nothing in it
	_ = db.each(func(row *sqlite3.Stmt) { version = row.ColumnText(0) }, `SELECT sqlite_version()`)
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "github.com/ncruces/go-sqlite3" {
				version += " (go-sqlite3 " + module.Version + ")"
			}
		}
	}
	return version
}

// flushTime is the median of some small writes that wait for the disk.
func flushTime(dir string) time.Duration {
	file, err := os.Create(filepath.Join(dir, "flush"))
	if err != nil {
		return 0
	}
	defer file.Close() //nolint:errcheck // its content does not matter, and it goes with its directory
	var times []time.Duration
	for range 50 {
		start := time.Now()
		if _, err := file.Write(make([]byte, 4096)); err != nil || file.Sync() != nil {
			return 0
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	return percentile(times, .5)
}
