package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// GivingOverview is what an organization was given, for its home page. All of it comes from the sums that are kept.
type GivingOverview struct {
	Currency           string
	Any                bool                 // a gift was recorded, whatever became of it
	Months             map[int64]crm.Giving // the last 24, of which this is the last
	ThisYear, LastYear crm.Giving
	LastYearToDate     int64            // given last year up to the same day
	Others             map[string]int64 // given in the same months in other currencies
}

// OverviewMonths is how far an overview goes back.
const OverviewMonths = 24

// GivingOverview sums up what was given until now.
func (s *Store) GivingOverview(ctx context.Context, account int64, now time.Time) (GivingOverview, error) {
	return snapshot(ctx, s, func(c db.Conn) (o GivingOverview, err error) {
		row, err := readTally(c, account)
		if err != nil {
			return o, err
		}
		now := row.clock(now)
		month := func(ago int) int64 {
			return crm.Month(time.Date(now.Year(), now.Month()-time.Month(ago), 1, 0, 0, 0, 0, time.UTC))
		}
		year, today := crm.Year(now), crm.Day(now)
		o = GivingOverview{Currency: row.currency, Any: row.giftSeq > 0, Months: map[int64]crm.Giving{}, Others: map[string]int64{}}
		err = eachGiving(c, account, month(OverviewMonths-1), month(-1), func(period int64, currency string, g crm.Giving) {
			switch {
			case currency == o.Currency:
				o.Months[period] = g
				if period >= (year-1)*100 && period < month(12) { // whole months of last year
					o.LastYearToDate += g.Amount
				}
			case g.Gifts > 0:
				o.Others[currency] += g.Amount
			}
		})
		if err != nil {
			return o, err
		}
		err = eachGiving(c, account, month(12)*100, today-10000+1, func(_ int64, currency string, g crm.Giving) {
			if currency == o.Currency {
				o.LastYearToDate += g.Amount
			}
		})
		if err != nil {
			return o, err
		}
		thisYear, lastYear := crm.Cell(0, year, o.Currency, 0), crm.Cell(0, year-1, o.Currency, 0)
		years, err := readGiving(c, account, thisYear, lastYear)
		o.ThisYear, o.LastYear = years[thisYear], years[lastYear]
		return o, err
	})
}

// CampaignGiving is a campaign with what it was given in a time.
type CampaignGiving struct {
	Campaign crm.Campaign
	Giving   crm.Giving
}

// TopCampaigns are the account's own campaigns that were given most in a year, in the account's currency.
func (s *Store) TopCampaigns(ctx context.Context, account, year int64, limit int) ([]CampaignGiving, error) {
	return snapshot(ctx, s, func(c db.Conn) (top []CampaignGiving, err error) {
		row, err := readTally(c, account)
		if err != nil {
			return nil, err
		}
		list, err := s.campaigns.of(c, account)
		if err != nil {
			return nil, err
		}
		cell := func(campaign int64) string { return crm.Cell(campaign, year, row.currency, 0) }
		ids := slices.Clone(list.ids[crm.OwnCampaigns])
		found, err := readGiving(c, account, collect(ids, cell)...)
		if err != nil {
			return nil, err
		}
		ids = slices.DeleteFunc(ids, func(id int64) bool { return found[cell(id)].Gifts == 0 })
		slices.SortStableFunc(ids, func(a, b int64) int { return cmp.Compare(found[cell(b)].Amount, found[cell(a)].Amount) })
		ids = ids[:min(len(ids), limit)]
		rows, err := db.List(c, scanCampaign, sqlCampaigns, ids)
		if err != nil {
			return nil, err
		}
		byID := keyed(rows, func(row campaignRow) int64 { return row.id })
		for _, id := range ids {
			campaign, err := byID[id].parse()
			if err != nil {
				return nil, err
			}
			top = append(top, CampaignGiving{campaign, found[cell(id)]})
		}
		return top, nil
	})
}
