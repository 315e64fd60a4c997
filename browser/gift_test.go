package browser_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
)

const giftForm = "form[aria-labelledby=record-gift]"

// gives records a gift on the page of the contact.
func (p *page) gives(amount, day, campaign string) {
	p.t.Helper()
	p.in(".drawer").click("Record gift")
	form := p.in(giftForm)
	form.fill("Amount", amount, "Date", day, "Method", "Check", "Campaign", campaign)
	form.click("Record gift")
}

// A person who has opened the form types an amount and presses Enter, and has recorded the gift; a refund asks once
// more.
func TestGiftsAreRecordedWithTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	p := start(t).owner(carter)
	p.in(".side").click("Contacts")
	p.click("Peter Carter")
	p.enters("summary “Record gift”")
	p.focusIs("field “Amount required”")
	p.types("75")
	p.press("Enter")
	p.sees("Recorded $75 from Peter Carter.", "1 gift")
	p.types("ng") // on the page of a contact, the shortcut is about that contact
	p.focusIs("field “Amount required”")
	p.types("7.50")
	p.press("Enter")
	p.sees("Recorded $7.50 from Peter Carter.", "2 gifts")
	p.in(".drawer").click("Record gift")
	p.press("Escape")
	if at := p.focused(); !strings.Contains(at, "Record gift") {
		t.Errorf("after Escape the focus is at %s", at)
	}
	p.enters("link “View gift”")
	p.click("More actions")
	p.tabTo("field “Amount required”")
	p.types("2.50")
	p.press("Enter")
	p.sees("Refund $2.50 to Peter Carter?")
	if at := p.focused(); !strings.Contains(at, "Nothing was recorded yet.") {
		t.Errorf("the question is not read first, but %s", at)
	}
	p.press("Tab")
	p.focusIs("button “Record refund”")
	p.press("Enter")
	p.sees("$2.50 was refunded.", "$5")
}

// suggested waits for the suggestions of the field that has the focus, and returns them.
func (p *page) suggested() string {
	p.t.Helper()
	p.settle()
	var names []string
	p.must("waiting for suggestions", p.try(func() (err error) {
		names, err = evaluate[[]string](p, `(() => {
			const field = document.activeElement
			if (field.getAttribute("aria-expanded") !== "true") throw new Error("nothing is suggested")
			return [...document.getElementById(field.getAttribute("aria-controls")).children]
				.map((option) => option.querySelector("span").textContent)
		})()`)
		return err
	}))
	return strings.Join(names, "|")
}

// active is the suggestion that a screen reader reads, "" for none.
func (p *page) active() string {
	p.t.Helper()
	return told[string](p, `document.getElementById(document.activeElement.getAttribute("aria-activedescendant"))
		?.querySelector("span").textContent ?? ""`)
}

func TestTheSearchSuggestsWhileAPersonTypes(t *testing.T) {
	t.Parallel()
	p := start(t).owner(carter, `{"first_name":"Priya","last_name":"Carter"}`, ana)
	search := p.in(".side")
	search.fill("Search everything", "cart")
	same(p, "what is suggested", p.suggested(), "Peter Carter|Priya Carter|See all results for “cart”")
	p.audit()
	search.fill("Search everything", "carter") // where the menu is folded, the field loses the focus
	p.suggested()
	p.press("ArrowDown", "ArrowDown")
	same(p, "the second suggestion", p.active(), "Priya Carter")
	p.press("ArrowDown", "ArrowDown")
	same(p, "what comes after the last", p.active(), "")
	p.press("ArrowUp", "ArrowUp", "ArrowUp", "Enter")
	p.sees("Peter Carter", "peter@example.org", "Record gift")

	search.fill("Search everything", "cart")
	p.suggested()
	p.press("Escape")
	same(p, "the field after Escape", told[string](p,
		`document.activeElement.getAttribute("aria-expanded") + " " + document.activeElement.value`), "false cart")
	p.press("Enter") // searches, as without suggestions
	p.sees("Contacts", "Peter Carter", "Priya Carter")
	p.width(390)
	p.fill("Search contacts, campaigns and gifts", "diaz")
	p.suggested()
	p.click("#search-suggestions [role=option]:first-child")
	p.sees("Ana Diaz", "Record gift")
}

