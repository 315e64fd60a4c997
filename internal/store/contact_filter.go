package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
)

// What contacts are found by, each in an index of its own, whose condition must be repeated. A range has its beginning
// in it, and not its end.
const (
	sqlUpdatedIn = `SELECT id FROM contact WHERE account_id = $1 AND updated_at <> 0 AND updated_at >= $2
		AND updated_at < $3 LIMIT $4`
	sqlGivenIn = `SELECT id FROM contact WHERE account_id = $1 AND given <> 0 AND given >= $2 AND given < $3 LIMIT $4`
	sqlNamed   = `SELECT id FROM contact WHERE account_id = $1 AND sort_name <> '' AND sort_name >= $2
		AND sort_name <= $3 LIMIT $4`

	// Gifts that count.
	sqlGave = `SELECT contact_id FROM gift WHERE account_id = $1 AND id <> 0 AND given_at >= $2 AND given_at < $3
		AND net > 0 LIMIT $4`
	sqlGaveTo = `SELECT contact_id FROM gift WHERE account_id = $1 AND campaign_id <> 0 AND campaign_id = $2
		AND given_at >= $3 AND given_at < $4 AND net > 0 LIMIT $5`
	sqlGaveOf = `SELECT contact_id FROM gift WHERE account_id = $1 AND contact_id = ANY($2) AND given_at >= $3
		AND given_at < $4 AND net > 0 AND ($5 = 0 OR campaign_id = $5)`

	// A contact's row has the time of the last one.
	sqlGaveSince = `SELECT id FROM contact WHERE account_id = $1 AND last_gift <> 0 AND last_gift >= $2 LIMIT $3`

	sqlWithPlan   = `SELECT contact_id FROM plan WHERE account_id = $1 AND status = ANY($2) LIMIT $3`
	sqlPlanStates = `SELECT contact_id, status FROM plan WHERE account_id = $1 AND contact_id = ANY($2)`

	sqlIDs = `SELECT id FROM contact_index WHERE account_id = $1 AND key >= $2 AND key < $3`

	sqlSetsBetween = `SELECT name, block, size, bits FROM contact_set WHERE account_id = $1 AND name >= $2
		AND name < $3`
)

// Filtering finds which contacts pass a filter: it begins with those of the scope, and each condition drops some.
// Conditions that are sets come first. To find the others costs as much as they have contacts, so that when few are
// left, their documents decide about all else.
type Filtering struct {
	ctx    context.Context
	conn   db.Conn
	row    Tally // of the account
	filter find.Filter
	costs  FilterCosts
	sets   *SetCache
	weigh  Admit

	Set  db.Set
	own  bool  // no one else holds the set
	left int64 // how many are in it
	all  int64 // how many were in it at first
	open bool  // there are conditions that it does not meet for sure
}

// FilterCosts say when something else is cheaper.
type FilterCosts struct {
	Few      int64 // so many documents are read at once
	Document int64 // so many rows of an index cost as much as a document
	Sorted   int64 // so many contacts are always sorted in memory
	Key      int64 // so many rows of an index cost as much as what one contact is sorted by
}

var UsualCosts = FilterCosts{Few: 200, Document: 16, Sorted: 2000, Key: 4}

// Filtered runs fn on a snapshot, with the contacts that pass a filter.
func (s *Store) Filtered(ctx context.Context, account int64, scope crm.ContactScope, f find.Filter,
	fn func(c db.Conn, w *Filtering) error,
) error {
	return s.InTurn(ctx, account, func(weigh Admit) error {
		return s.View(ctx, func(c db.Conn) error {
			row, err := ReadTally(c, account)
			if err != nil {
				return err
			}
			all, err := s.Sets.inScope(c, &row, scope)
			if err != nil {
				return err
			}
			w := &Filtering{ctx: ctx, conn: c, row: row, filter: f, costs: s.Costs, sets: &s.Sets, weigh: weigh,
				Set: all.Set, left: all.count, all: all.count}
			if scope != crm.Active && !f.Merged {
				err = w.noneOf(find.MergedSet)
				w.all = w.left
			}
			w.filter.Given = f.Given.InMinor(row.Currency)
			w.filter.Gave.When, w.filter.NoGift = f.Gave.When.ByClock(row.Location()), f.NoGift.ByClock(row.Location())
			if err = cmp.Or(err, w.run()); err != nil {
				return err
			}
			return fn(c, w)
		})
	})
}

