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

// The day of a gift is that of the organization's clock. A gift of which only the day is known stays on that day
// everywhere.
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
	for _, c := range rows.Of[struct {
		Now, Zone, Given string
		Moment           string // "" where it is refused
	}](`
		2026-11-16T22:00:00Z  Australia/Sydney  2026-11-17            2026-11-17 12:00:00
		2026-11-16T22:00:00Z  Australia/Sydney  2026-11-18            ""
		2026-11-17T04:37:00Z  America/New_York  2026-11-16            2026-11-16 12:00:00
		2026-11-17T04:37:00Z  America/New_York  2026-11-17            ""
		2026-11-17T04:37:00Z  America/New_York  2026-11-17T04:37:00Z  2026-11-17 04:37:00
		2026-11-17T04:37:00Z  America/New_York  2026-11-17T04:39:00Z  ""
		2026-11-16T22:00:00Z  anywhere          2026-11-17            2026-11-17 12:00:00
		2026-11-16T22:00:00Z  anywhere          2026-11-18            ""
		2026-11-16T22:00:00Z  anywhere          2026-11-16T22:05:00Z  ""
	`) {
		now := AnywhereToday(at(t, c.Now))
		if c.Zone != "anywhere" {
			now = at(t, c.Now).In(text.Location(c.Zone))
		}
		in, faults := assert.Must2(DecodeGift(doc.NewBody([]byte(
			`{"amount":5,"method":"cash","transacted_at":"` + c.Given + `","contact_id":1}`))))(t)
		err := in.Validate(faults, true, "US", now)
		assert.Equal(t, err == nil, c.Moment != "", "%+v: %v", c, err)
		if err == nil {
			assert.Equal(t, in.Time().UTC().Format(time.DateTime), c.Moment, "%+v", c)
		}
	}
}
