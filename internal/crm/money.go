package crm

import (
	"cmp"
	"strconv"
	"strings"
)

// currencySigns are those that readers of English know at sight. Every other amount is followed by its code.
var currencySigns = map[string]string{
	"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "INR": "₹", "ILS": "₪", "KRW": "₩", "NGN": "₦", "PHP": "₱", "VND": "₫",
	"AUD": "A$", "BRL": "R$", "CAD": "CA$", "HKD": "HK$", "MXN": "MX$", "NZD": "NZ$", "TWD": "NT$", "CNY": "CN¥",
}

// MoneyText is an amount as it is shown: $1,500, €1,500.50, 1,500 CHF.
func MoneyText(cents int64, currency string) string {
	currency = cmp.Or(currency, DefaultCurrency)
	if sign := currencySigns[currency]; sign != "" {
		return sign + AmountText(cents)
	}
	return AmountText(cents) + " " + currency
}

// AmountText is an amount without its currency: 1,500 or 1,500.50.
func AmountText(cents int64) string {
	text := CountText(cents / 100)
	if rest := cents % 100; rest != 0 {
		text = string(appendPair(append([]byte(text), '.'), int(rest)))
	}
	return text
}

// CountText is a number that is not negative, with its thousands apart: 1,234,567.
func CountText(n int64) string {
	digits := strconv.FormatInt(n, 10)
	var text []byte
	for i := range len(digits) {
		if i > 0 && (len(digits)-i)%3 == 0 {
			text = append(text, ',')
		}
		text = append(text, digits[i])
	}
	return string(text)
}

// ParseAmount reads an amount as people write it into cents: 1500.5, 1,500, $1,500.50, with or without the sign or the
// code of its currency. Nothing is 0. What could be read in two ways, such as 1.500, is a fault.
func ParseAmount(v *Invalid, field, text, currency string) (cents int64) {
	if text = strings.TrimSpace(text); text == "" {
		return 0
	}
	digits, ok := typedAmount(text, currency)
	if ok {
		cents, ok = parseDecimal(digits, 2, centDigits)
	}
	if !ok {
		v.Add(field, "must be an amount from 0 to %v, written such as 1,500 or 1500.50", AmountText(maxCents))
	}
	return cents
}

// typedAmount are the digits of an amount that stands in a form.
func typedAmount(text, currency string) (digits string, ok bool) {
	a, fault := ReadAmount(text, currency, "")
	return a.Digits, fault == "" && !a.IsNegative && signFits(a.Sign, cmp.Or(currency, DefaultCurrency))
}

// ParseNumber reads a whole number as people write it: 1234 or 1,234. Nothing is 0.
func ParseNumber(v *Invalid, field, text string) (n int64) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0
	}
	digits, fault := englishDigits(plainSigns.Replace(text), 0)
	ok := fault == ""
	if ok {
		n, ok = parseDecimal(digits, 0, donorDigits)
	}
	if !ok {
		v.Add(field, "must be a whole number from 0 to %v", CountText(maxDonors))
	}
	return n
}

// Progress is how much of the goal has been raised, in whole percent and never rounded up, so that no page tells of a goal that is
// not reached yet. There is none without a goal.
func (c *Campaign) Progress() (percent int64, ok bool) {
	if c.Goal == 0 {
		return 0, false
	}
	return c.Raised() * 100 / c.Goal, true
}