// run leaves those in the set that pass.
func (w *Filtering) run() error {
	if w.filter.None {
		w.keep(&db.Set{})
		return nil
	}
	if err := errors.Join(w.exact(), w.bySets()); err != nil {
		return err
	}
	for _, step := range w.walks() {
		// an index of a small account is as short
		if w.left <= w.costs.Few && w.left*w.costs.Document <= w.row.ContactSeq {
			w.open = true
			break
		}
		if err := step(); err != nil {
			return err
		}
	}
	if w.open && w.left > 0 {
		return w.readDocuments()
	}
	return nil
}

// exact leaves those who pass by what their documents do not tell: when they were added, as lists have it, and by which
// import.
func (w *Filtering) exact() error {
	if !w.filter.Created.IsEmpty() {
		set, err := addedIn(w.conn, &w.row, w.filter.Created)
		if err != nil {
			return err
		}
		w.keep(&set)
		w.filter.Created = find.Window{}
	}
	if w.filter.Import == 0 {
		return nil
	}
	var set db.Set
	err := w.weigh(w.row.ContactSeq)
	if err == nil {
		err = w.conn.Scan(func(r db.Row) {
			set.Add(doc.IDSeq(r.Int(0)))
		}, fmt.Sprintf(MadeByImport, history.ContactNoun, history.DidCreate, "2"), w.row.Number, w.filter.Import)
	}
	w.keep(&set)
	return err
}

// addedIn are the contacts that were added in a stretch of time, which have their sequence numbers one after the other.
func addedIn(c db.Conn, row *Tally, window find.Window) (db.Set, error) {
	low, high := bounds(window)
	before, err := CountBefore(c, row, []int64{low, high})
	if err != nil {
		return db.Set{}, err
	}
	return db.Range(before[0]+1, before[1]), nil
}

// bySets leaves those who pass by the conditions that are sets.
func (w *Filtering) bySets() (err error) {
	f := &w.filter
	each := func(names []string, keep func(names ...string) error) {
		for _, name := range names {
			if err == nil && w.left > 0 {
				err = keep(name)
			}
		}
	}
	each(f.Keys(), w.withKey)
	if f.ExternalID != "" && err == nil {
		err = w.withID(crm.ExternalIDKeys(f.ExternalID))
	}
	each(find.SetNames(find.TagSet, f.Tags), w.anyOf)
	each(find.SetNames(find.TagSet, f.NoTag), w.noneOf)
	each(find.SetNames(find.LackingSet, f.Has), w.noneOf)
	each(find.SetNames(find.LackingSet, f.Lacks), w.anyOf)
	each(find.GiftSets(f.Gave.Campaign), w.anyOf)
	if len(f.AnyTag) > 0 && err == nil {
		err = w.anyOf(find.SetNames(find.TagSet, f.AnyTag)...)
	}
	each(f.AbsentWords(), w.noneOf)
	for _, words := range f.CommonWords() {
		if err == nil {
			err = w.anyOf(words...)
		}
	}
	return err
}

// walks are the conditions that take a walk through an index, the shortest first.
func (w *Filtering) walks() (steps []func() error) {
	f := &w.filter
	add := func(asked bool, step func() error) {
		if asked {
			steps = append(steps, step)
		}
	}
	area, asked := f.ZipArea()
	add(asked, func() error { return w.area(area) })
	add(f.LastName != "", w.lastName)
	words := f.WordSearch()
	add(!words.IsEmpty(), func() error { return w.search(words) })
	add(len(f.Plans) > 0, func() error { return w.keepFound(sqlWithPlan, planNumbers(f.Plans)) })
	add(!f.Gave.When.IsEmpty(), w.gave)
	add(!f.NoGift.IsEmpty(), w.noGift)
	add(!f.Given.IsEmpty(), w.given)
	add(!f.Updated.IsEmpty(), func() error {
		low, high := bounds(f.Updated)
		return w.keepFound(sqlUpdatedIn, low, high)
	})
	return steps
}

// keep drops what is not in the other set.
func (w *Filtering) keep(set *db.Set) {
	w.become((*db.Set).And, set)
}

