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

// LedgerUnclear is broken by a gift of a file whose ledger does not tell what was given back.
const LedgerUnclear doc.Rule = "does not say how much was refunded: record the gift and its refund by hand"

// DecodeGiftLine reads a gift that is a JSON object in a file: it has the names of the wire, or some that people use
// instead.
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
		case key == "transactions":
			back, ok := readLedger(r)
			if !ok {
				r.Fault.Add(key, LedgerUnclear)
			}
			g.Filed = &Filed{Back: back}
		default:
			g.read(r, key)
		}
	})
	if err := r.End(); r.Err != nil {
		return GiftLine{}, nil, err
	}
	return g, &r.Fault, nil
}

// readLedger reads what of a gift went back and stayed there, nil for nothing. A correction is no refund.
func readLedger(r *doc.Reader) (back *GivenBack, ok bool) {
	if r.Next() != '[' {
		r.Skip()
		return nil, true
	}
	var g Gift
	var on *string
	ok = true
	r.Token()
	for r.Err == nil && r.Dec.PeekKind() != ']' {
		var amount, at string
		refunded := false
		r.Object(func(key string) {
			switch kind, text := r.Scalar(); key {
			case "refunded":
				refunded = kind == 't'
			case "amount":
				amount = text
			case "refunded_at":
				at = text
			}
		})
		entry := Entry{}
		digits, negative := strings.CutPrefix(amount, "-")
		units, isMoney := text.ParseDecimal(digits, text.SentDecimals, 18)
		if entry.Amount = units; negative {
			entry.Amount = -units
		}
		if refunded {
			entry.RefundedAt = time.Unix(1, 0)
			on = unlessEmpty(at)
		}
		g.Entries = append(g.Entries, entry)
		ok = ok && !(negative && !isMoney || entry.IsReversal() && g.Left() != 0)
	}
	r.Token()
	if len(g.Entries) == 0 {
		return nil, ok
	}
	refunded := g.Refunded()
	if isGone := !g.Payment().RefundedAt.IsZero() && refunded == 0; isGone { // its refund is not listed
		refunded = g.Payment().Amount
	}
	if refunded <= 0 {
		return nil, ok
	}
	return &GivenBack{Amount: &refunded, On: on}, ok
}
