package crm

import (
	"strings"
	"time"
)

// The three ways in which times are written on the wire, always in UTC.
const (
	contactTimeForm  = "2006-01-02T15:04:05-07:00"
	microTimeForm    = "2006-01-02T15:04:05.000000Z"
	campaignTimeForm = "2006-01-02 15:04:05"
)

// parseDOB reads a day of birth as m/d/Y, with or without leading zeros: a day that was in the calendar, from the
// year 1000 to the day of now in UTC.
func parseDOB(value string, now time.Time) (time.Time, bool) {
	m, rest, ok := strings.Cut(value, "/")
	d, y, ok2 := strings.Cut(rest, "/")
	if !ok || !ok2 || len(m) > 2 || len(d) > 2 || len(y) != 4 {
		return time.Time{}, false
	}
	month, ok1 := parseDigits(m)
	day, ok2 := parseDigits(d)
	year, ok3 := parseDigits(y)
	if !ok1 || !ok2 || !ok3 || year < 1000 {
		return time.Time{}, false
	}
	t, ok := calendarTime(year, month, day, 0, 0, 0, 0)
	if !ok || t.After(now) {
		return time.Time{}, false
	}
	return t, true
}

// calendarTime is a point in time whose parts all exist: time.Date alone would take 31 April for 1 May.
func calendarTime(year, month, day, hour, minute, second, micro int) (time.Time, bool) {
	t := time.Date(year, time.Month(month), day, hour, minute, second, micro*1000, time.UTC)
	if t.Year() != year || int(t.Month()) != month || t.Day() != day || hour > 23 || minute > 59 || second > 59 {
		return time.Time{}, false
	}
	return t, true
}

// parseDigits reads a decimal number of at least one digit; the caller limits its length.
func parseDigits(s string) (n int, ok bool) {
	for i := 0; i < len(s); i++ {
		if !isDigit(s[i]) {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, s != ""
}

// appendContactTime writes a time of a contact: 2026-01-31T09:08:07+00:00.
func appendContactTime(dst []byte, t time.Time) []byte {
	return append(appendSeconds(dst, t.UTC(), 'T'), "+00:00"...)
}

// appendMicroTime writes a day of birth or a time of an address: 2026-01-31T09:08:07.000000Z.
func appendMicroTime(dst []byte, t time.Time) []byte {
	t = t.UTC()
	dst = append(appendSeconds(dst, t, 'T'), '.')
	micro := t.Nanosecond() / 1000
	dst = appendPair(dst, micro/10000)
	dst = appendPair(dst, micro/100%100)
	dst = appendPair(dst, micro%100)
	return append(dst, 'Z')
}

// appendCampaignTime writes a time of a campaign: 2026-01-31 09:08:07.
func appendCampaignTime(dst []byte, t time.Time) []byte {
	return appendSeconds(dst, t.UTC(), ' ')
}

// appendSeconds writes date and time to the second, several times faster than time.AppendFormat. Years have four
// digits: input is held to them, and clocks are.
func appendSeconds(dst []byte, t time.Time, separator byte) []byte {
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	dst = appendPair(dst, year/100)
	dst = appendPair(dst, year%100)
	dst = append(dst, '-')
	dst = appendPair(dst, int(month))
	dst = append(dst, '-')
	dst = appendPair(dst, day)
	dst = append(dst, separator)
	dst = appendPair(dst, hour)
	dst = append(dst, ':')
	dst = appendPair(dst, minute)
	dst = append(dst, ':')
	return appendPair(dst, second)
}

func appendPair(dst []byte, n int) []byte {
	return append(dst, '0'+byte(n/10%10), '0'+byte(n%10))
}

// parseContactTime reads what appendContactTime writes, and nothing else.
func parseContactTime(s string) (time.Time, bool) { return parseTime(s, contactTimeForm, "+00:00") }

// parseMicroTime reads what appendMicroTime writes, and nothing else.
func parseMicroTime(s string) (time.Time, bool) { return parseTime(s, microTimeForm, "Z") }

// parseCampaignTime reads what appendCampaignTime writes, and nothing else.
func parseCampaignTime(s string) (time.Time, bool) { return parseTime(s, campaignTimeForm, "") }

// parseTime reads a time whose form has the same length as s and ends as said.
func parseTime(s, form, suffix string) (time.Time, bool) {
	if len(s) != len(form) || !strings.HasSuffix(s, suffix) {
		return time.Time{}, false
	}
	s, form = s[:len(s)-len(suffix)], form[:len(s)-len(suffix)]
	var parts [7]int // year, month, day, hour, minute, second, microsecond
	at := 0
	for i := range len(s) {
		switch {
		case isDigit(form[i]):
			if !isDigit(s[i]) {
				return time.Time{}, false
			}
			parts[at] = parts[at]*10 + int(s[i]-'0')
		case s[i] != form[i]:
			return time.Time{}, false
		default:
			at++
		}
	}
	return calendarTime(parts[0], parts[1], parts[2], parts[3], parts[4], parts[5], parts[6])
}

// changeTime is when a change happens, in whole seconds. It is never before the change before it: clients that ask what
// changed since a time would miss one that was made after the clock was set back.
func changeTime(now, last time.Time) time.Time {
	now = now.UTC().Truncate(time.Second)
	if now.Before(last) {
		return last
	}
	return now
}
