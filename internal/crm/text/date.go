package text

import (
	"strconv"
	"time"
)

// The three ways in which times are written on the wire, always in UTC.
const (
	contactTimeForm  = "2006-01-02T15:04:05-07:00"
	MicroTimeForm    = "2006-01-02T15:04:05.000000Z"
	CampaignTimeForm = "2006-01-02 15:04:05"
)

// ParseDOB reads a day of birth as m/d/Y, with or without leading zeros: a day that was in the calendar, from the
// year 1000 to the day of now in UTC.
func ParseDOB(value string, now time.Time) (time.Time, bool) {
	t, err := time.Parse("1/2/2006", value)
	if err != nil || t.Year() < 1000 || t.After(now) {
		return time.Time{}, false
	}
	return t, true
}

// AppendContactTime writes a time of a contact: 2026-01-31T09:08:07+00:00.
func AppendContactTime(dst []byte, t time.Time) []byte {
	return append(appendSeconds(dst, t.UTC(), 'T'), "+00:00"...)
}

// AppendMicroTime writes a day of birth or a time of an address: 2026-01-31T09:08:07.000000Z.
func AppendMicroTime(dst []byte, t time.Time) []byte {
	micro := strconv.AppendInt(make([]byte, 0, 8), int64(1_000_000+t.Nanosecond()/1000), 10)
	dst = append(appendSeconds(dst, t.UTC(), 'T'), '.')
	return append(append(dst, micro[1:]...), 'Z')
}

// AppendCampaignTime writes a time of a campaign: 2026-01-31 09:08:07.
func AppendCampaignTime(dst []byte, t time.Time) []byte {
	return appendSeconds(dst, t.UTC(), ' ')
}

// appendSeconds writes date and time to the second, several times faster than time.AppendFormat. Years have four
// digits: input is held to them, and clocks are.
func appendSeconds(dst []byte, t time.Time, separator byte) []byte {
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	dst = append(appendPair(appendPair(dst, year/100), year%100), '-')
	dst = append(appendPair(dst, int(month)), '-')
	dst = append(appendPair(dst, day), separator)
	dst = append(appendPair(dst, hour), ':')
	dst = append(appendPair(dst, minute), ':')
	return appendPair(dst, second)
}

func appendPair(dst []byte, n int) []byte {
	return append(dst, '0'+byte(n/10%10), '0'+byte(n%10))
}

func ParseContactTime(s string) (time.Time, bool)  { return parseRFC3339(s, AppendContactTime) }
func ParseMicroTime(s string) (time.Time, bool)    { return parseRFC3339(s, AppendMicroTime) }
func ParseCampaignTime(s string) (time.Time, bool) { return ParseTime(s, CampaignTimeForm) }

// momentForms are the forms of ISO 8601 that clients send. A time without a zone is in UTC.
var momentForms = []string{
	time.RFC3339, CampaignTimeForm, "2006-01-02T15:04:05", "2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05Z07:00",
	"2006-01-02T15:04Z07:00", "2006-01-02T15:04",
}

// ParseMoment reads a day, whose first moment it is, or a time, always in UTC and in whole seconds.
func ParseMoment(value string) (t time.Time, isDay, ok bool) {
	if t, err := time.Parse(time.DateOnly, value); err == nil {
		return t, true, true
	}
	for _, form := range momentForms {
		if t, err := time.Parse(form, value); err == nil {
			t = t.UTC().Truncate(time.Second)
			return t, false, t.Year() <= 9999
		}
	}
	return time.Time{}, false, false
}

// parseRFC3339 reads what the writer writes, and nothing else. The library reads this layout much faster than any
// other.
func parseRFC3339(s string, write func([]byte, time.Time) []byte) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339, s)
	t = t.UTC()
	return t, err == nil && string(write(make([]byte, 0, 32), t)) == s
}

// ParseTime reads a time in UTC as the form writes it, and nothing else.
func ParseTime(s, form string) (time.Time, bool) {
	t, err := time.Parse(form, s)
	t = t.UTC()
	var again [len(contactTimeForm) + len(MicroTimeForm)]byte
	return t, err == nil && string(t.AppendFormat(again[:0], form)) == s
}

// ChangeTime is when a change happens, in whole seconds. It is never before the change before it: clients that ask what
// changed since a time would miss one that was made after the clock was set back.
func ChangeTime(now, last time.Time) time.Time {
	now = now.UTC().Truncate(time.Second)
	if now.Before(last) {
		return last
	}
	return now
}
