package crm

import (
	"strconv"
	"unicode/utf8"
)

const (
	maxPhone      = 64  // characters of a phone number as people write it
	maxPhoneBytes = 250 // bytes of it
)

// normalPhone checks a trimmed text to be a possible phone number, and returns the form that numbers are compared
// by: E.164, without the extension. A number without + is one of the region, a two-letter ISO 3166 code. A number that
// lacks its area code is possible, but many people have it: its key is "", which matches nobody.
//
// The answers are those of libphonenumber, which phones use themselves; decision 14 tells why it is not in the program.
func normalPhone(value, region string) (key string, ok bool) {
	number, ok := parsePhone(value, region)
	if !ok || number.local {
		return "", ok
	}
	return "+" + strconv.Itoa(number.plan.code) + number.national, true
}

// phoneNumber is a possible phone number.
type phoneNumber struct {
	plan      *phonePlan // the main one of its country code
	national  string     // the digits within the country
	local     bool       // the area code is missing
	extension string     // as it was written, without the word before it
}

func parsePhone(value, region string) (number phoneNumber, ok bool) {
	if len(value) > maxPhoneBytes || utf8.RuneCountInString(value) > maxPhone || !utf8.ValidString(value) {
		return phoneNumber{}, false
	}
	typed, ok := readPhone(value)
	if !ok {
		return phoneNumber{}, false
	}
	plan, national, ok := typed.resolve(planOf(region))
	if !ok {
		return phoneNumber{}, false
	}
	plan = mainPlan(plan.code)
	length := plan.length(national)
	return phoneNumber{plan, national, length == lengthLocal, typed.extension}, length == lengthPossible || length == lengthLocal
}

// IsPhoneRegion reports whether numbers without + can be read as numbers of this region.
func IsPhoneRegion(region string) bool { return planOf(region) != nil }

// dialling is what stands before a number of a region: the country code for those abroad, and what people dial within the
// country instead, if anything.
func dialling(region string) (code int, trunk string) {
	if plan := planOf(region); plan != nil {
		return plan.code, plan.trunk
	}
	return 0, ""
}

const (
	minNational = 2 // digits of a number without its country code
	maxNational = 17
)

// resolve finds the country of a number, and the digits within it. Home is where numbers without + belong; it may be nil.
func (t typedPhone) resolve(home *phonePlan) (plan *phonePlan, national string, ok bool) {
	plan, national, ok = t.country(home)
	if !ok {
		return nil, "", false
	}
	if plan == nil {
		plan, national = home, t.digits
	}
	if plan == nil || len(national) < minNational {
		return nil, "", false
	}
	stripped := plan.withoutTrunk(national)
	if n := plan.length(stripped); n == lengthPossible || n == lengthTooLong { // else it was no prefix, but a part of the number
		national = stripped
	}
	if len(national) < minNational || len(national) > maxNational {
		return nil, "", false
	}
	return plan, onlyASCII(national), true
}

// country takes the country code off a number. The plan is nil where there is none, and the number is one of home.
func (t typedPhone) country(home *phonePlan) (plan *phonePlan, rest string, ok bool) {
	if !t.plus {
		return withoutPlus(t.digits, home)
	}
	if plan, rest = cutCountryCode(t.digits); plan != nil {
		return plan, rest, true
	}
	// After the + there may be what people dial for abroad, or their own country code in vain.
	plan, rest, ok = withoutPlus(t.digits, home)
	return plan, rest, ok && plan != nil
}

// withoutPlus takes the country code off a number that begins with what people dial at home for abroad, or with the code of
// home where that makes it a better number.
func withoutPlus(digits string, home *phonePlan) (plan *phonePlan, rest string, ok bool) {
	if home == nil {
		return nil, "", true
	}
	if abroad, cut := home.cutInternational(digits); cut {
		plan, rest = cutCountryCode(abroad)
		return plan, rest, plan != nil
	}
	code := strconv.Itoa(home.code)
	if len(digits) < len(code) || digits[:len(code)] != code {
		return nil, "", true
	}
	rest = home.withoutTrunk(digits[len(code):])
	better := !home.matches(digits) && home.matches(rest)
	if better || home.length(digits) == lengthTooLong {
		return mainPlan(home.code), rest, true
	}
	return nil, "", true
}

// cutCountryCode reads the one to three digits of a country code. No code begins another, so the first that is one is it.
func cutCountryCode(digits string) (plan *phonePlan, rest string) {
	code := 0
	for i := 0; i < min(len(digits), 3); i++ {
		if digits[i] < '0' || digits[i] > '9' || digits[0] == '0' {
			return nil, ""
		}
		code = code*10 + int(digits[i]-'0')
		if plan := mainPlan(code); plan != nil {
			return plan, digits[i+1:]
		}
	}
	return nil, ""
}

// onlyASCII are the digits themselves. Digits of scripts that nobody translated count as one zero after the leading ones, which
// is of no length that a number can have, or of one that matches nobody's.
func onlyASCII(digits string) string {
	zeros := 0
	for zeros < len(digits)-1 && digits[zeros] == '0' {
		zeros++
	}
	for i := range len(digits) {
		if digits[i] >= utf8.RuneSelf {
			return digits[:zeros] + "0"
		}
	}
	return digits
}
