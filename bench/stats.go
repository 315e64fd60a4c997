package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

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
	return combined(all.values(name, measure), all.sums(by, measure), func(a, b float64) float64 { return a / b })
}

// sums adds several variants, round by round.
func (all results) sums(names []string, measure func(result) float64) []float64 {
	sums := all.values(names[0], measure)
	for _, name := range names[1:] {
		sums = combined(sums, all.values(name, measure), func(a, b float64) float64 { return a + b })
	}
	return sums
}

// combined makes one value of two, as far as both have some.
func combined(a, b []float64, of func(a, b float64) float64) (list []float64) {
	for i := range min(len(a), len(b)) {
		list = append(list, of(a[i], b[i]))
	}
	return list
}
