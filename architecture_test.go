package donorbook_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// arrows lists the packages that each package may import. An import that is not listed fails the test.
var arrows = map[string][]string{
	"internal/guard":    {},
	"internal/crm/text": {},
	"internal/crm/doc":  {"internal/crm/text"},

	"internal/crm/mail":      {"internal/crm/text"},
	"internal/crm/thanks":    {"internal/crm", "internal/crm/doc", "internal/crm/giving", "internal/crm/mail", "internal/crm/text"},
	"internal/crm/picture":   {"internal/crm/doc"},
	"internal/crm/access":    {"internal/crm/doc", "internal/crm/picture", "internal/crm/text", "internal/crm/thanks"},
	"internal/crm/custom":    {"internal/crm/doc", "internal/crm/text"},
	"internal/crm/campaign":  {"internal/crm/access", "internal/crm/doc", "internal/crm/picture", "internal/crm/text"},
	"internal/crm":           {"internal/crm/custom", "internal/crm/doc", "internal/crm/text"},
	"internal/crm/giving":    {"internal/crm", "internal/crm/doc", "internal/crm/text"},
	"internal/crm/donate":    {"internal/crm", "internal/crm/doc", "internal/crm/giving", "internal/crm/text"},
	"internal/crm/duplicate": {"internal/crm", "internal/crm/text"},
	"internal/crm/find":      {"internal/crm", "internal/crm/custom", "internal/crm/doc", "internal/crm/duplicate", "internal/crm/giving", "internal/crm/text"},
	"internal/crm/history":   {"internal/crm", "internal/crm/campaign", "internal/crm/custom", "internal/crm/doc", "internal/crm/giving", "internal/crm/text"},
	"internal/crm/sheet":     {"internal/crm", "internal/crm/campaign", "internal/crm/custom", "internal/crm/doc", "internal/crm/giving", "internal/crm/text"},
	"internal/crm/crmtest":   {"internal/crm/doc", "internal/rig/drill"}, // for tests alone

	"internal/pay":   {"internal/crm/donate", "internal/crm/giving", "internal/crm/text"},
	"internal/relay": {"internal/crm/mail"},
	"internal/db":    {"internal/guard"},
	"internal/table": {},
	"internal/pdf":   {},
	"internal/store": {"internal/crm", "internal/crm/access", "internal/crm/doc", "internal/crm/find", "internal/crm/giving", "internal/crm/history", "internal/crm/picture", "internal/crm/text", "internal/db", "internal/store/steps", "internal/guard"},

	"internal/store/steps":     {"internal/db"},
	"internal/store/derived":   {"internal/crm", "internal/crm/doc", "internal/crm/find", "internal/crm/giving", "internal/db", "internal/store"},
	"internal/store/mails":     {"internal/crm/doc", "internal/crm/mail", "internal/crm/text", "internal/db", "internal/store", "internal/guard"},
	"internal/store/people":    {"internal/crm", "internal/crm/access", "internal/crm/doc", "internal/crm/history", "internal/crm/mail", "internal/crm/text", "internal/crm/thanks", "internal/db", "internal/store", "internal/store/mails"},
	"internal/store/contacts":  {"internal/crm", "internal/crm/custom", "internal/crm/doc", "internal/crm/find", "internal/crm/giving", "internal/crm/history", "internal/crm/text", "internal/db", "internal/store", "internal/store/derived"},
	"internal/store/campaigns": {"internal/crm", "internal/crm/access", "internal/crm/campaign", "internal/crm/doc", "internal/crm/giving", "internal/crm/history", "internal/crm/picture", "internal/crm/text", "internal/db", "internal/store", "internal/store/derived", "internal/store/people"},
	"internal/store/gifts":     {"internal/crm", "internal/crm/access", "internal/crm/campaign", "internal/crm/doc", "internal/crm/donate", "internal/crm/find", "internal/crm/giving", "internal/crm/history", "internal/crm/mail", "internal/crm/text", "internal/crm/thanks", "internal/db", "internal/pdf", "internal/store", "internal/store/derived", "internal/store/people", "internal/store/contacts", "internal/store/campaigns"},
	"internal/store/jobs": {"internal/crm", "internal/crm/access", "internal/crm/custom", "internal/crm/doc", "internal/crm/find", "internal/crm/giving", "internal/crm/history", "internal/crm/mail", "internal/crm/text", "internal/crm/thanks", "internal/crm/sheet", "internal/db", "internal/table", "internal/store", "internal/store/derived", "internal/store/people",
		"internal/store/contacts", "internal/store/campaigns", "internal/store/gifts", "internal/guard"},
	"internal/store/move": {"internal/crm", "internal/crm/access", "internal/crm/campaign", "internal/crm/custom", "internal/crm/doc", "internal/crm/donate", "internal/crm/find", "internal/crm/giving", "internal/crm/history", "internal/crm/mail", "internal/crm/picture", "internal/crm/text", "internal/crm/thanks", "internal/crm/sheet", "internal/db", "internal/pdf", "internal/table", "internal/store", "internal/store/derived", "internal/store/people",
		"internal/store/contacts", "internal/store/campaigns", "internal/store/gifts", "internal/store/jobs", "internal/store/merges"},
	"internal/store/check": {"internal/crm", "internal/crm/access", "internal/crm/campaign", "internal/crm/doc", "internal/crm/find", "internal/crm/giving", "internal/crm/history", "internal/crm/picture", "internal/crm/text", "internal/crm/thanks", "internal/db", "internal/store", "internal/store/derived", "internal/store/people",
		"internal/store/contacts", "internal/store/campaigns", "internal/store/gifts", "internal/store/jobs", "internal/store/move"},
	"internal/store/merges":     {"internal/crm", "internal/crm/doc", "internal/crm/find", "internal/crm/history", "internal/db", "internal/store", "internal/store/contacts", "internal/store/gifts", "internal/store/jobs"},
	"internal/store/duplicates": {"internal/crm", "internal/crm/doc", "internal/crm/duplicate", "internal/crm/find", "internal/crm/history", "internal/db", "internal/store", "internal/store/contacts", "internal/store/gifts", "internal/store/jobs", "internal/store/merges", "internal/guard"},
	"internal/store/donations":  {"internal/crm", "internal/crm/access", "internal/crm/campaign", "internal/crm/doc", "internal/crm/donate", "internal/crm/find", "internal/crm/giving", "internal/crm/history", "internal/crm/mail", "internal/crm/text", "internal/db", "internal/store", "internal/store/people", "internal/store/contacts", "internal/store/campaigns", "internal/store/gifts", "internal/guard"},
	"internal/store/book":       {"internal/store", "internal/store/donations", "internal/store/derived", "internal/store/people", "internal/store/contacts", "internal/store/campaigns", "internal/store/gifts", "internal/store/merges", "internal/store/duplicates", "internal/store/jobs", "internal/store/mails", "internal/store/move", "internal/store/check"},

	"internal/backup":    {"internal/db", "internal/store", "internal/store/book", "internal/store/check"},
	"internal/web/certs": {},
	"internal/web":       {"internal/crm", "internal/crm/doc", "internal/crm/text", "internal/web/certs", "internal/guard"},
	"internal/api":       {"internal/crm", "internal/crm/access", "internal/crm/campaign", "internal/crm/custom", "internal/crm/doc", "internal/crm/donate", "internal/crm/find", "internal/crm/giving", "internal/crm/history", "internal/crm/mail", "internal/crm/text", "internal/crm/thanks", "internal/store", "internal/store/book", "internal/store/contacts", "internal/store/campaigns", "internal/store/donations", "internal/store/gifts", "internal/store/merges", "internal/store/duplicates", "internal/web"},
	"internal/assistant": {"internal/web", "internal/guard"},
	"internal/config":    {"internal/crm/mail", "internal/crm/text", "internal/relay", "internal/store", "internal/store/donations", "internal/web", "internal/web/certs"},
	"internal/demo":      {"internal/config", "internal/crm", "internal/crm/access", "internal/crm/campaign", "internal/crm/doc", "internal/crm/donate", "internal/crm/giving", "internal/crm/history", "internal/crm/picture", "internal/crm/text", "internal/store", "internal/store/book"},
	"internal/cli":       {"internal/crm", "internal/crm/access", "internal/crm/campaign", "internal/crm/doc", "internal/crm/duplicate", "internal/crm/find", "internal/crm/giving", "internal/crm/history", "internal/crm/mail", "internal/crm/text", "internal/crm/sheet", "internal/pay", "internal/store", "internal/store/book", "internal/store/people", "internal/store/gifts", "internal/store/donations", "internal/store/duplicates", "internal/store/jobs", "internal/store/mails", "internal/store/move", "internal/store/check", "internal/table", "internal/web", "internal/web/certs", "internal/api", "internal/assistant", "internal/console", "internal/config", "internal/demo", "internal/backup", "internal/guard"},
	"cmd/donorbook":      {"internal/cli"},
	"client":             {}, // for programs of others: it knows a server by its API alone

	"internal/reference": {}, // makes the reference page of the API; no part of the program

	"internal/pay/stripetest": {},                                                                                                                                                                                                                           // for tests alone
	"internal/pgtest":         {},                                                                                                                                                                                                                           // for tests, and for bench
	"internal/rig":            {"internal/crm", "internal/crm/access", "internal/crm/doc", "internal/crm/text", "internal/pgtest", "internal/rig/drill"},                                                                                                    // for tests alone
	"bench":                   {"internal/crm", "internal/crm/access", "internal/crm/crmtest", "internal/crm/doc", "internal/crm/find", "internal/db", "internal/pgtest", "internal/store", "internal/store/book", "internal/store/jobs", "internal/table"}, // sees a server as a client does; fills its data by the store, and records its statements
	"internal/rig/drill":      {},                                                                                                                                                                                                                           // for tests alone
	"tools/drill":             {},                                                                                                                                                                                                                           // runs the drill
	"tools/mutate":            {},                                                                                                                                                                                                                           // breaks the product to see which tests find it
	"bench/pocketbase":        {},                                                                                                                                                                                                                           // a peer to compare with; a module of its own, so that the program does not depend on it
	"browser":                 {},                                                                                                                                                                                                                           // sees a server as a person does; a module of its own, so that the program does not depend on it
}

