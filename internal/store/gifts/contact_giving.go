package gifts

import (
	"context"
	"fmt"
	"time"

	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

const (
	// What a contact gave from $4 to $5, and from $5 to $6.
	contactGave = `SELECT MIN(given_at), MAX(given_at), MAX(net)%s FROM gift WHERE account_id = $1 AND contact_id = $2 AND currency = $3 AND net > 0`
	gaveInYear  = `, CAST(COALESCE(SUM(CASE WHEN given_at >= $%d AND given_at < $%d THEN net ELSE 0 END), 0) AS BIGINT)`
)

// ContactGiving is what a contact has paid, in the account's currency, with the fees that they covered.
type ContactGiving struct {
	Currency    string
	Total       giving.Sums
	Years       [GivingYears]int64 // the last of which is this one
	First, Last time.Time          // zero where nothing counts
	Largest     int64
	Covered     int64 // what of the total covered fees
	WithoutFees bool  // of so many gifts, covered fees are not counted
}

// Sums are of what was donated. What was paid beyond that stands in the gifts alone: those of people are few.
const (
	sqlPaid  = `SELECT ` + GiftColumns + ` FROM gift WHERE account_id = $1 AND contact_id = $2 AND net > 0`
	mostPaid = 1_000
)

// addCovered adds the fees that a contact has covered.
func (g *ContactGiving) addCovered(c db.Conn, account, contact int64, year int) error {
	if g.WithoutFees = g.Total.Gifts > mostPaid; g.WithoutFees {
		return nil
	}
	return c.Each(func(r db.Row) error {
		_, gift := ScanGift(r)
		covered := gift.LeftCovered()
		if gift.Damage != nil || gift.Currency != g.Currency || covered == 0 {
			return nil // a check tells of damage
		}
		g.Covered += covered
		g.Total.Amount += covered
		g.Largest = max(g.Largest, gift.Left())
		if at := GivingYears - 1 - (year - gift.Local.Year()); at >= 0 && at < GivingYears {
			g.Years[at] += covered
		}
		return nil
	}, sqlPaid, account, contact)
}

// GivingYears are how many years a contact's giving is told of.
const GivingYears = 6

// ContactGiving sums up what a contact has given.
func (s *GiftStore) ContactGiving(ctx context.Context, account, contact int64) (sums ContactGiving, err error) {
	return store.Admitted(ctx, s.Base, account, func(c db.Conn, w store.Admit) (g ContactGiving, err error) {
		row, err := store.ReadTally(c, account)
		if err != nil {
			return g, err
		}
		g.Currency = row.Currency
		if g.Total, err = readCell(c, account, giving.Cell(0, 0, row.Currency, contact)); err == nil {
			err = w(g.Total.Entries)
		}
		if err != nil || g.Total.Gifts == 0 {
			return g, err
		}
		year, sums := row.Clock(s.Now()).Year(), ""
		args := []any{account, contact, row.Currency, time.Date(year-GivingYears+1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()}
		for i := range GivingYears {
			args = append(args, time.Date(year-GivingYears+2+i, 1, 1, 0, 0, 0, 0, time.UTC).Unix())
			sums += fmt.Sprintf(gaveInYear, len(args)-1, len(args))
		}
		_, err = c.One(func(r db.Row) {
			g.First, g.Last, g.Largest = OnClock(r.Int(0)), OnClock(r.Int(1)), r.Int(2)
			for i := range g.Years {
				g.Years[i] = r.Int(3 + i)
			}
		}, fmt.Sprintf(contactGave, sums), args...)
		if err == nil {
			err = g.addCovered(c, account, contact, year)
		}
		return g, err
	})
}