// drop drops what is in the other set.
func (w *Filtering) drop(set *db.Set) {
	w.become((*db.Set).AndNot, set)
}

func (w *Filtering) become(combine func(set, other *db.Set), other *db.Set) {
	if !w.own {
		w.Set, w.own = w.Set.Clone(), true
	}
	combine(&w.Set, other)
	w.left = w.Set.Count()
}

// anyOf keeps those who are in at least one of some sets.
func (w *Filtering) anyOf(names ...string) error {
	var any db.Set
	for _, name := range names {
		held, err := w.sets.of(w.conn, &w.row, name)
		if err != nil {
			return err
		}
		if len(names) == 1 {
			w.keep(&held.Set)
			return nil
		}
		any.Or(&held.Set)
	}
	w.keep(&any)
	return nil
}

// noneOf drops those who are in one of some sets.
func (w *Filtering) noneOf(names ...string) error {
	for _, name := range names {
		held, err := w.sets.of(w.conn, &w.row, name)
		if err != nil {
			return err
		}
		w.drop(&held.Set)
	}
	return nil
}

// area keeps those who live where ZIP codes begin so.
func (w *Filtering) area(start string) error {
	var set db.Set
	if err := w.weigh(w.row.ContactSeq); err != nil {
		return err
	}
	err := w.conn.Each(addNamedBlock(w.row.Number, &set), sqlSetsBetween, w.row.Number, start, start+"\U0010FFFF")
	w.keep(&set)
	return err
}

// withKey keeps those who have one of some match keys.
func (w *Filtering) withKey(keys ...string) error {
	var set db.Set
	err := w.conn.Scan(func(r db.Row) { set.Add(doc.IDSeq(r.Int(1))) }, SQLMatch, w.row.Number, keys)
	w.keep(&set)
	w.open = w.open || slices.Contains(keys, w.filter.PrimaryEmail) // it may be another one of the contact's emails
	return err
}

// withID keeps those whose match keys begin so: few, because sources are few.
func (w *Filtering) withID(start string) error {
	var set db.Set
	err := w.conn.Scan(func(r db.Row) { set.Add(doc.IDSeq(r.Int(0))) }, sqlIDs, w.row.Number, start, start+"\U0010FFFF")
	w.keep(&set)
	return err
}

// most is how many rows of an index are worth reading: more cost as much as all documents that are left.
func (w *Filtering) most() int64 { return max(w.left, 1) * w.costs.Document }

// find reads the contacts that a statement finds. whole is false where documents cost less. The limit is its last
// argument.
func (w *Filtering) find(sql string, args ...any) (set db.Set, whole bool, err error) {
	if err := w.weigh(w.row.ContactSeq); err != nil {
		return set, false, err
	}
	n, most := int64(0), w.most()
	args = append(append([]any{w.row.Number}, args...), min(most, math.MaxInt64-1)+1)
	err = w.conn.Each(func(r db.Row) error {
		n++
		set.Add(doc.IDSeq(r.Int(0)))
		return w.alive(n)
	}, sql, args...)
	return set, n <= most, err
}

// keepFound keeps the contacts that a statement finds.
func (w *Filtering) keepFound(sql string, args ...any) error {
	set, whole, err := w.find(sql, args...)
	if whole {
		w.keep(&set)
	}
	w.open = w.open || !whole
	return err
}

// alive looks now and then whether the client still waits.
func (w *Filtering) alive(n int64) error {
	if n%4096 == 0 {
		return w.ctx.Err()
	}
	return nil
}

// gave keeps those who have a gift of the time that is asked for: for the campaign, or for any.
func (w *Filtering) gave() error {
	low, high := bounds(w.filter.Gave.When)
	if campaign := w.filter.Gave.Campaign; campaign != 0 {
		return w.keepFound(sqlGaveTo, campaign, low, high)
	}
	sql, args := gaveIn(low, high)
	return w.keepFound(sql, args...)
}

// noGift drops those who have a gift of the time that is asked for.
func (w *Filtering) noGift() error {
	sql, args := gaveIn(bounds(w.filter.NoGift))
	set, whole, err := w.find(sql, args...)
	if whole {
		w.drop(&set)
	}
	w.open = w.open || !whole
	return err
}

