package book

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/rig"
	"donorbook/internal/store"
)

// executed are the statements that the tests of this package have run on SQLite, by their texts. When all tests have
// ended, each of them is explained: whatever a test does is looked at, however its statements were put together.
var executed sync.Map

// recorded is an observer of a store that notes what is executed on SQLite.
func recorded(s *Book, o db.Observer) *db.Observer {
	if _, onSQLite := s.Db.LogSize(); onSQLite {
		o.Ran = func(sql string, _ []any, _ bool) { executed.LoadOrStore(sql, true) }
	}
	return &o
}

// engineRuns are runs of all tests, one on each engine.
type engineRuns struct{ *testing.M }

func (p engineRuns) Run() (code int) {
	for _, e := range rig.OfBoth(bothEngines) {
		testEngines = []testEngine{e}
		if failed := p.M.Run(); failed != 0 {
			fmt.Println("on", e.name)
			code = failed
		}
	}
	return code
}

func TestMain(m *testing.M) {
	// many small databases come and go: what the collector does costs a fifth of it all otherwise
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800)
	}
	rig.CheapPasswords()
	code := rig.Run(engineRuns{m})
	if faults := explainExecuted(); len(faults) > 0 {
		fmt.Println("FAIL: statements that the tests have run\n" + strings.Join(faults, "\n"))
		code = max(code, 1)
	}
	os.Exit(code)
}

var (
	aboutList = regexp.MustCompile(`(\w+) = ANY\(\$\d+\)`)
	grouped   = regexp.MustCompile(`GROUP BY (?:\w+\.)?(\w+)`)
	ordered   = regexp.MustCompile(` ORDER BY (?:\w+\.)?(\w+)`)
	adds      = regexp.MustCompile(`\b(COUNT|SUM|MIN|MAX)\(`)
	compared  = regexp.MustCompile(`[ (.](\w+) = `)
	// all rows of an account, or a range of them
	wholly = regexp.MustCompile(`^SEARCH (\w+) USING [^(]*\(account_id=\?( AND [^=]*)?\)`)
	// asks the index of a search for words, or for one row
	searched = regexp.MustCompile(`^SCAN \w+ VIRTUAL TABLE INDEX \d+:(M1|=)`)
)

// ofEach tells what a statement about a list would do for each element on SQLite, and for the whole list on
// PostgreSQL; "" where there
// is no difference. It also finds those that skip rows, which are read all the same.
func ofEach(sql string) string {
	list, group, order := aboutList.FindStringSubmatch(sql), grouped.FindStringSubmatch(sql),
		ordered.FindStringSubmatch(sql)
	switch {
	case strings.Contains(sql, " OFFSET "):
		return "an offset"
	case list == nil:
	case strings.Contains(sql, " LIMIT "):
		return "a limit for each element"
	case adds.MatchString(sql) && (group == nil || group[1] != list[1]):
		return "a sum of each element"
	case order != nil && order[1] != list[1]:
		return "an order for each element"
	}
	return ""
}

