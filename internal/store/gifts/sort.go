package gifts

import (
	"cmp"
	"fmt"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// sortKey is what a gift or a plan is sorted by.
type sortKey struct{ key, id int64 }

func (k sortKey) compare(other sortKey) int {
	return cmp.Or(cmp.Compare(k.key, other.key), cmp.Compare(k.id, other.id))
}

// sortedIDs are the ids of one page.
func sortedIDs(keys []sortKey, descending bool, from, to int64) []int64 {
	slices.SortFunc(keys, sortKey.compare)
	if descending {
		slices.Reverse(keys)
	}
	return store.Collect(keys[from:to], func(k sortKey) int64 { return k.id })
}

// bodyRows: a document that must be read costs as much as so many entries of an index.
const bodyRows = 8

// findSorted is findGifts for a list that is sorted.
func findSorted(c db.Conn, w store.Admit, parts []GiftPart, page crm.PageRequest) ([]giftPage, store.ListResult, error) {
	ids, total, err := sortGifts(c, w, parts, page)
	result := store.ListResult{Total: total, Count: int64(len(ids))}
	var found []giftPage
	for _, id := range ids {
		account := doc.IDAccount(id)
		if n := len(found); n == 0 || found[n-1].account != account {
			found = append(found, giftPage{account: account})
		}
		last := &found[len(found)-1]
		last.ids = append(last.ids, id)
	}
	return found, result, err
}

// sortGifts are the ids of one page of a list that is sorted. That of one account is carried by its sequence numbers, or by the indexes of gifts, which all go on
// with the time. Nothing but the documents has amounts, and no index has the gifts of several accounts, or of several
// contacts with one email: those are read and sorted when it is their turn.
func sortGifts(c db.Conn, w store.Admit, parts []GiftPart, page crm.PageRequest) (ids []int64, total int64, err error) {
	switch sort := parts[0].Filter.Sort; {
	case len(parts) > 1:
	case sort.InOrder():
		return sortByID(c, w, parts, page)
	case sort.By == giving.ByTime && parts[0].Filter.Email == "":
		return sortByTime(c, w, parts, page)
	}
	return sortInMemory(c, w, parts, page)
}

// sortByID sorts the gifts of one account as they were recorded.
func sortByID(c db.Conn, w store.Admit, parts []GiftPart, page crm.PageRequest) (ids []int64, total int64, err error) {
	part := parts[0]
	weight, err := part.Weight(c)
	if err == nil {
		err = w(weight)
	}
	if err != nil {
		return nil, 0, err
	}
	total, all, err := part.Find(c)
	order := store.OldestFirst
	if part.Filter.Sort.Descending {
		order = store.NewestFirst
	}
	from, to := order(page)(total)
	if err != nil || from < 0 || from >= to {
		return nil, total, err
	}
	if ids = all(from, to); part.Filter.Sort.Descending {
		slices.Reverse(ids)
	}
	return ids, total, nil
}

// sortByTime sorts the gifts of one account by when they were made. Its indexes have that by the organization's clock, so that the gifts of a page lie around
// those of the same page by that clock: no clock is ahead or behind by more than clockSpan.
func sortByTime(c db.Conn, w store.Admit, parts []GiftPart, page crm.PageRequest) (ids []int64, total int64, err error) {
	part := parts[0]
	weight, err := part.Weight(c)
	if err == nil {
		err = w(weight)
	}
	if err != nil {
		return nil, 0, err
	}
	if total, err = part.count(c); err != nil {
		return nil, 0, err
	}
	order := store.NewestFirst // from the latest on, as an index goes that knows months
	if part.Filter.Sort.Descending {
		order = store.OldestFirst
	}
	from, to := order(page)(total)
	if from < 0 || from >= to || page.Skip() >= total {
		return nil, total, nil
	}
	first, last, err := part.edges(c, w, from, to)
	if err != nil {
		return nil, 0, err
	}
	around, err := part.around(c, w, first.key+2*clockSpan, last.key-2*clockSpan)
	if err != nil {
		return nil, 0, err
	}
	before := int64(0) // of those around, by the organization's clock
	keys := store.Collect(around, func(g timedGift) sortKey {
		if g.local.compare(first) > 0 {
			before++
		}
		return sortKey{g.at, g.local.id}
	})
	if ids = sortedIDs(keys, true, before, before+to-from); !part.Filter.Sort.Descending {
		slices.Reverse(ids)
	}
	return ids, total, nil
}

// count is how many gifts a part has.
func (part GiftPart) count(c db.Conn) (int64, error) {
	if part.Filter.IsEmpty() {
		all, err := readEachGift(c, part.Account)
		return all.count(), err
	}
	condition, args := giftCondition(part.Account, part.Filter)
	return c.Int(`SELECT COUNT(*) FROM gift g`+condition, args...)
}

// edges are the first and the last gift of a page by the organization's clock, the latest first.
func (part GiftPart) edges(c db.Conn, w store.Admit, from, to int64) (first, last sortKey, err error) {
	before, skip := part.Filter, from
	if before.IsEmpty() {
		if before.To, skip, err = skipMonths(c, part.Account, from); err != nil {
			return first, last, err
		}
		before.Days = !before.To.IsZero()
	}
	if err := w(skip); err != nil {
		return first, last, err
	}
	condition, args := giftCondition(part.Account, before)
	sql := fmt.Sprintf(`SELECT g.given_at, g.id FROM gift g%s ORDER BY g.given_at DESC, g.id DESC LIMIT $%d OFFSET $%d`, condition, len(args)+1, len(args)+2)
	page, err := db.List(c, func(r db.Row) sortKey { return sortKey{r.Int(0), r.Int(1)} }, sql, append(args, to-from, skip)...)
	if err == nil && int64(len(page)) < to-from {
		err = fmt.Errorf("%d of %d gifts of account %d cannot be found by their time", to-from-int64(len(page)), to-from, part.Account)
	}
	if err != nil {
		return first, last, err
	}
	return page[0], page[len(page)-1], nil
}

// timedGift is when a gift was made, by the organization's clock and by any.
type timedGift struct {
	local sortKey
	at    int64
}

// around are the gifts up to a time of the organization's clock and from another one on.
func (part GiftPart) around(c db.Conn, w store.Admit, latest, earliest int64) ([]timedGift, error) {
	condition, args := giftCondition(part.Account, part.Filter)
	condition += fmt.Sprintf(` AND g.given_at <= $%d AND g.given_at >= $%d`, len(args)+1, len(args)+2)
	args = append(args, latest, earliest)
	few := fmt.Sprintf(`SELECT COUNT(*) FROM (SELECT 1 FROM gift g%s LIMIT $%d) AS first`, condition, len(args)+1)
	weight, err := c.Int(few, append(slices.Clone(args), int64(store.LightRows+1))...)
	if err == nil {
		err = w(weight)
	}
	if err != nil {
		return nil, err
	}
	return db.List(c, func(r db.Row) timedGift { return timedGift{sortKey{r.Int(0), r.Int(1)}, r.Int(2)} },
		`SELECT g.given_at, g.id, g.given_at - g.ahead FROM gift g`+condition, args...)
}

// sortInMemory reads what all gifts of the parts are sorted by.
func sortInMemory(c db.Conn, w store.Admit, parts []GiftPart, page crm.PageRequest) (ids []int64, total int64, err error) {
	sort, weight := parts[0].Filter.Sort, int64(0)
	for _, part := range parts {
		rows, err := part.Weight(c)
		if err == nil && part.Filter.IsEmpty() {
			rows, err = part.count(c)
		}
		if err != nil {
			return nil, 0, err
		}
		weight += rows
	}
	column, key := "g.given_at - g.ahead", func(r db.Row) int64 { return r.Int(1) }
	switch sort.By {
	case giving.ByTime:
	case giving.ByID:
		column = "0"
	default:
		column, key, weight = "g.body", func(r db.Row) int64 { return sort.GiftKey(r.Bytes(1)) }, weight*bodyRows
	}
	if err := w(weight); err != nil {
		return nil, 0, err
	}
	var keys []sortKey
	for _, part := range parts {
		condition, args := giftCondition(part.Account, part.Filter)
		err := c.Each(func(r db.Row) error {
			keys = append(keys, sortKey{key(r), r.Int(0)})
			return nil
		}, `SELECT g.id, `+column+` FROM gift g`+condition, args...)
		if err != nil {
			return nil, 0, err
		}
	}
	total = int64(len(keys))
	if from, to := store.OldestFirst(page)(total); from < to {
		ids = sortedIDs(keys, sort.Descending, from, to)
	}
	return ids, total, nil
}
