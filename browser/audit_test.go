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
const pageLimit = 160_000

// audit fails the test if the page, in its current state, is not accessible or does not fit: on a desk in light colors, and on a phone
// in dark ones. Call it once for each state that looks different.
func (p *page) audit() {
	p.t.Helper()
	for _, finding := range p.findings() {
		p.t.Errorf("%s: %s", p.path(), finding)
	}
	p.check()
}

// glance is the audit of a page that is built of the same parts as others: on a desk, and whether it fits on a phone.
func (p *page) glance() {
	p.t.Helper()
	for _, finding := range p.findingsAt("1280 wide") {
		p.t.Errorf("%s: %s", p.path(), finding)
	}
	size := p.size
	p.width(390)
	for _, finding := range p.tooWide("390 wide") {
		p.t.Errorf("%s: %s", p.path(), finding)
	}
	p.width(size[0])
	p.check()
}

func (p *page) findings() (all []string) {
	p.t.Helper()
	size, scheme := p.size, p.scheme
	for _, look := range []struct {
		width  int64
		colors string
	}{{1280, "light"}, {390, "dark"}} { // the other two are those of the same parts, which the page of all parts has been looked at in
		p.colors(look.colors)
		p.width(look.width)
		all = append(all, p.findingsAt(fmt.Sprintf("%d wide, %s", look.width, look.colors))...)
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

func (p *page) findingsAt(where string) (all []string) {
	p.t.Helper()
	for _, finding := range p.axe() {
		all = append(all, where+": "+finding)
	}
	unseen, err := evaluate[[]string](p, unseenBoxes)
	p.must("looking at boxes", err)
	for _, box := range unseen {
		all = append(all, where+": there is a box that no one sees: "+box)
	}
	return append(all, p.tooWide(where)...)
}

// unseenBoxes are boxes and buttons to choose by that can be clicked and cannot be seen, and have nothing beside them that shows what was chosen.
const unseenBoxes = `[...document.querySelectorAll('input:is([type=checkbox], [type=radio])')]
	.filter((box) => box.checkVisibility() && getComputedStyle(box).opacity === '0' && !box.nextElementSibling?.checkVisibility()).map((box) => box.outerHTML)`

func (p *page) tooWide(where string) []string {
	p.t.Helper()
	overflow, err := ask[int](p, "overflow")
	p.must("measuring the page", err)
	if overflow > 0 {
		return []string{fmt.Sprintf("%s: the page is %d pixels too wide", where, overflow)}
	}
	return nil
}

type violation struct {
	ID, Impact, Help string
	Nodes            []struct {
		HTML           string
		FailureSummary string
	}
}

// axe returns what axe calls serious or critical. Of elements that look the same it looks at two.
func (p *page) axe() (all []string) {
	p.t.Helper()
	_, err := ask[chromedp.Void](p, "atRest")
	p.must("waiting for movements", err)
	present, err := evaluate[bool](p, "typeof axe === 'object'")
	p.must("looking for axe", err)
	if !present {
		_, err = evaluate[chromedp.Void](p, axe+"\n;undefined")
		p.must("loading axe", err)
	}
	violations, err := evaluate[[]violation](p, `harness.withoutRepeats(() => axe.run(document, {preload: false, resultTypes: ['violations']})
		.then((result) => result.violations.filter((v) => v.impact === 'serious' || v.impact === 'critical')))`)
	p.must("running axe", err)
	for _, v := range violations {
		for _, node := range v.Nodes {
			all = append(all, fmt.Sprintf("%s (%s, %s): %s\n%s", v.Help, v.ID, v.Impact, node.HTML, node.FailureSummary))
		}
	}
	return all
}
