package main

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
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

// style works on light and on dark pages, and brings a page of its own, so that nothing depends on what is around it; verdicts
// are told in words as well as in color.
const style = `<style>
	svg { color: #1f2328; font: 13px system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif; }
	.page { fill: #ffffff; stroke: #d1d9e0; } .track { fill: #eaeef2; }
	.head { font-size: 17px; font-weight: 600; } .quiet { opacity: .7; } .strong { font-weight: 600; }
	.met { fill: #2da44e; } .missed { fill: #d1242f; }
	.s0 { stroke: #0969da; fill: #0969da; } .s1 { stroke: #8250df; fill: #8250df; } .s2 { stroke: #1a7f37; fill: #1a7f37; }
	.s3 { stroke: #bf3989; fill: #bf3989; } .s4 { stroke: #9a6700; fill: #9a6700; } .s5 { stroke: #57606a; fill: #57606a; }
	.s6 { stroke: #cf222e; fill: #cf222e; } .s7 { stroke: #0b7285; fill: #0b7285; }
	polyline { stroke-width: 2; stroke-linejoin: round; }
	@media (prefers-color-scheme: dark) {
		svg { color: #e6edf3; }
		.page { fill: #0d1117; stroke: #30363d; } .track { fill: #21262d; }
		.met { fill: #3fb950; } .missed { fill: #f85149; }
		.s0 { stroke: #6cb6ff; fill: #6cb6ff; } .s1 { stroke: #dcbdfb; fill: #dcbdfb; } .s2 { stroke: #8ddb8c; fill: #8ddb8c; }
		.s3 { stroke: #fc8dc7; fill: #fc8dc7; } .s4 { stroke: #f0c04f; fill: #f0c04f; } .s5 { stroke: #adbac7; fill: #adbac7; }
		.s6 { stroke: #ff938a; fill: #ff938a; } .s7 { stroke: #76e3ea; fill: #76e3ea; }
	}
</style>
`

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
func (r *report) picture() []byte {
	var bars []outcome
	for _, o := range r.outcomes {
		if o.reason == "" && o.number != "growth" {
			bars = append(bars, o)
		}
	}
	height := chartTop + len(bars)*rowHeight + margin
	works := r.growthWorks()
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
		r.drawGrowth(c, works, top)
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
		c.text(svgWidth-margin, y+17, "quiet", "end", limitWords(o)+", "+o.verdict())
	}
	c.rule(goal, chartTop-4, goal, float64(chartTop+len(bars)*rowHeight), `stroke-width="2"`)
}

// limitWords is the limit without its unit, which stands beside it already.
func limitWords(o outcome) string {
	if o.atMost {
		return "at most " + plain(o.limit)
	}
	return "at least " + plain(o.limit)
}

// plain writes a number without zeros that say nothing.
func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// drawGrowth draws, for every work, its price at each size as a multiple of that at the smallest.
func (r *report) drawGrowth(c *canvas, works []string, top float64) {
	const left = margin + 40.0
	lines := make([][]float64, len(works))
	high := 1.6
	for i, work := range works {
		smallest := growthName(work, r.sizes[0].name)
		for _, s := range r.sizes {
			v := spreadOf(r.all.ratio(growthName(work, s.name), smallest, cpuOf)).median
			lines[i] = append(lines[i], v)
			if !math.IsNaN(v) {
				high = max(high, v*1.05)
			}
		}
	}
	y := func(v float64) float64 { return top + lineHeight*(1-v/high) }
	x := func(i int) float64 { return left + 60 + (growthRight-left-60)*float64(i)/float64(len(r.sizes)-1) }
	c.text(margin, top-50, "head", "start", "Growth")
	c.text(margin, top-28, "quiet", "start", "Processor time of the server a request, as a multiple of that with the fewest contacts. The last column is the same amount of data in many accounts.")
	for v := 0.0; v <= high; v += 0.5 {
		c.rule(left, y(v), growthRight, y(v), `opacity=".2"`)
		c.text(left-8, y(v)+4, "quiet", "end", plain(v))
	}
	c.rule(left, y(1.3), growthRight, y(1.3), `stroke-width="2" stroke-dasharray="6 4"`)
	c.text(left+6, y(1.3)-6, "quiet", "start", "limit 1.3")
	for i, s := range r.sizes {
		c.text(x(i), top+lineHeight+20, "", "middle", s.name+" contacts")
	}
	r.drawLines(c, works, lines, x, y)
}

func (r *report) drawLines(c *canvas, works []string, lines [][]float64, x func(int) float64, y func(float64) float64) {
	type label struct {
		line int
		at   float64
	}
	var labels []label
	for i, line := range lines {
		var points string
		at := math.NaN()
		for j, v := range line {
			if math.IsNaN(v) {
				continue
			}
			points += fmt.Sprintf("%.1f,%.1f ", x(j), y(v))
			c.add(`<circle cx="%.1f" cy="%.1f" r="3.5" class="s%d"/>`, x(j), y(v), i%8)
			at = y(v)
		}
		c.add(`<polyline points="%s" class="s%d" style="fill: none"/>`, points, i%8)
		if !math.IsNaN(at) {
			labels = append(labels, label{i, at})
		}
	}
	slices.SortFunc(labels, func(a, b label) int { return int(a.at - b.at) })
	floor := math.Inf(-1)
	for _, l := range labels { // names do not lie on each other
		at := max(l.at, floor+16)
		floor = at
		dearest := slices.MaxFunc(lines[l.line], cmp.Compare[float64]) // to which no number is less than any
		c.add(`<text x="%.1f" y="%.1f" class="s%d" style="stroke: none">%s, up to %sx</text>`, growthRight+14, at+4, l.line%8, html.EscapeString(works[l.line]), number(dearest))
	}
}
