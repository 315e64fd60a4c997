package text

import (
	"regexp"
	"strings"
	"testing"

	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestNormalPhone(t *testing.T) {
	for _, test := range rows.Of[struct{ Value, Region, Key string }](`
		(312) 555-0123          US  +13125550123
		312.555.0123            US  +13125550123
		3125550123              US  +13125550123
		1 312 555 0123          US  +13125550123
		+1 312 555 0123         US  +13125550123
		+1 312 555 0123         GB  +13125550123
		312.555.0123 x42        US  +13125550123;ext=42
		312-555-0123 ext. 42    US  +13125550123;ext=42
		+1 312 555 0123 EXT ٤٢  GB  +13125550123;ext=42
		312 555 0123 #5         US  +13125550123;ext=5
		312 555 0123 x05        US  +13125550123;ext=05
		020 7946 0958 x6        GB  +442079460958;ext=6
		555 0123 x6             US  ""
		1-800-FLOWERS           US  +18003569377
		020 7946 0958           GB  +442079460958
		+44 20 7946 0958        US  +442079460958
		+44 (0)20 7946 0958     US  +442079460958
		06 12 34 56 78          FR  +33612345678
		+39 06 6982             US  +39066982  // the zero is part of an Italian number
		011 44 20 7946 0958     US  +442079460958
		０３-１２３４-５６７８            JP  +81312345678
		٣١٢ ٥٥٥ ٠١٢٣            US  +13125550123  // digits of any script count as digits
		３１２-５５５-０１２３            US  +13125550123
		＋１ ３１２ ５５５ ０１２３         US  +13125550123
		۳۱۲ ۵۵۵ ۰۱۲۳            US  +13125550123
		312 555 0123            ZZ  refused
	`) {
		key, ok := NormalPhone(test.Value, test.Region)
		if !ok {
			key = "refused"
		}
		assert.Equal(t, key, test.Key, "normalPhone(%q, %q)", test.Value, test.Region)
	}
	assert.Tells(t, reads(func(value string) (string, bool) { return NormalPhone(value, "US") }), nil, append(rows.All(`
		""  +  phone  none  n/a  12  +999 123 456 789  +1 312  123456  312555012345678  "312\xff5550123"
	`), strings.Repeat("1", 300), "+1 312 555 0123"+strings.Repeat(" ", 60)))
}

// A number without its country is known in the country of a number that it may be, and keeps its own extension.
func TestANumberIsReadInTheCountryOfTheSameNumber(t *testing.T) {
	for _, test := range rows.Of[struct{ Value, Known, Key string }](`
		020 7946 0958         +442079460958        +442079460958
		020 7946 0958 x6      +442079460958        +442079460958;ext=6
		020 7946 0958         +442079460958;ext=6  +442079460958
		312-555-0123 ext. 42  +13125550123         +13125550123;ext=42
		020 7946 0959         +442079460958        ""
		+44 20 7946 0958      +442079460958        ""
		555 0123              +13125550123         ""
		3125550123            3125550123           ""
	`) {
		key, ok := SamePhone(test.Value, test.Known)
		if !ok {
			key = ""
		}
		assert.Equal(t, key, test.Key, "SamePhone(%q, %q)", test.Value, test.Known)
	}
}

// The library uses patterns, and would try them on every character. A text that is too long never reaches it: it would
// allocate.
func TestLongTextsAreRefusedBeforeTheLibraryReadsThem(t *testing.T) {
	for _, value := range []string{
		strings.Repeat("1", 65), strings.Repeat("1", 300), strings.Repeat("٣", 65),
		"+1 312 555 0123" + strings.Repeat(" ", 50),
		strings.Repeat("+1 (312) 555-0123 x", 1<<16), strings.Repeat("0-", 1<<19) + "x",
		";phone-context=+" + strings.Repeat("1-", 1<<19),
	} {
		key, ok, shown := "", false, ""
		allocated := testing.AllocsPerRun(2, func() {
			key, ok = NormalPhone(value, "US")
			shown = FormatPhone(value, "US")
		})
		assert.Equal(t, key == "" && !ok && shown == value, true, "%d bytes are a phone number: %q", len(value), key)
		assert.Equal(t, allocated, 0, "%d bytes took", len(value))
	}
	_, ok := NormalPhone(strings.Repeat("(", 32)+"3125550123"+strings.Repeat(" ", 22), "US")
	assert.Equal(t, ok, true, "a number of 64 characters")
}

func TestIsPhoneRegion(t *testing.T) {
	assert.Tells(t, IsPhoneRegion, rows.All(`US  GB  DE  JP  KE  BR`), rows.All(`""  us  USA  ZZ  001  1`))
}

var e164 = regexp.MustCompile(`^\+[1-9][0-9]{3,19}(;ext=[0-9]{1,20})?$`)

func FuzzNormalPhone(f *testing.F) {
	for _, value := range rows.All(`
		(312) 555-0123  +44 20 7946 0958  1-800-FLOWERS  312.555.0123 x42  tel:+1-201-555-0123  +  ０３
	`) {
		f.Add(value, "US")
	}
	f.Add("020 7946 0958", "GB")
	f.Fuzz(func(t *testing.T, value, region string) {
		key, ok := NormalPhone(value, region)
		switch {
		case !ok && key != "":
			t.Fatalf("refused, and yet a key: %q", key)
		case ok && key != "" && !e164.MatchString(key):
			t.Fatalf("the key of %q in %q is %q", value, region, key)
		case ok && len([]rune(value)) > maxPhone:
			t.Fatalf("accepted %d bytes", len(value))
		}
		if again, ok2 := NormalPhone(value, region); ok != ok2 || key != again {
			t.Fatalf("%q gave %q and then %q", value, key, again)
		}
		if shown := FormatPhone(value, region); ok && key != "" {
			if again, _ := NormalPhone(shown, region); again != key {
				t.Fatalf("%q in %q is %q, and is shown as %q, which is %q", value, region, key, shown, again)
			}
		}
	})
}
