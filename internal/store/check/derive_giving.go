package check

import (
	"fmt"
	"math"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/gifts"
	"donorbook/internal/store/jobs"
)

const (
	sqlGiftRows = `SELECT ` + gifts.GiftColumns + `, method, currency, net, ahead FROM gift
		WHERE account_id = $1 AND (contact_id, given_at, id) > ($2, $3, $4) ORDER BY contact_id, given_at, id LIMIT 500`
	sqlPlanRows = `SELECT ` + gifts.PlanColumns + `, contact_id, campaign_id, status, next_bill FROM plan WHERE account_id = $1 AND (contact_id, id) > ($2, $3) ORDER BY contact_id, id LIMIT 500`
	ledgerRead  = 500 // as the statements say

	sqlGivenBy = `SELECT contact_id, campaign_id, plan_id, currency, net, given_at FROM gift WHERE account_id = $1 AND contact_id > $2 AND contact_id <= $3`
)

// ledgerRow is a gift or a plan, with the row that it stands in.
type ledgerRow[T any] struct {
	id    int64
	doc   T
	row   []any
	place []any // behind the account, in the order of an index
}

// eachLedgerRow reads the gifts or the plans of an account from a place on. It returns how many there are, and the greatest id.
func eachLedgerRow[T any](d *derivation, sql string, scan func(db.Row) ledgerRow[T], after []any, read func(ledgerRow[T]) error) (n, last int64, err error) {
	for page := make([]ledgerRow[T], ledgerRead); len(page) == ledgerRead; {
		if page, err = db.List(d.conn, scan, sql, append([]any{d.Account}, after...)...); err != nil {
			return n, last, err
		}
		for _, row := range page {
			n, last, after = n+1, max(last, row.id), row.place
			if err := read(row); err != nil {
				return n, last, err
			}
		}
	}
	return n, last, nil
}

// first is a place before all others.
const first = int64(math.MinInt64)

// gifts looks at each gift by itself. Its columns follow from its document and from the organization's clock, unless a job is about to move
// gifts to another clock. Where a gift is damaged or missing, the sums of the gifts cannot be derived.
func (d *derivation) gifts() error {
	moving, err := jobs.ZoneMoving(d.conn, d.Account)
	if err != nil {
		return err
	}
	n, last, err := eachLedgerRow(d, sqlGiftRows, func(r db.Row) ledgerRow[*gifts.StoredGift] {
		id, g := gifts.ScanGift(r)
		return ledgerRow[*gifts.StoredGift]{id, g, []any{d.Account, id, r.Int(1), r.Int(2), r.Int(3), r.Int(4), r.Int(10), r.Text(11), r.Int(12), r.Int(9), r.Text(5),
			g.Body, r.Int(7), g.Revision, r.Int(13)}, []any{r.Int(1), r.Int(9), id}}
	}, []any{first, first, first}, func(r ledgerRow[*gifts.StoredGift]) error {
		g := r.doc
		if err := d.read("gifts", 1); err != nil {
			return err
		}
		if g.Damage != nil {
			d.giving = false
			d.on.lost(Problem{What: fmt.Sprintf("gift %s: its document is damaged: %s", giving.GiftNumber(r.id), restoreIt)})
			return nil
		}
		if g.ExternalID != "" {
			d.on.derived(store.ReferenceTable, d.Account, gifts.GiftReference+g.ExternalID, r.id)
		}
		if !moving {
			g.Local = giving.GiftClock(g.At, d.Location())
		}
		return d.settle(store.GiftTable, r.row, gifts.GiftValues(d.Account, d.head(history.GiftNoun, r.id, g.Revision), &g.Gift, g.Body))
	})
	if err == nil && n < d.GiftSeq {
		d.giving = false
		d.on.lost(Problem{What: fmt.Sprintf("%d gifts of %d are missing: restore a backup", d.GiftSeq-n, d.GiftSeq)})
	}
	d.GiftSeq = max(d.GiftSeq, doc.IDSeq(last))
	return err
}

