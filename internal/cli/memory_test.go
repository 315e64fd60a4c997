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
		{"version 2 in a container", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "536870912\n"}, 512 << 20},
		{"version 2 without a limit", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 8_000_000 << 10},
		{"version 2, a group above has less", map[string]string{
			"proc/self/cgroup": "0::/system.slice/donorbook.service\n",
			"sys/fs/cgroup/system.slice/donorbook.service/memory.max": "1073741824\n",
			"sys/fs/cgroup/system.slice/memory.max":                   "268435456\n",
		}, 256 << 20},
		{"version 1 beside version 2", map[string]string{
			"proc/self/cgroup": "5:devices:/\n4:memory:/docker/abc\n0::/\n", "sys/fs/cgroup/memory.max": "1073741824\n",
		}, 1 << 30},
	} {
		if got := memoryLimit(machine(test.files)); got != test.want/4*3 {
			t.Errorf("%s: %d, want three quarters of %d", test.name, got, test.want)
		}
	}
	if got := memoryLimit(fstest.MapFS{}); got != 0 {
		t.Errorf("a machine that tells nothing: %d", got)
	}
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
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		t.Errorf("GOMEMLIMIT=off became %d", limit)
	}
	t.Setenv("GOMEMLIMIT", "")
	boundMemory()
	if limit := debug.SetMemoryLimit(-1); limit != memoryLimit(os.DirFS("/")) {
		t.Errorf("without GOMEMLIMIT the limit is %d", limit)
	}
}

// Garbage may fill several times what is in use while that is little, and up to a fixed size where it is more.
func TestGarbageFillsNoMoreThanTheUsualMemory(t *testing.T) {
	for live, want := range map[uint64]int{0: 300, 10 << 20: 300, 40 << 20: 300, 80 << 20: 100, 200 << 20: 25, 1 << 40: 25} {
		if got := gcPercent(live); got != want {
			t.Errorf("%d MiB in use: %d, want %d", live>>20, got, want)
		}
	}
}
