package gifts

import (
	"context"
	"slices"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/campaigns"
	"donorbook/internal/store/contacts"
)

// Who gave in a year, for the first time or again, is counted when it is asked for, by one walk through the index of gifts by time. What it finds are sets, so that a page is found
// in them, and only the gifts of those on the page are summed up.

const (
	// Of the same contact as often as it gave: to tell contacts apart costs a database more than a set.
	sqlGiversBetween = `SELECT contact_id, given_at FROM gift WHERE account_id = $1 AND id <> 0 AND given_at >= $2 AND given_at < $3 AND net > 0`
	sqlGiversTo      = `SELECT contact_id FROM gift WHERE account_id = $1 AND campaign_id <> 0 AND campaign_id = $2 AND net > 0 AND currency = $3`

	givenBy       = `SELECT contact_id, currency, COUNT(*), CAST(SUM(net) AS BIGINT) FROM gift WHERE account_id = $1 AND contact_id = ANY($2) AND given_at >= $3 AND given_at < $4 AND net > 0`
	sqlGivenBy    = givenBy + ` GROUP BY contact_id, currency ORDER BY contact_id, currency`
	sqlGivenForBy = givenBy + ` AND campaign_id = $5 AND currency = $6 GROUP BY contact_id, currency ORDER BY contact_id, currency`
)

// Donor is a contact with what it gave in a time.
type Donor struct {
	Contact crm.Contact
	giving.Given
}

// DonorPlace is where a page of donors lies: after an id or before it. The zero value is the first page.
type DonorPlace struct{ After, Before int64 }

// DonorPage is one page of donors, in the order of their ids.
type DonorPage struct {
	Donors     []Donor
	Totals     map[giving.DonorKind]int64 // of all pages, of each kind
	Currency   string                     // in which most of the money is: the account's, or the campaign's
	Next, Prev DonorPlace                 // of the pages beside it; the zero value where there is none
}

