package main

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

// measureSizes looks at the program as it is shipped, and compares the size of the database with the documents in it.
func (b *bench) measureSizes() error {
	info, err := os.Stat(b.program)
	if err != nil {
		return err
	}
	file, err := elf.Open(b.program)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it is only read
	binary := b.note("binary")
	binary.ours, binary.values = "static", []float64{float64(info.Size()) / 1e6}
	if file.Section(".interp") != nil || file.Section(".dynamic") != nil || file.Section(".debug_info") != nil {
		binary.reason = "the binary is not static, or not stripped"
	}
	return b.main.open(func(db *database) error {
		documents, err := db.number(`SELECT sum(length(body)) FROM contact`)
		b.add("stored", b.main.size()*1e6/float64(max(1, documents)))
		return err
	})
}

// measureStarts starts the program on the data as often as there are rounds: how long until it answers, how long the first list takes,
// and what it holds when it has nothing to do.
func (b *bench) measureStarts() error {
	a := b.main.Accounts[0]
	last := fmt.Sprintf("/v1/contacts?page=%d", (a.Active+19)/20)
	for range b.rounds {
		s, err := b.serve(b.main, nil)
		if err != nil {
			return err
		}
		start := time.Now()
		if _, err := once(s.address, "GET", last, a.Key, nil); err != nil {
			return err
		}
		list := time.Since(start)
		time.Sleep(time.Second)
		b.add("start", milliseconds(s.first))
		b.add("first list", milliseconds(list))
		b.add("idle", s.rss())
		progress("  first answer after %.1f ms, first list %.1f ms, %.1f MB", milliseconds(s.first), milliseconds(list), s.rss())
		b.stopAll()
	}
	return nil
}

// measureSlowDisk runs the benchmark of the store in which every commit waits 2 ms longer. The flushes of a static program cannot be
// slowed down from outside, so this happens in a test of the store, where a spy stands before the engine.
func (b *bench) measureSlowDisk() error {
	cmd := exec.Command("go", "test", "-run", "^$", "-bench", "^BenchmarkCreateOnASlowDisk$",
		"-benchtime", b.timing.measured.String(), "-count", strconv.Itoa(b.rounds), "./internal/db")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	grouped, alone := benchmarked(out, "Grouped"), benchmarked(out, "Alone")
	if len(grouped) != b.rounds || len(alone) != b.rounds {
		return errors.New("the benchmark did not tell what was expected: " + string(out))
	}
	f := b.note("slow")
	f.ours, f.other = number(spreadOf(grouped).median)+" us each", number(spreadOf(alone).median)+" us each"
	f.values = combined(alone, grouped, func(a, b float64) float64 { return a / b })
	return nil
}

// benchmarked are the microseconds per operation in the output of go test.
func benchmarked(out []byte, name string) (list []float64) {
	line := regexp.MustCompile(`(?m)^Benchmark\w+/` + name + `(?:-\d+)?\s+\d+\s+([\d.]+) ns/op`)
	for _, found := range line.FindAllSubmatch(out, -1) {
		ns, _ := strconv.ParseFloat(string(found[1]), 64)
		list = append(list, ns/1000)
	}
	return list
}
