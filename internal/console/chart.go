package console

import (
	"strconv"
	"time"

	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/store/contacts"
)

// Charts are SVG that templates draw from what is computed here. Widths are percent of the chart, so that it fits any screen
// while its letters keep their size; every value is also written, so that no chart needs color.

// column is one upright bar.
type column struct {
	Label  string // below it: Nov
	Name   string // in full: November 2026
	Count  int64
	Value  string // above it
	SoFar  bool   // the month is not over
	Left   string // of the bar, in per cent, as Width and Middle
	Width  string
	Middle string
	Top    int // in pixels, as Height
	Height int
}

// columnChart is a row of upright bars.
type columnChart struct {
	Columns []column
	Total   int64
	Height  int // of the whole chart, in pixels, as Base and Labels
	Base    int // where the bars stand
	Labels  int // where their names are written
}

const (
	columnRoom  = 150 // for the highest bar, in pixels
	columnHead  = 22  // for the value above it
	columnFoot  = 26  // for the names
	columnShare = 62  // per cent of its place that a bar takes
)

// newColumnChart draws how many contacts were made in each month, of which the last is not over.
func newColumnChart(months []time.Time, counts []int64) columnChart {
	chart := columnChart{Base: columnHead + columnRoom, Height: columnHead + columnRoom + columnFoot, Labels: columnHead + columnRoom + 18}
	highest := int64(1)
	for _, count := range counts {
		highest = max(highest, count)
		chart.Total += count
	}
	place := 100 / float64(len(counts))
	for i, count := range counts {
		height := barLength(count, highest, columnRoom)
		left := place * float64(i)
		chart.Columns = append(chart.Columns, column{
			Label: months[i].Format("Jan"), Name: months[i].Format("January 2006"),
			Count: count, Value: shortCount(count), SoFar: i == len(counts)-1,
			Left: percent(left + place*(100-columnShare)/200), Width: percent(place * columnShare / 100), Middle: percent(left + place/2),
			Top: chart.Base - height, Height: height,
		})
	}
	return chart
}

// monthPair is a month beside the same month of the year before: two upright bars, each of which leads to its gifts.
type monthPair struct {
	Label        string // Nov
	Middle       string // in per cent
	Before, This monthBar
}

type monthBar struct {
	Name        string // November 2026
	Amount      string
	Short       string // in whole units, for a narrow place
	Address     string
	SoFar       bool // the month is not over
	Left, Width string
	Middle      string
	Top, Height int
}

// pairChart is twelve months, each beside that of the year before.
type pairChart struct {
	Pairs                []monthPair
	Height, Base, Labels int
}

const pairShare = 40 // per cent of its place that each bar of a pair takes

// newPairChart draws what was given in each of the last months, of which the last is not over. The first half of them is drawn beside the
// second.
func newPairChart(months []time.Time, sums map[int64]giving.Sums, currency string, address func(time.Time) string) pairChart {
	chart := pairChart{Base: columnHead + columnRoom, Height: columnHead + columnRoom + columnFoot, Labels: columnHead + columnRoom + 18}
	highest := int64(1)
	for _, month := range months {
		highest = max(highest, sums[giving.Month(month)].Amount)
	}
	half := len(months) / 2
	place := 100 / float64(half)
	bar := func(i int, left float64) monthBar {
		amount := sums[giving.Month(months[i])].Amount
		height := barLength(amount, highest, columnRoom)
		return monthBar{
			Name: months[i].Format("January 2006"), Amount: text.Money(amount, currency), Short: shortCount(text.Major(amount, currency)), Address: address(months[i]),
			SoFar: i == len(months)-1, Left: percent(left), Width: percent(place * pairShare / 100), Middle: percent(left + place*pairShare/200), Top: chart.Base - height, Height: height,
		}
	}
	for i := range half {
		middle := place * (float64(i) + 0.5)
		chart.Pairs = append(chart.Pairs, monthPair{
			Label: months[i].Format("Jan"), Middle: percent(middle), Before: bar(i, middle-place*pairShare/100), This: bar(half+i, middle),
		})
	}
	return chart
}

// barLength is how long a bar is. What is there at all can be seen.
func barLength(count, highest int64, room int) int {
	if count <= 0 {
		return 0
	}
	return max(3, int(float64(count)/float64(highest)*float64(room)+0.5))
}

func percent(p float64) string { return strconv.FormatFloat(p, 'f', 2, 64) + "%" }

// shortCount is a number for a narrow place: 950, 1.2k, 34k, 5.6M. It is never rounded up to the next unit.
func shortCount(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1_000_000_000, "B"}, {1_000_000, "M"}, {1_000, "k"}} {
		switch whole, tenth := n/unit.size, n%unit.size*10/unit.size; {
		case whole == 0:
		case whole < 10 && tenth > 0:
			return strconv.FormatInt(whole, 10) + "." + strconv.FormatInt(tenth, 10) + unit.name
		default:
			return strconv.FormatInt(whole, 10) + unit.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// tagBar is a horizontal bar: how large a tag is beside the largest one.
type tagBar struct {
	Name     string
	Contacts int64
	Width    string
}

func newTagBars(tags []contacts.TagCount) []tagBar {
	var bars []tagBar
	for _, tag := range tags {
		share := 100 * float64(tag.Contacts) / float64(tags[0].Contacts)
		bars = append(bars, tagBar{tag.Name, tag.Contacts, percent(max(1, share))})
	}
	return bars
}
