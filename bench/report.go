package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	picture "html/template"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"
)

// notesMark begins the part of the page that is written by hand: it is kept.
const notesMark = "<!-- What follows is written by hand; the program keeps it. -->"

//go:embed page.md.tmpl
var pageText string

// write puts the page and the picture into the directory that was asked for.
func (b *bench) write() {
	path := filepath.Join(b.out, "benchmarks.md")
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		check(err)
	}
	page := b.page()
	if _, notes, found := strings.Cut(string(old), notesMark); found {
		page += "\n" + notesMark + notes
	}
	check(os.WriteFile(path, []byte(page), 0o644))
	check(os.WriteFile(filepath.Join(b.out, "benchmarks.svg"), b.picture(), 0o644))
}

func (b *bench) page() string {
	var page strings.Builder
	check(template.Must(template.New("").Parse(pageText)).Execute(&page, map[string]any{
		"Date": b.started.UTC().Format(time.DateOnly), "Minutes": math.Ceil(time.Since(b.started).Minutes()),
		"Machine": describeMachine(b.tmp), "Data": strings.Join(b.used, "; "), "Seed": seed,
		"PostgreSQL": b.versions["PostgreSQL"], "PocketBase": b.versions["PocketBase"], "PeerContacts": thousands(min(b.contacts, peerContacts)),
		"Rounds": counted(b.rounds, "round"), "Measured": b.timing.measured, "Warm": b.timing.warm,
		"Goals": b.goalTable(), "Growth": b.growthTable(), "All": b.allTable(),
	}))
	return page.String()
}

// table collects the rows of a table, the names of its columns first.
type table struct{ strings.Builder }

func newTable(columns ...string) *table {
	t := &table{}
	t.row(columns...)
	t.WriteString(strings.Repeat("|---", len(columns)) + "|\n")
	return t
}

func (t *table) row(cells ...string) { t.WriteString("| " + strings.Join(cells, " | ") + " |\n") }

func (b *bench) goalTable() string {
	t := newTable("goal", "what", "ours", "ceiling or peer", "result", "limit", "bare parts alone", "met")
	missing := ""
	for _, o := range b.outcomes {
		verdict := o.verdict()
		if !o.met() {
			verdict = "**" + verdict + "**"
		}
		t.row(o.number, o.words, cmp.Or(o.ours, "-"), cmp.Or(o.other, "-"), o.text(o.values), o.bound(number(o.limit)+unitText(o.unit)), o.text(o.bare), verdict)
		if o.reason != "" && o.reason != notAsked {
			missing += fmt.Sprintf("\n%s is not measured: %s.\n", o.number, oneLine(o.reason))
		}
	}
	return t.String() + missing
}

// growthTable has a row for each work and a column for each size.
func (b *bench) growthTable() string {
	head, sizes := []string{"microseconds of the server per request"}, growthSizes(b.contacts)
	for _, s := range sizes {
		head = append(head, s.name)
	}
	t := newTable(head...)
	works := b.growthWorks()
	if len(works) > 0 {
		works = append(works, rawIn32)
	}
	for _, work := range works {
		row := []string{work}
		for _, s := range sizes {
			row = append(row, spreadOf(b.all.values(growthName(work, s.name), cpuOf)).text(""))
		}
		t.row(row...)
	}
	return t.String()
}

// growthWorks are the works that were measured, in order.
func (b *bench) growthWorks() (names []string) {
	for _, c := range growthCells {
		if _, found := b.all[growthName(c.name, growthSizes(b.contacts)[0].name)]; found {
			names = append(names, c.name)
		}
	}
	return names
}

func (b *bench) allTable() string {
	t := newTable("variant", "requests per second", "p50 ms", "p99 ms", "server us per request", "server MB", "allocations", "bytes")
	var names []string
	for name := range b.all {
		if !strings.HasPrefix(name, "growth: ") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if reason := b.all.failure(name); reason != "" {
			t.row(name, "failed: "+oneLine(reason), "", "", "", "", "", "")
			continue
		}
		row := []string{name, thousands(int(b.all.median(name, result.rate)))}
		for _, measure := range []func(result) float64{p50Of, p99Of, cpuOf, rssOf, mallocsOf, bytesOf} {
			text := ""
			if v := b.all.median(name, measure); v != 0 {
				text = number(v)
			}
			row = append(row, text)
		}
		t.row(row...)
	}
	return t.String()
}

