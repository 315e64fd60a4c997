package giving

import (
	"testing"
	"time"

	"donorbook/internal/rig/assert"
)

// TestARefundThatWasUndoneIsNotTheLastOne: the day of a refund is that of the last one that stayed.
func TestARefundThatWasUndoneIsNotTheLastOne(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2026, 3, n, 9, 0, 0, 0, time.UTC) }
	paid := Gift{Status: Succeeded, Currency: "USD", Entries: []Entry{{ID: "payment", Amount: 100_00, CapturedAt: day(1)}}}
	refund := func(g Gift, amount int64, n int) Gift { return g.giveBack(entryID(day(n).String()), amount, day(n)) }
	two := refund(refund(paid, 30_00, 3), 20_00, 7)
	untold := func(g Gift) Gift {
		after, ok := g.untell(-g.Refunded()+30_00, day(9))
		if !ok {
			t.Fatal("the import that has told the last refund cannot be undone")
		}
		return after
	}
	undo := func(g Gift, dollars int64) Gift {
		sent := dollars * 1_0000
		after := assert.Must(g.UndoRefund(&sent, day(10)))(t)
		return after
	}
	for what, c := range map[string]struct {
		gift Gift
		last int
	}{
		"two refunds":                           {two, 7},
		"the last of them was told by mistake":  {untold(two), 3},
		"the last of two equal ones was untold": {untold(refund(refund(paid, 30_00, 3), 30_00, 7)), 3},
		"the last of them was undone":           {undo(two, 20), 3},
		"the first of them was undone":          {undo(two, 30), 7},
		"more than the last one was undone":     {undo(two, 25), 3},
		"a part of the last one was undone":     {undo(two, 5), 7},
	} {
		if at := c.gift.RefundedAt(); !at.Equal(day(c.last)) {
			t.Errorf("%s: refunded on %v, want %v: %+v", what, at, day(c.last), c.gift.Entries)
		}
	}
	all := undo(two, 50)
	if at := all.RefundedAt(); !at.IsZero() {
		t.Errorf("all refunds were undone, but the last was on %v", at)
	}
}
