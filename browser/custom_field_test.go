package browser_test

import "testing"

// An owner adds fields, fills them in on a contact, and ends one of them.
func TestCustomFieldsAreAddedFilledInAndEnded(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	p.in(".side").click("Settings")
	p.click("Custom fields")
	p.sees("No custom fields yet")
	p.audit()
	p.click("Add field")
	p.audit()
	p.fill("Title", "Shirt size")
	p.fill("Description", "For the summer run")
	p.fill("Type", "One of a list")
	p.fill("Options", "S\nM\nL")
	p.in(".sticky-actions").click("Add field")
	p.sees("Field “Shirt size” added.", "3 options")
	for _, field := range [][2]string{{"Member since", "Date"}, {"Volunteer", "Yes or no"}} {
		p.click("Add field")
		p.fill("Title", field[0])
		p.fill("Type", field[1])
		p.in(".sticky-actions").click("Add field")
		p.sees("Field “" + field[0] + "” added.")
	}
	p.audit()

	p.in(".side").click("Contacts")
	p.click("Add your first contact")
	p.fill("First name", "Zoë")
	p.fill("Last name", "Okafor")
	p.click(".more-fields > summary")
	p.fill("Shirt size", "M")
	p.fill("Member since", "2020-01-31")
	p.fill("Volunteer", "Yes")
	p.audit()
	p.click("Add contact")
	p.sees("Zoë Okafor was added.", "Shirt size", "Jan 31, 2020", "Volunteer")
	p.audit()
	p.click("Edit contact")
	if got := p.value("Shirt size"); got != "M" {
		t.Errorf("the form shows the size %q", got)
	}
	p.fill("Shirt size", "L")
	p.click("Save changes")
	p.sees("Changes saved.", "Shirt size")

	p.in(".side").click("Settings")
	p.click("Custom fields")
	p.click("Archive field Volunteer")
	p.sees("Field “Volunteer” archived.", "Archived fields")
	p.audit()
	p.click("Restore field Volunteer")
	p.sees("Field “Volunteer” restored")
}
