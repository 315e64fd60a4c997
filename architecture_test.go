package donorbook_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"donorbook/internal/rig/assert"
)

// allowed lists the packages that each package may import, of those below internal. An import that is not listed fails
// the test.
const allowed = `
internal/guard:
internal/crm/text:
internal/crm/doc: crm/text

internal/crm/mail: crm/text
internal/crm/thanks: crm crm/doc crm/giving crm/mail crm/text
internal/crm/picture: crm/doc
internal/crm/access: crm/doc crm/picture crm/text crm/thanks
internal/crm/custom: crm/doc crm/text
internal/crm/campaign: crm/access crm/doc crm/picture crm/text
internal/crm: crm/custom crm/doc crm/text
internal/crm/giving: crm crm/doc crm/text
internal/crm/donate: crm crm/doc crm/giving crm/text
internal/crm/duplicate: crm crm/text
internal/crm/find: crm crm/custom crm/doc crm/duplicate crm/giving crm/text
internal/crm/history: crm crm/campaign crm/custom crm/doc crm/giving crm/text
internal/crm/sheet: crm crm/campaign crm/custom crm/doc crm/giving crm/text
# for tests alone
internal/crm/crmtest: crm/doc rig/drill

internal/pay: crm/donate crm/giving crm/text
internal/relay: crm/mail
internal/db: guard
internal/table:
internal/pdf:
internal/store: crm crm/access crm/campaign crm/custom crm/doc crm/donate crm/find crm/giving crm/history crm/mail
    crm/picture crm/text crm/thanks db pdf store/steps guard

internal/store/steps: db
internal/store/people: crm crm/access crm/doc crm/history crm/mail crm/text db store
internal/store/jobs: crm crm/access crm/custom crm/doc crm/find crm/giving crm/history crm/mail crm/text crm/thanks
    crm/sheet db table store store/people guard
internal/store/merges: crm crm/doc crm/find crm/history db store store/jobs
internal/store/duplicates: crm crm/doc crm/duplicate crm/find crm/history db store store/jobs store/merges guard
internal/store/donations: crm crm/access crm/campaign crm/doc crm/donate crm/find crm/giving crm/history crm/mail
    crm/text db store guard
internal/store/move: crm crm/access crm/campaign crm/custom crm/doc crm/donate crm/find crm/giving crm/history
    crm/mail crm/picture crm/text crm/thanks crm/sheet db pdf table store store/people store/jobs store/merges
internal/store/check: crm crm/access crm/campaign crm/doc crm/find crm/giving crm/history crm/picture crm/text
    crm/thanks db store store/people store/jobs store/move
internal/store/book: store store/people store/jobs store/merges store/duplicates store/donations store/move store/check

internal/backup: db store store/book store/check
internal/web/certs:
internal/web: crm crm/doc crm/text web/certs guard
internal/api: crm crm/access crm/campaign crm/custom crm/doc crm/donate crm/find crm/giving crm/history crm/mail
    crm/text crm/thanks store store/book store/donations store/merges
    store/duplicates web
# The console has folders of pages: each of them knows page, which all pages are made of, and never another one.
internal/console: crm crm/access crm/campaign crm/custom crm/doc crm/donate crm/duplicate crm/find crm/giving
    crm/history crm/mail crm/picture crm/text crm/thanks crm/sheet pay pdf store store/book
    store/merges store/donations store/duplicates store/jobs store/move web
internal/assistant: web guard
internal/config: crm/mail crm/text relay store store/donations web web/certs
internal/demo: config crm crm/access crm/campaign crm/doc crm/donate crm/giving crm/history crm/picture crm/text store
    store/book
internal/cli: crm crm/access crm/campaign crm/doc crm/duplicate crm/find crm/giving crm/history crm/mail crm/text
    crm/sheet pay store store/book store/people store/donations store/duplicates store/jobs
    store/move store/check table web web/certs api assistant console config demo backup guard
cmd/donorbook: cli
# for programs of others: it knows a server by its API alone
client:

# makes the reference page of the API; no part of the program
internal/reference: rig/rows

# for tests alone
internal/pay/stripetest:
# for tests, and for bench
internal/pgtest:
# for tests alone
internal/rig: crm crm/access crm/doc crm/text pgtest rig/assert rig/drill
# for tests alone
internal/rig/assert:
internal/rig/drill:
internal/rig/rows:
tools/drill:
tools/mutate:
# sees a server as a client does; fills its data by the store, and records its statements
bench: crm crm/access crm/crmtest crm/doc crm/find db pgtest rig/rows store store/book store/jobs table
# a peer to compare with; a module of its own, so that the program does not depend on it
bench/pocketbase:
# sees a server as a person does; a module of its own, so that the program does not depend on it
browser:
`

