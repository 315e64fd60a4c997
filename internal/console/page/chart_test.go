package page

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm/campaign"
	"donorbook/internal/rig/assert"
)

func day(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 12, 0, 0, 0, time.UTC)
}

func TestColumnsAreAsHighAsTheirNumbers(t *testing.T) {
	months := LastMonths(day(2026, time.March, 31), 4)
	chart := NewChart(months, []int64{0, 1, 500, 1000}, 1, func(month time.Time, n int64) MonthBar {
		bar := counted(month, n)
		bar.SoFar = month.Equal(months[3])
		return bar
	})
	for i, want := range []struct {
		label, name, value string
		height             int
		soFar              bool
	}{
		// one of a thousand can still be seen
		{"Dec", "December 2025", "0", 0, false}, {"Jan", "January 2026", "1", 3, false},
		{"Feb", "February 2026", "500", columnRoom / 2, false}, {"Mar", "March 2026", "1k", columnRoom, true},
	} {
		c := chart.Months[i].Bars[0]
		if chart.Months[i].Label != want.label || c.Name != want.name || c.Short != want.value ||
			c.Height != want.height || c.SoFar != want.soFar {
			t.Errorf("column %d is %+v, want %+v", i, c, want)
		}
		if c.Top+c.Height != chart.Base || c.Top < columnHead {
			t.Errorf("column %d does not stand on the line, or leaves the picture: %+v", i, c)
		}
	}
}

func TestColumnsStandSideBySide(t *testing.T) {
	for years := 1; years <= 2; years++ {
		chart := NewChart(LastMonths(day(2026, time.May, 1), 12*years), make([]int64, 12*years), years, counted)
		right := 0.0
		for _, m := range chart.Months {
			for _, c := range slices.Backward(m.Bars) {
				left, width := number(t, c.Left), number(t, c.Width)
				if left < right-0.02 || width <= 0 {
					t.Errorf("the column %s begins at %v, where another goes on to %v", c.Name, left, right)
				}
				right = left + width
			}
		}
		if right > 100 {
			t.Errorf("the last column ends at %v percent", right)
		}
	}
}

func counted(_ time.Time, n int64) MonthBar { return MonthBar{Short: ShortCount(n)} }

func number(t *testing.T, percent string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(strings.TrimSuffix(percent, "%"), 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTheLastMonthsBeginOnTheirFirstDay(t *testing.T) {
	for _, c := range []struct {
		now  time.Time
		want string
	}{
		{day(2026, time.January, 31), "[2025-11-01 2025-12-01 2026-01-01]"},
		{day(2026, time.March, 31), "[2026-01-01 2026-02-01 2026-03-01]"}, // the previous month is shorter
		{time.Date(2026, time.June, 30, 23, 0, 0, 0, time.FixedZone("", -5*3600)),
			"[2026-04-01 2026-05-01 2026-06-01]"},
	} {
		var got []string
		for _, month := range LastMonths(c.now, 3) {
			got = append(got, month.Format(time.DateOnly))
		}
		assert.Equal(t, fmt.Sprint(got), c.want, "at %v they are %v", c.now, got)
	}
}

func TestShortCountFitsANarrowPlace(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1k", 1049: "1k", 1100: "1.1k", 1960: "2k", 9940: "9.9k", 9999: "10k", 28_845: "29k",
		999_400: "999k", 999_999: "1M", 1_000_000: "1M",
		5_670_000: "5.7M", 12_000_000: "12M", 7_800_000_000: "7.8B", 1_234_000_000_000: "1234B",
	} {
		assert.Equal(t, ShortCount(n), want, "%d", n)
	}
}

func TestBarsNeverLeaveTheirPlace(t *testing.T) {
	now := day(2026, time.May, 1)
	for _, c := range []struct {
		campaign campaign.Campaign
		width    string
		hasGoal  bool
		ended    bool
	}{
		{campaign.Campaign{Goal: 20000, OpeningRaised: 5000}, "25.00%", true, false},
		{campaign.Campaign{Goal: 20000, OpeningRaised: 50000, EndAt: now.Add(-time.Second)}, "100.00%", true, true},
		{campaign.Campaign{OpeningRaised: 50000, EndAt: now.Add(time.Second)}, "0.00%", false, false},
	} {
		bar := newProgress(c.campaign)
		if bar.Width != c.width || (bar.Goal != "") != c.hasGoal || ended(c.campaign, now) != c.ended {
			t.Errorf("%+v is drawn as %+v", c.campaign, bar)
		}
	}
	for part, want := range map[int64]string{4000: "100.00%", 1000: "25.00%", 1: "1.00%"} {
		assert.Equal(t, ShareOf(part, 4000), want, "%d of 4000 is drawn", part)
	}
}
