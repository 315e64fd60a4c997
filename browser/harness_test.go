package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// These tests check the test harness: it notices what it must notice.

// sample serves a page with a form in it, which brings the same page again.
func sample(t *testing.T) *server {
	handler := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'self'; img-src data:; style-src 'self'")
		switch r.URL.Path {
		case "/form":
			fmt.Fprint(w, form)
		case "/script.js":
			fmt.Fprint(w, "document.querySelector('p').textContent = 'Made by script.'")
		case "/style.css":
			w.Header().Set("Content-Type", "text/css")
			fmt.Fprint(w, "body { background: white; color: black } h1 { width: min-content }")
		case "/heavy":
			fmt.Fprint(w, form, strings.Repeat(" ", pageLimit))
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, form)
		}
	}
	s := httptest.NewTLSServer(http.HandlerFunc(handler))
	t.Cleanup(s.Close)
	return &server{t: t, url: s.URL}
}

const form = `<!DOCTYPE html><html lang="en"><head><title>A form</title><meta name="viewport" content="width=device-width">
	<link rel="icon" href="data:,"><link rel="stylesheet" href="/style.css"><script src="/script.js" defer></script></head><body>
	<main><h1>Form</h1><p>Made by hand.</p><form method="get" action="/form">
		<label>Name <input name="name" value="old"></label>
		<label for="c">Color</label><select id="c" name="color"><option>red</option><option value="b">blue</option></select>
		<label>Born <input type="date" name="born"></label>
		<input type="checkbox" id="n" name="news"><label for="n">Newsletter</label>
		<button>Save</button> <button disabled>Never</button>
	</form></main>
	<aside><button type="button">Save</button></aside></body></html>`

func TestTheReferenceOfTheAPIPassesTheAudit(t *testing.T) {
	t.Parallel()
	p := start(t).open()
	p.visit("/docs")
	p.sees("Donorbook")
	p.width(390)
	for _, finding := range p.tooWide("390 wide") {
		t.Error(finding)
	}
	p.width(1280)
	p.fewSections()
	p.audit()
}

// fewSections leaves two sections of each kind in the reference of the API. The template draws each kind the same: they tell as much as all,
// in a tenth of the time.
func (p *page) fewSections() {
	p.t.Helper()
	p.run(`const kept = {}; for (const s of document.querySelectorAll('[data-section]')) {
		kept[s.dataset.kind] = (kept[s.dataset.kind] || 0) + 1
		if (kept[s.dataset.kind] > 2) s.remove()
	}`)
}

// rows makes a list of 30 rows that look the same.
const rows = `document.querySelector('main').insertAdjacentHTML('beforeend', '<ul>' + '<li><a href="/form">Row</a></li>'.repeat(30) + '</ul>')
	const row = (n) => document.querySelectorAll('li')[n]
	`

func TestAnAuditFindsWhatIsWrongAndNothingElse(t *testing.T) {
	t.Parallel()
	s := sample(t)
	p := s.open()
	p.visit("/form")
	p.audit()
	for _, broken := range []struct{ script, finding string }{
		{`document.querySelector('main').append(document.createElement('input'))`, "label"},
		{`document.querySelector('main').append(document.createElement('img'))`, "image-alt"},
		{`document.querySelector('h1').style.cssText = 'color: #999; background: #888'`, "light: Elements must meet"},
		{`matchMedia('(prefers-color-scheme: dark)').onchange = () => document.querySelector('h1').style.color = '#eee'`, "dark: Elements must meet"},
		{`document.querySelector('h1').style.width = '500px'`, "390 wide, dark: the page is"},
		{`document.title = ''`, "document-title"},
		{rows + `row(20).append(document.createElement('img'))`, "image-alt"},
		{rows + `row(20).style.cssText = 'color: #999; background: #888'`, "light: Elements must meet"},
		{rows + `row(20).replaceChildren(Object.assign(document.createElement('a'), {href: '/'}))`, "link-name"},
	} {
		p.visit("/form")
		p.run(broken.script)
		if found := p.findings(); !slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, broken.finding) }) {
			t.Errorf("%s: the audit finds only %q", broken.script, found)
		}
	}
	p.visit("/form")
	p.run(rows)
	if repeated, err := evaluate[int](p, "harness.repeats().length"); err != nil || repeated != 28 {
		t.Errorf("of 30 rows that look the same, the audit leaves out %d, %v", repeated, err)
	}
	p.audit()
	p.visit("/heavy")
	if found := p.findings(); len(found) != 1 || !strings.Contains(found[0], "weighs") {
		t.Errorf("of a heavy page the audit finds %q", found)
	}
}

