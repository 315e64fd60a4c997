package browser_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// cutOff lists what a person cannot reach or read in full: a page that scrolls sideways, a control outside the window or outside
// a container that hides it, text that is cut without an ellipsis, cells that lie on each other, and words of usual length that are broken in a list. Content in a scrolling container counts as reachable if
// the keyboard reaches the container; a control in it always does.
const cutOff = `(() => {
	const wide = document.documentElement.scrollWidth - innerWidth;
	const found = wide > 0 ? ["the page is " + wide + " pixels too wide"] : [];
	const name = (e) => e.tagName.toLowerCase() + " “" + (e.innerText || e.value || e.className).trim().slice(0, 50) + "”";
	const isClipped = (e) => e && (getComputedStyle(e).clipPath === "inset(50%)" || isClipped(e.parentElement));
	const isHidden = (e) => e.closest(".skip") || isClipped(e) || !e.checkVisibility({visibilityProperty: true}) || !e.getClientRects().length;
	const reaches = (e) => {
		let box = e.getBoundingClientRect();
		for (let p = e.parentElement; p; p = p.parentElement) {
			const style = getComputedStyle(p), edge = p.getBoundingClientRect();
			if (style.overflowX === "visible" || style.textOverflow === "ellipsis") continue;
			const scrolls = style.overflowX === "auto" || style.overflowX === "scroll";
			if (!scrolls && p !== document.body && (box.left < edge.left - 1 || box.right > edge.right + 1)) return false;
			if (scrolls) box = edge;
		}
		return box.left >= -1 && box.right <= innerWidth + 1;
	};
	for (const e of document.querySelectorAll("a[href], button, summary, select, input:not([type=hidden]), textarea")) {
		if (!isHidden(e) && !reaches(e)) found.push(name(e) + " is cut off");
	}
	for (const e of document.body.querySelectorAll("*:not(input, select, textarea, svg, svg *)")) {
		const style = getComputedStyle(e);
		const hides = style.overflowX === "hidden" || style.overflowX === "clip";
		if (hides && style.textOverflow !== "ellipsis" && !isHidden(e) && e.scrollWidth > e.clientWidth + 1) found.push("the text of " + name(e) + " is cut off");
		if (e.matches("td, th") && style.overflowX === "visible" && !isHidden(e) && e.scrollWidth > e.clientWidth + 1) found.push(name(e) + " reaches into the next cell");
		const scrolls = style.overflowX === "auto" || style.overflowX === "scroll";
		if (scrolls && !isHidden(e) && e.scrollWidth > e.clientWidth + 1 && e.tabIndex < 0 && !e.querySelector("a[href], button")) found.push(name(e) + " scrolls, but not with the keyboard");
	}
	for (const cell of document.querySelectorAll("td")) { // one that stands in a corner of its row must not lie on what the others say
		if (getComputedStyle(cell).position !== "absolute" || isHidden(cell)) continue;
		const box = cell.getBoundingClientRect();
		for (const other of cell.parentElement.cells) {
			const theirs = other.getBoundingClientRect(), room = parseFloat(getComputedStyle(other).paddingRight);
			if (other !== cell && !isHidden(other) && box.left < theirs.right - room - 1 && box.right > theirs.left + 1 && box.top < theirs.bottom - 8 && box.bottom > theirs.top + 8) found.push(name(cell) + " lies on " + name(other));
		}
	}
	const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let text = texts.nextNode(); text; text = texts.nextNode()) {
		if (!text.parentElement.closest("td, th") || text.parentElement.closest("option, code") || isHidden(text.parentElement)) continue;
		for (const word of text.data.matchAll(/(?<![^\s(“-])[\p{L}\p{N}.,$€£’']{2,17}(?![^\s)”-])/gu)) {
			const range = document.createRange();
			range.setStart(text, word.index);
			range.setEnd(text, word.index + word[0].length);
			if (new Set([...range.getClientRects()].map((line) => Math.round(line.top))).size > 1) found.push("the word “" + word[0] + "” is broken");
		}
	}
	return found;
})()`

// fits fails the test if something is cut off at some width. Afterward, the window is 1280 wide again.
func (p *page) fits() {
	p.t.Helper()
	p.fitsAt(320, 390, 768, 960, 1024, 1100, 1280, 1600)
}

