package browser_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/css"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// widths are those of phones, tablets and desks, on both sides of the widths at which pages change.
var widths = []int64{320, 390, 768, 960, 1024, 1100, 1280, 1600}

const longWord = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"

// full is a contact that has everything that a row of the list can show.
func full(i int) string {
	return fmt.Sprintf(`{"first_name":"Maximiliana","last_name":"Featherstonehaugh-Okafor %02d",
		"company":"Harbor Light Foundation of Greater Boston","phones":[{"value":"+1 212.555.%04d x42"}],
		"emails":[{"value":"maximiliana.featherstonehaugh.%02d@correspondence.example.org"}],
		"tags":["newsletter","major donor of the year","volunteer","board","%s"]}`, i, i, i, longWord[:60])
}

func TestNothingIsCutOffAtAnyWidth(t *testing.T) {
	t.Parallel()
	const email = "maximiliana.featherstonehaugh@correspondence.example.org"
	s := start(t)
	p := s.owner(full(1), fmt.Sprintf(`{"first_name":%q,"last_name":%q,"company":%[1]q,
		"emails":[{"value":"%[3]s@example.org"}],"phones":[{"value":"+44 20 7946 0958"}]}`,
		longWord, longWord+longWord, strings.ToLower(longWord[:21])))
	home, account := p.path(), p.organizationID()
	s.donorbook("user", "create", "--email", email, "--name", "Vera Lind", "--account", account, "--role", "editor")
	for _, args := range [][]string{
		{longWord, "--permission", "contacts:read,contacts:write", "--expires", "2199-12-31"},
		{"Newsletter", "--expires", "7d"},
	} {
		s.donorbook(append([]string{"key", "create", "--account", account, "--name"}, args...)...)
	}
	fit := func(paths ...string) {
		t.Helper()
		for _, path := range paths {
			p.visit(home + path)
			p.fits(widths...)
		}
	}
	p.visit(home + "/settings/people")
	p.fill("Email", email)
	p.click("Create invitation link")
	p.fits(widths...)
	p.visit(home + "/chapters")
	p.fill("Name", longWord)
	p.click("Create chapter")
	p.newCampaign()
	p.fill("Title", longWord+" 2127", "Goal", "9,999,999,999.99", "End date", inACentury)
	p.fill("Story", "https://example.org/"+strings.Repeat("abcdefghij", 20)+"\n\n<pre>"+strings.Repeat("wide ", 40)+
		"</pre>"+strings.Repeat("<ul><li>", 12)+"deep"+strings.Repeat("</li></ul>", 12))
	p.click("Page")
	p.fill("Subtitle", longWord, "Type", "Event", "Start", "2127-04-24T18:00",
		"Time zone", "America/Argentina/ComodRivadavia", "Venue", longWord)
	p.click("Money")
	p.fill("Raised before Donorbook", "8,888,888,888.88", "Donors before Donorbook", "1234567")
	p.click("Create campaign")
	p.fits(widths...)
	stranger := s.open()
	stranger.visit(p.text("#address"))
	stranger.sees("America/Argentina/ComodRivadavia")
	stranger.fits(widths...)
	fit("", "/contacts?scope=all", "/contacts?q=max", "/tags", "/campaigns", "/chapters", "/settings",
		"/settings/integrations/api-keys", "/settings/people")
	p.visit(home + "/contacts")
	p.click("Maximiliana Featherstonehaugh-Okafor 01")
	p.click("Set up recurring gift")
	p.fill("Amount", "999,999,999.99", "Start", "2024-01-31")
	p.in("main").click("Set up recurring gift")
	p.gives("999,999,999.99", "2025-12-31", longWord+" 2127")
	p.fits(widths...)
	p.in(".notice").click("View gift")
	p.fits(widths...)
	fit("/gifts", "/plans", "/contacts?total_contributions_min=1", "/donors?year=2025", "/reports")

	p.visit(home + "/settings/integrations/api-keys")
	p.width(1024)
	p.click("Revoke " + longWord) // which was out of reach
	p.sees("Revoke “" + longWord + "”?")
	p.visit(home + "/settings/people")
	p.in("main").click("Remove Vera Lind")
	p.in("main").click("Remove member") // the question is not cut off by the card around the table
	p.sees("Vera Lind")
}

