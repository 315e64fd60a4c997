package text

import (
	"cmp"
	"strconv"
	"strings"
)

// The currencies that do not have two decimals, as ISO 4217 says it. All stored sums are in these units, so the table
// must never change. That of x/text is no help here: it says how people in a country write amounts (0 decimals for
// PKR), and follows their habits.
const (
	noDecimals    = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"
	threeDecimals = "BHD IQD JOD KWD LYD OMR TND"
	fourDecimals  = "CLF UYW"
)

// Decimals is how many decimals the amounts of a currency have: 2 for USD, 0 for JPY, 3 for KWD.
func Decimals(code string) int {
	switch {
	case len(code) != 3:
		return 2
	case strings.Contains(noDecimals, code):
		return 0
	case strings.Contains(threeDecimals, code):
		return 3
	case strings.Contains(fourDecimals, code):
		return 4
	}
	return 2
}

// Amounts that are sent are counted in ten-thousandths until their currency is known: no currency has more than four
// decimals.
const (
	SentDecimals = 4
	SentDigits   = 13
	MaxSentMoney = 9_999_999_999_900 // 999,999,999.99
)

// ScaleOf is 10 to the power of n.
func ScaleOf(n int) int64 {
	scale := int64(1)
	for range n {
		scale *= 10
	}
	return scale
}

// MinorUnits are ten-thousandths as a number of the smallest unit of a currency; ok is false where there are too many
// decimals.
func MinorUnits(sent int64, code string) (units int64, ok bool) {
	step := ScaleOf(SentDecimals - Decimals(code))
	return sent / step, sent%step == 0
}

// Major is an amount in whole units of its currency; the rest is dropped.
func Major(minor int64, code string) int64 { return minor / ScaleOf(Decimals(code)) }

// AppendMinor writes an amount as a number with no more decimals than it needs: 1000, 12.5, -0.05.
func AppendMinor(dst []byte, minor int64, code string) []byte {
	if minor < 0 {
		dst, minor = append(dst, '-'), -minor
	}
	decimals := Decimals(code)
	scale := ScaleOf(decimals)
	dst = strconv.AppendInt(dst, minor/scale, 10)
	rest := minor % scale
	if rest == 0 {
		return dst
	}
	for ; rest%10 == 0; decimals-- {
		rest /= 10
	}
	digits := strconv.FormatInt(ScaleOf(decimals)+rest, 10) // with a 1 in front, so that zeros stay
	return append(append(dst, '.'), digits[1:]...)
}

// Money is an amount as it is shown: $1,500, €1,500.50, ¥1,500, 12.500 KWD.
func Money(minor int64, code string) string { return moneyText(minor, code, false) }

// MoneyExact is an amount with all its decimals, as amounts below each other are shown: $1,500.00.
func MoneyExact(minor int64, code string) string { return moneyText(minor, code, true) }

func moneyText(minor int64, code string, exact bool) string {
	code = cmp.Or(code, DefaultCurrency)
	sign := ""
	if minor < 0 {
		sign, minor = "-", -minor
	}
	scale := ScaleOf(Decimals(code))
	text := CountText(minor / scale)
	if rest := minor % scale; rest != 0 || exact && scale > 1 {
		text += "." + strconv.FormatInt(scale+rest, 10)[1:]
	}
	if mark := currencySigns[code]; mark != "" {
		return sign + mark + text
	}
	return sign + text + " " + code
}

// MoneyInput is an amount as a form or a column of a file holds it: 1500.50.
func MoneyInput(minor int64, code string) string { return string(AppendMinor(nil, minor, code)) }

// MoneyOf is an amount that MoneyInput has written, as it is shown.
func MoneyOf(input, code string) string {
	sent, ok := ParseDecimal(input, SentDecimals, 18)
	if !ok {
		return input
	}
	units, _ := MinorUnits(sent, code)
	return Money(units, code)
}

const DefaultCurrency = "USD"
