package web

import (
	"bytes"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// runtimeFamilies are what every program in Go tells Prometheus, under the names that dashboards know.
func runtimeFamilies() []family {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	threads, _ := runtime.ThreadCreateProfile(nil)
	size := func(name, help string, value uint64) family {
		return gauge("go_memstats_"+name+"_bytes", help, "", float64(value))
	}
	return []family{
		pauses(),
		gauge("go_info", "Information about the Go environment.", labels("version", runtime.Version()), 1),
		gauge("go_goroutines", "Number of goroutines that currently exist.", "", float64(runtime.NumGoroutine())),
		gauge("go_threads", "Number of OS threads created.", "", float64(threads)),
		setting("go_gc_gogc_percent", "Heap size target percentage configured by the user, otherwise 100. This value is set by the GOGC environment variable, and the runtime/debug.SetGCPercent function. Sourced from /gc/gogc:percent.", "/gc/gogc:percent"),
		setting("go_gc_gomemlimit_bytes", "Go runtime memory limit configured by the user, otherwise math.MaxInt64. This value is set by the GOMEMLIMIT environment variable, and the runtime/debug.SetMemoryLimit function. Sourced from /gc/gomemlimit:bytes.", "/gc/gomemlimit:bytes"),
		setting("go_sched_gomaxprocs_threads", "The current runtime.GOMAXPROCS setting, or the number of operating system threads that can execute user-level Go code simultaneously. Sourced from /sched/gomaxprocs:threads.", "/sched/gomaxprocs:threads"),
		size("alloc", "Number of bytes allocated in heap and currently in use. Equals to /memory/classes/heap/objects:bytes.", m.Alloc),
		counter("go_memstats_alloc_bytes_total", "Total number of bytes allocated in heap until now, even if released already. Equals to /gc/heap/allocs:bytes.", float64(m.TotalAlloc)),
		size("buck_hash_sys", "Number of bytes used by the profiling bucket hash table. Equals to /memory/classes/profiling/buckets:bytes.", m.BuckHashSys),
		counter("go_memstats_frees_total", "Total number of heap objects frees. Equals to /gc/heap/frees:objects + /gc/heap/tiny/allocs:objects.", float64(m.Frees)),
		size("gc_sys", "Number of bytes used for garbage collection system metadata. Equals to /memory/classes/metadata/other:bytes.", m.GCSys),
		size("heap_alloc", "Number of heap bytes allocated and currently in use, same as go_memstats_alloc_bytes. Equals to /memory/classes/heap/objects:bytes.", m.HeapAlloc),
		size("heap_idle", "Number of heap bytes waiting to be used. Equals to /memory/classes/heap/released:bytes + /memory/classes/heap/free:bytes.", m.HeapIdle),
		size("heap_inuse", "Number of heap bytes that are in use. Equals to /memory/classes/heap/objects:bytes + /memory/classes/heap/unused:bytes", m.HeapInuse),
		gauge("go_memstats_heap_objects", "Number of currently allocated objects. Equals to /gc/heap/objects:objects.", "", float64(m.HeapObjects)),
		size("heap_released", "Number of heap bytes released to OS. Equals to /memory/classes/heap/released:bytes.", m.HeapReleased),
		size("heap_sys", "Number of heap bytes obtained from system. Equals to /memory/classes/heap/objects:bytes + /memory/classes/heap/unused:bytes + /memory/classes/heap/released:bytes + /memory/classes/heap/free:bytes.", m.HeapSys),
		gauge("go_memstats_last_gc_time_seconds", "Number of seconds since 1970 of last garbage collection.", "", float64(m.LastGC)/1e9),
		counter("go_memstats_mallocs_total", "Total number of heap objects allocated, both live and gc-ed. Semantically a counter version for go_memstats_heap_objects gauge. Equals to /gc/heap/allocs:objects + /gc/heap/tiny/allocs:objects.", float64(m.Mallocs)),
		size("mcache_inuse", "Number of bytes in use by mcache structures. Equals to /memory/classes/metadata/mcache/inuse:bytes.", m.MCacheInuse),
		size("mcache_sys", "Number of bytes used for mcache structures obtained from system. Equals to /memory/classes/metadata/mcache/inuse:bytes + /memory/classes/metadata/mcache/free:bytes.", m.MCacheSys),
		size("mspan_inuse", "Number of bytes in use by mspan structures. Equals to /memory/classes/metadata/mspan/inuse:bytes.", m.MSpanInuse),
		size("mspan_sys", "Number of bytes used for mspan structures obtained from system. Equals to /memory/classes/metadata/mspan/inuse:bytes + /memory/classes/metadata/mspan/free:bytes.", m.MSpanSys),
		size("next_gc", "Number of heap bytes when next garbage collection will take place. Equals to /gc/heap/goal:bytes.", m.NextGC),
		size("other_sys", "Number of bytes used for other system allocations. Equals to /memory/classes/other:bytes.", m.OtherSys),
		size("stack_inuse", "Number of bytes obtained from system for stack allocator in non-CGO environments. Equals to /memory/classes/heap/stacks:bytes.", m.StackInuse),
		size("stack_sys", "Number of bytes obtained from system for stack allocator. Equals to /memory/classes/heap/stacks:bytes + /memory/classes/os-stacks:bytes.", m.StackSys),
		size("sys", "Number of bytes obtained from system. Equals to /memory/classes/total:byte.", m.Sys),
	}
}

// setting is a number that the runtime tells under a name of its own.
func setting(name, help, source string) family {
	value := []metrics.Sample{{Name: source}}
	metrics.Read(value)
	if value[0].Value.Kind() != metrics.KindUint64 { // a runtime to come may have dropped it
		return family{}
	}
	return gauge(name, help, "", float64(value[0].Value.Uint64()))
}

func pauses() family {
	stats := debug.GCStats{PauseQuantiles: make([]time.Duration, 5)}
	debug.ReadGCStats(&stats)
	f := family{name: "go_gc_duration_seconds", kind: "summary",
		help: "A summary of the wall-time pause (stop-the-world) duration in garbage collection cycles."}
	for i, quantile := range []string{"0", "0.25", "0.5", "0.75", "1"} {
		f.samples = append(f.samples, sample{"", labels("quantile", quantile), stats.PauseQuantiles[i].Seconds()})
	}
	f.samples = append(f.samples, sample{"_sum", "", stats.PauseTotal.Seconds()}, sample{"_count", "", float64(stats.NumGC)})
	return f
}

// processFamilies are what Linux knows about the process. Elsewhere there are none.
func processFamilies() []family {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return nil
	}
	const ticks = 100 // a second: a constant of Linux towards programs
	_, rest, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')'):]), " ")
	fields := strings.Fields(rest) // from the third field of the manual on
	field := func(n int) float64 { return number(fields, n-3) }
	files, _ := os.ReadDir("/proc/self/fd")
	received, sent := networkBytes()
	return []family{
		counter("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", (field(14)+field(15))/ticks),
		gauge("process_max_fds", "Maximum number of open file descriptors.", "", limit("Max open files")),
		counter("process_network_receive_bytes_total", "Number of bytes received by the process over the network.", received),
		counter("process_network_transmit_bytes_total", "Number of bytes sent by the process over the network.", sent),
		gauge("process_open_fds", "Number of open file descriptors.", "", float64(len(files))),
		gauge("process_resident_memory_bytes", "Resident memory size in bytes.", "", field(24)*float64(os.Getpagesize())),
		gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.", "", bootTime()+field(22)/ticks),
		gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.", "", field(23)),
		gauge("process_virtual_memory_max_bytes", "Maximum amount of virtual memory available in bytes.", "", limit("Max address space")),
	}
}

// number is a field of a text, or 0.
func number(fields []string, i int) float64 {
	if i >= len(fields) {
		return 0
	}
	value, _ := strconv.ParseFloat(fields[i], 64)
	return value
}

// lineOf is what follows a word at the beginning of a line of a file, in fields. The last such line counts.
func lineOf(path, word string) (fields []string) {
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, word); found {
			fields = strings.Fields(rest)
		}
	}
	return fields
}

func bootTime() float64 { return number(lineOf("/proc/stat", "btime "), 0) }

// limit is the soft limit of something that a process may use.
func limit(name string) float64 {
	fields := lineOf("/proc/self/limits", name)
	if len(fields) > 0 && fields[0] == "unlimited" {
		return 1 << 64
	}
	return number(fields, 0)
}

// networkBytes are those of the network that the process lives in.
func networkBytes() (received, sent float64) {
	values := lineOf("/proc/self/net/netstat", "IpExt: ")
	return number(values, 6), number(values, 7)
}
