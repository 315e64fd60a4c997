package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// goal is something that the program must reach, with what was measured for it.
type goal struct {
	number string
	words  string
	limit  float64
	atMost bool
	unit   string // of the number, as it is written behind it
	finding
	spread spread
}

// finding is what was measured for a goal.
type finding struct {
	ours, other string
	values      []float64
	reason      string // why there are no values
}

// met tells whether the median reaches the limit.
func (o goal) met() bool { return o.reason == "" && o.share() >= 1 }

// share is how much of the goal was reached: 1 is just enough, more is better.
func (o goal) share() float64 {
	if o.atMost {
		return o.limit / o.spread.median
	}
	return o.spread.median / o.limit
}

func (o goal) verdict() string {
	switch {
	case o.reason != "":
		return "not measured"
	case o.met():
		return "met"
	}
	return "not met"
}

// bound says on which side of the limit the result must be.
func (o goal) bound() string {
	if o.atMost {
		return "at most " + number(o.limit) + o.unit
	}
	return "at least " + number(o.limit) + o.unit
}

// goals are all of them, in the order of the table.
func (b *bench) goals() (list []goal) {
	add := func(number, words string, limit float64, atMost bool, unit string, f finding) {
		if f.reason == "" && len(f.values) == 0 {
			f.reason = notRun + words
		}
		if f.reason != "" {
			f = finding{reason: f.reason}
		}
		list = append(list, goal{number, words, limit, atMost, unit, f, spreadOf(f.values)})
	}
	atLeast := func(number, words string, limit float64, f finding) { add(number, words, limit, false, "x", f) }
	atMost := func(number, words string, limit float64, unit string, f finding) {
		add(number, words, limit, true, unit, f)
	}
	small, large, many := b.small, b.large, b.many
	firstPage, newContact := at("contact list, page 1", large), at("create", b.base)

	atLeast("1", "read a contact, against a bare server", 0.50, b.shareOf("get ceiling", at("get", large)))
	atLeast("1", "read a contact, against PocketBase", 12, b.shareOf("pocketbase get", at("get", large)))
	atLeast("2", "list of 20, against a bare server", 0.50, b.shareOf("list ceiling", firstPage))
	atLeast("2", "list of 20, against PocketBase", 100, b.shareOf("pocketbase list", firstPage))
	for _, l := range []string{"contact", "gift", "plan"} {
		atMost("3", l+"s: last page against page 1", 1.5, "x", b.timesAs(at(l+" list, last page", large), at(l+" list, page 1", large)))
	}
	atLeast("4", "create a contact, against raw SQLite", 0.65, b.shareOf(at("create raw", b.base), newContact))
	atLeast("4", "create a contact, against PocketBase", 5, b.shareOf("pocketbase create", newContact))
	atMost("4", "create a contact, processor time", 230, " us", b.measured(newContact, cpuOf))
	atMost("5", "record a gift, against create a contact", 1.5, "x", b.timesAs(at("gift", large), at("create", large)))
	atMost("5", fmt.Sprintf("record a gift: %s gifts against %s", large.name, small.name), 1.5, "x", b.timesAs(at("gift", large), at("gift", small)))
	atMost("6", "p99 of reads beside creates, against a bare server there", 3, "x", b.besideCreates())
	atMost("7", "import, elapsed, against a raw bulk load", 1.3, "x", b.importing())
	atMost("7", "memory of the import", 200, " MB", b.noted("import memory"))
	atMost("7", "memory of an export", 150, " MB", b.noted("export memory"))
	atMost("8", "memory, idle", 45, " MB", b.noted("idle"))
	atMost("8", "memory, largest under load", 160, " MB", b.noted("loaded"))
	atMost("8", "memory after the last round against the first", 1.2, "x", b.grown())
	atMost("8", "start to first answer", 60, " ms", b.noted("start"))
	atLeast("9", "PostgreSQL: create, against groups of 32 by pgx", 0.50, b.shareOf("postgres create pgx", "postgres create"))
	atLeast("9", "PostgreSQL: read, against a point read by pgx", 0.70, b.shareOf("postgres get pgx", "postgres get"))
	for _, work := range []string{"get", "list, any page", "search, a rare name", "search, a common name", "create", "change"} {
		atMost("10", fmt.Sprintf("%s: %s contacts against %s", work, large.name, small.name), 1.5, "x", b.timesAs(at(work, large), at(work, small)))
	}
	for _, work := range [][2]string{{"get", "get raw"}, {"list, any page", "list raw"}, {"create", "create raw in 32s"}} {
		atMost("10", fmt.Sprintf("%s: growth to %s against raw's", work[0], many.name), 1.1, "x", b.growsAs(work[0], work[1]))
	}
	slowest := 100.0
	if b.contacts > 100_000 {
		slowest = 1000
	}
	atMost("11", "first page of the slowest of "+strconv.Itoa(len(filters))+" filters and orders", slowest, " ms", b.slowestFilter())
	atMost("12", "the database against its documents, without history", 1.7, "x", b.noted("stored"))
	return list
}

// noted is what a step measures in another way than by requests.
func (b *bench) noted(name string) finding { return finding{values: b.notes[name]} }

// measured is one measure of a variant.
func (b *bench) measured(name string, measure func(result) float64) finding {
	return finding{ours: b.all.text(name), values: b.all.values(name, measure), reason: b.all.failure(name)}
}

// shareOf is how much of the other's speed ours has: the other's processor time divided by ours.
func (b *bench) shareOf(other, ours string) finding {
	f := b.timesAs(other, ours)
	return finding{ours: f.other, other: f.ours, values: f.values, reason: f.reason}
}