func (p *page) fitsAt(widths ...int64) {
	p.t.Helper()
	for _, width := range widths {
		p.width(width)
		found, err := evaluate[[]string](p, cutOff)
		p.must("measuring the page", err)
		for _, each := range found {
			p.t.Errorf("%s, %d wide: %s", kindOf(p.path()), width, each)
		}
	}
	p.width(1280)
}

const longWord = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"

// full is a contact that has everything that a row of the list can show.
func full(i int) string {
	return fmt.Sprintf(`{"first_name":"Maximiliana","last_name":"Featherstonehaugh-Okafor %02d","company":"Harbor Light Foundation of Greater Boston",
		"emails":[{"value":"maximiliana.featherstonehaugh.%02d@correspondence.example.org"}],"phones":[{"value":"+1 212.555.%04d x42"}],
		"tags":["newsletter","major donor of the year","volunteer","board","%s"]}`, i, i, i, longWord[:60])
}

func TestNothingIsCutOffAtAnyWidth(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	home := p.path()
	account := p.organizationID()
	s.addContacts(account, full(1), fmt.Sprintf(`{"first_name":%q,"last_name":%q,"company":%[1]q,"emails":[{"value":"%[3]s@example.org"}],"phones":[{"value":"+44 20 7946 0958"}]}`,
		longWord, longWord+longWord, strings.ToLower(longWord[:21])))
	s.visitor(account, "maximiliana.featherstonehaugh@correspondence.example.org", "editor")
	for _, args := range [][]string{
		{"--name", "Website form"}, {"--name", longWord, "--permission", "contacts:read,contacts:write", "--expires", "2199-12-31"}, {"--name", "Newsletter", "--expires", "7d"},
	} {
		s.donorbook(append([]string{"key", "create", "--account", account}, args...)...)
	}
	p.visit(home + "/settings/people")
	p.fill("Email", "maximiliana.featherstonehaugh@correspondence.example.org")
	p.click("Create invitation link")
	p.fits() // with the link
	p.visit(home + "/chapters")
	p.fill("Name", longWord)
	p.click("Create chapter")
	p.visit(home + "/campaigns/new")
	p.fill("Title", longWord+" 2027")
	p.fill("Goal", "9,999,999,999.99")
	p.click("Page")
	p.fill("Subtitle", longWord)
	p.click("Money")
	p.fill("Raised before Donorbook", "8,888,888,888.88")
	p.fill("Donors before Donorbook", "1234567")
	p.fill("End date", "2027-05-01T12:00")
	p.click("Create campaign")
	for _, path := range []string{"", "/contacts", "/contacts?scope=all", "/contacts?q=max", "/tags", "/campaigns", "/chapters", "/settings", "/settings/integrations/api-keys", "/settings/people"} {
		p.visit(home + path)
		p.fits()
	}
	p.visit(home + "/contacts")
	p.click("Maximiliana Featherstonehaugh-Okafor 01")
	p.click("Set up recurring gift")
	p.fill("Amount", "999,999,999.99")
	p.fill("Start", "2024-01-31")
	p.fits()
	p.in("main").click("Set up recurring gift")
	p.gives("999,999,999.99", "2025-12-31", "Bank transfer", longWord+" 2027")
	p.fits()
	p.in(".notice").click("View gift")
	p.fits()
	p.click("Edit gift")
	p.fits()
	for _, path := range []string{"/gifts", "/gifts?min=1", "/plans", "/contacts?total_contributions_min=1", "/donors?year=2025", "/reports"} {
		p.visit(home + path)
		p.fits()
	}
	p.visit(home + "/campaigns")
	p.in("tbody").click("a")
	p.fits()
	p.visit("/console/profile")
	p.fits()

	p.visit(home + "/settings/integrations/api-keys")
	p.width(1024)
	p.click("Revoke " + longWord) // which was out of reach
	p.sees("Revoke “" + longWord + "”?")
	p.width(1280)
	p.visit(home + "/settings/people")
	p.width(1024)
	p.in("main").click("Remove Vera Lind")
	p.in("main").click("Remove member") // the question is not cut off by the card around the table
	p.sees("Vera Lind")
}

