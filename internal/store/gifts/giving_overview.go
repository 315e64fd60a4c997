package gifts

import (
	"cmp"
	"context"
	"time"

	"donorbook/internal/crm/campaign"
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
	return store.Weighed(ctx, s.Base, account, func(c db.Conn, w store.Weigh) (o GivingOverview, err error) {
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
			o.Donors, o.LastYearDonors = donors.totals(), donors.also[giving.ReturningDonors].Count()
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
	return store.Weighed(ctx, s.Base, account, func(c db.Conn, w store.Weigh) (top []CampaignGiving, err error) {
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
		rows, err := db.List(c, campaigns.ScanCampaign, campaigns.SQLCampaigns, store.Collect(top, func(t CampaignGiving) int64 { return t.Campaign.ID }))
		byID := store.Keyed(rows, func(row campaigns.CampaignRow) int64 { return row.ID })
		for i := range top {
			if err == nil {
				top[i].Campaign, err = byID[top[i].Campaign.ID].Parse()
			}
		}
		return top, err
	})
}
