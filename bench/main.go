// Command bench measures the program by its goals: against the fastest server that net/http allows, against a bare loop over the same
// database, on growing data, on SQLite and PostgreSQL, and beside a peer. It makes the data, starts and stops all servers, and writes one
// page. With 1,000,000 contacts and gifts it needs about 20 GB of disk, half of it only while it runs.
//
//	make bench         everything, with 1,000,000 contacts and gifts; writes docs/benchmarks.md and docs/benchmarks.svg
//	make bench-quick   everything, with 100,000 contacts and gifts, in less than three minutes
//	bin/bench duplicates [FILE.csv]   how well the finder of duplicates finds them (duplicates.go)
//	bin/bench -only 'create|get'   only variants with such names; start, import and postgres are those of the steps
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // as our server does: it must not win by that
	}
	command, args := run, os.Args[1:]
	if len(args) > 0 && args[0] == "ceiling" { // which a run starts
		command = ceiling
	}
	if len(args) > 0 && args[0] == "duplicates" {
		command, args = duplicates, args[1:]
	}
	if err := try(func() { command(args) }); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func readFlags(args []string) (o options) {
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	flags.IntVar(&o.contacts, "contacts", 1_000_000, "contacts of the largest account, and gifts; at least 20,000")
	flags.IntVar(&o.rounds, "rounds", 3, "how often everything is measured")
	flags.DurationVar(&o.timing.measured, "for", time.Second, "how long each variant runs in a round")
	flags.DurationVar(&o.timing.warm, "warm", 300*time.Millisecond, "how long it runs before that")
	only := flags.String("only", "", "measure only what has a name that this regular expression matches")
	flags.BoolVar(&o.postgres, "postgres", false, "measure PostgreSQL too, in a throw-away cluster")
	flags.BoolVar(&o.peers, "peers", false, "measure PocketBase too")
	flags.StringVar(&o.out, "out", "", "directory for benchmarks.md and benchmarks.svg; without it nothing is written")
	flags.StringVar(&o.program, "program", "bin/donorbook", "the program, as make build makes it")
	flags.StringVar(&o.cache, "cache", ".cache/bench", "directory in which data is kept from run to run")
	_ = flags.Parse(args) // it exits on an error
	o.only = must(regexp.Compile(*only))
	if o.contacts < 20_000 || o.rounds < 1 || o.timing.measured <= 0 {
		fail("there must be at least 20,000 contacts, one round and some time")
	}
	return o
}

func run(args []string) {
	b := newBench(readFlags(args))
	defer b.close()
	go b.closeOnSignal()
	failed := b.measure()
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
	contacts, rounds    int
	timing              timing
	only                *regexp.Regexp
	postgres, peers     bool
	out, program, cache string
}

// bench is one run.
type bench struct {
	options
	sizes
	tmp      string // copies and logs, removed at the end
	running  []*server
	places   map[string]*place
	datasets map[string]*dataset
	closing  []func()
	all      results
	notes    map[string][]float64 // what is measured in another way than by requests
	versions map[string]string    // of PostgreSQL and PocketBase
	started  time.Time
}

// note keeps another value of what a step measures.
func (b *bench) note(name string, value float64) { b.notes[name] = append(b.notes[name], value) }

func newBench(o options) *bench {
	b := &bench{options: o, sizes: sizesOf(o.contacts), datasets: make(map[string]*dataset), all: make(results), notes: make(map[string][]float64), versions: make(map[string]string), started: time.Now()}
	check(os.MkdirAll(o.cache, 0o700))
	b.tmp = must(os.MkdirTemp(o.cache, "run-"))
	return b
}

// measure does one step after the other. A step that fails leaves the figures of the others valid.
func (b *bench) measure() (err error) {
	for _, s := range []size{b.small, b.base, b.large, b.many} {
		if err := try(func() { b.dataset(s) }); err != nil {
			return err
		}
	}
	for _, step := range []struct {
		name string
		run  func()
	}{{"start", b.measureStarts}, {"requests", b.measureRequests}, {"import", b.measureImport}, {"postgres", b.measurePostgres}} {
		if step.name != "requests" && !b.only.MatchString(step.name) || step.name == "postgres" && !b.postgres {
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
	name string
	task
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
			v := variants[(i+round*len(variants)/b.rounds)%len(variants)]
			r := v.run(b.timing)
			b.all[v.name] = append(b.all[v.name], r)
			if r.err != nil {
				progress("  round %d: %-40s failed: %v", round+1, v.name, r.err)
				continue
			}
			progress("  round %d: %-40s %9.0f/s %8.1f us", round+1, v.name, r.rate(), r.cpu)
		}
	}
}

// fetch reads the files of a step, so that the round that follows reads none of them from the disk: together they are larger than what was
// written last, and would push each other out of the page cache.
func (b *bench) fetch() {
	for _, p := range b.places {
		if p.data == nil || p.remote {
			continue
		}
		if f, err := os.Open(p.data.file()); err == nil {
			_, _ = io.Copy(io.Discard, f)
			_ = f.Close()
		}
	}
}

// serve starts our server on a dataset, with more arguments.
func (b *bench) serve(d *dataset, more ...string) *server {
	address := freeAddress()
	ready := request(nil, "GET", contactPath(d.Accounts[0].id(0)), d.Accounts[0].Key, nil)
	args := []string{b.program, "--data", d.dir, "serve", "--tls", "off", "--rate-limit", "0", "--listen", address}
	return b.start(address, ready, append(args, more...)...)
}

// copy is a copy of a dataset, for a step that writes; it is removed with the step. It is on disk before this returns, so that no flush that
// is measured pays for it.
func (b *bench) copy(d *dataset, name string) *dataset {
	progress("  copying %.0f MB for %s", d.size(), name)
	copied := *d
	copied.dir = filepath.Join(b.tmp, strings.ReplaceAll(name, " ", "-"))
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
