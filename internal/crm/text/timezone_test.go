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
	if len(Zones()) < 500 {
		t.Errorf("there are %d time zones", len(Zones()))
	}
	for name := range Zones() {
		if _, ok := Timezone(name); !ok {
			t.Errorf("%s has no rules", name)
		}
	}
	if _, ok := Timezone("Mars/Olympus"); ok || IsTimezone("Mars/Olympus") {
		t.Error("Mars has a time zone")
	}
}
