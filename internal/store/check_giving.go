package store

import (
	"maps"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// enter adds the gifts of one contact to what the sums should be.
func (g *givingCheck) enter(gifts []crm.Gift) {
	if len(gifts) == 0 {
		return
	}
	own := contactSums(gifts)
	for i := range gifts {
		s := shareOf(&gifts[i])
		for _, name := range s.cells() {
			if crm.CellContact(name) == 0 {
				g.should[name] = add(g.should[name], s)
			}
		}
	}
	for name, sums := range own {
		g.contacts += cellHash(name, sums)
		g.enterDonor(name, sums)
		if _, _, currency, contact := crm.CellParts(name); name == crm.Cell(0, 0, currency, contact) && currency == g.account.totals.currency {
			g.stats += statsHash(crm.MakeID(g.account.Number, contact), statsOf(&sums, currency))
		}
	}
}

// enterDonor counts a contact of whose gifts to a campaign something is left.
func (g *givingCheck) enterDonor(name string, sums crm.Giving) {
	if campaign, _, currency, _ := crm.CellParts(name); campaign != 0 && sums.Gifts > 0 {
		total := g.should[crm.Cell(campaign, 0, currency, 0)]
		total.Donors++
		g.should[crm.Cell(campaign, 0, currency, 0)] = total
	}
}

// contactSums are the sums of one contact, worked out from its gifts.
func contactSums(gifts []crm.Gift) map[string]crm.Giving {
	sums := map[string]crm.Giving{}
	for i := range gifts {
		s := shareOf(&gifts[i])
		for _, name := range s.cells() {
			if crm.CellContact(name) != 0 {
				sums[name] = add(sums[name], s)
			}
		}
	}
	return sums
}

// add is sums with one gift more.
func add(g crm.Giving, s share) crm.Giving {
	if g.Entries++; s.net > 0 {
		g.Gifts++
		g.Amount += s.net
		if s.recurring {
			g.Recurring += s.net
		}
	}
	return g
}

// compareSums compares the sums that are kept. Where gifts are damaged or missing they cannot be known.
func (g *givingCheck) compareSums() error {
	if g.damaged {
		return nil
	}
	is, contacts, number := map[string]crm.Giving{}, uint64(0), g.account.Number
	err := g.conn.Each(func(r db.Row) error {
		name, sums := scanGiving(r)
		if crm.CellContact(name) == 0 {
			is[name] = *sums
		} else {
			contacts += cellHash(name, *sums)
		}
		return nil
	}, sqlGivingBetween, number, "", "~")
	if err != nil {
		return err
	}
	all := maps.Clone(is)
	maps.Copy(all, g.should)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if is[name] == g.should[name] {
			continue
		}
		if err := g.mendCell(name, is[name], g.should[name]); err != nil {
			return err
		}
	}
	if contacts == g.contacts {
		return nil
	}
	return g.compareContacts()
}

// mendCell adds what is missing to the sums of a cell: what others count meanwhile they add as well.
func (g *givingCheck) mendCell(name string, is, should crm.Giving) error {
	number := g.account.Number
	return g.mend(g.problem(number, 0, "the sums %s are %+v, but the gifts say %+v", name, is, should), number, func(t *tx) error {
		a, err := t.lock(number)
		if err != nil {
			return err
		}
		sums, err := t.cell(a, name)
		if err != nil {
			return err
		}
		t.Touch()
		sums.Entries += should.Entries - is.Entries
		sums.Gifts += should.Gifts - is.Gifts
		sums.Amount += should.Amount - is.Amount
		sums.Recurring += should.Recurring - is.Recurring
		sums.Donors += should.Donors - is.Donors
		return nil
	})
}

// compareContacts compares the sums of contacts one by one: those that are kept with the gifts, and those of contacts with gifts.
func (g *givingCheck) compareContacts() error {
	number, told := g.account.Number, map[int64]bool{}
	err := g.eachPart(func(cells []cellRow) error {
		for _, cell := range cells {
			contact := crm.MakeID(number, crm.CellContact(cell.name))
			if crm.IDSeq(contact) == 0 {
				continue
			}
			gifts, err := db.List(g.conn, scanCheckedGift, sqlCheckContactGifts, number, contact)
			if err == nil && contactSums(g.giftsOf(gifts))[cell.name] != cell.Giving {
				told[contact] = true
				err = g.mendContact(contact, cell.name)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return g.eachGiver(func(contact int64) error {
		gifts, err := db.List(g.conn, scanCheckedGift, sqlCheckContactGifts, number, contact)
		if err != nil {
			return err
		}
		should := contactSums(g.giftsOf(gifts))
		rows, err := db.List(g.conn, scanCell, sqlGiving, number, slices.Collect(maps.Keys(should)))
		if err != nil || len(rows) == len(should) || told[contact] {
			return err
		}
		told[contact] = true
		return g.mendContact(contact)
	})
}

func (g *givingCheck) giftsOf(checked []checkedGift) (gifts []crm.Gift) {
	for _, c := range checked {
		g.settle(c.storedGift)
		if c.damage == nil {
			gifts = append(gifts, c.Gift)
		}
	}
	return gifts
}

// eachPart reads all cells of the account, some at a time.
func (g *givingCheck) eachPart(read func([]cellRow) error) error {
	for last := ""; ; {
		cells, err := db.List(g.conn, scanCell, sqlGivingAfter, g.account.Number, last)
		if err != nil || len(cells) == 0 {
			return err
		}
		last = cells[len(cells)-1].name
		if err := read(cells); err != nil {
			return err
		}
	}
}

const sqlGivingAfter = givingColumns + ` AND cell > $2 ORDER BY cell LIMIT 1000`

const sqlNextGiver = `SELECT COALESCE(MIN(contact_id), 0) FROM gift WHERE account_id = $1 AND contact_id > $2`

func (g *givingCheck) eachGiver(read func(contact int64) error) error {
	for last := int64(0); ; {
		next, err := g.conn.Int(sqlNextGiver, g.account.Number, last)
		if err != nil || next == 0 {
			return err
		}
		last = next
		if err := read(next); err != nil {
			return err
		}
	}
}

// mendContact works out the sums of a contact anew. Cells that it should not have are named.
func (g *givingCheck) mendContact(contact int64, more ...string) error {
	number := g.account.Number
	return g.mend(g.problem(number, contact, "its sums do not match its gifts"), number, func(t *tx) error {
		a, err := t.lock(number)
		if err != nil {
			return err
		}
		gifts, err := db.List(t.Conn, scanCheckedGift, sqlCheckContactGifts, number, contact)
		if err != nil {
			return err
		}
		should := contactSums(g.giftsOf(gifts))
		for _, name := range more {
			if _, ok := should[name]; !ok {
				should[name] = crm.Giving{}
			}
		}
		t.Touch()
		for name, sums := range should {
			cell, err := t.cell(a, name)
			if err != nil {
				return err
			}
			*cell = sums
		}
		return nil
	})
}
