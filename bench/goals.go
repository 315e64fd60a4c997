package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// goal is something that the program must reach, as a number that the rounds give.
type goal struct {
	number string
	part   string // that must have been measured
	words  string
	limit  float64
	atMost bool
	unit   string // of the number, as it is written behind it
	find   func(*bench) finding
}

// finding is what was measured for a goal.
type finding struct {
	ours, other string
	values      []float64
	bare        []float64 // the same where only the bare parts work, where that is measured
	reason      string    // why there are no values
}

// outcome is a goal with its result.
type outcome struct {
	goal
	finding
	spread spread
}

// met tells whether the median reaches the limit.
func (o outcome) met() bool { return o.reason == "" && o.share() >= 1 }

// share is how much of the goal was reached: 1 is just enough, more is better.
func (o outcome) share() float64 {
	if o.atMost {
		return o.limit / o.spread.median
	}
	return o.spread.median / o.limit
}

func (o outcome) verdict() string {
	switch {
	case o.reason != "":
		return "not measured"
	case o.met():
		return "met"
	}
	return "not met"
}

// bound says on which side of the limit the result must be.
func (o outcome) bound(limit string) string {
	if o.atMost {
		return "at most " + limit
	}
	return "at least " + limit
}

// text writes values of a goal, with its unit.
func (o outcome) text(values []float64) string {
	if len(values) == 0 {
		return "-"
	}
	return spreadOf(values).text(o.unit)
}

// goals are all of them, in the order of the table.
func (b *bench) goals() []goal {
	sizes := growthSizes(b.contacts)
	list := []goal{
		{"1", "get", "GET a contact, any of all, against the ceiling", 0.60, false, "x", shareOf("get ceiling, 64", "get, 64", "get ceiling, 64", "get raw")},
		{"2", "list", "list of 20, page 1, against the ceiling", 0.55, false, "x", shareOf("list ceiling, 64", "list, 64", "list ceiling, 64", "list raw")},
		{"3", "pages", fmt.Sprintf("page %s against page 1", thousands(b.contacts*80/100/20)), 1.2, true, "x", timesAs("last page of all, 64", "page 1 of all, 64")},
		{"filters", "get", "list with email= against GET by id", 2, true, "x", timesAs("find by email, 64", "get, 64")},
		{"filters (tag)", "pages", "any page of a tag against any page", 2, true, "x", timesAs("any page of a tag, 64", "any page, 64")},
		{"3 (walk)", "walk", "walk by links.next: last tenth of the pages against the first", 1.2, true, "x", noted("walk")},
		{"4", "create", "durable create with de-duplication against raw", 0.65, false, "x", shareOf("create raw", "create, 64", "create ceiling, 64", rawIn32)},
		{"4 (time)", "create", "the same, processor time", 220, true, " us", createTime},
		{"4 (peer)", "peers", "the same against PocketBase", 6.5, false, "x", shareOf("pocketbase create, 64", "create, 64", "create ceiling, 64", rawIn32)},
		{"4 (flushes)", "flushes", "flushes of the disk per commit, 64 connections create", 1, false, " per commit", noted("flushes")},
		{"5", "slow", "create on a disk 2 ms slower, against one per transaction", 22, false, "x", noted("slow")},
		{"6", "beside", "p99 of GET beside creates, against the bare server beside them", 1.5, true, "x", besideFinding},
		{"7", "import", "import of a CSV file against a raw bulk load, processor time", 1.3, true, "x", noted("import")},
		{"7 (elapsed)", "import", "the same, elapsed time", 1.3, true, "x", noted("import elapsed")},
		{"7 (memory)", "import", "memory of the import, largest", 200, true, " MB", noted("import memory")},
		{"7 (dry run)", "import", "memory of a dry run of the same file, largest", 200, true, " MB", noted("dry run")},
		{"8", "memory", "memory, idle", 45, true, " MB", noted("idle")},
		{"8 (load)", "memory", "memory, largest under 64 connections on SQLite", 160, true, " MB", noted("peak")},
		{"8 (flat)", "memory", "memory after the last round against the first", 1.2, true, "x", flatFinding},
		{"9", "start", "start to first answer", 60, true, " ms", noted("start")},
		{"9 (list)", "start", "the first list after a start", 500, true, " ms", noted("first list")},
		{"10", "size", "one static binary without debug information", 60, true, " MB", noted("binary")},
		{"11", "postgres", "PostgreSQL: create against groups of 100 by pgx", 0.60, false, "x", shareOf("postgres create pgx", "postgres create, 64", "create ceiling, 64", pgxIn32)},
		{"11 (get)", "postgres", "PostgreSQL: GET against a point read by pgx", 0.75, false, "x", shareOf("postgres get pgx", "postgres get, 64", "get ceiling, 64", "postgres get pgx")},
		{"11 (page)", "postgres", "PostgreSQL: last page against page 1", 1.25, true, "x", timesAs("postgres last page of all, 64", "postgres page 1 of all, 64")},
		{"allocations", "allocations", "allocations of GET beyond bare net/http", 8, true, " allocations", beyondBare(mallocsOf, " allocations")},
		{"allocations (bytes)", "allocations", "bytes allocated by GET beyond bare net/http", 1000, true, " bytes", beyondBare(bytesOf, " bytes")},
		{"13", "size", "the database against the bytes of its documents", 1.5, true, "x", noted("stored")},
	}
	for _, format := range exportFormats {
		list = append(list, goal{"7 (" + format + ")", "import", "memory of an export of all contacts as " + format + ", largest", 150, true, " MB", noted("export " + format)})
	}
	for _, c := range growthCells {
		list = append(list, goal{"growth", "growth", c.name + ": dearest size against " + sizes[0].name, 1.3, true, "x", growthFinding(c.name, sizes)})
	}
	few, many := giftSizes(b.gifts)[0], giftSizes(b.gifts)[1]
	for _, c := range append(giftReads, giftWrites[0]) {
		list = append(list, goal{"gifts", "gifts", fmt.Sprintf("%s against %s", giftName(c, many), thousands(few)), 1.3, true, "x", timesAs(giftName(c, many), giftName(c, few))})
	}
	return append(list, goal{"gifts (create)", "gifts", "record a gift against create a contact", 1.5, true, "x", timesAs(giftName(giftWrites[0], many), giftName(giftWrites[1], many))})
}

