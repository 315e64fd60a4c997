package browser_test

import (
	"fmt"
	"strings"
	"testing"
)

const (
	ana    = `{"first_name":"Ana","last_name":"Diaz","emails":[{"value":"a@example.org"},{"value":"b@example.org"}]}`
	bo     = `{"first_name":"Bo","last_name":"Ek","tags":["volunteer","Vólleyball","board"]}`
	marta  = `{"first_name":"Marta","last_name":"Lopez","emails":[{"value":"marta@example.org"}]}`
	carter = `{"first_name":"Peter","last_name":"Carter","emails":[{"value":"peter@example.org"}]}`
)

func TestAContactIsAddedWithTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	p := start(t).owner()
	p.enters("link “Contacts”")
	p.enters("link “Add your first contact”")
	p.focusIs("field “First name required”") // at once
	p.types("Ana")
	for _, step := range [][2]string{{"Last name required", "Diaz"}, {"Email", "ana@example.org"}, {"Tag", "board"}} {
		if step[0] == "Tag" {
			p.enters("summary “More Address, tags, birthday, notes and the rest”")
		}
		p.tabTo("field “" + step[0] + "”")
		p.types(step[1])
	}
	p.enters("button “Add contact”")
	p.sees("Ana Diaz was added.", "board")
	p.enters("button “Archive contact”")
	p.sees("Ana Diaz was archived.")
	p.tabTo("button “Undo”")
	p.press("Space")
	p.sees("Ana Diaz was restored.")
	p.enters("button “Remove tag board”")
	p.sees("“board” was removed.")
	p.tabTo("field “Add a tag”")
	p.types("friend")
	p.press("Enter")
	p.sees("“friend” was added.")
}

// A form that is refused reads its summary first, which leads to the fields; the labels say what a type of contact
// needs.
func TestAWrongFormLeadsToItsFields(t *testing.T) {
	t.Parallel()
	p := start(t).owner()
	p.visit(p.path() + "/contacts/new")
	for _, of := range [][4]string{
		{"Individual", "First name required", "Last name required", "Company"},
		{"Company", "First name", "Last name", "Company required"},
	} {
		p.fill("Type", of[0])
		for i, field := range []string{"first_name", "last_name", "company"} {
			same(p, of[0]+", the label of "+field, p.text("label[for=f-"+field+"]"), of[i+1])
		}
	}
	p.fill("Type", "Individual")
	p.click(".more-fields > summary")
	p.fill("First name", "Zoë", "Email 2", "no sense", "Pinned note", "kept")
	p.run(`document.querySelector("form.form").noValidate = true`) // as browsers without validation do
	p.expects(422)
	p.click("Add contact")
	if at := p.focused(); !strings.Contains(at, "2 things need your attention") {
		t.Errorf("the summary is not read first, but %s", at)
	}
	p.holds("First name", "Zoë", "Email", "no sense", "Pinned note", "kept")
	p.click("Email 1 must be a valid email address.")
	p.focusIs("field “Email”")
}

func TestLeavingAFormWithChangesAsksFirst(t *testing.T) {
	t.Parallel()
	p := start(t).owner(ana)
	p.in(".side").click("Contacts")
	p.click("Ana Diaz")
	contact := p.path()
	cancel := func() { p.in("main").click("Cancel") }
	p.click("Edit contact")
	p.click("Add email")
	cancel() // nothing was changed: an empty row does not count
	p.click("Edit contact")
	p.fill("Last name", "Ruiz", "Last name", "Diaz")
	cancel() // an unchanged value does not count either
	p.click("Edit contact")

	p.fill("Last name", "Ruiz")
	p.asked("stay", cancel)
	p.asked("stay", func() { p.in(".side").click("Campaigns") })
	p.asked("stay", func() { p.in(".side").click("Sign out") }) // another form
	p.holds("Last name", "Ruiz")
	p.click("Save changes")
	p.sees("Changes saved.", "Ana Ruiz")
	for _, change := range []func(){
		func() { p.fill("Email type", "Personal") },
		func() { p.click("button[aria-label='Remove Email 2']") },
		func() { p.click("Add phone"); p.fill("Phone 3", "212-555-0100") },
	} {
		p.click("Edit contact")
		change()
		p.asked("leave", cancel)
		same(p, "the page", p.path(), contact)
	}
	p.sees("a@example.org", "b@example.org")
}

