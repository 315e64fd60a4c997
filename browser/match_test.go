package browser_test

import (
	"net/http"
	"testing"
)

// typeAmelia fills in a new contact with the phone number of an existing one.
func (p *page) typeAmelia(last, email string) {
	p.t.Helper()
	p.in(".side").click("Contacts")
	p.click("Add contact")
	p.fill("First name", "Amelia")
	p.fill("Last name", last)
	p.fill("Phone", "+1 (212) 555 0100")
	p.fill("Email", email)
}

func TestAKnownPhoneIsAskedAboutAndBothAnswersWork(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	s.addContacts(p.organizationID(), `{"first_name":"Marta","last_name":"Lopez","company":"Harbor Bakery","phones":[{"value":"212-555-0100"}]}`)
	p.typeAmelia("Okafor", "amelia@example.org")
	p.expects(http.StatusConflict)
	p.click("Add contact")
	p.sees("Is this Marta Lopez?", "Nothing was saved yet.", "already has the phone +1 (212) 555 0100", "Harbor Bakery", "212-555-0100", "Email added")
	p.audit()
	p.stays(func() { p.in(".side").click("Campaigns") }) // what the person typed would be lost

	p.click("Back to form")
	p.audit()
	if p.value("First name") != "Amelia" || p.value("Phone") != "+1 (212) 555 0100" || p.value("Email") != "amelia@example.org" {
		t.Error("what was typed is lost")
	}
	p.fill("Company", "Okafor & Sons")
	p.expects(http.StatusConflict)
	p.click("Add contact")
	p.sees("Harbor Bakery", "Okafor & Sons")
	p.click("Keep both")
	p.sees("Amelia Okafor was added.", "Okafor & Sons")
	p.in(".side").click("Contacts")
	p.sees("Marta Lopez", "Amelia Okafor")

	p.typeAmelia("Okafor", "second@example.org")
	p.expects(http.StatusConflict)
	p.click("Add contact")
	p.sees("Is this Amelia Okafor?")
	p.click("Add to Amelia Okafor")
	p.sees("What you typed was added to Amelia Okafor. This changed:", "Email added", "second@example.org")
	p.audit()
}

// The question works without a mouse and without scripts.
func TestTheQuestionIsAnsweredWithTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	s.addContacts(p.organizationID(), `{"first_name":"Marta","last_name":"Lopez","emails":[{"value":"marta@example.org"}]}`)
	home := p.path()
	add := func(last string) {
		p.visit(home + "/contacts/new")
		for _, step := range []struct{ field, value string }{{"First name required", "Ana"}, {"Last name required", last}, {"Email", "marta@example.org"}} {
			p.tabTo("field “" + step.field + "”")
			p.types(step.value)
		}
		p.expects(http.StatusConflict)
		p.press("Enter")
		p.sees("Is this Marta Lopez?")
	}
	add("Diaz")
	p.tabTo("button “Back to form”")
	p.press("Enter")
	p.withoutScripts()
	p.tabTo("field “Last name required”")
	p.types("-Ruiz") // after the existing ones
	p.expects(http.StatusConflict)
	p.press("Enter")
	p.sees("Is this Marta Lopez?")
	p.tabTo("button “Keep both”")
	p.press("Enter")
	p.sees("was added.", "marta@example.org")
	add("Lopez")
	p.tabTo("button “Add to Marta Lopez”")
	p.press("Space")
	p.sees("Marta Lopez already had everything that you typed. Nothing changed.")
}

func TestAnEditSaysWhoElseHasTheEmail(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	s.addContacts(p.organizationID(), `{"first_name":"Marta","last_name":"Lopez","emails":[{"value":"marta@example.org"}]}`, `{"first_name":"Ana","last_name":"Diaz"}`)
	p.in(".side").click("Contacts")
	p.click("Ana Diaz")
	p.click("Edit contact")
	p.fill("Email", "MARTA@example.org")
	p.expects(http.StatusConflict)
	p.click("Save changes")
	p.sees("Another contact has this email or phone", "Marta Lopez already has the email MARTA@example.org")
	p.audit()
	p.click("Back to form")
	if got := p.value("Email"); got != "MARTA@example.org" {
		t.Errorf("the email is %q", got)
	}
	p.expects(http.StatusConflict)
	p.click("Save changes")
	p.click("Save anyway")
	p.sees("Changes saved.", "Ana Diaz", "MARTA@example.org")
}
