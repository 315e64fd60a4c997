package donate_test

import (
	"testing"

	. "donorbook/internal/crm/donate"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

// The charity never gets less than the gift, and at most one cent more, at rates that are common.
func TestCoverMakesTheGiftArriveInFull(t *testing.T) {
	for _, rate := range []Rate{{290, 30}, {220, 30}, {350, 0}, {80, 0}, {140, 20}, {150, 25}} {
		for gift := int64(1_00); gift <= 5_000_00; gift++ {
			paid := rate.Cover(gift)
			kept := (paid*rate.Points+5_000)/10_000 + rate.Fixed
			if arrives := paid - kept; arrives < gift || arrives > gift+1 {
				t.Fatalf("of %d at %+v, %d arrive of a gift of %d", paid, rate, arrives, gift)
			}
		}
	}
	assert.Equal(t, (Rate{290, 30}).Cover(100_00), 103_30, "100.00 is covered by")
	assert.Equal(t, (Rate{99_999, 0}).Cover(100_00), 133_34, "a rate without sense makes")
}

func TestAmountsFitTheCurrency(t *testing.T) {
	for currency, least := range rows.Each[int64](`
		USD  500
		EUR  500
		JPY  500
		SEK  5000
		KRW  5000
		KWD  5000
		VND  50000
		HUF  50000
	`) {
		l := DefaultLimits(currency)
		assert.Equal(t, l.Min, least, "the least in %s", currency)
		for _, amount := range append(DefaultAmounts(currency, Once), DefaultAmounts(currency, Monthly)...) {
			assert.Equal(t, l.Has(amount), true, "%d %s is offered", amount, currency)
		}
	}
	assert.Equal(t, Limits{Min: 1, Max: 1 << 60}.Fits("USD"), Limits{1_00, 99_999_999}, "limits without sense become")
	assert.Equal(t, Limits{Min: 20_00, Max: 10_00}.Fits("USD").Has(10_00), true, "something fits")
}
