package gifts

import (
	"cmp"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/text"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/derived"
)

const (
	SQLGivingBetween = derived.GivingColumns + ` AND cell >= $2 AND cell < $3 ORDER BY cell`
)

// maxSum is more than anyone raises in a month, and so little that all months together do not overflow.
const maxSum = 1 << 52

// SaveStats brings the numbers in a contact's document up to date with the sums, and notes in its history what became of a gift; a kind of 0 is
// nothing that it should tell.
func SaveStats(t *store.Tx, a *store.Account, contact int64, before, after *giving.Gift, kind history.Kind, data string) error {
	if t.Drops() {
		return nil // nothing is decided by them
	}
	row, err := contacts.Row(t, a, contact)
	if err != nil || row == nil || row.Damage != nil {
		return err // a damaged document is told of by a check, which also repairs these numbers
	}
	sums, err := derived.Of(a).Giving.Get(t, a.Account, giving.Cell(0, 0, a.Currency, contact))
	if err != nil {
		return err
	}
	stats, at := StatsOf(sums, a.Currency), row.Trace
	at.Given = GivenOf(sums)
	if at.LastGift, err = lastGift(t, row, before, after); err != nil {
		return err
	}
	switch {
	case kind != 0:
		at.Revision = t.Record(a, history.ContactNoun, contact, kind, data)
	case stats == row.Contact.Stats && at == row.Trace:
		return nil
	}
	contacts.PutColumns(t, a, row, stats, at)
	return nil
}

// settleStats is SaveStats after many gifts of a contact have moved.
func settleStats(t *store.Tx, a *store.Account, contact int64) error {
	row, err := contacts.Row(t, a, contact)
	if err != nil || row == nil || row.Damage != nil {
		return err
	}
	sums, err := derived.Of(a).Giving.Get(t, a.Account, giving.Cell(0, 0, a.Currency, contact))
	if err != nil {
		return err
	}
	stats, at := StatsOf(sums, a.Currency), row.Trace
	at.Given = GivenOf(sums)
	if at.LastGift, err = findLastGift(t, contact); err == nil {
		contacts.PutColumns(t, a, row, stats, at)
	}
	return err
}

// StatsOf are the numbers in a contact's document: whole units of the account's currency.
func StatsOf(sums *giving.Sums, currency string) (stats crm.Stats) {
	if sums != nil {
		stats.TotalContributions, stats.RecurringContributions = text.Major(sums.Amount, currency), text.Major(sums.Recurring, currency)
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
		_, found := derived.ScanGiving(r)
		sums = *found
	}, derived.SQLGiving, account, []string{name})
	return sums, err
}

// firstMonth and lastMonth are around all months.
const firstMonth, lastMonth = 190001, 999913

// eachMonth reads the sums of the months from one on and up to another one, which is exclusive.
func eachMonth(c db.Conn, account, from, to int64, read func(month int64, currency string, g giving.Sums)) error {
	return c.Each(func(r db.Row) error {
		name, g := derived.ScanGiving(r)
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
	name, g := derived.ScanGiving(r)
	return cellRow{name, *g}
}

// The time of a contact's last gift that counts, by the organization's clock, stands in its row, so that contacts are sorted by it, and found by whether they gave since a day.

const sqlLastGiven = `SELECT given_at FROM gift WHERE account_id = $1 AND contact_id = $2 AND net > 0 ORDER BY given_at DESC LIMIT 1`

// SQLGivenTimes are the times of the gifts of a contact that count, in UTC.
const SQLGivenTimes = `SELECT given_at - ahead FROM gift WHERE account_id = $1 AND contact_id = $2 AND net > 0`

// OnClock is the time of a gift, which always has one: 0 is the first second of 1970, as files have it that know no better.
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
func lastGift(t *store.Tx, row *contacts.Stored, before, after *giving.Gift) (int64, error) {
	was, is := lastBy(before, row.ID), lastBy(after, row.ID)
	if was == 0 || was != row.LastGift || is != 0 && is >= was {
		return Later(row.LastGift, is), nil
	}
	return findLastGift(t, row.ID) // the last one is gone, or is earlier now
}

// findLastGift looks at the gifts of a contact. What the batch has written is seen by what it reads.
func findLastGift(t *store.Tx, contact int64) (last int64, err error) {
	_, err = t.One(func(r db.Row) { last = cmp.Or(r.Int(0), 1) }, sqlLastGiven, doc.IDAccount(contact), contact)
	return last, err
}