func TestRowsOfAFormAreCountedAnew(t *testing.T) {
	t.Parallel()
	p := start(t).owner()
	p.visit(p.path() + "/contacts/new")
	p.click(".more-fields > summary")
	p.fill("First name", "Zoë", "Last name", "Okafor", "Email", "first@example.org", "Email 2", "second@example.org")
	p.click("Add email")
	p.fill("Email 3", "third@example.org", "Email 3 type", "Work")
	p.click("button[aria-label='Remove Email 2']")
	p.click("Add address")
	p.in("#address-rows fieldset:last-child").fill("City", "Boston")
	p.click("button[aria-label='Remove Address']")
	same(p, "the only address", p.text("#address-rows legend"), "Address")
	p.holds("Email", "first@example.org", "Email 2", "third@example.org", "Email 2 type", "work", "City", "Boston")
	p.in("#email-rows").doesNotSee("Email 3")
	p.click("Add contact")
	p.sees("Zoë Okafor was added.", "first@example.org", "third@example.org", "Boston")
	p.doesNotSee("second@example.org")
}

// Each press is one gift or contact, and a form that the browser restores can be sent again.
func TestADoubleClickDoesAThingOnce(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	key := s.key(p.organizationID())
	count := func(path, field string, want int) {
		t.Helper()
		status, body := s.call(key, "GET", path, "")
		same(p, path, fmt.Sprint(status, " ", strings.Count(body, field)), fmt.Sprint("200 ", want))
	}
	p.visit(p.path() + "/contacts/new")
	p.fill("First name", "Zoë", "Last name", "Okafor")
	p.clickTwice("Add contact")
	p.sees("Zoë Okafor was added.")
	count("/v1/contacts", `"first_name":`, 1)
	p.back()
	p.fill("First name", "Bo", "Last name", "Ek")
	p.click("Add contact")
	p.sees("Bo Ek was added.")
	count("/v1/contacts", `"first_name":`, 2)

	p.in(".drawer").click("Record gift")
	p.in(giftForm).fill("Amount", "50")
	p.in(giftForm).clickTwice("Record gift")
	p.sees("Recorded $50 from")
	count("/v1/transactions", `"transacted_at":`, 1)
	p.in(".notice").click("View gift")
	p.click("More actions")
	p.fill("Amount", "20")
	p.click("Refund gift")
	p.clickTwice("Record refund")
	p.sees("$20 was refunded.", "$30")
	p.doesNotSee("$10")
}

// The field of tags suggests while a person types, for each tag anew. Without scripts it only adds them.
func TestTagsAreSuggested(t *testing.T) {
	t.Parallel()
	p := start(t).owner(bo, ana)
	p.in(".side").click("Contacts")
	p.click("Ana Diaz")
	p.click("Add a tag") // its label leads into the field
	suggests := func(want string) {
		t.Helper()
		p.must("looking at the suggestions", p.try(func() error {
			got, err := evaluate[string](p, `[...document.querySelectorAll("#tag-options option")]
				.map((o) => o.value).join("; ")`)
			if err == nil && got != want {
				err = fmt.Errorf("suggested are %q", got)
			}
			return err
		}))
	}
	p.types("VOL")
	suggests("Vólleyball; volunteer")
	p.fill("Add a tag", "volunteer, bo")
	suggests("volunteer, board")
	p.fill("Add a tag", "volunteer, board")
	p.press("Enter")
	p.sees("“volunteer” and “board” were added.")
	p.click("button[aria-label='Remove tag board']")
	p.sees("“board” was removed.")
	p.withoutScripts()
	p.reload()
	p.fill("Add a tag", "plain")
	p.in("main").click("Add tag")
	p.sees("“plain” was added.")
}

