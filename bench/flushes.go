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
	return fmt.Sprintf("%s flushes and %s creates per commit", number(f.flushes/f.commits), number(f.creates/f.commits))
}

// measureFlushes counts how often the disk is flushed while 64 connections create, and while raw does: strace sees the calls, and the
// database itself counts the commits. The times of this step are not reported: strace makes it slower.
func (b *bench) measureFlushes() error {
	f := b.note("flushes")
	if _, err := exec.LookPath("strace"); err != nil {
		f.reason = "strace is not installed"
		return nil
	}
	d, err := b.copy(b.main, "flushes")
	if err != nil {
		return err
	}
	watch := watch{filepath.Join(b.tmp, "flushes.txt")}
	p := &place{data: d, people: b.library.generator}
	if p.server, err = b.serve(d, watch.command()); err != nil {
		return err
	}
	t := create(p)
	if err := t.check(); err != nil {
		return err
	}
	l := load{addresses: []string{p.address}, work: t.work, connections: 64}
	var total flushing
	for range b.rounds {
		counted, err := watch.count(d, func() (int, error) {
			r := l.run(timing{measured: b.timing.measured}, &server{})
			return r.requests, r.err
		})
		if err != nil {
			return err
		}
		progress("  ours: %s", counted.text())
		total = flushing{total.creates + counted.creates, total.commits + counted.commits, total.flushes + counted.flushes}
		b.add("flushes", counted.flushes/counted.commits)
	}
	f.ours = total.text()
	b.stopAll()
	f.other, err = b.rawFlushes()
	return err
}

// rawFlushes lets raw run in a process of its own, which can be watched.
func (b *bench) rawFlushes() (string, error) {
	d, err := b.copy(b.main, "flushes")
	if err != nil {
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	watch := watch{filepath.Join(b.tmp, "raw-flushes.txt")}
	args := append(watch.command(), self, "raw", d.dir, strconv.FormatUint(b.seed, 10), b.timing.measured.String())
	counted, err := watch.count(d, func() (int, error) {
		out, err := exec.Command(args[0], args[1:]...).Output()
		if err != nil {
			return 0, fmt.Errorf("raw: %w: %s", err, out)
		}
		return strconv.Atoi(string(bytes.TrimSpace(out)))
	})
	progress("  raw: %s", counted.text())
	return counted.text(), err
}

// rawCreates is this program again, called as bench raw DIRECTORY SEED DURATION: it creates in groups of 100 and prints how many.
func rawCreates(args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("raw takes a directory, a seed and a duration, not %q", args[1:])
	}
	seed, err := strconv.ParseUint(args[2], 10, 64)
	if err != nil {
		return err
	}
	duration, err := time.ParseDuration(args[3])
	if err != nil {
		return err
	}
	d := &dataset{dir: args[1]}
	if err := d.load(); err != nil {
		return err
	}
	db, err := openDatabase(d.file(), durable)
	if err != nil {
		return err
	}
	r := insert(100)(&place{loops: rawLoops(db, d, generator{seed})}).loop(timing{measured: duration})
	if r.err == nil {
		fmt.Println(r.requests)
	}
	return r.err // the connection stays open: to close it would move everything into the database at once
}

// watch is a list of the flushes of a process, which grows as they happen.
type watch struct{ file string }

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
// index of its log, which all processes share.
func (d *dataset) commits() uint32 {
	index, _ := os.ReadFile(d.file() + "-shm")
	if len(index) < 12 {
		return 0
	}
	return binary.NativeEndian.Uint32(index[8:])
}
