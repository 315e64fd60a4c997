package crm

import (
	"unicode/utf8"

	"github.com/nyaruka/phonenumbers"
)

// maxPhone is the longest phone number as people write it, in characters.
const maxPhone = 64

// normalPhone checks a trimmed text to be a possible phone number, and returns the form that numbers are compared
// by: E.164, without the extension. A number without + is one of the region, a two-letter ISO 3166 code. A number that
// lacks its area code is possible, but many people have it: its key is "", which matches nobody.
func normalPhone(value, region string) (key string, ok bool) {
	if utf8.RuneCountInString(value) > maxPhone || !utf8.ValidString(value) {
		return "", false
	}
	number, err := phonenumbers.Parse(value, region)
	if err != nil {
		return "", false
	}
	switch phonenumbers.IsPossibleNumberWithReason(number) {
	case phonenumbers.IS_POSSIBLE:
		return phonenumbers.Format(number, phonenumbers.E164), true
	case phonenumbers.IS_POSSIBLE_LOCAL_ONLY:
		return "", true
	}
	return "", false
}

// IsPhoneRegion reports whether numbers without + can be read as numbers of this region.
func IsPhoneRegion(region string) bool {
	return phonenumbers.GetSupportedRegions()[region]
}
