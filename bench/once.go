package main

import (
	"bufio"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

// measureDatabase compares the size of the database with the documents in it.
func (b *bench) measureDatabase() error {
	info, err := os.Stat(b.main.file())
	if err != nil {
		return err
	}
	db, err := openDatabase(b.main.file(), nil)
	if err != nil {
		return err
	}
	documents, err := db.number(`SELECT sum(length(body)) FROM contact`)
	if documents > 0 {
		b.facts.stored = float64(info.Size()) / float64(documents)
	}
	return errors.Join(err, db.close())
}

// measureBinary looks at the program as it is shipped.
func (b *bench) measureBinary() error {
	info, err := os.Stat(b.program)
	if err != nil {
		return err
	}
	b.facts.binary = float64(info.Size()) / 1e6
	if err := b.measureDatabase(); err != nil {
		return err
	}
	file, err := elf.Open(b.program)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it is only read
	b.facts.static = file.Section(".interp") == nil && file.Section(".dynamic") == nil && file.Section(".debug_info") == nil
	return nil
}

// measureStarts starts the program on the data as often as there are rounds: how long until it answers, how long the first
// list takes, and what it holds when it has nothing to do.
func (b *bench) measureStarts() error {
	a := b.main.Accounts[0]
	last := request(nil, "GET", fmt.Sprintf("/v1/contacts?page=%d", (a.Active+19)/20), a.Key, nil)
	for range b.rounds {
		s, err := b.serve(b.main)
		if err != nil {
			return err
		}
		start := time.Now()
		if err := s.answers(last); err != nil {
			return err
		}
		list := time.Since(start)
		time.Sleep(time.Second)
		b.facts.starts = append(b.facts.starts, milliseconds(s.first))
		b.facts.firstLists = append(b.facts.firstLists, milliseconds(list))
		b.facts.idle = append(b.facts.idle, s.rss())
		progress("  first answer after %.1f ms, first list %.1f ms, %.1f MB", milliseconds(s.first), milliseconds(list), s.rss())
		b.stopAll()
	}
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// measureSlowDisk runs the benchmark of the store in which every commit waits 2 ms longer. A static program's flushes cannot
// be slowed down from outside, so this happens in a test of the store, where a spy stands before the engine.
func (b *bench) measureSlowDisk() error {
	cmd := exec.Command("go", "test", "-run", "^$", "-bench", "^BenchmarkCreateOnASlowDisk$",
		"-benchtime", b.timing.measured.String(), "-count", strconv.Itoa(b.rounds), "./internal/db")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	b.facts.grouped, b.facts.alone = benchmarked(out, "Grouped"), benchmarked(out, "Alone")
	if len(b.facts.grouped) != b.rounds || len(b.facts.alone) != b.rounds {
		return fmt.Errorf("the benchmark did not tell what was expected:\n%s", out)
	}
	return nil
}

var benchmarkLine = regexp.MustCompile(`^Benchmark\w+/(\w+?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op`)

// benchmarked are the microseconds an operation in the output of go test.
func benchmarked(out []byte, name string) (list []float64) {
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		if m := benchmarkLine.FindStringSubmatch(lines.Text()); m != nil && m[1] == name {
			ns, _ := strconv.ParseFloat(m[2], 64)
			list = append(list, ns/1000)
		}
	}
	return list
}
