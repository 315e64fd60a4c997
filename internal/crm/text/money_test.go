package text

import (
	"testing"

	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestMoneyText(t *testing.T) {
	for _, test := range rows.Of[struct {
		Cents          int64
		Currency, Want string
	}](`
		150000        USD  $1,500
		150050        USD  $1,500.50
		150005        ""   $1,500.05
		0             USD  $0
		7             GBP  £0.07
		150050        EUR  €1,500.50
		150000        CHF  1,500 CHF
		99900         CAD  CA$999
		100000        JPY  ¥1,000
		999999999999  SEK  9,999,999,999.99 SEK
	`) {
		assert.Equal(t, MoneyText(test.Cents, test.Currency), test.Want, "%+v", test)
	}
}
