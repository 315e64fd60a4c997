package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	picture "html/template"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
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
		t.row(o.number, o.words, cmp.Or(o.ours, "-"), cmp.Or(o.other, "-"), o.text(o.values), o.bound(number(o.limit)+o.unit), o.text(o.bare), verdict)
		if o.reason != "" && o.reason != notAsked {
			missing += fmt.Sprintf("\n%s is not measured: %s.\n", o.number, oneLine(o.reason))
		}
	}
	return t.String() + missing
}

// growthTable has a row for each work that was measured, and a column for each size.
func (b *bench) growthTable() string {
	head, sizes := []string{"microseconds of the server per request"}, growthSizes(b.contacts)
	for _, size := range sizes {
		head = append(head, size.name)
	}
	t := newTable(head...)
	for _, c := range append(growthCells, rawGrowth) {
		if _, found := b.all[growthName(c.name, sizes[0].name)]; found {
			row := []string{c.name}
			for _, size := range sizes {
				row = append(row, spreadOf(b.all.values(growthName(c.name, size.name), cpuOf)).text(""))
			}
			t.row(row...)
		}
	}
	return t.String()
}

func (b *bench) allTable() string {
	t := newTable("variant", "requests per second", "p50 ms", "p99 ms", "server us per request", "server MB", "allocations", "bytes")
	for _, name := range slices.Sorted(maps.Keys(b.all)) {
		if strings.HasPrefix(name, "growth: ") {
			continue
		}
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

// picture draws the goals as bars, those of growth too.
func (b *bench) picture() []byte {
	var bars []bar
	for _, o := range b.outcomes {
		if o.reason == "" {
			class := map[bool]string{true: "met", false: "missed"}[o.met()]
			bars = append(bars, bar{96 + len(bars)*26, o.number, o.words, class, number(o.spread.median) + o.unit,
				o.bound(number(o.limit)) + ", " + o.verdict(), 115 * min(2, max(0.02, o.share()))})
		}
	}
	end := 96 + len(bars)*26
	var drawn bytes.Buffer
	check(picture.Must(picture.New("").Parse(pictureText)).Execute(&drawn, map[string]any{"Bars": bars, "BarsEnd": end, "Height": end + 24, "Frame": end + 23}))
	return drawn.Bytes()
}