// notAsked is the reason for what was left out on purpose.
const notAsked = "not asked for"

// judge compares every goal with what was measured.
func (b *bench) judge() (list []outcome) {
	for _, g := range b.goals() {
		o := outcome{goal: g, finding: finding{reason: notAsked}}
		if b.wants(g.part) {
			o.finding = g.find(b)
		}
		if o.reason == "" && len(o.values) == 0 {
			o.reason = "there are no figures"
		}
		if o.reason != "" {
			o.finding = finding{reason: o.reason}
		}
		o.spread = spreadOf(o.values)
		list = append(list, o)
	}
	return list
}

// noted is a finding of a step that measures something once, not in rounds of requests.
func noted(name string) func(*bench) finding {
	return func(b *bench) finding { return *b.note(name) }
}

// shareOf is how much of the other's speed ours has: the other's processor time divided by ours. The bare value is what a server
// would reach that does only these parts.
func shareOf(other, ours string, parts ...string) func(*bench) finding {
	return func(b *bench) finding {
		f := finding{ours: b.all.text(ours), other: b.all.text(other), values: b.all.ratio(cpuOf, other, ours), reason: b.all.failure(ours, other)}
		if b.all.failure(parts...) == "" {
			f.bare = b.all.ratio(cpuOf, other, parts...)
		}
		return f
	}
}

// timesAs is how many times as much processor time ours takes as the other.
func timesAs(ours, other string) func(*bench) finding {
	return func(b *bench) finding {
		return finding{ours: b.all.text(ours), other: b.all.text(other), values: b.all.ratio(cpuOf, ours, other), reason: b.all.failure(ours, other)}
	}
}

// text is a variant in a cell of the table.
func (all results) text(name string) string {
	return fmt.Sprintf("%s us, %s/s", number(all.median(name, cpuOf)), thousands(int(all.median(name, result.rate))))
}

