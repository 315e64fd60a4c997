package main

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"slices"
)

// The picture's measures, in pixels.
const (
	svgWidth   = 1040
	rowHeight  = 24
	labelWidth = 440
	barWidth   = 300 // of twice the goal; the rest is for text
	chartTop   = 70
	lineHeight = 320 // of the chart of growth
)

// style works on light and on dark pages; verdicts are told in words as well as in colour.
const style = `<style>
	svg { color: #24292f; font: 13px system-ui, sans-serif; }
	.met { fill: #2e7d32; } .missed { fill: #c62828; } .quiet { opacity: .65; }
	.s0 { stroke: #0969da; fill: #0969da; } .s1 { stroke: #8250df; fill: #8250df; } .s2 { stroke: #1a7f37; fill: #1a7f37; }
	.s3 { stroke: #bf3989; fill: #bf3989; } .s4 { stroke: #9a6700; fill: #9a6700; } .s5 { stroke: #57606a; fill: #57606a; }
	.s6 { stroke: #cf222e; fill: #cf222e; } .s7 { stroke: #0b7285; fill: #0b7285; }
	polyline { stroke-width: 2; }
	@media (prefers-color-scheme: dark) {
		svg { color: #e6edf3; }
		.met { fill: #57ab5a; } .missed { fill: #f47067; }
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
	height := chartTop + len(bars)*rowHeight + 40
	works := r.growthWorks()
	if len(works) > 0 {
		height += lineHeight + 110
	}
	c := &canvas{}
	c.add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`, svgWidth, height, svgWidth, height)
	c.add(`<title>What was reached of each goal, and the price of requests as the data grows</title>`)
	c.WriteString(style)
	drawBars(c, bars)
	if len(works) > 0 {
		r.drawGrowth(c, works, float64(chartTop+len(bars)*rowHeight+90))
	}
	c.add(`</svg>`)
	return c.Bytes()
}

// drawBars shows how much of each goal was reached. The line is the goal itself.
func drawBars(c *canvas, bars []outcome) {
	c.text(10, 24, "", "start", "Goals: how much of each was reached. A bar that passes the line has met it; longer is better, cut at twice the goal.")
	goal := float64(labelWidth + barWidth/2)
	c.text(goal, chartTop-12, "quiet", "middle", "goal")
	for i, o := range bars {
		y := float64(chartTop + i*rowHeight)
		c.text(labelWidth-10, y+15, "", "end", shorten(o.words, 60))
		class := "missed"
		if o.met() {
			class = "met"
		}
		c.add(`<rect x="%d" y="%.1f" width="%.1f" height="%d" class="%s"/>`, labelWidth, y+3, barWidth/2*min(2, max(0.01, o.share())), rowHeight-8, class)
		c.text(labelWidth+barWidth+8, y+15, "", "start", fmt.Sprintf("%s, %s: %s", number(o.spread.median), o.limitText(), o.verdict()))
	}
	c.rule(goal, chartTop-6, goal, float64(chartTop+len(bars)*rowHeight), `stroke-width="2"`)
}

func shorten(text string, n int) string {
	letters := []rune(text)
	if len(letters) <= n {
		return text
	}
	return string(letters[:n-1]) + "…"
}

// drawGrowth draws, for every work, its price at each size as a multiple of that at the smallest.
func (r *report) drawGrowth(c *canvas, works []string, top float64) {
	const left, right = 60.0, 700.0
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
	x := func(i int) float64 { return left + (right-left)*float64(i)/float64(len(r.sizes)-1) }
	c.text(10, top-24, "", "start", "Growth: processor time of the server a request, as a multiple of that with the fewest contacts. The dashed line is the limit; on the right many accounts.")
	for v := 0.0; v <= high; v += 0.5 {
		c.rule(left, y(v), right, y(v), `opacity=".2"`)
		c.text(left-8, y(v)+4, "quiet", "end", number(v))
	}
	c.rule(left, y(1.3), right, y(1.3), `stroke-width="2" stroke-dasharray="6 4"`)
	for i, s := range r.sizes {
		c.text(x(i), top+lineHeight+20, "", "middle", s.name)
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
		last := lines[l.line][len(lines[l.line])-1]
		c.add(`<text x="712" y="%.1f" class="s%d" style="stroke: none">%s: %sx</text>`, at+4, l.line%8, html.EscapeString(works[l.line]), number(last))
	}
}
