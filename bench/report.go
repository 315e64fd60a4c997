package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// report is everything that is told at the end.
type report struct {
	outcomes []outcome
	all      results
	machine  machine
	contacts int
	rounds   int
	timing   timing
	seed     uint64
	sizes    []size
	files    []string // datasets with their sizes
	facts    facts
	at       time.Time
	took     time.Duration
}

func (b *bench) report(started time.Time) *report {
	r := &report{
		outcomes: b.judge(), all: b.all, machine: describeMachine(b.tmp), contacts: b.contacts, rounds: b.rounds, timing: b.timing,
		seed: b.seed, sizes: growthSizes(b.contacts), facts: b.facts, at: started, took: time.Since(started),
	}
	r.files = b.library.used
	return r
}

// print writes the one table.
func (r *report) print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "GOAL\t\tOURS\tCEILING OR PEER\tRESULT\tLIMIT\tBARE PARTS ALONE\t")
	for _, o := range r.outcomes {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", o.number, o.words, dash(o.ours), dash(o.other), o.valueText(), o.limitText(), o.bareText(), o.verdict())
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, o := range r.outcomes {
		if o.reason != "" && o.reason != notAsked {
			_, _ = fmt.Fprintf(w, "%s is not measured: %s\n", o.number, o.reason)
		}
	}
	return nil
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// notesMark begins the part of the page that people write: it is kept.
const notesMark = "<!-- What follows is written by hand; the program keeps it. -->"

// write puts the page and the picture into a directory.
func (r *report) write(dir string) error {
	path := filepath.Join(dir, "benchmarks.md")
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	page := r.markdown()
	if _, notes, found := strings.Cut(string(old), notesMark); found {
		page += "\n" + notesMark + notes
	}
	if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "benchmarks.svg"), r.picture(), 0o644)
}

func (r *report) markdown() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Benchmarks\n")
	line("Written by `make bench` on %s, in %.0f minutes. The program is in [bench/](../bench/).\n", r.at.UTC().Format(time.DateOnly), math.Ceil(r.took.Minutes()))
	line("![The goals, and the price of requests as the data grows](benchmarks.svg)\n")
	line("## How\n")
	line("- Machine: %s. The server, the clients and PostgreSQL share it.", r.machine)
	line("- Data: %s. One contact in 16 is archived, each has about 1.3 KB of JSON; the three accounts have 80, 15 and 5 %% of them; seed %d. The files are read before each round, so that they are in the page cache.",
		strings.Join(r.files, "; "), r.seed)
	if r.facts.postgres != "" {
		line("- PostgreSQL %s, with fsync on; its processor time counts together with the client's. The loop over pgx writes a group with as few statements and round trips as our server, each group in one account.", r.facts.postgres)
	}
	if r.facts.pocketbase != "" {
		line("- PocketBase %s with its shipped settings (synchronous=NORMAL), a collection with the same fields and a unique index on the email, %s contacts.",
			r.facts.pocketbase, thousands(min(r.contacts, peerContacts)))
	}
	line("- %s; in each, every variant runs for %s after %s of warm-up, each round beginning with another one. Ratios are made inside a round; the table has the median and [smallest..largest].",
		counted(r.rounds, "round"), r.timing.measured, r.timing.warm)
	line("- Ratios are of processor time a request, of the server's process. Our server runs with its shipped settings: logs on, synchronous=FULL, exact totals, keys and sessions checked, de-duplication on; only TLS and the rate limit are off. " +
		"Before a variant is timed one of its answers is compared with the database; a wrong one, any answer but 2xx or a broken connection makes its figures invalid.")
	line("- The ceiling is a bare net/http server that routes, takes a key, hashes it, looks it up and answers fixed bytes of the same length; it, raw and pgx collect their garbage as rarely as our server. " +
		"Raw is a loop over the same driver, settings and schema with the same look-ups and inserts, 100 in a transaction, synchronous=FULL.")
	line("- Flushes are counted by strace in a step of its own, whose times do not count; commits are counted by SQLite itself. " +
		"Fewer than one flush a commit would mean that something was acknowledged before it was on disk; moving the log into the database adds some.")
	line("- The search in the console is typed by a user who has signed in, as the page's script sends it: a rare name, two words in either order, a common first name, " +
		"an email, a phone number and a tag, each by itself. An answer has up to 50 contacts. Among many accounts, eight are searched.")
	line("- The slow disk is a benchmark inside `internal/db` (`BenchmarkCreateOnASlowDisk`), where a commit waits 2 ms longer, with 64 clients: the flushes of a static program cannot be slowed down from outside.\n")
	line("Repeat it: `make bench`, with `PEERS=1` for PocketBase; `make bench-quick` takes less than three minutes.\n")
	line("## Goals\n")
	line("Bare parts alone is what a server would reach that does nothing but what must be: for GET and list the ceiling and the same read by raw; for create a bare server that reads " +
		"the body and answers, and raw in transactions of 32, about as large as those of 64 clients; on PostgreSQL the bare server and the loop over pgx, for create in transactions of 32 (the bare server's figures are from the rounds on SQLite); " +
		"beside creates the bare server; in growth raw on each amount of data.\n")
	r.goalTable(line)
	line("\n## Growth\n")
	r.growthTable(line)
	line("\n## Everything measured\n")
	r.allTable(line)
	return b.String()
}

