package giving

import (
	"encoding/json"
	"strconv"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// Benefit is what a giver got in return for a gift, which receipts have to say. The zero value is not known.
type Benefit struct {
	What  string // such as a dinner; None for nothing
	Value int64  // in ten-thousandths of the currency
}

// None says that a giver got nothing in return.
const None = "none"

// IsNone tells whether the giver got nothing, and someone said so.
func (b Benefit) IsNone() bool { return text.FoldCase(b.What) == None }

// Worth is the value in the smallest unit of a currency.
func (b Benefit) Worth(currency string) int64 {
	units, _ := text.MinorUnits(b.Value, currency)
	return units
}

var giftTail = doc.Table[*Gift, *GiftInput]{
	giftText("benefit", "Given in return", doc.String(doc.MaxText), func(g *Gift) *string { return &g.Benefit.What },
		func(in *GiftInput) **string { return &in.Benefit }),
	doc.Sent("benefit_value", "Its value", benefitValue, func(g *Gift) *int64 { return &g.Benefit.Value },
		func(in *GiftInput) **int64 { return &in.BenefitValue }),
}

// benefitValue is an amount in ten-thousandths, as it was sent.
var benefitValue = doc.Kind[int64]{
	Read:   func(r *doc.Reader) int64 { return doc.ReadDecimal(r, text.SentDecimals, text.SentDigits, doc.FeeRange) },
	Append: func(dst []byte, n int64) []byte { return append(dst, benefitText(n)...) },
	Check: func(c *doc.Checker, at doc.Place, name string, n *int64) {
		if *n < 0 || *n > text.MaxSentMoney {
			c.AddAt(at, name, doc.FeeRange)
		}
	},
	Text: func(n int64) string { return doc.EmptyWhere(n == 0, benefitText(n)) },
	Take: func(form doc.Form, name string) int64 {
		if sent := sentFormOf(form).money(name, doc.FeeRange); sent != nil {
			return *sent
		}
		return 0
	},
}

func benefitText(n int64) string {
	return strconv.FormatFloat(float64(n)/float64(text.ScaleOf(text.SentDecimals)), 'f', -1, 64) // exact: 13 digits
}

// HasArrived tells whether a receipt can be made: money, or a thing, has arrived and is still there.
func (g *Gift) HasArrived() bool {
	return g.Status == Succeeded && !g.Test && (g.Left() > 0 || g.Method == InKind)
}

// Receipted is what a receipt says about a gift. When it changes, the receipt is void.
func (g *Gift) Receipted() any {
	return [...]any{g.HasArrived(), g.Left(), g.LeftCovered(), g.Contact, g.Local.Format("2006-01-02"), g.Benefit,
		g.Method == "stock" || !g.IsMoney()}
}

func quoted(s string) string {
	if s == "" {
		return ""
	}
	text, _ := json.Marshal(s)
	return string(text)
}
