package browser_test

import (
	_ "embed"
	"fmt"

	"github.com/chromedp/chromedp"
)

// axe finds barriers for people with disabilities. Deque Systems, Mozilla Public License 2.0.
//
//go:embed testdata/axe.min.js
var axe string

// pageLimit is how many bytes a page with its style and scripts may take over the wire. The reference of the API is the largest.
const pageLimit = 140_000

// audit fails the test if the page, in its current state, is not accessible or does not fit: on a desk and on a phone, in light
// and in dark colors. Call it once for each state that looks different.
func (p *page) audit() {
	p.t.Helper()
	for _, finding := range p.findings() {
		p.t.Errorf("%s: %s", p.path(), finding)
	}
	p.check()
}

func (p *page) findings() (all []string) {
	p.t.Helper()
	size, scheme := p.size, p.scheme
	p.colors("light")
	for _, width := range []int64{1280, 390} {
		p.width(width)
		all = append(all, p.findingsAt(fmt.Sprintf("%d wide", width), allRules)...)
	}
	p.colors("dark") // which no width changes
	for _, finding := range p.axe(colorRules) {
		all = append(all, "dark: "+finding)
	}
	p.width(size[0])
	p.colors(scheme)
	weight, err := ask[int](p, "weight")
	p.must("weighing the page", err)
	if weight > pageLimit {
		all = append(all, fmt.Sprintf("the page weighs %d bytes, more than %d", weight, pageLimit))
	}
	return all
}

func (p *page) findingsAt(where, rules string) (all []string) {
	p.t.Helper()
	for _, finding := range p.axe(rules) {
		all = append(all, where+", light: "+finding)
	}
	overflow, err := ask[int](p, "overflow")
	p.must("measuring the page", err)
	if overflow > 0 {
		all = append(all, fmt.Sprintf("%s: the page is %d pixels too wide", where, overflow))
	}
	return all
}

type violation struct {
	ID, Impact, Help string
	Nodes            []struct {
		HTML           string
		FailureSummary string
	}
}

// Options of axe.
const (
	allRules       = ""
	colorRules     = ", runOnly: ['color-contrast', 'link-in-text-block']"
	structureRules = ", rules: {'color-contrast': {enabled: false}}" // all but the one that takes most of the time
)

// axe returns what axe calls serious or critical. Of elements that look the same it looks at two.
func (p *page) axe(rules string) (all []string) {
	p.t.Helper()
	_, err := ask[chromedp.Void](p, "atRest")
	p.must("waiting for movements", err)
	present, err := evaluate[bool](p, "typeof axe === 'object'")
	p.must("looking for axe", err)
	if !present {
		_, err = evaluate[chromedp.Void](p, axe+"\n;undefined")
		p.must("loading axe", err)
	}
	violations, err := evaluate[[]violation](p, `harness.withoutRepeats(() => axe.run(document, {preload: false, resultTypes: ['violations']`+rules+`})
		.then((result) => result.violations.filter((v) => v.impact === 'serious' || v.impact === 'critical')))`)
	p.must("running axe", err)
	for _, v := range violations {
		for _, node := range v.Nodes {
			all = append(all, fmt.Sprintf("%s (%s, %s): %s\n%s", v.Help, v.ID, v.Impact, node.HTML, node.FailureSummary))
		}
	}
	return all
}