// A visitor with a small phone can read the page of a campaign without scrolling sideways, whatever the page contains.
func TestThePublicPageFitsASmallPhone(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	home := p.path()
	p.visit(home + "/campaigns/new")
	p.fill("Title", "Gala of the "+longWord)
	p.fill("Story", "https://example.org/"+strings.Repeat("abcdefghij", 20)+"\n\n<pre>"+strings.Repeat("wide ", 40)+"</pre>"+strings.Repeat("<ul><li>", 12)+"deep"+strings.Repeat("</li></ul>", 12))
	p.fill("Goal", "9,999,999,999.99")
	p.fill("End date", "2027-05-01T12:00")
	p.click("Money")
	p.fill("Raised before Donorbook", "8,888,888,888.88")
	p.click("Page")
	p.fill("Subtitle", longWord)
	p.fill("Type", "Event")
	p.fill("Start", "2027-04-24T18:00")
	p.fill("Time zone", "America/Argentina/ComodRivadavia")
	p.fill("Venue", longWord)
	p.click("Create campaign")
	address := p.text("#address")
	stranger := s.open()
	stranger.visit(address)
	stranger.sees("America/Argentina/ComodRivadavia")
	stranger.fits()
	stranger.audit()
}

// phoneScreen and deskScreen are the screens on which the list must be dense.
var (
	deskScreen  = [2]int64{1280, 800}
	phoneScreen = [2]int64{390, 844}
)

// rowsInView counts the rows of the list that are completely visible before scrolling.
func (p *page) rowsInView(screen [2]int64) int {
	p.t.Helper()
	p.do("resizing", chromedp.EmulateViewport(screen[0], screen[1]))
	_, err := chromedp.Call(p.ctx, emulation.SetScrollbarsHidden, emulation.SetScrollbarsHiddenParams{Hidden: true})
	p.must("hiding the scroll bars", err)
	_, err = ask[chromedp.Void](p, "atRest")
	p.must("waiting for the new size", err)
	rows, err := evaluate[int](p, `(scrollTo(0, 0), [...document.querySelectorAll(".contacts tbody tr")].filter((row) => row.getBoundingClientRect().bottom <= innerHeight).length)`)
	p.must("counting rows", err)
	return rows
}

var shownPhone = regexp.MustCompile(`^\(212\) 555-\d{4} ext\. 42$`)

// The rows have everything that a row can show: a list of short names is dense anyway.
func TestTheListOfContactsIsDense(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	var bodies []string
	for i := range 40 {
		bodies = append(bodies, full(i))
	}
	s.addContacts(p.organizationID(), bodies...)
	p.in(".side").click("Contacts")
	if rows := p.rowsInView(deskScreen); rows < 17 {
		t.Errorf("%d contacts are on a screen of 1280 by 800, want 17", rows)
	}
	lines, err := evaluate[[]string](p, `[...document.querySelectorAll(".contacts td.email")].filter((cell) => cell.firstElementChild.getClientRects().length !== 1 ||
		cell.firstElementChild.getBoundingClientRect().height > 1.6 * parseFloat(getComputedStyle(cell).fontSize) || cell.firstElementChild.title !== cell.innerText.trim()).map((cell) => cell.innerText)`)
	p.must("looking at emails", err)
	if len(lines) > 0 || !p.has("td.email > div") {
		t.Errorf("emails that are not on one line, or not to be read in full: %q", lines)
	}
	phones, err := evaluate[[]string](p, `[...document.querySelectorAll(".contacts td.phone")].map((cell) => cell.innerText.trim())`)
	p.must("looking at phones", err)
	if len(phones) != 40 {
		t.Errorf("%d phones are shown", len(phones))
	}
	for _, phone := range phones {
		if !shownPhone.MatchString(phone) {
			t.Errorf("a phone is shown as %q", phone)
		}
	}
	p.audit()
	if rows := p.rowsInView(phoneScreen); rows < 6 {
		t.Errorf("%d contacts are on the screen of a phone, want 6", rows)
	}
	if status, answer := s.call(s.key(p.organizationID()), http.MethodGet, "/v1/contacts?per_page=1", ""); status != http.StatusOK || !strings.Contains(answer, `"+1 212.555.0000 x42"`) {
		t.Errorf("the API answers %d %s", status, answer)
	}
}