// arrows are what packages may import.
var arrows = func() map[string][]string {
	all := map[string][]string{}
	folder := ""
	for line := range strings.Lines(allowed) {
		names, _, _ := strings.Cut(line, "#")
		if before, after, isFolder := strings.Cut(names, ":"); isFolder {
			folder, names = before, after
			all[folder] = nil
		}
		for _, name := range strings.Fields(names) {
			all[folder] = append(all[folder], "internal/"+name)
		}
	}
	all["internal/console/page"] = all["internal/console"]
	for _, folder := range consoleFolders() { // a new one is under the same rule
		if folder != "internal/console/page" {
			all[folder] = append([]string{"internal/console/page"}, all["internal/console"]...)
		}
		outside["net/http"] += " " + folder
	}
	all["internal/console"] = append(slices.Clone(all["internal/console"]), consoleFolders()...)
	return all
}()

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
var outside = map[string]string{
	"net/http": `internal/web internal/web/certs internal/api internal/assistant internal/console internal/pay internal/pay/stripetest
		internal/reference internal/rig bench client`,
	"database/sql":                           "",
	"github.com/ncruces/go-sqlite3":          "internal/db",
	"github.com/jackc/pgx/v5":                "internal/db internal/pgtest bench",
	"github.com/prometheus/client_golang":    "internal/web",
	"github.com/nyaruka/phonenumbers":        "internal/crm/text",
	"golang.org/x/image":                     "internal/crm/picture internal/pdf",
	"github.com/wneessen/go-mail":            "internal/relay",
	"github.com/modelcontextprotocol/go-sdk": "internal/assistant",
}

func TestPackagesImportOnlyWhatTheArchitectureAllows(t *testing.T) {
	files := map[string]int{}
	for path, source := range sources(t) {
		folder := filepath.ToSlash(filepath.Dir(path))
		if files[folder]++; files[folder] == 41 {
			t.Errorf("%s has more than 40 files", folder)
		}
		imports, known := arrows[folder]
		if !known {
			t.Errorf("%s is in a folder that the architecture does not know", path)
		}
		if lines := strings.Count(source, "\n"); lines > 800 && !strings.HasPrefix(source, "// Code generated ") {
			t.Errorf("%s has %d lines: more than 800 are two files", path, lines)
		}
		for _, spec := range assert.Must(parser.ParseFile(token.NewFileSet(), path, source,
			parser.ImportsOnly))(t).Imports {
			name := strings.Trim(spec.Path.Value, `"`)
			if inside, found := strings.CutPrefix(name, "donorbook/"); found && !slices.Contains(imports, inside) {
				t.Errorf("%s imports %s", path, inside)
			}
			if folder == "client" && strings.Contains(name, ".") {
				t.Errorf("%s imports %s: programs that use the client should get no other dependency", path, name)
			}
			for limited, packages := range outside {
				if (name == limited || strings.HasPrefix(name, limited+"/")) &&
					!slices.Contains(strings.Fields(packages), folder) {
					t.Errorf("%s imports %s, which is for %s", path, name, packages)
				}
			}
		}
	}
}

// wide is where lines may still be longer than 120 columns.
var wide = regexp.MustCompile(`^(bench|browser|client|cmd|deploy|interop|tools)/|^internal/(api|assistant|backup|cli|config|console|` +
	`demo|pay|pdf|pgtest|reference|relay|rig|table|web|crm/sheet|crm/text|crm/crmtest|store/steps)/`)