// plans looks at each plan by itself.
func (d *derivation) plans() error {
	d.giving = true
	_, last, err := eachLedgerRow(d, sqlPlanRows, func(r db.Row) ledgerRow[*gifts.StoredPlan] {
		id, p := gifts.ScanPlan(r)
		return ledgerRow[*gifts.StoredPlan]{id, p, []any{d.Account, id, r.Int(5), r.Int(6), r.Int(7), r.Int(8), r.Text(1), p.Body, r.Int(3), p.Revision}, []any{r.Int(5), id}}
	}, []any{first, first}, func(r ledgerRow[*gifts.StoredPlan]) error {
		p := r.doc
		if p.Damage != nil {
			d.giving = false
			d.on.lost(Problem{What: fmt.Sprintf("plan %s: its document is damaged: %s", giving.GiftNumber(r.id), restoreIt)})
			return nil
		}
		if p.ExternalID != "" {
			d.on.derived(store.ReferenceTable, d.Account, gifts.PlanReference+p.ExternalID, r.id)
		}
		return d.settle(store.PlanTable, r.row, gifts.PlanValues(d.Account, d.head(history.PlanNoun, r.id, p.Revision), &p.Plan, p.Body))
	})
	d.PlanSeq = max(d.PlanSeq, doc.IDSeq(last))
	return err
}

// givenSums are what the gifts of one contact come to.
type givenSums struct {
	sums map[string]giving.Sums // of the contact
	sets []string               // that they put it in
	last int64                  // when the last one was given that counts
	in   map[string]bool        // the same sets
}

// given adds up the gifts of the contacts after one id, up to another, by the columns of the gifts. The sums of the account are added up meanwhile.
func (d *derivation) given(after, to int64) (map[int64]*givenSums, error) {
	all := make(map[int64]*givenSums)
	err := d.conn.Each(func(r db.Row) error {
		s := gifts.Share{Campaign: r.Int(1), Contact: r.Int(0), Currency: r.Text(3), Month: giving.Month(gifts.OnClock(r.Int(5))), Net: r.Int(4), Recurring: r.Int(2) != 0}
		g := all[s.Contact]
		if g == nil {
			g = &givenSums{sums: make(map[string]giving.Sums), in: make(map[string]bool)}
			all[s.Contact] = g
		}
		if s.Net > 0 {
			g.last = gifts.Later(g.last, gifts.LastGiftAt(r.Int(5)))
			for _, name := range contacts.GiftSets(s.Campaign) {
				if !g.in[name] {
					g.in[name] = true
					g.sets = append(g.sets, name)
				}
			}
		}
		if d.giving {
			d.add(s, g.sums)
		}
		return nil
	}, sqlGivenBy, d.Account, after, to)
	if d.giving {
		for _, g := range all {
			d.enterDonor(g.sums)
		}
	}
	return all, err
}

// add counts a gift in the sums that it is part of: those of its contact, and those of the account.
func (d *derivation) add(s gifts.Share, own map[string]giving.Sums) {
	for _, name := range s.Cells() {
		if giving.CellContact(name) != 0 {
			own[name] = add(own[name], s)
		} else {
			d.cells[name] = add(d.cells[name], s)
		}
	}
}

// add is sums with one gift more.
func add(g giving.Sums, s gifts.Share) giving.Sums {
	if g.Entries++; s.Net > 0 {
		g.Gifts++
		g.Amount += s.Net
		if s.Recurring {
			g.Recurring += s.Net
		}
	}
	return g
}

// enterDonor hands over the sums of a contact, and counts it as a donor of campaigns where something is left of its gifts.
func (d *derivation) enterDonor(own map[string]giving.Sums) {
	for name, sums := range own {
		d.on.derived(store.GivingTable, gifts.GivingValues(d.Account, name, &sums)...)
		if campaign, _, currency, _ := giving.CellParts(name); campaign != 0 && sums.Gifts > 0 {
			all := giving.Cell(campaign, 0, currency, 0)
			total := d.cells[all]
			total.Donors++
			d.cells[all] = total
		}
	}
}
