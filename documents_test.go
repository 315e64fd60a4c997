package donorbook_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/store"
)

var (
	link     = regexp.MustCompile(`\]\(([^)#:]*)(#[^)]*)?\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	noAnchor = regexp.MustCompile(`[^a-z0-9 _-]`)
	fileName = regexp.MustCompile("`([a-z0-9_.-]+/[a-z0-9_./*-]+\\.(?:go|yaml|html|css|toml|md))`")
	decision = regexp.MustCompile(`^\d{4}-`)
)

// documents are the texts for people, by their paths.
func documents(t *testing.T) map[string]string {
	texts := map[string]string{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == "testdata" || path != "." && strings.HasPrefix(entry.Name(), ".")) {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".md") {
			text, err := os.ReadFile(path)
			texts[filepath.ToSlash(path)] = string(text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

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
		names = append(names, "#"+strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(found[1]), ""), " ", "-"))
	}
	return names
}

// Decisions tell of files as they were; these documents tell of files as they are.
func TestFilesThatDocumentsNameExist(t *testing.T) {
	for _, path := range []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/storage.md", "docs/design.md", "docs/dependencies.md"} {
		for _, found := range fileName.FindAllStringSubmatch(documents(t)[path], -1) {
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
		if !strings.Contains(text, "`"+folder+"`") {
			t.Errorf("ARCHITECTURE.md does not name %s", folder)
		}
	}
}

func TestEveryDecisionIsInTheList(t *testing.T) {
	texts := documents(t)
	for path, text := range texts {
		name, found := strings.CutPrefix(path, "docs/decisions/")
		if !found || !decision.MatchString(name) {
			continue
		}
		if !strings.HasPrefix(text, "# "+strings.TrimLeft(name[:4], "0")+". ") {
			t.Errorf("%s does not begin with its number", path)
		}
		_, line, found := strings.Cut(texts["docs/decisions/README.md"], "]("+name+")")
		line, _, _ = strings.Cut(line, "\n")
		if !found {
			t.Errorf("docs/decisions/README.md does not list %s", name)
		} else if strings.Contains(text, "\n\nSuperseded") != strings.Contains(line, "superseded") {
			t.Errorf("docs/decisions/README.md and the first line of %s do not agree whether it is superseded", name)
		}
	}
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
		_, name, _ := strings.Cut(sql, "('")
		name, _, _ = strings.Cut(name, "'")
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