// What the pages of the console may know: the rules, the store and the plumbing.
var belowConsole = []string{"internal/crm", "internal/crm/access", "internal/crm/campaign", "internal/crm/custom", "internal/crm/doc", "internal/crm/donate", "internal/crm/duplicate", "internal/crm/find", "internal/crm/giving", "internal/crm/history", "internal/crm/mail", "internal/crm/picture", "internal/crm/text", "internal/crm/thanks", "internal/crm/sheet", "internal/pay", "internal/pdf", "internal/store", "internal/store/book", "internal/store/contacts", "internal/store/campaigns", "internal/store/gifts", "internal/store/merges", "internal/store/donations", "internal/store/duplicates", "internal/store/jobs", "internal/store/move", "internal/web"}

// The console has folders of pages. Each of them knows page, which all pages are made of, and never another one; the console itself knows all, for its routes. A new folder
// is under the same rule.
func init() {
	arrows["internal/console"] = slices.Clone(belowConsole)
	for _, folder := range consoleFolders() {
		arrows["internal/console"] = append(arrows["internal/console"], folder)
		arrows[folder] = append([]string{"internal/console/page"}, belowConsole...)
	}
	arrows["internal/console/page"] = belowConsole
	outside["net/http"] = append(outside["net/http"], consoleFolders()...)
}

