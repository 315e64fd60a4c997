package giving

import (
	"fmt"
	"strings"
	"testing"

	"donorbook/internal/crm/text"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

// What a gift is called follows from its ledger: whatever was refunded and undone.
func TestWhatAGiftIsCalledFollowsFromItsLedger(t *testing.T) {
	g := Gift{Status: Pending, Currency: "USD", Entries: []Entry{{ID: "payment", Amount: 50_00, CapturedAt: formToday}}}
	for _, step := range rows.Of[struct{ What, Called string }](`
		promised   Pledged
		received   Received
		refund 20  Partly refunded
		refund 30  Refunded
		undone     Received
		withdrawn  Canceled
	`) {
		var dollars int64
		switch step.What {
		case "received":
			g.Status = Succeeded
		case "undone":
			g = assert.Must(g.UndoRefund(nil, formToday))(t)
		case "withdrawn":
			g = g.Withdraw()
		default:
			if n, _ := fmt.Sscanf(step.What, "refund %d", &dollars); n == 1 {
				g = assert.Must(g.Refund(new(dollars*text.ScaleOf(text.SentDecimals)), formToday))(t)
			}
		}
		assert.Equal(t, Words[g.Standing()], step.Called, "%s, the gift is called (%v)", step.What, g.Entries)
	}
}

// A statement says what was paid, and how much of it covered fees, less refunds.
func TestAStatementSaysWhatCoveredFees(t *testing.T) {
	for _, covered := range []int64{4_94, 0} {
		s := Statement{Year: 2026, Currency: "USD"}
		s.Add(&Gift{
			Status: Succeeded, Currency: "USD", Method: "card", Local: formToday,
			Entries: []Entry{{ID: "payment", Amount: 529_94, FeeCovered: covered}},
		}, "", false)
		assert.Equal(t, s.Total(), "$529.94", "total")
		says := strings.Join(s.Says("Harbor", false), "\n")
		assert.Equal(t, strings.Contains(says, "$4.94 of the total covered processing fees."), covered > 0, "%s", says)
		assert.Equal(t, strings.Contains(says, "fees"), covered > 0, "%s", says)
	}
}
