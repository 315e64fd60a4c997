package gifts

import (
	"context"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
)

// Who gave in a year, for the first time or again, is counted when it is asked for, by one walk through the index of gifts by time. What it finds are sets, so that a page is found
// in them, and only the gifts of those on the page are summed up.

const (
	// Of the same contact as often as it gave: to tell contacts apart costs a database more than a set.
	sqlGave   = `SELECT contact_id, given_at FROM gift WHERE account_id = $1 AND id <> 0 AND given_at >= $2 AND given_at < $3 AND net > 0`
	sqlGaveIn = sqlGave + ` AND currency = $4`
	sqlGaveTo = `SELECT contact_id FROM gift WHERE account_id = $1 AND campaign_id <> 0 AND campaign_id = $2 AND net > 0 AND currency = $3`

	givenBy       = `SELECT contact_id, COUNT(*), CAST(SUM(net) AS BIGINT) FROM gift WHERE account_id = $1 AND contact_id = ANY($2) AND given_at >= $3 AND given_at < $4 AND net > 0 AND currency = $5`
	sqlGivenBy    = givenBy + ` GROUP BY contact_id ORDER BY contact_id`
	sqlGivenForBy = givenBy + ` AND campaign_id = $6 GROUP BY contact_id ORDER BY contact_id`
)

// Donor is a contact with what it gave in a time.
type Donor struct {
	Contact crm.Contact
	Giving  giving.Sums
}

// DonorPlace is where a page of donors lies: after an id or before it. The zero value is the first page.
type DonorPlace struct{ After, Before int64 }

// DonorPage is one page of donors, in the order of their ids.
type DonorPage struct {
	Donors     []Donor
	Totals     map[giving.DonorKind]int64 // of all pages, of each kind
	Currency   string
	Others     map[string]int64 // given in the year in other currencies, which the list leaves out
	Next, Prev DonorPlace       // of the pages beside it; the zero value where there is none
}

// Donors finds contacts who gave, in the account's currency.
func (s *GiftStore) Donors(ctx context.Context, account int64, f giving.DonorFilter, at DonorPlace, limit int) (DonorPage, error) {
	return store.Weighed(ctx, s.Base, account, func(c db.Conn, w store.Weigh) (page DonorPage, err error) {
		row, err := store.ReadTally(c, account)
		if err != nil {
			return page, err
		}
		page.Currency = row.Currency
		var found db.Set
		if f.Campaign != 0 {
			if err = weighCampaign(c, w, account, f.Campaign, row.Currency); err == nil {
				found, err = donorsOf(c, account, row.Currency, f)
			}
			page.Totals = map[giving.DonorKind]int64{giving.AllDonors: found.Count()}
		} else if err = w(row.GiftSeq); err == nil {
			var year *donorYear
			if year, err = readDonors(c, account, row.Currency, f, giving.DonorKinds); err == nil {
				found, page.Totals = year.of(f.Kind), year.totals()
				page.Others, err = otherCurrencies(c, account, f.Year, row.Currency)
			}
		}
		if err != nil {
			return page, err
		}
		var ids []int64
		ids, page.Next, page.Prev = at.page(account, &found, limit)
		given, err := sumsOf(c, account, row.Currency, f, ids)
		if err != nil {
			return page, err
		}
		contacts, err := contacts.LoadContacts(c, account, ids)
		for _, contact := range contacts {
			page.Donors = append(page.Donors, Donor{contact, given[contact.ID]})
		}
		return page, err
	})
}

// GivenBy is what all contacts gave whom a filter finds, in the account's currency.
func (s *GiftStore) GivenBy(ctx context.Context, account int64, f giving.DonorFilter) (given map[int64]giving.Sums, currency string, err error) {
	given, err = store.Weighed(ctx, s.Base, account, func(c db.Conn, w store.Weigh) (map[int64]giving.Sums, error) {
		row, err := store.ReadTally(c, account)
		if err = FirstError(err, w(row.GiftSeq)); err != nil {
			return nil, err
		}
		currency = row.Currency
		found, err := donorsOf(c, account, currency, f)
		if err != nil {
			return nil, err
		}
		return sumsOf(c, account, currency, f, contacts.IDsOf(account, found.Page(0, found.Count())))
	})
	return given, currency, err
}

// weighCampaign tells how many gifts a campaign has, which is kept.
func weighCampaign(c db.Conn, w store.Weigh, account, campaign int64, currency string) error {
	sums, err := readCell(c, account, giving.Cell(campaign, 0, currency, 0))
	return FirstError(err, w(sums.Entries))
}

// donorYear is who gave in a year, and for each kind of donors who gave in the other time that tells them (giving.DonorFilter).
type donorYear struct {
	filter giving.DonorFilter
	gave   db.Set
	also   map[giving.DonorKind]*db.Set
}

