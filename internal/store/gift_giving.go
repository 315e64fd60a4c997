package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/text"
	"donorbook/internal/db"
)

const (
	SQLGivingBetween = GivingColumns + ` AND cell >= $2 AND cell < $3 ORDER BY cell`
)

// maxSum is more than anyone raises in a month, and so little that all months together do not overflow.
const maxSum = 1 << 52

// SaveStats brings the numbers in a contact's document up to date with the sums, and notes in its history what became
// of a gift; a kind of 0 is nothing that it should tell.
func SaveStats(u Unit, contact int64, before, after *giving.Gift, kind history.Kind, data string) error {
	if u.Drops() {
		return nil // nothing is decided by them
	}
	row, err := Row(u, contact)
	if err != nil || row == nil || row.Damage != nil {
		return err // a damaged document is told of by a check, which also repairs these numbers
	}
	sums, err := u.Giving.Get(u.Tx, u.Number, giving.Cell(0, 0, u.Currency, contact))
	if err != nil {
		return err
	}
	stats, at := StatsOf(sums, u.Currency), row.Trace
	at.Given = GivenOf(sums)
	if at.LastGift, err = lastGift(u.Tx, row, before, after); err != nil {
		return err
	}
	switch {
	case kind != 0:
		at.Revision = u.Record(history.ContactNoun, contact, kind, data)
	case stats == row.Contact.Stats && at == row.Trace:
		return nil
	}
	PutColumns(u, row, stats, at)
	return nil
}

// settleStats is SaveStats after many gifts of a contact have moved.
func settleStats(u Unit, contact int64) error {
	row, err := Row(u, contact)
	if err != nil || row == nil || row.Damage != nil {
		return err
	}
	sums, err := u.Giving.Get(u.Tx, u.Number, giving.Cell(0, 0, u.Currency, contact))
	if err != nil {
		return err
	}
	stats, at := StatsOf(sums, u.Currency), row.Trace
	at.Given = GivenOf(sums)
	if at.LastGift, err = findLastGift(u.Tx, contact); err == nil {
		PutColumns(u, row, stats, at)
	}
	return err
}

// StatsOf are the numbers in a contact's document: whole units of the account's currency.
func StatsOf(sums *giving.Sums, currency string) (stats crm.Stats) {
	if sums != nil {
		stats.TotalContributions, stats.RecurringContributions = text.Major(sums.Amount, currency),
			text.Major(sums.Recurring, currency)
	}
	return stats
}

// GivenOf is the exact total of a contact.
func GivenOf(sums *giving.Sums) int64 {
	if sums == nil {
		return 0
	}
	return sums.Amount
}

// readCell reads the sums under a name, which are zero where there are none.
func readCell(c db.Conn, account int64, name string) (sums giving.Sums, err error) {
	_, err = c.One(func(r db.Row) {
		_, found := ScanGiving(r)
		sums = *found
	}, SQLGiving, account, []string{name})
	return sums, err
}

// firstMonth and lastMonth are around all months.
const firstMonth, lastMonth = 190001, 999913

// eachMonth reads the sums of the months from one on and up to another one, which is exclusive.
func eachMonth(c db.Conn, account, from, to int64, read func(month int64, currency string, g giving.Sums)) error {
	return c.Each(func(r db.Row) error {
		name, g := ScanGiving(r)
		_, month, currency, _ := giving.CellParts(name)
		read(month, currency, *g)
		return nil
	}, SQLGivingBetween, account, giving.Cell(0, from, "", 0), giving.Cell(0, to, "", 0))
}

type cellRow struct {
	Name string
	giving.Sums
}

func ScanCell(r db.Row) cellRow {
	name, g := ScanGiving(r)
	return cellRow{name, *g}
}

// The time of a contact's last gift that counts, by the organization's clock, stands in its row, so that contacts are
// sorted by it, and found by whether they gave since a day.

const sqlLastGiven = `SELECT given_at FROM gift WHERE account_id = $1 AND contact_id = $2 AND net > 0
	ORDER BY given_at DESC LIMIT 1`

