package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// spread is the median of several rounds with the smallest and the largest.
type spread struct{ median, min, max float64 }

// spreadOf summarizes rounds; without any it is not a number.
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
	cpu      float64 // microseconds of the server a request
	rss      float64 // MB of the server at the end
	mallocs  float64 // allocations of the server a request; 0 where it does not tell
	bytes    float64 // allocated a request
	err      error
}

func (r result) rate() float64 { return float64(r.requests) / r.seconds }

// The measures that ratios are made of.
func cpuOf(r result) float64     { return r.cpu }
func p99Of(r result) float64     { return float64(r.p99.Microseconds()) }
func mallocsOf(r result) float64 { return r.mallocs }
func bytesOf(r result) float64   { return r.bytes }

// results are the rounds of every variant by its name.
type results map[string][]result

// failure is the first error of a variant, or of one that never ran.
func (all results) failure(name string) string {
	rounds, ran := all[name]
	if !ran {
		return "not measured: " + name
	}
	for _, r := range rounds {
		if r.err != nil {
			return name + ": " + r.err.Error()
		}
	}
	return ""
}

// values are one measure of a variant, round by round.
func (all results) values(name string, measure func(result) float64) []float64 {
	var list []float64
	for _, r := range all[name] {
		list = append(list, measure(r))
	}
	return list
}

// of is the spread of one measure of a variant.
func (all results) of(name string, measure func(result) float64) spread {
	return spreadOf(all.values(name, measure))
}

// ratio divides one variant by another, round by round.
func (all results) ratio(name, by string, measure func(result) float64) []float64 {
	above, below := all.values(name, measure), all.values(by, measure)
	var list []float64
	for i := range min(len(above), len(below)) {
		list = append(list, above[i]/below[i])
	}
	return list
}

// ratioOfSum divides the processor time of a variant by that of several others together, round by round.
func (all results) ratioOfSum(name string, parts []string) (list []float64) {
	sums := make([]float64, len(all[name]))
	for _, part := range parts {
		times := all.values(part, cpuOf)
		sums = sums[:min(len(sums), len(times))]
		for i := range sums {
			sums[i] += times[i]
		}
	}
	for i, sum := range sums {
		list = append(list, all[name][i].cpu/sum)
	}
	return list
}
