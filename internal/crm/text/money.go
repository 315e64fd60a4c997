package text

import (
	"cmp"
	"strconv"
	"strings"
)

// currencySigns are those that readers of English know at sight. Every other amount is followed by its code.
var currencySigns = map[string]string{
	"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "INR": "₹", "ILS": "₪", "KRW": "₩", "NGN": "₦", "PHP": "₱",
	"VND": "₫",
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

// Money is counted in cents, up to 9,999,999,999.99. The number of donors is one that every JSON client holds exactly.
const (
	CentDigits  = 12
	MaxCents    = 999_999_999_999
	DonorDigits = 15
	MaxDonors   = 999_999_999_999_999
)

// ParseDecimal reads a JSON number that is not negative, exactly, as a count of units of which 10^scale make one:
// 12.5 is 1250 at scale 2. It fails where a fraction of a unit, or more than so many digits, would remain.
func ParseDecimal(text string, scale, digits int) (units int64, ok bool) {
	mantissa, exponent, found := strings.Cut(strings.ToLower(text), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	whole, negative := strings.CutPrefix(whole, "-")
	figures := strings.TrimLeft(whole+fraction, "0")
	shift := scale - len(fraction)
	if trimmed := strings.TrimRight(figures, "0"); trimmed != figures {
		shift += len(figures) - len(trimmed)
		figures = trimmed
	}
	if figures == "" {
		return 0, true // zero, whatever its sign and exponent
	}
	if found {
		n, err := strconv.Atoi(exponent)
		if err != nil || max(n, -n) > len(text)+digits {
			return 0, false
		}
		shift += n
	}
	if negative || shift < 0 || len(figures)+shift > digits {
		return 0, false
	}
	units, err := strconv.ParseInt(figures+strings.Repeat("0", shift), 10, 64)
	return units, err == nil
}

// AppendCents writes an amount in cents as a number with no more decimals than it needs: 1000, 12.5, 12.34.
func AppendCents(dst []byte, cents int64) []byte {
	dst = strconv.AppendInt(dst, cents/100, 10)
	switch rest := cents % 100; {
	case rest == 0:
		return dst
	case rest%10 == 0:
		return append(dst, '.', '0'+byte(rest/10))
	default:
		return appendPair(append(dst, '.'), int(rest))
	}
}