// OnClock is the time of a gift, which always has one: 0 is the first second of 1970, as files have it that know no
// better.
func OnClock(given int64) time.Time { return time.Unix(given, 0).UTC() }

// Later is the later of two times, of which 0 is none.
func Later(a, b int64) int64 {
	if a == 0 || b != 0 && b > a {
		return b
	}
	return a
}

// lastBy is when a contact gave by a gift; 0 where it is not the contact's, or does not count.
func lastBy(g *giving.Gift, contact int64) int64 {
	if g == nil || g.Contact != contact {
		return 0
	}
	return giving.ShareOf(g).Last()
}

// lastGift is when a contact gave last, after one of its gifts has become another; nil is no gift.
func lastGift(t *Tx, row *StoredContact, before, after *giving.Gift) (int64, error) {
	was, is := lastBy(before, row.ID), lastBy(after, row.ID)
	if was == 0 || was != row.LastGift || is != 0 && is >= was {
		return Later(row.LastGift, is), nil
	}
	return findLastGift(t, row.ID) // the last one is gone, or is earlier now
}

// findLastGift looks at the gifts of a contact. What the batch has written is seen by what it reads.
func findLastGift(t *Tx, contact int64) (last int64, err error) {
	_, err = t.One(func(r db.Row) { last = cmp.Or(r.Int(0), 1) }, sqlLastGiven, doc.IDAccount(contact), contact)
	return last, err
}

// GivingOverview is what an organization was given, for its home page.
type GivingOverview struct {
	Currency       string
	Any            bool                  // a gift was recorded, whatever became of it
	Months         map[int64]giving.Sums // the last 24, of which this is the last
	ThisYear       giving.Sums
	LastYearToDate int64                      // given last year up to the same day
	Donors         map[giving.DonorKind]int64 // of this year
	LastYearDonors int64
	Others         map[string]int64 // given in the same months in other currencies
}

// OverviewMonths is how far an overview goes back.
const OverviewMonths = 24

const sqlGivenBetween = `SELECT CAST(COALESCE(SUM(net), 0) AS BIGINT) FROM gift WHERE account_id = $1 AND id <> 0
	AND given_at >= $2 AND given_at < $3 AND currency = $4 AND net > 0`

// GivingOverview sums up what was given until now.
func (s *Store) GivingOverview(ctx context.Context, account int64, now time.Time) (GivingOverview, error) {
	return Admitted(ctx, s, account, func(c db.Conn, w Admit) (o GivingOverview, err error) {
		row, err := ReadTally(c, account)
		if err == nil {
			err = w(row.GiftSeq)
		}
		if err != nil {
			return o, err
		}
		now := row.Clock(now)
		year, firstOf := giving.Year(now), func(ago int) time.Time {
			return time.Date(now.Year(), now.Month()-time.Month(ago), 1, 0, 0, 0, 0, time.UTC)
		}
		o = GivingOverview{Currency: row.Currency, Any: row.GiftSeq > 0, Months: map[int64]giving.Sums{},
			Others: map[string]int64{}}
		err = eachMonth(c, account, giving.Month(firstOf(OverviewMonths-1)), year*100+13,
			func(month int64, currency string, g giving.Sums) {
				switch {
				case currency == o.Currency:
					o.Months[month] = g
					if month > year*100 {
						o.ThisYear.Add(g)
					} else if month > (year-1)*100 && month < giving.Month(firstOf(12)) { // whole months of last year
						o.LastYearToDate += g.Amount
					}
				case g.Gifts > 0:
					o.Others[currency] += g.Amount
				}
			})
		if err != nil {
			return o, err
		}
		sameDay := firstOf(12).AddDate(0, 0, min(now.Day(), firstOf(11).AddDate(0, 0, -1).Day()))
		begun, err := c.Int(sqlGivenBetween, account, firstOf(12).Unix(), sameDay.Unix(), o.Currency)
		if err != nil {
			return o, err
		}
		o.LastYearToDate += begun
		donors, err := readDonors(c, account, giving.DonorFilter{Year: year}, giving.DonorKinds)
		if err == nil {
			o.Donors, o.LastYearDonors = donors.totals(), donors.other[giving.ReturningDonors].Count()
		}
		return o, err
	})
}

