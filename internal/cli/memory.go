package cli

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// collectAt is the GOGC of the program. Normally a few megabytes are in use: with Go's default of 100, garbage would be collected many times
// per second under load, for a few megabytes each time.
const collectAt = 300

// boundMemory sets how much memory the program takes before garbage is collected, unless GOGC and GOMEMLIMIT are set.
func boundMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		if limit := memoryLimit(os.DirFS("/")); limit > 0 {
			debug.SetMemoryLimit(limit)
		}
	}
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
