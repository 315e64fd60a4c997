package text

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/currency"
	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

// codes lists a set again.
func codes(is func(code string) bool) []string {
	var list []string
	for i := range 26 * 26 * 26 {
		code := string([]byte{'A' + byte(i/676), 'A' + byte(i/26%26), 'A' + byte(i%26)})
		if is(code) {
			list = append(list, code)
		}
	}
	return list
}

func TestCountriesAgreeWithUnicode(t *testing.T) {
	list := codes(IsCountry)
	assert.Equal(t, len(list), 249)
	two := map[string]bool{}
	for _, code := range list {
		region, err := language.ParseRegion(code)
		switch {
		case err != nil:
			t.Errorf("%s: %v", code, err)
		case region.ISO3() != code || !region.IsCountry() || region.IsPrivateUse() || region.Canonicalize() != region:
			t.Errorf("%s is %v in Unicode's tables", code, region)
		}
		two[region.String()] = true
	}
	assert.Equal(t, len(two), 249, "only")
}

func TestIsCountry(t *testing.T) {
	// Two letters, no letters, withdrawn (ANT, YUG), private (XKX, ZZZ), groups (EUR).
	assert.Tells(t, IsCountry, rows.All(`USA  usa  Gbr  DEU  TWN  SSD  CUW`),
		rows.All(`""  US  USAA  U1A  840  ANT  YUG  XKX  ZZZ  AAA  EUR  U A  ÜSA  UſA  [[[  @@@`))
}

// Unicode's table of currencies in use is older than these changes.
var (
	newCurrencies = rows.All(`
		SLE  UYW  VED  XCG  ZWG  MRU  STN  VES
	`)
	oldCurrencies = rows.All(`
		ANG  BGN  CUC  HRK  MRO  SLL  STD  VEF  ZWL
	`)
)

func TestCurrenciesAgreeWithUnicode(t *testing.T) {
	for _, code := range codes(IsCurrency) {
		unit, err := currency.ParseISO(code)
		if err != nil && !slices.Contains(newCurrencies, code) {
			t.Errorf("%s: %v", code, err)
		}
		if err == nil && unit.String() != code {
			t.Errorf("%s is %v", code, unit)
		}
	}
	inUse := 0
	for it := currency.Query(currency.Date(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))); it.Next(); {
		inUse++
		if code := it.Unit().String(); !IsCurrency(code) && !slices.Contains(oldCurrencies, code) {
			t.Errorf("%s is legal tender in %v", code, it.Region())
		}
	}
	if inUse < 200 {
		t.Errorf("Unicode names only %d currencies in use", inUse)
	}
}

func TestIsCurrency(t *testing.T) {
	assert.Tells(t, IsCurrency, rows.All(`USD  EUR  GBP  JPY  XOF  XCG`),
		append(oldCurrencies, rows.All(`""  usd  Usd  US  USDT  BTC  DEM  XXX  XTS  XAU  $  840`)...))
	assert.Tells(t, IsCurrency, slices.Collect(maps.Keys(currencySigns)), nil)
}

func FuzzIsCountry(f *testing.F) {
	for _, code := range rows.All(`USA  usa  ANT  ÜS  ""`) {
		f.Add(code)
	}
	f.Fuzz(func(t *testing.T, code string) {
		if !IsCountry(code) {
			return
		}
		if len(code) != 3 || !isASCII(code) || !IsCountry(strings.ToLower(code)) || !IsCountry(strings.ToUpper(code)) {
			t.Fatalf("accepted %q", code)
		}
		if IsCurrency(code) && strings.ToUpper(code) != code {
			t.Fatalf("%q is a currency in small letters", code)
		}
	})
}

// TestNamesOfCountriesAgreeWithUnicode: each name leads to its code, in the three languages that files are in.
func TestNamesOfCountriesAgreeWithUnicode(t *testing.T) {
	list := codes(IsCountry)
	for _, code := range list {
		region := language.MustParseRegion(code)
		for _, in := range []*display.Dictionary{display.English, display.German, display.French} {
			name := in.Regions().Name(region)
			if got, ok := FindCountry(name); !ok || got != code {
				t.Errorf("%s is %s, want %s", name, got, code)
			}
		}
		if got, ok := FindCountry(region.String()); !ok || got != code || alpha2(code) != region.String() {
			t.Errorf("%s is %s, and %s is %s", region, got, code, alpha2(code))
		}
	}
	assert.Equal(t, len(strings.Split(strings.TrimSpace(countryNames), "\n")), len(list))
}

// The units of all stored amounts: the decimals of a currency code must never change. Where ISO 4217 and the practice
// of a country differ, Unicode's table follows the practice.
func TestDecimalsAreThoseOfISO4217(t *testing.T) {
	other := "AFN ALL AMD COP CRC CUP IDR IRR KPW LAK LBP MGA MMK MUR PKR RSD SOS SYP TZS UZS YER IQD HUF CZK DKK NOK SEK TWD MRO GYD CHF CAD MNT STN SLE ZMW"
	for _, code := range codes(IsCurrency) {
		want := map[string]int{noDecimals: 0, threeDecimals: 3, fourDecimals: 4}
		decimals := 2
		for list, n := range want {
			if strings.Contains(list, code) {
				decimals = n
			}
		}
		assert.Equal(t, Decimals(code), decimals, "%s", code)
		unit, err := currency.ParseISO(code)
		if err != nil || strings.Contains(other, code) {
			continue
		}
		if habit, _ := currency.Standard.Rounding(unit); habit != decimals {
			t.Errorf("%s has %d decimals, and %d in Unicode's table", code, decimals, habit)
		}
	}
	for code, want := range rows.Each[int](`
		USD  2
		PKR  2
		COP  2
		JPY  0
		KWD  3
		IQD  3
		CLF  4
	`) {
		assert.Equal(t, Decimals(code), want, "%s", code)
	}
}
