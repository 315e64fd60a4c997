// Package duplicates keeps which contacts may be the same person: it looks for them in the background, lists them,
// remembers which ones are not the same, and merges those that surely are.
package duplicates

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/duplicate"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/merges"
)

// DuplicateStore has the duplicates of a database.
type DuplicateStore struct {
	base   *store.Store
	jobs   *jobs.JobStore
	merges *merges.MergeStore

	turn    chan struct{} // one look at a time
	asked   sync.Map      // accounts that are looked at next, whenever they were changed
	learned cachedModel
}

func New(j *jobs.JobStore, m *merges.MergeStore) *DuplicateStore {
	return &DuplicateStore{base: j.Store, jobs: j, merges: m, turn: make(chan struct{}, 1)}
}

// Filter says which duplicates are listed. The zero filter finds all that are not dismissed.
type Filter struct {
	Level     duplicate.Level // "" for all
	Contact   int64           // one of both; 0 for any
	Dismissed bool            // those that a person has called different people, and no others
}

// Parameters are the query parameters of a list of duplicates.
var Parameters = []string{"level", "contact_id"}

// ParseFilter reads the query parameters.
func ParseFilter(value func(name string) string) (f Filter, err error) {
	var v doc.Invalid
	if f.Level = duplicate.Level(value("level")); f.Level != "" && !slices.Contains(levels, f.Level) {
		v.Add("level", doc.OneOf, "sure, likely, possible")
	}
	if sent := value("contact_id"); sent != "" {
		if f.Contact, err = strconv.ParseInt(sent, 10, 64); err != nil || f.Contact <= 0 {
			v.Add("contact_id", doc.IDForm)
		}
	}
	return f, v.Err()
}

// levels are the levels by the numbers that are stored.
var levels = []duplicate.Level{"", duplicate.Sure, duplicate.Likely, duplicate.Possible}

// Pair is two contacts that may be the same person.
type Pair struct {
	A, B        int64 // A is the older one
	Probability float64
	Level       duplicate.Level
	Reasons     []string // what speaks for it
	Against     []string // what speaks against it
	person      int64
}

// A pair that is likelier has a level at least as sure, so the likeliest come first by level and probability. That is
// the order of an index.
const (
	millionths  = 1_000_000
	pairColumns = `SELECT a, b, person, level, probability, reasons, against FROM duplicate WHERE account_id = $1`
	bestFirst   = ` ORDER BY level, probability DESC, a, b`

	// The pairs of contacts, one index after the other: an OR of both columns would read all pairs of the account. So
	// would the index of states, which the signs keep an engine from.
	sqlPairsA = pairColumns + ` AND a = ANY($2) AND state = $3 ORDER BY a, b`
	sqlPairsB = pairColumns + ` AND b = ANY($2) AND state = $3 ORDER BY b, a`

	sqlWeight = `SELECT COUNT(*) FROM (SELECT 1 FROM duplicate WHERE account_id = $1 AND state = $2 LIMIT $3) AS d`
)

func scanPair(r db.Row) Pair {
	kept := scanRow(r)
	return Pair{kept.a, kept.b, float64(kept.probability) / millionths, levels[kept.level], lines(kept.reasons),
		lines(kept.against), kept.person}
}

func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// compareLikelier is the order of bestFirst.
func compareLikelier(a, b *Pair) int {
	return cmp.Or(cmp.Compare(b.Probability, a.Probability), cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B))
}

// pairsOf are the pairs that some contacts are in, the likeliest first. They are few.
func pairsOf(c db.Conn, account int64, ids []int64, dismissed bool) (pairs []Pair, err error) {
	for _, sql := range [...]string{sqlPairsA, sqlPairsB} {
		some, err := db.List(c, scanPair, sql, account, ids, store.Flag(dismissed))
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, some...)
	}
	slices.SortFunc(pairs, func(a, b Pair) int { return compareLikelier(&a, &b) })
	return slices.CompactFunc(pairs, func(a, b Pair) bool { return a.A == b.A && a.B == b.B }), nil
}

// personsOfPairs are the persons of pairs, each once, in the order of the pairs.
func personsOfPairs(pairs []Pair) (persons []int64) {
	for _, p := range pairs {
		if !slices.Contains(persons, p.person) {
			persons = append(persons, p.person)
		}
	}
	return persons
}

// pageOf are those of a list that are on a page.
func pageOf[T any](all []T, page crm.PageRequest) []T {
	from := min(page.Skip(), int64(len(all)))
	return all[from:min(from+page.PerPage, int64(len(all)))]
}

