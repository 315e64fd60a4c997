package main

import (
	"bytes"
	"cmp"
	_ "embed"
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

//go:embed page.md.tmpl
var pageText string

// write puts the page and the picture into the directory that was asked for.
func (b *bench) write() {
	check(os.WriteFile(filepath.Join(b.out, "benchmarks.md"), []byte(b.page()), 0o644))
	check(os.WriteFile(filepath.Join(b.out, "benchmarks.svg"), b.picture(), 0o644))
}

func (b *bench) page() string {
	var page strings.Builder
	check(template.Must(template.New("").Parse(pageText)).Execute(&page, map[string]any{
		"Date": b.started.UTC().Format(time.DateOnly), "Minutes": math.Ceil(time.Since(b.started).Minutes()),
		"Machine": describeMachine(b.tmp), "Contacts": b.large.name, "Few": b.small.name, "Base": thousands(baseContacts), "Many": b.many.name, "Seed": seed,
		"PostgreSQL": b.versions["PostgreSQL"], "PocketBase": b.versions["PocketBase"],
		"Rounds": b.rounds, "Measured": b.timing.measured, "Warm": b.timing.warm,
		"Short": b.shortTable(), "Notes": b.medians(), "Goals": b.goalTable(), "All": b.allTable(),
	}))
	return page.String()
}

// medians are those of what is measured in another way than by requests, as a text that can be written into a sentence.
func (b *bench) medians() map[string]string {
	texts := make(map[string]string)
	for name, values := range b.notes {
		texts[strings.ReplaceAll(name, " ", "")] = thousands(int(math.Round(spreadOf(values).median)))
	}
	return texts
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

// shortTable has what a user wants to know first: how fast it is, how it grows, and against what else one could take.
func (b *bench) shortTable() string {
	t := newTable("", "requests a second", "processor time", "against "+b.small.name+" contacts", "on PostgreSQL", "PocketBase")
	rate := func(name string) string {
		if b.all.failure(name) != "" {
			return "-"
		}
		return thousands(int(b.all.median(name, result.rate))) + "/s"
	}
	for _, row := range []struct{ words, work, small, postgres, peer string }{
		{"create a contact", at("create", b.large), at("create", b.small), "postgres create", "pocketbase create"},
		{"read a contact", at("get", b.large), at("get", b.small), "postgres get", "pocketbase get"},
		{"list 20 contacts", at("list, any page", b.large), at("list, any page", b.small), "postgres list", "pocketbase list"},
		{"search for a name", at("search, a rare name", b.large), at("search, a rare name", b.small), "postgres search", ""},
		{"search for a common first name", at("search, a common name", b.large), at("search, a common name", b.small), "", ""},
		{"record a gift", at("gift", b.large), at("gift", b.small), "postgres gift", ""},
	} {
		growth := "-"
		if b.all.failure(row.work) != "" {
			continue
		}
		if b.all.failure(row.small) == "" {
			growth = number(spreadOf(b.all.ratio(cpuOf, row.work, row.small)).median) + "x"
		}
		t.row(row.words, strings.TrimSuffix(rate(row.work), "/s"), number(b.all.median(row.work, cpuOf))+" us", growth, rate(row.postgres), rate(row.peer))
	}
	if seconds := b.notes["import seconds"]; len(seconds) > 0 {
		t.row("import a row of a file", thousands(int(float64(b.contacts)/spreadOf(seconds).median)), number(spreadOf(b.notes["import us"]).median)+" us", "-", "-", "-")
	}
	return t.String()
}

func (b *bench) goalTable() string {
	t := newTable("goal", "what", "measured", "limit", "met", "ours", "compared with")
	missing := ""
	for _, o := range b.goals() {
		verdict, measured := o.verdict(), "-"
		if !o.met() {
			verdict = "**" + verdict + "**"
		}
		if o.reason == "" {
			measured = o.spread.text(o.unit)
		} else if !strings.HasPrefix(o.reason, notRun) {
			missing += fmt.Sprintf("\nGoal %s, %s, is not measured: %s.\n", o.number, o.words, oneLine(o.reason))
		}
		t.row(o.number, o.words, measured, o.bound(), verdict, cmp.Or(o.ours, "-"), cmp.Or(o.other, "-"))
	}
	return t.String() + missing
}

func (b *bench) allTable() string {
	t := newTable("variant", "requests a second", "p50 ms", "p99 ms", "us of the server", "MB of the server")
	for _, name := range slices.Sorted(maps.Keys(b.all)) {
		if reason := b.all.failure(name); reason != "" {
			t.row(name, "failed: "+oneLine(reason), "", "", "", "")
			continue
		}
		row := []string{name, thousands(int(b.all.median(name, result.rate)))}
		for _, measure := range []func(result) float64{p50Of, p99Of, cpuOf, rssOf} {
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

// picture draws the goals as bars.
func (b *bench) picture() []byte {
	var bars []bar
	for _, o := range b.goals() {
		if o.reason == "" {
			class := map[bool]string{true: "met", false: "missed"}[o.met()]
			bars = append(bars, bar{96 + len(bars)*26, o.number, o.words, class, number(o.spread.median) + o.unit,
				o.bound() + ", " + o.verdict(), 115 * min(2, max(0.02, o.share()))})
		}
	}
	end := 96 + len(bars)*26
	var drawn bytes.Buffer
	check(picture.Must(picture.New("").Parse(pictureText)).Execute(&drawn, map[string]any{"Bars": bars, "BarsEnd": end, "Height": end + 24, "Frame": end + 23}))
	return drawn.Bytes()
}