// A line has at most 120 columns, where a tab counts as four. A text may be longer.
func TestLinesFit(t *testing.T) {
	for path, source := range sources(t) {
		if wide.MatchString(path) || strings.HasPrefix(source, "// Code generated ") {
			continue
		}
		inText, number := false, 0
		for line := range strings.Lines(source) {
			number++
			hasText := inText || strings.ContainsAny(line, "`\"")
			inText = inText != (strings.Count(line, "`")%2 == 1)
			if columns := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")) - 1; columns > 120 && !hasText {
				t.Errorf("%s:%d has %d columns", path, number, columns)
			}
		}
	}
}

// The package of databases knows no noun, and those of nouns know no database: neither in code nor in a comment.
func TestNounsAndEnginesStayApart(t *testing.T) {
	seen := map[string]int{}
	for below, foreign := range map[string]*regexp.Regexp{
		"internal/db/":    regexp.MustCompile(`(?i)contact|campaign|gift|invitation|\bmembers?\b|\btags?\b|app_user|user_session|api_key`),
		"internal/store/": regexp.MustCompile(`(?i)sqlite|postgres|pgx|ncruces|fts5|tsvector|citus`),
	} {
		for path, source := range sources(t) {
			if strings.HasPrefix(path, below) {
				seen[below]++
				assert.Equal(t, foreign.FindString(source), "", "%s names", path)
			}
		}
	}
	if seen["internal/db/"] < 10 || seen["internal/store/"] < 50 {
		t.Errorf("only %v files were found", seen)
	}
}

// derived are the tables of documents and of what follows from them, and the only files that write their rows: a change
// of any other place would leave a check something to find. A repair writes what a derivation finds, whatever the table
// is called; the schema's own steps come before any of this.
var derived = map[string]string{
	"ContactTable": "contact", "GiftTable": "gift", "PlanTable": "gift_plan", "IndexTable": "derived",
	"SetTable": "derived",
	"TagTable": "derived", "WordsTable": "derived", "ReferenceTable": "derived", "GivingTable": "derived",
}

var (
	writesRow   = regexp.MustCompile(`(?:Insert|Save|Delete|Add|[wW]rite|[sS]aveWords)\((?:store\.)?(\w+Table)\b`)
	writesTable = regexp.MustCompile(`(?:INSERT INTO|UPDATE|DELETE FROM) (contact_index|contact_set|contact_search|tag|external_reference|giving)\b`)
)

func TestOnlyPutWritesDerivedRows(t *testing.T) {
	found := 0
	for path, source := range sources(t) {
		if filepath.ToSlash(filepath.Dir(path)) == "internal/store/steps" || path == "internal/store/check/derive.go" ||
			path == "internal/store/move/account_discard.go" {
			continue // frozen; derives everything anew; removes everything
		}
		for _, match := range writesRow.FindAllStringSubmatch(source, -1) {
			if only := derived[match[1]]; only != "" && "internal/store/"+only+".go" != path {
				t.Errorf("%s writes rows of %s, which is for %s: put the record", path, match[1], only)
			} else if only != "" {
				found++
			}
		}
		assert.Equal(t, writesTable.FindString(source), "", "%s has the statement", path)
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

// A panic beside a request would end the process, for all organizations, and again at each start. So whatever runs
// beside its caller is guarded.
func TestWhateverRunsBesideItsCallerIsGuarded(t *testing.T) {
	found := 0
	forTests := regexp.MustCompile(`^internal/(guard|pgtest|rig|pay/stripetest|pay/honest|crm/crmtest)/`)
	for path, source := range sources(t) {
		if !strings.HasPrefix(path, "internal/") || forTests.MatchString(path) || unguarded[path] != "" {
			continue
		}
		positions := token.NewFileSet()
		ast.Inspect(assert.Must(parser.ParseFile(positions, path, source, 0))(t), func(n ast.Node) bool {
			if begun := begunBy(n); begun != nil {
				if found++; !isGuarded(begun) {
					t.Errorf("%s begins what may end the process: let it call guard.Do", positions.Position(n.Pos()))
				}
			}
			return true
		})
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
