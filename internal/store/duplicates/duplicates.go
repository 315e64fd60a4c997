// Package duplicates keeps which contacts may be the same person: it looks for them in the background, lists them, remembers which ones are not the same, and
// merges those that surely are.
package duplicates

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/duplicate"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/merges"
)

// DuplicateStore has the duplicates of a database.
type DuplicateStore struct {
	base   *store.Base
	jobs   *jobs.JobStore
	merges *merges.MergeStore

	turn    chan struct{} // one look at a time
	learned cachedModel
}

func New(j *jobs.JobStore, m *merges.MergeStore) *DuplicateStore {
	s := &DuplicateStore{base: j.Base, jobs: j, merges: m, turn: make(chan struct{}, 1)}
	j.Idle, j.MergeSure = s.lookOnce, s.sureStep
	return s
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

const (
	millionths  = 1_000_000
	pairColumns = `SELECT a, b, person, level, probability, reasons, against FROM duplicate WHERE account_id = $1`
	bestFirst   = ` ORDER BY probability DESC, a, b`
)

func scanPair(r db.Row) Pair {
	kept := scanRow(r)
	return Pair{kept.a, kept.b, float64(kept.probability) / millionths, levels[kept.level], lines(kept.reasons), lines(kept.against), kept.person}
}

func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// where is the condition of a filter. $1 is the account.
func (f *Filter) where(account int64) (condition string, args []any) {
	condition, args = ` AND state = $2`, []any{account, contacts.Flag(f.Dismissed)}
	if f.Level != "" {
		condition, args = condition+` AND level = $3`, append(args, int64(slices.Index(levels, f.Level)))
	}
	if f.Contact != 0 {
		args = append(args, f.Contact)
		condition += strings.ReplaceAll(` AND (a = $n OR b = $n)`, "$n", "$"+string(rune('0'+len(args))))
	}
	return condition, args
}

// paged is a statement that reads one page.
func paged(sql string, args []any, page crm.PageRequest) (string, []any) {
	n := rune('0' + len(args))
	return sql + ` LIMIT $` + string(n+1) + ` OFFSET $` + string(n+2), append(slices.Clip(args), page.PerPage, page.Skip())
}

// Pairs is one page of the pairs that a filter finds, the likeliest first.
func (s *DuplicateStore) Pairs(ctx context.Context, account int64, f Filter, page crm.PageRequest) (found []Pair, result store.ListResult, err error) {
	err = s.base.View(ctx, func(c db.Conn) error {
		condition, args := f.where(account)
		if result.Total, err = c.Int(`SELECT COUNT(*) FROM duplicate WHERE account_id = $1`+condition, args...); err != nil {
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
	groupRows  = `SELECT person, MAX(probability), MIN(level) FROM duplicate WHERE account_id = $1`
	groupBest  = ` ORDER BY 2 DESC, 1`
	groupPairs = pairColumns + ` AND state = $2 AND person = ANY($3)` + bestFirst
)

// grouped is the statement that finds the groups of a filter: the level is that of the likeliest pair, and a contact brings its whole group.
func (f *Filter) grouped(account int64) (sql string, args []any) {
	sql, args = groupRows+` AND state = $2`, []any{account, contacts.Flag(f.Dismissed)}
	if f.Contact != 0 {
		sql, args = sql+` AND person IN (SELECT person FROM duplicate WHERE account_id = $1 AND (a = $3 OR b = $3))`, append(args, f.Contact)
	}
	if sql += ` GROUP BY person`; f.Level != "" {
		args = append(args, int64(slices.Index(levels, f.Level)))
		sql += ` HAVING MIN(level) = $` + string(rune('0'+len(args)))
	}
	return sql, args
}

// Duplicates is one page of the groups that a filter finds, the likeliest first.
func (s *DuplicateStore) Duplicates(ctx context.Context, account int64, f Filter, page crm.PageRequest) (found []Group, result store.ListResult, err error) {
	err = s.base.View(ctx, func(c db.Conn) error {
		sql, args := f.grouped(account)
		if result.Total, err = c.Int(`SELECT COUNT(*) FROM (`+sql+`) AS g`, args...); err != nil {
			return err
		}
		sql, args = paged(sql+groupBest, args, page)
		persons, err := db.List(c, store.Number, sql, args...)
		if err != nil || len(persons) == 0 {
			return err
		}
		found, err = readGroups(c, account, persons, f.Dismissed)
		result.Count = int64(len(found))
		return err
	})
	return found, result, err
}

// readGroups reads the groups of persons, in their order.
func readGroups(c db.Conn, account int64, persons []int64, dismissed bool) (found []Group, err error) {
	pairs, err := db.List(c, scanPair, groupPairs, account, contacts.Flag(dismissed), persons)
	if err != nil {
		return nil, err
	}
	var ids []int64
	of := make(map[int64][]Pair)
	for _, p := range pairs {
		of[p.person], ids = append(of[p.person], p), append(ids, p.A, p.B)
	}
	slices.Sort(ids)
	loaded, err := contacts.LoadContacts(c, account, slices.Compact(ids))
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
	Dismissed              int64     // pairs
	At                     time.Time // of the last look; zero where the account was never looked through
	Running                bool      // a look is under way
}

// DuplicateCounts counts the groups of an account.
func (s *DuplicateStore) DuplicateCounts(ctx context.Context, account int64) (n Counts, err error) {
	err = s.base.View(ctx, func(c db.Conn) error {
		n = Counts{}
		run, err := readRun(c, account)
		if err == nil {
			n.At, n.Running = store.Moment(run.at), run.busy > store.Seconds(s.base.Now())
			n.Dismissed, err = c.Int(`SELECT COUNT(*) FROM duplicate WHERE account_id = $1 AND state = 1`, account)
		}
		if err != nil {
			return err
		}
		of := []*int64{new(int64), &n.Sure, &n.Likely, &n.Possible}
		return c.Each(func(r db.Row) error {
			*of[r.Int(0)] = r.Int(1)
			return nil
		}, `SELECT level, COUNT(*) FROM (SELECT MIN(level) AS level FROM duplicate WHERE account_id = $1 AND state = 0 GROUP BY person) AS g GROUP BY level`, account)
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
