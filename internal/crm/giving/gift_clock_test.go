package giving

import (
	"testing"
	"time"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	moment := assert.Must(time.Parse(time.RFC3339, text))(t)
	return moment
}

// The day of a gift is that of the organization's clock. A gift of which only the day is known stays on that day everywhere.
func TestTheDayOfAGift(t *testing.T) {
	for _, c := range rows.Of[struct {
		At, Zone string
		Want     int64
	}](`
		2026-11-17T04:37:00Z  America/New_York    20261116  // 11:37 PM
		2027-01-01T04:37:00Z  America/New_York    20261231
		2026-11-16T22:00:00Z  Australia/Sydney    20261117  // 9 AM
		2026-11-17T04:37:00Z  UTC                 20261117
		2026-11-17T12:00:00Z  Pacific/Kiritimati  20261117  // a date
		2026-11-17T12:00:01Z  Pacific/Kiritimati  20261118
		1900-01-01T01:00:00Z  America/New_York    19000101  // no sum is older
		2026-03-08T06:59:59Z  America/New_York    20260308  // an hour later the clocks go forward
	`) {
		assert.Equal(t, Day(GiftClock(at(t, c.At), text.Location(c.Zone))), c.Want, "%s in %s is on", c.At, c.Zone)
	}
}

// A date may be today where the organization is, or anywhere for programs, and no later.
func TestADateOfAGiftIsNoLaterThanToday(t *testing.T) {
	sydney, newYork := text.Location("Australia/Sydney"), text.Location("America/New_York")
	for _, c := range []struct {
		now   time.Time
		given string
		ok    bool
	}{
		{at(t, "2026-11-16T22:00:00Z").In(sydney), "2026-11-17", true},
		{at(t, "2026-11-16T22:00:00Z").In(sydney), "2026-11-18", false},
		{at(t, "2026-11-17T04:37:00Z").In(newYork), "2026-11-16", true},
		{at(t, "2026-11-17T04:37:00Z").In(newYork), "2026-11-17", false},
		{at(t, "2026-11-17T04:37:00Z").In(newYork), "2026-11-17T04:37:00Z", true},
		{at(t, "2026-11-17T04:37:00Z").In(newYork), "2026-11-17T04:39:00Z", false},
		{AnywhereToday(at(t, "2026-11-16T22:00:00Z")), "2026-11-17", true},
		{AnywhereToday(at(t, "2026-11-16T22:00:00Z")), "2026-11-18", false},
		{AnywhereToday(at(t, "2026-11-16T22:00:00Z")), "2026-11-16T22:05:00Z", false},
	} {
		in, faults, err := DecodeGift(doc.NewBody([]byte(`{"amount":5,"method":"cash","transacted_at":"` + c.given + `","contact_id":1}`)))
		if err != nil {
			t.Fatal(err)
		}
		if err = in.Validate(faults, true, "US", c.now); (err == nil) != c.ok {
			t.Errorf("%s at %v: %v", c.given, c.now, err)
		}
		if day, isDay, _ := text.ParseMoment(c.given); c.ok && isDay && !in.Time().Equal(day.Add(12*time.Hour)) {
			t.Errorf("%s at %v is %v, and not a date", c.given, c.now, in.Time())
		}
	}
}