// CampaignGiving is a campaign with what it was given in a time.
type CampaignGiving struct {
	Campaign campaign.Campaign
	Giving   giving.Sums
}

// To group gifts in the database would sort them.
const sqlGivenToCampaigns = `SELECT campaign_id, net FROM gift WHERE account_id = $1 AND id <> 0 AND given_at >= $2
	AND given_at < $3 AND net > 0 AND campaign_id <> 0 AND currency = $4`

// TopCampaigns are the account's own campaigns that were given most in a year, in the account's currency.
func (s *Store) TopCampaigns(ctx context.Context, account, year int64, limit int) ([]CampaignGiving, error) {
	return Admitted(ctx, s, account, func(c db.Conn, w Admit) (top []CampaignGiving, err error) {
		row, err := ReadTally(c, account)
		if err == nil {
			err = w(row.GiftSeq)
		}
		if err != nil {
			return nil, err
		}
		from, to := giving.DonorFilter{Year: year}.Gave()
		given := make(map[int64]*giving.Sums)
		err = c.Each(func(r db.Row) error {
			g := given[r.Int(0)]
			if g == nil {
				g = new(giving.Sums)
				given[r.Int(0)] = g
			}
			g.Gifts++
			g.Amount += r.Int(1)
			return nil
		}, sqlGivenToCampaigns, account, from.Unix(), to.Unix(), row.Currency)
		if err != nil {
			return nil, err
		}
		for id, g := range given {
			top = append(top, CampaignGiving{campaign.Campaign{ID: id}, *g})
		}
		SortRows(top, func(a, b *CampaignGiving) int {
			return cmp.Or(cmp.Compare(b.Giving.Amount, a.Giving.Amount), cmp.Compare(a.Campaign.ID, b.Campaign.ID))
		})
		top = top[:min(len(top), limit)]
		rows, err := ReadCampaigns(c, SQLCampaigns, Collect(top, func(t CampaignGiving) int64 { return t.Campaign.ID }))
		byID := Keyed(rows, func(row CampaignRow) int64 { return row.ID })
		for i := range top {
			if err == nil {
				top[i].Campaign, err = byID[top[i].Campaign.ID].Parse()
			}
		}
		return top, err
	})
}

// YearReport is what was given in a year, beside the year before. Money is in the account's currency.
type YearReport struct {
	Currency     string
	Any          bool                  // a gift was recorded, whatever became of it
	Months       map[int64]giving.Sums // of both years
	This, Before giving.Sums
	ToDate       int64 // given in the year before up to the same day, where the year is not over
	Campaigns    []ReportPart[int64]
	Methods      []ReportPart[string]
	Donors       map[giving.DonorKind]int64
	DonorsBefore int64                      // of the year before
	Given        map[giving.DonorKind]int64 // by the donors of a kind, in the year in which they gave
	Others       map[string]int64           // given in the year in other currencies
}

// ReportPart is what was given to a campaign, or in a way, in a year and in the one before.
type ReportPart[K comparable] struct {
	Of           K
	This, Before giving.Sums
}

const sqlReport = `SELECT contact_id, given_at, campaign_id, method, net FROM gift WHERE account_id = $1 AND id <> 0
	AND given_at >= $2 AND given_at < $3 AND currency = $4 AND net > 0`