// The rows have everything that a row can show: a list of short names is dense anyway. Emails and phones are on one
// line.
func TestTheListOfContactsIsDense(t *testing.T) {
	t.Parallel()
	var contacts []string
	for i := range 20 {
		contacts = append(contacts, full(i))
	}
	p := start(t).owner(contacts...)
	p.in(".side").click("Contacts")
	call(p, emulation.SetScrollbarsHidden, emulation.SetScrollbarsHiddenParams{Hidden: true})
	for width, want := range map[int64]int{1280: 17, 390: 6} {
		p.width(width)
		ask[chromedp.Void](p, "atRest")
		rows := told[int](p, `(scrollTo(0, 0), [...document.querySelectorAll(".contacts tbody tr")]
			.filter((row) => row.getBoundingClientRect().bottom <= innerHeight).length)`)
		if rows < want {
			t.Errorf("%d contacts are on a screen %d wide, want %d", rows, width, want)
		}
	}
	p.width(1280)
	lines := told[[]string](p, `[...document.querySelectorAll(".contacts td.email")].filter((cell) => {
		const email = cell.firstElementChild, line = 1.6 * parseFloat(getComputedStyle(cell).fontSize)
		return email.getClientRects().length !== 1 || email.getBoundingClientRect().height > line
			|| email.title !== cell.innerText.trim()
	}).map((cell) => cell.innerText)`)
	if len(lines) > 0 || !p.has("td.email > div") {
		t.Errorf("emails that are not on one line, or not to be read in full: %q", lines)
	}
	same(p, "phones as people write them", told[int](p, `[...document.querySelectorAll(".contacts td.phone")]
		.filter((cell) => /^\(212\) 555-\d{4} ext\. 42$/.test(cell.innerText.trim())).length`), len(contacts))
}

// The Save button is within reach everywhere in a long form, and does not cover the field that the person is editing.
func TestSaveIsAlwaysInReach(t *testing.T) {
	t.Parallel()
	p := start(t).owner()
	home := p.path()
	for form, save := range map[string]string{
		"/contacts/new": "button “Add contact”", "/campaigns/new": "button “Create campaign”",
	} {
		for _, width := range []int64{1280, 390} {
			p.width(width)
			p.visit(home + form)
			p.run(`document.querySelectorAll(".more-fields").forEach((more) => { more.open = true })`)
			for i := 0; p.focused() != save && i < 76; i++ {
				if wrong := told[string](p, outOfReach); wrong != "" {
					t.Fatalf("%s, %d wide, at %s: %s", form, width, p.focused(), wrong)
				}
				p.press("Tab")
			}
			p.focusIs(save)
		}
	}
}

// outOfReach says what is wrong with the button, or with the focused element beside it.
const outOfReach = `(() => {
	const bar = document.querySelector(".sticky-actions"), box = bar.querySelector("button").getBoundingClientRect()
	const top = bar.getBoundingClientRect().top, focus = document.activeElement, at = focus.getBoundingClientRect()
	if (box.top < 0 || box.bottom > innerHeight || !document.elementFromPoint(box.x + 5, box.y + 5).closest("button")) {
		return "the button is out of reach"
	}
	if (bar.contains(focus) || !document.querySelector("form.form").contains(focus)) return ""
	return at.bottom > top && at.top < innerHeight && at.height < top ? "the field is covered" : ""
})()`

// A name is drawn with one font, whatever Latin letters it has.
func TestNamesAreDrawnWithOneFont(t *testing.T) {
	t.Parallel()
	p := start(t).owner(`{"first_name":"Nguyễn Thị","last_name":"Đặng Ơn"}`,
		`{"first_name":"Łucja","last_name":"Őry Ștefan"}`)
	p.in(".side").click("Contacts")
	p.sees("Nguyễn Thị Đặng Ơn")
	p.run("document.fonts.ready")
	call(p, dom.Enable, dom.EnableParams{})
	call(p, css.Enable, cdp.Empty{})
	root := call(p, dom.GetDocument, dom.GetDocumentParams{}).Root.NodeID
	for _, name := range []string{"Nguyễn Thị Đặng Ơn", "Łucja Őry Ștefan"} {
		selector := fmt.Sprintf("a[title=%q]", name)
		node := call(p, dom.QuerySelector, dom.QuerySelectorParams{NodeID: root, Selector: selector}).NodeID
		used := call(p, css.GetPlatformFontsForNode, css.GetPlatformFontsForNodeParams{NodeID: node})
		for _, font := range used.Fonts {
			if !strings.HasPrefix(font.FamilyName, "Inter") {
				t.Errorf("%s is drawn with %s", name, font.FamilyName)
			}
		}
	}
}

