package store

import (
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

const (
	sqlCheckGifts = `SELECT ` + giftColumns + `, method, currency, net, ahead FROM gift
		WHERE account_id = $1 AND (contact_id, given_at, id) > ($2, $3, $4) ORDER BY contact_id, given_at, id LIMIT 500`
	sqlCheckContactGifts = `SELECT ` + giftColumns + `, method, currency, net, ahead FROM gift WHERE account_id = $1 AND contact_id = $2 ORDER BY given_at, id`
	sqlCheckPlans        = `SELECT ` + planColumns + `, contact_id, campaign_id, status, next_bill FROM plan WHERE account_id = $1 AND (contact_id, id) > ($2, $3) ORDER BY contact_id, id LIMIT 500`
)

// checkedGift is a gift with its columns, which must be those of its document.
type checkedGift struct {
	id      int64
	contact int64
	at      int64
	*storedGift
	columns [9]any
}

func scanCheckedGift(r db.Row) checkedGift {
	id, g := scanGift(r)
	return checkedGift{id, r.Int(1), r.Int(9), g, [9]any{r.Int(1), r.Int(3), r.Int(4), r.Int(10), r.Text(11), r.Int(12), r.Int(9), r.Int(13), r.Text(5)}}
}

// giftColumnsOf are the columns that follow from a gift's document and the organization's clock.
func giftColumnsOf(g *crm.Gift) [9]any {
	return [9]any{g.Contact, g.Plan(), g.StatusNumber(), g.MethodNumber(), g.Currency, g.Net(), g.Local.Unix(), ahead(g), g.Code}
}

// givingCheck compares the gifts of one account with everything that is worked out from them. It remembers the sums of the account and of one
// contact; those of all contacts are compared as sums of random numbers, and one by one only where these differ.
type givingCheck struct {
	*checker
	account  *checkedAccount
	should   map[string]crm.Giving // of the account and its campaigns
	contacts uint64                // the sums of contacts
	refs     uint64                // external references
	stats    uint64                // the numbers in the documents of contacts
	gifts    int64
	last     int64 // sequence number
	damaged  bool
	moving   bool // some gifts have the time of another clock, which a job is about to change
}

// settle gives a gift the time that it must have by the organization's clock, unless it may still have that of another one.
func (g *givingCheck) settle(gift *storedGift) {
	if !g.moving && g.account.counted && gift.damage == nil {
		gift.Local = crm.GiftClock(gift.At, g.account.totals.location())
	}
}

// everyGift looks at the gifts and plans of each account.
func (k *checker) everyGift() error {
	for _, number := range k.numbers {
		g := &givingCheck{checker: k, account: k.accounts[number], should: map[string]crm.Giving{}}
		var err error
		if g.moving, err = zoneMoving(k.conn, number); err != nil {
			return err
		}
		for _, step := range []func() error{g.readGifts, g.readPlans, g.compareSequence, g.compareSums, g.compareReferences, g.compareStats} {
			if err := step(); err != nil {
				return err
			}
		}
	}
	return k.flush()
}

func (g *givingCheck) tellGift(id int64, format string, args ...any) Problem {
	p := g.problem(g.account.Number, 0, format, args...)
	p.What = fmt.Sprintf("gift %s: %s", crm.GiftNumber(id), p.What)
	return p
}

// readGifts reads all gifts, those of a contact together.
func (g *givingCheck) readGifts() error {
	number := g.account.Number
	var of []crm.Gift // of one contact
	last := [3]int64{}
	for n := 500; n == 500; {
		part, err := db.List(g.conn, scanCheckedGift, sqlCheckGifts, number, last[0], last[1], last[2])
		if err != nil {
			return err
		}
		n = len(part)
		for i := range part {
			gift := &part[i]
			if gift.contact != last[0] {
				g.enter(of)
				of = of[:0]
			}
			last = [3]int64{gift.contact, gift.at, gift.id}
			if err := g.readGift(gift); err != nil {
				return err
			}
			if gift.damage == nil {
				of = append(of, gift.Gift)
			}
		}
		g.options.Progress("gifts", g.report.Gifts, max(g.report.Gifts, g.account.totals.giftSeq))
		if err := g.ctx.Err(); err != nil {
			return err
		}
	}
	g.enter(of)
	return nil
}

func (g *givingCheck) readGift(gift *checkedGift) error {
	g.report.Gifts++
	g.gifts++
	g.last = max(g.last, crm.IDSeq(gift.id))
	g.account.heads += g.account.headHash(crm.GiftNoun, gift.id, gift.revision)
	if gift.damage != nil {
		g.damaged = true
		g.tell(g.tellGift(gift.id, "its document is damaged: %s", restoreIt))
		return nil
	}
	if gift.ExternalID != "" {
		g.refs += referenceHash(giftReference+gift.ExternalID, gift.id)
	}
	g.settle(gift.storedGift)
	if gift.columns == giftColumnsOf(&gift.Gift) {
		return nil
	}
	id := gift.id
	return g.mend(g.tellGift(id, "the columns that it is found by do not match its document"), g.account.Number, func(t *tx) error {
		a, err := t.lock(crm.IDAccount(id))
		if err != nil {
			return err
		}
		row, err := a.gifts.get(t, a.account, id)
		if err == nil && row != nil && row.damage == nil {
			if moving, err := zoneMoving(t.Conn, a.account); err != nil || !moving {
				row.Local = time.Time{}
			}
			t.writeGift(t.Save, a, row.revision, &row.Gift)
			return renewLastGift(a.account, row.Contact)(t) // which the columns have told wrong
		}
		return err
	})
}

func cellHash(name string, g crm.Giving) uint64 {
	return maphash.Comparable(checkSeed, cellRow{name, g})
}

func referenceHash(reference string, id int64) uint64 {
	return maphash.Comparable(checkSeed, indexKey{reference, id})
}

// statsHash is 0 for a contact who gave nothing.
func statsHash(contact int64, stats crm.Stats) uint64 {
	if stats == (crm.Stats{}) {
		return 0
	}
	return maphash.Comparable(checkSeed, struct {
		contact int64
		stats   crm.Stats
	}{contact, stats})
}

// compareSequence compares the gifts and plans with the numbers that were given out.
func (g *givingCheck) compareSequence() error {
	totals := g.account.totals
	if g.gifts < totals.giftSeq {
		g.damaged = true
		g.tell(g.problem(g.account.Number, 0, "%d gifts of %d are missing: restore a backup", totals.giftSeq-g.gifts, totals.giftSeq))
	}
	if last := g.last; last > totals.giftSeq {
		return g.mend(g.problem(g.account.Number, 0, "the sequence of its gifts is %d, but the last gift has %d", totals.giftSeq, last),
			g.account.Number, changeTotals(g.account.Number, func(row *tally) { row.giftSeq = max(row.giftSeq, last) }))
	}
	return nil
}

// compareReferences compares the external references of gifts and plans.
func (g *givingCheck) compareReferences() error {
	number, is := g.account.Number, uint64(0)
	var kept []indexKey
	read := func(r db.Row) error {
		reference, id := scanReference(r)
		is += referenceHash(reference, id)
		return nil
	}
	if err := g.conn.Each(read, sqlAllReferences, number); err != nil || is == g.refs || g.damaged {
		return err
	}
	err := g.conn.Each(func(r db.Row) error {
		reference, id := scanReference(r)
		kept = append(kept, indexKey{reference, id})
		return nil
	}, sqlAllReferences, number)
	if err != nil {
		return err
	}
	should := map[string]int64{}
	if err := g.eachReference(should); err != nil {
		return err
	}
	for _, k := range kept {
		if should[k.key] == k.id {
			delete(should, k.key)
			continue
		}
		if should[k.key] == 0 {
			should[k.key] = -1
		}
	}
	for _, reference := range slices.Sorted(maps.Keys(should)) {
		id := should[reference]
		err := g.mend(g.problem(number, 0, "the external id %q does not lead to the gift or plan that has it", reference[2:]), number, func(t *tx) error {
			if id < 0 {
				t.Delete(referenceTable, number, reference)
			} else {
				t.Save(referenceTable, number, reference, id)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

const sqlAllReferences = `SELECT reference, id FROM external_reference WHERE account_id = $1 ORDER BY reference`

// eachReference collects the external ids of all gifts and plans.
func (g *givingCheck) eachReference(should map[string]int64) error {
	err := g.eachGiver(func(contact int64) error {
		gifts, err := db.List(g.conn, scanCheckedGift, sqlCheckContactGifts, g.account.Number, contact)
		for _, gift := range g.giftsOf(gifts) {
			if gift.ExternalID != "" {
				should[giftReference+gift.ExternalID] = gift.ID
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	return g.eachPlan(func(p *storedPlan, _ [4]int64) error {
		if p.ExternalID != "" {
			should[planReference+p.ExternalID] = p.ID
		}
		return nil
	})
}

func (g *givingCheck) eachPlan(read func(p *storedPlan, columns [4]int64) error) error {
	type row struct {
		id int64
		*storedPlan
		columns [4]int64
	}
	for last := [2]int64{}; ; {
		part, err := db.List(g.conn, func(r db.Row) row {
			id, p := scanPlan(r)
			return row{id, p, [4]int64{r.Int(5), r.Int(6), r.Int(7), r.Int(8)}}
		}, sqlCheckPlans, g.account.Number, last[0], last[1])
		if err != nil || len(part) == 0 {
			return err
		}
		for _, p := range part {
			last = [2]int64{p.columns[0], p.id}
			p.storedPlan.ID = p.id
			if err := read(p.storedPlan, p.columns); err != nil {
				return err
			}
		}
	}
}

// readPlans looks at each plan by itself.
func (g *givingCheck) readPlans() error {
	last := int64(0)
	err := g.eachPlan(func(p *storedPlan, columns [4]int64) error {
		last = max(last, crm.IDSeq(p.ID))
		g.account.heads += g.account.headHash(crm.PlanNoun, p.ID, p.revision)
		if p.damage != nil {
			g.damaged = true
			g.tell(g.problem(g.account.Number, 0, "plan %s: its document is damaged: %s", crm.GiftNumber(p.ID), restoreIt))
			return nil
		}
		if p.ExternalID != "" {
			g.refs += referenceHash(planReference+p.ExternalID, p.ID)
		}
		if columns == [4]int64{p.Contact, p.Campaign, p.StatusNumber(), seconds(p.NextBill)} {
			return nil
		}
		plan := p.Plan
		return g.mend(g.problem(g.account.Number, 0, "plan %s: the columns that it is found by do not match its document", plan.Code), g.account.Number, func(t *tx) error {
			a, err := t.lock(g.account.Number)
			if err != nil {
				return err
			}
			row, err := a.plans.get(t, a.account, plan.ID)
			if err == nil && row != nil && row.damage == nil {
				t.writePlan(t.Save, a, row.revision, &row.Plan)
			}
			return err
		})
	})
	if err == nil && last > g.account.totals.planSeq {
		err = g.mend(g.problem(g.account.Number, 0, "the sequence of its plans is %d, but the last plan has %d", g.account.totals.planSeq, last),
			g.account.Number, changeTotals(g.account.Number, func(row *tally) { row.planSeq = max(row.planSeq, last) }))
	}
	return err
}

const sqlContactNet = `SELECT CAST(COALESCE(SUM(net), 0) AS BIGINT), CAST(COALESCE(SUM(CASE WHEN plan_id <> 0 THEN net ELSE 0 END), 0) AS BIGINT) FROM gift WHERE account_id = $1 AND contact_id = $2 AND currency = $3`

// compareStats compares the numbers in the documents of contacts with their gifts.
func (g *givingCheck) compareStats() error {
	if g.damaged || !g.account.counted || g.stats == g.account.stats { // without totals the currency is not known yet
		return nil
	}
	number, currency := g.account.Number, g.account.totals.currency
	var contacts []*stored
	return eachStored(g.conn, number, func(c *stored) error {
		contacts = append(contacts, c)
		return nil
	}, func() error {
		for _, c := range contacts {
			var sums crm.Giving
			_, err := g.conn.One(func(r db.Row) { sums.Amount, sums.Recurring = r.Int(0), r.Int(1) }, sqlContactNet, number, c.id, currency)
			if err != nil {
				return err
			}
			id, should := c.id, statsOf(&sums, currency)
			if c.damage != nil || c.contact.Stats == should {
				continue
			}
			err = g.mend(g.problem(number, id, "its contributions are %d, but its gifts say %d", c.contact.Stats.TotalContributions, should.TotalContributions), number,
				func(t *tx) error {
					a, err := t.lock(number)
					if err != nil {
						return err
					}
					return t.saveStats(a, id, nil, nil, 0, "")
				})
			if err != nil {
				return err
			}
		}
		contacts = contacts[:0]
		return nil
	})
}