// where is the condition of a filter that asks for no contact. $1 is the account.
func (f *Filter) where(account int64) (condition string, args []any) {
	condition, args = ` AND state = $2`, []any{account, store.Flag(f.Dismissed)}
	if f.Level != "" {
		condition, args = condition+` AND level = $3`, append(args, int64(slices.Index(levels, f.Level)))
	}
	return condition, args
}

// paged is a statement that reads one page.
func paged(sql string, args []any, page crm.PageRequest) (string, []any) {
	n := rune('0' + len(args))
	return sql + ` LIMIT $` + string(n+1) + ` OFFSET $` + string(n+2),
		append(slices.Clip(args), page.PerPage, page.Skip())
}

// view reads the pairs of an account, in its turn where there are many.
func (s *DuplicateStore) view(ctx context.Context, account int64, dismissed bool, read func(db.Conn) error) error {
	return s.base.InTurn(ctx, account, func(weigh store.Admit) error {
		return s.base.View(ctx, func(c db.Conn) error {
			rows, err := c.Int(sqlWeight, account, store.Flag(dismissed), s.base.Light+1)
			if err == nil {
				err = weigh(rows)
			}
			if err != nil {
				return err
			}
			return read(c)
		})
	})
}

// Pairs is one page of the pairs that a filter finds, the likeliest first.
func (s *DuplicateStore) Pairs(ctx context.Context, account int64, f Filter,
	page crm.PageRequest,
) (found []Pair, result store.ListResult, err error) {
	if f.Contact != 0 {
		err = s.base.View(ctx, func(c db.Conn) (err error) {
			found, err = pairsOf(c, account, []int64{f.Contact}, f.Dismissed)
			return err
		})
		found = slices.DeleteFunc(found, func(p Pair) bool { return f.Level != "" && p.Level != f.Level })
		result.Total, found = int64(len(found)), pageOf(found, page)
		result.Count = int64(len(found))
		return found, result, err
	}
	err = s.view(ctx, account, f.Dismissed, func(c db.Conn) error {
		condition, args := f.where(account)
		if result.Total, err = c.Int(`SELECT COUNT(*) FROM duplicate WHERE account_id = $1`+condition,
			args...); err != nil {
			return err
		}
		sql, args := paged(pairColumns+condition+bestFirst, args, page)
		found, err = db.List(c, scanPair, sql, args...)
		result.Count = int64(len(found))
		return err
	})
	return found, result, err
}

// Group is all contacts that are taken for one person.
type Group struct {
	Level       duplicate.Level // of its likeliest pair
	Probability float64         // of that pair
	Members     []Member        // the oldest first
	Pairs       []Pair          // the likeliest first
}

// Member is a contact of a group.
type Member struct {
	crm.Contact
	Pair // that says most about the contact: the likeliest one
}

const (
	sqlGroupPairs = pairColumns + ` AND state = $2 AND person = ANY($3) ORDER BY person, probability DESC, a, b`

	// A group is where its likeliest pair is: the page is read in the order of the index, and each pair that is not the
	// likeliest of its group is left out.
	groupRows  = `SELECT d.person FROM duplicate AS d WHERE d.account_id = $1`
	groupFirst = ` AND NOT EXISTS (SELECT 1 FROM duplicate AS o WHERE o.account_id = d.account_id AND o.state = d.state
		AND o.person = d.person
		AND (o.probability > d.probability OR o.probability = d.probability AND (o.a, o.b) < (d.a, d.b))) ORDER BY d.level, d.probability DESC, d.a, d.b`
)

// Duplicates is one page of the groups that a filter finds, the likeliest first. The level is that of the likeliest
// pair, and a contact brings its whole group. DuplicateCounts tells how many there are.
func (s *DuplicateStore) Duplicates(ctx context.Context, account int64, f Filter,
	page crm.PageRequest,
) (found []Group, err error) {
	if f.Contact != 0 {
		err = s.base.View(ctx, func(c db.Conn) error {
			pairs, err := pairsOf(c, account, []int64{f.Contact}, f.Dismissed)
			if err != nil || len(pairs) == 0 {
				return err
			}
			found, err = readGroups(c, account, personsOfPairs(pairs), f.Dismissed)
			return err
		})
		found = slices.DeleteFunc(found, func(g Group) bool { return f.Level != "" && g.Level != f.Level })
		return pageOf(found, page), err
	}
	err = s.view(ctx, account, f.Dismissed, func(c db.Conn) error {
		condition, args := f.where(account)
		sql, args := paged(groupRows+condition+groupFirst, args, page)
		persons, err := db.List(c, store.Number, sql, args...)
		if err == nil && len(persons) > 0 {
			found, err = readGroups(c, account, persons, f.Dismissed)
		}
		return err
	})
	return found, err
}

