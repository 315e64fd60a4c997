package giving

import (
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm/text"
	"donorbook/internal/rig/assert"
)

// What a gift is called follows from its ledger: whatever was refunded and undone.
func TestWhatAGiftIsCalledFollowsFromItsLedger(t *testing.T) {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	g := Gift{Status: Pending, Currency: "USD", Entries: []Entry{{ID: "payment", Amount: 50_00, CapturedAt: now}}}
	called := func(want string) {
		t.Helper()
		assert.Equal(t, Words[g.Standing()], want, "the gift is called (%v)", g.Entries)
	}
	refund := func(dollars int64) {
		t.Helper()
		made := assert.Must(g.Refund(new(dollars*text.ScaleOf(text.SentDecimals)), now))(t)
		g = made
	}
	called("Pledged")
	g.Status = Succeeded
	called("Received")
	refund(20)
	called("Partly refunded")
	refund(30)
	called("Refunded")
	made := assert.Must(g.UndoRefund(nil, now))(t)
	g = made
	called("Received")
	g = g.Withdraw()
	called("Canceled")
}

// A statement says what was paid, and how much of it covered fees, less refunds.
func TestAStatementSaysWhatCoveredFees(t *testing.T) {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	g := Gift{Status: Succeeded, Currency: "USD", Method: "card", Local: now, Entries: []Entry{{ID: "payment", Amount: 529_94, FeeCovered: 4_94}}}
	s := Statement{Year: 2026, Currency: "USD"}
	s.Add(&g, "", false)
	says := strings.Join(s.Says("Harbor", false), "\n")
	assert.Equal(t, s.Total(), "$529.94", "total")
	assert.Contains(t, says, "$4.94 of the total covered processing fees.", "total")
	none := Statement{Year: 2026, Currency: "USD"}
	plain := Gift{Status: Succeeded, Currency: "USD", Method: "card", Local: now, Entries: []Entry{{ID: "payment", Amount: 10_00}}}
	none.Add(&plain, "", false)
	if says := strings.Join(none.Says("Harbor", false), "\n"); strings.Contains(says, "fees") {
		t.Errorf("no fee was covered: %s", says)
	}
}
