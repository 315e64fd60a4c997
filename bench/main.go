// Command bench measures the program by its goals: against the fastest server that net/http allows, against a bare loop over the same
// database, on growing data, on SQLite and PostgreSQL, and beside a peer. It makes the data, starts and stops all servers, and prints
// one table. With 1,000,000 contacts and gifts it needs about 30 GB of disk, most of it only while it runs.
//
//	make bench         everything, with 1,000,000 contacts and gifts; writes docs/benchmarks.md and docs/benchmarks.svg
//	make bench-quick   everything, with 100,000 contacts and 20,000 gifts, in less than three minutes
//	go run ./bench load -url http://localhost:8443 -key KEY -work get   loads servers that already run
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"
)

// others are what the program does beside measuring.
var others = map[string]func([]string){"ceiling": ceiling, "raw": rawCreates, "load": loadRunning}

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // as our server does: it must not win by that
	}
	command, args := run, os.Args[1:]
	if len(args) > 0 && others[args[0]] != nil {
		command = others[args[0]]
	}
	if err := try(func() { command(args) }); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func readFlags(args []string) (o options) {
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	flags.IntVar(&o.contacts, "contacts", 1_000_000, "contacts in all")
	flags.IntVar(&o.gifts, "gifts", 0, "gifts in all; without it as many as contacts")
	flags.IntVar(&o.rounds, "rounds", 3, "how often everything is measured")
	seconds := flags.Float64("seconds", 1.8, "how long each variant runs in a round")
	warm := flags.Float64("warm", 0.6, "how long it runs before that, in seconds")
	flags.Func("only", "parts to measure, separated by commas: "+strings.Join(parts, ", "), func(list string) error {
		o.only = strings.Split(list, ",")
		return nil
	})
	flags.StringVar(&o.postgres, "postgres", "", "measure PostgreSQL too: new is a throw-away cluster, anything else the URL of an empty database")
	flags.BoolVar(&o.peers, "peers", false, "measure PocketBase too")
	flags.StringVar(&o.out, "out", "", "directory for benchmarks.md and benchmarks.svg; without it nothing is written")
	flags.StringVar(&o.program, "program", "bin/donorbook", "the program, as make build makes it")
	flags.StringVar(&o.cache, "cache", ".cache/bench", "directory in which data is kept from run to run")
	_ = flags.Parse(args) // it exits on an error
	o.gifts = cmp.Or(o.gifts, o.contacts)
	o.timing = timing{warm: time.Duration(*warm * float64(time.Second)), measured: time.Duration(*seconds * float64(time.Second))}
	return o
}

func run(args []string) {
	b := newBench(readFlags(args))
	defer b.close()
	go b.closeOnSignal()
	failed := b.measure()
	b.outcomes = b.judge()
	fmt.Print(b.goalTable())
	progress("took %s", time.Since(b.started).Round(time.Second))
	check(failed)
	if b.out != "" {
		b.write()
	}
}

// closeOnSignal leaves nothing behind when the run is interrupted.
func (b *bench) closeOnSignal() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	<-stop
	for _, s := range b.running {
		_ = s.cmd.Process.Kill() // its work no longer matters, and an orderly end may take a while
	}
	b.close()
	os.Exit(1)
}

// progress tells on standard error what goes on.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// options are the flags.
type options struct {
	contacts, gifts, rounds       int
	timing                        timing
	only                          []string
	peers                         bool
	postgres, out, program, cache string
}

