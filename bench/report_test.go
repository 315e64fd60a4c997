package main

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
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
	b := &bench{options: options{contacts: 100_000, gifts: 100_000, rounds: 1, out: t.TempDir()}, all: make(results), notes: make(map[string]*finding),
		main: &dataset{Accounts: []account{{Contacts: 80_000}}}, tmp: t.TempDir()}
	for _, c := range append(growthCells, rawGrowth) {
		for i, s := range growthSizes(b.contacts) {
			b.all[growthName(c.name, s.name)] = []result{{requests: 10, seconds: 1, cpu: 10 + float64(i)}}
		}
	}
	for i, gifts := range giftSizes(b.gifts) {
		for _, c := range slices.Concat(giftReads, giftWrites) {
			b.all[giftName(c, gifts)] = []result{{requests: 10, seconds: 1, cpu: 10 + 2*float64(i)}}
		}
	}
	b.all["get, 64"] = []result{{requests: 1000, seconds: 1, cpu: 20, rss: 50}}
	b.all["get ceiling, 64"] = []result{{requests: 2000, seconds: 1, cpu: 14}}
	b.all["get raw"] = []result{{requests: 2000, seconds: 1, cpu: 2}}
	b.all["list, 64"] = []result{{err: errors.New("status 500: <oops> | no")}}
	b.outcomes = b.judge()
	return b
}

func outcomeOf(t *testing.T, b *bench, number string) outcome {
	t.Helper()
	i := slices.IndexFunc(b.outcomes, func(o outcome) bool { return o.number == number })
	if i < 0 {
		t.Fatalf("there is no goal %s", number)
	}
	return b.outcomes[i]
}

func TestGoalsAreJudged(t *testing.T) {
	r := example(t)
	if o := outcomeOf(t, r, "1"); !o.met() || o.text(o.values) != "0.70x" || o.bound("0.6") != "at least 0.6" {
		t.Errorf("goal 1: %s, %s, %s", o.text(o.values), o.bound("0.6"), o.verdict())
	}
	if o := outcomeOf(t, r, "1"); o.text(o.bare) != "0.88x" { // 14 of 14 + 2
		t.Errorf("the bare parts of goal 1: %s", o.text(o.bare))
	}
	if o := outcomeOf(t, r, "4"); o.text(o.bare) != "-" {
		t.Errorf("bare parts that were not measured: %s", o.text(o.bare))
	}
	if o := outcomeOf(t, r, "2"); o.met() || o.verdict() != "not measured" || !strings.Contains(o.reason, "status 500") {
		t.Errorf("a goal with a failed cell: %s, %s", o.verdict(), o.reason)
	}
	if o := outcomeOf(t, r, "7"); o.verdict() != "not measured" || o.reason == "" {
		t.Errorf("goal 7: %s, %q", o.verdict(), o.reason)
	}
	if o := outcomeOf(t, r, "gifts"); !o.met() || o.text(o.values) != "1.20x" || o.words != "home page, 100,000 gifts against 10,000" {
		t.Errorf("gifts: %s, %s", o.text(o.values), o.words)
	}
	if o := outcomeOf(t, r, "gifts (create)"); !o.met() || o.text(o.values) != "1.00x" {
		t.Errorf("recording a gift: %s, %s", o.text(o.values), o.verdict())
	}
	if o := outcomeOf(t, r, "growth"); !o.met() || o.spread.median != 1.3 {
		t.Errorf("growth: %+v", o.spread)
	}
}

func TestThePageKeepsWhatIsWrittenByHand(t *testing.T) {
	b := example(t)
	path := filepath.Join(b.out, "benchmarks.md")
	if err := os.WriteFile(path, []byte("old figures\n"+notesMark+"\n\n## Why\n\nBecause.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.write()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, want := range []string{"| 1 | GET a contact", "0.70x", "| get, 64 | 1,000 |", "status 500: <oops> / no", "## Why\n\nBecause.\n", "| 100 x 1,000 |", "| gifts | contact's page, 100,000 gifts against 10,000 |"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "old figures") || strings.Contains(page, "NaN") {
		t.Errorf("the page has more than it should:\n%s", page)
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
	for _, o := range r.outcomes {
		if o.reason == "" {
			measured++
		}
	}
	if count["met"]+count["missed"] != measured || measured < len(growthCells) {
		t.Errorf("%d bars for %d goals", count["met"]+count["missed"], measured)
	}
	if strings.Contains(string(r.picture()), "NaN") {
		t.Error("the picture has places that are not numbers")
	}
}

func TestTheWordsOfAGoalFitIntoThePicture(t *testing.T) {
	for _, o := range example(t).outcomes {
		if len(o.words) > 62 {
			t.Errorf("%q has %d letters", o.words, len(o.words))
		}
	}
}

func TestTheOutputOfABenchmarkIsRead(t *testing.T) {
	out := "goos: linux\nBenchmarkCreateOnASlowDisk/Grouped-2   \t     100\t    297000 ns/op\nBenchmarkCreateOnASlowDisk/Alone   \t     100\t   4768000 ns/op\nPASS\n"
	if grouped, alone := benchmarked(out, "Grouped"), benchmarked(out, "Alone"); len(grouped) != 1 || grouped[0] != 297 || len(alone) != 1 || alone[0] != 4768 {
		t.Errorf("got %v and %v", grouped, alone)
	}
}

func TestFlushesAndCommitsAreCounted(t *testing.T) {
	d := &dataset{dir: t.TempDir()}
	db := openDatabase(d.file(), durable)
	defer db.close()
	w := watch{filepath.Join(d.dir, "flushes.txt")}
	calls := "12 fdatasync(8) = 0\n13 fdatasync(8 <unfinished ...>\n12 fsync(9) = 0\n13 <... fdatasync resumed>) = 0\n"
	got := w.count(d, func() int {
		check(os.WriteFile(w.file, []byte(calls), 0o600))
		db.exec(`CREATE TABLE a (b)`)
		db.exec(`INSERT INTO a VALUES (1), (2)`)
		return 5
	})
	if got != (flushing{creates: 5, commits: 2, flushes: 3}) {
		t.Errorf("got %+v", got)
	}
	if err := try(func() { w.count(d, func() int { return 5 }) }); err == nil {
		t.Error("creates without any commit are believed")
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
		{"right", func() {}, run},
		{"wrong", func() { fail("another body") }, run},
	})
	if timed != 2 || b.all.failure("right") != "" || !strings.Contains(b.all.failure("wrong"), "another body") {
		t.Errorf("timed %d times, %q", timed, b.all.failure("wrong"))
	}
}
