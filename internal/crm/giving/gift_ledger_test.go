package giving

import (
	"fmt"
	"testing"
	"time"

	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

// TestARefundThatWasUndoneIsNotTheLastOne: the day of a refund is that of the last one that stayed.
func TestARefundThatWasUndoneIsNotTheLastOne(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2026, 3, n, 9, 0, 0, 0, time.UTC) }
	for _, c := range rows.Of[struct {
		What       string
		Refunds    []string // dollars, and the day
		Undo, Last int      // dollars, -1 where an import that has told the last refund is undone
	}](`
		two refunds                            30/3 20/7  0   7
		the last of them was told by mistake   30/3 20/7  -1  3
		the last of two equal ones was untold  30/3 30/7  -1  3
		the last of them was undone            30/3 20/7  20  3
		the first of them was undone           30/3 20/7  30  7
		more than the last one was undone      30/3 20/7  25  3
		a part of the last one was undone      30/3 20/7  5   7
		all of them were undone                30/3 20/7  50  0
	`) {
		g := Gift{Status: Succeeded, Currency: "USD",
			Entries: []Entry{{ID: "payment", Amount: 100_00, CapturedAt: day(1)}}}
		for _, refund := range c.Refunds {
			var dollars int64
			var n int
			assert.Must(fmt.Sscanf(refund, "%d/%d", &dollars, &n))(t)
			g = g.giveBack(entryID(day(n).String()), dollars*100, day(n))
		}
		if c.Undo < 0 {
			after, ok := g.untell(-g.Refunded()+30_00, day(9))
			assert.Equal(t, ok, true, "%s: it can be undone", c.What)
			g = after
		} else if c.Undo > 0 {
			g = assert.Must(g.UndoRefund(new(int64(c.Undo)*1_0000), day(10)))(t)
		}
		last := g.RefundedAt()
		assert.Equal(t, last.Equal(day(c.Last)) || last.IsZero() && c.Last == 0, true, "%s: refunded on %v, %+v",
			c.What, last, g.Entries)
	}
}
