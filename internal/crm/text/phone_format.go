package text

import (
	"strings"

	"github.com/nyaruka/phonenumbers"
)

// FormatPhone writes a stored number in the style that all numbers are shown in: as people write it at home where it has the
// country code of the region, with its country code otherwise. A text that is no possible number is shown as it was written, and so
// is a number that would read as another one in this style.
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

// styled is a number without its extension in the style of the region; ok tells whether it still reads as the same number.
func styled(number *phonenumbers.PhoneNumber, region string) (shown string, ok bool) {
	same := func(text string) bool {
		again, _, ok := parsePhone(text, region)
		return ok && phonenumbers.Format(again, phonenumbers.E164) == phonenumbers.Format(number, phonenumbers.E164)
	}
	if int(number.GetCountryCode()) != phonenumbers.GetCountryCodeForRegion(region) {
		shown = phonenumbers.Format(number, phonenumbers.INTERNATIONAL)
		return shown, same(shown)
	}
	if shown = phonenumbers.Format(number, phonenumbers.NATIONAL); same(shown) {
		return shown, true
	}
	shown = phonenumbers.FormatByPattern(number, phonenumbers.NATIONAL, formatsAtHome(number))
	return shown, same(shown)
}

// formatsAtHome are the library's own formats for a number, mended: the trunk prefix goes before the group that is shown first. The
// library puts it before group 1, and so makes a wrong number of a mobile number of Argentina, which shows group 2 first.
func formatsAtHome(number *phonenumbers.PhoneNumber) (formats []*phonenumbers.NumberFormat) {
	country := phonenumbers.GetRegionCodeForCountryCode(int(number.GetCountryCode()))
	all, _ := phonenumbers.MetadataCollection() // the library would not have started without it
	for _, plan := range all.GetMetadata() {
		if plan.GetId() != country {
			continue
		}
		for _, f := range plan.GetNumberFormat() {
			format := f.GetFormat()
			if rule := f.GetNationalPrefixFormattingRule(); rule != "" {
				first := phonenumbers.FIRST_GROUP_PATTERN.FindString(format)
				format = strings.Replace(format, first, strings.Replace(rule, "$1", first, 1), 1)
			}
			formats = append(formats, &phonenumbers.NumberFormat{Pattern: f.Pattern, LeadingDigitsPattern: f.LeadingDigitsPattern, Format: &format})
		}
	}
	return formats
}