// allowed are what statements do that reads a whole table, sorts, or is done for each element of a list, by a part of
// the statement, and why they may.
var allowed = []struct{ part, step string }{
	// built from a filter; all that match are counted anyway
	{"SELECT g.id FROM gift g", "an offset"},
	// the same
	{"FROM tag WHERE account_id = $1 AND fold >= $2", "an offset"},
	// the same
	{"SELECT revision FROM change WHERE account_id = $1", "an offset"},
	// the same
	{"FROM contact_merge", "an offset"},
	// the same
	{"FROM duplicate", "an offset"},
	// the list is in this order
	{"WHERE c.id = ANY($1) ORDER BY c.listed_at, c.id", "an order for each element"},
	// more than so many are too many
	{"FROM plan WHERE account_id = $1 AND status = ANY($2) LIMIT $3", "a limit for each element"},
	{") AS first", "SCAN first"}, // the first gifts of a filter, up to a limit
	// the pairs of an account, up to a limit
	{"FROM duplicate WHERE account_id = $1 AND state = $2 LIMIT $3) AS d", "SCAN d"},
	// the groups of an account, in their turn
	{"WITH RECURSIVE g (person)", "SCAN g"},
	// the next group, and its likeliest pair, by its index
	{"WITH RECURSIVE g (person)", "CORRELATED SCALAR SUBQUERY"},
	// the three levels
	{"WITH RECURSIVE g (person)", "USE TEMP B-TREE FOR GROUP BY"},
	// the likeliest pair of each group, by its index
	{"FROM duplicate AS d", "CORRELATED SCALAR SUBQUERY"},
	// one row of each, every hour
	{"FROM job WHERE updated_at < $1", "CORRELATED SCALAR SUBQUERY"},
	// the gift of each reference, by its key
	{"SELECT r.reference, (SELECT g.contact_id", "CORRELATED SCALAR SUBQUERY"},
	// the change before each gift of a page, by its key
	{"FROM change AS last", "CORRELATED SCALAR SUBQUERY"},
	// the job of each change, by its key
	{"c.undoes, c.noun, CASE", "CORRELATED SCALAR SUBQUERY"},
	// all accounts, for the operator
	{"FROM account a LEFT JOIN account p", "SCAN a"},
	// the same
	{"FROM account a LEFT JOIN account p", "USE TEMP B-TREE"},
	// all users, for the operator
	{"FROM app_user ORDER BY login", "SCAN app_user"},
	// the same
	{"SELECT account_id, user_id, role, seen_at FROM member", "SCAN member"},
	// all accounts, once a minute
	{"FROM account_tally AS t LEFT JOIN duplicate_run", "SCAN t"},
	// what is left to be done, mostly nothing
	{"FROM job WHERE state IN ('uploading', 'mapping', 'waiting', 'running')", "SCAN job USING INDEX job_open"},
	// a repair
	{"SELECT id FROM campaign WHERE account_id = $1 ORDER BY id", "SCAN campaign"},
	// a copy counts everything
	{"SELECT COUNT(*) FROM ", "SCAN "},
	// the contacts of a stretch of changes, up to a limit
	{"SELECT DISTINCT id FROM change", "USE TEMP B-TREE FOR DISTINCT"},
	// the gifts of a page of donors, of at most 1,000
	{"GROUP BY contact_id, currency", "USE TEMP B-TREE FOR GROUP BY"},
	// what a list of gifts adds up to in other currencies, which are few
	{"GROUP BY g.currency", "USE TEMP B-TREE FOR GROUP BY"},
	// the gifts of one contact
	{"AND contact_id = $2 AND +id > $3", "USE TEMP B-TREE FOR ORDER BY"},
	// a test looks through all tables
	{"WHERE (id) > ($1) AND account_id = $2 ORDER BY id LIMIT 5000", "USE TEMP B-TREE FOR ORDER BY"},
	// each id once more
	{"SELECT id, id AS head FROM contact_merge", "USE TEMP B-TREE FOR LAST TERM OF ORDER BY"},
	// the mails about the gifts of one contact
	{"m.about = 'gift ' || g.id", "USE TEMP B-TREE FOR ORDER BY"},
	// one row, by its key
	{"UPDATE connection SET due_at", "SEARCH connection USING"},
	// the same
	{"UPDATE donation SET due_at", "SEARCH donation USING"},
	// the donations of one contact
	{"JOIN donation d ON", "USE TEMP B-TREE FOR ORDER BY"},
	// the pairs of one level
	{"SELECT COUNT(DISTINCT person) FROM duplicate", "USE TEMP B-TREE FOR count(DISTINCT)"},
	// a test makes many rows
	{"WITH RECURSIVE n(i)", "SCAN n"},
	// a range of rows, or all, while they are derived again
	{"DELETE FROM contact_search", "SCAN contact_search VIRTUAL TABLE INDEX 0"},
	// a check
	{"SELECT doc, term FROM contact_search_word", "SCAN contact_search_word VIRTUAL TABLE"},
}

// explainExecuted tells which statements of the tests read more than they need.
func explainExecuted() (faults []string) {
	data, err := os.MkdirTemp("", "explained")
	if err != nil {
		return []string{err.Error()}
	}
	defer os.RemoveAll(data) //nolint:errcheck // a directory of a test
	s, err := Open(context.Background(), store.Options{Data: data})
	if err != nil {
		return []string{err.Error()}
	}
	defer s.Close() //nolint:errcheck // nothing was written
	tests, indexes := testTexts(), indexesOf(s)
	executed.Range(func(key, _ any) bool {
		text := key.(string)
		inOne := strings.Join(strings.Fields(text), " ")
		for _, step := range append(steps(s, text, indexes), ofEach(text)) {
			may := step == "" || strings.Contains(tests, text)
			for _, a := range allowed {
				may = may || strings.Contains(inOne, a.part) && strings.HasPrefix(step, a.step)
			}
			if !may {
				faults = append(faults, step+": "+text)
			}
		}
		return true
	})
	slices.Sort(faults)
	return faults
}