func TestWhatAPageComplainsAboutIsNoticed(t *testing.T) {
	t.Parallel()
	p := sample(t).open()
	p.visit("/form")
	for script, trouble := range map[string]string{
		`console.error('spilt milk')`:                                                        "spilt milk",
		`setTimeout(() => { throw new Error('a slip') })`:                                    "a slip",
		`Promise.reject(new Error('a broken promise'))`:                                      "a broken promise",
		`fetch('/nowhere').catch(() => 0)`:                                                   "404",
		`document.head.append(Object.assign(document.createElement('script'), {text: '0'}))`: "Content Security Policy",
		`document.querySelector('p').innerHTML = '<b style="color: red">red</b>'`:            "Content Security Policy",
		`fetch('https://localhost:1/').catch(() => 0)`:                                       "Content Security Policy",
	} {
		p.run(script + "; new Promise((done) => setTimeout(done, 200))")
		if troubles := p.watch.take(p); len(troubles) == 0 || !strings.Contains(strings.Join(troubles, " "), trouble) {
			t.Errorf("%s: noticed %q", script, troubles)
		}
	}
}

func TestAPageThatIsExpectedToFailMayFail(t *testing.T) {
	t.Parallel()
	p := sample(t).open()
	p.expects(404)
	p.visit("/nowhere")
	if got := p.status(); got != 404 {
		t.Errorf("the status is %d", got)
	}
	if len(p.expected) > 0 {
		t.Errorf("still expected: %d", p.expected)
	}
}

func TestTwoPeopleShareNoCookies(t *testing.T) {
	t.Parallel()
	s := sample(t)
	anna, ben := s.open(), s.open()
	anna.visit("/form")
	ben.visit("/form")
	anna.run(`document.cookie = 'who=anna; Secure'`)
	for who, p := range map[string]*page{"who=anna": anna, "": ben} {
		cookie, err := evaluate[string](p, "document.cookie")
		if err != nil || cookie != who {
			t.Errorf("the cookie is %q, want %q (%v)", cookie, who, err)
		}
	}
}

func TestAFormIsFilledAsAPersonDoes(t *testing.T) {
	t.Parallel()
	p := sample(t).open()
	p.visit("/form")
	p.fill("Name", "Zoë")
	p.fill("color", "blue")
	p.fill("Born", "1990-02-03")
	p.tick("Newsletter")
	p.untick("Newsletter")
	p.click("Newsletter")
	if p.value("Name") != "Zoë" || p.value("Color") != "b" || p.value("Born") != "1990-02-03" || p.value("news") != "true" {
		t.Error("the values are not in the fields")
	}
	p.in("main").click("Save")
	if got, want := p.path(), "/form?name=Zo%C3%AB&color=b&born=1990-02-03&news=on"; got != want {
		t.Errorf("the form went to %s, want %s", got, want)
	}
	if got := p.value("Name"); got != "old" {
		t.Errorf("the next page was not waited for: the name is %s", got)
	}
	p.back()
	if got := p.path(); got != "/form" {
		t.Errorf("back went to %s", got)
	}
}

func TestAFormIsFilledWithTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	p := sample(t).open()
	p.visit("/form")
	p.press("Tab")
	if got := p.focused(); got != "field “Name”" {
		t.Errorf("Tab goes to %s first", got)
	}
	p.types("Zoë")
	p.tabTo("checkbox “Newsletter”")
	p.press("Space")
	p.tabTo("button “Save”")
	p.press("Shift+Tab", "Tab", "Enter")
	if got := p.path(); !strings.Contains(got, "name=Zo%C3%AB") || !strings.Contains(got, "news=on") {
		t.Errorf("the form went to %s", got)
	}
}

func TestAPageCanBeLookedAtWithoutScripts(t *testing.T) {
	t.Parallel()
	p := sample(t).open()
	p.visit("/form")
	p.sees("Made by script.")
	p.withoutScripts()
	p.visit("/form")
	p.sees("Made by hand.")
	p.doesNotSee("Made by script.")
}

// run runs script in the page.
func (p *page) run(script string) {
	p.t.Helper()
	_, err := evaluate[chromedp.Void](p, script)
	p.must("running script", err)
}
