package move

import (
	"context"
	"encoding/json"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

const ReceiptFile = "receipts.jsonl"

// receiptNoun are receipts for gifts. They have no contact of their own, but say who gave.
var receiptNoun = &noun{file: ReceiptFile, tables: []*db.Table{store.ReceiptTable}, export: exportRows(store.ReceiptTable), read: line(readReceipt), person: receiptData,
	lacks: func(r *accountReader) bool { return r.receipts == 0 },
	end: func(r *accountReader) string {
		if r.receipts != 0 {
			return "does not have the valid receipts that gifts name"
		}
		return ""
	},
	search: []erasureLook{{"receipts", (*eraser).receipts}}}

type receiptLine struct {
	ID       int64  `json:"id"` // year and number
	Gift     int64  `json:"gift_id"`
	Amount   int64  `json:"amount"` // in the smallest unit of the currency
	Currency string `json:"currency"`
	IssuedAt int64  `json:"issued_at"`
	VoidedAt int64  `json:"voided_at"`
	Said     string `json:"said"`
}

func readReceipt(r *accountReader, l *receiptLine) (importLine, error) {
	if l.ID != r.receipt+1 && (l.ID <= r.receipt || l.ID%thanks.ReceiptsAYear != 1) || thanks.ReceiptID(thanks.ReceiptCode(l.ID)) != l.ID {
		return nil, problem("has a number that does not follow the one before it")
	}
	r.receipt = l.ID
	if err := r.own(l.Gift); err != nil || doc.IDSeq(l.Gift) > r.gifts {
		return nil, problem("names a gift that " + GiftFile + " does not have")
	}
	if l.Said != "" {
		var said thanks.ReceiptText
		if err := json.Unmarshal([]byte(l.Said), &said); err != nil {
			return nil, err
		}
		if again, err := json.Marshal(said); err != nil || string(again) != l.Said {
			return nil, problem(notWritten)
		}
	}
	if l.VoidedAt == 0 {
		r.receipts ^= thanks.Mark(l.Gift, l.ID, l.Amount)
	}
	return func(w *accountWriter) error {
		w.Insert(store.ReceiptTable, w.a.Account, l.ID, w.id(l.Gift), l.Amount, l.Currency, l.IssuedAt, l.VoidedAt, l.Said)
		return nil
	}, nil
}

const (
	sqlReceiptsAbout  = `SELECT r.id, r.id AS head FROM gift g JOIN receipt r ON r.account_id = $1 AND r.gift_id = g.id WHERE g.account_id = $1 AND g.contact_id = $2 AND r.id > $3 ORDER BY r.id LIMIT $4`
	sqlReceiptsByID   = `SELECT id, gift_id, amount, currency, issued_at, voided_at, said FROM receipt WHERE account_id = $1 AND id = ANY($2) ORDER BY id`
	sqlNextReceipts   = `SELECT r.id, r.said, (SELECT c.body FROM gift g JOIN contact c ON c.account_id = $1 AND c.id = g.contact_id WHERE g.account_id = $1 AND g.id = r.gift_id) FROM receipt r WHERE r.account_id = $1 AND r.id > $2 ORDER BY r.id LIMIT $3`
	sqlForgetReceipts = `UPDATE receipt SET said = '' WHERE account_id = $1 AND gift_id = $2`
	sqlForgetReceipt  = `UPDATE receipt SET said = '' WHERE account_id = $1 AND id = $2`
)

// receiptData are the receipts for the gifts of a person. They follow the gifts: when these are erased, the receipts keep their numbers and amounts.
var receiptData = &personal{list: "receipts", of: sqlReceiptsAbout, byID: sqlReceiptsByID,
	show: func(_ *ContactData, r db.Row) ([]byte, error) {
		return plainJSON(receiptLine{r.Int(0), r.Int(1), r.Int(2), r.Text(3), r.Int(4), r.Int(5), r.Text(6)})
	}}

// receipts takes people out of receipts for gifts that are someone else's now. What that contact is called, too, stays.
func (e *eraser) receipts(ctx context.Context, p *erasedPiece) (ended bool, err error) {
	type receipt struct {
		id         int64
		said, body string
	}
	some, err := store.List(ctx, e.JobStore.Base, func(r db.Row) receipt { return receipt{r.Int(0), r.Text(1), string(r.Bytes(2))} }, sqlNextReceipts, e.job.Account, e.at.ID, int64(eraseUnit))
	for _, r := range some {
		e.at.ID = r.id
		if r.said == "" {
			continue
		}
		said, others := crm.SaidIn(r.said), crm.SaidIn(`{"id":0`+r.body)
		if e.names(func(i *crm.Identity) bool { return i.IsNamed(&said) && i.IsNamedBeyond(&others, &said) }) {
			p.write(sqlForgetReceipt, r.id)
		}
	}
	return len(some) < eraseUnit, err
}
