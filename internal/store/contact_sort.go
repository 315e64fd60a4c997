package store

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// The sort indexes, from a place on and back from it.
const (
	sqlByCreation     = `SELECT id, created_at FROM contact WHERE account_id = $1 AND created_at <> 0 AND (created_at, id) > ($2, $3) ORDER BY created_at, id LIMIT $4`
	sqlByCreationBack = `SELECT id, created_at FROM contact WHERE account_id = $1 AND created_at <> 0 AND (created_at, id) < ($2, $3) ORDER BY created_at DESC, id DESC LIMIT $4`
	sqlByUpdate       = `SELECT id, updated_at FROM contact WHERE account_id = $1 AND updated_at <> 0 AND (updated_at, id) > ($2, $3) ORDER BY updated_at, id LIMIT $4`
	sqlByUpdateBack   = `SELECT id, updated_at FROM contact WHERE account_id = $1 AND updated_at <> 0 AND (updated_at, id) < ($2, $3) ORDER BY updated_at DESC, id DESC LIMIT $4`
	sqlByName         = `SELECT id, sort_name FROM contact WHERE account_id = $1 AND sort_name <> '' AND (sort_name, id) > ($2, $3) ORDER BY sort_name, id LIMIT $4`
	sqlByNameBack     = `SELECT id, sort_name FROM contact WHERE account_id = $1 AND sort_name <> '' AND (sort_name, id) < ($2, $3) ORDER BY sort_name DESC, id DESC LIMIT $4`
	sqlByTotal        = `SELECT id, given FROM contact WHERE account_id = $1 AND given <> 0 AND (given, id) > ($2, $3) ORDER BY given, id LIMIT $4`
	sqlByTotalBack    = `SELECT id, given FROM contact WHERE account_id = $1 AND given <> 0 AND (given, id) < ($2, $3) ORDER BY given DESC, id DESC LIMIT $4`
	sqlByLastGift     = `SELECT id, last_gift FROM contact WHERE account_id = $1 AND last_gift <> 0 AND (last_gift, id) > ($2, $3) ORDER BY last_gift, id LIMIT $4`
	sqlByLastGiftBack = `SELECT id, last_gift FROM contact WHERE account_id = $1 AND last_gift <> 0 AND (last_gift, id) < ($2, $3) ORDER BY last_gift DESC, id DESC LIMIT $4`

	sqlSortKeys = `SELECT id, created_at, updated_at, sort_name, given, last_gift FROM contact WHERE account_id = $1 AND id = ANY($2)`
)

// sortOrder is how the database sorts by a field.
type sortOrder struct {
	up, down string
	column   int  // of sqlSortKeys
	text     bool // it is a text
	sparse   bool // the index leaves out those who never gave, who come before all others
}

func (o sortOrder) key(r db.Row, column int) sortKey {
	if o.text {
		return sortKey{text: r.Text(column), id: r.Int(0)}
	}
	key := sortKey{number: r.Int(column), id: r.Int(0)}
	if o.sparse && key.number == 0 {
		key.number = math.MinInt64
	}
	return key
}

// sortKey is a value that contacts are sorted by: a number or a text.
type sortKey struct {
	number int64
	text   string
	id     int64
}

func (k sortKey) compare(other sortKey) int {
	return cmp.Or(cmp.Compare(k.number, other.number), strings.Compare(k.text, other.text), cmp.Compare(k.id, other.id))
}

func (k sortKey) seq() int64 { return crm.IDSeq(k.id) }

var sortOrders = map[crm.SortField]sortOrder{
	crm.ByCreation: {up: sqlByCreation, down: sqlByCreationBack, column: 1},
	crm.ByUpdate:   {up: sqlByUpdate, down: sqlByUpdateBack, column: 2},
	crm.ByName:     {up: sqlByName, down: sqlByNameBack, column: 3, text: true},
	crm.ByTotal:    {up: sqlByTotal, down: sqlByTotalBack, column: 4, sparse: true},
	crm.ByLastGift: {up: sqlByLastGift, down: sqlByLastGiftBack, column: 5, sparse: true},
}

// start is before everything, end after it.
func (o sortOrder) start() sortKey { return sortKey{number: math.MinInt64} }
func (o sortOrder) end() sortKey {
	return sortKey{number: math.MaxInt64, text: crm.LastName, id: math.MaxInt64}
}

// place is a key as the statements of the order take it.
func (o sortOrder) place(k sortKey) any {
	if o.text {
		return k.text
	}
	return k.number
}

// page is the sequence numbers of a page of what is left, in the order that the filter asks for.
func (w *sieve) page(page crm.PageRequest) (seqs []int64, err error) {
	from, to := pageSpan(w.filter.Sort, page)(w.left)
	if from >= to {
		return nil, nil
	}
	if order, ok := sortOrders[w.filter.Sort.By]; ok {
		seqs, err = w.sortedPage(order, from, to)
	} else {
		seqs = w.set.Page(from, to)
	}
	if w.filter.Sort.Descending {
		slices.Reverse(seqs)
	}
	return seqs, err
}

