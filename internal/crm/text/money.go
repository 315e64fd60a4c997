package text

import (
	"cmp"
	"strconv"
)

// CurrencySigns are those that readers of English know at sight. Every other amount is followed by its code.
var CurrencySigns = map[string]string{
	"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "INR": "₹", "ILS": "₪", "KRW": "₩", "NGN": "₦", "PHP": "₱", "VND": "₫",
	"AUD": "A$", "BRL": "R$", "CAD": "CA$", "HKD": "HK$", "MXN": "MX$", "NZD": "NZ$", "TWD": "NT$", "CNY": "CN¥",
}

// MoneyText is an amount as it is shown: $1,500, €1,500.50, 1,500 CHF.
func MoneyText(cents int64, currency string) string {
	currency = cmp.Or(currency, DefaultCurrency)
	if sign := CurrencySigns[currency]; sign != "" {
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
