package cli

import (
	"io/fs"
	"math"
	"os"
	"runtime/debug"
	"testing"
	"testing/fstest"
)

// machine is what Linux reports about memory: 8 GB, and the limits of its control groups.
func machine(files map[string]string) fs.FS {
	root := fstest.MapFS{"proc/meminfo": {Data: []byte("MemTotal:        8000000 kB\nMemFree:          100000 kB\n")}}
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return root
}

func TestTheMemoryLimitGoesByTheMachineAndItsControlGroups(t *testing.T) {
	for _, test := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"no group", nil, 8_000_000 << 10},
		{"version 2 in a container", map[string]string{"proc/self/cgroup": "0::/\n",
			"sys/fs/cgroup/memory.max": "536870912\n"}, 512 << 20},
		{"version 2 without a limit", map[string]string{"proc/self/cgroup": "0::/\n",
			"sys/fs/cgroup/memory.max": "max\n"}, 8_000_000 << 10},
		{"version 2, a group above has less", map[string]string{
			"proc/self/cgroup": "0::/system.slice/donorbook.service\n",
			"sys/fs/cgroup/system.slice/donorbook.service/memory.max": "1073741824\n",
			"sys/fs/cgroup/system.slice/memory.max":                   "268435456\n",
		}, 256 << 20},
		{"version 1 beside version 2", map[string]string{
			"proc/self/cgroup": "5:devices:/\n4:memory:/docker/abc\n0::/\n", "sys/fs/cgroup/memory.max": "1073741824\n",
		}, 1 << 30},
	} {
		equal(t, memoryLimit(machine(test.files)), test.want/4*3, "%s (%v)", test.name, test.want)
	}
	equal(t, memoryLimit(fstest.MapFS{}), 0, "a machine that tells nothing")
}

// The operator's settings take precedence.
func TestGOMEMLIMITOfTheOperatorCounts(t *testing.T) {
	before, percent := debug.SetMemoryLimit(math.MaxInt64), debug.SetGCPercent(100)
	defer func() {
		debug.SetMemoryLimit(before)
		debug.SetGCPercent(percent)
	}()
	t.Setenv("GOGC", "100")
	t.Setenv("GOMEMLIMIT", "off")
	boundMemory()
	equal(t, debug.SetMemoryLimit(-1), math.MaxInt64, "GOMEMLIMIT=off became")
	t.Setenv("GOMEMLIMIT", "")
	boundMemory()
	equal(t, debug.SetMemoryLimit(-1), memoryLimit(os.DirFS("/")), "without GOMEMLIMIT the limit")
}

// Garbage may fill several times what is in use while that is little, and up to a fixed size where it is more.
func TestGarbageFillsNoMoreThanTheUsualMemory(t *testing.T) {
	for live, want := range map[uint64]int{0: 300, 10 << 20: 300, 40 << 20: 300, 80 << 20: 100, 200 << 20: 25,
		1 << 40: 25} {
		equal(t, gcPercent(live), want, "%d MiB in use", live>>20)
	}
}
