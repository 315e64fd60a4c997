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

	sqlSortKeys = `SELECT id, created_at, updated_at, sort_name FROM contact WHERE account_id = $1 AND id = ANY($2)`
)

// sortOrder is how the database sorts by a field.
type sortOrder struct {
	up, down string
	column   int  // of sqlSortKeys
	text     bool // it is a text
}

func (o sortOrder) key(r db.Row, column int) sortKey {
	if o.text {
		return sortKey{text: r.Text(column), id: r.Int(0)}
	}
	return sortKey{number: r.Int(column), id: r.Int(0)}
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
	crm.ByCreation: {sqlByCreation, sqlByCreationBack, 1, false},
	crm.ByUpdate:   {sqlByUpdate, sqlByUpdateBack, 2, false},
	crm.ByName:     {sqlByName, sqlByNameBack, 3, true},
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
	seqs, found, err := w.walk(order, from, to, budget)
	if found || err != nil {
		return seqs, err
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
		if err := w.ctx.Err(); err != nil {
			return nil, err
		}
		err := w.conn.Each(func(r db.Row) error {
			keys = append(keys, order.key(r, order.column))
			return nil
		}, sqlSortKeys, w.account, idsOf(w.account, some))
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(keys, sortKey.compare)
	return collect(keys[from:to], sortKey.seq), nil
}

// keysAtOnce and walkedAtOnce are how many rows are asked for together.
const (
	keysAtOnce   = 1000
	walkedAtOnce = 20_000
)

// walk goes through the index of the order from the end that is nearer to the page, and counts those that are left. It gives up when it
// has to read more rows than the budget.
func (w *sieve) walk(order sortOrder, from, to, budget int64) (seqs []int64, found bool, err error) {
	sql, at, skip := order.up, order.start(), from
	back := w.left-to < from
	if back {
		sql, at, skip = order.down, order.end(), w.left-to
	}
	want := to - from
	for ended := false; want > 0 && !ended; {
		expected := (skip+want)*w.all/w.left + 10 // as many as it takes, where those that are left lie evenly
		if expected > budget {
			return nil, false, nil
		}
		limit, n := min(walkedAtOnce, expected), int64(0)
		err := w.conn.Each(func(r db.Row) error {
			n++
			at = order.key(r, 1)
			switch {
			case want == 0 || !w.set.Has(at.seq()):
			case skip > 0:
				skip--
			default:
				seqs, want = append(seqs, at.seq()), want-1
			}
			return nil
		}, sql, w.account, order.place(at), at.id, limit)
		if err == nil {
			err = w.ctx.Err()
		}
		if err != nil {
			return nil, false, err
		}
		ended = n < limit
		budget -= n
	}
	if back {
		slices.Reverse(seqs)
	}
	return seqs, true, nil
}
