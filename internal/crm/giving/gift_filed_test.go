package giving

import (
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/rig/assert"
)

// TestRowsTellThePartsOfARefund: a column has told their sum. The covered fee goes back with them, and the ledger stays
// one that could be imported.
func TestRowsTellThePartsOfARefund(t *testing.T) {
	t.Parallel()
	now := formToday
	back, at := new(int64(99_9900)), now.Add(-time.Hour)
	g := filed(t, GiftInput{
		Amount: new(int64(100_0000)), FeeCovered: new(int64(60_0100)), Method: new("card"),
		Filed: &Filed{Back: &GivenBack{Amount: back}},
		at:    at,
	}, now)
	before := g.Net()
	for i, id := range []string{"a", "b", "c", "b"} { // the last row comes again
		after, isKnown, err := g.RefundFiled(id, &GiftInput{Amount: new(int64(33_3300)), at: at})
		assert.Succeed(t, err)
		g = after
		assert.Equal(t, isKnown, true, "%d", i)
		assert.Equal(t, g.Net(), before, "%d", i)
		assert.Equal(t, len(g.Entries), min(i+3, 4), "%d: %+v", i, g.Entries)
		assert.Succeed(t, g.CheckImported(now))
	}
	_, _, err := g.RefundFiled("d", &GiftInput{Amount: back, at: at})
	assert.Equal(t, err != nil, true, "more was refunded than is left")
}

// A gift of today, which has noon as its time, is in the file of an account in the morning, too; one of the day after
// tomorrow is a mistake.
func TestAGiftOfTodayIsTakenOverInTheMorning(t *testing.T) {
	t.Parallel()
	morning := time.Date(2026, 11, 19, 1, 0, 0, 0, time.UTC)
	for _, days := range []int{0, 2} {
		at := morning.AddDate(0, 0, days).Add(11 * time.Hour)
		g := filed(t, GiftInput{Amount: new(int64(50_0000)), Method: new("check"), at: at}, morning)
		assert.Equal(t, g.CheckImported(morning) == nil, days == 0, "%d days from now", days)
	}
}

// filed is a gift of a row of a file.
func filed(t *testing.T, in GiftInput, now time.Time) Gift {
	t.Helper()
	return assert.Must(NewGift(&in, &crm.Contact{ID: 7, FirstName: "Ada", LastName: "Byron"}, "USD", "", now))(t)
}
