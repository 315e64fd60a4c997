package store

import (
	"context"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

const sqlGiving = `SELECT cell, entries, gifts, amount, recurring, donors, new_donors, retained, first_year FROM giving WHERE account_id = $1 AND cell = ANY($2)`

func scanGiving(r db.Row) (string, *crm.Giving) {
	return r.Text(0), &crm.Giving{Entries: r.Int(1), Gifts: r.Int(2), Amount: r.Int(3), Recurring: r.Int(4), Donors: r.Int(5), New: r.Int(6), Retained: r.Int(7), FirstYear: r.Int(8)}
}

// givingValues are the columns of the sums under a name.
func givingValues(account int64, name string, g *crm.Giving) []any {
	return []any{account, name, g.Entries, g.Gifts, g.Amount, g.Recurring, g.Donors, g.New, g.Retained, g.FirstYear}
}

// cell is the sums under a name, for a change: they are written when the batch ends.
func (t *tx) cell(a *accountUnit, name string) (*crm.Giving, error) {
	found, err := a.giving.get(t, a.account, name)
	if err != nil {
		return nil, err
	}
	if found == nil {
		found = new(crm.Giving)
		a.giving.rows[name] = found
	}
	a.moved[name] = true
	return found, nil
}

// writeGiving writes the sums that have changed.
func (t *tx) writeGiving(a *accountUnit) {
	for name := range a.moved {
		if g := a.giving.rows[name]; *g == (crm.Giving{}) {
			t.Delete(givingTable, a.account, name)
			a.giving.rows[name] = nil
		} else {
			t.Save(givingTable, givingValues(a.account, name, g)...)
		}
	}
	clear(a.moved)
}

// maxSum is more than any account raises, and far from what overflows.
const maxSum = 1 << 61

// share is what one gift adds to the sums.
type share struct {
	campaign, contact int64
	currency          string
	year, month, day  int64
	net               int64
	recurring         bool
}

func shareOf(g *crm.Gift) share {
	return share{g.Campaign, g.Contact, g.Currency, crm.Year(g.Local), crm.Month(g.Local), crm.Day(g.Local), g.Net(), g.PlanCode != ""}
}

// cells are the names of all sums that a gift is part of; those of a contact come first.
func (s share) cells() (names []string) {
	names = append(names, crm.Cell(0, 0, s.currency, s.contact), crm.Cell(0, s.year, s.currency, s.contact))
	if s.campaign != 0 {
		names = append(names, crm.Cell(s.campaign, 0, s.currency, s.contact), crm.Cell(s.campaign, 0, s.currency, 0), crm.Cell(s.campaign, s.year, s.currency, 0))
	}
	for _, period := range []int64{0, s.year, s.month, s.day} {
		names = append(names, crm.Cell(0, period, s.currency, 0))
	}
	return names
}

// neighbors are the sums that tell whether a contact gave in the years beside.
func (s share) neighbors() []string {
	return []string{crm.Cell(0, s.year-1, s.currency, s.contact), crm.Cell(0, s.year+1, s.currency, s.contact), crm.Cell(0, s.year+1, s.currency, 0)}
}

// knowNone notes that a contact has no sums yet, so that they need not be looked up.
func (a *accountUnit) knowNone(s share) {
	for _, name := range append(s.cells(), s.neighbors()...) {
		if crm.CellContact(name) != 0 {
			a.giving.rows[name] = nil
		}
	}
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
		had := g.Gifts > 0
		g.Gifts += sign
		g.Amount += sign * s.net
		if s.recurring {
			g.Recurring += sign * s.net
		}
		if has := g.Gifts > 0; has != had && crm.CellContact(name) != 0 {
			if err := t.countDonor(a, s, name, sign); err != nil {
				return err
			}
		}
	}
	return nil
}

// countDonor notes that a contact has become a donor of what a cell is about, or is none any more.
func (t *tx) countDonor(a *accountUnit, s share, name string, sign int64) error {
	add := func(cell string, to func(*crm.Giving)) error {
		g, err := t.cell(a, cell)
		if err == nil {
			to(g)
		}
		return err
	}
	donor := func(g *crm.Giving) { g.Donors += sign }
	switch name {
	case crm.Cell(0, 0, s.currency, s.contact):
		return add(crm.Cell(0, 0, s.currency, 0), donor)
	case crm.Cell(0, s.year, s.currency, s.contact):
		if err := add(crm.Cell(0, s.year, s.currency, 0), donor); err != nil {
			return err
		}
		if err := t.countRetained(a, s, sign); err != nil {
			return err
		}
		return t.countNew(a, s, sign)
	}
	return add(crm.Cell(s.campaign, 0, s.currency, 0), donor)
}