func (r *report) goalTable(line func(string, ...any)) {
	line("| goal | what | ours | ceiling or peer | result | limit | bare parts alone | |")
	line("|---|---|---|---|---|---|---|---|")
	for _, o := range r.outcomes {
		verdict := o.verdict()
		if !o.met() {
			verdict = "**" + verdict + "**"
		}
		line("| %s | %s | %s | %s | %s | %s | %s | %s |", o.number, o.words, dash(o.ours), dash(o.other), o.valueText(), o.limitText(), o.bareText(), verdict)
	}
	for _, o := range r.outcomes {
		if o.reason != "" && o.reason != notAsked {
			line("\n%s is not measured: %s.", o.number, oneLine(o.reason))
		}
	}
}

// growthTable has a row for each work and a column for each size.
func (r *report) growthTable(line func(string, ...any)) {
	head, rule := "| microseconds of the server a request |", "|---|"
	for _, s := range r.sizes {
		head, rule = head+" "+s.name+" |", rule+"---|"
	}
	line("%s", head)
	line("%s", rule)
	works := r.growthWorks()
	if len(works) > 0 {
		works = append(works, growthLimit)
	}
	for _, work := range works {
		row := "| " + work + " |"
		for _, s := range r.sizes {
			row += " " + r.all.of(growthName(work, s.name), cpuOf).text("") + " |"
		}
		line("%s", row)
	}
}

// growthWorks are the works that were measured on every size, in order.
func (r *report) growthWorks() (names []string) {
	for _, w := range growthWorks(nil, generator{}, nil) {
		if _, found := r.all[growthName(w.name, r.sizes[0].name)]; found {
			names = append(names, w.name)
		}
	}
	return names
}

func (r *report) allTable(line func(string, ...any)) {
	line("Medians. The number after the comma is that of connections; raw and pgx are loops without any.\n")
	line("| variant | requests a second | p50 ms | p99 ms | server us a request | server MB | allocations | bytes |")
	line("|---|---|---|---|---|---|---|---|")
	var names []string
	for name := range r.all {
		if !strings.HasPrefix(name, "growth: ") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if reason := r.all.failure(name); reason != "" {
			line("| %s | failed: %s | | | | | | |", name, oneLine(reason))
			continue
		}
		median := func(measure func(result) float64) float64 { return r.all.of(name, measure).median }
		line("| %s | %s | %s | %s | %s | %s | %s | %s |", name, thousands(int(median(result.rate))),
			unlessZero(median(func(r result) float64 { return milliseconds(r.p50) })), unlessZero(median(func(r result) float64 { return milliseconds(r.p99) })),
			number(median(cpuOf)), unlessZero(median(func(r result) float64 { return r.rss })),
			unlessZero(median(mallocsOf)), unlessZero(median(bytesOf)))
	}
}

func unlessZero(v float64) string {
	if v == 0 {
		return ""
	}
	return number(v)
}

// oneLine makes a text fit into a cell.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 200 {
		text = text[:200]
	}
	return strings.ReplaceAll(text, "|", "/")
}