// In a browser that runs no scripts, a page offers nothing that only a script could do. The helpers of the other tests
// are scripts too, so this test uses the browser's own protocol.
func TestWithoutScriptsNoButtonIsDead(t *testing.T) {
	t.Parallel()
	p := start(t).owner()
	home := p.path()
	call(p, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	for _, path := range []string{"/contacts/new", "/settings"} {
		p.do("opening the page", chromedp.Navigate(p.server.url+home+path))
		same(p, path+": things that do nothing", told[int](p,
			`[...document.querySelectorAll("[data-add], [data-remove], [data-copy]")]
				.filter((e) => e.offsetWidth > 0).length`), 0)
	}
}

// The page with every part passes the audit in all widths and colors, also with what opens over it. It is not one of
// the program.
func TestEveryPartOfTheDesignPassesTheAudit(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/design"
	must(0, build(path, "./internal/console/design"))(t)
	s := begin(t, path)
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		<-s.exited
	})
	s.url = s.prints(`(https://\S+)/console/design`)
	p := s.open()
	p.visit("/console/design")
	same(p, "where samples lead to", told[string](p, `[...document.querySelectorAll("main a")]
		.map((a) => a.getAttribute("href")).filter((to) => to.includes("/o/")).join(" ")`), "")
	for _, scheme := range []string{"dark", "light"} {
		p.colors(scheme)
		for _, width := range []int64{390, 1280} {
			p.width(width)
			for _, finding := range p.findingsAt(fmt.Sprintf("%d wide, %s: ", width, scheme)) {
				t.Error(finding)
			}
		}
	}
	p.fits(widths...)
	p.click("Open popup")
	p.sees("Another choice")
	for _, finding := range p.findingsAt("with a popup: ") {
		t.Error(finding)
	}
	p.press("Escape")
	p.doesNotSee("Another choice")
	p.click("Open drawer")
	p.sees("New gift from Ada Lund")
	p.audit()
	p.in(".drawer").fill("Amount", "50")
	p.press("Escape")
	p.doesNotSee("New gift from Ada Lund")
	p.focusIs("summary “Open drawer”")
	p.click("Open dialog")
	p.sees("Show this list", "Next row")
	p.audit()
	p.withoutScripts()
	p.reload()
	p.click("Open drawer")
	p.sees("New gift from Ada Lund")
	p.click("Close drawer")
	p.doesNotSee("New gift from Ada Lund")
}

// The reference of the API names its server, leads back, and passes the audit. The template draws each kind of section
// the same: two of each tell as much as all, in a tenth of the time.
func TestTheReferenceOfTheAPI(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	home := p.path()
	p.visit(home + "/settings")
	p.in("main").click("API reference")
	p.sees("curl " + s.url + "/v1/contacts")
	p.doesNotSee("localhost:8443")
	p.run(`const kept = {}; for (const s of document.querySelectorAll('[data-section]')) {
		kept[s.dataset.kind] = (kept[s.dataset.kind] || 0) + 1
		if (kept[s.dataset.kind] > 2) s.remove()
	}`)
	p.audit()
	p.fits(320, 768)
	p.in(".top").click("Console")
	same(p, "where the reference leads to", p.path(), home)
	p.back()
	p.width(390)
	p.click("Contents")
	p.click("Back to the console")
	same(p, "where it leads to on a phone", p.path(), home)
}

// Shortcuts lead everywhere, except where a person types or has switched them off.
func TestTheKeyboardLeadsEverywhere(t *testing.T) {
	t.Parallel()
	p := demo(t)
	home := p.path()
	p.types("gc")
	p.in("h1").sees("Contacts")
	p.types("jjkj")
	p.focusIs("link “Marcus Bennett”")
	p.types("x")
	p.sees("1 selected")
	p.fill("Search contacts", "")
	p.types("g g?n")
	p.holds("Search contacts", "g g?n")
	p.visit(home)
	p.types("/")
	p.focusIs("field “Search everything”")
	p.fill("Search everything", "lighthouse")
	p.press("Enter")
	p.in("h1").sees("Search")
	p.in("main").sees("Campaigns", "Lighthouse Gala")
	p.types("?")
	p.sees("Go to recurring gifts")
	p.untick("Use keyboard shortcuts in this browser")
	p.press("Escape")
	p.types("gc?")
	p.in("h1").sees("Search")
	p.doesNotSee("Go to recurring gifts")
	p.click("Shortcuts")
	p.sees("Go to recurring gifts")
	p.tick("Use keyboard shortcuts in this browser")
	p.press("Escape")
	p.types("gh")
	p.in("h1").sees("Harbor Light Foundation")
	p.width(390)
	p.types("/") // leads to a page of its own where there is no room
	p.in("h1").sees("Search")
	p.visit(home + "/settings/history") // whose changes come in another order than their days
	days := told[[]string](p, `[...document.querySelectorAll(".timeline h3")].map((day) => day.innerText)`)
	if seen := slices.Compact(slices.Sorted(slices.Values(days))); len(seen) != len(days) || len(days) < 2 {
		t.Errorf("the history has the days %q", days)
	}
}