// timesAs is how many times as much processor time ours takes as the other.
func (b *bench) timesAs(ours, other string) finding {
	return finding{ours: b.all.text(ours), other: b.all.text(other), values: b.all.ratio(cpuOf, ours, other), reason: b.all.failure(ours, other)}
}

// growsAs compares how a work grows from one small account to many with how raw does.
func (b *bench) growsAs(work, raw string) finding {
	growth := func(name string) finding { return b.timesAs(at(name, b.many), at(name, b.small)) }
	ours, other := growth(work), growth(raw)
	return finding{ours: spreadOf(ours.values).text("x"), other: spreadOf(other.values).text("x"), values: divided(ours.values, other.values), reason: cmp.Or(ours.reason, other.reason)}
}

func (b *bench) besideCreates() finding {
	const ours, bare = "get beside creates", "get ceiling beside creates"
	ms := func(name string) string { return number(b.all.median(name, p99Of)) + " ms" }
	return finding{ours: ms(ours), other: ms(bare), values: b.all.ratio(p99Of, ours, bare), reason: b.all.failure(ours, bare)}
}

// grown is how much larger the servers on the most data were in the last round than in the first.
func (b *bench) grown() finding {
	largest := make([]float64, b.rounds)
	for name := range b.all {
		for round, mb := range b.all.values(name, rssOf) {
			if strings.HasSuffix(name, at("", b.large)) {
				largest[round] = max(largest[round], mb)
			}
		}
	}
	first, last := largest[0], largest[b.rounds-1]
	if first == 0 {
		return finding{}
	}
	return finding{ours: number(last) + " MB", other: number(first) + " MB", values: []float64{last / first}}
}

func (b *bench) importing() finding {
	ours, raw := b.notes["import seconds"], b.notes["raw import seconds"]
	return finding{ours: spreadOf(ours).text(" s"), other: spreadOf(raw).text(" s"), values: divided(ours, raw)}
}

// slowestFilter is the one whose median took longest.
func (b *bench) slowestFilter() (slowest finding) {
	for _, f := range filters {
		found := b.measured(at("filter "+f.path, b.large), p50Of)
		if found.reason != "" {
			return found
		}
		if found.ours = "`" + f.path + "`"; slowest.values == nil || spreadOf(found.values).median > spreadOf(slowest.values).median {
			slowest = found
		}
	}
	return slowest
}

// text is a variant in a cell of the table.
func (all results) text(name string) string {
	return fmt.Sprintf("%s us, %s/s", number(all.median(name, cpuOf)), thousands(int(all.median(name, result.rate))))
}

// spread is the median of several rounds with the smallest and the largest.
type spread struct{ median, min, max float64 }

// spreadOf summarizes rounds. Without any it is not a number.
func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{math.NaN(), math.NaN(), math.NaN()}
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	median := sorted[middle]
	if len(sorted)%2 == 0 {
		median = (sorted[middle-1] + median) / 2
	}
	return spread{median, sorted[0], sorted[len(sorted)-1]}
}

// text is the median, with the edges where they differ.
func (s spread) text(unit string) string {
	if s.min == s.max || math.IsNaN(s.median) {
		return number(s.median) + unit
	}
	return fmt.Sprintf("%s%s [%s..%s]", number(s.median), unit, number(s.min), number(s.max))
}

// number writes about three digits.
func number(v float64) string {
	switch size := math.Abs(v); {
	case size >= 100:
		return fmt.Sprintf("%.0f", v)
	case size >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// thousands writes 1000000 as 1,000,000.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// percentile is the time that the given part of the requests did not exceed. The times must be sorted.
func percentile(sorted []time.Duration, part float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	at := int(math.Ceil(part*float64(len(sorted)))) - 1
	return sorted[max(0, min(at, len(sorted)-1))]
}

// result is what one variant did in one round.
type result struct {
	requests int
	seconds  float64
	p50, p99 time.Duration
	cpu      float64 // microseconds of the server per request
	rss      float64 // MB of the server at the end
	err      error
}

func (r result) rate() float64 { return float64(r.requests) / r.seconds }

// The measures of a result.
func cpuOf(r result) float64 { return r.cpu }
func p50Of(r result) float64 { return milliseconds(r.p50) }
func p99Of(r result) float64 { return milliseconds(r.p99) }
func rssOf(r result) float64 { return r.rss }

// results are the rounds of every variant by its name.
type results map[string][]result

// notRun begins the reason of what was not asked for, or stopped before it ran.
const notRun = "not measured: "

// failure is why figures of these variants do not count: one round that failed, or one variant that never ran, is enough.
func (all results) failure(names ...string) string {
	for _, name := range names {
		if _, ran := all[name]; !ran {
			return notRun + name
		}
		for _, r := range all[name] {
			if r.err != nil {
				return name + ": " + r.err.Error()
			}
		}
	}
	return ""
}

// values are one measure of a variant, round by round.
func (all results) values(name string, measure func(result) float64) (list []float64) {
	for _, r := range all[name] {
		list = append(list, measure(r))
	}
	return list
}

// median is that of one measure of a variant.
func (all results) median(name string, measure func(result) float64) float64 {
	return spreadOf(all.values(name, measure)).median
}

// ratio divides one variant by another, round by round.
func (all results) ratio(measure func(result) float64, name, by string) []float64 {
	return divided(all.values(name, measure), all.values(by, measure))
}

// divided divides round by round, as far as both have some.
func divided(a, b []float64) (list []float64) {
	for i := range min(len(a), len(b)) {
		list = append(list, a[i]/b[i])
	}
	return list
}
