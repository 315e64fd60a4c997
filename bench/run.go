package main

import (
	"errors"
	"fmt"
	"io"
	"os"
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
	library *library
	main    *dataset // accounts of 80, 15 and 5 % of the contacts
	tmp     string   // copies and logs, removed at the end
	running []*server
	closing []func()
	all     results
	facts   facts
}

// facts are what is measured once, not in rounds of requests.
type facts struct {
	starts, firstLists, idle []float64 // ms, ms, MB
	peak                     float64   // MB of the largest of our servers under load
	walk                     []float64 // last tenth of the pages by the first tenth
	walked                   int       // contacts
	walkSeconds              []float64
	grouped, alone           []float64 // microseconds a create on a slow disk
	flushes                  []flushing
	rawFlushes               flushing
	unwatched                string  // why flushes were not counted
	binary                   float64 // MB
	static                   bool
	stored                   float64 // size of the database by the bytes of its documents
	postgres                 string  // its version, and the size of the database
	pocketbase               string  // its version
}

// variant is something that is measured in every round, once a first answer of it was compared with the right one.
type variant struct {
	name  string
	check func() error
	run   func(timing) result
}

// wants tells whether a part of the run was asked for.
func (b *bench) wants(part string) bool {
	return len(b.only) == 0 || slices.Contains(b.only, part)
}

// parts are the names that -only takes.
var parts = []string{"get", "list", "pages", "walk", "create", "flushes", "slow", "beside", "memory", "start", "size", "postgres", "allocations", "growth", "peers"}

func newBench(o options) (b *bench, err error) {
	for _, name := range o.only {
		if !slices.Contains(parts, name) {
			return nil, fmt.Errorf("-only %s: the parts are %s", name, strings.Join(parts, ", "))
		}
	}
	if o.contacts < 1000 || o.rounds < 1 || o.timing.measured <= 0 {
		return nil, errors.New("there must be 1000 contacts, a round and some time at least")
	}
	b = &bench{options: o, all: make(results)}
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

// measure does everything that was asked for, one step after the other. A step that fails does not take the figures of the
// others with it.
func (b *bench) measure() (err error) {
	for _, step := range []struct {
		name  string
		parts []string
		run   func() error
	}{
		{"the binary", []string{"size"}, b.measureBinary},
		{"starts and idle memory", []string{"start", "memory"}, b.measureStarts},
		{"requests on SQLite", []string{"get", "list", "pages", "create", "beside", "memory", "allocations", "peers"}, b.measureRequests},
		{"flushes of the disk", []string{"flushes"}, b.measureFlushes},
		{"growth", []string{"growth", "walk"}, b.measureGrowth},
		{"requests on PostgreSQL", []string{"postgres"}, b.measurePostgres},
		{"a slow disk", []string{"slow"}, b.measureSlowDisk},
	} {
		if !slices.ContainsFunc(step.parts, b.wants) {
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

// repeat runs the variants, each round beginning with another one. What answers wrongly is not timed at all.
func (b *bench) repeat(variants []variant) {
	variants = b.checked(variants)
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

// checked are the variants that answer what they should. Of the others the error is kept.
func (b *bench) checked(variants []variant) (sound []variant) {
	for _, v := range variants {
		if err := v.check(); err != nil {
			progress("  %s answers wrongly: %v", v.name, err)
			b.all[v.name] = []result{{err: fmt.Errorf("answers wrongly: %w", err)}}
			continue
		}
		sound = append(sound, v)
	}
	return sound
}

// fetch reads the files of a step, so that none of them must be read from the disk in the round that follows: together they
// are larger than what is made last, and would push each other out of the page cache.
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

// serve starts our server on a dataset.
func (b *bench) serve(d *dataset, more ...string) (*server, error) {
	return b.serveUnder(nil, d, more...)
}

// serveUnder starts our server through another program, which is told what to run.
func (b *bench) serveUnder(wrapper []string, d *dataset, more ...string) (*server, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	metrics, err := freeAddress()
	if err != nil {
		return nil, err
	}
	a := d.Accounts[0]
	ready := request(nil, "GET", fmt.Sprintf("/v1/contacts/%d", firstActive(a, 1)[0]), a.Key, nil)
	args := append([]string{b.program, "--data", d.dir, "serve", "--tls", "off", "--rate-limit", "0", "--listen", address, "--metrics-listen", metrics}, more...)
	args = slices.Concat(wrapper, args)
	s, err := start(b.tmp, address, metrics, ready, args[0], args[1:]...)
	if err == nil {
		b.running = append(b.running, s)
	}
	return s, err
}

// serveCopy starts our server on a copy, for writing.
func (b *bench) serveCopy(d *dataset, name string) (*server, *dataset, error) {
	copied, err := b.copy(d, name)
	if err != nil {
		return nil, nil, err
	}
	s, err := b.serve(copied)
	return s, copied, err
}

// copy is a copy of a dataset that is removed with the step it was made for.
func (b *bench) copy(d *dataset, name string) (*dataset, error) {
	progress("  copying %.0f MB for %s", d.size(), name)
	dir := filepath.Join(b.tmp, name)
	b.closing = append(b.closing, func() { _ = os.RemoveAll(dir) })
	return d.copy(dir)
}

// stopAll ends what a step has started, last first.
func (b *bench) stopAll() {
	for _, s := range b.running {
		s.stop()
	}
	for _, fn := range slices.Backward(b.closing) {
		fn()
	}
	b.running, b.closing = nil, nil
}

func (b *bench) close() {
	b.stopAll()
	_ = os.RemoveAll(b.tmp)
}
