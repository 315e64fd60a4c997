package gifts

import (
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
		o.Donors, o.LastYearDonors, err = donorTotals(c, account, o.Currency, year)
		return o, err
	})
}

// CampaignGiving is a campaign with what it was given in a time.
type CampaignGiving struct {
	Campaign campaign.Campaign
	Giving   giving.Sums
}

const sqlTopCampaigns = `SELECT campaign_id, COUNT(*), CAST(SUM(net) AS BIGINT) FROM gift
	WHERE account_id = $1 AND id <> 0 AND given_at >= $2 AND given_at < $3 AND currency = $4 AND net > 0 AND campaign_id <> 0
	GROUP BY campaign_id ORDER BY 3 DESC, 1 LIMIT $5`

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
		err = c.Each(func(r db.Row) error {
			top = append(top, CampaignGiving{campaign.Campaign{ID: r.Int(0)}, giving.Sums{Gifts: r.Int(1), Amount: r.Int(2)}})
			return nil
		}, sqlTopCampaigns, account, from.Unix(), to.Unix(), row.Currency, int64(limit))
		if err != nil {
			return nil, err
		}
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
