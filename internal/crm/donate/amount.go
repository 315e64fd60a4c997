package donate

import (
	"strings"

	"donorbook/internal/crm/text"
)

// Rate is what a provider keeps: a part of each payment, and a fixed amount in the smallest unit of the currency. Rates
// differ by country, card and contract, so they are a setting, and what a giver covers is an estimate.
type Rate struct {
	Points int64 // hundredths of a percent: 290 is 2.9 %
	Fixed  int64
}

// MaxPoints is the largest rate that can be covered: a quarter.
const MaxPoints = 2500

// Cover is what must be paid so that a gift arrives in full.
func (r Rate) Cover(gift int64) (paid int64) {
	points := max(0, min(r.Points, MaxPoints))
	whole := (gift + max(0, r.Fixed)) * 10_000
	left := 10_000 - points
	return (whole + left - 1) / left
}

// Chargeable is an amount that cards can be charged with, not less than the given one: networks have no thousandths,
// and no parts of an ariary.
func Chargeable(amount int64, currency string) int64 {
	step := int64(1)
	switch {
	case text.Decimals(currency) > 2:
		step = 10
	case currency == "MGA":
		step = 100
	}
	return (amount + step - 1) / step * step
}

// Limits are the least and the most that can be given at once, in the smallest unit of a currency.
type Limits struct{ Min, Max int64 }

// MaxPayment is the most that providers take in one payment: eight digits.
const MaxPayment = 99_999_999

// DefaultLimits of a currency begin at about five dollars, because thieves try cards with less.
func DefaultLimits(currency string) Limits { return Limits{Min: 5 * Unit(currency), Max: MaxPayment} }

// Fits keeps limits that an organization has chosen within what is possible; 0 is not chosen.
func (l Limits) Fits(currency string) Limits {
	possible := DefaultLimits(currency)
	if l.Max <= 0 || l.Max > possible.Max {
		l.Max = possible.Max
	}
	if l.Min <= 0 {
		l.Min = possible.Min
	}
	l.Min = min(max(l.Min, Unit(currency)), l.Max)
	return l
}

// Has tells whether an amount is within the limits.
func (l Limits) Has(amount int64) bool { return amount >= l.Min && amount <= l.Max }

// DefaultAmounts are offered on a form.
func DefaultAmounts(currency, frequency string) (amounts []int64) {
	steps := []int64{25, 50, 100, 250}
	if frequency != Once {
		steps = []int64{10, 25, 50, 100}
	}
	for _, step := range steps {
		amounts = append(amounts, step*Unit(currency))
	}
	return amounts
}

// Currencies in which about as much as a dollar is a number of two to five digits. People give round amounts, so the
// powers of ten are enough.
const (
	tens         = "BDT CZK DKK DOP EGP HKD HNL INR KES MAD MDL MXN NIO NOK NPR PHP SEK THB TRY TWD UAH UYU ZAR ZMW"
	hundreds     = "AMD ARS CLP CRC DZD HUF ISK JMD JPY KZT LKR NGN PKR RSD RUB TZS XAF XOF XPF"
	thousands    = "COP KHR KRW LBP MGA MMK MNT PYG RWF UGX"
	tenThousands = "IDR LAK UZS VND"
)

// Unit is an amount of a currency that is worth about a dollar, in its smallest unit: 100 for USD and JPY, 1000 for
// SEK.
func Unit(currency string) int64 {
	unit := text.ScaleOf(text.Decimals(currency))
	for i, codes := range []string{tens, hundreds, thousands, tenThousands} {
		if len(currency) == 3 && strings.Contains(codes, currency) {
			return unit * text.ScaleOf(i+1)
		}
	}
	return unit
}
