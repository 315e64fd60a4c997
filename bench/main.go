// Command bench measures the program by the goals that it has: against the fastest server that net/http allows, against a
// bare loop over the same database, on growing data, on SQLite and PostgreSQL, and beside a peer. It makes the data, starts
// and stops all servers, and prints one table. With 1,000,000 contacts it needs about 25 GB of disk, most of it for a while.
//
//	make bench         everything, with 1,000,000 contacts; writes docs/benchmarks.md and docs/benchmarks.svg
//	make bench-quick   everything, with 100,000 contacts, in less than three minutes
//	go run ./bench load -url http://localhost:8443 -key KEY -work get   loads servers that run already
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // as our server does: it must not win by that
	}
	switch command, rest := split(os.Args[1:]); command {
	case "ceiling":
		exit(ceiling(rest))
	case "raw":
		exit(rawCreates(rest))
	case "load":
		exit(loadRunning(rest))
	}
	exit(run(readFlags()))
}

// split takes the first word of a command line, where it is not a flag.
func split(args []string) (command string, rest []string) {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return "", args
	}
	return args[0], args[1:]
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func readFlags() (o options) {
	var seconds, warm float64
	var only string
	flag.IntVar(&o.contacts, "contacts", 1_000_000, "contacts in all")
	flag.IntVar(&o.rounds, "rounds", 5, "how often everything is measured")
	flag.Float64Var(&seconds, "seconds", 3, "how long each variant runs in a round")
	flag.Float64Var(&warm, "warm", 1, "how long it runs before that, in seconds")
	flag.StringVar(&only, "only", "", "parts to measure, separated by commas: "+strings.Join(parts, ", "))
	flag.StringVar(&o.postgres, "postgres", "", "measure PostgreSQL too: new is a throw-away cluster, anything else the URL of an empty database")
	flag.BoolVar(&o.peers, "peers", false, "measure PocketBase too")
	flag.StringVar(&o.out, "out", "", "directory for benchmarks.md and benchmarks.svg; left out, nothing is written")
	flag.Uint64Var(&o.seed, "seed", 1, "of the generated people")
	flag.StringVar(&o.program, "program", "bin/donorbook", "the program, as make build makes it")
	flag.StringVar(&o.cache, "cache", ".cache/bench", "directory in which data is kept from run to run")
	flag.Parse()
	if only != "" {
		o.only = strings.Split(only, ",")
	}
	o.timing = timing{warm: time.Duration(warm * float64(time.Second)), measured: time.Duration(seconds * float64(time.Second))}
	return o
}

func run(o options) error {
	started := time.Now()
	b, err := newBench(o)
	if b != nil {
		defer b.close()
		go b.closeOnSignal()
	}
	if err != nil {
		return err
	}
	failed := b.measure()
	r := b.report(started)
	if err := r.print(os.Stdout); err != nil {
		return err
	}
	progress("took %s", time.Since(started).Round(time.Second))
	if o.out == "" || failed != nil {
		return failed
	}
	return r.write(o.out)
}

// closeOnSignal leaves nothing behind where somebody has no patience.
func (b *bench) closeOnSignal() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	<-stop
	for _, s := range b.running {
		_ = s.cmd.Process.Kill() // what it was asked for no longer matters, and it may take its time to end in order
	}
	b.close()
	os.Exit(1)
}