// testTexts is the text of the tests: what a test asks for itself may take long.
func testTexts() (all string) {
	names, _ := filepath.Glob("*_test.go") // the pattern is right
	for _, name := range names {
		text, _ := os.ReadFile(name) // one that is missing allows less
		all += string(text)
	}
	return all
}

// indexesOf are the columns of all indexes of an account's rows, by the names of their tables.
func indexesOf(s *Book) map[string][][]string {
	indexes := make(map[string][][]string)
	err := s.Read(context.Background(), func(c db.Conn) error {
		return c.Each(func(r db.Row) error {
			indexes[r.Text(0)] = append(indexes[r.Text(0)], strings.Split(r.Text(1), " "))
			return nil
		}, `SELECT t.name, group_concat(c.name, ' ' ORDER BY c.seqno) FROM sqlite_schema AS t,
			pragma_index_list(t.name) AS i, pragma_index_info(i.name) AS c WHERE t.type = 'table'
			GROUP BY t.name, i.name`)
	})
	if err != nil || len(indexes["change"]) < 2 {
		panic(fmt.Sprint("no indexes: ", err))
	}
	return indexes
}

// betterIndex is an index that finds the rows that a step looks for among all of an account: one that leads with more
// of what the statement compares. What is between two bounds may be few, so that an index is better
// then only by two columns.
func betterIndex(step, text string, indexes map[string][][]string) string {
	m := wholly.FindStringSubmatch(step)
	if m == nil {
		return ""
	}
	_, conditions, _ := strings.Cut(text, "WHERE")
	equal := make(map[string]bool)
	for _, c := range compared.FindAllStringSubmatch(conditions, -1) {
		equal[c[1]] = true
	}
	table := m[1]
	if named := regexp.MustCompile(`(?:FROM|JOIN|,) (\w+)(?: AS)? ` + table + `\b`).FindStringSubmatch(
		text); named != nil {
		table = named[1]
	}
	uses := 1
	if m[2] != "" {
		uses = 2
	}
	for _, columns := range indexes[table] {
		leads := slices.IndexFunc(append(slices.Clone(columns), ""), func(c string) bool { return !equal[c] })
		if leads > uses {
			return fmt.Sprint(step, ", and not by ", columns[:leads])
		}
	}
	return ""
}

// steps are those of the plan of a statement that read or sort more than an index finds.
func steps(s *Book, text string, indexes map[string][][]string) (found []string) {
	if strings.HasPrefix(text, "EXPLAIN") {
		return nil
	}
	args := make([]any, 1+strings.Count(text, "$"))
	for i := range args {
		args[i] = int64(1)
	}
	err := s.Read(context.Background(), func(c db.Conn) error {
		return c.Each(func(r db.Row) error {
			step := r.Text(3)
			costs := strings.HasPrefix(step, "SCAN ") && step != "SCAN CONSTANT ROW" && !searched.MatchString(step) ||
				strings.HasPrefix(step, "CORRELATED ") || strings.HasPrefix(step, "USE TEMP ") ||
				strings.Contains(step, "AUTOMATIC")
			if costs {
				found = append(found, step)
			}
			if better := betterIndex(step, text, indexes); better != "" {
				found = append(found, better)
			}
			return nil
		}, "EXPLAIN QUERY PLAN "+text, args...)
	})
	if err != nil {
		found = append(found, err.Error())
	}
	return found
}

// What statements say of nouns and kinds of changes is what package history means by them.
func TestStatementsNameNounsAndKinds(t *testing.T) {
	for text, noun := range map[string]history.Noun{store.ContactNoun: history.ContactNoun,
		store.CampaignNoun: history.CampaignNoun, store.GiftNoun: history.GiftNoun, store.PlanNoun: history.PlanNoun} {
		equal(t, text, fmt.Sprint(int64(noun)), "%v is in statements", noun)
	}
	for text, kind := range map[string]history.Kind{store.DidCreate: history.DidCreate,
		store.DidUpdate: history.DidUpdate, store.DidTag: history.DidTag, store.DidUntag: history.DidUntag,
		store.DidGive:   history.DidGive,
		store.DidRefund: history.DidRefund, store.DidMerge: history.DidMerge, store.DidNote: history.DidNote,
		store.DidPlan: history.DidPlan, store.DidDismiss: history.DidDismiss} {
		equal(t, text, fmt.Sprint(int64(kind)), "%v is in statements", kind)
	}
}
