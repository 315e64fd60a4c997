package browser_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestLeavingAFormWithChangesAsksFirst(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	s.addContacts(p.organizationID(), `{"first_name":"Ana","last_name":"Diaz","emails":[{"value":"a@example.org","type":"work"},{"value":"b@example.org"}],"note":"One\nTwo"}`)
	p.in(".side").click("Contacts")
	p.click("Ana Diaz")
	p.click("Edit contact")
	p.click("Add email")
	p.in("main").click("Cancel") // nothing was changed: an empty row does not count
	p.click("Edit contact")
	p.fill("Last name", "Ruiz")
	p.fill("Last name", "Diaz")
	p.in("main").click("Cancel") // an unchanged value does not count either
	p.click("Edit contact")

	p.fill("Last name", "Ruiz")
	p.stays(func() { p.in("main").click("Cancel") })
	p.stays(func() { p.in(".side").click("Campaigns") })
	p.stays(func() { p.in(".side").click("Sign out") }) // another form
	if got := p.value("Last name"); got != "Ruiz" {
		t.Errorf("what was typed is now %q", got)
	}
	p.click("Save changes")
	p.sees("Changes saved.", "Ana Ruiz")

	for what, change := range map[string]func(){
		"a choice":  func() { p.fill("Email type", "Personal") },
		"a row":     func() { p.click("button[aria-label='Remove Email 2']") },
		"a new row": func() { p.click("Add phone"); p.fill("Phone 3", "212-555-0100") },
	} {
		p.click("Edit contact")
		change()
		p.leaves(func() { p.in("main").click("Cancel") })
		if !strings.HasSuffix(p.path(), fmt.Sprint(1)) {
			t.Errorf("%s: the page is %s", what, p.path())
		}
	}
	p.sees("a@example.org", "b@example.org")
}

func TestRowsAreCountedAnew(t *testing.T) {
	t.Parallel()
	p := start(t).owner()
	p.visit(p.path() + "/contacts/new")
	p.fill("Email", "first@example.org")
	p.click(".more-fields > summary")
	p.fill("Email 2", "second@example.org")
	p.click("Add email")
	p.fill("Email 3", "third@example.org")
	p.fill("Email 3 type", "Work")
	p.click("button[aria-label='Remove Email 2']")
	p.click("Add address")
	p.in("#address-rows fieldset:last-child").fill("City", "Boston")
	p.click("button[aria-label='Remove Address']")
	if got := p.text("#address-rows legend"); got != "Address" {
		t.Errorf("the only address is called %q", got)
	}
	if p.value("Email") != "first@example.org" || p.value("Email 2") != "third@example.org" || p.value("Email 2 type") != "work" || p.value("City") != "Boston" {
		t.Error("the values have moved")
	}
	if got := p.text("#email-rows"); strings.Contains(got, "Email 3") {
		t.Errorf("the rows say %q", got)
	}
	p.audit()
	p.fill("First name", "Zoë")
	p.fill("Last name", "Okafor")
	p.fill("Tag", "alpha, beta")
	p.click("Add contact")
	p.sees("Zoë Okafor was added.", "first@example.org", "third@example.org", "Boston", "alpha", "beta")
	p.doesNotSee("second@example.org", "alpha, beta")
}

// The Save button is within reach everywhere in a long form, and does not cover the field that the person is editing.
func TestSaveIsAlwaysInReach(t *testing.T) {
	t.Parallel()
	p := start(t).owner()
	home := p.path()
	for _, form := range []string{"/contacts/new", "/campaigns/new"} {
		for _, width := range []int64{1280, 390} {
			p.width(width)
			p.visit(home + form)
			p.run(`document.querySelectorAll(".more-fields").forEach((more) => { more.open = true })`)
			p.saveIsInReach(form, width)
			for range 75 {
				p.press("Tab")
				if p.focused() == "button “Add contact”" || p.focused() == "button “Create campaign”" {
					break
				}
				if where := p.focusIsCovered(); where != "" {
					t.Errorf("%s, %d wide: %s is covered: %s", form, width, p.focused(), where)
				}
				p.saveIsInReach(form, width)
			}
			if got := p.focused(); got != "button “Add contact”" && got != "button “Create campaign”" {
				t.Errorf("%s, %d wide: Tab ends at %s", form, width, got)
			}
		}
	}
}

func (p *page) saveIsInReach(form string, width int64) {
	p.t.Helper()
	visible, err := evaluate[bool](p, `(() => {
		const box = document.querySelector(".sticky-actions button").getBoundingClientRect();
		return box.top >= 0 && box.bottom <= innerHeight && document.elementFromPoint(box.x + 5, box.y + 5).closest("button") !== null;
	})()`)
	p.must("looking for the button", err)
	if !visible {
		p.t.Fatalf("%s, %d wide: the button is out of reach at %s", form, width, p.focused())
	}
}

// focusIsCovered says what covers a part of the focused element, "" for nothing.
func (p *page) focusIsCovered() string {
	p.t.Helper()
	where, err := evaluate[string](p, `(() => {
		const bar = document.querySelector(".sticky-actions");
		const at = document.activeElement.getBoundingClientRect();
		if (!bar || bar.contains(document.activeElement) || !document.querySelector("form.form").contains(document.activeElement)) return "";
		const top = bar.getBoundingClientRect().top;
		return at.bottom > top && at.top < innerHeight && at.height < top ? at.bottom + " is below " + top : "";
	})()`)
	p.must("looking at the focus", err)
	return where
}
