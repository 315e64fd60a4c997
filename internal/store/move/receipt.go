package move

import (
	"encoding/json"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

const ReceiptFile = "receipts.jsonl"

// receiptNoun are receipts for gifts. They have no contact of their own, but say who gave.
var receiptNoun = &noun{file: ReceiptFile, tables: []*db.Table{store.ReceiptTable},
	export: exportRows(store.ReceiptTable), read: line(readReceipt), person: receiptData,
	lacks: func(r *accountReader) bool { return r.receipts == 0 },
	end: func(r *accountReader) string {
		if r.receipts != 0 {
			return "does not have the valid receipts that gifts name"
		}
		return ""
	}}

type receiptLine struct {
	ID       int64  `json:"id"` // year and number
	Gift     int64  `json:"gift_id"`
	Amount   int64  `json:"amount"` // in the smallest unit of the currency
	Currency string `json:"currency"`
	IssuedAt int64  `json:"issued_at"`
	VoidedAt int64  `json:"voided_at"`
	Replaced int64  `json:"replaced_by"`
	Said     string `json:"said"`
}

func readReceipt(r *accountReader, l *receiptLine) (importLine, error) {
	if l.ID != r.receipt+1 && (l.ID <= r.receipt || l.ID%thanks.ReceiptsAYear != 1) ||
		thanks.ReceiptID(thanks.ReceiptCode(l.ID)) != l.ID {
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
		w.Insert(store.ReceiptTable, w.Number, l.ID, w.id(l.Gift), l.Amount, l.Currency, l.IssuedAt, l.VoidedAt,
			l.Replaced, l.Said)
		return nil
	}, nil
}

const (
	sqlReceiptsAbout = `SELECT r.id, r.id AS head FROM gift g JOIN receipt r ON r.account_id = $1 AND r.gift_id = g.id
		WHERE g.account_id = $1 AND g.contact_id = $2 AND r.id > $3 ORDER BY r.id LIMIT $4`
	sqlReceiptsByID = `SELECT id, gift_id, amount, currency, issued_at, voided_at, replaced_by, said FROM receipt
		WHERE account_id = $1 AND id = ANY($2) ORDER BY id`
	sqlReceiptTexts   = `SELECT id, said FROM receipt WHERE account_id = $1 AND gift_id = ANY($2) AND said <> ''`
	sqlForgetReceipts = `UPDATE receipt SET said = '' WHERE account_id = $1 AND gift_id = $2`
	sqlForgetVoid     = `UPDATE receipt SET said = '' WHERE account_id = $1 AND gift_id = $2 AND voided_at <> 0`
	sqlForgetReceipt  = `UPDATE receipt SET said = '' WHERE account_id = $1 AND id = $2`
)

// receiptData are the receipts for the gifts of a person. They follow the gifts: when these are erased, the receipts
// keep their numbers and amounts.
var receiptData = &personal{list: "receipts", of: sqlReceiptsAbout, byID: sqlReceiptsByID,
	show: func(_ *ContactData, r db.Row) ([]byte, error) {
		return plainJSON(receiptLine{r.Int(0), r.Int(1), r.Int(2), r.Text(3), r.Int(4), r.Int(5), r.Int(6), r.Text(7)})
	}}

// giverReceipts takes the people out of receipts for gifts of a contact that they were part of for a while. What the
// contact says itself stays.
func (e *eraser) giverReceipts(c db.Conn, p *erasedPiece, contact *crm.Contact, gifts []int64) error {
	body := string(contact.AppendBody(nil))
	others := crm.SaidIn(`{"id":0` + body)
	return c.Each(func(r db.Row) error {
		said := crm.SaidIn(r.Text(1))
		repeats := slices.ContainsFunc(e.spec.People, func(i crm.Identity) bool { return i.Repeats(r.Text(1), body) })
		if repeats || e.names(said, func(i *crm.Identity) bool { return i.IsNamedBeyond(others, said) }) {
			p.write(sqlForgetReceipt, r.Int(0))
		}
		return nil
	}, sqlReceiptTexts, e.job.Account, gifts)
}
