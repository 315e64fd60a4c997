package crm

import (
	"strings"
	"testing"

	"golang.org/x/text/currency"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// The units of all stored amounts: the decimals of a currency code must never change. Where ISO 4217 and the practice of a
// country differ, Unicode's table follows the practice.
func TestDecimalsAreThoseOfISO4217(t *testing.T) {
	other := "AFN ALL AMD COP CRC CUP IDR IRR KPW LAK LBP MGA MMK MUR PKR RSD SOS SYP TZS UZS YER IQD HUF CZK DKK NOK SEK TWD MRO GYD CHF CAD MNT STN SLE ZMW"
	for _, code := range codes(text.IsCurrency) {
		want := map[string]int{text.NoDecimals: 0, text.ThreeDecimals: 3, text.FourDecimals: 4}
		decimals := 2
		for list, n := range want {
			if strings.Contains(list, code) {
				decimals = n
			}
		}
		if text.Decimals(code) != decimals {
			t.Errorf("%s has %d decimals", code, text.Decimals(code))
		}
		unit, err := currency.ParseISO(code)
		if err != nil || strings.Contains(other, code) {
			continue
		}
		if habit, _ := currency.Standard.Rounding(unit); habit != decimals {
			t.Errorf("%s has %d decimals, and %d in Unicode's table", code, decimals, habit)
		}
	}
	for code, want := range map[string]int{"USD": 2, "PKR": 2, "COP": 2, "JPY": 0, "KWD": 3, "IQD": 3, "CLF": 4} {
		if text.Decimals(code) != want {
			t.Errorf("%s has %d decimals, want %d", code, text.Decimals(code), want)
		}
	}
}

// Ambiguous amounts are refused, as they are for campaigns.
func TestAnAmountThatCouldBeAnotherIsRefused(t *testing.T) {
	for _, c := range []struct {
		text, currency string
		grouped        bool
		want           int64 // ten-thousandths; -1 is refused
	}{
		{"1500", "USD", true, 15_000_000}, {"1,500.50", "USD", true, 15_005_000}, {"$50", "USD", true, 500_000}, {"12.5", "USD", false, 125_000},
		{"1.500", "USD", true, -1}, {"12.000", "USD", false, -1}, {"1.500", "", false, -1}, {"1.500", "KWD", true, 15_000}, {"10.5", "JPY", true, -1},
		{"1,500", "USD", false, -1}, {"-5", "USD", true, -1}, {"five", "USD", true, -1}, {"1e3", "USD", true, -1},
	} {
		var v doc.Invalid
		n := ParseMoney(&v, "amount", c.text, c.currency, c.grouped)
		if refused := len(v.Faults) > 0; refused != (c.want < 0) || !refused && *n != c.want {
			t.Errorf("%q in %q is %d, %v, want %d", c.text, c.currency, *n, v.Faults, c.want)
		}
	}
}