// The donor of a gift is suggested too, and without scripts searched for and chosen.
func TestAGiftIsRecordedFromThePageOfGifts(t *testing.T) {
	t.Parallel()
	p := start(t).owner(carter, ana)
	p.types("gg")
	p.click("Record your first gift")
	p.focusIs("field “Donor”")
	p.types("pete")
	p.suggested()
	p.fits(320, 390, 1280)
	p.press("ArrowDown", "Enter")
	p.focusIs("field “Amount required”")
	p.types("15")
	p.press("Enter")
	p.sees("Recorded $15 from Peter Carter.", "Received")
	p.types("ng")
	p.tick("Anonymous")
	p.fill("Amount", "2.50", "Method", "Cash")
	p.click("Record and add another")
	p.sees("Recorded $2.50 from Anonymous Donor.")
	p.holds("Method", "cash")

	p.withoutScripts()
	p.in(".side").click("Gifts")
	p.click("Record gift")
	p.fill("Donor", "Carter", "Amount", "9")
	p.expects(422)
	p.in("main").click("Record gift")
	p.sees("Donor matches 1 contact. Choose one.")
	p.click("Peter Carter peter@example.org")
	p.in("main").click("Record gift")
	p.sees("Recorded $9 from Peter Carter.")
	p.click("More actions")
	p.click("Refund gift")
	p.click("Record refund")
	p.sees("$9 was refunded.")
}

// isPrintedAlone looks at the page as on paper: there are articles alone, as wide as the sheet, and nothing to press.
func (p *page) isPrintedAlone() {
	p.t.Helper()
	p.width(720)
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	shown := told[[]string](p, `[...document.querySelectorAll('body *')]
		.filter((e) => e.checkVisibility() && e.matches('a, button, input, h1, article, nav')).map((e) => e.localName)`)
	if !slices.Equal(slices.Compact(shown), []string{"article"}) {
		p.t.Errorf("on paper there is %q", shown)
	}
	if over := ask[int](p, "overflow"); over > 0 {
		p.t.Errorf("the sheet is %d pixels too narrow", over)
	}
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{})
	p.width(1280)
}

// Someone records a gift, sees the thank-you before it goes, and mails it with its receipt, or prints it. The text is
// the organization's own.
func TestAGiftIsThankedFor(t *testing.T) {
	t.Parallel()
	p := demo(t)
	home := p.path()
	p.visit(home + "/contacts/1/statement")
	p.in("article").sees("Harbor Light Foundation", "Amelia Okafor", "Giving statement for")
	p.isPrintedAlone()
	p.visit(home + "/settings/thanks")
	p.click("Another gift")
	p.fill("Text", "Dear {first_name}, thanks for {amout}.")
	p.expects(422)
	p.click("Save text")
	p.sees("has the unknown field {amout}")
	p.fill("Text", "Dear {first_name}, thanks for {amount}.")
	p.click("Save text")
	p.sees("Text saved.", "Go back to the standard text")

	p.visit(home + "/contacts/1")
	p.in(".drawer").click("Record gift")
	p.in(giftForm).fill("Amount", "42")
	p.in(giftForm).click("Record gift")
	p.in(".notice").click("View gift")
	p.sees("Not thanked yet")
	gift := p.path()
	p.click("Thank donor")
	p.sees("Thank Amelia Okafor", "Dear Amelia, thanks for $42.00.")
	p.click("Send mail")
	p.sees("is on its way", "Thanked by mail", "by Dana Harper")
	p.visit(gift + "/letter")
	p.in("main").sees("Dear Amelia, thanks for $42.00.")
	p.isPrintedAlone()
	p.visit("/console/mails")
	p.refreshUntil("Attached: receipt-")
	p.visit(home + "/receipts")
	p.sees("1 receipt")
}

// A person who forgot a password sets a new one by a link, once, which ends all other sessions.
func TestAForgottenPasswordIsSetAnew(t *testing.T) {
	t.Parallel()
	p := demo(t)
	stranger := p.server.open()
	stranger.visit("/console/signin")
	stranger.click("Forgot your password?")
	stranger.fill("Email", demoEmail)
	stranger.click("Send link")
	stranger.sees("If someone signs in with this email, a mail with a link is on its way.")
	link := p.server.mailed("Set a new password")
	stranger.visit(link)
	stranger.fill("New password", "quite another phrase")
	stranger.click("Set password and sign in")
	stranger.sees("Password changed. You were signed out everywhere else.")
	stranger.expects(410)
	stranger.visit(link)
	stranger.sees("It was already used")
	p.visit("/console/profile")
	p.sees("Sign in")
}

