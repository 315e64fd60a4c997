package store

import (
	"context"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

const (
	givingBetween = `SELECT cell, entries, gifts, amount, recurring, donors, new_donors, retained, first_year FROM giving
		WHERE account_id = $1 AND cell > $2 AND cell < $3`
	sqlGivingAfter  = givingBetween + ` ORDER BY cell LIMIT $4`
	sqlGivingBefore = givingBetween + ` ORDER BY cell DESC LIMIT $4`
)

// Donor is a contact with what it gave in a time.
type Donor struct {
	Contact crm.Contact
	Giving  crm.Giving
}

// DonorPage is one page of donors, in the order of their ids.
type DonorPage struct {
	Donors     []Donor
	Totals     map[crm.DonorKind]int64 // of all pages, of each kind
	Currency   string
	Others     map[string]int64 // given in the year in other currencies, which the list leaves out
	Next, Prev SearchPlace      // of the pages beside it; the zero value where there is none
}

const (
	donorsAtOnce = 200

	// donorsRead is how many donors of a year are looked at for one page. The sums of contacts are in the order of the contacts, so that
	// a page of all donors of a year or of a campaign is read from where it begins. New, returning and lapsed donors are picked from
	// them; where they are rarer than one in a hundred, a page has fewer rows, and the next one goes on.
	donorsRead = 5000
)

// Donors finds contacts who gave, in the account's currency.
func (s *Store) Donors(ctx context.Context, account int64, f crm.DonorFilter, at SearchPlace, limit int) (DonorPage, error) {
	return snapshot(ctx, s, func(c db.Conn) (page DonorPage, err error) {
		row, err := readTally(c, account)
		if err != nil {
			return page, err
		}
		page.Currency = row.currency
		if page.Totals, err = donorTotals(c, account, row.currency, f); err != nil {
			return page, err
		}
		if f.Campaign == 0 {
			if page.Others, err = otherCurrencies(c, account, f.Year*100+1, f.Year*100+13, row.currency); err != nil {
				return page, err
			}
		}
		w := donorWalk{conn: c, account: account, currency: row.currency, filter: f, at: at, atOnce: donorsAtOnce, most: donorsRead}
		if f.Kind == crm.AllDonors {
			w.atOnce = limit + 1
		}
		cells, more, err := w.page(limit)
		if err != nil {
			return page, err
		}
		if at.Before != 0 {
			page.Prev, page.Next = more, SearchPlace{After: at.Before - 1}
		} else if page.Next = more; at.After != 0 {
			page.Prev = SearchPlace{Before: at.After + 1}
		}
		page.Donors, err = w.load(cells)
		return page, err
	})
}

// donorTotals counts the donors of each kind in a year or a campaign.
func donorTotals(c db.Conn, account int64, currency string, f crm.DonorFilter) (map[crm.DonorKind]int64, error) {
	name, after := crm.Cell(f.Campaign, f.Year, currency, 0), crm.Cell(f.Campaign, f.Year+1, currency, 0)
	found, err := readGiving(c, account, name, after)
	totals := map[crm.DonorKind]int64{}
	for _, f.Kind = range crm.DonorKinds {
		totals[f.Kind] = f.Count(found[name], found[after])
	}
	return totals, err
}

// otherCurrencies are what was given in other currencies from a month on and up to another one, which is exclusive.
func otherCurrencies(c db.Conn, account, from, to int64, own string) (map[string]int64, error) {
	others := map[string]int64{}
	return others, eachGiving(c, account, from, to, func(_ int64, currency string, g crm.Giving) {
		if currency != own && g.Gifts > 0 {
			others[currency] += g.Amount
		}
	})
}

// donorWalk goes through the sums of contacts in a year or a campaign, from a place on or back from it.
type donorWalk struct {
	conn     db.Conn
	account  int64
	currency string
	filter   crm.DonorFilter
	at       SearchPlace
	atOnce   int // how many sums are read together
	most     int // how many are read for a page
}

// page is the sums of up to so many donors, in ascending order, and where the page behind them begins, in the direction of the walk.
func (w *donorWalk) page(limit int) (cells []cellRow, more SearchPlace, err error) {
	low, high := crm.CellsBetween(w.filter.Campaign, w.filter.Year, w.currency)
	sql, back := sqlGivingAfter, w.at.Before != 0
	switch {
	case back:
		sql, high = sqlGivingBefore, w.cell(w.at.Before)
	case w.at.After != 0:
		low = w.cell(w.at.After)
	}
	last, ended := "", false
	for read := 0; len(cells) <= limit && read < w.most && !ended; read += w.atOnce {
		some, err := db.List(w.conn, scanCell, sql, w.account, low, high, int64(w.atOnce))
		if err != nil {
			return nil, more, err
		}
		if ended = len(some) < w.atOnce; len(some) > 0 {
			last = some[len(some)-1].name
		}
		if back {
			high = last
		} else {
			low = last
		}
		kept, err := w.keep(some)
		if err != nil {
			return nil, more, err
		}
		cells = append(cells, kept...)
	}
	if len(cells) > limit {
		cells, ended = cells[:limit], false
		last = cells[limit-1].name
	}
	switch id := w.contact(cellRow{name: last}); {
	case ended:
	case back:
		more.Before = id
	default:
		more.After = id
	}
	if back {
		slices.Reverse(cells)
	}
	return cells, more, nil
}

func (w *donorWalk) cell(contact int64) string {
	return crm.Cell(w.filter.Campaign, w.filter.Year, w.currency, contact)
}

// keep leaves those with something left who are of the kind that is asked for.
func (w *donorWalk) keep(cells []cellRow) ([]cellRow, error) {
	cells = slices.DeleteFunc(cells, func(cell cellRow) bool { return cell.Gifts == 0 })
	if w.filter.Kind == crm.AllDonors || len(cells) == 0 {
		return cells, nil
	}
	beside := func(cell cellRow) string {
		return crm.Cell(0, w.filter.Beside(), w.currency, crm.CellContact(cell.name))
	}
	found, err := readGiving(w.conn, w.account, collect(cells, beside)...)
	return slices.DeleteFunc(cells, func(cell cellRow) bool { return !w.filter.Keeps(found[beside(cell)]) }), err
}

// contact is the id of the contact whose sums a cell has.
func (w *donorWalk) contact(cell cellRow) int64 {
	return crm.MakeID(w.account, crm.CellContact(cell.name))
}

// load finds the contacts of some sums.
func (w *donorWalk) load(cells []cellRow) (donors []Donor, err error) {
	giving := keyed(cells, w.contact)
	contacts, err := loadContacts(w.conn, w.account, collect(cells, w.contact))
	for _, contact := range contacts {
		donors = append(donors, Donor{contact, giving[contact.ID].Giving})
	}
	return donors, err
}
