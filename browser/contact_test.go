package browser_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// addContacts makes contacts through the API, so that a list has something to show.
func (s *server) addContacts(account string, bodies ...string) {
	s.t.Helper()
	key := s.key(account)
	for _, body := range bodies {
		if status, answer := s.call(key, http.MethodPost, "/v1/contacts", body); status != http.StatusCreated {
			s.t.Fatalf("%s: %d %s", body, status, answer)
		}
	}
}

func TestAContactIsAddedEditedAndRead(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	p.in(".side").click("Contacts")
	p.sees("No contacts yet")
	p.audit()
	p.click("Add your first contact")
	p.audit()
	p.fill("First name", "Zoë")
	p.fill("Last name", "Okafor")
	p.fill("Company", "Harbor Bakery")
	p.click(".more-fields > summary")
	p.fill("Date of birth", "1980-02-29")
	p.fill("Email", "zoe@example.org")
	p.fill("Email type", "Work")
	p.fill("Email 2", "z@example.org")
	p.click("Add email")
	p.fill("Email 3", "third@example.org")
	p.fill("Phone", "(212) 555-0100")
	p.fill("Street", "1 Main St")
	p.fill("City", "Boston")
	p.fill("State", "MA")
	p.fill("Tag", "volunteer")
	p.fill("Pinned note", "Met in Rome.\nPrefers letters.")
	p.fill("LinkedIn", "https://linkedin.example/zoe")
	p.audit()
	p.click("Add contact")
	p.sees("Zoë Okafor was added.", "Harbor Bakery", "zoe@example.org", "third@example.org", "(212) 555-0100", "1 Main St", "Boston, MA", "volunteer", "Prefers letters.", "Feb 29, 1980")
	p.audit()
	if href, err := evaluate[string](p, `document.querySelector('a[href^="tel:"]').getAttribute("href")`); err != nil || href != "tel:2125550100" {
		t.Errorf("the phone is dialed as %s, %v", href, err)
	}

	p.click("Edit contact")
	p.audit()
	p.click("button[aria-label='Remove Email 2']")
	p.fill("Last name", "Okafor-Reyes")
	p.fill("Pinned note", "")
	p.click("Save changes")
	p.sees("Changes saved.", "Zoë Okafor-Reyes", "third@example.org")
	p.in(".reach").doesNotSee("z@example.org") // the history still names it
	p.reload()
	p.doesNotSee("Changes saved.") // the message is shown once
}

// The labels say what the chosen type of contact needs, without scripts too.
func TestAFormSaysWhatATypeOfContactNeeds(t *testing.T) {
	t.Parallel()
	p := start(t).owner()
	home := p.path()
	p.withoutScripts()
	p.visit(home + "/contacts/new")
	for _, of := range []struct{ kind, first, last, company string }{
		{"Individual", "First name required", "Last name required", "Company"}, {"Company", "First name", "Last name", "Company required"},
	} {
		p.fill("Type", of.kind)
		for field, want := range map[string]string{"first_name": of.first, "last_name": of.last, "company": of.company} {
			if got := p.text("label[for=f-" + field + "]"); got != want {
				t.Errorf("%s: a label says %q, want %q", of.kind, got, want)
			}
		}
	}
}