// The list is searched while a person types, within its filters, and its pages are those of the search. Without scripts
// there is a button, and filters need no pointer.
func TestContactsAreSearchedWhileTyping(t *testing.T) {
	t.Parallel()
	contacts := []string{
		`{"first_name":"Maria","last_name":"Smith","emails":[{"value":"boss@example.org"}],"tags":["VIP"]}`, bo}
	for i := range 60 {
		contacts = append(contacts, fmt.Sprintf(`{"first_name":"Number","last_name":"N%03d","tags":["T%d"]}`, i, i/10))
	}
	p := start(t).owner(contacts...)
	p.in(".side").click("Contacts")
	list := p.path()
	const box = "#find input[type=search]"
	for typed, found := range map[string]string{
		"smith mar": "Maria Smith", "BOSS@exa": "Maria Smith", "tag:board": "Bo Ek",
	} {
		p.fill(box, "")
		p.sees("Number N059")
		p.click(box)
		p.types(typed)
		p.doesNotSee("Number N059")
		p.sees(found)
	}
	p.fill(box, "volun maria")
	p.sees("No contacts found")
	same(p, "what a screen reader hears", p.text("#found"), "No contacts found.")
	p.fill(box, "number")
	p.sees("60 of 62 contacts", "Number N059", "Number N010")
	p.doesNotSee("N009")
	p.click("Next")
	p.sees("60 of 62 contacts", "Number N009")
	p.doesNotSee("N010")
	p.click("Previous")
	p.sees("Number N059")

	p.visit(list + "?tag=T3")
	p.sees("10 of 62 contacts")
	p.fill(box, "N031")
	p.sees("1 of 62 contacts", "Tagged T3")
	same(p, "the address", p.path(), list+"?q=N031&tag=T3")
	p.reload()
	p.sees("Number N031")
	p.doesNotSee("Number N032")

	p.withoutScripts()
	p.visit(list)
	p.fill(box, "maria")
	p.click("Search")
	p.sees("Maria Smith")
	p.visit(list)
	p.enters("summary “Filters”")
	p.tabTo("field “All of these tags”")
	p.types("board")
	p.press("Enter")
	p.sees("1 of 62 contacts", "Tagged board", "Bo Ek")
}

// Rows are selected with the keyboard, also over all pages, and what is done to them is undone; what was selected is
// downloaded. Without scripts, the boxes do the same.
func TestContactsAreSelectedTaggedAndUndone(t *testing.T) {
	t.Parallel()
	var people []string
	for i := range 55 {
		people = append(people, fmt.Sprintf(`{"first_name":"Number","last_name":"N%02d"}`, i))
	}
	p := start(t).owner(people...)
	p.in(".side").click("Contacts")
	p.doesNotSee("Add tags") // before something is selected
	p.tabTo("checkbox “Select all contacts on this page”")
	p.press("Space")
	p.sees("50 selected")
	p.tabTo("checkbox “Select Number N54”")
	p.press("Space")
	p.sees("49 selected")
	p.press("Space")
	p.tick("Select all 55 contacts")
	p.sees("All selected")
	p.click("Add tags")
	p.fill("Tags", "board, spring gala")
	p.click("Add tags")
	p.sees("Added “board”, “spring gala” to 55 contacts.")
	p.click("Undo")
	p.sees("Undone. 55 contacts restored to how they were.")

	p.width(390)
	p.fill("Search contacts", "number n0")
	p.doesNotSee("Number N50")
	p.tick("Select Number N07")
	p.tick("Select Number N08")
	p.sees("2 selected")
	p.in("#bulk").click("Export")
	p.fill("File format", "JSON Lines (for programs)")
	name, text := p.downloads("Download file")
	if !strings.HasSuffix(name, ".jsonl") || strings.Count(text, "\n") != 2 || !strings.Contains(text, "N07") ||
		!strings.Contains(text, "N08") {
		t.Errorf("of two contacts, %s has %s", name, text)
	}
	p.width(1280)
	p.withoutScripts()
	p.in(".side").click("Contacts")
	p.tick("Select Number N51")
	p.in("#bulk").click("Archive")
	p.sees("Archived 1 contact.")
}

