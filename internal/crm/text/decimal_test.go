package text

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestParseDecimal(t *testing.T) {
	for text, cents := range rows.Each[int64](`
		0                       0
		-0                      0
		0.00                    0
		0e99999999999999999999  0
		1000                    100000
		12.5                    1250
		12.34                   1234
		12.340                  1234
		0.01                    1
		1e3                     100000
		1.5E2                   15000
		1234e-2                 1234
		1.10e+1                 1100
		1000000e-8              1
		9999999999.99           999999999999
		0.07                    7
		4.35                    435
		1.15                    115
		0.0000000000000001e16   100
	`) {
		got, ok := ParseDecimal(text, 2, CentDigits)
		assert.Equal(t, got, cents, "parseDecimal(%q)", text)
		assert.Equal(t, ok, true, "parseDecimal(%q)", text)
	}
	assert.Tells(t, reads(func(text string) (int64, bool) { return ParseDecimal(text, 2, CentDigits) }), nil,
		append(rows.All(`
		-1  -0.01  0.001  12.345  1e-3  10000000000  9999999999.995  1e10  1e400  1e-400  1e999999999999999999999
		1e-999999999999999999999
	`), strings.Repeat("9", 1000)))
}

func TestAppendCents(t *testing.T) {
	for want, cents := range rows.Each[int64](`
		0              0
		0.01           1
		0.1            10
		0.99           99
		1              100
		12.5           1250
		12.34          1234
		1000           100000
		1.05           105
		9999999999.99  999999999999
	`) {
		assert.Equal(t, string(AppendCents(nil, cents)), want, "%d cents", cents)
	}
	assert.Equal(t, MaxCents, 999_999_999_999)
}

func FuzzParseDecimal(f *testing.F) {
	for _, text := range rows.All(`12.34  1e3  -0  1234e-2  0.001`) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if len(value) > 60 || !json.Valid([]byte(value)) || strings.Trim(value, "0123456789.eE+-") != "" {
			return
		}
		_, exponent, _ := strings.Cut(strings.ToLower(value), "e")
		if len(exponent) > 4 {
			return // a rational number would take too much memory
		}
		exact, ok := new(big.Rat).SetString(value)
		if !ok {
			t.Fatalf("%q is no number", value)
		}
		exact.Mul(exact, big.NewRat(100, 1))
		fits := exact.IsInt() && exact.Sign() >= 0 && exact.Cmp(big.NewRat(MaxCents, 1)) <= 0
		cents, ok := ParseDecimal(value, 2, CentDigits)
		if ok != fits || ok && exact.Cmp(big.NewRat(cents, 1)) != 0 {
			t.Fatalf("parseDecimal(%q) = %d, %v; exactly it is %v cents", value, cents, ok, exact)
		}
		if ok {
			if again, ok := ParseDecimal(string(AppendCents(nil, cents)), 2, CentDigits); !ok || again != cents {
				t.Fatalf("%d cents come back as %d", cents, again)
			}
		}
	})
}