func TestWrongInputIsToldBesideTheFields(t *testing.T) {
	t.Parallel()
	p := start(t).owner()
	p.in(".side").click("Contacts")
	p.click("Add your first contact")
	p.fill("First name", "Zoë")
	p.click(".more-fields > summary")
	p.fill("Email 2", "no sense")
	p.fill("Phone", "12")
	p.fill("Country", "XXX")
	p.fill("Pinned note", "kept")
	p.run(`document.querySelector("form.form").noValidate = true`) // as browsers without validation do
	p.expects(http.StatusUnprocessableEntity)
	p.click("Add contact")
	p.sees("4 things need your attention. Nothing was saved.", "Last name is required.", "Email 1 must be a valid email address.", "Phone must be a valid phone number", "Country isn’t a country that we know.")
	if !strings.Contains(p.focused(), "4 things need your attention") {
		t.Errorf("the summary is not read first, but %s", p.focused())
	}
	p.audit()
	for field, want := range map[string]string{"First name": "Zoë", "Email": "no sense", "Phone": "12", "Country": "XXX", "Pinned note": "kept"} {
		if got := p.value(field); got != want {
			t.Errorf("%s: %q was typed, and %q is there", field, want, got)
		}
	}
	p.click("Email 1 must be a valid email address.")
	if got := p.focused(); got != "field “Email”" {
		t.Errorf("the complaint leads to %s", got)
	}
	p.fill("Last name", "Okafor")
	p.fill("Email", "zoe@example.org")
	p.fill("Phone", "")
	p.fill("Country", "USA")
	p.click("Add contact")
	p.sees("Zoë Okafor was added.", "zoe@example.org", "United States")
}

func TestTagsAreSuggestedAddedAndRemoved(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	s.addContacts(p.organizationID(), `{"first_name":"Bo","last_name":"Ek","tags":["volunteer","Vólleyball","board"]}`, `{"first_name":"Ana","last_name":"Diaz"}`)
	p.in(".side").click("Contacts")
	p.click("Ana Diaz")
	p.click("Add a tag") // its label leads into the field
	p.types("VOL")
	p.must("looking at the suggestions", p.try(func() error {
		got, err := evaluate[string](p, `[...document.querySelectorAll("#tag-options option")].map((o) => o.value + ": " + o.textContent).join(", ")`)
		if err == nil && got != "Vólleyball: 1 contact, volunteer: 1 contact" {
			err = fmt.Errorf("suggested are %q", got)
		}
		return err
	}))
	p.fill("Add a tag", "volunteer, bo")
	p.must("looking at the suggestions for the next tag", p.try(func() error {
		got, err := evaluate[string](p, `[...document.querySelectorAll("#tag-options option")].map((o) => o.value).join("; ")`)
		if err == nil && got != "volunteer, board" {
			err = fmt.Errorf("suggested are %q", got)
		}
		return err
	}))
	p.fill("Add a tag", "volunteer, board")
	p.press("Enter")
	p.sees("“volunteer” and “board” were added.")
	p.click("button[aria-label='Remove tag board']")
	p.sees("“board” was removed.")
	p.click("button[aria-label='Remove tag volunteer']")
	p.sees("“volunteer” was removed.", "No tags yet")

	p.withoutScripts()
	p.reload()
	p.fill("Add a tag", "plain")
	p.in("main").click("Add tag")
	p.sees("“plain” was added.")
	p.in(".chips").click("plain")
	p.sees("Tagged plain", "Ana Diaz")
	p.doesNotSee("Bo Ek")
}

func TestAContactIsArchivedUndoneAndRestored(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	s.addContacts(p.organizationID(), `{"first_name":"Ana","last_name":"Diaz"}`, `{"first_name":"Bo","last_name":"Ek"}`)
	p.in(".side").click("Contacts")
	p.click("Ana Diaz")
	p.click("Archive contact")
	p.sees("Ana Diaz was archived.", "Archived on")
	p.audit()
	p.click("Undo")
	p.sees("Ana Diaz was restored.")
	p.click("Archive contact")
	p.in(".side").click("Contacts")
	p.doesNotSee("Ana Diaz")
	p.in(".tabs").click("Archived")
	p.sees("Ana Diaz")
	p.audit()
	p.click("Ana Diaz")
	p.click("Restore contact")
	p.in(".side").click("Contacts")
	p.sees("Ana Diaz", "Bo Ek")
}