// The question whether two are the same needs neither a mouse nor scripts, and keeps what was typed.
func TestTheQuestionIsAnsweredWithTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	p := start(t).owner(marta)
	home := p.path()
	add := func(last string) {
		t.Helper()
		p.visit(home + "/contacts/new")
		for _, step := range [][2]string{
			{"First name required", "Ana"}, {"Last name required", last}, {"Email", "marta@example.org"},
		} {
			p.tabTo("field “" + step[0] + "”")
			p.types(step[1])
		}
		p.expects(409)
		p.press("Enter")
		p.sees("Is this Marta Lopez?")
	}
	add("Diaz")
	p.asked("stay", func() { p.in(".side").click("Campaigns") }) // what the person typed would be lost
	p.enters("button “Back to form”")
	p.withoutScripts()
	p.tabTo("field “Last name required”")
	p.types("-Ruiz") // after the existing ones
	p.expects(409)
	p.press("Enter")
	p.sees("Is this Marta Lopez?")
	p.enters("button “Keep both”")
	p.sees("was added.", "marta@example.org")
	add("Lopez")
	p.enters("button “Add to Marta Lopez”")
	p.sees("Marta Lopez already had everything that you typed. Nothing changed.")
}

const imported = "Vorname,Last name,Email,Phone,Tags,Shoe size\n" +
	"Zoë,Okafor,zoe@example.org,,gala,38\n" +
	"Cleo,Stone,cleo@example.org,(617) 555-0103,new,\n" +
	"Cleo,Stone,,+1 617-555-0103,later,\n" +
	"Nemo,,,,,\n" +
	"Dan,Wu,dan@example.org,,,\n"

// A file is chosen, its columns are matched, what it would do is shown, done and undone. A contact that was changed
// meanwhile stays. All but the choice works without scripts.
func TestAFileIsImportedAndUndone(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	organization := p.organizationID()
	p.in(".side").click("Contacts")
	p.click("Import contacts")
	p.expects(422)
	p.chooses("letter.pdf", "%PDF-1.7\n")
	p.click("Upload file")
	p.sees("One thing needs your attention.")
	p.chooses("people.csv", imported)
	p.click("Upload file")
	p.sees("people.csv", "Match your columns to Donorbook fields.", "zoe@example.org", "(617) 555-0103")
	p.holds("Vorname", "first_name")
	p.fill("Tags", "Do not import", "Tags", "Tags")
	p.click("Preview import")
	p.sees("Nothing was changed yet.", "Row 3 +1 617-555-0103 Merged.", "Nemo – The Last name field is required.")
	p.click("Import 5 rows")
	p.sees("Done", "New contacts", "Rejected rows", "Undo import") // it looks again by itself
	p.withoutScripts()
	p.reload()
	s.addContacts(organization,
		`{"first_name":"Dan","last_name":"Wu","emails":[{"value":"dan@example.org"}],"tags":["later"]}`)
	p.click("Undo import")
	p.click("Undo the whole import")
	p.refreshUntil("1 contact was changed since then and was left as is. Changed since Dan Wu")
	p.in(".side").click("Contacts")
	p.sees("Dan Wu")
	p.doesNotSee("Cleo Stone")
}