// gaveIn is the statement that finds who gave in a stretch of time. One without an end takes one row of each contact,
// and not one of each gift.
func gaveIn(low, high int64) (sql string, args []any) {
	if low > 1 && high == math.MaxInt64 { // a last gift at 0 is kept as 1
		return sqlGaveSince, []any{low}
	}
	return sqlGave, []any{low, high}
}

func planNumbers(statuses []string) []int64 {
	return Collect(statuses,
		func(status string) int64 { return (&giving.Plan{Status: giving.PlanStatus(status)}).StatusNumber() })
}

// bounds are a stretch of time as columns have it: its beginning, and the first moment after it.
func bounds(window find.Window) (low, high int64) {
	low, high = math.MinInt64, math.MaxInt64
	if !window.From.IsZero() {
		low = window.From.Unix()
	}
	if !window.To.IsZero() {
		high = window.To.Unix()
	}
	return low, high
}

func (w *Filtering) lastName() error {
	names, exact := w.filter.Names()
	w.open = w.open || !exact
	return w.keepFound(sqlNamed, names.From, names.To)
}

// search keeps what the search of the console finds.
func (w *Filtering) search(search find.Search) error {
	if err := w.weigh(w.row.ContactSeq); err != nil {
		return err
	}
	var set db.Set
	n, most := int64(0), w.most()
	err := w.conn.Search(WordsTable, Query(w.row.Number, search), most+1, func(id int64) error {
		n++
		set.Add(doc.IDSeq(id))
		return w.alive(n)
	})
	if n > most || err != nil {
		w.open = true
		return err
	}
	w.keep(&set)
	w.open = w.open || w.filter.LongFirstName()
	return nil
}

// given goes by the contacts who gave something, which are all that the index has.
func (w *Filtering) given() error {
	asked := w.filter.Given
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	if asked.Min != nil {
		low = *asked.Min
	}
	if asked.Max != nil && *asked.Max < high {
		high = *asked.Max + 1
	}
	if !asked.Has(0) {
		return w.keepFound(sqlGivenIn, low, high)
	}
	for _, outside := range [][2]int64{{math.MinInt64, low}, {high, math.MaxInt64}} {
		if outside[0] == outside[1] {
			continue
		}
		set, whole, err := w.find(sqlGivenIn, outside[0], outside[1])
		if err != nil || !whole {
			w.open = true
			return err
		}
		w.drop(&set)
	}
	return nil
}

// documentsAtOnce is how many documents are asked for together.
const documentsAtOnce = 100

// readDocuments lets the documents of what is left decide.
func (w *Filtering) readDocuments() error {
	if w.left > w.costs.Few {
		if err := w.weigh(w.row.ContactSeq); err != nil {
			return err
		}
	}
	var set db.Set
	for some := range slices.Chunk(w.Set.Page(0, w.left), documentsAtOnce) {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		ids := IDsOf(w.row.Number, some)
		givers, err := w.giversAmong(ids)
		if err != nil {
			return err
		}
		err = w.conn.Each(func(r db.Row) error {
			contact := ScanContact(r)
			if contact.Damage == nil && w.filter.Matches(&contact.Contact, givers[contact.ID]) {
				set.Add(doc.IDSeq(contact.ID))
			}
			return contact.Damage
		}, SQLLoadContacts, w.row.Number, ids)
		if err != nil {
			return err
		}
	}
	w.keep(&set)
	return nil
}

// giversAmong are those of some contacts whose gifts and plans are such as is asked for.
func (w *Filtering) giversAmong(ids []int64) (map[int64]bool, error) {
	f, givers := &w.filter, make(map[int64]bool)
	if !f.AsksGiving() {
		return givers, nil
	}
	for _, id := range ids {
		givers[id] = true
	}
	keep := func(has bool, counts func(db.Row) bool, sql string, args ...any) error {
		found := make(map[int64]bool)
		err := w.conn.Scan(func(r db.Row) { found[r.Int(0)] = found[r.Int(0)] || counts(r) }, sql,
			append([]any{w.row.Number, ids}, args...)...)
		maps.DeleteFunc(givers, func(id int64, _ bool) bool { return found[id] != has })
		return err
	}
	any := func(db.Row) bool { return true }
	var err error
	if !f.Gave.IsEmpty() {
		low, high := bounds(f.Gave.When)
		err = keep(true, any, sqlGaveOf, low, high, f.Gave.Campaign)
	}
	if !f.NoGift.IsEmpty() && err == nil {
		low, high := bounds(f.NoGift)
		err = keep(false, any, sqlGaveOf, low, high, int64(0))
	}
	if len(f.Plans) > 0 && err == nil {
		statuses := planNumbers(f.Plans)
		err = keep(true, func(r db.Row) bool { return slices.Contains(statuses, r.Int(1)) }, sqlPlanStates)
	}
	return givers, err
}

