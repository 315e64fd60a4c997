package main

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestTheMedianAndTheEdges(t *testing.T) {
	if got := spreadOf([]float64{3, 1, 2}); got != (spread{2, 1, 3}) {
		t.Errorf("three rounds: %+v", got)
	}
	if got := spreadOf([]float64{4, 1, 2, 3}); got != (spread{2.5, 1, 4}) {
		t.Errorf("four rounds: %+v", got)
	}
	if got := spreadOf(nil); !math.IsNaN(got.median) {
		t.Errorf("no round: %+v", got)
	}
	times := make([]time.Duration, 100)
	for i := range times {
		times[i] = time.Duration(i + 1)
	}
	if percentile(times, .5) != 50 || percentile(times, .99) != 99 || percentile(times, 1) != 100 || percentile(nil, .5) != 0 {
		t.Errorf("percentiles: %d, %d, %d", percentile(times, .5), percentile(times, .99), percentile(times, 1))
	}
}

func TestRatiosAreMadeInsideARound(t *testing.T) {
	all := results{"ours": {{cpu: 20}, {cpu: 40}}, "ceiling": {{cpu: 10}, {cpu: 10}}}
	got := all.ratio(cpuOf, "ceiling", "ours")
	if len(got) != 2 || got[0] != 0.5 || got[1] != 0.25 {
		t.Errorf("got %v", got)
	}
}

// example is a run of made-up rounds.
func example(t *testing.T) *bench {
	b := newBench(options{contacts: 1_000_000, rounds: 2, out: t.TempDir(), cache: t.TempDir()})
	ran := func(name string, us ...float64) {
		for _, cpu := range us {
			b.all[name] = append(b.all[name], result{requests: 1000, seconds: 1, cpu: cpu, p50: time.Duration(cpu) * time.Millisecond, rss: cpu})
		}
	}
	ran("get ceiling", 14, 14)
	ran(at("get", b.large), 20, 28)
	ran(at("get", b.small), 10, 14)
	ran(at("get", b.many), 40, 56)
	ran(at("get raw", b.small), 5, 5)
	ran(at("get raw", b.many), 10, 10)
	ran(at("create", b.large), 200, 100)
	ran(at("gift", b.large), 280, 150)
	for i, f := range filters {
		ran(at("filter "+f.path, b.large), float64(i), float64(i))
	}
	b.all["list ceiling"] = []result{{err: errors.New("status 500: <oops> | no")}}
	b.notes["import seconds"], b.notes["raw import seconds"], b.notes["import us"] = []float64{130}, []float64{100}, []float64{99}
	return b
}

func TestGoalsAreJudged(t *testing.T) {
	goals := example(t).goals()
	for words, want := range map[string]string{
		"read a contact, against a bare server":               "0.60x [0.50..0.70], at least 0.50x: met",
		"record a gift, against create a contact":             "1.45x [1.40..1.50], at most 1.50x: met",
		"get: 1,000,000 contacts against 10,000":              "2.00x, at most 1.50x: not met",
		"get: growth to 1,000 x 1,000 against raw's":          "2.00x, at most 1.10x: not met", // 4 times against twice
		"import, elapsed, against a raw bulk load":            "1.30x, at most 1.30x: met",
		"first page of the slowest of 8 filters and orders":   "7.00 ms, at most 1000 ms: met",
		"memory after the last round against the first":       "0.54x, at most 1.20x: met", // 150 MB, and 280 at first
		"list of 20, against a bare server":                   "NaNx, at least 0.50x: not measured",
		"PostgreSQL: read, against a point read by pgx":       "NaNx, at least 0.70x: not measured",
		"the database against its documents, without history": "NaNx, at most 1.70x: not measured",
	} {
		i := slices.IndexFunc(goals, func(g goal) bool { return g.words == words })
		if i < 0 {
			t.Errorf("there is no goal %q", words)
			continue
		}
		if g := goals[i]; g.spread.text(g.unit)+", "+g.bound()+": "+g.verdict() != want {
			t.Errorf("%s: %s, %s: %s, want %s", words, g.spread.text(g.unit), g.bound(), g.verdict(), want)
		}
	}
}

func TestEveryGoalOfTheListIsThere(t *testing.T) {
	seen := make(map[string]bool)
	for _, g := range example(t).goals() {
		seen[g.number] = true
	}
	for number := range 12 {
		if !seen[strconv.Itoa(number+1)] {
			t.Errorf("goal %d is missing", number+1)
		}
	}
}

// A goal that compares variants which no cell makes would never be measured.
func TestEveryGoalHasItsCells(t *testing.T) {
	b := newBench(options{contacts: 1_000_000, rounds: 1, peers: true, cache: t.TempDir()})
	for _, c := range slices.Concat(b.requestCells(), postgresCells) {
		b.all[c.name] = []result{{requests: 1, seconds: 1, cpu: 1, p50: time.Millisecond, p99: time.Millisecond, rss: 1}}
	}
	for _, name := range []string{"import memory", "export memory", "import seconds", "raw import seconds", "import us", "idle", "loaded", "start", "stored"} {
		b.note(name, 1)
	}
	for _, g := range b.goals() {
		if g.reason != "" {
			t.Errorf("goal %s, %s: %s", g.number, g.words, g.reason)
		}
	}
	if table := b.shortTable(); strings.Contains(table, "NaN") {
		t.Error(table)
	}
}

func TestThePageHasWhatWasMeasured(t *testing.T) {
	b := example(t)
	b.write()
	page := string(must(os.ReadFile(filepath.Join(b.out, "benchmarks.md"))))
	for _, want := range []string{"| read a contact | 1,000 | 24.0 us | 2.00x | - | - |", "| import a row of a file | 7,692 | 99.0 us |", "| 1 | read a contact, against a bare server | 0.60x [0.50..0.70] |",
		"| get at 1,000,000 | 1,000 |", "status 500: <oops> / no"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "NaN") || strings.Contains(page, "<no value>") {
		t.Errorf("the page has what is no number:\n%s", page)
	}
}

func TestThePictureIsXMLWithABarForEachGoal(t *testing.T) {
	r := example(t)
	decoder := xml.NewDecoder(strings.NewReader(string(r.picture())))
	count := make(map[string]int)
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok {
			count[start.Name.Local]++
			for _, attribute := range start.Attr {
				if attribute.Name.Local == "class" {
					count[attribute.Value]++
				}
			}
		}
	}
	measured := 0
	for _, g := range r.goals() {
		if g.reason == "" {
			measured++
		}
	}
	if count["met"]+count["missed"] != measured || measured < 6 {
		t.Errorf("%d bars for %d goals", count["met"]+count["missed"], measured)
	}
	if strings.Contains(string(r.picture()), "NaN") {
		t.Error("the picture has places that are not numbers")
	}
}

func TestTheWordsOfAGoalFitIntoThePicture(t *testing.T) {
	for _, o := range example(t).goals() {
		if len(o.words) > 62 {
			t.Errorf("%q has %d letters", o.words, len(o.words))
		}
	}
}

func TestWhatAnswersWronglyIsNotTimed(t *testing.T) {
	b := &bench{options: options{rounds: 2}, all: make(results)}
	timed := 0
	run := func(timing) result {
		timed++
		return result{requests: 1, seconds: 1}
	}
	b.repeat([]variant{
		{"right", task{func() {}, run}},
		{"wrong", task{func() { fail("another body") }, run}},
	})
	if timed != 2 || b.all.failure("right") != "" || !strings.Contains(b.all.failure("wrong"), "another body") {
		t.Errorf("timed %d times, %q", timed, b.all.failure("wrong"))
	}
}
