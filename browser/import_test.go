package browser_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// chooses chooses a file in a form.
func (p *page) chooses(name, text string) {
	p.t.Helper()
	p.run(fmt.Sprintf(`(() => {
		const files = new DataTransfer();
		files.items.add(new File([%q], %q, {type: "text/csv"}));
		const input = document.querySelector("input[type=file]");
		input.files = files.files;
		input.dispatchEvent(new Event("change", {bubbles: true}));
	})()`, text, name))
}

const imported = "Vorname,Last name,Email,Phone,Tags,Shoe size\n" +
	"Zoë,Okafor,zoe@example.org,,gala,38\n" +
	"Cleo,Stone,cleo@example.org,(617) 555-0103,new,\n" +
	"Cleo,Stone,,+1 617-555-0103,later,\n" +
	"Nemo,,,,,\n" +
	"Dan,Wu,dan@example.org,,,\n"

func TestAFileIsImportedAndUndone(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	s.addContacts(p.organizationID(), `{"first_name":"Zoë","last_name":"Okafor","emails":[{"value":"zoe@example.org"}]}`)
	p.in(".side").click("Contacts")
	p.click("Import contacts")
	p.sees("What is in the file?", "No imports yet")
	p.audit()
	p.expects(http.StatusUnprocessableEntity)
	p.chooses("letter.pdf", "%PDF-1.7\n")
	p.click("Upload file")
	p.sees("One thing needs your attention.")
	p.audit()

	p.chooses("people.csv", imported)
	p.click("Upload file")
	p.sees("people.csv", "Match your columns to Donorbook fields.", "zoe@example.org", "(617) 555-0103")
	p.audit()
	if got := p.value("Vorname"); got != "first_name" {
		t.Errorf("the column Vorname is taken for %q", got)
	}
	p.fill("Tags", "Do not import")
	p.fill("Tags", "Tags")
	p.click("Preview import")
	p.sees("Nothing was changed yet.", "Row 3 +1 617-555-0103 Merged.", "Nemo – The Last name field is required.")
	p.audit()
	p.click("Import 5 rows")
	p.sees("Done", "New contacts", "Rejected rows", "The Last name field is required.", "Undo import")
	p.audit()
	p.in(".side").click("Contacts")
	p.sees("Cleo Stone", "Dan Wu")

	p.click("Import contacts")
	p.sees("people.csv", "Done")
	p.audit()
	p.click("Import of people.csv")
	p.click("Undo import") // whose popup must not be cut off on a phone
	p.audit()
	p.click("Undo the whole import")
	p.sees("Import undone")
	p.audit()
	p.in(".side").click("Contacts")
	p.sees("Zoë Okafor")
	p.doesNotSee("Cleo Stone")
}

// A contact that was changed after the import stays when the import is undone, and is named. All of it works without scripts.
func TestAnImportIsUndoneWithoutScripts(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	organization := p.organizationID()
	p.in(".side").click("Contacts")
	p.click("Import contacts")
	p.chooses("people.csv", imported)
	p.click("Upload file")
	p.withoutScripts()
	p.reload()
	p.click("Import contacts")
	p.refreshUntil("Rejected rows")
	s.addContacts(organization, `{"first_name":"Dan","last_name":"Wu","emails":[{"value":"dan@example.org"}],"tags":["later"]}`)
	p.click("Undo import")
	p.click("Undo the whole import")
	p.refreshUntil("1 contact was changed since then and was left as is. Changed since Dan Wu")
}

const importedGifts = "Donation Date,Donation Amount,Payment Method,First name,Surname,Email,Transaction ID,Remark\n" +
	"1/31/2026,\"$1,050.00\",Credit Card,Zoë,Okafor,zoe@example.org,t-1,Thank you\n" +
	"2/1/2026,25,Check,Cleo,Stone,cleo@example.org,t-2,\n" +
	"2/2/2026,(5.00),Cash,Nora,Hale,nora@example.org,t-3,\n" +
	",7,Cash,,,nemo@example.org,t-4,\n" +
	"2/4/2026,10,Cash,Zoë,Okafor,zoe@example.org,t-5,\n"

func TestGiftsAreImportedAndUndone(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	s.addContacts(p.organizationID(), `{"first_name":"Zoë","last_name":"Okafor","emails":[{"value":"zoe@example.org"}]}`)
	p.in(".side").click("Gifts")
	p.audit()
	p.click("Import gifts")
	p.sees("What is in the file?", "No imports yet")
	if got := p.value("What is in the file?"); got != "gifts" {
		t.Errorf("the file is taken for one of %q", got)
	}
	p.audit()
	p.expects(http.StatusUnprocessableEntity)
	p.chooses("letter.pdf", "%PDF-1.7\n")
	p.click("Upload file")
	p.sees("One thing needs your attention.")
	if got := p.value("What is in the file?"); got != "gifts" {
		t.Errorf("after a bad file, the file is taken for one of %q", got)
	}
	p.audit()

	p.chooses("gifts.csv", importedGifts)
	p.click("Upload file")
	p.sees("gifts.csv", "Match your columns to Donorbook fields.", "zoe@example.org", "$1,050.00")
	p.doesNotSee("If a contact with the same email or phone exists")
	p.audit()
	if got := p.value("Donation Amount"); got != "amount" {
		t.Errorf("the column Donation Amount is taken for %q", got)
	}
	p.fill("Remark", "Note")
	p.click("Preview import")
	p.sees("Nothing was changed yet.", "refunds a gift that is not known: it is recorded as a gift that was given back in full, so that nothing counts, and waits for its gift", "– The Donation Date field is required.")
	p.audit()
	p.click("Import 5 rows")
	p.sees("Done", "New gifts", "Rejected rows", "The Donation Date field is required", "Undo import")
	p.audit()
	p.click("View new gifts")
	p.sees("$1,085 from 3 gifts", "Cleo Stone", "Nora Hale")
	p.click("Export") // whose popup must not be cut off on a phone
	p.audit()

	p.click("Import gifts")
	p.sees("gifts.csv", "Done")
	p.audit()
	p.click("Import of gifts from gifts.csv")
	p.click("Undo import")
	p.click("Undo the whole import")
	p.sees("Import undone: 4 gifts were canceled and no longer count")
	p.audit()
	p.in(".side").click("Contacts")
	p.sees("Zoë Okafor")
	p.doesNotSee("Cleo Stone")
}

// refreshUntil reloads the page until it says something.
func (p *page) refreshUntil(words string) {
	p.t.Helper()
	for range 50 {
		if strings.Contains(strings.Join(strings.Fields(p.text("main")), " "), words) {
			return
		}
		p.reload()
	}
	p.sees(words)
}
