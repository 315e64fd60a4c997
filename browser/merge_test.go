package browser_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// Two people who are there twice: Thomas surely, Maria as far as name and street tell.
var twins = []string{
	`{"first_name":"Thomas","last_name":"Abernathy","dob":"3/4/1955","title":"Chair","note":"Met at the spring gala.","tags":["board"],"emails":[{"value":"tom@example.org"}],"phones":[{"value":"212-555-0101"}],"addresses":[{"address_1":"12 Oak Street","city":"Salem","state":"OR","zipcode":"97301"}]}`,
	`{"first_name":"Tom","last_name":"ABERNATHY","dob":"3/4/1955","title":"Treasurer","note":"Prefers letters.","company":"Abernathy Boats","tags":["vip"],"force_create":true,"emails":[{"value":"tom@example.org"},{"value":"boats@example.org"}],"phones":[{"value":"212-555-0101"}],"addresses":[{"address_1":"12 Oak St.","city":"Salem","state":"OR","zipcode":"97301"}]}`,
	`{"first_name":"Maria","last_name":"Quintero","addresses":[{"address_1":"9 Elm Street","city":"Salem","state":"OR","zipcode":"97302"}]}`,
	`{"first_name":"Maria","last_name":"Quintero","emails":[{"value":"maria@example.org"}],"addresses":[{"address_1":"9 Elm St","city":"Salem","state":"OR","zipcode":"97302"}]}`,
	`{"first_name":"Ana","last_name":"Diaz","emails":[{"value":"ana@example.org"}]}`,
	`{"first_name":"Bo","last_name":"Ek","phones":[{"value":"212-555-0177"}]}`,
	`{"first_name":"Gwen","last_name":"Vasquez","emails":[{"value":"gwen@example.org"}]}`,
	`{"first_name":"Hugo","last_name":"Whitfield","emails":[{"value":"hugo@example.org"}]}`,
	`{"first_name":"Klara","last_name":"Xanthos","emails":[{"value":"klara@example.org"}]}`,
	`{"first_name":"Nils","last_name":"Yamamoto","emails":[{"value":"nils@example.org"}]}`,
	`{"first_name":"Olga","last_name":"Zeller","emails":[{"value":"olga@example.org"}]}`,
}

// seesDuplicates has the contacts compared now instead of a little later.
func (p *page) seesDuplicates(home, words string) {
	p.t.Helper()
	p.server.donorbook("contact", "duplicates", "--account", p.organizationID())
	p.visit(home + "/duplicates")
	p.sees(words)
}

// shoot takes pictures of the page in both colors, on a desk and on a phone, where SHOTS names a folder for them.
func (p *page) shoot(name string) {
	dir := os.Getenv("SHOTS")
	if dir == "" {
		return
	}
	for _, look := range []struct {
		name, scheme string
		width        int64
	}{{"", "light", 1280}, {"-dark", "dark", 1280}, {"-1024", "light", 1024}, {"-phone", "light", 390}, {"-phone-dark", "dark", 390}} {
		p.colors(look.scheme)
		p.width(look.width)
		p.screenshot(filepath.Join(dir, name+look.name+".png"))
	}
	p.colors("light")
	p.width(1280)
}

