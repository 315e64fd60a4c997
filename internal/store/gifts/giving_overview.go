package gifts

import (
	"cmp"
	"context"
	"slices"
	"time"

	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/campaigns"
)

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

const sqlGivenBetween = `SELECT CAST(COALESCE(SUM(net), 0) AS BIGINT) FROM gift WHERE account_id = $1 AND id <> 0 AND given_at >= $2 AND given_at < $3 AND currency = $4 AND net > 0`

// GivingOverview sums up what was given until now.
func (s *GiftStore) GivingOverview(ctx context.Context, account int64, now time.Time) (GivingOverview, error) {
	return store.Admitted(ctx, s.Base, account, func(c db.Conn, w store.Admit) (o GivingOverview, err error) {
		row, err := store.ReadTally(c, account)
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
		o = GivingOverview{Currency: row.Currency, Any: row.GiftSeq > 0, Months: map[int64]giving.Sums{}, Others: map[string]int64{}}
		err = eachMonth(c, account, giving.Month(firstOf(OverviewMonths-1)), year*100+13, func(month int64, currency string, g giving.Sums) {
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
const sqlGivenToCampaigns = `SELECT campaign_id, net FROM gift WHERE account_id = $1 AND id <> 0 AND given_at >= $2 AND given_at < $3 AND net > 0 AND campaign_id <> 0 AND currency = $4`

// TopCampaigns are the account's own campaigns that were given most in a year, in the account's currency.
func (s *GiftStore) TopCampaigns(ctx context.Context, account, year int64, limit int) ([]CampaignGiving, error) {
	return store.Admitted(ctx, s.Base, account, func(c db.Conn, w store.Admit) (top []CampaignGiving, err error) {
		row, err := store.ReadTally(c, account)
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
		store.SortRows(top, func(a, b *CampaignGiving) int {
			return cmp.Or(cmp.Compare(b.Giving.Amount, a.Giving.Amount), cmp.Compare(a.Campaign.ID, b.Campaign.ID))
		})
		top = top[:min(len(top), limit)]
		rows, err := campaigns.ReadCampaigns(c, campaigns.SQLCampaigns, store.Collect(top, func(t CampaignGiving) int64 { return t.Campaign.ID }))
		byID := store.Keyed(rows, func(row campaigns.CampaignRow) int64 { return row.ID })
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

const sqlReport = `SELECT contact_id, given_at, campaign_id, method, net FROM gift WHERE account_id = $1 AND id <> 0 AND given_at >= $2 AND given_at < $3 AND currency = $4 AND net > 0`

// YearReport sums up a year. Months are kept; everything else comes from one walk through the gifts of two years, after that which finds the donors.
func (s *GiftStore) YearReport(ctx context.Context, account, year int64, now time.Time) (YearReport, error) {
	return store.Admitted(ctx, s.Base, account, func(c db.Conn, w store.Admit) (report YearReport, err error) {
		row, err := store.ReadTally(c, account)
		if err == nil {
			err = w(row.GiftSeq)
		}
		if err != nil {
			return report, err
		}
		report = YearReport{Currency: row.Currency, Any: row.GiftSeq > 0, Months: map[int64]giving.Sums{}, Others: map[string]int64{}, Given: map[giving.DonorKind]int64{}}
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
		return cmp.Or(cmp.Compare(b.This.Amount, a.This.Amount), cmp.Compare(b.Before.Amount, a.Before.Amount), cmp.Compare(a.Of, b.Of))
	})
	return all
}
