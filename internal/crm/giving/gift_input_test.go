package giving

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
	"donorbook/internal/rig/rows"
)

// TestAmountsAreNeverMisread: an amount that is written in the way of one country is read as it is meant everywhere, or
// refused.
func TestAmountsAreNeverMisread(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	read := 0
	for range 20_000 {
		cents := random.Int64N(text.ScaleOf(1 + random.IntN(11)))
		way := [][2]string{{",", "."}, {".", ","}, {" ", ","}, {"\u00a0", ","}, {"'", "."}, {"’", ","}, {"", "."},
			{"", ","}}[random.IntN(8)]
		value := strings.ReplaceAll(text.CountText(cents/100), ",", way[0])
		if cents%100 != 0 || random.IntN(2) == 0 {
			value += fmt.Sprintf("%s%02d", way[1], cents%100)
		}
		region := rows.All(`US  DE  FR  CH  GB  ""`)[random.IntN(6)]
		got, fault := text.ReadAmount(value, "", region)
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

// Ambiguous amounts are refused, as they are for campaigns.
func TestAnAmountThatCouldBeAnotherIsRefused(t *testing.T) {
	for _, c := range rows.Of[struct {
		Text, Currency string
		Grouped        bool
		Want           int64
	}](`
		1500      USD  true   15000000
		1,500.50  USD  true   15005000
		$50       USD  true   500000
		12.5      USD  false  125000
		1.500     USD  true   -1
		12.000    USD  false  -1
		1.500     ""   false  -1
		1.500     KWD  true   15000
		10.5      JPY  true   -1
		1,500     USD  false  -1
		-5        USD  true   -1
		five      USD  true   -1
		1e3       USD  true   -1
	`) {
		var v doc.Invalid
		n := ParseMoney(&v, "amount", c.Text, c.Currency, c.Grouped)
		if refused := len(v.Faults) > 0; refused != (c.Want < 0) || !refused && *n != c.Want {
			t.Errorf("%q in %q is %d, %v, want %d", c.Text, c.Currency, *n, v.Faults, c.Want)
		}
	}
}