// The sort indexes, from a place on, in either order.
const (
	sqlByUpdate = `SELECT id, updated_at FROM contact WHERE account_id = $1 AND updated_at <> 0
		AND (updated_at, id) > ($2, $3) ORDER BY updated_at, id LIMIT $4`
	sqlByUpdateDown = `SELECT id, updated_at FROM contact WHERE account_id = $1 AND updated_at <> 0
		AND (updated_at, id) < ($2, $3) ORDER BY updated_at DESC, id DESC LIMIT $4`
	sqlByName = `SELECT id, sort_name FROM contact WHERE account_id = $1 AND sort_name <> ''
		AND (sort_name, id) > ($2, $3) ORDER BY sort_name, id LIMIT $4`
	sqlByNameDown = `SELECT id, sort_name FROM contact WHERE account_id = $1 AND sort_name <> ''
		AND (sort_name, id) < ($2, $3) ORDER BY sort_name DESC, id DESC LIMIT $4`
	sqlByTotal = `SELECT id, given FROM contact WHERE account_id = $1 AND given <> 0 AND (given, id) > ($2, $3)
		ORDER BY given, id LIMIT $4`
	sqlByTotalDown = `SELECT id, given FROM contact WHERE account_id = $1 AND given <> 0 AND (given, id) < ($2, $3)
		ORDER BY given DESC, id DESC LIMIT $4`
	sqlByLastGift = `SELECT id, last_gift FROM contact WHERE account_id = $1 AND last_gift <> 0
		AND (last_gift, id) > ($2, $3) ORDER BY last_gift, id LIMIT $4`
	sqlByLastGiftDown = `SELECT id, last_gift FROM contact WHERE account_id = $1 AND last_gift <> 0
		AND (last_gift, id) < ($2, $3) ORDER BY last_gift DESC, id DESC LIMIT $4`

	sqlSortKeys = `SELECT id, updated_at, sort_name, given, last_gift FROM contact WHERE account_id = $1
		AND id = ANY($2)`
)

// sortOrder is how the database sorts by a field.
type sortOrder struct {
	up, down string
	column   int  // of sqlSortKeys
	text     bool // it is a text
	sparse   bool // the index leaves out those who never gave, who come before all others
}

// sortOrders are those that have an index. Contacts are numbered as they are made, so that all others are the order of
// their ids.
var sortOrders = map[find.SortField]sortOrder{
	find.ByUpdate:   {up: sqlByUpdate, down: sqlByUpdateDown, column: 1},
	find.ByName:     {up: sqlByName, down: sqlByNameDown, column: 2, text: true},
	find.ByTotal:    {up: sqlByTotal, down: sqlByTotalDown, column: 3, sparse: true},
	find.ByLastGift: {up: sqlByLastGift, down: sqlByLastGiftDown, column: 4, sparse: true},
}

// sortKey is a value that contacts are sorted by: a number or a text.
type contactSortKey struct {
	number int64
	text   string
	id     int64
}

func (o sortOrder) key(r db.Row, column int) contactSortKey {
	if o.text {
		return contactSortKey{text: r.Text(column), id: r.Int(0)}
	}
	key := contactSortKey{number: r.Int(column), id: r.Int(0)}
	if o.sparse && key.number == 0 {
		key.number = math.MinInt64
	}
	return key
}

func (k contactSortKey) compare(other contactSortKey) int {
	return cmp.Or(cmp.Compare(k.number, other.number), strings.Compare(k.text, other.text), cmp.Compare(k.id, other.id))
}

func (k contactSortKey) seq() int64 { return doc.IDSeq(k.id) }

// place is a key as the statements of the order take it.
func (o sortOrder) place(k contactSortKey) any {
	if o.text {
		return k.text
	}
	return k.number
}

