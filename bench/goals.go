package main

import (
	"fmt"
	"math"
)

// goal is something that the program must reach, as a number that the rounds give.
type goal struct {
	number string
	part   string // that must have been measured
	words  string
	limit  float64
	atMost bool
	unit   string // of the number: "x" for a ratio
	find   func(all results, f *facts) finding
}

// finding is what was measured for a goal.
type finding struct {
	ours, other string
	values      []float64
	bare        []float64 // the same where nothing is done but what must be, where that is measured
	reason      string    // why there is none
}

// outcome is a goal with what became of it.
type outcome struct {
	goal
	finding
	spread spread
}

// met tells whether the median reaches the limit.
func (o outcome) met() bool {
	if o.reason != "" || math.IsNaN(o.spread.median) {
		return false
	}
	if o.atMost {
		return o.spread.median <= o.limit
	}
	return o.spread.median >= o.limit
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

// share is how much of the goal was reached: 1 is just enough, more is better.
func (o outcome) share() float64 {
	if o.atMost {
		return o.limit / o.spread.median
	}
	return o.spread.median / o.limit
}

func (o outcome) limitText() string {
	if o.atMost {
		return "at most " + number(o.limit) + unitText(o.unit)
	}
	return "at least " + number(o.limit) + unitText(o.unit)
}

func (o outcome) valueText() string {
	if o.reason != "" {
		return "-"
	}
	return o.spread.text(unitText(o.unit))
}

// bareText is what the bare parts alone would reach.
func (o outcome) bareText() string {
	if len(o.bare) == 0 {
		return "-"
	}
	return spreadOf(o.bare).text(unitText(o.unit))
}

func unitText(unit string) string {
	if unit == "x" {
		return "x"
	}
	return " " + unit
}

// number writes three digits or so.
func number(v float64) string {
	switch size := math.Abs(v); {
	case size >= 100:
		return fmt.Sprintf("%.0f", v)
	case size >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// goals are all of them, in the order of the table. extraAllocations is what GET may allocate beyond bare net/http.
func goals(b *bench) []goal {
	list := []goal{
		{"1", "get", "GET a contact, any of all, against the ceiling", 0.60, false, "x", ofParts("get ceiling, 64", "get, 64", "get ceiling, 64", "get raw")},
		{"2", "list", "list of 20, page 1, against the ceiling", 0.55, false, "x", ofParts("list ceiling, 64", "list, 64", "list ceiling, 64", "list raw")},
		{"3", "pages", fmt.Sprintf("page %s against page 1", thousands(lastPage(b.main.Accounts[0]))), 1.2, true, "x", overCPU("last page of all, 64", "page 1 of all, 64")},
		{"3 (walk)", "walk", "walk by links.next: last tenth of the pages against the first", 1.2, true, "x", walkFinding},
		{"4", "create", "durable create with de-duplication against raw", 0.65, false, "x", ofParts("create raw", "create, 64", "create ceiling, 64", rawIn32)},
		{"4 (time)", "create", "the same, processor time", 220, true, "us", createTime},
		{"4 (peer)", "peers", "the same against PocketBase", 6.5, false, "x", ofParts("pocketbase create, 64", "create, 64", "create ceiling, 64", rawIn32)},
		{"4 (flushes)", "flushes", "flushes of the disk a commit, 64 connections create", 1, false, "a commit", flushFinding},
		{"5", "slow", "create on a disk 2 ms slower, against one a transaction", 22, false, "x", slowFinding},
		{"6", "beside", "p99 of GET beside creates, against the bare server beside them", 1.5, true, "x", besideFinding},
		{"7", "import", "CSV import against a raw bulk load", 1.3, true, "x", nothing("the program does not import CSV files")},
		{"8", "memory", "memory, idle", 40, true, "MB", figure(func(f *facts) []float64 { return f.idle })},
		{"8 (load)", "memory", "memory, largest under 64 connections on SQLite", 160, true, "MB", figure(func(f *facts) []float64 { return positive(f.peak) })},
		{"8 (flat)", "memory", "memory after the last round against the first", 1.2, true, "x", flatFinding},
		{"9", "start", "start to first answer", 60, true, "ms", figure(func(f *facts) []float64 { return f.starts })},
		{"9 (list)", "start", "the first list after a start", 500, true, "ms", figure(func(f *facts) []float64 { return f.firstLists })},
		{"10", "size", "one static binary without debug information", 32, true, "MB", binaryFinding},
		{"11", "postgres", "PostgreSQL: create against groups of 100 by pgx", 0.60, false, "x", ofParts("postgres create pgx", "postgres create, 64", "create ceiling, 64", pgxIn32)},
		{"11 (get)", "postgres", "PostgreSQL: GET against a point read by pgx", 0.75, false, "x", ofParts("postgres get pgx", "postgres get, 64", "get ceiling, 64", "postgres get pgx")},
		{"11 (page)", "postgres", "PostgreSQL: last page against page 1", 1.25, true, "x", overCPU("postgres last page of all, 64", "postgres page 1 of all, 64")},
		{"allocations", "allocations", "allocations of GET beyond bare net/http", extraAllocations, true, "allocations", allocationFinding(mallocsOf, "allocations")},
		{"allocations (bytes)", "allocations", "bytes allocated by GET beyond bare net/http", extraBytes, true, "bytes", allocationFinding(bytesOf, "bytes")},
	}
	list = append(list, goal{"13", "size", "the database against the bytes of its documents", 1.5, true, "x", figure(func(f *facts) []float64 { return positive(f.stored) })})
	sizes := growthSizes(b.contacts)
	for _, work := range growthWorks(b.main, b.library.generator, nil) {
		list = append(list, goal{"growth", "growth", work.name + ": dearest of all sizes against " + sizes[0].name, 1.3, true, "x", growthFinding(work.name, sizes)})
	}
	return list
}

// The goal was 20 allocations and 1.5 KB in all. Bare net/http takes about as much for itself, so what is ours is counted.
const (
	extraAllocations = 8
	extraBytes       = 1000
)

// notAsked is the reason of what somebody left out on purpose.
const notAsked = "not asked for"

// judge finds out what became of every goal.
func (b *bench) judge() (list []outcome) {
	for _, g := range goals(b) {
		o := outcome{goal: g}
		switch {
		case g.part == "postgres" && b.postgres == "", g.part == "peers" && !b.peers:
			o.reason = notAsked
		case g.part != "import" && !b.wants(g.part):
			o.reason = notAsked
		default:
			o.finding = g.find(b.all, &b.facts)
		}
		if o.reason == "" && len(o.values) == 0 {
			o.reason = "there are no figures"
		}
		if o.reason != "" {
			o.ours, o.other, o.values, o.bare = "", "", nil, nil
		}
		o.spread = spreadOf(o.values)
		list = append(list, o)
	}
	return list
}

// byCPU is how much of the other's speed ours has: the other's processor time by ours.
func byCPU(other, ours string) func(results, *facts) finding {
	return ratioFinding(other, ours, false)
}

// overCPU is how many times as much ours takes as the other.
func overCPU(ours, other string) func(results, *facts) finding {
	return ratioFinding(other, ours, true)
}

func ratioFinding(other, ours string, times bool) func(results, *facts) finding {
	return func(all results, _ *facts) finding {
		f := finding{ours: all.text(ours), other: all.text(other), values: all.ratio(other, ours, cpuOf)}
		if times {
			f.values = all.ratio(ours, other, cpuOf)
		}
		f.reason = all.failures(ours, other)
		return f
	}
}

// ofParts adds to a comparison with another variant what a server would reach that does nothing but these parts.
func ofParts(other, ours string, parts ...string) func(results, *facts) finding {
	compare := byCPU(other, ours)
	return func(all results, facts *facts) finding {
		f := compare(all, facts)
		if all.failures(parts...) == "" {
			f.bare = all.ratioOfSum(other, parts)
		}
		return f
	}
}

// failures is why a comparison does not count: one cell that failed is enough.
func (all results) failures(names ...string) string {
	for _, name := range names {
		if reason := all.failure(name); reason != "" {
			return reason
		}
	}
	return ""
}

// text is a variant in a cell of the table.
func (all results) text(name string) string {
	return fmt.Sprintf("%s us, %s/s", number(all.of(name, cpuOf).median), thousands(int(all.of(name, result.rate).median)))
}

func nothing(reason string) func(results, *facts) finding {
	return func(results, *facts) finding { return finding{reason: reason} }
}

// figure is a goal about a figure that stands for itself.
func figure(values func(*facts) []float64) func(results, *facts) finding {
	return func(_ results, f *facts) finding { return finding{values: values(f)} }
}

func positive(v float64) []float64 {
	if v <= 0 {
		return nil
	}
	return []float64{v}
}

func walkFinding(_ results, f *facts) finding {
	return finding{ours: fmt.Sprintf("%s contacts in %s s", thousands(f.walked), number(spreadOf(f.walkSeconds).median)), values: f.walk}
}

func slowFinding(_ results, f *facts) finding {
	var ratios []float64
	for i := range min(len(f.grouped), len(f.alone)) {
		ratios = append(ratios, f.alone[i]/f.grouped[i])
	}
	return finding{
		ours: number(spreadOf(f.grouped).median) + " us each", other: number(spreadOf(f.alone).median) + " us each", values: ratios,
	}
}

func flushFinding(_ results, f *facts) finding {
	if f.unwatched != "" || len(f.flushes) == 0 {
		return finding{reason: f.unwatched}
	}
	var total flushing
	found := finding{other: f.rawFlushes.text()}
	for _, round := range f.flushes {
		total = flushing{total.creates + round.creates, total.commits + round.commits, total.flushes + round.flushes}
		found.values = append(found.values, round.flushes/round.commits)
	}
	found.ours = total.text()
	return found
}

func besideFinding(all results, _ *facts) finding {
	const idle, amid = "get idle, 2", "get idle, 2, amid creates"
	const bareIdle, bareAmid = "get ceiling idle, 2", "get ceiling idle, 2, amid creates"
	ms := func(name string) string { return number(all.of(name, p99Of).median / 1000) }
	return finding{
		ours:   ms(amid) + " ms",
		other:  fmt.Sprintf("%s ms idle; the ceiling beside it %s, idle %s", ms(idle), ms(bareAmid), ms(bareIdle)),
		values: all.ratio(amid, bareAmid, p99Of), reason: all.failures(idle, amid, bareIdle, bareAmid),
	}
}

func createTime(all results, _ *facts) finding {
	const name = "create, 64"
	return finding{ours: all.text(name), values: all.values(name, cpuOf), reason: all.failure(name)}
}

// flatFinding is about whichever of the two has grown more.
func flatFinding(all results, _ *facts) (f finding) {
	for _, name := range []string{"get, 64", "create, 64"} {
		rounds := all.values(name, func(r result) float64 { return r.rss })
		if f.reason = all.failure(name); f.reason != "" {
			return f
		}
		first, last := rounds[0], rounds[len(rounds)-1]
		if grown := last / first; len(f.values) == 0 || grown > f.values[0] {
			f.values = []float64{grown}
			f.ours, f.other = number(last)+" MB", number(first)+" MB"
		}
	}
	return f
}

func binaryFinding(_ results, f *facts) finding {
	if !f.static {
		return finding{reason: "the binary is not static, or not stripped"}
	}
	return finding{ours: "static", values: positive(f.binary)}
}

func allocationFinding(measure func(result) float64, unit string) func(results, *facts) finding {
	return func(all results, _ *facts) (f finding) {
		ours, bare := all.values("get, 64", measure), all.values("bare, 64", measure)
		for i := range min(len(ours), len(bare)) {
			f.values = append(f.values, ours[i]-bare[i])
		}
		f.ours, f.other = number(spreadOf(ours).median)+" "+unit, number(spreadOf(bare).median)+" "+unit
		f.reason = all.failures("get, 64", "bare, 64")
		return f
	}
}

// growthFinding is the dearest size by the smallest, round by round.
func growthFinding(work string, sizes []size) func(results, *facts) finding {
	return func(all results, _ *facts) (f finding) {
		smallest := growthName(work, sizes[0].name)
		f.reason = all.failure(smallest)
		dearest := ""
		for _, s := range sizes[1:] {
			name := growthName(work, s.name)
			if f.reason == "" {
				f.reason = all.failure(name)
			}
			if ratios := all.ratio(name, smallest, cpuOf); dearest == "" || spreadOf(ratios).median > spreadOf(f.values).median {
				dearest, f.values = s.name, ratios
			}
		}
		f.ours = number(all.of(growthName(work, dearest), cpuOf).median) + " us at " + dearest
		f.other = number(all.of(smallest, cpuOf).median) + " us"
		if work == "create" {
			if raw := growthFinding(growthLimit, sizes)(all, nil); raw.reason == "" {
				f.bare = raw.values
			}
		}
		return f
	}
}
