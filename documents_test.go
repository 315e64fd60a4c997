package donorbook_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/config"
	"donorbook/internal/crm/access"
	"donorbook/internal/rig/assert"
	"donorbook/internal/store"
)

var (
	link     = regexp.MustCompile(`\]\(([^)#:]*)(#[^)]*)?\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	noAnchor = regexp.MustCompile(`[^a-z0-9 _-]`)
	fileName = regexp.MustCompile("`([a-z0-9_.-]+/[a-z0-9_./*-]+\\.(?:go|yaml|html|css|toml|md))`")
	byNumber = regexp.MustCompile(`decisions/\d{4}|\b[Dd]ecisions? \d`)
)

// files are the texts of the repository whose names end so, by their paths.
func files(t *testing.T, ending string) map[string]string {
	texts := map[string]string{}
	assert.Succeed(t, filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == "node_modules" || name == "testdata" || path != "." &&
			strings.HasPrefix(name, ".")):
			return filepath.SkipDir
		case strings.HasSuffix(path, ending) && !strings.HasSuffix(path, "_test.go"):
			texts[filepath.ToSlash(path)] = string(assert.Must(os.ReadFile(path))(t))
		}
		return nil
	}))
	return texts
}

// documents are the texts for people, and sources are those for Go, without tests.
func documents(t *testing.T) map[string]string { return files(t, ".md") }
func sources(t *testing.T) map[string]string   { return files(t, ".go") }

func TestLinksOfDocumentsLeadSomewhere(t *testing.T) {
	texts := documents(t)
	for path, text := range texts {
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			target := path
			if found[1] != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(path), found[1]))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which does not exist", path, target)
			} else if found[2] != "" && !slices.Contains(anchors(texts[target]), found[2]) {
				t.Errorf("%s links to %s of %s, which is no heading there", path, found[2], target)
			}
		}
	}
}

// anchors are what the headings of a document are called in links.
func anchors(text string) []string {
	var names []string
	for _, found := range heading.FindAllStringSubmatch(text, -1) {
		names = append(names, "#"+strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(found[1]), ""), " ",
			"-"))
	}
	return names
}

// These documents tell where things are in the code.
func TestFilesThatDocumentsNameExist(t *testing.T) {
	texts := documents(t)
	for path, text := range texts {
		if !regexp.MustCompile(`^(README|ARCHITECTURE|CONTRIBUTING|docs/(storage|design|dependencies|decisions/.*)).md$`).MatchString(path) {
			continue
		}
		for _, found := range fileName.FindAllStringSubmatch(text, -1) {
			here, _ := filepath.Glob(found[1])
			below, _ := filepath.Glob(filepath.Join("internal", found[1]))
			if len(here)+len(below) == 0 {
				t.Errorf("%s names %s, which does not exist", path, found[1])
			}
		}
	}
}

func TestTheArchitectureNamesEveryPackage(t *testing.T) {
	text := documents(t)["ARCHITECTURE.md"]
	for folder := range arrows {
		assert.Contains(t, text, "`"+folder+"`", "ARCHITECTURE.md does not name %s", folder)
	}
}

// Decisions are notes by subject that are kept true. A decision that no longer holds is a line of its note.
func TestEveryDecisionIsInTheList(t *testing.T) {
	texts := documents(t)
	notes := 0
	for path, text := range texts {
		if name, found := strings.CutPrefix(path, "docs/decisions/"); found && name != "README.md" {
			notes++
			assert.Contains(t, texts["docs/decisions/README.md"], "]("+name+") |",
				"docs/decisions/README.md does not list %s", name)
			if !slices.Contains(anchors(text), "#replaced") {
				t.Errorf("%s does not say what it replaced", path)
			}
		}
	}
	if notes < 12 {
		t.Errorf("only %d notes", notes)
	}
	maps.Copy(texts, sources(t))
	for path, text := range texts {
		assert.Equal(t, byNumber.FindString(text), "", "%s refers", path)
	}
}

// What the README says of speed is in the benchmarks, as it was measured.
func TestTheReadmeSaysWhatWasMeasured(t *testing.T) {
	texts := documents(t)
	_, said, _ := strings.Cut(texts["README.md"], "<!-- figures -->")
	said, _, _ = strings.Cut(said, "<!-- end -->")
	measured := texts["docs/benchmarks.md"]
	cell := func(work string, column int) string {
		_, row, _ := strings.Cut(measured, "\n| "+work+" | ")
		row, _, _ = strings.Cut(row, "\n")
		return strings.Split(row, " | ")[column]
	}
	machine := regexp.MustCompile(`on (\d+ processors) `).FindStringSubmatch(measured)
	if machine == nil {
		t.Fatal("the benchmarks name no processors")
	}
	for _, figure := range []string{machine[1], "read a contact " + cell("read a contact", 0) + " times a second",
		"create " + cell("create a contact", 0) + ";", " " + cell("list 20 contacts, any page", 1) + " what it costs",
		"common first name " + cell("search for a common first name", 1)} {
		assert.Contains(t, strings.Join(strings.Fields(said), " ")+" ", figure, "the README does not say")
	}
}

// The version is in the source, so that a build without git tells it, too.
func TestTheVersionIsTheNewestInTheChangelog(t *testing.T) {
	newest := regexp.MustCompile(`(?m)^## (\S+)`).FindStringSubmatch(documents(t)["CHANGELOG.md"])
	if newest == nil || !strings.Contains(sources(t)["internal/cli/cli.go"], "\nconst release = \""+newest[1]+"\"\n") {
		t.Errorf("CHANGELOG.md begins with %q: the program must say so, too, in internal/cli/cli.go", newest)
	}
}

// What exists in the code is named in the document that is for it.
func TestDocumentsNameWhatExists(t *testing.T) {
	texts, code := documents(t), sources(t)
	written := func(under, pattern string) (names []string) {
		for path, text := range code {
			if strings.HasPrefix(path, under) {
				for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
					names = append(names, found[1])
				}
			}
		}
		return names
	}
	var tables, settings []string
	commands, _ := store.Distribution()
	for _, sql := range commands {
		tables = append(tables, distributed(sql))
	}
	for _, setting := range config.Dump(new(config.Storage), new(config.Server)) {
		settings = append(settings, "--"+setting.Name)
	}
	for _, of := range []struct {
		what, document string
		names          []string
		least          int
	}{
		{"tool", "docs/assistants.md", written("internal/assistant/tool.go", `(?m)^\t\{"([a-z_]+)", `), 20},
		{"table", "docs/storage.md", tables, 30},
		{"file of an account", "docs/data.md", written("internal/store/move/", `"([a-z_]+\.jsonl?)"`), 14},
		{"setting", "docs/operations.md", settings, 25},
		{"metric", "docs/operations.md", written("internal/", `"(donorbook_[a-z_]+[a-z])"`), 15},
		{"permission", "docs/api.md", access.AllPermissions.Names(), 6},
	} {
		for _, name := range of.names {
			if !regexp.MustCompile("`" + regexp.QuoteMeta(name) + "[`{ ]").MatchString(texts[of.document]) {
				t.Errorf("%s does not name the %s %s", of.document, of.what, name)
			}
		}
		if len(of.names) < of.least {
			t.Errorf("only %d of what %s should name as a %s were found", len(of.names), of.document, of.what)
		}
	}
}

// distributed is the table that a command is about.
func distributed(sql string) string {
	_, name, _ := strings.Cut(sql, "('")
	name, _, _ = strings.Cut(name, "'")
	return name
}

// docs/scaling.md tells where each table is on a distributed PostgreSQL, as the commands do that the program prints.
func TestDocumentsTellWhereEachTableIs(t *testing.T) {
	text := documents(t)["docs/scaling.md"]
	row := func(where string) string {
		end := strings.Index(text, "| "+where)
		if end < 0 {
			t.Fatalf("docs/scaling.md has no row %q", where)
		}
		return text[strings.LastIndex(text[:end], "\n"):end]
	}
	beside, everywhere := row("distributed by"), row("reference tables")
	commands, _ := store.Distribution()
	for _, sql := range commands {
		name := distributed(sql)
		in, other := beside, everywhere
		if strings.Contains(sql, "create_reference_table") {
			in, other = everywhere, beside
		}
		if !strings.Contains(in, "`"+name+"`") || strings.Contains(other, "`"+name+"`") {
			t.Errorf("docs/scaling.md does not tell where %s is", name)
		}
	}
	if len(commands) < 30 {
		t.Errorf("only %d tables", len(commands))
	}
}
