package campaign

import (
	"strings"
	"testing"

	"donorbook/internal/crm/crmtest"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestParseAmount(t *testing.T) {
	for _, test := range rows.Of[struct {
		Text, Currency string
		Cents          int64
	}](`
		""                USD  0
		" "               USD  0
		0                 USD  0
		1500              USD  150000
		1,500             USD  150000
		1500.5            USD  150050
		$1,500.50         USD  150050
		" $ 1500 "        ""   150000
		1500 USD          USD  150000
		USD 7.05          USD  705
		€20               EUR  2000
		20 €              EUR  2000
		1'500 CHF         CHF  150000
		"1\u00a0500"      EUR  150000
		12 345            EUR  1234500
		CA$5              CAD  500
		$5                CAD  500
		9,999,999,999.99  USD  999999999999
		007               USD  700
	`) {
		var v doc.Invalid
		if cents := parseAmount(&v, "goal", test.Text, test.Currency); cents != test.Cents || v.Err() != nil {
			t.Errorf("%q is %d cents, %v; want %d", test.Text, cents, v.Err(), test.Cents)
		}
	}
	for _, text := range append(rows.All(`
		$  USD  ten  -5  +5  1e3  0x10  1.500  1.  .5  1,50  1,5000  1500,00  ,500  1,,500  1,500,  1.5.0  1.500,00
		€5  5 CHF  10,000,000,000  10000000000  ٣  "1\n500"
	`),
		strings.Repeat("9", 400)) {
		var v doc.Invalid
		cents := parseAmount(&v, "goal", text, "USD")
		crmtest.WantFaults(t, text, v.Err(),
			"The goal field must be 0 or more and less than 10 billion, such as 1,500 or 1500.50.")
		assert.Equal(t, cents, 0, "%q", text)
	}
}

func TestParseNumber(t *testing.T) {
	for text, want := range map[string]int64{"": 0, " 12 ": 12, "1,234": 1234, "1234567": 1_234_567,
		"999,999,999,999,999": text.MaxDonors} {
		var v doc.Invalid
		if n := parseNumber(&v, "donors", text); n != want || v.Err() != nil {
			t.Errorf("%q is %d, %v", text, n, v.Err())
		}
	}
	for _, text := range rows.All(`1.5  -1  1,23  many  1000000000000000  1e3`) {
		var v doc.Invalid
		parseNumber(&v, "donors", text)
		crmtest.WantFaults(t, text, v.Err(), "The donors field must be a whole number from 0 to 999,999,999,999,999.")
	}
}

// FuzzParseAmount: what is accepted is shown, and what is shown is accepted as the same amount.
func FuzzParseAmount(f *testing.F) {
	for _, text := range rows.All(`1,500  $1,500.50  1500 CHF  1.500  1'500  ""`) {
		f.Add(text, "USD")
	}
	f.Fuzz(func(t *testing.T, value, currency string) {
		var v doc.Invalid
		cents := parseAmount(&v, "goal", value, currency)
		if v.Err() != nil {
			return
		}
		if cents < 0 || cents > text.MaxCents {
			t.Fatalf("%q is %d cents", value, cents)
		}
		for _, shown := range []string{text.AmountText(cents), text.MoneyText(cents, "USD")} {
			if again := parseAmount(&v, "goal", shown, "USD"); again != cents || v.Err() != nil {
				t.Fatalf("%q is shown as %q, which is %d, %v", value, shown, again, v.Err())
			}
		}
	})
}