// A visitor gives on the page of a campaign in three clicks: the amount, the button of the form, and that of the
// payment page. Without scripts, on small phones and with the keyboard alone it takes no more. The gift is in the
// console at once.
func TestAVisitorGivesOnThePageOfACampaign(t *testing.T) {
	t.Parallel()
	s := start(t, "--demo")
	p := s.open()
	p.visit("/light-the-harbor")
	p.in(".ask").click("Give $100")
	p.sees("Donate to Light the Harbor", "Nothing is added for the software", "Give $100.00")
	p.fill("First name", "Wilma", "Last name", "Wader", "Email", "wilma@example.org")
	p.tick("cover")
	p.sees("Give $103.30", "$100.00 gift and $3.30 for the fee.")
	p.click("Monthly")
	p.sees("every month, until you stop it", "Give $26.06 every month")
	p.click("One-time")
	p.click("Give $103.30")
	p.sees("This is a test payment", "$103.30")
	p.click("Pay $103.30 by test card")
	p.sees("Thank you!", "$103.30")
	p.doesNotSee("Wilma")

	p = s.open()
	p.width(320)
	p.withoutScripts()
	p.visit("/light-the-harbor/donate?amount=12.50&frequency=monthly")
	p.sees("every month, until you stop it", "Give now", "You’ll see the total before you pay.")
	p.holds("other_amount", "12.5")
	p.fits(320)
	p.fill("Other amount", "1", "First name", "Otto", "Last name", "Ohne", "Email", "otto@example.org")
	p.expects(422)
	p.click("Give now")
	p.sees("One thing needs your attention.", "The smallest gift here is $5.")
	if at := p.focused(); at == "nothing" {
		t.Errorf("after a refusal the focus is on %s", at)
	}
	p.fill("Other amount", "$1,250")
	p.click("Give now")
	p.sees("This is a test payment", "$1,250.00 every month")
	p.click("Pay by test bank debit")
	p.sees("on its way", "$1,250.00 every month")

	p = s.open()
	p.width(390)
	p.visit("/light-the-harbor/donate")
	p.tabTo("radio “One-time”")
	p.press("Tab", "ArrowRight")
	p.sees("Give $100.00")
	p.tabTo("field “First name required”")
	for _, typed := range []string{"Kay", "Board", "kay@example.org"} {
		p.types(typed)
		p.press("Tab")
	}
	p.enters("button “Give $100.00”")
	p.sees("This is a test payment")
	p.enters("button “Pay $100.00 by test card”")
	p.sees("Thank you!", "$100.00")

	p = s.open()
	p.signInToDemo()
	p.visit(p.path() + "/gifts?test=yes")
	p.sees("Wilma Wader", "$103.30", "Kay Board")
	p.in("main").click("$103.30 from Wilma Wader")
	for _, width := range []int64{390, 1024} {
		p.width(width)
		same(p, "cells of the ledger that are over each other", told[string](p, overlaps), "")
	}
}

// overlaps are two cells of the ledger that are over each other, "" for none.
const overlaps = `(() => {
	const cells = [...document.querySelectorAll(".ledger tbody td")]
		.map((e) => [e.textContent, e.getBoundingClientRect()]).filter(([, box]) => box.width > 0)
	for (const [a, r] of cells) for (const [b, s] of cells) {
		const areSide = r.left >= s.right - 1 || s.left >= r.right - 1
		const areBelow = r.top >= s.bottom - 1 || s.top >= r.bottom - 1
		if (r !== s && !areSide && !areBelow) return a + " and " + b
	}
	return ""
})()`

// Who fills in the form while a crowd comes clicks once: the browser solves the harder puzzle, and sends the form
// again.
func TestABrowserSolvesTheHarderPuzzleOfACrowd(t *testing.T) {
	t.Parallel()
	p := start(t, "--demo").open()
	p.visit("/light-the-harbor/donate")
	p.fill("First name", "Wilma", "Last name", "Wader", "Email", "wilma@example.org")
	p.run(`(async () => { // forms of 40 others from addresses of their own, without a solved puzzle
		const body = "way=check&frequency=once&once=50&first_name=Eve&last_name=Other&email=eve%40example.org"
		for (let i = 1; i <= 40; i++) await fetch("/light-the-harbor/donate", {method: "POST", body, headers:
			{"Content-Type": "application/x-www-form-urlencoded", "X-Forwarded-For": "198.51.100." + i}})
	})()`)
	p.click("Give $50.00")
	p.sees("This is a test payment", "$50.00")
}
