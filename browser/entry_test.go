package browser_test

import (
	"strings"
	"testing"
)

// A person who has opened the form types an amount and presses Enter, and has recorded the gift: with the pointer and with the keyboard alone.
func TestAnAmountAndEnterRecordAGift(t *testing.T) {
	t.Parallel()
	p := addGiver(start(t))
	p.in(".drawer").click("Record gift")
	if got := p.focused(); got != "field “Amount required”" {
		t.Errorf("the form opens with the focus at %s", got)
	}
	p.types("15")
	p.press("Enter")
	p.sees("Recorded $15 from Zoë Okafor.", "1 gift")
	p.types("ng") // on the page of a contact, the shortcut is about that contact
	if got := p.focused(); got != "field “Amount required”" {
		t.Errorf("the shortcut leads to %s", got)
	}
	p.types("7.50")
	p.press("Enter")
	p.sees("Recorded $7.50 from Zoë Okafor.", "2 gifts")
	p.in(".drawer").click("Record gift")
	p.press("Escape")
	if got := p.focused(); !strings.Contains(got, "Record gift") {
		t.Errorf("after Escape the focus is at %s", got)
	}
}

// suggested waits for the suggestions of the field that has the focus, and returns them.
func (p *page) suggested() []string {
	p.t.Helper()
	p.settle()
	names, err := evaluate[[]string](p, `new Promise((done) => {
		const field = document.activeElement, began = Date.now()
		const look = () => {
			const list = document.getElementById(field.getAttribute("aria-controls"))
			if (field.getAttribute("aria-expanded") === "true" || Date.now() - began > 4000) return done([...list.children].map((option) => option.querySelector("span").textContent))
			setTimeout(look, 50)
		}
		look()
	})`)
	p.must("waiting for suggestions", err)
	return names
}

// active is the suggestion that a screen reader reads, "" for none.
func (p *page) active() string {
	p.t.Helper()
	name, err := evaluate[string](p, `document.getElementById(document.activeElement.getAttribute("aria-activedescendant"))?.querySelector("span").textContent ?? ""`)
	p.must("asking for the active suggestion", err)
	return name
}

func TestTheSearchSuggestsWhileAPersonTypes(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	s.addContacts(p.organizationID(), `{"first_name":"Peter","last_name":"Carter","emails":[{"value":"peter@example.org"}]}`, `{"first_name":"Priya","last_name":"Carter"}`, `{"first_name":"Ana","last_name":"Diaz"}`)
	p.reload()
	search := p.in(".side")
	search.fill("Search everything", "cart")
	if got := strings.Join(p.suggested(), "|"); got != "Peter Carter|Priya Carter|See all results for “cart”" {
		t.Fatalf("suggested are %s", got)
	}
	p.audit()
	search.fill("Search everything", "carter") // where the menu is folded, the field loses the focus
	p.suggested()
	p.press("ArrowDown", "ArrowDown")
	if got := p.active(); got != "Priya Carter" {
		t.Errorf("the second suggestion is %s", got)
	}
	p.press("ArrowDown", "ArrowDown")
	if got := p.active(); got != "" {
		t.Errorf("after the last suggestion comes %s, not what was typed", got)
	}
	p.press("ArrowUp", "ArrowUp", "ArrowUp", "Enter")
	p.sees("Peter Carter", "peter@example.org", "Record gift")

	search.fill("Search everything", "cart")
	p.suggested()
	p.press("Escape")
	if expanded, err := evaluate[string](p, `document.activeElement.getAttribute("aria-expanded") + " " + document.activeElement.value`); err != nil || expanded != "false cart" {
		t.Errorf("after Escape the field is %s, %v", expanded, err)
	}
	p.press("Enter") // searches, as without suggestions
	p.sees("Contacts", "Peter Carter", "Priya Carter")
	p.width(390)
	p.fill("Search contacts, campaigns and gifts", "")
	p.types("dia")
	p.suggested()
	p.audit()
	p.fits()
	p.width(390)
	p.fill("Search contacts, campaigns and gifts", "diaz")
	p.suggested()
	p.click("#search-suggestions [role=option]:first-child")
	p.sees("Ana Diaz", "Record gift")
}

func TestAGiftIsRecordedFromThePageOfGifts(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	s.addContacts(p.organizationID(), `{"first_name":"Peter","last_name":"Carter","emails":[{"value":"peter@example.org"}]}`, `{"first_name":"Ana","last_name":"Diaz"}`)
	p.reload()
	p.types("gg")
	p.click("Record your first gift")
	p.audit()
	p.fits()
	if got := p.focused(); got != "field “Donor”" {
		t.Errorf("the form begins at %s", got)
	}
	p.types("pete")
	p.suggested()
	p.audit()
	p.press("ArrowDown", "Enter")
	if got := p.focused(); got != "field “Amount required”" {
		t.Errorf("after the donor comes %s", got)
	}
	p.types("15")
	p.press("Enter")
	p.sees("Recorded $15 from Peter Carter.", "Received")
	p.audit()

	p.types("ng")
	p.tick("Anonymous")
	p.fill("Amount", "2.50")
	p.fill("Method", "Cash")
	p.click("Record and add another")
	p.sees("Recorded $2.50 from Anonymous Donor.")
	if got := p.value("Method"); got != "cash" {
		t.Errorf("the next form begins with %s", got)
	}
	p.in(".notice").click("View gift")
	p.sees("$2.50 from Anonymous Donor")
	p.click("Edit gift")
	p.fill("Donor", "")
	p.types("diaz")
	p.suggested()
	p.press("ArrowDown", "Enter")
	p.audit()
	p.click("Save changes")
	p.sees("$2.50 from Ana Diaz")

	p.withoutScripts()
	p.in(".side").click("Gifts")
	p.sees("Status", "Received")
	p.click("Record gift")
	p.fill("Donor", "Carter")
	p.fill("Amount", "9")
	p.expects(422)
	p.in("main").click("Record gift")
	p.sees("Donor matches 1 contact. Choose one.")
	p.click("Peter Carter peter@example.org")
	p.in("main").click("Record gift")
	p.sees("Recorded $9 from Peter Carter.")
}

// A filter is in the address alone, and the menu leads to all.
func TestTheMenuLeadsToWholeLists(t *testing.T) {
	t.Parallel()
	p := addPeople(start(t))
	p.visit(strings.Split(p.path(), "?")[0] + "?tag=board")
	p.sees("Filtered:", "Tagged board", "1 of 3 contacts")
	p.audit()
	p.in(".side").click("Home")
	p.in(".side").click("Contacts")
	p.sees("Ann Abel", "Ben Bloom", "Cat Cole")
	p.doesNotSee("Filtered:")
}
