package crm

import (
	"bytes"
	"strings"
	"time"
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
const RefundLost Rule = "says that money was refunded, which cannot be imported: record the gift and its refund by hand"

// DecodeGiftLine reads a gift that is a JSON object in a file: it has the names of the wire, or some that people use instead.
func DecodeGiftLine(document []byte) (g GiftLine, faults *Invalid, err error) {
	r := newJSONReader("The row", bytes.TrimSpace(document))
	r.document(func(key string) {
		switch {
		case key == "campaign":
			g.CampaignName = r.textOrNumber()
		case key == "date":
			g.GivenAt = r.textSent()
		case key == "external_reference":
			g.ExternalID = r.textSent()
		case key == "id" && r.next() == '"':
			g.Own = r.text()
		case key == RejectedKey, key == "campaign_code":
			r.skip()
		case key == "transactions" && r.hasRefund():
			r.fault.Add(key, RefundLost)
		case key == "transactions":
		default:
			g.read(r, key)
		}
	})
	if err := r.end(); r.err != nil {
		return GiftLine{}, nil, err
	}
	return g, &r.fault, nil
}

// hasRefund reads the ledger of a gift, and tells whether money went back and stayed there. A correction is no refund.
func (r *jsonReader) hasRefund() (found bool) {
	if r.next() != '[' {
		r.skip()
		return false
	}
	var g Gift
	r.token()
	for r.err == nil && r.dec.PeekKind() != ']' {
		var amount string
		refunded := false
		r.object(func(key string) {
			switch kind, text := r.scalar(); key {
			case "refunded":
				refunded = kind == 't'
			case "amount":
				amount = text
			}
		})
		entry := Entry{}
		digits, negative := strings.CutPrefix(amount, "-")
		units, ok := parseDecimal(digits, sentDecimals, 18)
		if entry.Amount = units; negative {
			entry.Amount = -units
		}
		if refunded {
			entry.RefundedAt = time.Unix(1, 0)
		}
		g.Entries = append(g.Entries, entry)
		found = found || refunded && !negative || negative && !ok || entry.IsReversal() && g.Left() != 0
	}
	r.token()
	return found || len(g.Entries) > 0 && g.Refunded() > 0
}
