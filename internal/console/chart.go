package console

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// A chart is SVG that a template draws from what is computed here. Widths are percent of the chart, so that it fits any screen while its letters
// keep their size; every value is also written, so that no chart needs color.
type chart struct {
	Months []chartMonth
	Height int // of the whole chart, in pixels, as Base and Labels
	Base   int // where the bars stand
	Labels int // where their names are written
}

// chartMonth is a month, or a month beside the same month of the year before: one or two upright bars.
type chartMonth struct {
	Label  string     // below it: Nov
	Middle string     // in percent
	Bars   []monthBar // the one of the year before is the second
}

// monthBar is an upright bar that leads to what it counts.
type monthBar struct {
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

// newChart draws the values of months. Those of two years are drawn side by side, the earlier year first.
func newChart(months []time.Time, values []int64, years int, bar func(month time.Time, value int64) monthBar) chart {
	c := chart{Base: columnHead + columnRoom, Height: columnHead + columnRoom + columnFoot, Labels: columnHead + columnRoom + 18}
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
			b.Height = barLength(values[at], highest, columnRoom)
			b.Top = c.Base - b.Height
			m.Bars = append(m.Bars, b)
		}
		c.Months = append(c.Months, m)
	}
	return c
}

// barLength is how long a bar is. What is there at all can be seen.
func barLength(count, highest int64, room int) int {
	if count <= 0 {
		return 0
	}
	return max(3, int(float64(count)/float64(highest)*float64(room)+0.5))
}

// SoFar tells whether a month of the chart is not over.
func (c chart) SoFar() bool {
	return slices.ContainsFunc(c.Months, func(m chartMonth) bool { return m.Bars[0].SoFar && m.Bars[0].Height > 0 })
}

func percent(p float64) string { return strconv.FormatFloat(p, 'f', 2, 64) + "%" }

// shortCount is a number for a narrow place, rounded: 950, 1.2k, 29k, 5.6M.
func shortCount(n int64) string {
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

// shareOf is how long a horizontal bar is beside the longest one. What is there at all can be seen.
func shareOf(part, most int64) string {
	return percent(max(1, 100*float64(part)/float64(max(1, most))))
}
