package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/rig/rows"
)

// goal is something that the program must reach: one figure, or two that are divided round by round. Where it must be at most the limit, ours is
// divided by the other; where it must be at least that, it is speed, and the other's processor time is divided by ours.
type goal struct {
	Number, Words string
	AtMost        bool
	Limit         float64
	Ours, Other   string // names of figures; "" where nothing is compared
}

// goals are all of them, in the order of the table.
func (b *bench) goals() []goal {
	return rows.Of[goal](strings.NewReplacer(
		"SMALL", b.small.String(), "BASE", b.base.String(), "LARGE", b.large.String(), "MANY", b.many.String(),
		"FILTERS", strconv.Itoa(len(filters)), "SLOWEST", b.slowest, "SLOW", strconv.Itoa(100*max(1, b.contacts/100_000)),
	).Replace(`
		1   read a contact vs. a bare server                                   false  0.50  get at LARGE us                      get ceiling us
		1   read a contact vs. PocketBase                                      false  12    get at LARGE us                      pocketbase get us
		2   list of 20 vs. a bare server                                       false  0.50  contact list, page 1 at LARGE us     list ceiling us
		2   list of 20 vs. PocketBase                                          false  100   contact list, page 1 at LARGE us     pocketbase list us
		3   contacts: last page vs. page 1                                     true   1.5   contact list, last page at LARGE us  contact list, page 1 at LARGE us
		3   gifts: last page vs. page 1                                        true   1.5   gift list, last page at LARGE us     gift list, page 1 at LARGE us
		3   plans: last page vs. page 1                                        true   1.5   plan list, last page at LARGE us     plan list, page 1 at LARGE us
		4   create a contact vs. raw SQLite                                    false  0.65  create at BASE us                    create raw at BASE us
		4   create a contact vs. PocketBase                                    false  5     create at BASE us                    pocketbase create us
		4   create a contact, processor time                                   true   230   create at BASE us                    ""
		5   record a gift vs. creating a contact                               true   1.5   gift at LARGE us                     create at LARGE us
		5   record a gift: LARGE gifts vs. SMALL                               true   1.5   gift at LARGE us                     gift at SMALL us
		6   p99 of reads during creates vs. a bare server under the same load  true   3     get beside creates p99 ms            get ceiling beside creates p99 ms
		7   import, elapsed time vs. a raw bulk load                           true   1.3   import s                             raw import s
		7   peak memory of an import                                           true   200   import MB                            ""
		7   peak memory of an export                                           true   150   export MB                            ""
		8   idle memory                                                        true   45    idle MB                              ""
		8   peak memory under load                                             true   160   loaded MB                            ""
		8   memory after the last round vs. the first                          true   1.2   last round MB                        first round MB
		8   start to first response                                            true   60    start ms                             ""
		9   PostgreSQL: create vs. raw                                         false  0.50  postgres create at BASE us           postgres create raw at BASE us
		9   PostgreSQL: read vs. pgx                                           false  0.70  postgres get at BASE us              postgres get pgx at BASE us
		10  get: LARGE contacts vs. SMALL                                      true   1.5   get at LARGE us                      get at SMALL us
		10  list, any page: LARGE contacts vs. SMALL                           true   1.5   list, any page at LARGE us           list, any page at SMALL us
		10  search, a rare name: LARGE contacts vs. SMALL                      true   1.5   search, a rare name at LARGE us      search, a rare name at SMALL us
		10  search, a common name: LARGE contacts vs. SMALL                    true   1.5   search, a common name at LARGE us    search, a common name at SMALL us
		10  create: LARGE contacts vs. SMALL                                   true   1.5   create at LARGE us                   create at SMALL us
		10  change: LARGE contacts vs. SMALL                                   true   1.5   change at LARGE us                   change at SMALL us
		10  get: growth to MANY vs. raw's                                      true   1.1   get growth x                         get raw growth x
		10  list, any page: growth to MANY vs. raw's                           true   1.1   list, any page growth x              list, any page raw growth x
		10  create: growth to MANY vs. raw's                                   true   1.1   create growth x                      create raw growth x
		11  first page of the slowest of FILTERS filters, SLOWEST              true   SLOW  slowest filter ms                    ""
		12  size of the database vs. its documents, without history            true   1.7   stored x                             ""
	`))
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
	case g.Other == "":
		return b.figures[g.Ours]
	case g.AtMost:
		return divided(b.figures[g.Ours], b.figures[g.Other])
	}
	return divided(b.figures[g.Other], b.figures[g.Ours])
}

// unit is what the values of a goal are counted in.
func (g goal) unit() string {
	if g.Other != "" {
		return "x"
	}
	return unitOf(g.Ours)
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
	if g.AtMost {
		bound = "at most "
	}
	s := spreadOf(values)
	switch {
	case len(values) == 0:
		verdict = "not measured"
	case s.median == g.Limit || s.median < g.Limit == g.AtMost:
		verdict = "met"
	}
	text := func(name string) string {
		if len(values) == 0 || name == "" || g.Other == "" {
			return "-"
		}
		return number(spreadOf(b.figures[name]).median) + unitOf(name)
	}
	return []string{g.Number, g.Words, s.text(g.unit()), bound + number(g.Limit) + g.unit(), verdict, text(g.Ours), text(g.Other)}
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