// readGroups reads the groups of persons, in their order.
func readGroups(c db.Conn, account int64, persons []int64, dismissed bool) (found []Group, err error) {
	pairs, err := db.List(c, scanPair, sqlGroupPairs, account, store.Flag(dismissed), persons)
	if err != nil {
		return nil, err
	}
	var ids []int64
	of := make(map[int64][]Pair)
	for _, p := range pairs {
		of[p.person], ids = append(of[p.person], p), append(ids, p.A, p.B)
	}
	slices.Sort(ids)
	loaded, err := store.LoadContacts(c, account, slices.Compact(ids))
	byID := store.Keyed(loaded, func(c crm.Contact) int64 { return c.ID })
	for _, person := range persons {
		found = append(found, groupOf(of[person], byID))
	}
	return found, err
}

// groupOf is a group of pairs, the likeliest first.
func groupOf(pairs []Pair, byID map[int64]crm.Contact) (g Group) {
	g = Group{Level: pairs[0].Level, Probability: pairs[0].Probability, Pairs: pairs}
	for _, p := range pairs {
		for _, id := range [...]int64{p.A, p.B} {
			if !slices.ContainsFunc(g.Members, func(m Member) bool { return m.ID == id }) {
				g.Members = append(g.Members, Member{byID[id], p})
			}
		}
	}
	store.SortRows(g.Members, func(a, b *Member) int { return int(a.ID - b.ID) })
	return g
}

// Counts are how many groups there are of each level, and since when that is known.
type Counts struct {
	Sure, Likely, Possible int64
	Dismissed              int64     // groups of pairs that are not the same person
	At                     time.Time // of the last look; zero where the account was never looked through
	Running                bool      // a look is under way
}

const (
	// A group of a hundred contacts has thousands of pairs. So the next group is looked up, and its likeliest pair,
	// which is the first one: no other pair is read.
	sqlGroupCounts = `WITH RECURSIVE g (person) AS (
			SELECT MIN(person) FROM duplicate WHERE account_id = $1 AND state = 0
			UNION ALL SELECT (SELECT MIN(person) FROM duplicate WHERE account_id = $1 AND state = 0 AND person > g.person)
			FROM g WHERE g.person IS NOT NULL)
		SELECT level, COUNT(*) FROM (SELECT (SELECT level FROM duplicate WHERE account_id = $1 AND state = 0
			AND person = g.person ORDER BY probability DESC, a, b LIMIT 1) AS level FROM g WHERE person IS NOT NULL) AS l
		GROUP BY level`
	sqlDismissedGroups = `SELECT COUNT(DISTINCT person) FROM duplicate WHERE account_id = $1 AND state = 1`
)

// countGroups counts the groups that were not dismissed, by their levels as they are stored.
func countGroups(c db.Conn, account int64) (map[int64]int64, error) {
	n := make(map[int64]int64)
	return n, c.Scan(func(r db.Row) { n[r.Int(0)] = r.Int(1) }, sqlGroupCounts, account)
}

// DuplicateCounts counts the groups of an account.
func (s *DuplicateStore) DuplicateCounts(ctx context.Context, account int64) (n Counts, err error) {
	err = s.view(ctx, account, false, func(c db.Conn) error {
		n = Counts{}
		run, err := readRun(c, account)
		if err == nil {
			n.At, n.Running = store.Moment(run.at), run.busy > store.Seconds(s.base.Now())
			n.Dismissed, err = c.Int(sqlDismissedGroups, account)
		}
		if err == nil {
			var groups map[int64]int64
			groups, err = countGroups(c, account)
			n.Sure, n.Likely, n.Possible = groups[1], groups[2], groups[3]
		}
		return err
	})
	return n, err
}

// SureGroups is how many groups can be merged without a look at each of them.
func (s *DuplicateStore) SureGroups(ctx context.Context, account int64) (n int64, err error) {
	err = s.view(ctx, account, false, func(c db.Conn) (err error) {
		groups, err := countGroups(c, account)
		n = groups[1]
		return err
	})
	return n, err
}

// Append appends the wire form.
func (p *Pair) Append(dst []byte) []byte {
	return append(dst, jobs.JSONOf(struct {
		A           int64           `json:"contact_id_a"`
		B           int64           `json:"contact_id_b"`
		Probability float64         `json:"probability"`
		Level       duplicate.Level `json:"level"`
		Reasons     []string        `json:"reasons"`
		Against     []string        `json:"against"`
	}{p.A, p.B, p.Probability, p.Level, append([]string{}, p.Reasons...), append([]string{}, p.Against...)})...)
}