// oneLine makes a text fit into a cell.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return strings.ReplaceAll(text[:min(200, len(text))], "|", "/")
}

//go:embed picture.svg.tmpl
var pictureText string

// bar is how much of a goal was reached.
type bar struct {
	Y                                    int
	Number, Words, Class, Value, Verdict string
	Width                                float64
}

// line is the price of a work at each size, as a multiple of that at the smallest.
type line struct {
	Points, Class, Text string
	Dots                []mark
	Label               float64 // where its name stands
}

// mark is a text at a place of the chart.
type mark struct {
	X, Y float64
	Text string
}

// picture draws the goals as bars and growth as lines.
func (b *bench) picture() []byte {
	var bars []bar
	for _, o := range b.outcomes {
		if o.reason != "" || o.number == "growth" {
			continue
		}
		class := map[bool]string{true: "met", false: "missed"}[o.met()]
		bars = append(bars, bar{96 + len(bars)*26, o.number, o.words, class, number(o.spread.median) + unitText(o.unit),
			o.bound(plain(o.limit)) + ", " + o.verdict(), 115 * min(2, max(0.02, o.share()))})
	}
	end := 96 + len(bars)*26
	data := map[string]any{"Bars": bars, "BarsEnd": end, "Height": end + 24, "ChartTop": end + 94}
	if b.drawGrowth(data) {
		data["Height"] = end + 24 + 460
	}
	data["Frame"] = data["Height"].(int) - 1
	var drawn bytes.Buffer
	check(picture.Must(picture.New("").Parse(pictureText)).Execute(&drawn, data))
	return drawn.Bytes()
}

// plain writes a number without zeros that say nothing.
func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// drawGrowth adds the chart of growth, where it was measured.
func (b *bench) drawGrowth(data map[string]any) bool {
	sizes, high := growthSizes(b.contacts), 1.6
	multiples := make(map[string][]float64)
	for _, work := range b.growthWorks() {
		for _, s := range sizes {
			v := spreadOf(b.all.ratio(cpuOf, growthName(work, s.name), growthName(work, sizes[0].name))).median
			multiples[work] = append(multiples[work], v)
			if v > high {
				high = v * 1.05
			}
		}
	}
	y := func(v float64) float64 { return math.Round(340 * (1 - v/high)) }
	var lines []line
	for i, work := range b.growthWorks() {
		l := line{Class: fmt.Sprintf("s%d", i%8), Text: fmt.Sprintf("%s, up to %sx", work, number(slices.MaxFunc(multiples[work], cmp.Compare[float64])))}
		for j, v := range multiples[work] {
			if !math.IsNaN(v) {
				at := mark{124 + 616*float64(j)/float64(len(sizes)-1), y(v), l.Class}
				l.Points += fmt.Sprintf("%.1f,%.0f ", at.X, at.Y)
				l.Dots, l.Label = append(l.Dots, at), at.Y
			}
		}
		lines = append(lines, l)
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.Label, b.Label) })
	for i := 1; i < len(lines); i++ { // names do not lie on each other
		lines[i].Label = max(lines[i].Label, lines[i-1].Label+16)
	}
	var grid, columns []mark
	for step, v := max(0.5, math.Ceil(high/20)), 0.0; v <= high; v += step {
		grid = append(grid, mark{0, y(v), plain(v)})
	}
	for i, s := range sizes {
		columns = append(columns, mark{124 + 616*float64(i)/float64(len(sizes)-1), 0, s.name})
	}
	data["Lines"], data["Grid"], data["Sizes"], data["Limit"] = lines, grid, columns, y(1.3)
	return len(lines) > 0
}
