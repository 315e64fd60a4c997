package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html"
	"maps"
	"math"
	"slices"
	"strconv"
)

// The picture's measures, in pixels.
const (
	svgWidth   = 1040
	margin     = 24
	rowHeight  = 26
	numberEnd  = margin + 84 // where the column of the goals' numbers ends
	labelEnd   = 510         // where the column of their words ends
	barStart   = labelEnd + 14
	barWidth   = 230 // of twice the goal; the rest is for text
	chartTop   = 96
	lineHeight = 340 // of the chart of growth

	growthRight = 740.0 // where that chart ends; names follow
)

// style works on light and on dark pages, and brings a background of its own, so that it depends on nothing around it; verdicts are
// told in words as well as in color.
//
//go:embed picture.style
var style string

// canvas collects elements.
type canvas struct{ bytes.Buffer }

func (c *canvas) add(format string, args ...any) { fmt.Fprintf(c, format+"\n", args...) }

func (c *canvas) text(x, y float64, class, anchor, text string) {
	c.add(`<text x="%.1f" y="%.1f" class="%s" text-anchor="%s" fill="currentColor">%s</text>`, x, y, class, anchor, html.EscapeString(text))
}

func (c *canvas) rule(x1, y1, x2, y2 float64, more string) {
	c.add(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="currentColor" %s/>`, x1, y1, x2, y2, more)
}

// picture draws the goals as bars and growth as lines.
func (b *bench) picture() []byte {
	bars := slices.DeleteFunc(slices.Clone(b.outcomes), func(o outcome) bool { return o.reason != "" || o.number == "growth" })
	height := chartTop + len(bars)*rowHeight + margin
	works := b.growthWorks()
	top := float64(height + 70) // of the chart of growth
	if len(works) > 0 {
		height += 70 + lineHeight + 50
	}
	c := &canvas{}
	c.add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`, svgWidth, height, svgWidth, height)
	c.add(`<title>What was reached of each goal, and the price of requests as the data grows</title>`)
	c.WriteString(style)
	c.add(`<rect x=".5" y=".5" width="%d" height="%d" rx="8" class="page"/>`, svgWidth-1, height-1)
	drawBars(c, bars)
	if len(works) > 0 {
		b.drawGrowth(c, works, top)
	}
	c.add(`</svg>`)
	return c.Bytes()
}

// drawBars shows how much of each goal was reached. The line is the goal itself.
func drawBars(c *canvas, bars []outcome) {
	c.text(margin, 38, "head", "start", "Goals")
	c.text(margin, 60, "quiet", "start", "How much of each was reached: a bar that passes the line has met its goal, longer is better, and it is cut at twice the goal.")
	goal := float64(barStart + barWidth/2)
	c.text(goal, chartTop-10, "quiet", "middle", "goal")
	for i, o := range bars {
		y := float64(chartTop + i*rowHeight)
		class := "missed"
		if o.met() {
			class = "met"
		}
		c.text(margin, y+17, "quiet", "start", o.number)
		c.text(labelEnd, y+17, "", "end", o.words)
		c.add(`<rect x="%d" y="%.1f" width="%d" height="%d" rx="3" class="track"/>`, barStart, y+5, barWidth, rowHeight-10)
		c.add(`<rect x="%d" y="%.1f" width="%.1f" height="%d" rx="3" class="%s"/>`, barStart, y+5, barWidth/2*min(2, max(0.02, o.share())), rowHeight-10, class)
		c.text(barStart+barWidth+14, y+17, "strong", "start", number(o.spread.median)+unitText(o.unit))
		c.text(svgWidth-margin, y+17, "quiet", "end", o.bound(plain(o.limit))+", "+o.verdict())
	}
	c.rule(goal, chartTop-4, goal, float64(chartTop+len(bars)*rowHeight), `stroke-width="2"`)
}

// plain writes a number without zeros that say nothing.
func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// drawGrowth draws, for every work, its price at each size as a multiple of that at the smallest.
func (b *bench) drawGrowth(c *canvas, works []string, top float64) {
	const left = margin + 40.0
	sizes, lines, high := growthSizes(b.contacts), make([][]float64, len(works)), 1.6
	for i, work := range works {
		for _, s := range sizes {
			v := spreadOf(b.all.ratio(cpuOf, growthName(work, s.name), growthName(work, sizes[0].name))).median
			lines[i] = append(lines[i], v)
			if !math.IsNaN(v) {
				high = max(high, v*1.05)
			}
		}
	}
	y := func(v float64) float64 { return top + lineHeight*(1-v/high) }
	x := func(i int) float64 { return left + 60 + (growthRight-left-60)*float64(i)/float64(len(sizes)-1) }
	c.text(margin, top-50, "head", "start", "Growth")
	c.text(margin, top-28, "quiet", "start", "Processor time of the server per request, as a multiple of that with the fewest contacts. The last column is the same amount of data in many accounts.")
	for step, v := max(0.5, math.Ceil(high/20)), 0.0; v <= high; v += step {
		c.rule(left, y(v), growthRight, y(v), `opacity=".2"`)
		c.text(left-8, y(v)+4, "quiet", "end", plain(v))
	}
	c.rule(left, y(1.3), growthRight, y(1.3), `stroke-width="2" stroke-dasharray="6 4"`)
	c.text(left+6, y(1.3)-6, "quiet", "start", "limit 1.3")
	for i, s := range sizes {
		c.text(x(i), top+lineHeight+20, "", "middle", s.name+" contacts")
	}
	drawLines(c, works, lines, x, y)
}

// drawLines draws a line for each work, with its name at the end.
func drawLines(c *canvas, works []string, lines [][]float64, x func(int) float64, y func(float64) float64) {
	ends := make(map[int]float64) // where each line ends
	for i, line := range lines {
		var points string
		for j, v := range line {
			if math.IsNaN(v) {
				continue
			}
			points += fmt.Sprintf("%.1f,%.1f ", x(j), y(v))
			c.add(`<circle cx="%.1f" cy="%.1f" r="3.5" class="s%d"/>`, x(j), y(v), i%8)
			ends[i] = y(v)
		}
		c.add(`<polyline points="%s" class="s%d" style="fill: none"/>`, points, i%8)
	}
	floor := math.Inf(-1)
	for _, i := range slices.SortedFunc(maps.Keys(ends), func(a, b int) int { return cmp.Or(cmp.Compare(ends[a], ends[b]), a-b) }) {
		floor = max(ends[i], floor+16)                            // names do not lie on each other
		dearest := slices.MaxFunc(lines[i], cmp.Compare[float64]) // to which no number is less than any
		c.add(`<text x="%.1f" y="%.1f" class="s%d" style="stroke: none">%s, up to %sx</text>`, growthRight+14, floor+4, i%8, html.EscapeString(works[i]), number(dearest))
	}
}
