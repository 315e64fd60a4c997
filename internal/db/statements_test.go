package db_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/db"
	"donorbook/internal/store/book"
)

// sqlTexts are the constants of packages that hold SQL, by name: those of a directory, and of all below it. A name that others may use begins with SQL
// instead of sql.
func sqlTexts(t *testing.T, dir string) map[string]string {
	t.Helper()
	reader := &constantReader{t: t, fset: token.NewFileSet(), known: make(map[string]*types.Package)}
	texts := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.IsDir() || entry.Name() == "testdata" {
			return err
		}
		pkg := reader.read(path)
		for _, name := range pkg.Scope().Names() {
			private := "sql" + strings.TrimPrefix(strings.TrimPrefix(name, "SQL"), "sql")
			if !strings.HasPrefix(strings.ToLower(name), "sql") || name == strings.ToLower(name) || strings.HasPrefix(name, "sqlite") {
				continue
			}
			switch object := pkg.Scope().Lookup(name).(type) {
			case *types.Const:
				texts[private] = constant.StringVal(object.Val())
			case *types.Var:
				t.Errorf("the variable %s holds SQL that no test looks at: make it a constant", name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// constantReader evaluates the constants of our own packages. Other packages need not be known for that.
type constantReader struct {
	t     *testing.T
	fset  *token.FileSet
	known map[string]*types.Package
}

// Import reads a package of the store that a text is put together with.
func (r *constantReader) Import(path string) (*types.Package, error) {
	below, ours := strings.CutPrefix(path, "donorbook/internal/")
	if !ours || !strings.HasPrefix(below, "store") {
		return nil, errors.New("not needed")
	}
	return r.read(filepath.Join("..", filepath.FromSlash(below))), nil
}

func (r *constantReader) read(dir string) *types.Package {
	r.t.Helper()
	if pkg := r.known[dir]; pkg != nil {
		return pkg
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		r.t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(r.fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			r.t.Fatal(err)
		}
		files = append(files, file)
	}
	config := types.Config{Error: func(error) {}, FakeImportC: true, Importer: r}
	r.known[dir], _ = config.Check("donorbook/internal/"+filepath.ToSlash(strings.TrimPrefix(dir, "../")), r.fset, files, nil)
	return r.known[dir]
}

// statementTexts are all statements that a store runs, by name: the constants of both packages, and those that are generated from
// the descriptions of tables and searches.
func statementTexts(t *testing.T, s *book.Book) map[string]string {
	t.Helper()
	texts := sqlTexts(t, "../store")
	for name, text := range sqlTexts(t, ".") {
		texts[name] = text
	}
	for _, table := range s.DB().Tables() {
		for name, text := range s.DB().TableTexts(table) {
			texts[table.Name+": "+name] = text
		}
	}
	for name, text := range s.DB().SearchTexts(s.DB().Table("contact").Words) {
		texts["search: "+name] = text
	}
	return texts
}

// searched is a step that asks the index of a search for words, or for one row.
var searched = regexp.MustCompile(`^SCAN \w+ VIRTUAL TABLE INDEX \d+:(M1|=)`)

func TestNoStatementReadsMoreThanItNeeds(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	// Statements that may read a whole table or sort, and why.
	allowed := map[string][]string{
		"sqlAccounts":       {"SCAN a"},                                                            // only a part of the next two
		"sqlAccountList":    {"SCAN a USING INDEX account_parent", "USE TEMP B-TREE FOR ORDER BY"}, // all accounts, for the operator
		"sqlAllUsers":       {"SCAN app_user USING INDEX sqlite_autoindex_app_user_2"},             // all users, for the operator
		"sqlAllMemberships": {"SCAN member"},
		"sqlAccountNumbers": {"SCAN account USING COVERING INDEX sqlite_autoindex_account_1"},    // all accounts, while a machine is away
		"sqlTallies":        {"SCAN account_tally USING INDEX sqlite_autoindex_account_tally_1"}, // an upgrade reads all accounts
		"sqlStep14Accounts": {"SCAN account_tally USING INDEX sqlite_autoindex_account_tally_1"},
		"sqlGivenBy":        {"USE TEMP B-TREE FOR GROUP BY", "USE TEMP B-TREE FOR ORDER BY"}, // the gifts of a page of donors, of at most 1,000
		"sqlGivenForBy":     {"USE TEMP B-TREE FOR GROUP BY", "USE TEMP B-TREE FOR ORDER BY"},
		"sqlStep14Merged":   {"SCAN contact_merge USING INDEX contact_merge_other"},
		"sqlFoldedAlike":    {"LIST SUBQUERY 1"},                                                     // the tags of one account, by their index
		"sqlCheckTotal":     {"SCAN contact"},                                                        // a check reads everything
		"sqlSweeps":         {"SCAN account_setting USING INDEX sqlite_autoindex_account_setting_1"}, // a row for each account that has set something, every hour
		"sqlOthersSince":    {"CORRELATED SCALAR SUBQUERY 2", "CORRELATED SCALAR SUBQUERY 1"},
		"sqlStretch":        {"CORRELATED SCALAR SUBQUERY 1"},                                // the change before each gift of a page, by its key
		"sqlOpenJobs":       {"SCAN job USING INDEX job_open"},                               // what is left to be done, mostly nothing
		"sqlAccountJobs":    {"SCAN job USING INDEX job_open"},                               // the same, when an account is imported or listed
		"sqlOldJobs":        {"CORRELATED SCALAR SUBQUERY 1"},                                // one row of each, every hour
		"sqlLeftParts":      {"CORRELATED SCALAR SUBQUERY 1"},                                // the same
		"sqlJobsBefore":     {"SCAN CONSTANT ROW", "SCALAR SUBQUERY 1"},                      // the first of an index
		"sqlGivesStill":     {"SCAN CONSTANT ROW", "SCALAR SUBQUERY 1", "SCALAR SUBQUERY 2"}, // what one contact gives, by two indexes
		"sqlDisplaced":      {"SCAN contact"},
		"sqlCheckCampaigns": {"SCAN campaign USING INDEX sqlite_autoindex_campaign_1"},
		"sqlCampaignsOf":    {"SCAN campaign USING INDEX sqlite_autoindex_campaign_1"},        // a repair
		"sqlTopCampaigns":   {"USE TEMP B-TREE FOR GROUP BY", "USE TEMP B-TREE FOR ORDER BY"}, // the gifts of a year
		"sqlTopGifts":       {"USE TEMP B-TREE FOR ORDER BY"},                                 // the gifts of three months
		"sqlNewestBlocks":   {"SCALAR SUBQUERY 1"},                                            // one row of the account
		"sqlMostGiven":      {"USE TEMP B-TREE FOR GROUP BY", "USE TEMP B-TREE FOR ORDER BY"}, // a repair
		"sqlLostGivers":     {"SCAN g USING COVERING INDEX gift_contact", "CORRELATED SCALAR SUBQUERY 1"},
		"sqlCustomFields":   {"COMPOUND QUERY", "LEFT-MOST SUBQUERY", "UNION ALL"}, // the few definitions of an account, and one row of it
		"sqlContact":        {"SCALAR SUBQUERY 1"},                                 // the same row, where a contact has custom fields
		"sqlScattered":      {"SCALAR SUBQUERY 1"},
		"sqlGivers":         {"CORRELATED SCALAR SUBQUERY 1"},                                                                                                                                           // the gift of each reference, by its key
		"search: count":     {"CO-ROUTINE (subquery-1)", "SCAN (subquery-1)"},                                                                                                                           // what was found, up to a limit
		"sqlChanged":        {"USE TEMP B-TREE FOR DISTINCT"},                                                                                                                                           // the contacts of a stretch of changes, up to a limit
		"sqlWeight":         {"CO-ROUTINE d", "SCAN d"},                                                                                                                                                 // the pairs of an account, up to a limit
		"sqlGroupCounts":    {"CO-ROUTINE g", "SCAN g"},                                                                                                                                                 // the groups of an account, in their turn
		"sqlPending":        {"SCAN t USING INDEX sqlite_autoindex_account_tally_1"},                                                                                                                    // all accounts, once a minute
		"sqlHalfMerges":     {"SCAN m USING INDEX contact_merge_other", "CORRELATED SCALAR SUBQUERY 1", "CORRELATED SCALAR SUBQUERY 2", "CORRELATED SCALAR SUBQUERY 3", "CORRELATED SCALAR SUBQUERY 4"}, // a check
		"sqlLostMerges":     {"SCAN m", "CORRELATED SCALAR SUBQUERY 1", "CORRELATED SCALAR SUBQUERY 2"},                                                                                                 // a check
		"sqlLostPairs":      {"SCAN d USING COVERING INDEX duplicate_b", "CORRELATED SCALAR SUBQUERY 1", "CORRELATED SCALAR SUBQUERY 2"},                                                                // a check
		"sqlMergesAbout":    {"MERGE (UNION)", "LEFT", "RIGHT"},                                                                                                                                         // by two indexes
		"sqlGiftsAbout":     {"USE TEMP B-TREE FOR ORDER BY"},                                                                                                                                           // the gifts of one contact
		"sqlVersions":       {"SCAN schema_version USING COVERING INDEX sqlite_autoindex_schema_version_1"},                                                                                             // a handful of rows
	}
	texts := statementTexts(t, s)
	if len(texts) < 25 {
		t.Fatalf("only %d SQL texts were found", len(texts))
	}
	explained := 0
	err := s.DB().Read(t.Context(), func(c db.Conn) error {
		for name, text := range texts {
			if strings.HasPrefix(text, "CREATE ") {
				continue
			}
			args := make([]any, 1+strings.Count(text, "$"))
			for i := range args {
				args[i] = int64(1)
			}
			var plan []string
			err := c.Each(func(r db.Row) error {
				plan = append(plan, r.Text(3))
				return nil
			}, "EXPLAIN QUERY PLAN "+text, args...)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			explained++
			for _, step := range plan {
				costly := !strings.HasPrefix(step, "SEARCH ") && !searched.MatchString(step) || strings.Contains(step, "AUTOMATIC")
				if costly && !slices.Contains(allowed[name], step) {
					t.Errorf("%s: %s\n%s", name, step, text)
				}
			}
		}
		return nil
	})
	if err != nil || explained < 25 {
		t.Errorf("%d statements were explained, %v", explained, err)
	}
}

// The pairs of an account may be half a million. What asks for those of some contacts or groups finds them by these, and by nothing that more pairs have.
func TestPairsAreFoundByContactOrGroup(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	texts := sqlTexts(t, "../store")
	err := s.DB().Read(t.Context(), func(c db.Conn) error {
		for name, by := range map[string]string{
			"sqlPairsA": "a=?", "sqlPairsB": "b=?", "sqlForgetPairsA": "a=?", "sqlForgetPairsB": "b=?", "sqlForgetFoundA": "a=?", "sqlForgetFoundB": "b=?",
			"sqlGroupPairs": "person=?", "sqlSureOf": "person=?", "sqlNextSure": "a>?", "sqlPair": "a=? AND b=?", "sqlDrop": "a=? AND b=?",
		} {
			args := make([]any, 1+strings.Count(texts[name], "$"))
			for i := range args {
				args[i] = int64(1)
			}
			var plan []string
			if err := c.Each(func(r db.Row) error {
				plan = append(plan, r.Text(3))
				return nil
			}, "EXPLAIN QUERY PLAN "+texts[name], args...); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if len(plan) == 0 || !strings.Contains(plan[0], by) || strings.Contains(strings.Join(plan, "\n"), "TEMP B-TREE") {
				t.Errorf("%s is not found by %s: %q", name, by, plan)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
