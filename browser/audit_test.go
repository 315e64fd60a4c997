package browser_test

import (
	_ "embed"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// axe finds barriers for people with disabilities. Deque Systems, Mozilla Public License 2.0.
//
//go:embed testdata/axe.min.js
var axe string

// pageLimit is how many bytes a page with its style and scripts may take over the wire. The reference of the API is the
// largest.
const pageLimit = 160_000

// audit fails the test if the page, in its current state, is not accessible or does not fit. Afterward, the window is
// as at first. TestEveryKindOfPage calls it for each kind of page; other tests need not.
func (p *page) audit() {
	p.t.Helper()
	for _, finding := range p.findings() {
		p.t.Errorf("%s: %s", p.path(), finding)
	}
	p.check()
}

// findings are those of a desk in light colors and of a phone in dark ones: the other two are of the same parts, which
// the page of all parts has been looked at in.
func (p *page) findings() (all []string) {
	p.t.Helper()
	for _, look := range []struct {
		width  int64
		colors string
	}{{390, "dark"}, {1280, "light"}} {
		p.colors(look.colors)
		p.width(look.width)
		all = append(all, p.findingsAt(fmt.Sprintf("%d wide, %s: ", look.width, look.colors))...)
	}
	all = append(all, p.cutOff(1024)...)
	if weight := ask[int](p, "weight"); weight > pageLimit {
		all = append(all, fmt.Sprintf("the page weighs %d bytes, more than %d", weight, pageLimit))
	}
	return all
}

func (p *page) findingsAt(where string) (all []string) {
	p.t.Helper()
	for _, finding := range slices.Concat(p.axe(), told[[]string](p, unseenBoxes), told[[]string](p, cutOff)) {
		all = append(all, where+finding)
	}
	return all
}

// unseenBoxes are boxes and buttons to choose by that can be clicked and cannot be seen, and have nothing beside them
// that shows what was chosen.
const unseenBoxes = `[...document.querySelectorAll('input:is([type=checkbox], [type=radio])')]
	.filter((box) => box.checkVisibility() && getComputedStyle(box).opacity === '0'
		&& !box.nextElementSibling?.checkVisibility()).map((box) => 'no one sees the box ' + box.outerHTML)`

type violation struct {
	ID, Help string
	Nodes    []struct {
		HTML           string
		FailureSummary string
	}
}

// axe returns what axe calls serious or critical. Of elements that look the same it looks at two.
func (p *page) axe() (all []string) {
	p.t.Helper()
	ask[chromedp.Void](p, "atRest")
	if !told[bool](p, "typeof axe === 'object'") {
		told[chromedp.Void](p, axe+"\n;undefined")
	}
	for _, v := range told[[]violation](p, `harness.withoutRepeats(() =>
		axe.run(document, {preload: false, resultTypes: ['violations']})
			.then((result) => result.violations.filter((v) => v.impact === 'serious' || v.impact === 'critical')))`) {
		for _, node := range v.Nodes {
			all = append(all, fmt.Sprintf("%s (%s): %s\n%s", v.Help, v.ID, node.HTML, node.FailureSummary))
		}
	}
	return all
}

// cutOff fails the test if something is cut off at some width. Afterward, the window is 1280 wide again.
func (p *page) fits(widths ...int64) {
	p.t.Helper()
	for _, finding := range p.cutOff(widths...) {
		p.t.Errorf("%s: %s", p.path(), finding)
	}
}

func (p *page) cutOff(widths ...int64) (all []string) {
	p.t.Helper()
	for _, width := range widths {
		p.width(width)
		for _, finding := range told[[]string](p, cutOff) {
			all = append(all, fmt.Sprintf("%d wide: %s", width, finding))
		}
	}
	p.width(1280)
	return all
}

// cutOff lists what a person cannot reach or read in full: a page that scrolls sideways, a control outside the window
// or outside a container that hides it, text that is cut without an ellipsis, cells that lie on each other, and words
// of usual length that are broken in a list. Content in a scrolling container counts as reachable if the keyboard
// reaches the container; a control in it always does.
const cutOff = `(() => {
	const wide = document.documentElement.scrollWidth - innerWidth
	const found = wide > 0 ? ["the page is " + wide + " pixels too wide"] : []
	const words = (e) => (e.innerText || e.value || e.className).trim().slice(0, 50)
	const name = (e) => e.tagName.toLowerCase() + " “" + words(e) + "”"
	const isClipped = (e) => e && (getComputedStyle(e).clipPath === "inset(50%)" || isClipped(e.parentElement))
	const isHidden = (e) => e.closest(".skip, [aria-hidden=true]") || isClipped(e)
		|| !e.checkVisibility({visibilityProperty: true}) || !e.getClientRects().length
	const scrollsIn = (style) => style.overflowX === "auto" || style.overflowX === "scroll"
	const reaches = (e) => {
		let box = e.getBoundingClientRect()
		for (let p = e.parentElement; p; p = p.parentElement) {
			const style = getComputedStyle(p), edge = p.getBoundingClientRect()
			if (style.overflowX === "visible" || style.textOverflow === "ellipsis") continue
			const sticksOut = box.left < edge.left - 1 || box.right > edge.right + 1
			if (!scrollsIn(style) && p !== document.body && sticksOut) return false
			if (scrollsIn(style)) box = edge
		}
		return box.left >= -1 && box.right <= innerWidth + 1
	}
	for (const e of document.querySelectorAll("a[href], button, summary, select, input:not([type=hidden]), textarea")) {
		if (!isHidden(e) && !reaches(e)) found.push(name(e) + " is cut off")
	}
	for (const e of document.body.querySelectorAll("*:not(input, select, textarea, svg, svg *)")) {
		if (e.scrollWidth <= e.clientWidth + 1 || isHidden(e)) continue
		const style = getComputedStyle(e)
		const hides = style.overflowX === "hidden" || style.overflowX === "clip"
		if (hides && style.textOverflow !== "ellipsis") found.push("the text of " + name(e) + " is cut off")
		if (e.matches("td, th") && style.overflowX === "visible") found.push(name(e) + " reaches into the next cell")
		if (scrollsIn(style) && e.tabIndex < 0 && !e.querySelector("a[href], button")) {
			found.push(name(e) + " scrolls, but not with the keyboard")
		}
	}
	const liesOn = (cell, other) => {
		const a = cell.getBoundingClientRect(), b = other.getBoundingClientRect()
		const room = parseFloat(getComputedStyle(other).paddingRight)
		return a.left < b.right - room - 1 && a.right > b.left + 1 && a.top < b.bottom - 8 && a.bottom > b.top + 8
	}
	for (const cell of document.querySelectorAll("td")) { // one in a corner of its row must not lie on the others
		if (getComputedStyle(cell).position !== "absolute" || isHidden(cell)) continue
		for (const other of cell.parentElement.cells) {
			if (other === cell || isHidden(other) || !liesOn(cell, other)) continue
			found.push(name(cell) + " lies on " + name(other))
		}
	}
	const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
	for (let text = texts.nextNode(); text; text = texts.nextNode()) {
		const around = text.parentElement
		if (!around.closest("td, th") || around.closest("option, code") || isHidden(around)) continue
		for (const word of text.data.matchAll(/(?<![^\s(“-])[\p{L}\p{N}.,$€£’']{2,17}(?![^\s)”-])/gu)) {
			const range = document.createRange()
			range.setStart(text, word.index)
			range.setEnd(text, word.index + word[0].length)
			const lines = new Set([...range.getClientRects()].map((line) => Math.round(line.top)))
			if (lines.size > 1) found.push("the word “" + word[0] + "” is broken")
		}
	}
	return found
})()`

// sample serves a page with a form in it.
func sample(t *testing.T) *page {
	t.Helper()
	handler := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'self'; img-src data:; style-src 'self'")
		switch r.URL.Path {
		case "/form":
			fmt.Fprint(w, form)
		case "/style.css":
			w.Header().Set("Content-Type", "text/css")
			fmt.Fprint(w, "body { background: white; color: black } h1 { width: min-content }")
		case "/heavy":
			fmt.Fprint(w, form, strings.Repeat(" ", pageLimit))
		default:
			w.WriteHeader(404)
		}
	}
	s := httptest.NewTLSServer(http.HandlerFunc(handler))
	t.Cleanup(s.Close)
	return (&server{t: t, url: s.URL}).open()
}

