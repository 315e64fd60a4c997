package text

import (
	"github.com/nyaruka/phonenumbers"
)

// FormatPhone writes a stored number in the style that all numbers are shown in: as people write it at home where it
// has the country code of the region, with its country code otherwise. A text that is no possible number is shown as it
// was written, and so is a number that would read as another one in this style.
func FormatPhone(value, region string) string {
	if n, ok := plainNorthAmerican(value, region); ok {
		if isNorthAmerican(region) {
			return "(" + n[:3] + ") " + n[3:6] + "-" + n[6:]
		}
		return "+1 " + n[:3] + "-" + n[3:6] + "-" + n[6:]
	}
	number, _, ok := parsePhone(value, region)
	if !ok {
		return value
	}
	extension := number.GetExtension()
	number.Extension = nil // the library writes it in the style of each country; we write all of them alike
	shown, ok := styled(number, region)
	if !ok {
		return value
	}
	if extension != "" {
		shown += " ext. " + extension
	}
	return shown
}

// styled is a number without its extension in the style of the region; ok tells whether it still reads as the same
// number.
func styled(number *phonenumbers.PhoneNumber, region string) (shown string, ok bool) {
	same := func(text string) bool {
		again, _, ok := parsePhone(text, region)
		return ok && phonenumbers.Format(again, phonenumbers.E164) == phonenumbers.Format(number, phonenumbers.E164)
	}
	if int(number.GetCountryCode()) != phonenumbers.GetCountryCodeForRegion(region) {
		shown = phonenumbers.Format(number, phonenumbers.INTERNATIONAL)
		return shown, same(shown)
	}
	shown = phonenumbers.Format(number, phonenumbers.NATIONAL)
	return shown, same(shown)
}
