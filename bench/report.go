package main

import (
	_ "embed"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"text/template"
	"time"
)

//go:embed page.md.tmpl
var pageText string

func (b *bench) page() string {
	var page strings.Builder
	check(template.Must(template.New("").Parse(pageText)).Execute(&page, map[string]any{
		"Date": b.started.UTC().Format(time.DateOnly), "Minutes": math.Ceil(time.Since(b.started).Minutes()), "Machine": describeMachine(),
		"Contacts": b.large, "Few": b.small, "Base": b.base, "Many": b.many, "PostgreSQL": b.versions["PostgreSQL"], "PocketBase": b.versions["PocketBase"],
		"Rounds": b.rounds, "Measured": b.timing.measured, "Warm": b.timing.warm, "Work": b.workTable(), "Size": b.sizeTable(), "Goals": b.goalTable(),
	}))
	return page.String()
}

// markdown is a table, the names of its columns first.
func markdown(rows ...[]string) string {
	var t strings.Builder
	for i, row := range rows {
		t.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			t.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	return t.String()
}

// workTable has what a user wants to know first: how fast it is, how it grows, and against what else one could take.
func (b *bench) workTable() string {
	rows := [][]string{{"requests per second", "SQLite, " + b.large.String() + " contacts", "cost vs. " + b.small.String() + " contacts", "PostgreSQL, " + b.base.String() + " contacts", "PocketBase, " + b.base.String() + " contacts"}}
	rate := func(name string) string {
		if values := b.figures[name+" /s"]; len(values) > 0 {
			return thousands(int(spreadOf(values).median))
		}
		return "-"
	}
	for _, row := range [][3]string{
		{"read a contact", "get", "pocketbase get"},
		{"list 20 contacts, any page", "list, any page", "pocketbase list"},
		{"search for a rare name", "search, a rare name", ""},
		{"search for a common first name", "search, a common name", ""},
		{"create a contact", "create", "pocketbase create"},
		{"change a contact", "change", ""},
		{"record a gift", "gift", ""},
	} {
		large, small := at(row[1], b.large), at(row[1], b.small)
		growth := b.values(goal{AtMost: true, Ours: large + " us", Other: small + " us"})
		rows = append(rows, []string{row[0], rate(large), strings.Split(spreadOf(growth).text("x"), " ")[0], rate(at("postgres "+row[1], b.base)), rate(row[2])})
	}
	return markdown(rows...)
}

// readmeFigures is what the README says of them.
func (b *bench) readmeFigures() string {
	cell := func(work string, column int) string {
		for line := range strings.SplitSeq(b.workTable(), "\n") {
			if cells := strings.Split(line, " | "); cells[0] == "| "+work {
				return cells[column]
			}
		}
		fail("there are no figures for %q", work)
		return ""
	}
	return fmt.Sprintf("with %s contacts, %d processors read a contact %s times a second and create %s; a page of a list costs\n  %s what it costs with %s contacts, and a search for a common first name %s",
		b.large, runtime.NumCPU(), cell("read a contact", 1), cell("create a contact", 1), cell("list 20 contacts, any page", 2), b.small, cell("search for a common first name", 2))
}

// fillIn puts figures between the marks of a text.
func fillIn(text, figures string) string {
	const begin, end = "<!-- figures -->", "<!-- end -->"
	before, rest, ok := strings.Cut(text, begin)
	_, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		fail("the README has no place for figures")
	}
	return before + begin + figures + end + after
}

// sizeTable has what the program needs.
func (b *bench) sizeTable() string {
	rows := [][]string{{"size and time", ""}}
	for _, row := range [][2]string{
		{"program MB", "the program, one file"}, {"start ms", "start to first response"}, {"idle MB", "idle memory"}, {"loaded MB", "peak memory under load"},
		{"database MB", "database of " + b.large.String() + " contacts and as many gifts"}, {"import s", "import of " + b.large.String() + " contacts from a file"}, {"export s", "export of the same contacts"},
	} {
		if values := b.figures[row[0]]; len(values) > 0 {
			rows = append(rows, []string{row[1], thousands(int(math.Round(spreadOf(values).median))) + unitOf(row[0])})
		}
	}
	return markdown(rows...)
}

func (b *bench) goalTable() string {
	rows := [][]string{{"goal", "what", "measured", "limit", "met", "ours", "compared with"}}
	for _, g := range b.goals() {
		rows = append(rows, g.row(b))
	}
	text := markdown(rows...)
	for _, name := range slices.Sorted(maps.Keys(b.failed)) {
		text += fmt.Sprintf("\nNot measured: %s: %.200s.\n", name, strings.Join(strings.Fields(b.failed[name].Error()), " "))
	}
	return text
}