const form = `<!DOCTYPE html><html lang="en"><head><title>A form</title>
	<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
	<link rel="stylesheet" href="/style.css"></head><body><main><h1>Form</h1><p>Made by hand.</p>
	<form method="get" action="/form"><label>Name <input name="name" value="old"></label><button>Save</button></form>
	</main></body></html>`

// rows makes a list of 30 rows that look the same.
const rows = `document.querySelector('main').insertAdjacentHTML('beforeend',
		'<ul>' + '<li><a href="/form">Row</a></li>'.repeat(30) + '</ul>')
	const row = (n) => document.querySelectorAll('li')[n]
	`

func TestAnAuditFindsWhatIsWrongAndNothingElse(t *testing.T) {
	t.Parallel()
	p := sample(t)
	p.visit("/form")
	p.audit()
	const inLight = "light: Elements must meet"
	for script, finding := range map[string]string{
		`document.querySelector('main').append(document.createElement('input'))`:       "label",
		`document.querySelector('main').append(document.createElement('img'))`:         "image-alt",
		`document.querySelector('h1').style.cssText = 'color: #999; background: #888'`: inLight,
		`document.querySelector('h1').style.width = '500px'`:                           "390 wide, dark: the page is",
		`document.querySelector('h1').style.cssText = 'width: 9px; overflow: hidden'`:  "the text of h1 “Form” is cut",
		`document.title = ''`: "document-title",
		rows + `row(20).append(document.createElement('img'))`:                                    "image-alt",
		rows + `row(20).style.cssText = 'color: #999; background: #888'`:                          inLight,
		rows + `row(20).replaceChildren(Object.assign(document.createElement('a'), {href: '/'}))`: "link-name",
		`matchMedia('(prefers-color-scheme: dark)').onchange = (to) => {
			document.querySelector('h1').style.color = to.matches ? '#eee' : ''
		}`: "dark: Elements must meet",
	} {
		p.visit("/form")
		p.run(script)
		found := p.findings()
		if !slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, finding) }) {
			t.Errorf("%s: the audit finds only %q", script, found)
		}
	}
	p.visit("/form")
	p.run(rows)
	same(p, "rows that look the same, which are left out", told[int](p, "harness.repeats().length"), 28)
	p.audit()
	p.visit("/heavy")
	if found := p.findings(); len(found) != 1 || !strings.Contains(found[0], "weighs") {
		t.Errorf("of a heavy page the audit finds %q", found)
	}
}

func TestWhatAPageComplainsAboutIsNoticed(t *testing.T) {
	t.Parallel()
	p := sample(t)
	p.visit("/form")
	const policy = "Content Security Policy"
	for script, trouble := range map[string]string{
		`console.error('spilt milk')`:                                                        "spilt milk",
		`setTimeout(() => { throw new Error('a slip') })`:                                    "a slip",
		`Promise.reject(new Error('a broken promise'))`:                                      "a broken promise",
		`fetch('/nowhere').catch(() => 0)`:                                                   "404",
		`document.head.append(Object.assign(document.createElement('script'), {text: '0'}))`: policy,
		`document.querySelector('p').innerHTML = '<b style="color: red">red</b>'`:            policy,
		`fetch('https://localhost:1/').catch(() => 0)`:                                       policy,
	} {
		p.run(script + "; 0") // what it throws later is not its result
		var all []string
		p.must(script, p.try(func() error {
			if all = append(all, p.watch.take(p)...); !strings.Contains(strings.Join(all, " "), trouble) {
				return fmt.Errorf("noticed %q", all)
			}
			return nil
		}))
	}
}