// readDonors finds who gave in the year of a filter, for some kinds of donors, by one walk through the gifts of all times that matter. A currency of "" is any.
func readDonors(c db.Conn, account int64, currency string, f giving.DonorFilter, kinds []giving.DonorKind) (*donorYear, error) {
	y := &donorYear{filter: f, also: make(map[giving.DonorKind]*db.Set)}
	type span struct {
		from, to int64
		set      *db.Set
	}
	from, to := f.Gave()
	spans := []span{{from.Unix(), to.Unix(), &y.gave}}
	first, last := spans[0].from, spans[0].to
	for _, kind := range kinds {
		if kind == giving.AllDonors {
			continue
		}
		from, to, _ := giving.DonorFilter{Year: f.Year, Kind: kind}.Also()
		y.also[kind] = new(db.Set)
		spans = append(spans, span{from.Unix(), to.Unix(), y.also[kind]})
		first, last = min(first, from.Unix()), max(last, to.Unix())
	}
	only, err := givenOnlyIn(c, account, currency)
	if err != nil {
		return nil, err
	}
	sql, args := sqlGave, []any{account, first, last}
	if currency != "" && !only { // to compare currencies is a third of the walk
		sql, args = sqlGaveIn, append(args, currency)
	}
	return y, c.Each(func(r db.Row) error {
		seq, at := doc.IDSeq(r.Int(0)), r.Int(1)
		for i := range spans {
			if s := &spans[i]; at >= s.from && at < s.to {
				s.set.Add(seq)
			}
		}
		return nil
	}, sql, args...)
}

// of are the donors of a kind.
func (y *donorYear) of(kind giving.DonorKind) db.Set {
	set, other := y.gave.Clone(), y.also[kind]
	if other == nil {
		return set
	}
	if _, _, gave := (giving.DonorFilter{Year: y.filter.Year, Kind: kind}).Also(); gave {
		set.And(other)
	} else {
		set.AndNot(other)
	}
	return set
}

// totals are how many donors of each kind there are.
func (y *donorYear) totals() map[giving.DonorKind]int64 {
	totals := make(map[giving.DonorKind]int64)
	for _, kind := range giving.DonorKinds {
		set := y.of(kind)
		totals[kind] = set.Count()
	}
	return totals
}

// donorsOf are the donors whom a filter finds. A currency of "" is any.
func donorsOf(c db.Conn, account int64, currency string, f giving.DonorFilter) (set db.Set, err error) {
	if f.Campaign != 0 {
		return set, c.Each(func(r db.Row) error {
			set.Add(doc.IDSeq(r.Int(0)))
			return nil
		}, sqlGaveTo, account, f.Campaign, currency)
	}
	year, err := readDonors(c, account, currency, f, []giving.DonorKind{f.Kind})
	if err != nil {
		return set, err
	}
	return year.of(f.Kind), nil
}

// givenAtOnce is of how many contacts the gifts are summed up together.
const givenAtOnce = 1000

// sumsOf is what contacts gave in the time of a filter, or to its campaign.
func sumsOf(c db.Conn, account int64, currency string, f giving.DonorFilter, ids []int64) (map[int64]giving.Sums, error) {
	given := make(map[int64]giving.Sums, len(ids))
	from, to := f.Gave()
	for some := range slices.Chunk(ids, givenAtOnce) {
		sql, args := sqlGivenBy, []any{account, some, from.Unix(), to.Unix(), currency}
		if f.Campaign != 0 {
			sql, args = sqlGivenForBy, append(args, f.Campaign)
		}
		err := c.Each(func(r db.Row) error {
			given[r.Int(0)] = giving.Sums{Gifts: r.Int(1), Amount: r.Int(2)}
			return nil
		}, sql, args...)
		if err != nil {
			return nil, err
		}
	}
	return given, nil
}

// page is the ids of a page of a set, and where the pages beside it are.
func (at DonorPlace) page(account int64, set *db.Set, limit int) (ids []int64, next, prev DonorPlace) {
	total := set.Count()
	from := set.Rank(doc.IDSeq(at.After))
	to := min(from+int64(limit), total)
	if at.Before != 0 {
		to = set.Rank(doc.IDSeq(at.Before) - 1)
		from = max(0, to-int64(limit))
	}
	first, last := at.After+1, at.Before-1 // where no one is left on the page
	if ids = contacts.IDsOf(account, set.Page(from, to)); len(ids) > 0 {
		first, last = ids[0], ids[len(ids)-1]
	}
	if from > 0 {
		prev.Before = first
	}
	if to < total {
		next.After = last
	}
	return ids, next, prev
}