// countRetained counts a donor who gave the year before as well, in that year and in the next one.
func (t *tx) countRetained(a *accountUnit, s share, sign int64) error {
	for _, year := range []int64{s.year, s.year + 1} {
		other := s.year - 1
		if year != s.year {
			other = year
		}
		beside, err := a.giving.get(t, a.account, crm.Cell(0, other, s.currency, s.contact))
		if err != nil {
			return err
		}
		if beside == nil || beside.Gifts == 0 {
			continue
		}
		sums, err := t.cell(a, crm.Cell(0, year, s.currency, 0))
		if err != nil {
			return err
		}
		sums.Retained += sign
	}
	return nil
}

// countNew counts a donor in the year of the first gift.
func (t *tx) countNew(a *accountUnit, s share, sign int64) error {
	whole, err := t.cell(a, crm.Cell(0, 0, s.currency, s.contact))
	if err != nil {
		return err
	}
	first := whole.FirstYear
	switch {
	case sign > 0 && (first == 0 || s.year < first):
		first = s.year
	case sign < 0 && s.year == first:
		if first, err = t.firstYear(a, s); err != nil {
			return err
		}
	}
	for year, by := range map[int64]int64{whole.FirstYear: -1, first: 1} {
		if year == 0 || first == whole.FirstYear {
			continue
		}
		sums, err := t.cell(a, crm.Cell(0, year, s.currency, 0))
		if err != nil {
			return err
		}
		sums.New += by
	}
	whole.FirstYear = first
	return nil
}

// firstYear is the first year after a gift's in which its contact gave, 0 where there is none.
func (t *tx) firstYear(a *accountUnit, s share) (int64, error) {
	whole, err := t.cell(a, crm.Cell(0, 0, s.currency, s.contact))
	if err != nil || whole.Gifts == 0 {
		return 0, err
	}
	var years []string
	for year := s.year + 1; year <= s.year+lifetime; year++ {
		years = append(years, crm.Cell(0, year, s.currency, s.contact))
	}
	if err := a.giving.load(t, a.account, years); err != nil {
		return 0, err
	}
	for i, name := range years {
		if g := a.giving.rows[name]; g != nil && g.Gifts > 0 {
			return s.year + 1 + int64(i), nil
		}
	}
	return 0, nil
}

// lifetime is for how many years a contact may give: from 1900 on.
const lifetime = 300

// saveStats brings the numbers in a contact's document up to date with the sums, and notes in its history what became of a gift; a kind of 0 is
// nothing that it should tell.
func (t *tx) saveStats(a *accountUnit, contact int64, before, after *crm.Gift, kind crm.ChangeKind, data string) error {
	row, err := t.row(a, contact)
	if err != nil || row == nil || row.damage != nil {
		return err // a damaged document is told of by a check, which also repairs these numbers
	}
	sums, err := a.giving.get(t, a.account, crm.Cell(0, 0, a.currency, contact))
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
		at.revision, at.version = t.record(a, crm.ContactNoun, contact, kind, row.trace.revision, data), row.version+1
	case changed.Stats == row.contact.Stats && at == row.trace:
		return nil
	}
	t.writeContact(t.Save, a, row.createdAt, at, changed, changed.AppendBody(make([]byte, 0, len(row.body)+16)))
	return nil
}

// statsOf are the numbers in a contact's document: whole units of the account's currency.
func statsOf(sums *crm.Giving, currency string) (stats crm.Stats) {
	if sums != nil {
		stats.TotalContributions, stats.RecurringContributions = crm.Major(sums.Amount, currency), crm.Major(sums.Recurring, currency)
	}
	return stats
}

// Giving reads sums by the names of their cells (crm.Cell). What is missing is zero.
func (s *Store) Giving(ctx context.Context, account int64, cells ...string) (map[string]crm.Giving, error) {
	return lend(ctx, s.read, func(c db.Conn) (map[string]crm.Giving, error) { return readGiving(c, account, cells...) })
}

func readGiving(c db.Conn, account int64, cells ...string) (map[string]crm.Giving, error) {
	found := make(map[string]crm.Giving, len(cells))
	return found, c.Each(func(r db.Row) error {
		name, g := scanGiving(r)
		found[name] = *g
		return nil
	}, sqlGiving, account, cells)
}

type cellRow struct {
	name string
	crm.Giving
}

func scanCell(r db.Row) cellRow {
	name, g := scanGiving(r)
	return cellRow{name, *g}
}
