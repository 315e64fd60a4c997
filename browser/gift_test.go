package browser_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// addGiver makes an organization with a campaign and a contact, and opens the contact's page.
func addGiver(s *server) *page {
	s.t.Helper()
	p := s.owner()
	s.addContacts(p.organizationID(), `{"first_name":"Zoë","last_name":"Okafor","emails":[{"value":"zoe@example.org"}]}`)
	p.in(".side").click("Campaigns")
	p.click("Create your first campaign")
	p.fill("Title", "Lighthouse Gala")
	p.click("Create campaign")
	p.in(".side").click("Contacts")
	p.click("Zoë Okafor")
	return p
}

const giftForm = "form[aria-labelledby=record-gift]"

// gives records a gift on the contact's page.
func (p *page) gives(amount, day, method, campaign string) {
	p.t.Helper()
	p.in(".drawer").click("Record gift")
	form := p.in(giftForm)
	form.fill("Amount", amount)
	form.fill("Date", day)
	form.fill("Method", method)
	form.fill("Campaign", campaign)
	form.click("Record gift")
}

func TestGiftIsRecordedAndFound(t *testing.T) {
	t.Parallel()
	p := addGiver(start(t))
	contact, lastYear := p.path(), strconv.Itoa(time.Now().UTC().Year()-1)
	p.sees("No gifts yet.", "Record gift")
	p.audit()
	p.gives("$1,500", time.Now().UTC().Format(time.DateOnly), "Cash", "Lighthouse Gala")
	p.sees("Recorded $1,500 from", "1 gift", "$1,500 more than last year")
	p.audit()
	p.in(".drawer").click("Record gift")
	p.audit()
	p.fits()
	form := p.in(giftForm)
	if got := form.value("Method"); got != "cash" {
		t.Errorf("the form offers %s, not the method of the last gift", got)
	}
	form.fill("Amount", "20.50")
	form.fill("Date", lastYear+"-03-09")
	form.fill("Method", "Check")
	p.slowly(time.Second)
	form.clickTwice("Record gift") // it is one gift
	p.slowly(0)
	p.sees("Recorded $20.50 from")
	p.gives("80", lastYear+"-12-31", "Bank transfer", "Lighthouse Gala")
	p.sees("$1,600.50", "3 gifts", "Mar 9, "+lastYear)
	p.in(".side").click("Gifts")
	p.sees("$1,600.50 from 3 gifts", "Zoë Okafor")
	p.audit()
	p.click("Last year")
	p.sees("$100.50 from 2 gifts")
	p.click("All time")
	p.click("Filters")
	p.in(".filters").fill("Campaign", "Lighthouse Gala")
	p.fill("Smallest amount", "100")
	p.click("Show gifts")
	p.sees("$1,500 from 1 gift")
	p.doesNotSee("Mar 9, " + lastYear)
	if got := p.path(); !strings.Contains(got, "min=100") || strings.Contains(got, "method=") {
		t.Errorf("the filters are at %s", got)
	}
	p.audit()
	p.expects(http.StatusUnprocessableEntity)
	p.click("Filters")
	p.fill("Smallest amount", "a lot")
	p.click("Show gifts")
	p.sees("Please fix one filter.", "Smallest amount must be more than 0")
	p.audit()
	p.click("Clear filters")
	p.sees("$1,600.50 from 3 gifts")
	p.width(390)
	p.in("tbody tr:last-child").click(".amount a") // the whole card is the link
	p.sees("$20.50 from Zoë Okafor")
	p.visit(contact)
	p.sees("3 gifts")
}

func TestGiftOfAWrongAmountIsToldBesideTheField(t *testing.T) {
	t.Parallel()
	p := addGiver(start(t))
	p.in(".drawer").click("Record gift")
	form := p.in(giftForm)
	form.click("More")
	form.fill("Note", "In an envelope")
	form.fill("Amount", "fifty")
	p.expects(http.StatusUnprocessableEntity)
	form.click("Record gift")
	p.sees("One thing needs your attention. Nothing was saved.", "Amount must be more than 0 and less than 1 billion, such as 50 or 1,500.50.")
	if form.value("Amount") != "fifty" || form.value("Note") != "In an envelope" {
		t.Error("what was typed is gone")
	}
	if !strings.Contains(p.focused(), "One thing needs your attention") {
		t.Errorf("the complaint is not read first, but %s", p.focused())
	}
	p.audit()
	form.fill("Amount", "50")
	form.click("Record gift")
	p.sees("Recorded $50 from")
}

