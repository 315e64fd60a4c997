package giving

import (
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/rig/assert"
)

// TestRowsTellThePartsOfARefund: a column has told their sum. The covered fee goes back with them, and the ledger stays one that could be imported.
func TestRowsTellThePartsOfARefund(t *testing.T) {
	t.Parallel()
	amount, covered, back, method := int64(100_0000), int64(60_0100), int64(99_9900), "card"
	in := GiftInput{Amount: &amount, FeeCovered: &covered, Method: &method, Filed: &Filed{Back: &GivenBack{Amount: &back}}, at: time.Now().Add(-time.Hour)}
	g := assert.Must(NewGift(&in, &crm.Contact{ID: 7, FirstName: "Ada", LastName: "Byron"}, "USD", "", time.Now()))(t)
	before := g.Net()
	for i, part := range []int64{33_3300, 33_3300, 33_3300} {
		after, isKnown, err := g.RefundFiled(string(rune('a'+i)), &GiftInput{Amount: &part, at: in.at})
		if g = after; err != nil || !isKnown || g.Net() != before || len(g.Entries) != min(i+3, 4) {
			t.Fatalf("%d: %v: %+v", i, err, g.Entries)
		}
		if err := g.CheckImported(time.Now()); err != nil {
			t.Errorf("%d: %v: %+v", i, err, g.Entries)
		}
	}
	if again, isKnown, err := g.RefundFiled("b", &GiftInput{Amount: &amount, at: in.at}); err != nil || !isKnown || again.Left() != g.Left() {
		t.Errorf("%v: the same row again: %+v", err, again.Entries)
	}
	if _, _, err := g.RefundFiled("d", &GiftInput{Amount: &back, at: in.at}); err == nil {
		t.Error("more was refunded than is left")
	}
}

// A gift of today, which has noon as its time, is in the file of an account in the morning, too; one of the day after tomorrow is a mistake.
func TestAGiftOfTodayIsTakenOverInTheMorning(t *testing.T) {
	t.Parallel()
	morning := time.Date(2026, 11, 19, 1, 0, 0, 0, time.UTC)
	for days, fits := range map[int]bool{0: true, 2: false} {
		amount, method := int64(50_0000), "check"
		g := assert.Must(NewGift(&GiftInput{Amount: &amount, Method: &method, at: morning.AddDate(0, 0, days).Add(11 * time.Hour)}, &crm.Contact{ID: 7, FirstName: "Ada", LastName: "Byron"}, "USD", "", morning))(t)
		if err := g.CheckImported(morning); (err == nil) != fits {
			t.Errorf("a gift of the day %d days from now: %v", days, err)
		}
	}
}
