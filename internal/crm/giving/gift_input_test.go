package giving

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

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

// A gift of today, of which only the day is known, is none of the future in the morning either, as when an account moves to another server.
func TestAGiftOfTodayIsNoneOfTheFuture(t *testing.T) {
	now := time.Date(2026, time.November, 19, 1, 44, 0, 0, time.UTC)
	for at, isFuture := range map[string]bool{"2026-11-19": false, "2026-11-19T12:00:00Z": false, "2026-11-19T12:30:00Z": true, "2026-11-20T12:00:00Z": true, "2026-11-20": true} {
		if is := isAfter(at, now); is != isFuture {
			t.Errorf("%s lies in the future: %t", at, is)
		}
	}
}
