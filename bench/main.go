// Command bench measures the program by its goals: against the fastest server that net/http allows, against its own statements without the
// program around them, on growing data, on SQLite and PostgreSQL, and beside a peer. It makes the data, starts and stops all servers, and
// writes one page. With 1,000,000 contacts and gifts it needs about 20 GB of disk, half of it only while it runs.
//
//	make bench         everything, with 1,000,000 contacts and gifts; writes docs/benchmarks.md
//	make bench-quick   everything, with 100,000 contacts and gifts, in less than three minutes
//	bin/bench duplicates [FILE.csv]   how well the finder of duplicates finds them (duplicates.go)
//	bin/bench -only 'create|get'   only cells with such names; start, import and postgres are those of the steps
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
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

// commands are what can be asked for beside a run.
var commands = map[string]func(args []string){"ceiling": ceiling, "duplicates": duplicates}

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // as our server does: it must not win by that
	}
	command, args := run, os.Args[1:]
	if len(args) > 0 && commands[args[0]] != nil {
		command, args = commands[args[0]], args[1:]
	}
	if err := try(func() { command(args) }); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	contacts, rounds    int
	timing              timing
	only                *regexp.Regexp
	postgres, peers     bool
	out, program, cache string
}

func readFlags(args []string) (o options) {
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	flags.IntVar(&o.contacts, "contacts", 1_000_000, "contacts of the largest account, and gifts; at least 20,000")
	flags.IntVar(&o.rounds, "rounds", 3, "how often everything is measured")
	flags.DurationVar(&o.timing.measured, "for", time.Second, "how long each cell runs in a round")
	flags.DurationVar(&o.timing.warm, "warm", 300*time.Millisecond, "how long it runs before that")
	only := flags.String("only", "", "measure only what has a name that this regular expression matches")
	flags.BoolVar(&o.postgres, "postgres", false, "measure PostgreSQL too, in a throw-away cluster")
	flags.BoolVar(&o.peers, "peers", false, "measure PocketBase too")
	flags.StringVar(&o.out, "out", "", "directory for benchmarks.md; without it nothing is written")
	flags.StringVar(&o.program, "program", "bin/donorbook", "the program, as make build makes it")
	flags.StringVar(&o.cache, "cache", ".cache/bench", "directory in which data is kept from run to run")
	_ = flags.Parse(args) // it exits on an error
	o.only = must(regexp.Compile(*only))
	if o.contacts < 20_000 || o.rounds < 1 || o.timing.measured <= 0 {
		fail("there must be at least 20,000 contacts, one round and some time")
	}
	return o
}

// bench is one run.
type bench struct {
	options
	small, base, large, many size
	tmp                      string // copies and logs, removed at the end
	datasets                 map[string]*dataset
	places                   map[string]*place
	running                  []*server
	closing                  []func()
	figures                  map[string][]float64 // what was measured, round by round; the last word of a name is the unit
	failed                   map[string]error     // cells without figures
	slowest                  string               // filter
	versions                 map[string]string    // of PostgreSQL and PocketBase
	started                  time.Time
}

func newBench(o options) *bench {
	b := &bench{options: o, datasets: make(map[string]*dataset), places: make(map[string]*place), figures: make(map[string][]float64), failed: make(map[string]error), versions: make(map[string]string), started: time.Now()}
	b.small, b.base, b.large, b.many = size{1, 10_000}, size{1, 100_000}, size{1, o.contacts}, size{o.contacts / 1000, 1000}
	check(os.MkdirAll(o.cache, 0o700))
	b.tmp = must(os.MkdirTemp(o.cache, "run-"))
	return b
}

func run(args []string) {
	b := newBench(readFlags(args))
	defer b.close()
	go b.closeOnSignal()
	failed := b.measure()
	b.derive()
	fmt.Print(b.goalTable())
	progress("took %s", time.Since(b.started).Round(time.Second))
	check(failed)
	check(b.write())
}

// write writes the page, which says what could not be measured. That is no success, and then the README stays as it is.
func (b *bench) write() error {
	if b.out != "" {
		check(os.WriteFile(filepath.Join(b.out, "benchmarks.md"), []byte(b.page()), 0o644))
	}
	if b.out == "" || len(b.failed) > 0 {
		return errors.Join(slices.Collect(maps.Values(b.failed))...)
	}
	readme := filepath.Join(b.out, "..", "README.md")
	text := fillIn(string(must(os.ReadFile(readme))), b.readmeFigures())
	return os.WriteFile(readme, []byte(text), 0o644)
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

// repeat measures cells in rounds, each beginning with another one. A cell that answers wrongly, or fails once, has no figures.
func (b *bench) repeat(cells []cell) {
	tasks := make(map[string]task)
	cells = slices.DeleteFunc(cells, func(c cell) bool {
		if _, twice := tasks[c.name]; twice || !b.only.MatchString(c.name) {
			return true
		}
		err := try(func() {
			tasks[c.name] = c.task(b.place(c.at, c.size))
			tasks[c.name].check()
		})
		return b.fails(c.name, err)
	})
	for round := range b.rounds {
		b.fetch()
		for i := range cells {
			if name := cells[(i+round*len(cells)/b.rounds)%len(cells)].name; b.failed[name] == nil {
				if r := tasks[name].run(b.timing); !b.fails(name, r.err) {
					b.keep(name, r)
				}
			}
		}
	}
}

// fails notes why a cell has no figures.
func (b *bench) fails(name string, err error) bool {
	if err != nil {
		progress("  %s fails: %v", name, err)
		b.failed[name] = err
		for _, unit := range []string{" us", " /s", " p50 ms", " p99 ms", " MB"} {
			delete(b.figures, name+unit)
		}
	}
	return err != nil
}

// result is what one cell did in one round.
type result struct {
	requests int
	seconds  float64
	p50, p99 time.Duration
	cpu      time.Duration // of the server
	rss      float64       // MB of the server at the end
	err      error
}

func (b *bench) keep(name string, r result) {
	us := float64(r.cpu.Nanoseconds()) / 1000 / float64(r.requests)
	progress("  %-60s %9.0f/s %8.1f us", name, float64(r.requests)/r.seconds, us)
	for unit, value := range map[string]float64{" us": us, " /s": float64(r.requests) / r.seconds, " p50 ms": milliseconds(r.p50), " p99 ms": milliseconds(r.p99), " MB": r.rss} {
		b.figures[name+unit] = append(b.figures[name+unit], value)
	}
}

// fetch reads the files of a step, so that the round that follows reads none of them from the disk.
func (b *bench) fetch() {
	for _, p := range b.places {
		output("sh", "-c", `cat "$1" >/dev/null`, "sh", p.data.file())
	}
}

// copy is a copy of a dataset, for what writes; it is removed with the step. It is on disk before this returns, so that no flush that is
// measured pays for it.
func (b *bench) copy(d *dataset, name string) *dataset {
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
	b.running, b.closing = nil, nil
	clear(b.places)
}

func (b *bench) close() {
	b.stopAll()
	_ = os.RemoveAll(b.tmp)
}

// closeOnSignal leaves nothing behind when the run is interrupted.
func (b *bench) closeOnSignal() {
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	<-ctx.Done()
	for _, s := range b.running {
		_ = s.cmd.Process.Kill() // its work no longer matters, and an orderly end may take a while
	}
	b.close()
	os.Exit(1)
}

// note keeps another value of what a step measures.
func (b *bench) note(name string, value float64) {
	progress("  %s: %.1f", name, value)
	b.figures[name] = append(b.figures[name], value)
}

// progress tells on standard error what goes on.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
