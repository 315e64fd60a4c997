package browser_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// A person reads what has happened to a contact, writes a note and undoes a change; an owner sees everything.
func TestHistoryIsReadAndUndone(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	s.addContacts(p.organizationID(), `{"first_name":"Zoë","last_name":"Okafor","emails":[{"value":"zoe@example.org"}]}`)
	p.in(".side").click("Contacts")
	p.click("Zoë Okafor")
	p.sees("History", "added this contact.")
	p.fill("Add a tag", "board")
	p.click("Add tag")
	p.sees("added tag “board”.")
	p.fill("Add a tag", "gala, lunch")
	p.click("Add tag")
	p.sees("added the tags “gala”, “lunch”.")
	p.fill("Add a note", "Called about the gala.")
	p.fill("Date of the note", "2026-01-31")
	p.click("Add note")
	p.sees("Note added.", "wrote a note.", "Called about the gala.", "Jan 31, 2026")
	p.audit()
	p.in(".timeline section:first-child li:nth-child(2)").click("Undo")
	p.sees("Change undone.", "undid an earlier change: removed the tags “gala”, “lunch”.", "Undone")
	p.audit()
	p.in(".side").click("Settings")
	p.audit()
	p.click("View history")
	p.sees("Every change in", "Today", "Zoë Okafor", "added this contact.")
	p.audit()
	p.fits()
	p.fill("About", "Campaigns")
	p.click("Show changes")
	p.sees("No changes match.")
	p.doesNotSee("Zoë Okafor")
	p.audit()
	p.click("Clear filters")
	p.sees("Zoë Okafor")
}

// A person who asks for it gets all their data, and is erased. What they gave stays.
func TestAPersonIsErased(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	account := p.organizationID()
	s.call(s.key(account), http.MethodPost, "/v1/transactions", `{"amount":50,"method":"check","transacted_at":"2026-01-31","email":"zoe@example.org","first_name":"Zoë","last_name":"Okafor"}`)
	p.in(".side").click("Contacts")
	p.click("Zoë Okafor")
	if name, text := p.downloads("Download data"); !strings.HasSuffix(name, ".json") || !strings.Contains(text, "zoe@example.org") {
		t.Errorf("the data of the person is in %s: %s", name, text)
	}
	p.click("Erase contact")
	p.sees("Erase Zoë Okafor?", "You cannot undo it.", "Gifts still count in all totals, but without the name")
	p.audit()
	p.expects(http.StatusUnprocessableEntity)
	p.fill("name", "Zoe")
	p.in("main form").click("Erase contact")
	p.sees("Type the name as it is written above. Nothing was erased.")
	p.audit()
	p.fill("name", "Zoë Okafor")
	p.in("main form").click("Erase contact")
	p.sees("The contact was erased. Gifts still count in all totals.", "are being removed from gifts, history and imports.")
	p.click("View progress")
	p.sees("Done")
	p.audit()
	p.in(".side").click("Gifts")
	p.sees("$50 from 1 gift")
	p.doesNotSee("Okafor")
	p.in(".side").click("Settings")
	p.click("View history")
	p.sees("erased a person at their request.", "Gift 0000000001")
	p.doesNotSee("Zoë")
	p.audit()
	p.fits()
	p.click("Gift 0000000001")
	p.sees("$50")
}

// The changes of the demo come in another order than their days.
func TestTheHistoryHasEveryDayOnce(t *testing.T) {
	t.Parallel()
	p := demo(t)
	p.visit(p.path() + "/settings/history")
	days, err := evaluate[[]string](p, `[...document.querySelectorAll(".timeline h3")].map((day) => day.innerText)`)
	p.must("reading the days", err)
	seen := slices.Compact(slices.Sorted(slices.Values(days)))
	if len(seen) != len(days) || len(days) < 2 || days[0] != "Today" {
		t.Errorf("the history has the days %q", days)
	}
}
