package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// machine describes where the figures come from.
type machine struct {
	processor string
	cores     int
	memory    float64 // GB
	kernel    string
	goVersion string
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
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	m.kernel = strings.TrimSpace(string(kernel))
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
	return fmt.Sprintf("%d processors (%s), %.0f GB of memory, Linux %s, %s; a flush of the disk takes %.2f ms",
		m.cores, m.processor, m.memory, m.kernel, m.goVersion, milliseconds(m.flush))
}
