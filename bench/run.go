package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// options are the flags.
type options struct {
	contacts int
	rounds   int
	timing   timing
	only     []string
	postgres string
	peers    bool
	out      string
	seed     uint64
	program  string
	cache    string
}

// bench is one run.
type bench struct {
	options
	library  *library
	main     *dataset // accounts of 80, 15 and 5 % of the contacts
	tmp      string   // copies and logs, removed at the end
	running  []*server
	places   map[string]*place
	closing  []func()
	all      results
	notes    map[string]*finding // what is measured once, not in rounds of requests
	versions map[string]string   // of PostgreSQL and PocketBase
	outcomes []outcome
	started  time.Time
}

// note is what a step has found so far.
func (b *bench) note(name string) *finding {
	if b.notes[name] == nil {
		b.notes[name] = &finding{}
	}
	return b.notes[name]
}

// add keeps another value of what a step measures.
func (b *bench) add(name string, value float64) {
	f := b.note(name)
	f.values = append(f.values, value)
}

// parts are the names that -only takes.
var parts = []string{"get", "list", "pages", "walk", "create", "flushes", "slow", "beside", "memory", "start", "size", "postgres", "allocations", "growth", "peers"}

// wants tells whether any of these parts was asked for.
func (b *bench) wants(names ...string) bool {
	return slices.ContainsFunc(names, func(part string) bool {
		left := part == "peers" && !b.peers || part == "postgres" && b.postgres == ""
		return !left && (len(b.only) == 0 || slices.Contains(b.only, part))
	})
}

func newBench(o options) (b *bench, err error) {
	for _, name := range o.only {
		if !slices.Contains(parts, name) {
			return nil, fmt.Errorf("-only %s: the parts are %s", name, strings.Join(parts, ", "))
		}
	}
	if o.contacts < 1000 || o.rounds < 1 || o.timing.measured <= 0 {
		return nil, errors.New("there must be at least 1000 contacts, one round and some time")
	}
	b = &bench{options: o, all: make(results), notes: make(map[string]*finding), versions: make(map[string]string), started: time.Now()}
	if err := os.MkdirAll(o.cache, 0o700); err != nil {
		return nil, err
	}
	if b.tmp, err = os.MkdirTemp(o.cache, "run-"); err != nil {
		return nil, err
	}
	if b.library, err = openLibrary(o.program, o.cache, o.seed); err != nil {
		return b, err
	}
	n := o.contacts
	b.main, err = b.library.get("main", []int{n * 80 / 100, n * 15 / 100, n - n*80/100 - n*15/100})
	return b, err
}

// measure does everything that was asked for, one step after the other. A step that fails leaves the figures of the others valid.
func (b *bench) measure() (err error) {
	for _, step := range []struct {
		name  string
		parts []string
		run   func() error
	}{
		{"the binary and the database", []string{"size"}, b.measureSizes},
		{"starts and idle memory", []string{"start", "memory"}, b.measureStarts},
		{"requests on SQLite", []string{"get", "list", "pages", "create", "beside", "memory", "allocations", "peers"}, b.measureRequests},
		{"flushes of the disk", []string{"flushes"}, b.measureFlushes},
		{"growth", []string{"growth", "walk"}, b.measureGrowth},
		{"requests on PostgreSQL", []string{"postgres"}, b.measurePostgres},
		{"a slow disk", []string{"slow"}, b.measureSlowDisk},
	} {
		if !b.wants(step.parts...) {
			continue
		}
		progress("%s: %s", time.Now().Format(time.TimeOnly), step.name)
		if failed := step.run(); failed != nil {
			progress("  failed: %v", failed)
			err = errors.Join(err, fmt.Errorf("%s: %w", step.name, failed))
		}
		b.stopAll()
	}
	return err
}

// variant is something that is measured in every round, once its first answer was compared with the right one.
type variant struct {
	name  string
	check func() error
	run   func(timing) result
}

// repeat runs the variants, each round beginning with another one. A variant that answers wrongly is not timed.
func (b *bench) repeat(variants []variant) {
	variants = slices.DeleteFunc(variants, func(v variant) bool {
		err := v.check()
		if err != nil {
			progress("  %s answers wrongly: %v", v.name, err)
			b.all[v.name] = []result{{err: fmt.Errorf("answers wrongly: %w", err)}}
		}
		return err != nil
	})
	for round := range b.rounds {
		b.fetch()
		for i := range variants {
			v := variants[(i+round)%len(variants)]
			r := v.run(b.timing)
			b.all[v.name] = append(b.all[v.name], r)
			if r.err != nil {
				progress("  round %d: %-34s failed: %v", round+1, v.name, r.err)
				continue
			}
			progress("  round %d: %-34s %9.0f/s %8.1f us", round+1, v.name, r.rate(), r.cpu)
		}
	}
}

// fetch reads the files of a step, so that the round that follows reads none of them from the disk: together they are larger than
// what was written last, and would push each other out of the page cache.
func (b *bench) fetch() {
	files, _ := filepath.Glob(filepath.Join(b.tmp, "*", "donorbook.db"))
	if b.main != nil {
		files = append(files, b.main.file())
	}
	for _, name := range files {
		if f, err := os.Open(name); err == nil {
			_, _ = io.Copy(io.Discard, f)
			_ = f.Close()
		}
	}
}

// serve starts our server on a dataset, with more arguments. A wrapper is a program that is told what to run.
func (b *bench) serve(d *dataset, wrapper []string, more ...string) (*server, error) {
	address, metrics := freeAddress(), freeAddress()
	a := d.Accounts[0]
	ready := request(nil, "GET", fmt.Sprintf("/v1/contacts/%d", firstActive(a, 1)[0]), a.Key, nil)
	args := []string{b.program, "--data", d.dir, "serve", "--tls", "off", "--rate-limit", "0", "--listen", address, "--metrics-listen", metrics}
	return b.start(address, metrics, ready, slices.Concat(wrapper, args, more)...)
}

// copy is a copy of a dataset, for a step that writes; it is removed with the step. It is on disk before this returns, so that no
// flush that is measured pays for it.
func (b *bench) copy(d *dataset, name string) (*dataset, error) {
	progress("  copying %.0f MB for %s", d.size(), name)
	copied := *d
	copied.dir = filepath.Join(b.tmp, name)
	b.closing = append(b.closing, func() { _ = os.RemoveAll(copied.dir) })
	return &copied, copyTree(d.dir, copied.dir)
}

func copyTree(from, to string) error {
	out, err := exec.Command("sh", "-c", `mkdir -p "$2" && cp -r "$1"/. "$2" && rm -f "$2"/*-shm && find "$2" -type f -exec sync {} +`, "sh", from, to).CombinedOutput()
	if err != nil {
		return fmt.Errorf("copying %s: %w\n%s", from, err, out)
	}
	return nil
}

// stopAll ends what a step has started, last first.
func (b *bench) stopAll() {
	for _, s := range b.running {
		s.stop()
	}
	for _, fn := range slices.Backward(b.closing) {
		fn()
	}
	b.running, b.closing, b.places = nil, nil, nil
}

func (b *bench) close() {
	b.stopAll()
	_ = os.RemoveAll(b.tmp)
}
