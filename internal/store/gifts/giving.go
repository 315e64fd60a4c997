package gifts

import (
	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/text"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/campaigns"
	"donorbook/internal/store/contacts"
	"time"
)

const (
	SQLGivingBetween = campaigns.GivingColumns + ` AND cell >= $2 AND cell < $3 ORDER BY cell`
)

// GivingValues are the columns of the sums under a name.
func GivingValues(account int64, name string, g *giving.Sums) []any {
	return []any{account, name, g.Entries, g.Gifts, g.Amount, g.Recurring, g.Donors}
}

// cell is the sums under a name, for a change: they are written when the batch ends.
func cell(t *store.Tx, a *store.Account, name string) (*giving.Sums, error) {
	found, err := campaigns.Of(a).Giving.Get(t, a.Account, name)
	if err != nil {
		return nil, err
	}
	if found == nil {
		found = new(giving.Sums)
		campaigns.Of(a).Giving.Rows[name] = found
	}
	Of(a).moved[name] = true
	return found, nil
}

// writeGiving writes the sums that have changed.
func writeGiving(t *store.Tx, a *store.Account) error {
	for name := range Of(a).moved {
		if g := campaigns.Of(a).Giving.Rows[name]; *g == (giving.Sums{}) {
			t.Delete(store.GivingTable, a.Account, name)
			campaigns.Of(a).Giving.Rows[name] = nil
		} else {
			t.Save(store.GivingTable, GivingValues(a.Account, name, g)...)
		}
	}
	clear(Of(a).moved)
	return nil
}

// maxSum is more than anyone raises in a month, and so little that all months together do not overflow.
const maxSum = 1 << 52

// Share is what one gift adds to the sums.
type Share struct {
	Campaign, Contact int64
	Currency          string
	Month             int64
	Net               int64
	Recurring         bool
}

func ShareOf(g *giving.Gift) Share {
	return Share{g.Campaign, g.Contact, g.Currency, giving.Month(g.Local), g.Net(), g.PlanCode != ""}
}

// Cells are the names of all sums that a gift is part of.
func (s Share) Cells() []string {
	names := []string{s.contactCell(), giving.Cell(0, s.Month, s.Currency, 0)}
	if s.Campaign != 0 {
		names = append(names, s.donorCell(), s.campaignCell())
	}
	return names
}

// contactCell is what the contact gave in all, donorCell what the contact gave to the campaign, campaignCell what everyone gave to it.
func (s Share) contactCell() string  { return giving.Cell(0, 0, s.Currency, s.Contact) }
func (s Share) donorCell() string    { return giving.Cell(s.Campaign, 0, s.Currency, s.Contact) }
func (s Share) campaignCell() string { return giving.Cell(s.Campaign, 0, s.Currency, 0) }

// knowNone notes that a contact has no sums yet, so that they need not be looked up.
func knowNone(a *store.Account, s Share) {
	campaigns.Of(a).Giving.Rows[s.contactCell()], campaigns.Of(a).Giving.Rows[s.donorCell()] = nil, nil
}

// MoveGift takes a gift as it was out of all sums, and adds it as it is; nil is no gift.
func MoveGift(t *store.Tx, a *store.Account, before, after *giving.Gift) error {
	if err := moveGiftSets(t, a, before, after); err != nil {
		return err
	}
	switch {
	case before == nil:
		return countGift(t, a, ShareOf(after), 1)
	case ShareOf(before) == ShareOf(after):
		return nil
	}
	if err := countGift(t, a, ShareOf(before), -1); err != nil {
		return err
	}
	return countGift(t, a, ShareOf(after), 1)
}

