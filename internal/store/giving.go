package store

import (
	"donorbook/internal/crm"
	"donorbook/internal/crm/text"
	"donorbook/internal/db"
)

const (
	sqlGivingBetween = givingColumns + ` AND cell >= $2 AND cell < $3 ORDER BY cell`
)

// givingValues are the columns of the sums under a name.
func givingValues(account int64, name string, g *crm.Giving) []any {
	return []any{account, name, g.Entries, g.Gifts, g.Amount, g.Recurring, g.Donors}
}

// cell is the sums under a name, for a change: they are written when the batch ends.
func (t *tx) cell(a *accountUnit, name string) (*crm.Giving, error) {
	found, err := campaignsOf(a).giving.get(t, a.account, name)
	if err != nil {
		return nil, err
	}
	if found == nil {
		found = new(crm.Giving)
		campaignsOf(a).giving.rows[name] = found
	}
	giftsOf(a).moved[name] = true
	return found, nil
}

// writeGiving writes the sums that have changed.
func (t *tx) writeGiving(a *accountUnit) {
	for name := range giftsOf(a).moved {
		if g := campaignsOf(a).giving.rows[name]; *g == (crm.Giving{}) {
			t.Delete(givingTable, a.account, name)
			campaignsOf(a).giving.rows[name] = nil
		} else {
			t.Save(givingTable, givingValues(a.account, name, g)...)
		}
	}
	clear(giftsOf(a).moved)
}

// maxSum is more than anyone raises in a month, and so little that all months together do not overflow.
const maxSum = 1 << 52

// share is what one gift adds to the sums.
type share struct {
	campaign, contact int64
	currency          string
	month             int64
	net               int64
	recurring         bool
}

func shareOf(g *crm.Gift) share {
	return share{g.Campaign, g.Contact, g.Currency, crm.Month(g.Local), g.Net(), g.PlanCode != ""}
}

// cells are the names of all sums that a gift is part of.
func (s share) cells() []string {
	names := []string{s.contactCell(), crm.Cell(0, s.month, s.currency, 0)}
	if s.campaign != 0 {
		names = append(names, s.donorCell(), s.campaignCell())
	}
	return names
}

// contactCell is what the contact gave in all, donorCell what the contact gave to the campaign, campaignCell what everyone gave to it.
func (s share) contactCell() string  { return crm.Cell(0, 0, s.currency, s.contact) }
func (s share) donorCell() string    { return crm.Cell(s.campaign, 0, s.currency, s.contact) }
func (s share) campaignCell() string { return crm.Cell(s.campaign, 0, s.currency, 0) }

// knowNone notes that a contact has no sums yet, so that they need not be looked up.
func (a *accountUnit) knowNone(s share) {
	campaignsOf(a).giving.rows[s.contactCell()], campaignsOf(a).giving.rows[s.donorCell()] = nil, nil
}

// moveGift takes a gift as it was out of all sums, and adds it as it is; nil is no gift.
func (t *tx) moveGift(a *accountUnit, before, after *crm.Gift) error {
	if err := t.moveGiftSets(a, before, after); err != nil {
		return err
	}
	switch {
	case before == nil:
		return t.countGift(a, shareOf(after), 1)
	case shareOf(before) == shareOf(after):
		return nil
	}
	if err := t.countGift(a, shareOf(before), -1); err != nil {
		return err
	}
	return t.countGift(a, shareOf(after), 1)
}

// countGift adds a gift to all its sums, or takes it out where sign is -1.
func (t *tx) countGift(a *accountUnit, s share, sign int64) error {
	for _, name := range s.cells() {
		g, err := t.cell(a, name)
		if err != nil {
			return err
		}
		if g.Entries += sign; s.net <= 0 {
			continue
		}
		g.Gifts += sign
		g.Amount += sign * s.net
		if s.recurring {
			g.Recurring += sign * s.net
		}
	}
	if s.campaign == 0 || s.net <= 0 {
		return nil
	}
	gifts := campaignsOf(a).giving.rows[s.donorCell()].Gifts
	if first, last := sign > 0 && gifts == 1, sign < 0 && gifts == 0; first || last {
		campaignsOf(a).giving.rows[s.campaignCell()].Donors += sign
	}
	return nil
}

// saveStats brings the numbers in a contact's document up to date with the sums, and notes in its history what became of a gift; a kind of 0 is
// nothing that it should tell.
func (t *tx) saveStats(a *accountUnit, contact int64, before, after *crm.Gift, kind crm.ChangeKind, data string) error {
	row, err := t.row(a, contact)
	if err != nil || row == nil || row.damage != nil {
		return err // a damaged document is told of by a check, which also repairs these numbers
	}
	sums, err := campaignsOf(a).giving.get(t, a.account, crm.Cell(0, 0, a.currency, contact))
	if err != nil {
		return err
	}
	changed := row.contact
	changed.Stats = statsOf(sums, a.currency)
	at := row.trace
	if at.lastGift, err = t.lastGift(row, before, after); err != nil {
		return err
	}
	switch {
	case kind != 0:
		at.revision = t.record(a, crm.ContactNoun, contact, kind, data)
	case changed.Stats == row.contact.Stats && at == row.trace:
		return nil
	}
	t.writeContact(t.Save, a, row.createdAt, at, changed, changed.AppendBody(make([]byte, 0, len(row.body)+16)))
	return nil
}

// statsOf are the numbers in a contact's document: whole units of the account's currency.
func statsOf(sums *crm.Giving, currency string) (stats crm.Stats) {
	if sums != nil {
		stats.TotalContributions, stats.RecurringContributions = text.Major(sums.Amount, currency), text.Major(sums.Recurring, currency)
	}
	return stats
}

// readCell reads the sums under a name, which are zero where there are none.
func readCell(c db.Conn, account int64, name string) (sums crm.Giving, err error) {
	_, err = c.One(func(r db.Row) {
		_, found := scanGiving(r)
		sums = *found
	}, sqlGiving, account, []string{name})
	return sums, err
}

// firstMonth and lastMonth are around all months.
const firstMonth, lastMonth = 190001, 999913

// eachMonth reads the sums of the months from one on and up to another one, which is exclusive.
func eachMonth(c db.Conn, account, from, to int64, read func(month int64, currency string, g crm.Giving)) error {
	return c.Each(func(r db.Row) error {
		name, g := scanGiving(r)
		_, month, currency, _ := crm.CellParts(name)
		read(month, currency, *g)
		return nil
	}, sqlGivingBetween, account, crm.Cell(0, from, "", 0), crm.Cell(0, to, "", 0))
}

// otherCurrencies are what was given in a year in other currencies than one.
func otherCurrencies(c db.Conn, account, year int64, than string) (map[string]int64, error) {
	others := map[string]int64{}
	return others, eachMonth(c, account, year*100+1, year*100+13, func(_ int64, currency string, g crm.Giving) {
		if currency != than && g.Gifts > 0 {
			others[currency] += g.Amount
		}
	})
}

type cellRow struct {
	name string
	crm.Giving
}

func scanCell(r db.Row) cellRow {
	name, g := scanGiving(r)
	return cellRow{name, *g}
}