func createTime(b *bench) finding {
	const name = "create, 64"
	return finding{ours: b.all.text(name), values: b.all.values(name, cpuOf), reason: b.all.failure(name)}
}

func besideFinding(b *bench) finding {
	const idle, amid = "get idle, 2", "get idle, 2, amid creates"
	const bareIdle, bareAmid = "get ceiling idle, 2", "get ceiling idle, 2, amid creates"
	ms := func(name string) string { return number(b.all.median(name, p99Of)) }
	return finding{
		ours:   ms(amid) + " ms",
		other:  fmt.Sprintf("%s ms idle; the ceiling beside it %s, idle %s", ms(idle), ms(bareAmid), ms(bareIdle)),
		values: b.all.ratio(p99Of, amid, bareAmid), reason: b.all.failure(idle, amid, bareIdle, bareAmid),
	}
}

// flatFinding is about the server that has grown more.
func flatFinding(b *bench) (f finding) {
	for _, name := range []string{"get, 64", "create, 64"} {
		if f.reason = b.all.failure(name); f.reason != "" {
			return f
		}
		rounds := b.all.values(name, rssOf)
		first, last := rounds[0], rounds[len(rounds)-1]
		if grown := last / first; len(f.values) == 0 || grown > f.values[0] {
			f.values, f.ours, f.other = []float64{grown}, number(last)+" MB", number(first)+" MB"
		}
	}
	return f
}

// beyondBare is what GET takes more than a bare server.
func beyondBare(measure func(result) float64, unit string) func(*bench) finding {
	return func(b *bench) finding {
		ours, bare := b.all.values("get, 64", measure), b.all.values("bare, 64", measure)
		return finding{
			ours: number(spreadOf(ours).median) + unit, other: number(spreadOf(bare).median) + unit,
			values: combined(ours, bare, func(a, b float64) float64 { return a - b }), reason: b.all.failure("get, 64", "bare, 64"),
		}
	}
}

// growthFinding is about the dearest size against the smallest.
func growthFinding(work string, sizes []size) func(*bench) finding {
	return func(b *bench) (f finding) {
		for _, size := range sizes[1:] {
			found := timesAs(growthName(work, size.name), growthName(work, sizes[0].name))(b)
			if found.reason != "" {
				return finding{reason: found.reason}
			}
			if f.values == nil || spreadOf(found.values).median > spreadOf(f.values).median {
				f = found
				f.ours += " at " + size.name
			}
		}
		if work == "create" {
			f.bare = growthFinding(rawIn32, sizes)(b).values
		}
		return f
	}
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

// counted is a number with the word for what it counts.
func counted(n int, word string) string {
	if n != 1 {
		word += "s"
	}
	return thousands(n) + " " + word
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
	mallocs  float64 // allocations of the server per request; 0 where it does not tell
	bytes    float64 // allocated per request
	err      error
}

func (r result) rate() float64 { return float64(r.requests) / r.seconds }

// The measures of a result.
func cpuOf(r result) float64     { return r.cpu }
func p50Of(r result) float64     { return milliseconds(r.p50) }
func p99Of(r result) float64     { return milliseconds(r.p99) }
func rssOf(r result) float64     { return r.rss }
func mallocsOf(r result) float64 { return r.mallocs }
func bytesOf(r result) float64   { return r.bytes }

// results are the rounds of every variant by its name.
type results map[string][]result

// failure is why figures of these variants do not count: one round that failed, or one variant that never ran, is enough.
func (all results) failure(names ...string) string {
	for _, name := range names {
		if _, ran := all[name]; !ran {
			return "not measured: " + name
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

// ratio divides one variant by others together, round by round.
func (all results) ratio(measure func(result) float64, name string, by ...string) []float64 {
	sums := all.values(by[0], measure)
	for _, other := range by[1:] {
		sums = combined(sums, all.values(other, measure), func(a, b float64) float64 { return a + b })
	}
	return combined(all.values(name, measure), sums, func(a, b float64) float64 { return a / b })
}

// combined makes one value of two, as far as both have some.
func combined(a, b []float64, of func(a, b float64) float64) (list []float64) {
	for i := range min(len(a), len(b)) {
		list = append(list, of(a[i], b[i]))
	}
	return list
}
