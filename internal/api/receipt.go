package api

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/text"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/store"
)

// receiptWire is a receipt as clients see it.
type receiptWire struct {
	Number      string            `json:"number"`
	Transaction string            `json:"transaction_id"`
	Status      string            `json:"status"`
	Amount      json.RawMessage   `json:"amount"`
	Currency    string            `json:"currency"`
	IssuedAt    string            `json:"issued_at"`
	VoidedAt    *string           `json:"voided_at"`
	ReplacedBy  *string           `json:"replaced_by"`
	Title       string            `json:"title"`
	From        []string          `json:"from"`
	To          []string          `json:"to"`
	Facts       []receiptWireFact `json:"facts"`
	Text        []string          `json:"text"`
}

type receiptWireFact struct {
	Label string `json:"label"`
	Value string `json:"value"`
}

func appendReceipt(r *thanks.Receipt, dst []byte) []byte {
	at := func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05+00:00") }
	wire := receiptWire{Number: r.Code(), Transaction: r.GiftCode, Status: "valid", Amount: text.AppendMinor(nil, r.Amount, r.Currency), Currency: r.Currency, IssuedAt: at(r.IssuedAt), Title: r.Text.Title,
		From: texts(r.Text.From), To: texts(r.Text.To), Facts: []receiptWireFact{}, Text: texts(r.Text.Says)}
	for _, f := range r.Text.Facts {
		wire.Facts = append(wire.Facts, receiptWireFact{f.Label, f.Value.Printed()})
	}
	if !r.VoidedAt.IsZero() {
		voided := at(r.VoidedAt)
		wire.Status, wire.VoidedAt = "void", &voided
	}
	if r.ReplacedBy != 0 {
		next := thanks.ReceiptCode(r.ReplacedBy)
		wire.ReplacedBy = &next
	}
	line, _ := json.Marshal(wire) // texts and numbers
	return append(dst, line...)
}

// getReceipt is the valid receipt for a gift, or the last one that was.
func (a *API) getReceipt(w http.ResponseWriter, r *http.Request, c call) error {
	return respond(w, func(dst []byte) ([]byte, error) {
		if err := a.checkGift(r.Context(), c); err != nil {
			return dst, err
		}
		found, err := a.store.ReceiptsOf(r.Context(), c.who.Account, store.CodeID(c.who.Account, c.code))
		if err == nil && len(found) == 0 {
			err = crm.ErrNotFound
		}
		if err != nil {
			return dst, err
		}
		return appendReceipt(&found[0], dst), nil
	})
}

func (a *API) issueReceipt(_ http.ResponseWriter, r *http.Request, c call) (store.GiftDocument, error) {
	return a.store.IssueReceipt(c.by(r), c.who.Account, c.code)
}

func (a *API) listReceipts(r *http.Request, c call, l *list) fetch {
	year := a.store.Now().UTC().Year()
	if sent := l.text("year"); sent != "" {
		n, err := strconv.Atoi(sent)
		if err != nil || n < 1900 || n > 9998 {
			l.note(doc.NewInvalid("year", "must be a year, such as 2026"))
		}
		year = n
	}
	return each(func() ([]thanks.Receipt, store.ListResult, error) {
		found, total, err := a.store.Receipts(r.Context(), c.who.Account, year, l.page)
		return found, store.ListResult{Total: total, Count: int64(len(found))}, err
	}, appendReceipt)
}

func texts(lines []mail.Line) []string {
	all := make([]string, len(lines))
	for i, line := range lines {
		all[i] = line.Printed() // clients show them as they like
	}
	return all
}
