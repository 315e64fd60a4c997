// Command bench measures the program by its goals: against the fastest server that net/http allows, against a bare loop over the same
// database, on growing data, on SQLite and PostgreSQL, and beside a peer. It makes the data, starts and stops all servers, and prints
// one table. With 1,000,000 contacts it needs about 25 GB of disk, most of it only while it runs.
//
//	make bench         everything, with 1,000,000 contacts; writes docs/benchmarks.md and docs/benchmarks.svg
//	make bench-quick   everything, with 100,000 contacts, in less than three minutes
//	go run ./bench load -url http://localhost:8443 -key KEY -work get   loads servers that already run
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
	command := run
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "ceiling":
			command = ceiling
		case "raw":
			command = rawCreates
		case "load":
			command = loadRunning
		}
	}
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func readFlags(args []string) (o options) {
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	flags.IntVar(&o.contacts, "contacts", 1_000_000, "contacts in all")
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
	flags.Uint64Var(&o.seed, "seed", 1, "of the generated people")
	flags.StringVar(&o.program, "program", "bin/donorbook", "the program, as make build makes it")
	flags.StringVar(&o.cache, "cache", ".cache/bench", "directory in which data is kept from run to run")
	_ = flags.Parse(args) // it exits on an error
	o.timing = timing{warm: time.Duration(*warm * float64(time.Second)), measured: time.Duration(*seconds * float64(time.Second))}
	return o
}

func run(args []string) error {
	b, err := newBench(readFlags(args))
	if b != nil {
		defer b.close()
		go b.closeOnSignal()
	}
	if err != nil {
		return err
	}
	failed := b.measure()
	b.outcomes = b.judge()
	fmt.Print(b.goalTable())
	progress("took %s", time.Since(b.started).Round(time.Second))
	if b.out == "" || failed != nil {
		return failed
	}
	return b.write()
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
