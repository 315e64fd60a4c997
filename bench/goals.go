package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// goal is something that the program must reach: one figure, or two that are divided round by round. Where it must be at most the limit, ours is
// divided by the other; where it must be at least that, it is speed, and the other's processor time is divided by ours.
type goal struct {
	number, words string
	atMost        bool
	limit         float64
	ours, other   string // names of figures; "" where nothing is compared
}

// goals are all of them, in the order of the table.
func (b *bench) goals() (list []goal) {
	const least, most = false, true
	us := func(name string, s size) string { return at(name, s) + " us" }
	small, base, large, many, pages := b.small, b.base, b.large, b.many, []goal(nil)
	for _, noun := range []string{"contact", "gift", "plan"} {
		pages = append(pages, goal{"3", noun + "s: last page vs. page 1", most, 1.5, us(noun+" list, last page", large), us(noun+" list, page 1", large)})
	}
	list = append([]goal{
		{"1", "read a contact vs. a bare server", least, 0.50, us("get", large), "get ceiling us"},
		{"1", "read a contact vs. PocketBase", least, 12, us("get", large), "pocketbase get us"},
		{"2", "list of 20 vs. a bare server", least, 0.50, us("contact list, page 1", large), "list ceiling us"},
		{"2", "list of 20 vs. PocketBase", least, 100, us("contact list, page 1", large), "pocketbase list us"},
	}, append(pages, []goal{
		{"4", "create a contact vs. raw SQLite", least, 0.65, us("create", base), us("create raw", base)},
		{"4", "create a contact vs. PocketBase", least, 5, us("create", base), "pocketbase create us"},
		{"4", "create a contact, processor time", most, 230, us("create", base), ""},
		{"5", "record a gift vs. creating a contact", most, 1.5, us("gift", large), us("create", large)},
		{"5", "record a gift: " + large.String() + " gifts vs. " + small.String(), most, 1.5, us("gift", large), us("gift", small)},
		{"6", "p99 of reads during creates vs. a bare server under the same load", most, 3, "get beside creates p99 ms", "get ceiling beside creates p99 ms"},
		{"7", "import, elapsed time vs. a raw bulk load", most, 1.3, "import s", "raw import s"},
		{"7", "peak memory of an import", most, 200, "import MB", ""},
		{"7", "peak memory of an export", most, 150, "export MB", ""},
		{"8", "idle memory", most, 45, "idle MB", ""},
		{"8", "peak memory under load", most, 160, "loaded MB", ""},
		{"8", "memory after the last round vs. the first", most, 1.2, "last round MB", "first round MB"},
		{"8", "start to first response", most, 60, "start ms", ""},
		{"9", "PostgreSQL: create vs. raw", least, 0.50, us("postgres create", base), us("postgres create raw", base)},
		{"9", "PostgreSQL: read vs. pgx", least, 0.70, us("postgres get", base), us("postgres get pgx", base)},
	}...)...)
	for _, work := range []string{"get", "list, any page", "search, a rare name", "search, a common name", "create", "change"} {
		list = append(list, goal{"10", work + ": " + large.String() + " contacts vs. " + small.String(), most, 1.5, us(work, large), us(work, small)})
	}
	for _, work := range grown {
		list = append(list, goal{"10", work + ": growth to " + many.String() + " vs. raw's", most, 1.1, work + " growth x", work + " raw growth x"})
	}
	return append(list,
		goal{"11", "first page of the slowest of " + strconv.Itoa(len(filters)) + " filters, " + b.slowest, most, 100 * float64(max(1, b.contacts/100_000)), "slowest filter ms", ""},
		goal{"12", "size of the database vs. its documents, without history", most, 1.7, "stored x", ""})
}

// grown is the work whose growth is compared with that of raw.
var grown = []string{"get", "list, any page", "create"}

// derive makes the figures of several cells.
func (b *bench) derive() {
	for _, work := range slices.Concat(grown, []string{"get raw", "list, any page raw", "create raw"}) {
		b.figures[work+" growth x"] = divided(b.figures[at(work, b.many)+" us"], b.figures[at(work, b.small)+" us"])
	}
	for _, f := range filters {
		if took := b.figures[at("filter "+f.path, b.large)+" p50 ms"]; b.slowest == "" || spreadOf(took).median > spreadOf(b.figures["slowest filter ms"]).median {
			b.slowest, b.figures["slowest filter ms"] = "`"+f.path[len(contactList.path):]+"`", took
		}
	}
	var first, last float64
	for name, values := range b.figures {
		if strings.HasSuffix(name, at("", b.large)+" MB") && len(values) > 0 {
			first, last = max(first, values[0]), max(last, values[len(values)-1])
		}
	}
	if first > 0 {
		b.figures["first round MB"], b.figures["last round MB"] = []float64{first}, []float64{last}
	}
}

// values are what was measured for a goal; none where something was not.
func (b *bench) values(g goal) []float64 {
	switch {
	case g.other == "":
		return b.figures[g.ours]
	case g.atMost:
		return divided(b.figures[g.ours], b.figures[g.other])
	}
	return divided(b.figures[g.other], b.figures[g.ours])
}

// unit is what the values of a goal are counted in.
func (g goal) unit() string {
	if g.other != "" {
		return "x"
	}
	return unitOf(g.ours)
}

// unitOf is the last word of a name.
func unitOf(name string) string {
	unit := name[strings.LastIndex(name, " ")+1:]
	if unit == "x" {
		return unit
	}
	return " " + unit
}

// row is the goal as a row of the table.
func (g goal) row(b *bench) []string {
	bound, verdict, values := "at least ", "**not met**", b.values(g)
	if g.atMost {
		bound = "at most "
	}
	s := spreadOf(values)
	switch {
	case len(values) == 0:
		verdict = "not measured"
	case s.median == g.limit || s.median < g.limit == g.atMost:
		verdict = "met"
	}
	text := func(name string) string {
		if len(values) == 0 || name == "" || g.other == "" {
			return "-"
		}
		return number(spreadOf(b.figures[name]).median) + unitOf(name)
	}
	return []string{g.number, g.words, s.text(g.unit()), bound + number(g.limit) + g.unit(), verdict, text(g.ours), text(g.other)}
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
	switch {
	case math.IsNaN(s.median):
		return "-"
	case s.min == s.max:
		return number(s.median) + unit
	}
	return fmt.Sprintf("%s%s [%s..%s]", number(s.median), unit, number(s.min), number(s.max))
}

// number writes about three digits.
func number(v float64) string {
	switch size := math.Abs(v); {
	case size >= 100:
		return thousands(int(math.Round(v)))
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

// percentile is the time that the given part of the requests did not exceed. The times must be sorted, and there must be some.
func percentile(sorted []time.Duration, part float64) time.Duration {
	return sorted[max(0, int(math.Ceil(part*float64(len(sorted))))-1)]
}

// divided divides round by round, where both have as many.
func divided(a, b []float64) (list []float64) {
	for i := range a {
		if len(a) == len(b) {
			list = append(list, a[i]/b[i])
		}
	}
	return list
}
