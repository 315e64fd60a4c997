package web

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// family is a metric of Prometheus: one name, and a sample for each set of labels.
type family struct {
	name, kind, help string
	samples          []sample
}

type sample struct {
	suffix, labels string
	value          float64
}

func byName(a, b family) int { return cmp.Compare(a.name, b.name) }

func gauge(name, help, labels string, value float64) family {
	return family{name, "gauge", help, []sample{{"", labels, value}}}
}

func counter(name, help string, value float64) family {
	return family{name, "counter", help, []sample{{"", "", value}}}
}

func counterFamily(name, help string, counters map[string]*atomic.Uint64) family {
	f := family{name: name, kind: "counter", help: help}
	for _, labels := range slices.Sorted(maps.Keys(counters)) {
		f.samples = append(f.samples, sample{"", labels, float64(counters[labels].Load())})
	}
	return f
}

// append adds the family to a text, as https://prometheus.io/docs/instrumenting/exposition_formats has it. A family without
// samples is left out.
func (f family) append(text []byte) []byte {
	if len(f.samples) == 0 {
		return text
	}
	text = append(text, "# HELP "+f.name+" "+f.help+"\n# TYPE "+f.name+" "+f.kind+"\n"...)
	for _, s := range f.samples {
		text = append(text, f.name+s.suffix...)
		if s.labels != "" {
			text = append(text, "{"+s.labels+"}"...)
		}
		text = append(text, ' ')
		text = strconv.AppendFloat(text, s.value, 'g', -1, 64)
		text = append(text, '\n')
	}
	return text
}

var labelEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// labels are pairs of names and values.
func labels(pairs ...string) string {
	var all []string
	for pair := range slices.Chunk(pairs, 2) {
		all = append(all, pair[0]+`="`+labelEscapes.Replace(pair[1])+`"`)
	}
	return strings.Join(all, ",")
}

// durationBounds are the upper bounds of the buckets of a histogram; the last bucket has none.
var durationBounds = [...]time.Duration{
	500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond,
	50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second, 30 * time.Second,
}

// histogram counts how long something took.
type histogram struct {
	buckets [len(durationBounds) + 1]atomic.Uint64
	sum     atomic.Int64 // nanoseconds
}

func (h *histogram) observe(took time.Duration) {
	i, _ := slices.BinarySearch(durationBounds[:], took) // a bound belongs to its bucket
	h.buckets[i].Add(1)
	h.sum.Add(int64(took))
}

func histogramFamily(name, help string, histograms map[string]*histogram) family {
	f := family{name: name, kind: "histogram", help: help}
	for _, labels := range slices.Sorted(maps.Keys(histograms)) {
		f.samples = append(f.samples, histograms[labels].samples(labels)...)
	}
	return f
}

// samples count each request in its bucket and in all above.
func (h *histogram) samples(labels string) (all []sample) {
	var count uint64
	for i := range h.buckets {
		count += h.buckets[i].Load()
		bound := math.Inf(1)
		if i < len(durationBounds) {
			bound = durationBounds[i].Seconds()
		}
		le := labels + `,le="` + strconv.FormatFloat(bound, 'g', -1, 64) + `"`
		all = append(all, sample{"_bucket", le, float64(count)})
	}
	sum := time.Duration(h.sum.Load()).Seconds()
	return append(all, sample{"_sum", labels, sum}, sample{"_count", labels, float64(count)})
}