// YearReport sums up a year. Months are kept; everything else comes from one walk through the gifts of two years, after
// that which finds the donors.
func (s *Store) YearReport(ctx context.Context, account, year int64, now time.Time) (YearReport, error) {
	return Admitted(ctx, s, account, func(c db.Conn, w Admit) (report YearReport, err error) {
		row, err := ReadTally(c, account)
		if err == nil {
			err = w(row.GiftSeq)
		}
		if err != nil {
			return report, err
		}
		report = YearReport{Currency: row.Currency, Any: row.GiftSeq > 0, Months: map[int64]giving.Sums{},
			Others: map[string]int64{}, Given: map[giving.DonorKind]int64{}}
		err = eachMonth(c, account, (year-1)*100+1, year*100+13, func(month int64, currency string, g giving.Sums) {
			switch {
			case currency != report.Currency:
				if month > year*100 && g.Gifts > 0 {
					report.Others[currency] += g.Amount
				}
				return
			case month > year*100:
				report.This.Add(g)
			default:
				report.Before.Add(g)
			}
			report.Months[month] = g
		})
		if err != nil {
			return report, err
		}
		donors, err := readDonors(c, account, giving.DonorFilter{Year: year}, giving.DonorKinds)
		if err != nil {
			return report, err
		}
		report.Donors, report.DonorsBefore = donors.totals(), donors.other[giving.ReturningDonors].Count()
		return report, report.walk(c, account, year, row.Clock(now), donors)
	})
}

// walk adds up the gifts of the year and of the one before.
func (report *YearReport) walk(c db.Conn, account, year int64, now time.Time, donors *donorYear) error {
	sets := map[giving.DonorKind]db.Set{}
	for _, kind := range giving.DonorKinds {
		sets[kind] = donors.of(kind)
	}
	fresh, returning, lapsed := sets[giving.NewDonors], sets[giving.ReturningDonors], sets[giving.LapsedDonors]
	first, end := giving.DonorFilter{Year: year}.Gave()
	before, _ := giving.DonorFilter{Year: year - 1}.Gave()
	same := first // the end of the year before, or the same day of it
	if giving.Year(now) == year {
		same = now.Truncate(24*time.Hour).AddDate(-1, 0, 1)
		if now.Month() == time.February && now.Day() == 29 {
			same = time.Date(now.Year()-1, time.March, 1, 0, 0, 0, 0, time.UTC)
		}
	}
	campaigns, methods := map[int64]*ReportPart[int64]{}, map[string]*ReportPart[string]{}
	err := c.Each(func(r db.Row) error {
		contact, at, net := doc.IDSeq(r.Int(0)), r.Int(1), r.Int(4)
		sums := giving.Sums{Gifts: 1, Amount: net}
		isThis := at >= first.Unix()
		addPart(campaigns, r.Int(2), isThis, sums)
		if method := r.Int(3); method >= 0 && method < int64(len(giving.NumberedMethods)) {
			addPart(methods, giving.NumberedMethods[method], isThis, sums)
		}
		switch {
		case !isThis:
			if at < same.Unix() {
				report.ToDate += net
			}
			if lapsed.Has(contact) {
				report.Given[giving.LapsedDonors] += net
			}
			return nil
		case fresh.Has(contact):
			report.Given[giving.NewDonors] += net
		case returning.Has(contact):
			report.Given[giving.ReturningDonors] += net
		}
		report.Given[giving.AllDonors] += net
		return nil
	}, sqlReport, account, before.Unix(), end.Unix(), report.Currency)
	report.Campaigns, report.Methods = sortedParts(campaigns), sortedParts(methods)
	return err
}

func addPart[K comparable](parts map[K]*ReportPart[K], of K, isThis bool, sums giving.Sums) {
	part := parts[of]
	if part == nil {
		part = &ReportPart[K]{Of: of}
		parts[of] = part
	}
	if isThis {
		part.This.Add(sums)
	} else {
		part.Before.Add(sums)
	}
}

// sortedParts are in the order of what they brought, this year first.
func sortedParts[K cmp.Ordered](parts map[K]*ReportPart[K]) (all []ReportPart[K]) {
	for _, part := range parts {
		all = append(all, *part)
	}
	slices.SortFunc(all, func(a, b ReportPart[K]) int {
		return cmp.Or(cmp.Compare(b.This.Amount, a.This.Amount), cmp.Compare(b.Before.Amount, a.Before.Amount),
			cmp.Compare(a.Of, b.Of))
	})
	return all
}