func TestGiftIsEditedAndRefunded(t *testing.T) {
	t.Parallel()
	p := addGiver(start(t))
	p.gives("50", "2025-03-09", "Check", "No campaign")
	p.in(".notice").click("View gift")
	p.sees("$50 from Zoë Okafor", "recorded this gift.")
	p.audit()
	p.click("Edit gift")
	p.audit()
	p.fill("Campaign", "Lighthouse Gala")
	p.fill("Check number", "1071")
	p.click("Save changes")
	p.sees("Changes saved.", "Set campaign to “Lighthouse Gala”.", "1071")
	p.click("More actions")
	if got := p.value("Amount"); got != "50" {
		t.Errorf("a refund of %s is filled in", got)
	}
	p.fill("Amount", "20")
	p.click("Refund gift")
	p.sees("Refund $20 to Zoë Okafor?", "Nothing was recorded yet.")
	p.audit()
	p.slowly(time.Second)
	p.clickTwice("Record refund")
	p.slowly(0)
	p.sees("$20 was refunded.", "$30")
	p.audit()
	p.click("More actions")
	p.fill("Amount", "31")
	p.expects(http.StatusUnprocessableEntity)
	p.click("Refund gift")
	p.sees("Amount must not be more than what is left of the gift: 30.")
	p.fill("Amount", "30")
	p.click("Refund gift")
	p.click("Don’t refund")
	p.click("More actions")
	p.sees("You can refund up to $30.")
	p.click("Refund gift")
	p.click("Record refund")
	p.sees("$30 was refunded.", "Refunded")
	p.doesNotSee("Refund gift")
	p.in("tbody tr:nth-child(2)").click("Undo refund")
	p.sees("Undo the refund of $20 to Zoë Okafor?")
	p.audit()
	p.click("Undo refund")
	p.sees("$20 refund undone.", "Refund undone", "$30 refunded")
	p.audit()
	p.click("Undo refund")
	p.click("Undo refund")
	p.sees("$30 refund undone.")
	p.click("Edit gift")
	p.fill("Amount", "500")
	p.fill("Method", "Cash")
	p.audit()
	p.click("Save changes")
	p.sees("$500 from Zoë Okafor", "Changed amount from $50 to $500.", "Changed method from Check to Cash.", "Correction")
	p.audit()
}

func TestGiftThatWasPromisedIsReceived(t *testing.T) {
	t.Parallel()
	p := addGiver(start(t))
	p.in(".drawer").click("Record gift")
	form := p.in(giftForm)
	form.fill("Amount", "50")
	form.fill("Date", time.Now().UTC().AddDate(0, 3, 0).Format(time.DateOnly))
	form.click("More")
	form.fill("Status", "Pledged")
	form.click("Record gift")
	p.in(".notice").click("View gift")
	p.sees("Due on", "Pledged")
	p.audit()
	p.click("Mark as received")
	p.sees("$50 from Zoë Okafor was received.")
	p.doesNotSee("Mark as received")
}

func TestGiftIsRecordedWithTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	p := addGiver(start(t))
	p.tabTo("summary “Record gift”")
	p.press("Enter")
	if got := p.focused(); got != "field “Amount required”" {
		t.Errorf("the drawer leads to %s", got)
	}
	p.types("75")
	p.press("Enter")
	p.sees("Recorded $75 from")
	p.tabTo("link “View gift”")
	p.press("Enter")
	p.click("More actions")
	p.tabTo("field “Amount required”")
	p.types("25")
	p.press("Enter")
	p.sees("Refund $25 to Zoë Okafor?")
	if !strings.Contains(p.focused(), "Nothing was recorded yet.") {
		t.Errorf("the question is not read first, but %s", p.focused())
	}
	p.press("Tab")
	if got := p.focused(); got != "button “Record refund”" {
		t.Errorf("after the question comes %s", got)
	}
	p.press("Enter")
	p.sees("$25 was refunded.", "$50")
}

func TestGiftsNeedNoScripts(t *testing.T) {
	t.Parallel()
	p := addGiver(start(t))
	contact := p.path()
	p.withoutScripts()
	p.visit(contact)
	p.gives("50", "2025-03-09", "Check", "No campaign")
	p.sees("Recorded $50 from")
	p.in(".notice").click("View gift")
	p.click("More actions")
	p.click("Refund gift")
	p.sees("Refund $50 to Zoë Okafor?")
	p.click("Record refund")
	p.sees("$50 was refunded.")
	p.visit(contact[:strings.Index(contact, "/contacts/")] + "/gifts")
	p.sees("1 gift excluded: failed, refunded or pledged")
	p.click("Filters")
	p.in(".filters").fill("Method", "Cash")
	p.click("Show gifts")
	p.sees("No gifts found")
}

func TestGiftsOfAPlan(t *testing.T) {
	t.Parallel()
	p := addGiver(start(t))
	p.click("Set up recurring gift")
	p.audit()
	p.fill("Amount", "20")
	p.fill("Start", time.Now().UTC().AddDate(0, 0, -20).Format(time.DateOnly))
	p.in("main").click("Set up recurring gift")
	p.sees("Recurring gift set up: $20 monthly.", "20 days overdue")
	p.audit()
	p.in(".side").click("Gifts")
	p.click("Recurring gifts")
	p.sees("1 recurring gift is overdue.")
	p.audit()
	p.in("#overdue-list ~ tbody").click("Record gift")
	if got := p.focused(); got != "field “Amount required”" {
		t.Errorf("the focus is at %s", got)
	}
	p.press("Enter")
	p.sees("Recorded $20 from", "Recurring")
	p.doesNotSee("overdue")
	p.click("$20 monthly")
	p.sees("Latest gifts", "Active")
	p.audit()
	p.click("End gifts")
	p.sees("was ended.")
	p.click("Undo")
	p.sees("was resumed.")
}
