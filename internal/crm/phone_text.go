package crm

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// typedPhone is a number as somebody typed it, without all that is no digit.
type typedPhone struct {
	digits    string
	plus      bool // it began with +
	extension string
}

// readPhone takes the digits out of a text, by the steps and patterns of nyaruka/phonenumbers (MIT License), which follows
// libphonenumber (Apache License 2.0). Most numbers are plain; what else people write needs patterns, which cost
// as much as all the rest of a contact.
func readPhone(value string) (typed typedPhone, ok bool) {
	if typed, ok, plain := readPlainPhone(value); plain {
		return typed, ok
	}
	return readOddPhone(value)
}

// readPlainPhone reads a number of ASCII digits and the usual punctuation; plain tells whether it is such a one.
func readPlainPhone(value string) (typed typedPhone, ok, plain bool) {
	var digits [maxPhone]byte
	n, punctuation := 0, false
	for i := range len(value) {
		switch c := value[i]; {
		case '0' <= c && c <= '9':
			digits[n] = c
			n++
		case c == '+' && n == 0 && !typed.plus:
			typed.plus = true
		case c == ' ' || c == '-' || c == '.' || c == '(' || c == ')' || c == '/':
			punctuation = punctuation || n > 0
		default:
			return typedPhone{}, false, false
		}
	}
	typed.digits = string(digits[:n])
	return typed, n > 2 || n == 2 && !typed.plus && !punctuation, true
}

// readOddPhone reads a number of which nothing is known.
func readOddPhone(value string) (typed typedPhone, ok bool) {
	number, ok := phoneOfURI(value)
	if !ok || !isViablePhone(number) {
		return typedPhone{}, false
	}
	number, extension := cutExtension(number)
	national := strings.TrimLeft(number, "+\uff0b")
	return typedPhone{digits: phoneDigits(national), plus: len(national) < len(number), extension: extension}, true
}

// phoneOfURI takes the number out of a text, which may be a URI as RFC 3966 has it, with or without "tel:".
func phoneOfURI(value string) (number string, ok bool) {
	before, parameters, found := strings.Cut(value, ";phone-context=")
	context, _, _ := strings.Cut(parameters, ";")
	if found && !isPhoneContext(context) {
		return "", false
	}
	if before == "" || !found {
		number = possiblePhone(value)
	} else {
		if context[0] == '+' {
			number = context
		}
		if _, after, tel := strings.Cut(before, "tel:"); tel {
			before = after
		}
		number += before
	}
	if i := strings.Index(number, ";isub="); i > 0 {
		number = number[:i]
	}
	return number, true
}

func isPhoneContext(context string) bool {
	return context != "" && (phoneText().global.MatchString(context) || phoneText().domain.MatchString(context))
}

// possiblePhone begins with the first character that may begin a number, and ends before a second number.
func possiblePhone(value string) string {
	start := strings.IndexFunc(value, func(r rune) bool { return r == '+' || r == '\uff0b' || unicode.IsDigit(r) })
	if start < 0 {
		return ""
	}
	value = value[start:]
	for _, ending := range []*regexp.Regexp{phoneText().ending, phoneText().second} {
		if match := ending.FindStringIndex(value); match != nil {
			value = value[:match[0]]
		}
	}
	return value
}

func isViablePhone(number string) bool {
	return len(number) >= minNational && phoneText().viable.MatchString(number)
}

// cutExtension takes off the extension with the word before it. The digits of the extension are what the ending ends with.
func cutExtension(number string) (rest, extension string) {
	match := phoneText().extension.FindStringIndex(number)
	if match == nil || !isViablePhone(number[:match[0]]) {
		return number, ""
	}
	ending := strings.TrimSuffix(number[match[0]:], "#")
	word := strings.TrimRightFunc(ending, unicode.IsDigit)
	return number[:match[0]], ending[len(word):]
}

// phoneDigits are the digits of a number. From three letters on, letters are the keys that they are printed on.
func phoneDigits(number string) string {
	letters := 0
	for i := range len(number) {
		if isLetter(number[i]) {
			letters++
		}
	}
	if letters < 3 {
		return strings.Map(phoneDigit, number)
	}
	return strings.Map(phoneKey, number)
}

// phoneDigit translates digits of the scripts that phones are sold with, and leaves those of others as they are.
func phoneDigit(r rune) rune {
	for _, zero := range []rune{'\u0660', '\u06f0', '\uff10'} {
		if zero <= r && r <= zero+9 {
			return '0' + r - zero
		}
	}
	if !unicode.IsDigit(r) {
		return -1
	}
	return r
}

// phoneKey is the key of a telephone that carries a letter (ITU E.161), and an ASCII digit itself.
func phoneKey(r rune) rune {
	const keys = "22233344455566677778889999"
	switch upper := unicode.ToUpper(r); {
	case 'A' <= upper && upper <= 'Z':
		return rune(keys[upper-'A'])
	case '0' <= r && r <= '9':
		return r
	}
	return -1
}

// phonePatterns are the patterns of libphonenumber 9, word by word as its port to Go has them: what they find is what people
// are used to. Few numbers need them, so they are compiled for the first that does.
type phonePatterns struct{ global, domain, ending, second, viable, extension *regexp.Regexp }

var phoneText = sync.OnceValue(func() *phonePatterns {
	const (
		digit       = `\p{Nd}`
		letters     = `a-zA-Z`
		plus        = "+\uff0b"
		punctuation = "-x\u2010-\u2015\u2212\u30fc\uff0d-\uff0f \u00a0\u00ad\u200b\u2060\u3000()\uff08\uff09\uff3b\uff3d.\\[\\]/~\u2053\u223c\uff5e"

		blank     = "[ \u00a0\\t]*"
		separator = "[ \u00a0\\t,]*"
		after     = "[:\\.\uff0e]?[ \u00a0\\t,-]*"
		explicit  = "(?:e?xt(?:ensi(?:o\u0301?|\u00f3))?n?|\uff45?\uff58\uff54\uff4e?|\u0434\u043e\u0431|anexo)"
		ambiguous = "(?:[x\uff58#\uff03~\uff5e]|int|\uff49\uff4e\uff54)"
		extension = ";ext=" + digit + "{1,20}" +
			"|" + separator + explicit + after + digit + "{1,20}#?" +
			"|" + separator + ambiguous + after + digit + "{1,9}#?" +
			"|[- ]+" + digit + "{1,6}#" +
			"|" + blank + "(?:,{2}|;)" + after + digit + "{1,15}#?" +
			"|" + blank + ",+" + after + digit + "{1,9}#?"

		number = digit + "{2}|[" + plus + "]*(?:[" + punctuation + "*]*" + digit + "){3,}[" + punctuation + "*" + letters + digit + "]*"

		visual   = `(?:` + digit + `|[\-\.\(\)]?)`
		alphanum = "[" + letters + digit + "]"
		label    = "(?:-*" + alphanum + ")*"
	)
	return &phonePatterns{
		global: regexp.MustCompile(`^\+` + visual + "*" + digit + visual + "*$"),
		domain: regexp.MustCompile("^(?:" + alphanum + "+" + label + `\.)*[` + letters + "]+" + label + `\.?$`),
		// Written for an engine that intersects classes, this means nearly nothing in ours; but nearly is not nothing.
		ending:    regexp.MustCompile(`[[\P{N}&&\P{L}]&&[^#]]+$`),
		second:    regexp.MustCompile(`[\\/] *x`),
		viable:    regexp.MustCompile("(?i)^(?:" + number + "(?:" + extension + ")?)$"),
		extension: regexp.MustCompile("(?i)(?:" + extension + ")$"),
	}
})
