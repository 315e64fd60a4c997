package giving

import (
	"bytes"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// Sort is the order of a list of gifts or plans. Those that are equal are in the order in which they were recorded;
// descending is the exact reverse of ascending.
type Sort struct {
	By         SortField
	Descending bool
}

// SortField is what gifts and plans are sorted by.
type SortField string

// The fields. Gifts and plans of an account are numbered as they are recorded, so that for them ByID and ByCreation are
// the same.
const (
	ByID       SortField = ""
	ByCreation SortField = "created_at"
	ByTime     SortField = "transacted_at" // of a plan: when it starts
	ByAmount   SortField = "amount"
	ByNextBill SortField = "next_bill_date"
)

// InOrder tells whether the list of one account is sorted as it was recorded, or the reverse of it.
func (s Sort) InOrder() bool { return s.By == ByID || s.By == ByCreation }

// parseSort reads the order of a list that may also be sorted by more fields.
func parseSort(v *doc.Invalid, value func(name string) string, more ...SortField) Sort {
	fields := append(more, ByCreation, ByAmount, "id")
	by, descending := crm.ParseSort(v, value, text.Strings(fields)...)
	switch by {
	case "id":
		by = ""
	case "start_at":
		by = string(ByTime)
	}
	return Sort{SortField(by), descending}
}

// GiftKey is what a gift is sorted by, from its stored body. What cannot be read comes first: a list shows that it is
// damaged where it is shown itself.
func (s Sort) GiftKey(body []byte) int64 {
	if s.By == ByAmount {
		_, amount, _, _ := doc.CutField(body, "amount")
		return amountKey(amount)
	}
	_, at, _, _ := doc.CutField(body, string(s.By))
	t, _ := time.Parse(time.RFC3339, string(bytes.Trim(at, `"`)))
	return t.Unix()
}

// amountKey is an amount in ten-thousandths, whatever its currency is.
func amountKey(amount []byte) int64 {
	n, _ := text.ParseDecimal(string(amount), text.SentDecimals, text.SentDigits)
	return n
}

// PlanKey is what a plan is sorted by.
func (s Sort) PlanKey(p *Plan) int64 {
	switch s.By {
	case ByAmount:
		return amountKey(text.AppendMinor(nil, p.Amount, p.Currency))
	case ByTime:
		return p.StartAt.Unix()
	case ByNextBill:
		return p.NextBill.Unix()
	}
	return 0
}
