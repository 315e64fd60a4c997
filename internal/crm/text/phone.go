package text

import (
	"strings"
	"unicode/utf8"

	"github.com/nyaruka/phonenumbers"
)

// maxPhone is the most characters of a phone number as people write it. A longer text never reaches the library's
// patterns.
const maxPhone = 64

// extensionSign stands between a number and its extension in the normal form, as in RFC 3966.
const extensionSign = ";ext="

// NormalPhone checks that a trimmed text is a possible phone number, and returns the form that numbers are compared by:
// E.164 with the extension, such as +13125550123;ext=42. A number without + belongs to the region, a two-letter ISO
// 3166 code. A number without its area code is possible, but many people have it: its key is "", which matches no
// contact.
func NormalPhone(value, region string) (key string, ok bool) {
	if national, ok := plainNorthAmerican(value, region); ok {
		return "+1" + national, true
	}
	number, local, ok := parsePhone(value, region)
	if !ok || local {
		return "", ok
	}
	key = phonenumbers.Format(number, phonenumbers.E164)
	if extension := phonenumbers.NormalizeDigitsOnly(number.GetExtension()); extension != "" {
		key += extensionSign + extension
	}
	return key, true
}

// CutExtension is a normal form in two parts: the number, which leads to a switchboard, and the extension there, if
// any.
func CutExtension(key string) (number, extension string) {
	number, extension, _ = strings.Cut(key, extensionSign)
	return number, extension
}

// SamePhone is the normal form of a text without + that is the number of a normal form in the country of that one. The
// extension is that of the text.
func SamePhone(value, known string) (key string, ok bool) {
	if strings.HasPrefix(value, "+") {
		return "", false // it has one normal form in every country
	}
	number, _ := CutExtension(known)
	parsed, err := phonenumbers.Parse(number, "")
	if err != nil {
		return "", false
	}
	key, _ = NormalPhone(value, phonenumbers.GetRegionCodeForCountryCode(int(parsed.GetCountryCode())))
	same, _ := CutExtension(key)
	return key, same == number
}

// MayHaveExtension tells whether there is more in a phone number than digits and what people write between them.
func MayHaveExtension(value string) bool { return strings.Trim(value, "0123456789+-()./ ") != "" }

// parsePhone reads a possible number of any country; local tells that its area code is missing.
func parsePhone(value, region string) (number *phonenumbers.PhoneNumber, local, ok bool) {
	if utf8.RuneCountInString(value) > maxPhone || !utf8.ValidString(value) {
		return nil, false, false
	}
	number, err := phonenumbers.Parse(value, region)
	if err != nil {
		return nil, false, false
	}
	length := phonenumbers.IsPossibleNumberWithReason(number)
	local = length == phonenumbers.IS_POSSIBLE_LOCAL_ONLY
	return number, local, local || length == phonenumbers.IS_POSSIBLE
}

// plainNorthAmerican reads the number that most donors have: ten digits of the North American plan, perhaps after the
// country code, with the usual punctuation. The library gives the same answer but takes much longer
// (docs/decisions/people.md). It reads every other number.
func plainNorthAmerican(value, region string) (national string, ok bool) {
	if len(value) > maxPhone {
		return "", false
	}
	var digits [len("12125550100")]byte
	n := 0
	for i := range len(value) {
		switch c := value[i]; {
		case '0' <= c && c <= '9' && n < len(digits):
			digits[n] = c
			n++
		case c == '+' && i == 0 || strings.IndexByte(" .-()", c) >= 0:
		default:
			return "", false
		}
	}
	international := strings.HasPrefix(value, "+")
	switch {
	case !international && !isNorthAmerican(region):
		return "", false
	case n == 11 && digits[0] == '1':
		national = string(digits[1:])
	case n == 10 && !international:
		national = string(digits[:10])
	default:
		return "", false
	}
	return national, national[0] >= '2'
}

func isNorthAmerican(region string) bool { return phonenumbers.GetCountryCodeForRegion(region) == 1 }

// PhoneAbroad is a phone number with its country code, where it is no number of the region but one of the country of
// the address.
func PhoneAbroad(phone, country, region string) string {
	code := alpha2(country)
	if code == "" || code == region || strings.HasPrefix(phone, "+") {
		return phone
	}
	if _, ok := NormalPhone(phone, region); ok {
		return phone
	}
	if number, local, ok := parsePhone(phone, code); ok && !local {
		return phonenumbers.Format(number, phonenumbers.INTERNATIONAL)
	}
	return phone
}

// IsPhoneRegion reports whether numbers without + can be read as numbers of this region.
func IsPhoneRegion(region string) bool { return phonenumbers.GetSupportedRegions()[region] }

// Dialling is what stands before a number of a region: the country code for those abroad, and what people dial within
// the country instead, if anything.
func Dialling(region string) (code int, trunk string) {
	return phonenumbers.GetCountryCodeForRegion(region), phonenumbers.GetNddPrefixForRegion(region, true)
}
