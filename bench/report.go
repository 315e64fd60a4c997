package main

import (
	_ "embed"
	"errors"
	"fmt"
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
func (b *bench) write() error {
	path := filepath.Join(b.out, "benchmarks.md")
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	page, err := b.page()
	if err != nil {
		return err
	}
	if _, notes, found := strings.Cut(string(old), notesMark); found {
		page += "\n" + notesMark + notes
	}
	return errors.Join(os.WriteFile(path, []byte(page), 0o644), os.WriteFile(filepath.Join(b.out, "benchmarks.svg"), b.picture(), 0o644))
}

func (b *bench) page() (string, error) {
	var page strings.Builder
	err := template.Must(template.New("").Parse(pageText)).Execute(&page, map[string]any{
		"Date": b.started.UTC().Format(time.DateOnly), "Minutes": math.Ceil(time.Since(b.started).Minutes()),
		"Machine": describeMachine(b.tmp), "Data": strings.Join(b.library.used, "; "), "Seed": b.seed,
		"PostgreSQL": b.versions["PostgreSQL"], "PocketBase": b.versions["PocketBase"], "PeerContacts": thousands(min(b.contacts, peerContacts)),
		"Rounds": counted(b.rounds, "round"), "Measured": b.timing.measured, "Warm": b.timing.warm,
		"Goals": b.goalTable(), "Growth": b.growthTable(), "All": b.allTable(),
	})
	return page.String(), err
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
		t.row(o.number, o.words, dash(o.ours), dash(o.other), o.text(o.values), o.bound(number(o.limit)+unitText(o.unit)), o.text(o.bare), verdict)
		if o.reason != "" && o.reason != notAsked {
			missing += fmt.Sprintf("\n%s is not measured: %s.\n", o.number, oneLine(o.reason))
		}
	}
	return t.String() + missing
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
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
