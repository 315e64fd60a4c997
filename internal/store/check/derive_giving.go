package check

import (
	"fmt"
	"math"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

const (
	sqlGiftRows = `SELECT ` + store.GiftColumns + `, method, currency, net, ahead, thank FROM gift
		WHERE account_id = $1 AND (contact_id, given_at, id) > ($2, $3, $4) ORDER BY contact_id, given_at, id LIMIT 500`
	sqlPlanRows = `SELECT ` + store.PlanColumns + `, contact_id, campaign_id, status, next_bill FROM plan
		WHERE account_id = $1 AND (contact_id, id) > ($2, $3) ORDER BY contact_id, id LIMIT 500`
	ledgerRead = 500 // as the statements say

	sqlValidReceipts = `SELECT id, gift_id, amount FROM receipt WHERE account_id = $1 AND voided_at = 0`

	sqlCheckGifts = `SELECT contact_id, campaign_id, plan_id, currency, net, given_at, status FROM gift
		WHERE account_id = $1 AND contact_id > $2 AND contact_id <= $3`
)

// ledgerRow is a gift or a plan, with the row that it stands in.
type ledgerRow[T any] struct {
	id    int64
	doc   T
	row   []any
	place []any // behind the account, in the order of an index
}

// eachLedgerRow reads the gifts or the plans of an account from a place on. It returns how many there are, and the
// greatest id.
func eachLedgerRow[T any](d *derivation, sql string, scan func(db.Row) ledgerRow[T], after []any,
	read func(ledgerRow[T]) error,
) (n, last int64, err error) {
	for page := make([]ledgerRow[T], ledgerRead); len(page) == ledgerRead; {
		if page, err = db.List(d.conn, scan, sql, append([]any{d.Number}, after...)...); err != nil {
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

// gifts looks at each gift by itself. Its columns follow from its document and from the clock that it was recorded by,
// which two columns tell. Where they do not agree, it is the organization's present one. Where a gift is damaged or
// missing, the sums of the gifts cannot be derived.
func (d *derivation) gifts() error {
	receipts, readable := uint64(0), true // those that gifts name, less those that are valid
	n, last, err := eachLedgerRow(d, sqlGiftRows, func(r db.Row) ledgerRow[*store.StoredGift] {
		id, g := store.ScanGift(r)
		if g.Damage == nil && r.Int(9)-r.Int(13) != g.At.Unix() {
			g.Local = giving.GiftClock(g.At, d.Location())
		}
		return ledgerRow[*store.StoredGift]{id, g, []any{d.Number, id, r.Int(1), r.Int(2), r.Int(3), r.Int(4),
			r.Int(10), r.Text(11), r.Int(12), r.Int(9), r.Text(5),
			g.Body, r.Int(7), g.Revision, r.Int(13), r.Int(14)}, []any{r.Int(1), r.Int(9), id}}
	}, []any{first, first, first}, func(r ledgerRow[*store.StoredGift]) error {
		g := r.doc
		if err := d.read("gifts", 1); err != nil {
			return err
		}
		if g.Damage != nil {
			d.giving, readable = false, false
			d.on.lost(Problem{What: fmt.Sprintf("gift %s: its document is damaged: %s", giving.GiftNumber(r.id),
				restoreIt)})
			return nil
		}
		if g.Receipt != "" {
			receipts ^= thanks.Mark(r.id, thanks.ReceiptID(g.Receipt), g.Left())
		}
		d.refer(r.id, find.GiftRows(&g.Gift))
		return d.settle(store.GiftTable, r.row, store.GiftValues(d.Number, d.head(history.GiftNoun, r.id, g.Revision),
			&g.Gift, g.Body))
	})
	if err == nil {
		err = d.conn.Scan(func(r db.Row) { receipts ^= thanks.Mark(r.Int(1), r.Int(0), r.Int(2)) }, sqlValidReceipts,
			d.Number)
	}
	if err == nil && readable && receipts != 0 {
		d.on.lost(Problem{What: "the receipts that gifts name are not those that are valid, or not for these amounts: restore a backup"})
	}
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
	_, last, err := eachLedgerRow(d, sqlPlanRows, func(r db.Row) ledgerRow[*store.StoredPlan] {
		id, p := store.ScanPlan(r)
		return ledgerRow[*store.StoredPlan]{id, p, []any{d.Number, id, r.Int(5), r.Int(6), r.Int(7), r.Int(8),
			r.Text(1), p.Body, r.Int(3), p.Revision}, []any{r.Int(5), id}}
	}, []any{first, first}, func(r ledgerRow[*store.StoredPlan]) error {
		p := r.doc
		if p.Damage != nil {
			d.giving = false
			d.on.lost(Problem{What: fmt.Sprintf("plan %s: its document is damaged: %s", giving.GiftNumber(r.id),
				restoreIt)})
			return nil
		}
		d.refer(r.id, find.PlanRows(&p.Plan))
		return d.settle(store.PlanTable, r.row, store.PlanValues(d.Number, d.head(history.PlanNoun, r.id, p.Revision),
			&p.Plan, p.Body))
	})
	d.PlanSeq = max(d.PlanSeq, doc.IDSeq(last))
	return err
}

// refer adds the external ids that lead to a gift or a plan. Its sums are added up together with its contact.
func (d *derivation) refer(id int64, rows *find.Rows) {
	for _, reference := range rows.References {
		d.on.derived(store.ReferenceTable, d.Number, reference, id)
	}
}

// givenSums are what the gifts of one contact come to.
type givenSums struct {
	sums map[string]giving.Sums // of the contact
	sets []string               // that they put it in
	last int64                  // when the last one was given that counts
}

// given adds up what follows from the gifts of the contacts after one id, up to another, by the columns of the gifts.
// The sums of the account are added up meanwhile.
func (d *derivation) given(after, to int64) (map[int64]*givenSums, error) {
	all := make(map[int64]*givenSums)
	voided := giving.Gift{Status: giving.Voided}
	err := d.conn.Scan(func(r db.Row) {
		rows := find.ShareRows(giving.Share{Campaign: r.Int(1), Contact: r.Int(0), Currency: r.Text(3), At: r.Int(5),
			Net: r.Int(4), Recurring: r.Int(2) != 0,
			Voided: r.Int(6) == voided.StatusNumber()})
		g := all[r.Int(0)]
		if g == nil {
			g = &givenSums{sums: make(map[string]giving.Sums)}
			all[r.Int(0)] = g
		}
		g.last = store.Later(g.last, rows.Last)
		d.add(rows.Sums, g.sums)
	}, sqlCheckGifts, d.Number, after, to)
	for _, g := range all {
		d.enterDonor(g)
	}
	return all, err
}

// add adds to sums: to those of a contact, and to those of the account.
func (d *derivation) add(sums []find.Sum, own map[string]giving.Sums) {
	for _, s := range sums {
		to := own
		if giving.CellContact(s.Cell) == 0 {
			to = d.cells
		}
		total := to[s.Cell]
		total.Add(s.Sums)
		total.Donors += s.Donors
		to[s.Cell] = total
	}
}

// enterDonor hands over the sums of a contact, and adds what follows from them.
func (d *derivation) enterDonor(g *givenSums) {
	for name, sums := range g.sums {
		if d.giving {
			d.on.derived(store.GivingTable, store.GivingValues(d.Number, name, &sums)...)
		}
		_, donor := find.DonorRows(find.Sum{Cell: name, Sums: sums})
		d.add(donor.Sums, nil)
		g.sets = append(g.sets, donor.Sets...)
	}
}
