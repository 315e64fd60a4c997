package text

import (
	"testing"
	"time"

	"donorbook/internal/rig/assert"
)

func TestEveryTimezoneHasRules(t *testing.T) {
	boston, _ := Timezone("America/New_York")
	for at, want := range map[time.Month]string{time.January: "EST -0500", time.July: "EDT -0400"} {
		assert.Equal(t, time.Date(2026, at, 1, 12, 0, 0, 0, time.UTC).In(boston).Format("MST -0700"), want,
			"in %v New York", at)
	}
	names := Timezones()
	assert.Equal(t, len(names) >= 500, true, "there are %d time zones", len(names))
	assert.Tells(t, reads(Timezone), names, []string{"Mars/Olympus"})
	assert.Tells(t, IsTimezone, names, []string{"Mars/Olympus"})
}