// sortedPage walks through the index of an order. Where that takes longer than to read what is left, it sorts that.
func (w *sieve) sortedPage(order sortOrder, from, to int64) ([]int64, error) {
	budget := int64(math.MaxInt64)
	if w.left <= w.costs.sorted {
		budget = w.left * w.costs.key
	}
	walk := sortWalk{sieve: w, order: order, budget: budget}
	found, err := walk.page(from, to)
	if found || err != nil {
		return walk.seqs, err
	}
	return w.sortInMemory(order, from, to)
}

// pageSpan is where a page lies in a list that is kept in ascending order.
func pageSpan(sort crm.ContactSort, page crm.PageRequest) db.Span {
	if sort.Descending {
		return newestFirst(page)
	}
	return oldestFirst(page)
}

// sortInMemory reads what all contacts that are left are sorted by.
func (w *sieve) sortInMemory(order sortOrder, from, to int64) ([]int64, error) {
	keys := make([]sortKey, 0, w.left)
	for some := range slices.Chunk(w.set.Page(0, w.left), keysAtOnce) {
		more, err := w.sortKeys(order, some)
		if err != nil {
			return nil, err
		}
		keys = append(keys, more...)
	}
	slices.SortFunc(keys, sortKey.compare)
	return collect(keys[from:to], sortKey.seq), nil
}

// sortKeys reads what some contacts are sorted by, in no order.
func (w *sieve) sortKeys(order sortOrder, seqs []int64) (keys []sortKey, err error) {
	if err := w.ctx.Err(); err != nil {
		return nil, err
	}
	return keys, w.conn.Each(func(r db.Row) error {
		keys = append(keys, order.key(r, order.column))
		return nil
	}, sqlSortKeys, w.account, idsOf(w.account, seqs))
}

// keysAtOnce and walkedAtOnce are how many rows are asked for together.
const (
	keysAtOnce   = 1000
	walkedAtOnce = 20_000
)

// sortWalk goes through all contacts in an order, and counts those that are left, until it has come to the end of a page.
type sortWalk struct {
	*sieve
	order  sortOrder
	budget int64 // rows that it may read
	skip   int64 // contacts before the page
	want   int64 // contacts that the page lacks
	seqs   []int64
}

// page begins at the end that is nearer to the page. found is false where it would have to read more rows than the budget.
func (w *sortWalk) page(from, to int64) (found bool, err error) {
	back := w.left-to < from
	w.skip, w.want = from, to-from
	if back {
		w.skip = w.left - to
	}
	steps := []func(back bool) (bool, error){w.index}
	if w.order.sparse {
		steps = append([]func(bool) (bool, error){w.without}, steps...)
	}
	if back {
		slices.Reverse(steps)
	}
	for _, step := range steps {
		if found, err = step(back); !found || err != nil {
			return false, err
		}
	}
	if back {
		slices.Reverse(w.seqs)
	}
	return true, nil
}

// expected is how many rows it takes to come to the end of the page, where those that are left lie evenly.
func (w *sortWalk) expected() int64 { return (w.skip+w.want)*w.all/w.left + 10 }

// take goes on to the next contact that is left.
func (w *sortWalk) take(seq int64) {
	switch {
	case w.want == 0:
	case w.skip > 0:
		w.skip--
	default:
		w.seqs, w.want = append(w.seqs, seq), w.want-1
	}
}

// index goes through the index of the order.
func (w *sortWalk) index(back bool) (found bool, err error) {
	sql, at := w.order.up, w.order.start()
	if back {
		sql, at = w.order.down, w.order.end()
	}
	for ended := false; w.want > 0 && !ended; {
		if w.expected() > w.budget {
			return false, nil
		}
		limit, n := min(walkedAtOnce, w.expected()), int64(0)
		err := w.conn.Each(func(r db.Row) error {
			n++
			if at = w.order.key(r, 1); w.set.Has(at.seq()) {
				w.take(at.seq())
			}
			return nil
		}, sql, w.account, w.order.place(at), at.id, limit)
		if err == nil {
			err = w.ctx.Err()
		}
		if err != nil {
			return false, err
		}
		ended = n < limit
		w.budget -= n
	}
	return true, nil
}

// without goes through those who are not in the index, in the order of their ids.
func (w *sortWalk) without(back bool) (found bool, err error) {
	for from := int64(0); w.want > 0 && from < w.left; from += keysAtOnce {
		to := min(from+keysAtOnce, w.left)
		if w.budget -= to - from; w.budget < 0 {
			return false, nil
		}
		some := w.set.Page(from, to)
		if back {
			some = w.set.Page(w.left-to, w.left-from)
			slices.Reverse(some)
		}
		keys, err := w.sortKeys(w.order, some)
		if err != nil {
			return false, err
		}
		indexed := make(map[int64]bool)
		for _, key := range keys {
			indexed[key.seq()] = key.number != math.MinInt64
		}
		for _, seq := range some {
			if !indexed[seq] {
				w.take(seq)
			}
		}
	}
	return true, nil
}
