package browser_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// picture keeps a picture of the page where PICTURES names a directory, for people who build it.
func (p *page) picture(name string) {
	p.t.Helper()
	if dir := os.Getenv("PICTURES"); dir != "" {
		p.screenshot(filepath.Join(dir, name+".png"))
	}
}

// A visitor gives on the page of a campaign in three clicks: the amount, the button of the form, and that of the payment page. Without scripts, on small phones and with the
// keyboard alone it takes no more. The gift is in the console at once.
func TestAVisitorGivesOnThePageOfACampaign(t *testing.T) {
	t.Parallel()
	s := start(t, "--demo")
	s.prints(`(Sign in at .*)`)

	p := s.open()
	p.visit("/light-the-harbor")
	p.in(".ask").click("Give $100")
	p.sees("Donate to Light the Harbor", "Nothing is added for the software", "Give $100.00")
	p.audit()
	p.fill("First name", "Wilma")
	p.fill("Last name", "Wader")
	p.fill("Email", "wilma@example.org")
	p.tick("cover")
	p.sees("Give $103.30", "$100.00 gift and $3.30 for the fee.")
	p.click("Monthly")
	p.sees("every month, until you stop it", "Give $26.06 every month")
	p.click("One-time")
	p.picture("form")
	p.click("Give $103.30")
	p.sees("This is a test payment", "$103.30")
	p.audit()
	p.click("Try a card that is declined")
	p.sees("Your card was declined")
	p.click("Pay $103.30 by test card")
	p.sees("Thank you!", "$103.30")
	p.doesNotSee("Wilma")
	p.audit()
	p.picture("thanks")

	p = s.open()
	p.width(320)
	p.withoutScripts()
	p.visit("/light-the-harbor/donate?amount=12.50&frequency=monthly")
	p.sees("every month, until you stop it", "Give now", "You’ll see the total before you pay.")
	if got := p.value("other_amount"); got != "12.5" {
		t.Errorf("the link asks for %q", got)
	}
	for _, finding := range p.findingsAt("320 wide, without scripts") {
		t.Error(finding)
	}
	p.fill("Other amount", "1")
	p.fill("First name", "Otto")
	p.fill("Last name", "Ohne")
	p.fill("Email", "otto@example.org")
	p.expects(422)
	p.click("Give now")
	p.sees("One thing needs your attention.", "The smallest gift here is $5.")
	if at := p.focused(); !strings.Contains(at, "alert") && at == "nothing" {
		t.Errorf("after a refusal the focus is on %s", at)
	}
	p.picture("refused-320")
	p.fill("Other amount", "$1,250")
	p.click("Give now")
	p.sees("This is a test payment", "$1,250.00 every month")
	p.click("Pay by test bank debit")
	p.sees("on its way", "$1,250.00 every month")
	for _, finding := range p.tooWide("320 wide") {
		t.Error(finding)
	}

	p = s.open()
	p.width(390)
	p.colors("dark")
	p.visit("/light-the-harbor/donate")
	p.tabTo("radio “One-time”")
	p.press("Tab", "ArrowRight")
	p.sees("Give $100.00")
	p.tabTo("field “First name required”")
	p.types("Kay")
	p.press("Tab")
	p.types("Board")
	p.press("Tab")
	p.types("kay@example.org")
	p.picture("form-dark-390")
	p.tabTo("button “Give $100.00”")
	p.press("Enter")
	p.sees("This is a test payment")
	p.tabTo("button “Pay $100.00 by test card”")
	p.press("Enter")
	p.sees("Thank you!", "$100.00")

	p = s.open()
	p.signIn("demo@example.org", s.prints(`with the password (\S+)`))
	home := p.path()
	p.visit(home + "/gifts?test=yes")
	p.sees("Wilma Wader", "$103.30", "Kay Board")
	p.picture("console")
	p.in("main").click("$103.30 from Wilma Wader")
	for _, width := range []int64{390, 1024} {
		p.width(width)
		if over, err := evaluate[string](p, overlaps); err != nil || over != "" {
			t.Errorf("%d wide, the ledger has %s over each other: %v", width, over, err)
		}
	}

	visitor := s.open()
	visitor.visit("/light-the-harbor/donate")
	visitor.click("Check by mail")
	visitor.fill("First name", "Chloe")
	visitor.fill("Last name", "Check")
	visitor.fill("Email", "chloe@example.org")
	visitor.click("Give $50.00")
	visitor.sees("One step is left")
	p.visit(home + "/donations")
	p.click("Chloe Check")
	if out, err := evaluate[bool](p, `(() => { const card = document.querySelector("form.card"); return [...card.querySelectorAll("input")].some((e) => e.getBoundingClientRect().right > card.getBoundingClientRect().right) })()`); err != nil || out {
		t.Errorf("a field sticks out of its card: %v", err)
	}
	p.audit()
}

// overlaps are two cells of the ledger that are over each other, "" for none.
const overlaps = `(() => { const cells = [...document.querySelectorAll(".ledger tbody td")].map((e) => [e.textContent, e.getBoundingClientRect()])
	for (const [a, r] of cells) for (const [b, s] of cells)
		if (r !== s && r.width > 0 && s.width > 0 && r.left < s.right - 1 && s.left < r.right - 1 && r.top < s.bottom - 1 && s.top < r.bottom - 1) return a + " and " + b
	return "" })()`

// crowd sends forms of 40 others from addresses of their own, without a solved puzzle.
const crowd = `(async () => {
	const body = "way=check&frequency=once&once=50&first_name=Eve&last_name=Other&email=eve%40example.org";
	for (let i = 1; i <= 40; i++) await fetch("/light-the-harbor/donate", {method: "POST", body,
		headers: {"Content-Type": "application/x-www-form-urlencoded", "X-Forwarded-For": "198.51.100." + i}});
	return true })()`

// Who fills in the form while a crowd comes clicks once: the browser solves the harder puzzle, and sends the form again.
func TestABrowserSolvesTheHarderPuzzleOfACrowd(t *testing.T) {
	t.Parallel()
	s := start(t, "--demo")
	s.prints(`(Sign in at .*)`)
	p := s.open()
	p.visit("/light-the-harbor/donate")
	p.fill("First name", "Wilma")
	p.fill("Last name", "Wader")
	p.fill("Email", "wilma@example.org")
	if done, err := evaluate[bool](p, crowd); err != nil || !done {
		t.Fatal(done, err)
	}
	p.click("Give $50.00")
	p.sees("This is a test payment", "$50.00")
}
