package store

import (
	"context"
	"fmt"
	"math"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// What contacts are found by, each in an index of its own, whose condition must be repeated. A range has its beginning in it, and not its
// end.
const (
	sqlCreatedIn = `SELECT id FROM contact WHERE account_id = $1 AND created_at <> 0 AND created_at >= $2 AND created_at < $3 LIMIT $4`
	sqlUpdatedIn = `SELECT id FROM contact WHERE account_id = $1 AND updated_at <> 0 AND updated_at >= $2 AND updated_at < $3 LIMIT $4`
	sqlGivenIn   = `SELECT id FROM contact WHERE account_id = $1 AND given <> 0 AND given >= $2 AND given < $3 LIMIT $4`
	sqlNamed     = `SELECT id FROM contact WHERE account_id = $1 AND sort_name <> '' AND sort_name >= $2 AND sort_name <= $3 LIMIT $4`

	// Gifts that count.
	sqlGave   = `SELECT contact_id FROM gift WHERE account_id = $1 AND id <> 0 AND given_at >= $2 AND given_at < $3 AND net > 0 LIMIT $4`
	sqlGaveTo = `SELECT contact_id FROM gift WHERE account_id = $1 AND campaign_id <> 0 AND campaign_id = $2 AND given_at >= $3 AND given_at < $4 AND net > 0 LIMIT $5`
	sqlGaveOf = `SELECT contact_id FROM gift WHERE account_id = $1 AND contact_id = ANY($2) AND given_at >= $3 AND given_at < $4 AND net > 0 AND ($5 = 0 OR campaign_id = $5)`
)

// sieve finds which contacts pass a filter. To find the set of a condition costs as much as it has contacts. So the sets that are
// found at once come first, and when few contacts are left, their documents decide about all else.
type sieve struct {
	ctx     context.Context
	conn    db.Conn
	account int64
	row     tally
	scope   crm.ContactScope
	filter  crm.ContactFilter
	costs   siftCosts
	tags    *tagCache

	set  db.Set
	left int64 // how many are in the set
	all  int64 // how many were in it at first
	open bool  // there are conditions that the set does not meet for sure
}

// siftCosts say when something else is cheaper.
type siftCosts struct {
	few      int64 // so many documents are read at once
	document int64 // so many rows of an index cost as much as a document
	window   int64 // so many rows are read at first, to find out what is less
	sorted   int64 // so many contacts are sorted in memory
	key      int64 // so many rows of an index cost as much as what one contact is sorted by
}

var usualCosts = siftCosts{few: 200, document: 16, window: 1000, sorted: 10_000, key: 4}

// sift leaves those in the set that pass.
func (w *sieve) sift() error {
	if err := w.imported(); err != nil {
		return err
	}
	for _, step := range w.steps() {
		if w.open = w.open || w.left <= w.costs.few; w.left <= w.costs.few {
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

// imported leaves those that an import has created, which their documents do not tell.
func (w *sieve) imported() error {
	if w.filter.Import == 0 {
		return nil
	}
	var set db.Set
	err := w.conn.Each(func(r db.Row) error {
		set.Add(crm.IDSeq(r.Int(0)))
		return nil
	}, fmt.Sprintf(madeByImport, crm.ContactNoun, crm.DidCreate, "2"), w.account, w.filter.Import)
	w.keep(set)
	return err
}

// steps are the conditions of the filter, the cheapest first.
func (w *sieve) steps() (steps []func() error) {
	f := &w.filter
	add := func(asked bool, step func() error) {
		if asked {
			steps = append(steps, step)
		}
	}
	for _, key := range f.Keys() {
		add(true, func() error { return w.key(key) })
	}
	for _, tag := range f.Tags {
		add(true, func() error { return w.tag(tag) })
	}
	add(len(f.AnyTag) > 0, w.anyTag)
	for _, tag := range f.NoTag {
		add(true, func() error { return w.withoutTag(tag) })
	}
	for _, detail := range f.Has {
		add(true, func() error { return w.detail(detail, w.drop) })
	}
	for _, detail := range f.Lacks {
		add(true, func() error { return w.detail(detail, w.keep) })
	}
	for _, words := range f.CommonWords() {
		add(true, func() error { return w.anyOf(words) })
	}
	add(f.Gave.Campaign != 0, w.donors)
	add(f.LastName != "", w.lastName)
	area, asked := f.ZipArea()
	add(asked, func() error { return w.area(area) })
	words := f.WordSearch()
	add(!words.IsEmpty(), func() error { return w.search(words) })
	add(!f.Gave.When.IsEmpty(), w.gave)
	add(!f.Given.IsEmpty(), w.given)
	add(!f.Created.IsEmpty(), func() error { return w.window(&addedDays, f.Created) })
	add(!f.Updated.IsEmpty(), func() error { return w.window(&changedMonths, f.Updated) })
	return steps
}

// keep drops what is not in the other set.
func (w *sieve) keep(set db.Set) {
	w.set.And(&set)
	w.left = w.set.Count()
}

// drop drops what is in the other set.
func (w *sieve) drop(set db.Set) {
	w.set.AndNot(&set)
	w.left = w.set.Count()
}

// most is how many rows of an index are worth reading: more cost as much as all documents that are left.
func (w *sieve) most() int64 { return max(w.left, 1) * w.costs.document }

// find adds the contacts that a statement finds to a set. whole is false where there are more than the limit, which is its last argument.
func (w *sieve) find(set *db.Set, limit int64, sql string, args ...any) (n int64, whole bool, err error) {
	args = append(append([]any{w.account}, args...), min(limit, math.MaxInt64-1)+1)
	err = w.conn.Each(func(r db.Row) error {
		n++
		set.Add(crm.IDSeq(r.Int(0)))
		return w.alive(n)
	}, sql, args...)
	return n, n <= limit, err
}

// alive looks now and then whether the client still waits.
func (w *sieve) alive(n int64) error {
	if n%4096 == 0 {
		return w.ctx.Err()
	}
	return nil
}

func (w *sieve) key(key string) error {
	var set db.Set
	err := w.conn.Each(func(r db.Row) error {
		set.Add(crm.IDSeq(r.Int(1)))
		return nil
	}, sqlMatch, w.account, []string{key})
	w.keep(set)
	w.open = w.open || key == w.filter.PrimaryEmail // it may be another one of the contact's emails
	return err
}

func (w *sieve) tag(tag string) error {
	found, err := w.tags.tagged(w.conn, w.row, w.scope, tag)
	if err == nil {
		w.keep(found.Set)
	}
	return err
}

// anyTag keeps those who have at least one of the tags.
func (w *sieve) anyTag() error {
	var any db.Set
	for _, tag := range w.filter.AnyTag {
		found, err := w.tags.tagged(w.conn, w.row, w.scope, tag)
		if err != nil {
			return err
		}
		any.Or(&found.Set)
	}
	w.keep(any)
	return nil
}

// anyOf keeps those who are in at least one of the sets.
func (w *sieve) anyOf(names []string) error {
	var any db.Set
	for _, name := range names {
		found, err := w.tags.of(w.conn, w.row, name)
		if err != nil {
			return err
		}
		any.Or(&found.Set)
	}
	w.keep(any)
	return nil
}

// area keeps those who live where ZIP codes begin so.
func (w *sieve) area(start string) error {
	var set db.Set
	err := w.addSets(&set, start, start+"\U0010FFFF")
	if err == nil {
		w.keep(set)
	}
	return err
}

func (w *sieve) withoutTag(tag string) error {
	found, err := w.tags.tagged(w.conn, w.row, w.scope, tag)
	if err == nil {
		w.drop(found.Set)
	}
	return err
}

// detail keeps or drops those who lack a detail.
func (w *sieve) detail(detail crm.Detail, do func(db.Set)) error {
	found, err := w.tags.of(w.conn, w.row, lackingSet+string(detail))
	if err == nil {
		do(found.Set)
	}
	return err
}

// donors keeps those who gave for the campaign.
func (w *sieve) donors() error { return w.anyOf([]string{campaignDonors(w.filter.Gave.Campaign)}) }

// gave keeps those who have a gift of the time that is asked for: for the campaign, or for any.
func (w *sieve) gave() error {
	gave := w.filter.Gave
	if gave.Campaign == 0 {
		return w.window(&giftMonths, gave.When)
	}
	var set db.Set
	low, high := span(gave.When)
	_, whole, err := w.find(&set, w.most(), sqlGaveTo, gave.Campaign, low, high)
	if whole {
		w.keep(set)
	}
	w.open = w.open || !whole
	return err
}

// window keeps those of a stretch of time.
func (w *sieve) window(b *bands, window crm.Window) error {
	low, high := span(window)
	return w.keepBetween(b, low, high)
}

// span is a stretch of time as columns have it: its beginning, and the first moment after it.
func span(window crm.Window) (low, high int64) {
	low, high = math.MinInt64, math.MaxInt64
	if !window.From.IsZero() {
		low = window.From.Unix()
	}
	if !window.To.IsZero() {
		high = window.To.Unix()
	}
	return low, high
}

func (w *sieve) lastName() error {
	var set db.Set
	names, exact := w.filter.Names()
	_, whole, err := w.find(&set, w.most(), sqlNamed, names.From, names.To)
	if whole {
		w.keep(set)
	}
	w.open = w.open || !whole || !exact
	return err
}

// search keeps what the search of the console finds.
func (w *sieve) search(search crm.Search) error {
	var set db.Set
	n, most := int64(0), w.most()
	err := w.conn.SearchEach(wordsTable, query(w.account, w.scope, search), most+1, func(id int64) error {
		n++
		set.Add(crm.IDSeq(id))
		return w.alive(n)
	})
	if n > most || err != nil {
		w.open = true
		return err
	}
	w.keep(set)
	w.open = w.open || w.filter.LongFirstName()
	return nil
}

// given goes by the contacts who gave something, which are all that the sets and the index have.
func (w *sieve) given() error {
	bounds := w.filter.Given
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	if bounds.Min != nil {
		low = *bounds.Min
	}
	if bounds.Max != nil {
		high = *bounds.Max + 1
	}
	if !bounds.Has(0) {
		return w.keepBetween(&givenTotals, low, high)
	}
	for _, outside := range [][2]int64{{math.MinInt64, low}, {high, math.MaxInt64}} {
		if outside[0] == outside[1] {
			continue
		}
		set, whole, err := w.between(&givenTotals, outside[0], outside[1])
		if err != nil || !whole {
			w.open = true
			return err
		}
		w.drop(set)
	}
	return nil
}

// documentsAtOnce is how many documents are asked for together.
const documentsAtOnce = 100

// readDocuments lets the documents of what is left decide.
func (w *sieve) readDocuments() error {
	var set db.Set
	seqs := w.set.Page(0, w.left)
	for some := range slices.Chunk(seqs, documentsAtOnce) {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		ids := idsOf(w.account, some)
		givers, err := w.giversAmong(ids)
		if err != nil {
			return err
		}
		err = w.conn.Each(func(r db.Row) error {
			contact := scanContact(r)
			if contact.damage == nil && w.filter.Matches(&contact.contact, givers[contact.id]) {
				set.Add(crm.IDSeq(contact.id))
			}
			return contact.damage
		}, sqlLoadContacts, w.account, ids)
		if err != nil {
			return err
		}
	}
	w.keep(set)
	return nil
}

// giversAmong are those of some contacts who have a gift such as is asked for.
func (w *sieve) giversAmong(ids []int64) (map[int64]bool, error) {
	gave, givers := w.filter.Gave, make(map[int64]bool)
	if gave.IsEmpty() {
		return givers, nil
	}
	low, high := span(gave.When)
	return givers, w.conn.Each(func(r db.Row) error {
		givers[r.Int(0)] = true
		return nil
	}, sqlGaveOf, w.account, ids, low, high, gave.Campaign)
}