// countGift adds a gift to all its sums, or takes it out where sign is -1.
func countGift(t *store.Tx, a *store.Account, s Share, sign int64) error {
	for _, name := range s.Cells() {
		g, err := cell(t, a, name)
		if err != nil {
			return err
		}
		if g.Entries += sign; s.Net <= 0 {
			continue
		}
		g.Gifts += sign
		g.Amount += sign * s.Net
		if s.Recurring {
			g.Recurring += sign * s.Net
		}
	}
	if s.Campaign == 0 || s.Net <= 0 {
		return nil
	}
	gifts := campaigns.Of(a).Giving.Rows[s.donorCell()].Gifts
	if first, last := sign > 0 && gifts == 1, sign < 0 && gifts == 0; first || last {
		campaigns.Of(a).Giving.Rows[s.campaignCell()].Donors += sign
	}
	return nil
}

// SaveStats brings the numbers in a contact's document up to date with the sums, and notes in its history what became of a gift; a kind of 0 is
// nothing that it should tell.
func SaveStats(t *store.Tx, a *store.Account, contact int64, before, after *giving.Gift, kind history.Kind, data string) error {
	row, err := contacts.Row(t, a, contact)
	if err != nil || row == nil || row.Damage != nil {
		return err // a damaged document is told of by a check, which also repairs these numbers
	}
	sums, err := campaigns.Of(a).Giving.Get(t, a.Account, giving.Cell(0, 0, a.Currency, contact))
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
	sums, err := campaigns.Of(a).Giving.Get(t, a.Account, giving.Cell(0, 0, a.Currency, contact))
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
		_, found := campaigns.ScanGiving(r)
		sums = *found
	}, campaigns.SQLGiving, account, []string{name})
	return sums, err
}

// firstMonth and lastMonth are around all months.
const firstMonth, lastMonth = 190001, 999913

// eachMonth reads the sums of the months from one on and up to another one, which is exclusive.
func eachMonth(c db.Conn, account, from, to int64, read func(month int64, currency string, g giving.Sums)) error {
	return c.Each(func(r db.Row) error {
		name, g := campaigns.ScanGiving(r)
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
	name, g := campaigns.ScanGiving(r)
	return cellRow{name, *g}
}

// The time of a contact's last gift that counts, by the organization's clock, stands in its row, so that contacts are sorted by it, and found by whether they gave since a day.

const sqlLastGiven = `SELECT given_at FROM gift WHERE account_id = $1 AND contact_id = $2 AND net > 0 ORDER BY given_at DESC LIMIT 1`

// SQLGivenTimes are the times of the gifts of a contact that count, in UTC.
const SQLGivenTimes = `SELECT given_at - ahead FROM gift WHERE account_id = $1 AND contact_id = $2 AND net > 0`

// givenAt is when a gift was given, as it is kept of a contact; 0 where it is not the contact's, or does not count.
func givenAt(g *giving.Gift, contact int64) int64 {
	if g == nil || g.Contact != contact || g.Net() <= 0 {
		return 0
	}
	return LastGiftAt(g.Local.Unix())
}

// OnClock is the time of a gift, which always has one: 0 is the first second of 1970, as files have it that know no better.
func OnClock(given int64) time.Time { return time.Unix(given, 0).UTC() }

// LastGiftAt is a time as it is kept of a contact, where 0 is none.
func LastGiftAt(given int64) int64 {
	if given == 0 {
		return 1
	}
	return given
}

// Later is the later of two times, of which 0 is none.
func Later(a, b int64) int64 {
	if a == 0 || b != 0 && b > a {
		return b
	}
	return a
}

// lastGift is when a contact gave last, after one of its gifts has become another; nil is no gift.
func lastGift(t *store.Tx, row *contacts.Stored, before, after *giving.Gift) (int64, error) {
	was, is := givenAt(before, row.ID), givenAt(after, row.ID)
	if was == 0 || was != row.LastGift || is != 0 && is >= was {
		return Later(row.LastGift, is), nil
	}
	return findLastGift(t, row.ID) // the last one is gone, or is earlier now
}

// findLastGift looks at the gifts of a contact. What the batch has written is seen by what it reads.
func findLastGift(t *store.Tx, contact int64) (last int64, err error) {
	_, err = t.One(func(r db.Row) { last = LastGiftAt(r.Int(0)) }, sqlLastGiven, doc.IDAccount(contact), contact)
	return last, err
}
