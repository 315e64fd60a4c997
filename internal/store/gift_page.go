package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/db"
)

// GiftTotals is what a filter finds in all.
type GiftTotals struct {
	ListResult
	Gifts int64            // of them: that count
	Sums  map[string]int64 // what is left of them, by currency
}

// GiftPage is one page of gifts for people: the latest first, unless the filter says otherwise.
func (s *Store) GiftPage(ctx context.Context, account int64, filter giving.GiftFilter,
	page crm.PageRequest,
) (records []GiftRecord, totals GiftTotals, err error) {
	records, err = Admitted(ctx, s, account, func(c db.Conn, w Admit) (records []GiftRecord, err error) {
		part := GiftPart{account, filter}
		weight, err := part.Weight(c)
		if filter.OnlyMonths() { // the totals are kept
			weight = min(weight, page.Skip())
		}
		if err == nil {
			err = w(weight)
		}
		if err != nil {
			return nil, err
		}
		if totals, err = giftTotals(c, account, filter); err != nil || page.Skip() >= totals.Total {
			return nil, err
		}
		var ids []int64
		if filter.Sort == (giving.Sort{}) {
			ids, err = part.latestFirst(c, w, page.Skip(), page.PerPage)
		} else {
			ids, _, err = sortGifts(c, w, []GiftPart{part}, page)
		}
		if err != nil {
			return nil, err
		}
		records, err = giftRecords(c, SQLGiftsByID, account, ids)
		SortRows(records, func(a, b *GiftRecord) int {
			return cmp.Compare(slices.Index(ids, a.ID),
				slices.Index(ids, b.ID))
		})
		totals.Count = int64(len(records))
		return records, err
	})
	return records, totals, err
}

// latestFirst are the ids of some gifts of a part, the latest first, by an index.
func (part GiftPart) latestFirst(c db.Conn, w Admit, skip, count int64) (ids []int64, err error) {
	before := part.Filter
	if before.IsEmpty() {
		if before.To, skip, err = skipMonths(c, part.Account, skip); err != nil {
			return nil, err
		}
		before.Days = !before.To.IsZero()
	}
	if err := w(skip); err != nil {
		return nil, err
	}
	condition, args := giftCondition(part.Account, before)
	sql := fmt.Sprintf(`SELECT g.id FROM gift g%s ORDER BY g.given_at DESC, g.id DESC LIMIT $%d OFFSET $%d`, condition,
		len(args)+1, len(args)+2)
	return db.List(c, Number, sql, append(args, count, skip)...)
}

// giftTotals is from the sums of months, where they say it, and else counted.
func giftTotals(c db.Conn, account int64, f giving.GiftFilter) (totals GiftTotals, err error) {
	totals.Sums = map[string]int64{}
	if f.OnlyMonths() {
		from, to := int64(firstMonth), int64(lastMonth)
		if !f.From.IsZero() {
			from = max(from, giving.Month(f.From))
		}
		if !f.To.IsZero() {
			to = min(to, giving.Month(f.To))
		}
		err = eachMonth(c, account, from, to, func(_ int64, currency string, g giving.Sums) {
			switch {
			case !f.Counted:
				totals.add(currency, g.Entries, g.Gifts, g.Amount)
			case currency == f.Currency:
				totals.add(currency, g.Gifts, g.Gifts, g.Amount)
			}
		})
		return totals, err
	}
	row, err := ReadTally(c, account)
	if err != nil {
		return totals, err
	}
	// Nearly all gifts have the account's currency. To group all of them by currency would sort them.
	condition, args := giftCondition(account, f)
	others, own := int64(0), fmt.Sprintf("$%d", len(args)+1)
	args = append(args, row.Currency)
	_, err = c.One(func(r db.Row) {
		totals.add(row.Currency, r.Int(0), r.Int(1), r.Int(2))
		others = r.Int(3)
	}, `SELECT COUNT(*), COALESCE(SUM(CASE WHEN g.net > 0 THEN 1
		ELSE 0 END), 0), CAST(COALESCE(SUM(CASE WHEN g.currency = `+own+` THEN g.net ELSE 0 END), 0) AS BIGINT),
		COALESCE(SUM(CASE WHEN g.currency = `+own+` THEN 0 ELSE 1 END), 0) FROM gift g`+condition, args...)
	if err != nil || others == 0 {
		return totals, err
	}
	err = c.Each(func(r db.Row) error {
		totals.add(r.Text(0), 0, 0, r.Int(1))
		return nil
	}, `SELECT g.currency, CAST(SUM(g.net) AS BIGINT) FROM gift g`+condition+` AND g.currency <> `+own+
		` GROUP BY g.currency`, args...)
	return totals, err
}

