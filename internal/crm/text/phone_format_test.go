package text

import (
	"testing"

	"github.com/nyaruka/phonenumbers"

	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestPhonesAreShownInOneStyle(t *testing.T) {
	for _, test := range rows.Of[struct{ Value, Region, Shown string }](`
		2125550100            US  (212) 555-0100
		212.555.0100          US  (212) 555-0100
		+1 212-555-0100       US  (212) 555-0100
		1 (212) 555 0100      US  (212) 555-0100
		+1 416 555 0100       US  (416) 555-0100
		+12125550100          GB  +1 212-555-0100
		555-0123              US  555-0123
		212 555 0100x42       US  (212) 555-0100 ext. 42
		212-555-0100 ext. 42  US  (212) 555-0100 ext. 42
		+44 20 79460958 x 3   US  +44 20 7946 0958 ext. 3
		+442079460958         US  +44 20 7946 0958
		+44 (0)20 7946 0958   GB  020 7946 0958
		0612345678            FR  06 12 34 56 78
		+39 066982            US  +39 06 6982
		０３１２３４５６７８            JP  03-1234-5678
		+5491123456789        AR  +5491123456789
		1-800-FLOWERS         US  (800) 356-9377
		+1234567890123        US  +1234567890123  // not a possible number: as it was written
		whatever              US  whatever
		""                    US  ""
	`) {
		assert.Equal(t, FormatPhone(test.Value, test.Region), test.Shown, "FormatPhone(%q, %q)", test.Value,
			test.Region)
	}
}

// Numbers are grouped as the library groups them, in their own country and abroad.
func TestEveryExampleNumberIsShownAsTheLibraryShowsIt(t *testing.T) {
	for _, number := range exampleNumbers() {
		e164 := phonenumbers.Format(number, phonenumbers.E164)
		home := phonenumbers.GetRegionCodeForNumber(number)
		abroad := "US"
		if number.GetCountryCode() == 1 {
			abroad = "GB"
		}
		want := phonenumbers.Format(number, phonenumbers.INTERNATIONAL)
		assert.Equal(t, FormatPhone(e164, abroad), want, "%s is shown", e164)
		if !IsPhoneRegion(home) {
			continue
		}
		want, shown := phonenumbers.Format(number, phonenumbers.NATIONAL), FormatPhone(e164, home)
		again, err := phonenumbers.Parse(want, home)
		// in a mobile number of Argentina
		libraryErrs := err != nil || phonenumbers.Format(again, phonenumbers.E164) != e164
		if shown != want && !libraryErrs {
			t.Errorf("%s is shown as %q in %s, want %q", e164, shown, home, want)
		}
		if key, ok := NormalPhone(shown, home); !ok || key != e164 && key != "" {
			t.Errorf("%s is shown as %q in %s, which is %q", e164, shown, home, key)
		}
	}
}
