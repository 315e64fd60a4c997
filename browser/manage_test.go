package browser_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// The giver of a monthly gift changes, pauses, resumes and ends it by links that come by mail, each for one change. Links that were used or are wrong
// only offer to send a fresh one; that of the thank-you ends the gift, too. It takes no script.
func TestAGiverManagesAMonthlyGiftByMail(t *testing.T) {
	t.Parallel()
	s := start(t, "--demo")
	s.prints(`(Sign in at .*)`)
	mails := s.open()
	mailed := func(words string) string {
		t.Helper()
		mails.visit("/console/mails")
		mails.refreshUntil(words)
		return mails.told(fmt.Sprintf(`[...document.querySelectorAll("a")].find(a => a.textContent.trim() === %q).getAttribute("href")`, words))
	}

	p := s.open()
	p.width(390)
	p.visit("/light-the-harbor/donate?amount=25&frequency=monthly")
	p.fill("First name", "Mona")
	p.fill("Last name", "Monthly")
	p.fill("Email", "mona@example.org")
	p.click("Give $25.00 every month")
	p.click("Pay $25.00 by test card")
	p.sees("Thank you!", "$25.00 every month")
	old := mailed("Change or end my gift")

	// The link of the thank-you names no one, and changes nothing but that the gift ends.
	p.visit(old)
	p.sees("Your monthly gift", "$25.00 every month", "End this monthly gift", "a link that works for 15 minutes")
	p.doesNotSee("Mona", "New amount")
	p.audit()
	p.picture("manage-old")
	p.click("Send me the link")
	p.sees("a link is on its way")
	p.audit()
	link := mailed("See my monthly gift")
	p.visit(link)
	p.sees("$25.00 every month", "Active", "Next payment")
	p.doesNotSee("Mona")
	p.audit()
	p.picture("manage")
	for _, finding := range p.tooWide("390 wide") {
		t.Error(finding)
	}
	p.fill("New amount", "2")
	p.expects(http.StatusUnprocessableEntity)
	p.click("Change the amount")
	p.sees("The smallest gift here is $5.")
	p.fill("New amount", "40")
	p.click("Change the amount")
	p.sees("Your monthly gift was changed.", "$40.00 every month", "This link is used up")
	p.audit()
	p.picture("manage-changed")

	// Once used, a link shows nothing more, and a fresh one takes its place.
	p.visit(link)
	p.sees("This link was used or has expired", "Send me a fresh link")
	p.doesNotSee("$40")
	for _, wrong := range []string{"/give/x", strings.Replace(link, "/give/", "/give/A", 1), link[:len(link)-1] + "A", old + ".guessed"} {
		p.visit(wrong)
		p.sees("Your monthly gift", "to the email address that we have")
		p.doesNotSee("$40", "Mona")
	}

	p = s.open()
	p.width(320)
	p.withoutScripts()
	fresh := func() string {
		t.Helper()
		p.visit(old)
		p.click("Send me the link")
		p.sees("a link is on its way")
		before := link
		for link == before {
			link = mailed("See my monthly gift")
		}
		p.visit(link)
		return link
	}
	fresh()
	p.click("Pause for now")
	p.sees("Your monthly gift is paused. Nothing is charged until you resume it.", "Paused")
	p.doesNotSee("Next payment")
	fresh()
	p.sees("Paused", "Resume giving")
	p.click("Use another card") // the test provider has nothing to ask, and leads straight back
	p.sees("$40.00 every month", "Resume giving")
	for _, finding := range p.findingsAt("320 wide, without scripts") {
		t.Error(finding)
	}
	p.click("Resume giving")
	p.sees("Your monthly gift goes on.", "Active")
	fresh()
	p.click("End this monthly gift")
	p.click("End monthly gift")
	p.sees("Your monthly gift has ended.", "Ended")
	p.picture("manage-ended-320")
	p.visit(old)
	p.sees("Ended")
	p.doesNotSee("Send me the link")

	p = s.open()
	p.signIn("demo@example.org", s.prints(`with the password (\S+)`))
	p.visit(p.path() + "/plans?status=ended")
	p.sees("Mona Monthly", "$40")
}
