package browser_test

import (
	"net/http"
	"strings"
	"testing"
)

// addPeople makes an organization with contacts that filters tell apart, and opens the list.
func addPeople(s *server) *page {
	s.t.Helper()
	p := s.owner()
	account := p.organizationID()
	s.addContacts(account,
		`{"first_name":"Ann","last_name":"Abel","tags":["vip","board"],"emails":[{"value":"ann@example.org"}],"addresses":[{"address_1":"1 Road","city":"Boston","zipcode":"02110"}]}`,
		`{"first_name":"Ben","last_name":"Bloom","tags":["vip"],"phones":[{"value":"+1 212 555 0100"}],"addresses":[{"address_1":"2 Road","city":"Austin","zipcode":"78701"}]}`,
		`{"first_name":"Cat","last_name":"Cole","tags":["press"]}`)
	s.call(s.key(account), http.MethodPost, "/v1/transactions", `{"amount":50,"method":"check","transacted_at":"2026-01-31","email":"ann@example.org","first_name":"Ann","last_name":"Abel"}`)
	p.in(".side").click("Contacts")
	return p
}

func TestContactsAreFilteredAndTheFilterIsSaved(t *testing.T) {
	t.Parallel()
	p := addPeople(start(t))
	p.click("Filters")
	p.fill("Any of these tags", "vip, press")
	p.fill("None of these tags", "board")
	p.audit()
	p.click("Show contacts")
	p.sees("2 of 3 contacts", "Tagged vip or press", "Not tagged board", "Ben Bloom", "Cat Cole")
	p.doesNotSee("Ann Abel")
	if got := p.path(); !strings.HasSuffix(got, "/contacts?tag_any=vip&tag_any=press&tag_none=board") {
		t.Errorf("the filter is at %s", got)
	}
	p.audit()
	p.fits()
	p.in("#export").click("Export")
	p.audit()
	if name, text := p.downloads("Download file"); !strings.HasSuffix(name, ".csv") || strings.Count(text, "\n") != 3 || !strings.Contains(text, "Bloom") || !strings.Contains(text, "Cole") {
		t.Errorf("the list shows two contacts, and %s has %s", name, text)
	}
	p.press("Escape")
	p.click("a[aria-label='Remove filter: Not tagged board']")
	p.sees("3 contacts", "Ann Abel")
	p.click("Filters")
	panel := p.in(".panel")
	panel.fill("City", "BOSTON")
	panel.fill("Email", "Has an email")
	panel.fill("Gave on or after", "2026-01-01")
	panel.fill("Gave on or before", "2026-01-31")
	p.click("Show contacts")
	p.sees("1 of 3 contacts", "City BOSTON", "Has email", "Gave Jan 1, 2026 – Jan 31, 2026", "Ann Abel")
	filtered := p.path()

	p.click("Save as segment")
	p.fill("Name of the segment", "Boston donors")
	p.audit()
	p.click("Save segment")
	p.sees("Segment “Boston donors” saved.", "1 of 3 contacts")
	p.click("Show all contacts")
	p.sees("Cat Cole")
	p.in("main").click("Segments")
	p.audit()
	p.click("Boston donors")
	if p.path() != filtered {
		t.Errorf("the segment leads to %s, and was saved at %s", p.path(), filtered)
	}
	p.sees("1 of 3 contacts")
	p.doesNotSee("Save as segment")
	p.in("main").click("Segments")
	p.click("Manage segments")
	p.audit()
	p.click("Rename Boston donors")
	p.fill("New name", "Donors in Boston")
	p.click("Save name")
	p.sees("Segment renamed to “Donors in Boston”.")
	p.click("Delete Donors in Boston")
	p.sees("Its contacts aren’t affected.")
	p.click("Delete segment")
	p.sees("Segment “Donors in Boston” deleted.", "No segments yet")
	p.audit()
}

func TestTheListIsSortedAndItsColumnsAreChosen(t *testing.T) {
	t.Parallel()
	p := addPeople(start(t))
	names := func() string {
		p.t.Helper()
		found, err := evaluate[string](p, `[...document.querySelectorAll(".contacts a.main")].map((e) => e.textContent.slice(0, 1)).join("")`)
		p.must("reading names", err)
		return found
	}
	p.sees("Cat Cole")
	if got := names(); got != "CBA" {
		t.Errorf("the newest come first: %s", got)
	}
	p.in(".contacts thead").click("Name")
	p.sees("Ann Abel")
	if got := names(); got != "ABC" {
		t.Errorf("by name: %s", got)
	}
	p.in(".contacts thead").click("Name")
	p.sees("Ann Abel")
	if got := names(); got != "CBA" || !p.has("th.name[aria-sort=descending]") {
		t.Errorf("by name, descending: %s", got)
	}
	p.click("Columns")
	choice := p.in(".columns-choice")
	choice.tick("Total given")
	choice.tick("Last gift")
	choice.tick("City")
	choice.untick("Phone")
	p.audit()
	p.click("Show columns")
	p.sees("Total given", "Jan 31, 2026", "Boston")
	p.audit()
	p.in(".contacts thead").click("Last gift")
	p.sees("Ann Abel")
	if got := names(); got != "ACB" { // who gave comes first, then the newest
		t.Errorf("by the last gift: %s", got)
	}
	p.in(".side").click("Home")
	p.in(".side").click("Contacts")
	p.sees("Last gift")
	if p.has(".contacts th.phone") {
		t.Error("the columns were forgotten")
	}
}

func TestFiltersWorkWithTheKeyboardAndWithoutScripts(t *testing.T) {
	t.Parallel()
	p := addPeople(start(t))
	p.withoutScripts()
	p.reload()
	p.tabTo("summary “Filters”")
	p.press("Enter")
	p.tabTo("field “All of these tags”")
	p.types("board")
	p.press("Enter")
	p.sees("1 of 3 contacts", "Tagged board")
	p.fits()
}

// The search of the page and its filters work together while a person types.
func TestASearchKeepsTheFilters(t *testing.T) {
	t.Parallel()
	p := addPeople(start(t))
	p.visit(p.path() + "?tag=vip")
	p.sees("2 of 3 contacts")
	p.fill("Search contacts", "blo")
	p.sees("1 of 3 contacts", "Ben Bloom", "Tagged vip")
	if got := p.path(); !strings.HasSuffix(got, "/contacts?q=blo&tag=vip") {
		t.Errorf("the search is at %s", got)
	}
	p.expects(http.StatusUnprocessableEntity)
	p.visit(strings.Split(p.path(), "?")[0] + "?has=fax")
	p.sees("Please fix one filter.")
	p.audit()
}