func consoleFolders() (folders []string) {
	entries, _ := os.ReadDir("internal/console") // an empty one fails the test below
	for _, entry := range entries {
		if entry.IsDir() {
			folders = append(folders, "internal/console/"+entry.Name())
		}
	}
	return folders
}

// outside lists packages that only some packages may know.
var outside = map[string][]string{
	"net/http":                      {"internal/web", "internal/web/certs", "internal/api", "internal/assistant", "internal/console", "internal/pay", "internal/pay/stripetest", "internal/reference", "internal/rig", "bench", "client"},
	"database/sql":                  {},
	"github.com/ncruces/go-sqlite3": {"internal/db"},
	"github.com/jackc/pgx/v5":       {"internal/db", "internal/pgtest", "bench"},

	"github.com/prometheus/client_golang": {"internal/web"},
	"github.com/nyaruka/phonenumbers":     {"internal/crm/text"},
	"golang.org/x/image":                  {"internal/crm/picture", "internal/pdf"},
	"github.com/wneessen/go-mail":         {"internal/relay"},

	"github.com/modelcontextprotocol/go-sdk": {"internal/assistant"},
}

func TestPackagesImportOnlyWhatTheArchitectureAllows(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && path != "." || entry.Name() == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		checkFile(t, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkFile(t *testing.T, path string) {
	folder := filepath.ToSlash(filepath.Dir(path))
	allowed, known := arrows[folder]
	if !known {
		t.Errorf("%s is in a folder that the architecture does not know", path)
	}
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(source), "\n"); lines > 500 && !strings.HasPrefix(string(source), "// Code generated ") {
		t.Errorf("%s has %d lines: more than 500 are two files", path, lines)
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range file.Imports {
		name := strings.Trim(spec.Path.Value, `"`)
		if inside, found := strings.CutPrefix(name, "donorbook/"); found && !slices.Contains(allowed, inside) {
			t.Errorf("%s imports %s", path, inside)
		}
		if folder == "client" && strings.Contains(name, ".") {
			t.Errorf("%s imports %s: programs that use the client should get no dependency but the standard library", path, name)
		}
		for limited, packages := range outside {
			if (name == limited || strings.HasPrefix(name, limited+"/")) && !slices.Contains(packages, folder) {
				t.Errorf("%s imports %s, which is for %v", path, name, packages)
			}
		}
	}
}

// The package of databases knows no noun, and those of nouns know no database: neither in code nor in a comment.
func TestNounsAndEnginesStayApart(t *testing.T) {
	for folder, foreign := range map[string]*regexp.Regexp{
		"internal/db":    regexp.MustCompile(`(?i)contact|campaign|gift|invitation|\bmembers?\b|\btags?\b|app_user|user_session|api_key`),
		"internal/store": regexp.MustCompile(`(?i)sqlite|postgres|pgx|ncruces|fts5|tsvector|citus`),
	} {
		paths, err := filepath.Glob(folder + "/*.go")
		below, _ := filepath.Glob(folder + "/*/*.go")
		if err != nil || len(paths) == 0 {
			t.Fatal(folder, err)
		}
		for _, path := range append(paths, below...) {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range strings.Split(string(source), "\n") {
				if word := foreign.FindString(line); word != "" {
					t.Errorf("%s:%d names %q", path, i+1, word)
				}
			}
		}
	}
}

// written lists the tables of documents and of what follows from them, and the only folders that write their rows: a change of any other place would leave a check something to find.
// A repair writes what a derivation finds, whatever the table is called; the schema's own steps come before any of this.
var written = map[string]string{
	"ContactTable": "internal/store/contacts", "GiftTable": "internal/store/gifts", "PlanTable": "internal/store/gifts",
	"IndexTable": "internal/store/derived", "SetTable": "internal/store/derived", "TagTable": "internal/store/derived", "WordsTable": "internal/store/derived",
	"ReferenceTable": "internal/store/derived", "GivingTable": "internal/store/derived",
}

var (
	writesRow   = regexp.MustCompile(`(?:Insert|Save|Delete|Add|[wW]rite|[sS]aveWords)\((?:store\.)?(\w+Table)\b`)
	writesTable = regexp.MustCompile(`(?:INSERT INTO|UPDATE|DELETE FROM) (contact_index|contact_set|contact_search|tag|external_reference|giving)\b`)
)

func TestOnlyPutWritesDerivedRows(t *testing.T) {
	found := 0
	for folder := range arrows {
		paths, err := filepath.Glob(folder + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") || folder == "internal/store/steps" || path == "internal/store/check/derive.go" || path == "internal/store/move/account_discard.go" {
				continue // frozen; derives everything anew; removes everything
			}
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range writesRow.FindAllSubmatch(source, -1) {
				if only := written[string(match[1])]; only != "" && only != folder {
					t.Errorf("%s writes rows of %s, which is for %s: put the record", path, match[1], only)
				} else if only != "" {
					found++
				}
			}
			if match := writesTable.Find(source); match != nil {
				t.Errorf("%s has the statement %q: put the record", path, match)
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d writes of such rows were found: the rule no longer sees them", found)
	}
}

// unguarded are goroutines that need no guard of their own, by their file.
var unguarded = map[string]string{
	"internal/db/queue.go": "each batch is guarded, and a change whose writer is gone would wait for good",
	"internal/cli/cli.go":  "it stops the process",
}

// A panic beside a request would end the process, for all organizations, and again at each start. So whatever runs beside its caller is guarded.
func TestWhateverRunsBesideItsCallerIsGuarded(t *testing.T) {
	found := 0
	for _, folder := range slices.Sorted(maps.Keys(arrows)) {
		if !strings.HasPrefix(folder, "internal/") || slices.Contains([]string{"internal/guard", "internal/pgtest", "internal/rig", "internal/pay/stripetest"}, folder) {
			continue
		}
		paths, err := filepath.Glob(folder + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") || unguarded[path] != "" {
				continue
			}
			positions := token.NewFileSet()
			file, err := parser.ParseFile(positions, path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if begun := begunBy(n); begun != nil {
					if found++; !isGuarded(begun) {
						t.Errorf("%s begins what may end the process: let it call guard.Do", positions.Position(n.Pos()))
					}
				}
				return true
			})
		}
	}
	if found < 15 {
		t.Errorf("only %d goroutines were found: the rule no longer sees them", found)
	}
}

// begunBy is what a statement or a call runs beside its caller, nil for nothing.
func begunBy(n ast.Node) ast.Expr {
	switch n := n.(type) {
	case *ast.GoStmt:
		return n.Call.Fun
	case *ast.CallExpr:
		called, ok := n.Fun.(*ast.SelectorExpr)
		switch {
		case ok && called.Sel.Name == "Go" && len(n.Args) == 1:
			return n.Args[0]
		case ok && called.Sel.Name == "AfterFunc" && len(n.Args) == 2:
			if name, isName := n.Args[1].(*ast.Ident); !isName || name.Name != "cancel" {
				return n.Args[1]
			}
		}
	}
	return nil
}

func isGuarded(begun ast.Expr) (yes bool) {
	if _, isWritten := begun.(*ast.FuncLit); !isWritten {
		return false
	}
	ast.Inspect(begun, func(n ast.Node) bool {
		selected, ok := n.(*ast.SelectorExpr)
		if ok {
			of, isName := selected.X.(*ast.Ident)
			yes = yes || isName && of.Name == "guard"
		}
		return true
	})
	return yes
}
