package gifts

import (
	"context"
	"math"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
)

// Who gave in a year, for the first time or again, is counted when it is asked for, by one walk through the index of gifts by time.

const (
	// Of the same contact as often as it gave: to tell contacts apart costs a database more than a set.
	sqlGave = `SELECT contact_id FROM gift WHERE account_id = $1 AND id <> 0 AND given_at >= $2 AND given_at < $3 AND currency = $4 AND net > 0`

	// Who gave from $3 to $4, and also ($7 is 1) or not (0) from $5 to $6, among the contacts between two. A currency of '' is any.
	donorsFound = `SELECT contact_id, SUM(CASE WHEN given_at >= $3 AND given_at < $4 THEN 1 ELSE 0 END),
			CAST(SUM(CASE WHEN given_at >= $3 AND given_at < $4 THEN net ELSE 0 END) AS BIGINT)
		FROM gift WHERE account_id = $1 AND net > 0 AND (currency = $2 OR $2 = '') AND contact_id > $8 AND contact_id < $9`
	donorsLeft = ` GROUP BY contact_id HAVING MAX(CASE WHEN given_at >= $3 AND given_at < $4 THEN 1 ELSE 0 END) = 1
			AND MAX(CASE WHEN given_at >= $5 AND given_at < $6 THEN 1 ELSE 0 END) = $7
		ORDER BY contact_id`
	toCampaign = ` AND campaign_id = $11 AND campaign_id <> 0`

	sqlDonorsAfter          = donorsFound + donorsLeft + ` LIMIT $10`
	sqlDonorsBefore         = donorsFound + donorsLeft + ` DESC LIMIT $10`
	sqlCampaignDonorsAfter  = donorsFound + toCampaign + donorsLeft + ` LIMIT $10`
	sqlCampaignDonorsBefore = donorsFound + toCampaign + donorsLeft + ` DESC LIMIT $10`
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
		if f.Campaign != 0 {
			page.Totals, err = campaignDonorTotals(c, w, account, f.Campaign, row.Currency)
		} else if err = w(row.GiftSeq); err == nil {
			page.Totals, _, err = donorTotals(c, account, row.Currency, f.Year)
			if err == nil {
				page.Others, err = otherCurrencies(c, account, f.Year, row.Currency)
			}
		}
		if err != nil {
			return page, err
		}
		var found []givenBy
		if found, page.Next, page.Prev, err = donorsAt(c, account, row.Currency, f, at, limit); err != nil {
			return page, err
		}
		given := store.Keyed(found, func(g givenBy) int64 { return g.contact })
		contacts, err := contacts.LoadContacts(c, account, store.Collect(found, func(g givenBy) int64 { return g.contact }))
		for _, contact := range contacts {
			page.Donors = append(page.Donors, Donor{contact, given[contact.ID].Sums})
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
		found, _, _, err := donorsAt(c, account, currency, f, DonorPlace{}, doc.MaxSeq)
		given := make(map[int64]giving.Sums, len(found))
		for _, g := range found {
			given[g.contact] = g.Sums
		}
		return given, err
	})
	return given, currency, err
}

// campaignDonorTotals is how many gave to a campaign, which is kept.
func campaignDonorTotals(c db.Conn, w store.Weigh, account, campaign int64, currency string) (map[giving.DonorKind]int64, error) {
	sums, err := readCell(c, account, giving.Cell(campaign, 0, currency, 0))
	if err == nil {
		err = w(sums.Entries)
	}
	return map[giving.DonorKind]int64{giving.AllDonors: sums.Donors}, err
}

// donorTotals counts the donors of a year by their kinds, and those of the year before.
func donorTotals(c db.Conn, account int64, currency string, year int64) (totals map[giving.DonorKind]int64, yearBefore int64, err error) {
	begin := func(year int64) int64 { return time.Date(int(year), 1, 1, 0, 0, 0, 0, time.UTC).Unix() }
	gave := func(from, to int64) (set db.Set) {
		if err == nil {
			err = c.Each(func(r db.Row) error {
				set.Add(doc.IDSeq(r.Int(0)))
				return nil
			}, sqlGave, account, from, to, currency)
		}
		return set
	}
	all, before, ever, after := gave(begin(year), begin(year+1)), gave(begin(year-1), begin(year)), gave(math.MinInt64, begin(year-1)), gave(begin(year+1), begin(year+2))
	ever.Or(&before)
	without := func(other *db.Set) int64 {
		left := all.Clone()
		left.AndNot(other)
		return left.Count()
	}
	donors := all.Count()
	totals = map[giving.DonorKind]int64{giving.AllDonors: donors, giving.NewDonors: without(&ever), giving.ReturningDonors: donors - without(&before), giving.LapsedDonors: without(&after)}
	return totals, before.Count(), err
}

// givenBy is what a contact gave.
type givenBy struct {
	contact int64
	giving.Sums
}

func scanGivenBy(r db.Row) givenBy {
	return givenBy{r.Int(0), giving.Sums{Gifts: r.Int(1), Amount: r.Int(2)}}
}

// donorsAt is one page of the contacts whom a filter finds, in the order of their ids, and where the pages beside it are.
func donorsAt(c db.Conn, account int64, currency string, f giving.DonorFilter, at DonorPlace, limit int) (found []givenBy, next, prev DonorPlace, err error) {
	sql, campaignSQL, before := sqlDonorsAfter, sqlCampaignDonorsAfter, int64(math.MaxInt64)
	if at.Before != 0 {
		sql, campaignSQL, before = sqlDonorsBefore, sqlCampaignDonorsBefore, at.Before
	}
	from, to := f.Gave()
	alsoFrom, alsoTo, also := f.Also()
	args := []any{account, currency, from.Unix(), to.Unix(), alsoFrom.Unix(), alsoTo.Unix(), contacts.Flag(also), at.After, before, int64(limit + 1)}
	if f.Campaign != 0 {
		sql, args = campaignSQL, append(args, f.Campaign)
	}
	found, err = db.List(c, scanGivenBy, sql, args...)
	more := len(found) > limit
	found = found[:min(len(found), limit)]
	if at.Before != 0 {
		slices.Reverse(found)
		if next.After = at.Before - 1; more {
			prev.Before = found[0].contact
		}
		return found, next, prev, err
	}
	if more {
		next.After = found[limit-1].contact
	}
	if at.After != 0 {
		prev.Before = at.After + 1
	}
	return found, next, prev, err
}
