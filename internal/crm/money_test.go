package crm

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

func TestMoneyText(t *testing.T) {
	for _, test := range []struct {
		cents    int64
		currency string
		want     string
	}{
		{150_000, "USD", "$1,500"}, {150_050, "USD", "$1,500.50"}, {150_005, "", "$1,500.05"}, {0, "USD", "$0"}, {7, "GBP", "£0.07"},
		{150_050, "EUR", "€1,500.50"}, {150_000, "CHF", "1,500 CHF"}, {99_900, "CAD", "CA$999"}, {100_000, "JPY", "¥1,000"},
		{text.MaxCents, "SEK", "9,999,999,999.99 SEK"},
	} {
		if got := text.MoneyText(test.cents, test.currency); got != test.want {
			t.Errorf("%d cents of %q are shown as %s, want %s", test.cents, test.currency, got, test.want)
		}
	}
	for code := range text.CurrencySigns {
		if !text.IsCurrency(code) {
			t.Errorf("%s is no currency", code)
		}
	}
}

func TestParseAmount(t *testing.T) {
	for _, test := range []struct {
		text, currency string
		cents          int64
	}{
		{"", "USD", 0}, {"  ", "USD", 0}, {"0", "USD", 0}, {"1500", "USD", 150_000}, {"1,500", "USD", 150_000}, {"1500.5", "USD", 150_050},
		{"$1,500.50", "USD", 150_050}, {" $ 1500 ", "", 150_000}, {"1500 USD", "USD", 150_000}, {"USD 7.05", "USD", 705},
		{"€20", "EUR", 2000}, {"20 €", "EUR", 2000}, {"1'500 CHF", "CHF", 150_000}, {"1\u00a0500", "EUR", 150_000}, {"12 345", "EUR", 1_234_500},
		{"CA$5", "CAD", 500}, {"$5", "CAD", 500}, {"9,999,999,999.99", "USD", text.MaxCents}, {"007", "USD", 700},
	} {
		var v doc.Invalid
		if cents := ParseAmount(&v, "goal", test.text, test.currency); cents != test.cents || v.Err() != nil {
			t.Errorf("%q is %d cents, %v; want %d", test.text, cents, v.Err(), test.cents)
		}
	}
	for _, text := range []string{
		"$", "USD", "ten", "-5", "+5", "1e3", "0x10", "1.500", "1.", ".5", "1,50", "1,5000", "1500,00", ",500", "1,,500", "1,500,", "1.5.0", "1.500,00",
		"€5", "5 CHF", "10,000,000,000", "10000000000", strings.Repeat("9", 400), "٣", "1\n500",
	} {
		var v doc.Invalid
		cents := ParseAmount(&v, "goal", text, "USD")
		want := []said{{"goal", "The goal field must be an amount from 0 to 9,999,999,999.99, written such as 1,500 or 1500.50."}}
		if diff := cmp.Diff(want, saidOf(v.Faults)); diff != "" || cents != 0 {
			t.Errorf("%q: %d, %s", text, cents, diff)
		}
	}
}

// TestAmountsAreNeverMisread: an amount that is written in the way of one country is read as it is meant everywhere, or refused.
func TestAmountsAreNeverMisread(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	read := 0
	for range 20_000 {
		cents := random.Int64N(text.ScaleOf(1 + random.IntN(11)))
		way := [][2]string{{",", "."}, {".", ","}, {" ", ","}, {"\u00a0", ","}, {"'", "."}, {"’", ","}, {"", "."}, {"", ","}}[random.IntN(8)]
		value := strings.ReplaceAll(text.CountText(cents/100), ",", way[0])
		if cents%100 != 0 || random.IntN(2) == 0 {
			value += fmt.Sprintf("%s%02d", way[1], cents%100)
		}
		region := []string{"US", "DE", "FR", "CH", "GB", ""}[random.IntN(6)]
		got, fault := ReadAmount(value, "", region)
		if fault != "" {
			continue
		}
		var v doc.Invalid
		amount := ParseMoney(&v, "amount", got.Digits, "", false)
		if v.Err() != nil {
			continue
		}
		if units, ok := text.MinorUnits(*amount, "USD"); !ok {
			continue // a gift in dollars refuses it
		} else if read++; units != cents {
			t.Fatalf("%q in %q is read as %d cents, and means %d", value, region, units, cents)
		}
	}
	if read < 15_000 {
		t.Errorf("only %d were read", read)
	}
}

func TestParseNumber(t *testing.T) {
	for text, want := range map[string]int64{"": 0, " 12 ": 12, "1,234": 1234, "1234567": 1_234_567, "999,999,999,999,999": text.MaxDonors} {
		var v doc.Invalid
		if n := ParseNumber(&v, "donors", text); n != want || v.Err() != nil {
			t.Errorf("%q is %d, %v", text, n, v.Err())
		}
	}
	for _, text := range []string{"1.5", "-1", "1,23", "many", "1000000000000000", "1e3"} {
		var v doc.Invalid
		want := []said{{"donors", "The donors field must be a whole number from 0 to 999,999,999,999,999."}}
		if ParseNumber(&v, "donors", text); cmp.Diff(want, saidOf(v.Faults)) != "" {
			t.Errorf("%q: %v", text, v.Err())
		}
	}
}

func TestProgressIsNotRoundedUp(t *testing.T) {
	for _, test := range []struct {
		raised, goal, percent int64
		ok                    bool
	}{
		{0, 0, 0, false}, {500, 0, 0, false}, {0, 100, 0, true}, {50, 100, 50, true}, {9_999, 10_000, 99, true}, {100, 100, 100, true},
		{250, 100, 250, true}, {text.MaxCents, text.MaxCents, 100, true}, {text.MaxCents, 1, text.MaxCents * 100, true},
	} {
		c := Campaign{OpeningRaised: test.raised, Goal: test.goal}
		if percent, ok := c.Progress(); percent != test.percent || ok != test.ok {
			t.Errorf("%d of %d is %d %%, %v", test.raised, test.goal, percent, ok)
		}
	}
}

// FuzzParseAmount: what is accepted is shown, and what is shown is accepted as the same amount.
func FuzzParseAmount(f *testing.F) {
	for _, text := range []string{"1,500", "$1,500.50", "1500 CHF", "1.500", "1'500", ""} {
		f.Add(text, "USD")
	}
	f.Fuzz(func(t *testing.T, value, currency string) {
		var v doc.Invalid
		cents := ParseAmount(&v, "goal", value, currency)
		if v.Err() != nil {
			return
		}
		if cents < 0 || cents > text.MaxCents {
			t.Fatalf("%q is %d cents", value, cents)
		}
		for _, shown := range []string{text.AmountText(cents), text.MoneyText(cents, "USD")} {
			if again := ParseAmount(&v, "goal", shown, "USD"); again != cents || v.Err() != nil {
				t.Fatalf("%q is shown as %q, which is %d, %v", value, shown, again, v.Err())
			}
		}
	})
}
