package cli

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
)

// boundMemory sets how much memory the program takes before garbage is collected, unless GOGC and GOMEMLIMIT are set.
func boundMemory() {
	if os.Getenv("GOGC") == "" {
		everyCollection(func() { debug.SetGCPercent(collectAt(liveHeap())) })
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		if limit := memoryLimit(os.DirFS("/")); limit > 0 {
			debug.SetMemoryLimit(limit)
		}
	}
}

// heapGoal limits the heap before garbage is collected. Normally a few megabytes are in use. With Go's default GOGC of 100, garbage
// would be collected many times per second under load, for a few megabytes each time. So the heap may grow to five times what
// is in use (GOGC 400), but not beyond the goal: if an attack makes the server use 60 MB, five times that would be 300 MB.
const (
	heapGoal    = 128 << 20
	mostPercent = 400
	minPercent  = 50 // near and above the goal; with less, collecting would cost too much
)

// collectAt is the GOGC for this many bytes in use.
func collectAt(live uint64) int {
	room := heapGoal*100/max(live, 1<<20) - 100
	if live >= heapGoal {
		room = 0
	}
	return int(min(max(room, minPercent), mostPercent))
}

// liveHeap is how many bytes were in use at the last collection.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// everyCollection calls a function now and after every garbage collection: each time, an unreachable object is collected and
// a new one takes its place.
func everyCollection(do func()) {
	type object struct{ _ [64]byte }
	var collected func(int)
	collected = func(int) {
		do()
		runtime.AddCleanup(new(object), collected, 0)
	}
	collected(0)
}

// memoryLimit is the value of GOMEMLIMIT: near it, garbage is collected as often as necessary. It leaves a quarter of the memory
// to the database's caches and to the system. It is 0 if the system does not tell how much there is.
func memoryLimit(root fs.FS) int64 { return memory(root) / 4 * 3 }

// memory is how much the process may use: the memory of the machine, or the limit of one of its control groups.
func memory(root fs.FS) int64 {
	least := machineMemory(root)
	for _, file := range groupFiles(root) {
		text, err := fs.ReadFile(root, file)
		if err != nil {
			continue
		}
		limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // "max" is no limit
		if err == nil && limit > 0 && (least == 0 || limit < least) {
			least = limit
		}
	}
	return least
}

func machineMemory(root fs.FS) int64 {
	text, _ := fs.ReadFile(root, "proc/meminfo")
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 3 && fields[0] == "MemTotal:" && fields[2] == "kB" {
			kilobytes, _ := strconv.ParseInt(fields[1], 10, 64)
			return kilobytes << 10
		}
	}
	return 0
}

// groupFiles are the files with the limits of the process's control groups and their parents, in versions 2 and 1.
func groupFiles(root fs.FS) (files []string) {
	text, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3) // as in 0::/system.slice/donorbook.service
		if len(parts) < 3 {
			continue
		}
		dir, name := "sys/fs/cgroup", "memory.max"
		if parts[1] != "" {
			dir, name = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		if parts[1] != "" && parts[1] != "memory" {
			continue
		}
		for group := path.Clean("/" + parts[2]); ; group = path.Dir(group) {
			files = append(files, path.Join(dir, group, name))
			if group == "/" {
				break
			}
		}
	}
	return files
}