func TestContactsAreSearchedWhileTyping(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	s.addContacts(p.organizationID(),
		`{"first_name":"Maria","last_name":"Smith","emails":[{"value":"boss@example.org"}],"phones":[{"value":"212-555-0100"}],"tags":["VIP"]}`,
		`{"first_name":"Bo","last_name":"Ek","tags":["volunteer"]}`)
	p.in(".side").click("Contacts")
	p.sees("Active 2", "Maria Smith", "Bo Ek")
	box := "#find input[type=search]"
	for _, typed := range []string{"smith mar", "BOSS@exa", "(212) 555", "tag:VIP"} {
		p.fill(box, "")
		p.sees("Bo Ek")
		p.click(box)
		p.types(typed)
		p.doesNotSee("Bo Ek")
		p.sees("Maria Smith")
	}
	if path := p.path(); !strings.HasSuffix(path, "/contacts?q=tag%3AVIP") {
		t.Errorf("the address is %s", path)
	}
	p.reload()
	p.sees("Maria Smith")
	p.doesNotSee("Bo Ek")
	p.fill(box, "volun maria")
	p.sees("No contacts found")
	if got := p.text("#found"); got != "No contacts found." {
		t.Errorf("a screen reader hears %q", got)
	}
	p.audit()
	p.fill(box, "volun")
	p.sees("1 of 2 contacts", "Bo Ek", "Tags:", "volunteer 1")
	p.in(".filter .chips").click("volunteer 1")
	p.sees("Tagged volunteer", "Bo Ek")
	p.doesNotSee("Maria Smith")
	p.audit()
	p.click("Show all contacts")
	p.sees("Maria Smith", "Bo Ek")

	p.withoutScripts()
	p.reload()
	p.fill(box, "maria")
	p.click("Search")
	p.sees("Maria Smith")
	p.doesNotSee("Bo Ek")
}

func TestTheListHasPages(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	var bodies []string
	for i := range 120 {
		bodies = append(bodies, fmt.Sprintf(`{"first_name":"Number","last_name":"N%03d"}`, i))
	}
	s.addContacts(p.organizationID(), bodies...)
	p.in(".side").click("Contacts")
	p.sees("Number N119", "Number N070")
	p.doesNotSee("N069")
	p.audit()
	p.click("Next")
	p.sees("Number N069")
	p.click("Page 3")
	p.sees("Number N000")
	p.fill("Search contacts", "number")
	p.sees("120 contacts", "Number N119", "Number N070")
	p.doesNotSee("N069")
	p.audit()
	p.click("Next")
	p.sees("120 contacts", "Number N069", "Number N020")
	p.doesNotSee("N070")
	p.click("Next")
	p.sees("Number N019", "Number N000")
	p.click("Previous")
	p.sees("Number N069", "Number N020")
	p.click("Previous")
	p.sees("Number N119")
}

func TestAContactIsAddedWithTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	p := start(t).owner()
	p.tabTo("link “Contacts”")
	p.press("Enter")
	p.tabTo("link “Add your first contact”")
	p.press("Enter")
	if got := p.focused(); got != "field “First name required”" { // at once
		t.Errorf("the focus is at %s", got)
	}
	p.types("Ana")
	for _, step := range []struct{ field, value string }{{"Last name required", "Diaz"}, {"Email", "ana@example.org"}, {"Tag", "board"}} {
		if step.field == "Tag" {
			p.tabTo("summary “More Address, tags, birthday, notes and the rest”")
			p.press("Enter")
		}
		p.tabTo("field “" + step.field + "”")
		p.types(step.value)
	}
	p.tabTo("button “Add contact”")
	p.press("Enter")
	p.sees("Ana Diaz was added.", "board")
	p.tabTo("button “Archive contact”")
	p.press("Enter")
	p.sees("Ana Diaz was archived.")
	p.tabTo("button “Undo”")
	p.press("Space")
	p.sees("Ana Diaz was restored.")
	p.tabTo("button “Remove tag board”")
	p.press("Enter")
	p.sees("“board” was removed.")
	p.tabTo("field “Add a tag”")
	p.types("friend")
	p.press("Enter")
	p.sees("“friend” was added.")
}