// page is the sequence numbers of a page of what is left, in the order that the filter asks for.
func (w *Filtering) page(page crm.PageRequest) ([]int64, error) {
	from, to := OldestFirst(page)(w.left)
	if from >= to {
		return nil, nil
	}
	order, indexed := sortOrders[w.filter.Sort.By]
	if !indexed {
		return w.byID(&w.Set, w.left, from, to), nil
	}
	if err := w.weigh(w.row.ContactSeq); err != nil {
		return nil, err
	}
	if w.left <= w.costs.Sorted || w.walked(to) > w.left*w.costs.Key {
		return w.sortInMemory(order, from, to)
	}
	return w.walk(order, from, to)
}

// Ordered is the sequence numbers of all that are left, in the order that the filter asks for.
func (w *Filtering) Ordered() ([]int64, error) {
	return w.page(crm.PageRequest{Page: 1, PerPage: w.left})
}

// byID is a part of a set of so many in the order of ids, or in the reverse of it.
func (w *Filtering) byID(set *db.Set, n, from, to int64) []int64 {
	if !w.filter.Sort.Descending {
		return set.Page(from, to)
	}
	seqs := set.Page(n-to, n-from)
	slices.Reverse(seqs)
	return seqs
}

// walked is how many rows of an index it takes to find so many of those that are left, where they lie evenly.
func (w *Filtering) walked(n int64) int64 { return n*w.all/w.left + 10 }

// keysAtOnce and walkedAtOnce are how many rows are asked for together.
const (
	keysAtOnce   = 1000
	walkedAtOnce = 20_000
)

// sortInMemory reads what all contacts that are left are sorted by.
func (w *Filtering) sortInMemory(order sortOrder, from, to int64) ([]int64, error) {
	keys := make([]contactSortKey, 0, w.left)
	for some := range slices.Chunk(w.Set.Page(0, w.left), keysAtOnce) {
		err := w.conn.Scan(func(r db.Row) {
			keys = append(keys, order.key(r, order.column))
		}, sqlSortKeys, w.row.Number, IDsOf(w.row.Number, some))
		if err == nil {
			err = w.ctx.Err()
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(keys, contactSortKey.compare)
	if w.filter.Sort.Descending {
		slices.Reverse(keys)
	}
	return Collect(section(keys, from, to), contactSortKey.seq), nil
}

// walk goes through the index of an order. Those who are not in it come before all others in ascending order, which
// takes the whole index to know them, and behind all others in descending order.
func (w *Filtering) walk(order sortOrder, from, to int64) ([]int64, error) {
	up := !w.filter.Sort.Descending
	want := to
	if order.sparse && up {
		want = w.left
	}
	seqs, err := w.inIndex(order, want)
	if err != nil || !order.sparse || int64(len(seqs)) >= to && !up {
		return section(seqs, from, to), err
	}
	var indexed db.Set
	for _, seq := range seqs {
		indexed.Add(seq)
	}
	others := w.Set.Clone()
	others.AndNot(&indexed)
	n := others.Count()
	rest := w.byID(&others, n, 0, n)
	if up {
		return section(append(rest, seqs...), from, to), nil
	}
	return section(append(seqs, rest...), from, to), nil
}

// section is a part of a list, as far as there is one.
func section[T any](list []T, from, to int64) []T {
	n := int64(len(list))
	return list[min(from, n):min(to, n)]
}

// inIndex are the first so many of those that are left, in the order of an index.
func (w *Filtering) inIndex(order sortOrder, want int64) (seqs []int64, err error) {
	sql, at := order.up, contactSortKey{number: math.MinInt64}
	if w.filter.Sort.Descending {
		sql, at = order.down, contactSortKey{number: math.MaxInt64, text: find.LastSortName, id: math.MaxInt64}
	}
	limit := min(walkedAtOnce, w.walked(want))
	for ended := false; int64(len(seqs)) < want && !ended; limit = min(walkedAtOnce, 4*limit) {
		n := int64(0)
		err := w.conn.Scan(func(r db.Row) {
			n++
			if at = order.key(r, 1); w.Set.Has(at.seq()) {
				seqs = append(seqs, at.seq())
			}
		}, sql, w.row.Number, order.place(at), at.id, limit)
		if err == nil {
			err = w.ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		ended = n < limit
	}
	return seqs, nil
}
