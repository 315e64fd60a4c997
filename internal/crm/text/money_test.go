package text

import (
	"testing"

	"donorbook/internal/rig/assert"
)

func TestMoneyText(t *testing.T) {
	for _, test := range []struct {
		cents    int64
		currency string
		want     string
	}{
		{150_000, "USD", "$1,500"}, {150_050, "USD", "$1,500.50"}, {150_005, "", "$1,500.05"}, {0, "USD", "$0"}, {7, "GBP", "£0.07"},
		{150_050, "EUR", "€1,500.50"}, {150_000, "CHF", "1,500 CHF"}, {99_900, "CAD", "CA$999"}, {100_000, "JPY", "¥1,000"},
		{MaxCents, "SEK", "9,999,999,999.99 SEK"},
	} {
		assert.Equal(t, MoneyText(test.cents, test.currency), test.want,
			"%d cents of %q are shown", test.cents, test.currency)
	}
	for code := range currencySigns {
		if !IsCurrency(code) {
			t.Errorf("%s is no currency", code)
		}
	}
}
