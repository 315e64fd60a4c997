package store

import (
	"context"

	"donorbook/internal/crm"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/db"
)

// ExportGifts prepares a file of the account's own gifts that pass a filter, in the order in which they were recorded.
func (s *MoveStore) ExportGifts(ctx context.Context, account int64, filter crm.GiftFilter, how ExportOptions) (*Export, error) {
	set, err := weighed(ctx, s.Base, account, func(c db.Conn, w weigh) (set db.Set, err error) {
		part := giftPart{account, filter}
		weight, err := part.weight(c)
		if err = firstError(err, w(weight)); err != nil {
			return set, err
		}
		total, ids, err := part.find(c)
		for _, id := range ids(0, total) {
			set.Add(crm.IDSeq(id))
		}
		return set, err
	})
	if err != nil {
		return nil, err
	}
	out := sheet.GiftTable()
	return s.prepared(ctx, account, "transactions", &Export{Rows: set.Count(), how: how, head: out.Header,
		write: func(ctx context.Context, to *records, done func(int) error) error {
			return inParts(account, &set, func(ids []int64) error {
				return s.eachGift(ctx, account, ids, func(g *GiftRecord) error {
					return to.add(func() ([]byte, error) { return GiftDocument{Gift: g.Gift, Slug: g.Slug}.Append(nil), nil }, func() ([]any, error) { return out.Gift(&g.Gift, g.Slug), nil })
				}, done)
			})
		}})
}

// eachGift reads gifts by their ids. done is told how many of them each piece had.
func (s *MoveStore) eachGift(ctx context.Context, account int64, ids []int64, read func(*GiftRecord) error, done func(n int) error) error {
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
		return nil
	}, func() error { return done(len(piece)) })
}
