package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// flushing is what was counted while contacts were created.
type flushing struct{ creates, commits, flushes float64 }

func (f flushing) text() string {
	return fmt.Sprintf("%s flushes and %s creates a commit", number(f.flushes/f.commits), number(f.creates/f.commits))
}

// measureFlushes counts how often the disk is flushed while 64 connections create, and while raw does: strace sees the
// calls, and the database itself counts the commits. The times of this step are not told: to be watched costs some.
func (b *bench) measureFlushes() error {
	if _, err := exec.LookPath("strace"); err != nil {
		b.facts.unwatched = "strace is not installed"
		return nil
	}
	d, err := b.copy(b.main, "flushes")
	if err != nil {
		return err
	}
	watch := b.watch("flushes")
	s, err := b.serveUnder(watch.command(), d)
	if err != nil {
		return err
	}
	t := create(d, b.library.generator)
	if err := t.check(s.address); err != nil {
		return err
	}
	l := load{addresses: []string{s.address}, work: t.work, connections: 64}
	for range b.rounds {
		counted, err := watch.count(d, func() (int, error) {
			r := l.run(timing{measured: b.timing.measured}, nobody{})
			return r.requests, r.err
		})
		if err != nil {
			return err
		}
		progress("  ours: %s", counted.text())
		b.facts.flushes = append(b.facts.flushes, counted)
	}
	b.stopAll()
	return b.measureRawFlushes()
}

// measureRawFlushes lets raw run in a process of its own, which can be watched.
func (b *bench) measureRawFlushes() error {
	d, err := b.copy(b.main, "flushes")
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	watch := b.watch("raw-flushes")
	args := append(watch.command(), self, "raw", d.dir, strconv.FormatUint(b.seed, 10), b.timing.measured.String())
	counted, err := watch.count(d, func() (int, error) {
		out, err := exec.Command(args[0], args[1:]...).Output()
		if err != nil {
			return 0, fmt.Errorf("raw: %w: %s", err, out)
		}
		return strconv.Atoi(string(bytes.TrimSpace(out)))
	})
	b.facts.rawFlushes = counted
	progress("  raw: %s", counted.text())
	return err
}

// rawCreates is this program again, called as bench raw DIRECTORY SEED DURATION: it creates in groups of 100 and prints how many.
func rawCreates(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("raw takes a directory, a seed and a duration, not %q", args)
	}
	seed, err := strconv.ParseUint(args[1], 10, 64)
	if err != nil {
		return err
	}
	duration, err := time.ParseDuration(args[2])
	if err != nil {
		return err
	}
	d, err := openDataset(args[0])
	if err != nil {
		return err
	}
	w, err := openRaw(d, generator{seed})
	if err != nil {
		return err
	}
	r := w.create(100)(timing{measured: duration})
	if r.err == nil {
		fmt.Println(r.requests)
	}
	return r.err // the connection stays open: to close it would move everything into the database at once
}

// watch is a list of the flushes of a process, which grows as they happen.
type watch struct{ file string }

func (b *bench) watch(name string) watch { return watch{filepath.Join(b.tmp, name+".txt")} }

// command runs what follows it as a child of ours, with strace beside it.
func (w watch) command() []string {
	return []string{"strace", "-D", "-f", "-qq", "--seccomp-bpf", "-e", "trace=fsync,fdatasync", "-o", w.file}
}

// count counts what happens to a dataset while do creates contacts.
func (w watch) count(d *dataset, do func() (int, error)) (f flushing, err error) {
	flushes, commits := w.flushes(), d.commits()
	creates, err := do()
	time.Sleep(100 * time.Millisecond) // strace is another process
	f = flushing{float64(creates), float64(d.commits() - commits), float64(w.flushes() - flushes)}
	if err == nil && f.commits == 0 {
		err = fmt.Errorf("there was no commit in %s", d.dir)
	}
	return f, err
}

func (w watch) flushes() (n int) {
	text, _ := os.ReadFile(w.file) // before the first flush there is none
	return bytes.Count(text, []byte("fsync(")) + bytes.Count(text, []byte("fdatasync("))
}

// commits is how many transactions were written to the database since it was opened. SQLite counts them in the third word of the
// index of its log, which is there for all processes.
func (d *dataset) commits() uint32 {
	index := make([]byte, 12)
	file, err := os.Open(d.file() + "-shm")
	if err != nil {
		return 0
	}
	defer file.Close() //nolint:errcheck // it is only read
	if _, err := file.ReadAt(index, 0); err != nil {
		return 0
	}
	return binary.NativeEndian.Uint32(index[8:])
}