func TestDuplicatesAreComparedMergedAndTakenApart(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	home := p.path()
	p.visit(home + "/duplicates")
	p.sees("No duplicates")
	p.audit()
	s.addContacts(p.organizationID(), twins...)
	p.seesDuplicates(home, "Abernathy")
	p.audit()
	p.shoot("duplicates")
	p.width(1024)
	p.in(".groups").click("Compare contacts")
	p.sees("Merge two contacts", "Record to keep", "Abernathy Boats", "Keep both, one below the other")
	p.audit()
	p.shoot("merge")
	p.width(390)
	p.audit()
	p.width(1280)
	p.click("label:has([name=title]:not(:checked))")
	p.click("Preview merge")
	p.sees("Merge Tom ABERNATHY into Thomas Abernathy?", "boats@example.org", "Overwritten values", "Chair")
	p.audit()
	p.shoot("merge-preview")
	p.click("Change choices")
	p.click("Preview merge")
	p.sees("Treasurer")
	p.click("Merge contacts")
	p.sees("Merged Tom ABERNATHY into Thomas Abernathy.", "Treasurer", "boats@example.org")
	p.audit()
	p.shoot("merged")
	p.visit(home + "/merges")
	p.sees("Tom ABERNATHY into Thomas Abernathy")
	p.audit()
	p.click("Thomas Abernathy")
	p.in("#main .timeline ol > li:first-child").click("Undo")
	p.sees("The merge was undone. Tom ABERNATHY (ID ", ") is a separate contact again.")
	p.audit()
	p.click("View Tom ABERNATHY")
	p.sees("Tom ABERNATHY", "Abernathy Boats")
	p.visit(home + "/merges")
	p.click("Merge again")
	p.sees("The two contacts are merged again.")
}

// A merge needs neither a mouse nor scripts.
func TestAMergeNeedsOnlyTheKeyboard(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	home := p.path()
	s.addContacts(p.organizationID(), twins...)
	p.withoutScripts()
	p.visit(home + "/contacts")
	p.tabTo("checkbox “Select Thomas Abernathy”")
	p.press("Space")
	p.tabTo("checkbox “Select Maria Quintero”")
	p.press("Space")
	p.tabTo("button “Merge two contacts”")
	p.press("Enter")
	p.sees("Merge two contacts", "Record to keep")
	p.press("Tab")
	p.tabTo("button “Preview merge”")
	p.press("Enter")
	p.sees("Merge Maria Quintero into Thomas Abernathy?")
	p.tabTo("button “Merge contacts”")
	p.press("Enter")
	p.sees("Merged Maria Quintero into Thomas Abernathy.")
	p.tabTo("button “Undo”")
	p.press("Enter")
	p.sees("The merge was undone.")
}

func TestAFormAsksAboutTheSameNameAndStreet(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	home := p.path()
	s.addContacts(p.organizationID(), twins[2], twins[4])
	p.visit(home + "/contacts/new")
	p.fill("First name", "Maria")
	p.fill("Last name", "Quintero")
	p.click(".more-fields > summary")
	p.fill("Street", "9 Elm St.")
	p.fill("City", "Salem")
	p.fill("State", "OR")
	p.fill("Postal code", "97302")
	p.expects(http.StatusConflict)
	p.click("Add contact")
	p.sees("Is this Maria Quintero?", "may be the same person", "same address")
	p.audit()
	p.shoot("question")
	p.tabTo("button “Keep both”")
	p.press("Enter")
	p.sees("Maria Quintero was added.")
}

func TestSureDuplicatesAreMergedTogetherAndReviewed(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	home := p.path()
	s.addContacts(p.organizationID(), twins...)
	key := s.key(p.organizationID())
	if status, answer := s.call(key, http.MethodPost, "/v1/contacts", `{"first_name":"Zachary","last_name":"Unger","emails":[{"value":"ana@example.org"}]}`); status != http.StatusOK && status != http.StatusCreated {
		t.Fatal(answer)
	}
	p.visit(home + "/merges")
	p.sees("Please review", "Zachary Unger was merged into")
	p.audit()
	p.shoot("merges")
	p.visit(home)
	p.sees("1 merge to review")
	p.shoot("home")
	p.visit(home + "/merges")
	p.click("Split")
	p.sees("The merge was undone.", "Ana Diaz")

	p.seesDuplicates(home, "Abernathy")
	p.tabTo("checkbox “Select all matches on this page”")
	p.press("Space")
	p.sees("selected")
	p.audit()
	p.shoot("duplicates-selected")
	p.click("Merge selected matches")
	p.sees("certain match", "Abernathy")
	p.audit()
	p.shoot("duplicates-merge")
	p.in(".sticky-actions").click("Merge match")
	p.refreshUntil("1 contact merged into others.")
	p.audit()
}