// Two who are the same are compared side by side, also on a phone; what is chosen counts, and survives a look at the
// preview. With the keyboard alone and without scripts it is the same.
func TestContactsAreMergedSideBySide(t *testing.T) {
	t.Parallel()
	s := start(t)
	contacts := []string{
		`{"first_name":"Thomas","last_name":"Abernathy","dob":"3/4/1955","title":"Chair",
		"emails":[{"value":"tom@example.org"}],"phones":[{"value":"212-555-0101"}],
		"addresses":[{"address_1":"12 Oak Street","city":"Salem","state":"OR","zipcode":"97301"}]}`,
		`{"first_name":"Tom","last_name":"ABERNATHY","dob":"3/4/1955","title":"Treasurer","company":"Abernathy Boats",
		"emails":[{"value":"tom@example.org"},{"value":"boats@example.org"}],"phones":[{"value":"212-555-0101"}],
		"addresses":[{"address_1":"12 Oak St.","city":"Salem","state":"OR","zipcode":"97301"}],"force_create":true}`,
		ana,
	}
	for _, name := range strings.Fields("Vasquez Whitfield Xanthos Yamamoto Zeller Quintero Ek") {
		// What all contacts share would tell nothing.
		contacts = append(contacts, fmt.Sprintf(
			`{"first_name":%q,"last_name":%[1]q,"emails":[{"value":"%[1]s@example.org"}]}`, name))
	}
	p := s.owner(contacts...)
	home := p.path()
	s.donorbook("contact", "duplicates", "--account", p.organizationID())
	p.visit(home + "/duplicates")
	p.width(1024)
	p.in(".groups").click("Compare contacts")
	p.sees("Merge two contacts", "Record to keep", "Abernathy Boats")
	p.fits(390, 1024)
	p.click("label:has([name=title]:not(:checked))")
	p.click("Preview merge")
	p.sees("Merge Tom ABERNATHY into Thomas Abernathy?", "boats@example.org", "Overwritten values", "Chair")
	p.click("Change choices")
	p.click("Preview merge")
	p.click("Merge contacts")
	p.sees("Merged Tom ABERNATHY into Thomas Abernathy.", "Treasurer", "boats@example.org")

	p.withoutScripts()
	p.visit(home + "/contacts")
	p.tabTo("checkbox “Select Thomas Abernathy”")
	p.press("Space")
	p.tabTo("checkbox “Select Ana Diaz”")
	p.press("Space")
	p.enters("button “Merge two contacts”")
	p.sees("Record to keep")
	p.press("Tab")
	p.enters("button “Preview merge”")
	p.sees("Merge Ana Diaz into Thomas Abernathy?")
	p.enters("button “Merge contacts”")
	p.sees("Merged Ana Diaz into Thomas Abernathy.")
	p.enters("button “Undo”")
	p.sees("The merge was undone.")
}

// A note that is typed while the session ends is there again after signing in, with the keyboard and without scripts.
func TestANoteSurvivesTheEndOfTheSession(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner(ana)
	home := p.path()
	for _, scripts := range []bool{true, false} {
		if !scripts {
			p.withoutScripts()
		}
		p.visit(home + "/contacts")
		p.click("Ana Diaz")
		p.fill("Add a note", "She calls back on Monday.")
		password := s.donorbook("user", "reset-password", ownerEmail) // which ends all sessions
		p.expects(401)
		p.click("Add note")
		p.sees("You were signed out, so nothing was saved. Sign in to get back to the form, with what you typed.")
		p.fits(320, 390)
		p.fill("Email", ownerEmail, "Password", password)
		p.expects(422)
		p.press("Enter")
		p.in("h1").sees("Ana Diaz")
		p.sees("You were signed out before this was saved.")
		p.holds("Add a note", "She calls back on Monday.")
		if focus := p.focused(); scripts && !strings.HasPrefix(focus, "alert") {
			t.Errorf("the page begins at %s", focus)
		}
		p.click("Add note")
		p.sees("Note added.")
	}
}
