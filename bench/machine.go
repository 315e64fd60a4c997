package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// machine describes where the figures come from.
type machine struct {
	processor string
	cores     int
	memory    float64 // GB
	disk      string  // the kind of filesystem and the device below it
	kernel    string
	goVersion string
	sqlite    string
	flush     time.Duration // what one flush of the disk takes
}

func describeMachine(dir string) machine {
	m := machine{processor: "unknown", cores: runtime.NumCPU(), goVersion: runtime.Version(), flush: flushTime(dir)}
	cpu, _ := os.ReadFile("/proc/cpuinfo")
	if name := fieldOf(string(cpu), "model name"); name != "" {
		m.processor = name
	}
	text, _ := os.ReadFile("/proc/meminfo")
	kb, _ := strconv.ParseFloat(strings.TrimSuffix(fieldOf(string(text), "MemTotal"), " kB"), 64)
	m.memory = kb / 1e6
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	if path, err := filepath.Abs(dir); err == nil {
		m.disk = filesystemOf(string(mounts), path)
	}
	m.sqlite = sqliteVersion()
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	m.kernel, _, _ = strings.Cut(strings.TrimSpace(string(kernel)), "-") // what follows is a name somebody gave it
	return m
}

// fieldOf finds a line such as "model name : value".
func fieldOf(text, name string) string {
	for line := range strings.Lines(text) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// filesystemOf finds what a path lies on, such as "ext4 on sda1": the longest mount point that it begins with.
func filesystemOf(mounts, path string) (name string) {
	longest := 0
	for line := range strings.Lines(mounts) {
		place, kind, found := strings.Cut(line, " - ")
		fields, more := strings.Fields(place), strings.Fields(kind)
		if !found || len(fields) < 5 || len(more) < 2 {
			continue
		}
		point := strings.TrimSuffix(fields[4], "/") + "/"
		if strings.HasPrefix(path+"/", point) && len(point) >= longest {
			longest, name = len(point), more[0]+" on "+filepath.Base(more[1])
		}
	}
	return name
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
	defer os.Remove(file.Name()) //nolint:errcheck // the directory goes as well
	defer file.Close()           //nolint:errcheck // nobody reads it
	var times []time.Duration
	for range 50 {
		start := time.Now()
		if _, err := file.Write(make([]byte, 4096)); err != nil {
			return 0
		}
		if err := file.Sync(); err != nil {
			return 0
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	return percentile(times, .5)
}

func (m machine) String() string {
	return fmt.Sprintf("%d processors (%s), %.0f GB of memory, %s, where a flush takes %.2f ms, Linux %s, %s, SQLite %s",
		m.cores, m.processor, m.memory, m.disk, milliseconds(m.flush), m.kernel, m.goVersion, m.sqlite)
}
