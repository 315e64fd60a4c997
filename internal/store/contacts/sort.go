package contacts

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// The sort indexes, from a place on, in either order.
const (
	sqlByUpdate       = `SELECT id, updated_at FROM contact WHERE account_id = $1 AND updated_at <> 0 AND (updated_at, id) > ($2, $3) ORDER BY updated_at, id LIMIT $4`
	sqlByUpdateDown   = `SELECT id, updated_at FROM contact WHERE account_id = $1 AND updated_at <> 0 AND (updated_at, id) < ($2, $3) ORDER BY updated_at DESC, id DESC LIMIT $4`
	sqlByName         = `SELECT id, sort_name FROM contact WHERE account_id = $1 AND sort_name <> '' AND (sort_name, id) > ($2, $3) ORDER BY sort_name, id LIMIT $4`
	sqlByNameDown     = `SELECT id, sort_name FROM contact WHERE account_id = $1 AND sort_name <> '' AND (sort_name, id) < ($2, $3) ORDER BY sort_name DESC, id DESC LIMIT $4`
	sqlByTotal        = `SELECT id, given FROM contact WHERE account_id = $1 AND given <> 0 AND (given, id) > ($2, $3) ORDER BY given, id LIMIT $4`
	sqlByTotalDown    = `SELECT id, given FROM contact WHERE account_id = $1 AND given <> 0 AND (given, id) < ($2, $3) ORDER BY given DESC, id DESC LIMIT $4`
	sqlByLastGift     = `SELECT id, last_gift FROM contact WHERE account_id = $1 AND last_gift <> 0 AND (last_gift, id) > ($2, $3) ORDER BY last_gift, id LIMIT $4`
	sqlByLastGiftDown = `SELECT id, last_gift FROM contact WHERE account_id = $1 AND last_gift <> 0 AND (last_gift, id) < ($2, $3) ORDER BY last_gift DESC, id DESC LIMIT $4`

	sqlSortKeys = `SELECT id, updated_at, sort_name, given, last_gift FROM contact WHERE account_id = $1 AND id = ANY($2)`
)

// sortOrder is how the database sorts by a field.
type sortOrder struct {
	up, down string
	column   int  // of sqlSortKeys
	text     bool // it is a text
	sparse   bool // the index leaves out those who never gave, who come before all others
}

// sortOrders are those that have an index. Contacts are numbered as they are made, so that all others are the order of their ids.
var sortOrders = map[find.SortField]sortOrder{
	find.ByUpdate:   {up: sqlByUpdate, down: sqlByUpdateDown, column: 1},
	find.ByName:     {up: sqlByName, down: sqlByNameDown, column: 2, text: true},
	find.ByTotal:    {up: sqlByTotal, down: sqlByTotalDown, column: 3, sparse: true},
	find.ByLastGift: {up: sqlByLastGift, down: sqlByLastGiftDown, column: 4, sparse: true},
}

// sortKey is a value that contacts are sorted by: a number or a text.
type sortKey struct {
	number int64
	text   string
	id     int64
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

func (k sortKey) compare(other sortKey) int {
	return cmp.Or(cmp.Compare(k.number, other.number), strings.Compare(k.text, other.text), cmp.Compare(k.id, other.id))
}

func (k sortKey) seq() int64 { return doc.IDSeq(k.id) }

// place is a key as the statements of the order take it.
func (o sortOrder) place(k sortKey) any {
	if o.text {
		return k.text
	}
	return k.number
}

// page is the sequence numbers of a page of what is left, in the order that the filter asks for.
func (w *Filtering) page(page crm.PageRequest) ([]int64, error) {
	from, to := store.OldestFirst(page)(w.left)
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
	keys := make([]sortKey, 0, w.left)
	for some := range slices.Chunk(w.Set.Page(0, w.left), keysAtOnce) {
		err := w.conn.Scan(func(r db.Row) {
			keys = append(keys, order.key(r, order.column))
		}, sqlSortKeys, w.row.Account, IDsOf(w.row.Account, some))
		if err == nil {
			err = w.ctx.Err()
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(keys, sortKey.compare)
	if w.filter.Sort.Descending {
		slices.Reverse(keys)
	}
	return store.Collect(section(keys, from, to), sortKey.seq), nil
}

// walk goes through the index of an order. Those who are not in it come before all others in ascending order, which takes the whole index to
// know them, and behind all others in descending order.
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
	sql, at := order.up, sortKey{number: math.MinInt64}
	if w.filter.Sort.Descending {
		sql, at = order.down, sortKey{number: math.MaxInt64, text: find.LastSortName, id: math.MaxInt64}
	}
	limit := min(walkedAtOnce, w.walked(want))
	for ended := false; int64(len(seqs)) < want && !ended; limit = min(walkedAtOnce, 4*limit) {
		n := int64(0)
		err := w.conn.Scan(func(r db.Row) {
			n++
			if at = order.key(r, 1); w.Set.Has(at.seq()) {
				seqs = append(seqs, at.seq())
			}
		}, sql, w.row.Account, order.place(at), at.id, limit)
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
