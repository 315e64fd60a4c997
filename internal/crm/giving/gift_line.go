package giving

import (
	"bytes"
	"strings"
	"time"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// GiftLine is a gift as a file has it.
type GiftLine struct {
	GiftInput
	CampaignName string // the id, the slug or the title of a campaign; "" is none
	Own          string // the id of a gift that was exported; "" is none
}

// RejectedKey is the key, or the column, with the reason in a file of rejected gifts. It is not read.
const RejectedKey = "rejected"

// RefundLost is broken by a gift of a file that was refunded.
const RefundLost doc.Rule = "says that money was refunded, which cannot be imported: record the gift and its refund by hand"

// DecodeGiftLine reads a gift that is a JSON object in a file: it has the names of the wire, or some that people use instead.
func DecodeGiftLine(document []byte) (g GiftLine, faults *doc.Invalid, err error) {
	r := doc.NewReader("The row", bytes.TrimSpace(document))
	r.Document(func(key string) {
		switch {
		case key == "campaign":
			g.CampaignName = r.TextOrNumber()
		case key == "date":
			g.GivenAt = r.TextSent()
		case key == "external_reference":
			g.ExternalID = r.TextSent()
		case key == "id" && r.Next() == '"':
			g.Own = r.Text()
		case key == RejectedKey, key == "campaign_code":
			r.Skip()
		case key == "transactions" && hasRefund(r):
			r.Fault.Add(key, RefundLost)
		case key == "transactions":
		default:
			g.read(r, key)
		}
	})
	if err := r.End(); r.Err != nil {
		return GiftLine{}, nil, err
	}
	return g, &r.Fault, nil
}

// hasRefund reads the ledger of a gift, and tells whether money went back and stayed there. A correction is no refund.
func hasRefund(r *doc.Reader) (found bool) {
	if r.Next() != '[' {
		r.Skip()
		return false
	}
	var g Gift
	r.Token()
	for r.Err == nil && r.Dec.PeekKind() != ']' {
		var amount string
		refunded := false
		r.Object(func(key string) {
			switch kind, text := r.Scalar(); key {
			case "refunded":
				refunded = kind == 't'
			case "amount":
				amount = text
			}
		})
		entry := Entry{}
		digits, negative := strings.CutPrefix(amount, "-")
		units, ok := text.ParseDecimal(digits, text.SentDecimals, 18)
		if entry.Amount = units; negative {
			entry.Amount = -units
		}
		if refunded {
			entry.RefundedAt = time.Unix(1, 0)
		}
		g.Entries = append(g.Entries, entry)
		found = found || refunded && !negative || negative && !ok || entry.IsReversal() && g.Left() != 0
	}
	r.Token()
	return found || len(g.Entries) > 0 && g.Refunded() > 0
}