// bench is one run.
type bench struct {
	options
	main     *dataset // accounts of 80, 15 and 5 % of the contacts
	tmp      string   // copies and logs, removed at the end
	running  []*server
	places   map[string]*place
	closing  []func()
	all      results
	notes    map[string]*finding // what is measured once, not in rounds of requests
	versions map[string]string   // of PostgreSQL and PocketBase
	outcomes []outcome
	used     []string // what the datasets of this run are, and how large
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
var parts = []string{"get", "list", "pages", "walk", "create", "flushes", "slow", "beside", "memory", "start", "size", "postgres", "allocations", "growth", "gifts", "import", "peers"}

// wants tells whether any of these parts was asked for.
func (b *bench) wants(names ...string) bool {
	return slices.ContainsFunc(names, func(part string) bool {
		left := part == "peers" && !b.peers || part == "postgres" && b.postgres == ""
		return !left && (len(b.only) == 0 || slices.Contains(b.only, part))
	})
}

func newBench(o options) *bench {
	for _, name := range o.only {
		if !slices.Contains(parts, name) {
			fail("-only %s: the parts are %s", name, strings.Join(parts, ", "))
		}
	}
	if min(o.contacts, o.gifts) < 1000 || o.rounds < 1 || o.timing.measured <= 0 {
		fail("there must be at least 1000 contacts and gifts, one round and some time")
	}
	b := &bench{options: o, all: make(results), notes: make(map[string]*finding), versions: make(map[string]string), started: time.Now()}
	check(os.MkdirAll(o.cache, 0o700))
	b.tmp = must(os.MkdirTemp(o.cache, "run-"))
	return b
}

// measure does everything that was asked for, one step after the other. A step that fails leaves the figures of the others valid.
func (b *bench) measure() (err error) {
	if n := b.contacts; !slices.Equal(b.only, []string{"import"}) { // which brings its own people
		b.main = b.dataset("main", []int{n * 80 / 100, n * 15 / 100, n - n*80/100 - n*15/100})
	}
	for _, step := range []struct {
		name  string
		parts []string
		run   func()
	}{
		{"the binary and the database", []string{"size"}, b.measureSizes},
		{"starts and idle memory", []string{"start", "memory"}, b.measureStarts},
		{"requests on SQLite", []string{"get", "list", "pages", "create", "beside", "memory", "allocations", "peers"}, b.measureRequests},
		{"flushes of the disk", []string{"flushes"}, b.measureFlushes},
		{"growth", []string{"growth", "walk"}, b.measureGrowth},
		{"gifts", []string{"gifts"}, b.measureGifts},
		{"files", []string{"import"}, b.measureImport},
		{"requests on PostgreSQL", []string{"postgres"}, b.measurePostgres},
		{"a slow disk", []string{"slow"}, b.measureSlowDisk},
	} {
		if !b.wants(step.parts...) {
			continue
		}
		progress("%s: %s", time.Now().Format(time.TimeOnly), step.name)
		if failed := try(step.run); failed != nil {
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
	check func()
	run   func(timing) result
}

// repeat runs the variants, each round beginning with another one. A variant that answers wrongly is not timed.
func (b *bench) repeat(variants []variant) {
	variants = slices.DeleteFunc(variants, func(v variant) bool {
		err := try(v.check)
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
func (b *bench) serve(d *dataset, wrapper []string, more ...string) *server {
	address, metrics := freeAddress(), freeAddress()
	a := d.Accounts[0]
	ready := request(nil, "GET", fmt.Sprintf("/v1/contacts/%d", firstActive(a, 1)[0]), a.Key, nil)
	args := []string{b.program, "--data", d.dir, "serve", "--tls", "off", "--rate-limit", "0", "--listen", address, "--metrics-listen", metrics}
	return b.start(address, metrics, ready, slices.Concat(wrapper, args, more)...)
}

// copy is a copy of a dataset, for a step that writes; it is removed with the step. It is on disk before this returns, so that no
// flush that is measured pays for it.
func (b *bench) copy(d *dataset, name string) *dataset {
	progress("  copying %.0f MB for %s", d.size(), name)
	copied := *d
	copied.dir = filepath.Join(b.tmp, name)
	b.closing = append(b.closing, func() { _ = os.RemoveAll(copied.dir) })
	copyTree(d.dir, copied.dir)
	return &copied
}

func copyTree(from, to string) {
	output("sh", "-c", `mkdir -p "$2" && cp -r "$1"/. "$2" && rm -f "$2"/*-shm && find "$2" -type f -exec sync {} +`, "sh", from, to)
}

// stopAll ends what a step has started, last first.
func (b *bench) stopAll() {
	for _, s := range b.running {
		s.stop()
	}
	for _, fn := range slices.Backward(b.closing) {
		_ = try(fn)
	}
	b.running, b.closing, b.places = nil, nil, nil
}

func (b *bench) close() {
	b.stopAll()
	_ = os.RemoveAll(b.tmp)
}