func (t *GiftTotals) add(currency string, entries, gifts, amount int64) {
	t.Total += entries
	t.Gifts += gifts
	if amount != 0 {
		t.Sums[currency] += amount
	}
}

// skipMonths turns a number of gifts to leave out, the latest first, into a time before which to begin and a smaller
// number: months that are left out whole need not be walked through.
func skipMonths(c db.Conn, account, skip int64) (before time.Time, rest int64, err error) {
	entries := map[int64]int64{}
	err = eachMonth(c, account, firstMonth, lastMonth,
		func(month int64, _ string, g giving.Sums) { entries[month] += g.Entries })
	for _, month := range slices.Backward(slices.Sorted(maps.Keys(entries))) {
		before = time.Date(int(month/100), time.Month(month%100)+1, 1, 0, 0, 0, 0, time.UTC)
		if entries[month] > skip {
			break
		}
		skip -= entries[month]
	}
	return before, skip, err
}

// LatestGifts are the latest gifts that a filter finds. The others are not counted, so that an index answers it.
func (s *Store) LatestGifts(ctx context.Context, account int64, filter giving.GiftFilter,
	limit int64,
) ([]GiftRecord, error) {
	condition, args := giftCondition(account, filter)
	sql := fmt.Sprintf(`%s%s ORDER BY g.given_at DESC, g.id DESC LIMIT $%d`, shownGift, condition, len(args)+1)
	return Snapshot(ctx, s, func(c db.Conn) ([]GiftRecord, error) {
		return giftRecords(c, sql,
			append(args, limit)...)
	})
}

// CampaignName is what a list of gifts shows of a campaign.
type CampaignName struct {
	ID              int64
	Title, Currency string
	Event           bool
	Benefit         giving.Benefit // what its givers get in return
}

// CampaignNames are the account's own campaigns with these ids. One that is damaged has no title.
func (s *Store) CampaignNames(ctx context.Context, account int64, ids []int64) (map[int64]CampaignName, error) {
	names := map[int64]CampaignName{}
	if len(ids) == 0 {
		return names, nil
	}
	ids = slices.Compact(slices.Sorted(slices.Values(ids))) // many gifts have the same one, which may be long
	all, err := List(ctx, s, scanCampaignName, SQLOwnCampaigns, account, ids)
	for _, name := range all {
		names[name.ID] = name
	}
	return names, err
}

// benefitOf is what the givers of a campaign get in return.
func benefitOf(c *campaign.Campaign) giving.Benefit {
	return giving.Benefit{What: strings.Clone(c.Benefit), Value: c.BenefitValue * text.ScaleOf(text.SentDecimals-2)}
}

// scanCampaignName keeps nothing of the document but the two texts.
func scanCampaignName(r db.Row) CampaignName {
	row := CampaignRow{ID: r.Int(0), Body: slices.Clone(r.Bytes(2)), Checksum: r.Int(3)}
	c, err := row.Parse()
	if err != nil {
		return CampaignName{ID: row.ID}
	}
	return CampaignName{row.ID, strings.Clone(c.Title), strings.Clone(c.Currency), c.Type == campaign.EventCampaign,
		benefitOf(&c)}
}

// NewestCampaigns are the account's own campaigns that a form offers, the newest first.
func (s *Store) NewestCampaigns(ctx context.Context, account, limit int64) ([]CampaignName, error) {
	return Snapshot(ctx, s, func(c db.Conn) ([]CampaignName, error) {
		_, ids, err := s.Listed.Page(c, account, campaign.OwnCampaigns, crm.PageRequest{Page: 1, PerPage: limit},
			NewestFirst)
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		names, err := db.List(c, scanCampaignName, SQLOwnCampaigns, account, ids)
		SortRows(names, func(a, b *CampaignName) int { return slices.Index(ids, b.ID) - slices.Index(ids, a.ID) })
		return names, err
	})
}
