package console

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// shownCount writes a number with separators: 12,345.
func shownCount(n any) string {
	var number int64
	switch n := n.(type) {
	case int:
		number = int64(n)
	case int64:
		number = n
	}
	digits := strconv.FormatInt(number, 10)
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// shownDay is a date: 9 Mar 2026. A time that never was is a dash.
func shownDay(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.Format("2 Jan 2006")
}

// shownMoment is a time to the minute. The console shows UTC, as the API does.
func shownMoment(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2 Jan 2006, 15:04") + " UTC"
}

// machineTime is what the datetime attribute of a time element holds.
func machineTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// initials are the first letters of up to two words of a name.
func initials(names ...string) string {
	var b strings.Builder
	for word := range strings.FieldsSeq(strings.Join(names, " ")) {
		r, _ := utf8.DecodeRuneInString(word)
		b.WriteRune(unicode.ToUpper(r))
		if utf8.RuneCountInString(b.String()) == 2 {
			break
		}
	}
	return b.String()
}

// capital begins a text with a capital letter.
func capital(text any) string {
	s, ok := text.(string)
	if !ok {
		if named, isNamed := text.(interface{ String() string }); isNamed {
			s = named.String()
		}
	}
	r, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return s
	}
	return string(unicode.ToUpper(r)) + s[size:]
}
