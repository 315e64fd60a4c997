package gifts

import (
	"context"
	"math"
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

// Who gave in a year, for the first time or again, is found when it is asked for, by one walk through the index of gifts by time. The numbers and the lists
// of donors are made of the same sets.

const (
	sqlGaveTo = `SELECT contact_id FROM gift WHERE account_id = $1 AND campaign_id <> 0 AND campaign_id = $2 AND currency = $3 AND net > 0`

	// What some contacts gave from $3 to $4, to a campaign ($5 is 0 for any) and in a currency ('' for any).
	sqlGivenBySome = `SELECT contact_id, currency, COUNT(*), CAST(SUM(net) AS BIGINT) FROM gift
		WHERE account_id = $1 AND contact_id = ANY($2) AND given_at >= $3 AND given_at < $4 AND net > 0 AND ($5 = 0 OR campaign_id = $5) AND ($6 = '' OR currency = $6)
		GROUP BY contact_id, currency`
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
	return store.Weighed(ctx, s.Base, account, func(c db.Conn, w store.Weigh) (page DonorPage, err error) {
		sets, err := donorSets(c, w, account, f)
		if err != nil {
			return page, err
		}
		page.Totals, page.Currency = sets.totals(), sets.currency
		var ids []int64
		ids, page.Next, page.Prev = sets.page(f.Kind, at, limit)
		given, err := sets.given(c, f, ids)
		if err != nil {
			return page, err
		}
		found, err := contacts.LoadContacts(c, account, ids)
		for _, contact := range found {
			page.Donors = append(page.Donors, Donor{contact, given[contact.ID]})
		}
		return page, err
	})
}

// GivenBy is what all contacts gave whom a filter finds, and the currency in which most of it is.
func (s *GiftStore) GivenBy(ctx context.Context, account int64, f giving.DonorFilter) (given map[int64]giving.Given, currency string, err error) {
	given, err = store.Weighed(ctx, s.Base, account, func(c db.Conn, w store.Weigh) (map[int64]giving.Given, error) {
		sets, err := donorSets(c, w, account, f)
		if err != nil {
			return nil, err
		}
		currency = sets.currency
		return sets.given(c, f, contacts.IDsOf(account, sets.all(f.Kind)))
	})
	return given, currency, err
}

// kindsOfDonors are the donors of a filter's year or campaign, by their kinds, as sets of sequence numbers.
type kindsOfDonors struct {
	account    int64
	currency   string
	contacts   int64 // the last sequence number
	of         map[giving.DonorKind]*db.Set
	yearBefore int64 // donors of it
}

// donorSets finds the donors of a filter's year or campaign. Those of a campaign have no kinds.
func donorSets(c db.Conn, w store.Weigh, account int64, f giving.DonorFilter) (sets kindsOfDonors, err error) {
	row, err := store.ReadTally(c, account)
	if err != nil {
		return sets, err
	}
	sets = kindsOfDonors{account: account, currency: row.Currency, contacts: row.ContactSeq, of: make(map[giving.DonorKind]*db.Set)}
	find := func(sql string, args ...any) (set db.Set) {
		if err == nil {
			err = c.Each(func(r db.Row) error {
				set.Add(doc.IDSeq(r.Int(0)))
				return nil
			}, sql, append([]any{account}, args...)...)
		}
		return set
	}
	if f.Campaign != 0 {
		of, err := store.FindIn(c, crm.ErrNotFound, scanCampaignName, campaigns.SQLOwnCampaigns, account, []int64{f.Campaign})
		if err != nil {
			return sets, err
		}
		cell, err := readCell(c, account, giving.Cell(f.Campaign, 0, of.Currency, 0))
		if err = FirstError(err, w(cell.Entries)); err != nil {
			return sets, err
		}
		all := find(sqlGaveTo, f.Campaign, of.Currency)
		sets.currency, sets.of[giving.AllDonors] = of.Currency, &all
		return sets, err
	}
	if err = w(row.GiftSeq); err != nil {
		return sets, err
	}
	gave := func(year, to int64) db.Set {
		from, _ := giving.DonorFilter{Year: year}.Gave()
		end, _ := giving.DonorFilter{Year: to}.Gave()
		return find(contacts.SQLGave, from.Unix(), end.Unix(), int64(math.MaxInt64))
	}
	all, before, ever, after := gave(f.Year, f.Year+1), gave(f.Year-1, f.Year), gave(1, f.Year-1), gave(f.Year+1, f.Year+2)
	sets.yearBefore = before.Count()
	ever.Or(&before)
	without := func(other *db.Set) *db.Set {
		left := all.Clone()
		left.AndNot(other)
		return &left
	}
	returning := all.Clone()
	returning.And(&before)
	sets.of = map[giving.DonorKind]*db.Set{giving.AllDonors: &all, giving.NewDonors: without(&ever), giving.ReturningDonors: &returning, giving.LapsedDonors: without(&after)}
	return sets, err
}

// totals are how many there are of each kind.
func (d *kindsOfDonors) totals() map[giving.DonorKind]int64 {
	totals := make(map[giving.DonorKind]int64, len(d.of))
	for kind, set := range d.of {
		totals[kind] = set.Count()
	}
	return totals
}

// all are the sequence numbers of a kind.
func (d *kindsOfDonors) all(kind giving.DonorKind) []int64 {
	return d.of[kind].Page(0, d.of[kind].Count())
}

// page is one page of a kind, in the order of ids, and where the pages beside it are.
func (d *kindsOfDonors) page(kind giving.DonorKind, at DonorPlace, limit int) (ids []int64, next, prev DonorPlace) {
	total, n := d.of[kind].Count(), int64(limit)
	from := d.upTo(kind, at.After)
	to := min(from+n, total)
	if at.Before != 0 {
		to = d.upTo(kind, at.Before-1)
		from = max(0, to-n)
	}
	ids = contacts.IDsOf(d.account, d.of[kind].Page(from, to))
	switch {
	case len(ids) > 0 && from > 0:
		prev.Before = ids[0]
	case from > 0:
		prev.Before = at.After + 1
	}
	switch {
	case len(ids) > 0 && to < total:
		next.After = ids[len(ids)-1]
	case to < total:
		next.After = at.Before - 1
	}
	return ids, next, prev
}

// upTo is how many of a kind have an id that is not greater than one that anyone may have typed.
func (d *kindsOfDonors) upTo(kind giving.DonorKind, id int64) int64 {
	seq := min(max(0, id-doc.MakeID(d.account, 0)), d.contacts)
	set := db.Range(1, seq)
	set.And(d.of[kind])
	return set.Count()
}

// given is what some of the donors gave.
func (d *kindsOfDonors) given(c db.Conn, f giving.DonorFilter, ids []int64) (map[int64]giving.Given, error) {
	const atOnce = 1000
	given := make(map[int64]giving.Given, len(ids))
	from, to := f.Gave()
	only := ""
	if f.Campaign != 0 {
		only = d.currency
	}
	for some := range slices.Chunk(ids, atOnce) {
		err := c.Each(func(r db.Row) error {
			g := given[r.Int(0)]
			if g.Sums == nil {
				g.Sums = make(map[string]int64, 1)
			}
			g.Gifts += r.Int(2)
			g.Sums[strings.Clone(r.Text(1))] += r.Int(3)
			given[r.Int(0)] = g
			return nil
		}, sqlGivenBySome, d.account, some, from.Unix(), to.Unix(), f.Campaign, only)
		if err != nil {
			return nil, err
		}
	}
	return given, nil
}
