package page

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
)

// A chart is SVG that a template draws from what is computed here. Widths are percent of the chart, so that it fits any screen while its letters
// keep their size; every value is also written, so that no chart needs color.
type Chart struct {
	Months []chartMonth
	Height int // of the whole chart, in pixels, as Base and Labels
	Base   int // where the bars stand
	Labels int // where their names are written
}

// chartMonth is a month, or a month beside the same month of the year before: one or two upright bars.
type chartMonth struct {
	Label  string     // below it: Nov
	Middle string     // in percent
	Bars   []MonthBar // the one of the year before is the second
}

// MonthBar is an upright bar that leads to what it counts.
type MonthBar struct {
	Name                string // November 2026
	Value               string
	Short               string // the value, for a narrow place
	Address             string
	Before              bool // it is of the year before
	SoFar               bool // the month is not over
	Left, Width, Middle string
	Top, Height         int
}

const (
	columnRoom = 150 // for the highest bar, in pixels
	columnHead = 22  // for the value above it
	columnFoot = 26  // for the names
)

// barShare is how much of its place a bar takes, in percent: alone, or as one of two.
var barShare = [...]float64{1: 62, 2: 40}

// NewChart draws the values of months. Those of two years are drawn side by side, the earlier year first.
func NewChart(months []time.Time, values []int64, years int, bar func(month time.Time, value int64) MonthBar) Chart {
	c := Chart{Base: columnHead + columnRoom, Height: columnHead + columnRoom + columnFoot, Labels: columnHead + columnRoom + 18}
	highest := max(1, slices.Max(values))
	n := len(months) / years
	place := 100 / float64(n)
	width := place * barShare[years] / 100
	for i := range n {
		middle := place * (float64(i) + 0.5)
		m := chartMonth{Label: months[i].Format("Jan"), Middle: percent(middle)}
		for year := years - 1; year >= 0; year-- {
			at := year*n + i
			b, left := bar(months[at], values[at]), middle+width*(float64(year)-float64(years)/2)
			b.Name, b.Before = months[at].Format("January 2006"), year < years-1
			b.Left, b.Width, b.Middle = percent(left), percent(width), percent(left+width/2)
			b.Height = BarLength(values[at], highest, columnRoom)
			b.Top = c.Base - b.Height
			m.Bars = append(m.Bars, b)
		}
		c.Months = append(c.Months, m)
	}
	return c
}

// BarLength is how long a bar is. What is there at all can be seen.
func BarLength(count, highest int64, room int) int {
	if count <= 0 {
		return 0
	}
	return max(3, int(float64(count)/float64(highest)*float64(room)+0.5))
}

// SoFar tells whether a month of the chart is not over.
func (c Chart) SoFar() bool {
	return slices.ContainsFunc(c.Months, func(m chartMonth) bool { return m.Bars[0].SoFar && m.Bars[0].Height > 0 })
}

func percent(p float64) string { return strconv.FormatFloat(p, 'f', 2, 64) + "%" }

// ShortCount is a number for a narrow place, rounded: 950, 1.2k, 29k, 5.6M.
func ShortCount(n int64) string {
	units := []struct {
		size float64
		name string
	}{{1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "B"}}
	for i, unit := range units {
		value := float64(n) / unit.size
		switch last := i == len(units)-1; {
		case value >= 999.5 && !last:
		case i > 0 && value < 9.95:
			return strings.TrimSuffix(strconv.FormatFloat(value, 'f', 1, 64), ".0") + unit.name
		default:
			return strconv.FormatFloat(value, 'f', 0, 64) + unit.name
		}
	}
	return ""
}

// ShareOf is how long a horizontal bar is beside the longest one. What is there at all can be seen.
func ShareOf(part, most int64) string {
	return percent(max(1, 100*float64(part)/float64(max(1, most))))
}

// Figure is a number with its name, and a sentence about it that may have a number of its own.
type Figure struct {
	Label, Value, Address         string
	Before, Number, Linked, After string // the sentence: Number stands between, and leads to Linked
	Trend                         string // up or down, "" for neither
}

// SameDayBefore is the same day of the year before, or the last one of its month.
func SameDayBefore(now time.Time) time.Time {
	last := time.Date(now.Year()-1, now.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
	return time.Date(now.Year()-1, now.Month(), min(now.Day(), last), 0, 0, 0, 0, time.UTC)
}

// Comparison says how much more or less one amount is than another, which follows; "" where there is nothing to compare with.
func Comparison(is, was int64) (words, trend string) {
	switch more := is - was; {
	case was == 0:
		return "", ""
	case more > 0:
		return PercentText(more, was) + " more than", "up"
	case more < 0:
		return PercentText(-more, was) + " less than", "down"
	}
	return "The same as", ""
}

// MoneyChart draws what was given in the months of two years, side by side.
func (r *Request) MoneyChart(months []time.Time, amounts []int64, currency string) Chart {
	this := giving.Month(text.WallClock(r.Now(), r.Zone()))
	return NewChart(months, amounts, 2, func(month time.Time, amount int64) MonthBar {
		return MonthBar{Value: text.Money(amount, currency), Short: ShortCount(Rounded(amount, text.ScaleOf(text.Decimals(currency)))), Address: r.MonthAddress(month), SoFar: giving.Month(month) == this}
	})
}

func (r *Request) MonthAddress(month time.Time) string {
	return r.GiftsAddress(GiftsBetween(month, month.AddDate(0, 1, -1)))
}

// LastMonths are the first moments of the last n months, of which this is the last, where now is.
func LastMonths(now time.Time, n int) []time.Time {
	year, month, _ := now.Date()
	months := make([]time.Time, 0, n+1)
	for i := range n {
		months = append(months, time.Date(year, month-time.Month(n-1-i), 1, 0, 0, 0, 0, now.Location()))
	}
	return months
}
