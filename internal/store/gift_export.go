package store

import (
	"context"
	"math"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// ExportGifts prepares a file of the account's own gifts that pass a filter, in the order in which they were recorded.
func (s *Store) ExportGifts(ctx context.Context, account int64, filter crm.GiftFilter, how ExportOptions) (*Export, error) {
	set, err := snapshot(ctx, s, func(c db.Conn) (set db.Set, err error) {
		part := giftPart{account, filter}
		total, err := part.count(c)
		if err != nil {
			return set, err
		}
		ids, err := part.ids(c, 0, min(total, math.MaxInt32))
		for _, id := range ids {
			set.Add(crm.IDSeq(id))
		}
		return set, err
	})
	if err != nil {
		return nil, err
	}
	return s.prepared(ctx, account, "transactions", &Export{Rows: set.Count(), how: how, head: crm.GiftHeader,
		write: func(ctx context.Context, to *records, done func(int)) error {
			return inParts(account, &set, func(ids []int64) error {
				return s.eachGift(ctx, account, ids, func(g *GiftRecord) error {
					return to.add(func() ([]byte, error) { return GiftDocument{Gift: g.Gift, Slug: g.Slug}.Append(nil), nil }, func() ([]any, error) { return crm.GiftCells(&g.Gift, g.Slug), nil })
				}, done)
			})
		}})
}

// eachGift reads gifts by their ids. done is told how many of them each piece had.
func (s *Store) eachGift(ctx context.Context, account int64, ids []int64, read func(*GiftRecord) error, done func(n int)) error {
	var piece []GiftRecord
	return s.inPieces(ctx, account, ids, sqlGiftsByID, func() { piece = piece[:0] }, func(r db.Row) (int, error) {
		g, err := scanGiftRecord(r)
		piece = append(piece, g)
		return len(r.Bytes(6)), err
	}, func() error {
		for i := range piece {
			if err := read(&piece[i]); err != nil {
				return err
			}
		}
		done(len(piece))
		return nil
	})
}