// Donors finds contacts who gave.
func (s *GiftStore) Donors(ctx context.Context, account int64, f giving.DonorFilter, at DonorPlace, limit int) (DonorPage, error) {
	return store.Admitted(ctx, s.Base, account, func(c db.Conn, w store.Admit) (page DonorPage, err error) {
		if page.Currency, err = weighDonors(c, w, account, f); err != nil {
			return page, err
		}
		var found db.Set
		if f.Campaign != 0 {
			found, err = donorsOf(c, account, page.Currency, f)
			page.Totals = map[giving.DonorKind]int64{giving.AllDonors: found.Count()}
		} else {
			var year *donorYear
			if year, err = readDonors(c, account, f, giving.DonorKinds); err == nil {
				found, page.Totals = year.of(f.Kind), year.totals()
			}
		}
		if err != nil {
			return page, err
		}
		var ids []int64
		ids, page.Next, page.Prev = at.page(account, &found, limit)
		given, err := givenOf(c, account, page.Currency, f, ids)
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

// FindDonors finds all contacts who gave, and the currency in which most of the money is.
func (s *GiftStore) FindDonors(ctx context.Context, account int64, f giving.DonorFilter) (
	found db.Set, currency string, err error,
) {
	found, err = store.Admitted(ctx, s.Base, account, func(c db.Conn, w store.Admit) (db.Set, error) {
		if currency, err = weighDonors(c, w, account, f); err != nil {
			return db.Set{}, err
		}
		return donorsOf(c, account, currency, f)
	})
	return found, currency, err
}

// GivenOf is what contacts gave in the time of a filter, or to its campaign in a currency.
func (s *GiftStore) GivenOf(ctx context.Context, account int64, currency string, f giving.DonorFilter, ids []int64) (
	map[int64]giving.Given, error,
) {
	return store.Lend(ctx, s.Read, func(c db.Conn) (map[int64]giving.Given, error) {
		return givenOf(c, account, currency, f, ids)
	})
}

// weighDonors tells how many gifts are walked through to find the donors of a filter, and the currency of the account or of the campaign.
func weighDonors(c db.Conn, w store.Admit, account int64, f giving.DonorFilter) (currency string, err error) {
	row, err := store.ReadTally(c, account)
	if err != nil {
		return "", err
	}
	if f.Campaign == 0 {
		return row.Currency, w(row.GiftSeq)
	}
	of, err := store.FindIn(c, crm.ErrNotFound, scanCampaignName, campaigns.SQLOwnCampaigns, account, []int64{f.Campaign})
	if err != nil {
		return "", err
	}
	sums, err := readCell(c, account, giving.Cell(f.Campaign, 0, of.Currency, 0))
	if err == nil {
		err = w(sums.Entries)
	}
	return of.Currency, err
}

// donorYear is who gave in a year, and for each kind of donors who gave in the other time that tells them: the year before for those who have returned
// or lapsed, and all time before for new ones.
type donorYear struct {
	gave  db.Set
	other map[giving.DonorKind]*db.Set
}

// readDonors finds who gave in the year of a filter, for some kinds of donors, by one walk through the gifts of all times that matter.
func readDonors(c db.Conn, account int64, f giving.DonorFilter, kinds []giving.DonorKind) (*donorYear, error) {
	y := &donorYear{other: make(map[giving.DonorKind]*db.Set)}
	type span struct {
		from, to int64
		set      *db.Set
	}
	from, to := giving.DonorFilter{Year: f.Year}.Gave()
	spans := []span{{from.Unix(), to.Unix(), &y.gave}}
	first, last := spans[0].from, spans[0].to
	for _, kind := range kinds {
		if kind == giving.AllDonors {
			continue
		}
		of := giving.DonorFilter{Year: f.Year, Kind: kind}
		from, to, _ := of.Also()
		if kind == giving.LapsedDonors { // they gave in the other time, and not in the year
			from, to = of.Gave()
		}
		y.other[kind] = new(db.Set)
		spans = append(spans, span{from.Unix(), to.Unix(), y.other[kind]})
		first, last = min(first, from.Unix()), max(last, to.Unix())
	}
	return y, c.Each(func(r db.Row) error {
		seq, at := doc.IDSeq(r.Int(0)), r.Int(1)
		for i := range spans {
			if s := &spans[i]; at >= s.from && at < s.to {
				s.set.Add(seq)
			}
		}
		return nil
	}, sqlGiversBetween, account, first, last)
}

// of are the donors of a kind.
func (y *donorYear) of(kind giving.DonorKind) db.Set {
	set := y.gave.Clone()
	switch kind {
	case giving.NewDonors:
		set.AndNot(y.other[kind])
	case giving.ReturningDonors:
		set.And(y.other[kind])
	case giving.LapsedDonors:
		set = y.other[kind].Clone()
		set.AndNot(&y.gave)
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

// DonorSet are the contacts who gave in a year.
func (s *GiftStore) DonorSet(ctx context.Context, account, year int64) (db.Set, error) {
	return store.Snapshot(ctx, s.Base, func(c db.Conn) (db.Set, error) { return donorsOf(c, account, "", giving.DonorFilter{Year: year}) })
}

// donorsOf are the donors whom a filter finds. The currency is that of the campaign.
func donorsOf(c db.Conn, account int64, currency string, f giving.DonorFilter) (set db.Set, err error) {
	if f.Campaign != 0 {
		return set, c.Each(func(r db.Row) error {
			set.Add(doc.IDSeq(r.Int(0)))
			return nil
		}, sqlGiversTo, account, f.Campaign, currency)
	}
	year, err := readDonors(c, account, f, []giving.DonorKind{f.Kind})
	if err != nil {
		return set, err
	}
	return year.of(f.Kind), nil
}

// givenAtOnce is of how many contacts the gifts are summed up together.
const givenAtOnce = 1000

// givenOf is what contacts gave in the time of a filter, or to its campaign in a currency.
func givenOf(c db.Conn, account int64, currency string, f giving.DonorFilter, ids []int64) (map[int64]giving.Given, error) {
	given := make(map[int64]giving.Given, len(ids))
	from, to := f.Gave()
	for some := range slices.Chunk(ids, givenAtOnce) {
		sql, args := sqlGivenBy, []any{account, some, from.Unix(), to.Unix()}
		if f.Campaign != 0 {
			sql, args = sqlGivenForBy, append(args, f.Campaign, currency)
		}
		err := c.Each(func(r db.Row) error {
			g := given[r.Int(0)]
			if g.Sums == nil {
				g.Sums = make(map[string]int64, 1)
			}
			g.Gifts += r.Int(2)
			g.Sums[strings.Clone(r.Text(1))] += r.Int(3)
			given[r.Int(0)] = g
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
