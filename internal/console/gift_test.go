package console_test

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store"
)

// gifts are all gifts of an account, the latest first.
func (s *site) gifts(account access.Account) []store.GiftRecord {
	s.t.Helper()
	gifts, _ := must2(s.store.GiftPage(s.t.Context(), account.Number, giving.GiftFilter{},
		crm.PageRequest{Page: 1, PerPage: 100}))(s.t)
	return gifts
}

// fund creates a campaign with a currency, and returns its id as in forms.
func (s *site) fund(account access.Account, title, currency string) string {
	s.t.Helper()
	return fmt.Sprint(s.campaign(account, fmt.Sprintf(`{"title":%q,"currency":%q}`, title, currency)).ID)
}

// give records a gift on the page of a contact, and returns the address of the gift's page.
func (p *person) give(contact, amount, day string, pairs ...string) string {
	p.site.t.Helper()
	a := p.follow(contact+"/gifts", append(pairs, "amount", amount, "transacted_at", day, "method", "check")...)
	found := regexp.MustCompile(`<a href="([^"]+)">View gift</a>`).FindStringSubmatch(a.body)
	if found == nil {
		p.site.t.Fatalf("no link to the gift: %s", a.words())
	}
	return found[1]
}

// seen is the version that the form of a page refers to.
func seen(a answer) string {
	if found := regexp.MustCompile(`name="seen" value="([^"]+)"`).FindStringSubmatch(a.body); found != nil {
		return found[1]
	}
	return ""
}

func TestAGiftIsRecordedOnTheContactsPage(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	gala := s.fund(p.account, "Gala", "USD")
	contact := s.contact(p, "Zoë", "Okafor")
	p.get(contact).sees("No gifts yet.").has(`name="transacted_at" type="date" value="`+today+`"`,
		`<option value="check" selected>`, `<details class="drawer" id="new-gift">`)
	p.follow(contact+"/gifts", "amount", " $1,500.50 ", "transacted_at", today, "method", "cash", "campaign_id", gala,
		"status", "",
		"note", "In an envelope.", "fee", "2", "dedication.type", "in_honor_of", "dedication.name", "Ida",
		"external_id", "row-7").
		sees("Recorded $1,500.50 from", "Total $1,500.50 1 gift", "This year $1,500.50 $1,500.50 more than last year").
		has(`<option value="cash" selected>Cash</option>`) // it remembers the method
	gifts := s.gifts(p.account)
	if g := gifts[0]; len(gifts) != 1 || g.Net() != 150_050 || g.Method != "cash" || fmt.Sprint(g.Campaign) != gala ||
		g.Note != "In an envelope." || g.Payment().Fee != 200 || g.Dedication == nil || g.Dedication.Name != "Ida" ||
		g.ExternalID != "row-7" || g.Status != giving.Succeeded {
		t.Errorf("recorded is %+v", g.Gift)
	}
	p.get("gifts/"+gifts[0].Code).sees("$1,500.50 from Zoë Okafor", "Fee $2 ($1,498.50 net)", "In honor of Ida",
		"row-7", "0000000001")
	p.get("campaigns/"+gala).sees("Latest gifts", "Zoë Okafor", "$1,500.50")
	p.follow(contact + "/archive")
	p.get(contact).hides("Record a gift").has("$1,500.50")
	p.follow(contact+"/gifts", "amount", "5", "transacted_at", "2026-01-31", "method", "check").
		sees("is archived, so nothing was changed.")
}

func TestAWrongGiftIsToldAndKeepsWhatWasTyped(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	foreign := s.fund(s.organization("Other"), "Theirs", "USD")
	contact := s.contact(p, "Zoë", "Okafor")
	for _, wrong := range []struct{ field, value, fault string }{
		{"amount", "", "Amount is required."},
		{"amount", "1.500,50", "Amount must be more than 0"},
		{"amount", "5.001", "Amount can’t have more than 2 decimals in USD."},
		{"transacted_at", "2026-11-17", "Date must not be in the future."},
		{"transacted_at", "31.1.2026", "Date must be a date, such as 2026-01-31."},
		{"method", "barter", "Method must be one of"},
		{"campaign_id", foreign, "Campaign must be one of your campaigns."},
		{"fee", "60", "Fee must not be more than the amount."},
		{"dedication.name", "Ida", "Dedication type is required."},
	} {
		form := url.Values{"amount": {"50"}, "transacted_at": {"2026-01-31"}, "method": {"check"},
			"note": {"Kept note"}, "dedication.type": {""}}
		form.Set(wrong.field, wrong.value)
		p.post(contact+"/gifts", flat(form)...).is(422).sees(wrong.fault, "Nothing was saved.", "Kept note").
			has(`aria-invalid="true"`)
	}
	equal(t, len(s.gifts(p.account)), 0)
	euros := s.fund(p.account, "Lisbon", "EUR")
	p.get(contact).sees("Lisbon (EUR)")
	p.follow(contact+"/gifts", "amount", "€1,000", "transacted_at", "2026-01-31", "method", "check", "campaign_id",
		euros).
		sees("Recorded €1,000 from", "0 gifts, and €1,000 in other currencies")
}

func TestAGiftIsEditedAndItsHistoryIsTold(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	gala, drive := s.fund(p.account, "Gala", "USD"), s.fund(p.account, "Winter drive", "USD")
	contact, ben := s.contact(p, "Zoë", "Okafor"), s.contact(p, "Ben", "Ek")
	gift := p.give(contact, "50", "2026-01-31", "campaign_id", gala, "status", "pending")
	p.get(gift).sees("Pledged Overdue", "Due on Jan 31, 2026", "Not received yet", "Mark as received")
	p.get(p.give(s.contact(p, "Ida", "Berg"), "7", "2026-01-31", "status", "failed", "fee", "1")).
		sees("Failed", "Fee $1", "Not received").lacks("arrived", "yet", "Net after refunds")
	edit := func() string { return seen(p.get(gift + "/edit")) }
	p.follow(gift, "seen", edit(), "transacted_at", "2026-01-31", "campaign_id", drive, "contact_id", idIn(ben), "note",
		"Thank by phone",
		"check_number", "77", "check_deposited_at", "2026-02-01", "fee", "1.25", "status", "succeeded").
		sees("$50 from Ben Ek",
			"Changed campaign from “Gala” to “Winter drive”.", "Changed contact from Zoë Okafor to Ben Ek.",
			"Set check number to “77”.",
			"Set check deposited to Feb 1, 2026.", "Set fee to $1.25.", "Changed status from Pledged to Received.",
			p.user.Name)
	p.follow(gift, "seen", edit(), "transacted_at", "2026-01-31", "campaign_id", "", "contact_id", idIn(ben), "note",
		"").
		sees("Removed campaign “Winter drive”.", "Removed note “Thank by phone”.")
	p.get(ben).sees("Total $50 1 gift")
	p.get(contact).sees("No gifts yet.")
	equal(t, s.gifts(p.account)[0].At.Hour(), 12, "the time of the day became")
	for _, wrong := range [][3]string{
		{"contact_id", "999", "Contact must be one of your contacts."},
		{"transacted_at", "", "Date must not be empty."},
		{"status", "failed", "only a pledge can change its status."}, {"amount", "x", "Amount must be more than 0"},
	} {
		p.post(gift, wrong[0], wrong[1], "seen", edit()).is(422).sees(wrong[2])
	}
	a := p.post(gift, "note", "mine", "seen", "another state").is(422).sees("Someone else changed this gift", "mine")
	p.follow(gift, "note", "mine", "seen", seen(a))
}

// A promise can be due later, counts nowhere, and counts on the day on which it is received.
func TestAPromiseIsDueLaterAndCountsWhenItIsReceived(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	contact := s.contact(p, "Zoë", "Okafor")
	gift := p.give(contact, "333", "2027-01-16", "status", "pending")
	open := p.get(gift).sees("Due on Jan 16, 2027", "Pledged").lacks("Overdue").
		has(`name="transacted_at" type="date" value="` + today + `"`)
	p.get(contact).sees("Total $0 0 gifts")
	p.post(gift+"/receive", "transacted_at", "2027-01-16", "seen", seen(open)).is(422).
		sees("must not be in the future.")
	p.post(gift+"/receive", "transacted_at", today, "seen", "another state").is(422).
		sees("Someone else changed this gift")
	p.follow(gift+"/receive", "transacted_at", today, "seen", seen(open)).sees("$333 from Zoë Okafor was received.")
	g := s.gifts(p.account)[0]
	equal(t, g.Status, giving.Succeeded, "the gift")
	equal(t, g.At.Format(time.DateOnly), today, "the gift")
	p.get(contact).sees("Total $333 1 gift")
	late := p.give(contact, "20", "2024-12-20", "status", "pending")
	p.get("gifts").sees("Pledged Overdue")
	p.follow(late+"/receive", "transacted_at", "2025-03-01", "seen", seen(p.get(late))).sees("received")
	p.get(late).sees("Date Mar 1, 2025", "Payment Mar 1, 2025")
}

// A person is asked before a refund is recorded, and before one is undone; each is made once, and the figures follow.
func TestARefundIsAskedAboutMadeOnceAndUndone(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	contact := s.contact(p, "Zoë", "Okafor")
	gift := p.give(contact, "50", "2026-01-31")
	open := p.get(gift).sees("You can refund up to $50.").has(`name="amount" type="text" value="50"`)
	for value, fault := range map[string]string{"": "Amount is required.",
		"60": "must not be more than what is left of the gift: 50.", "x": "must be more than 0"} {
		p.post(gift+"/refund", "amount", value, "seen", seen(open)).is(422).sees(fault)
	}
	asked := p.post(gift+"/refund", "amount", "$20", "seen", seen(open)).is(200).
		sees("Refund $20 to Zoë Okafor?", "Nothing was recorded yet.", "That leaves $30 of this gift.")
	if g := s.gifts(p.account)[0]; g.Refunded() != 0 {
		t.Errorf("the question has refunded %d", g.Refunded())
	}
	p.follow(gift+"/refund", "amount", "$20", "seen", seen(asked), "decision", "record").
		sees("$20 refunded", "-$20", "Net after refunds $30")
	for _, version := range []string{seen(open), ""} { // the same form again, and one that does not come from a page
		for _, decision := range []string{"", "record"} {
			p.post(gift+"/refund", "amount", "20", "seen", version, "decision", decision).is(422).
				sees("so nothing was recorded.", "Net after refunds $30")
		}
	}
	p.get("gifts").sees("$30 from 1 gift", "$20 refunded Check $30 from") // the row shows what is left, like the total
	p.follow(gift+"/refund", "amount", "30", "seen", seen(p.get(gift)), "decision", "record").
		sees("Net after refunds $0").hides("Refund gift")
	p.get(contact).sees("Total $0 0 gifts")
	p.post(gift+"/refund", "amount", "1", "seen", seen(p.get(gift+"/edit"))).sees("the whole gift was already refunded")

	open = p.get(gift).sees("Undo refund of -$20", "Undo refund of -$30")
	asked = p.post(gift+"/refund/undo", "amount", "20", "seen", seen(open)).is(200).
		sees("Undo the refund of $20 to Zoë Okafor?", "Nothing was recorded yet.", "That leaves $20 of this gift.")
	p.get(gift).sees("Net after refunds $0")
	p.follow(gift+"/refund/undo", "amount", "20", "seen", seen(asked), "decision", "record").
		sees("Refund undone", "Net after refunds $20", "Undo refund of -$30").lacks("Undo refund of -$20")
	// the button was clicked twice
	p.post(gift+"/refund/undo", "amount", "20", "seen", seen(asked), "decision", "record").is(422).
		sees("so nothing was recorded.", "Net after refunds $20")
	p.post(gift+"/refund/undo", "amount", "31", "seen", seen(p.get(gift))).is(422).
		sees("must not be more than the amount refunded: 30.")
	p.get(contact).sees("Total $20 1 gift", "undid a refund of $20.")
}

// A mistyped amount or method is corrected in the form of the gift, which counts once, and is told as one correction.
func TestAMistypedGiftIsCorrected(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	contact := s.contact(p, "Zoë", "Okafor")
	gift := p.give(contact, "50", "2026-01-31")
	correct := func(amount, method string) answer {
		form := p.get(gift + "/edit").has(`name="amount" type="text" value="`)
		return p.follow(gift, "amount", amount, "method", method, "fee", "", "fee_covered", "", "seen", seen(form))
	}
	correct("500", "cash").sees("$500 from Zoë Okafor", "Payment Jan 31, 2026 $50 Correction", "$450", "Total $500",
		"Changed amount from $50 to $500.", "Changed method from Check to Cash.").lacks("-$50", "refunded")
	p.get(contact).sees("Total $500 1 gift", "corrected the amount of a gift from $50 to $500.")
	p.get("gifts").sees("$500 from 1 gift", "Cash $500 from")
	owner := s.member(p.account, access.Owner)
	owner.get("settings/history").sees("Changed amount from $50 to $500.").lacks("ayout", "onated", "corrected")
	entries := len(s.gifts(p.account)[0].Entries)
	correct("500", "cash")
	equal(t, len(s.gifts(p.account)[0].Entries), entries)
	p.follow(gift+"/refund", "amount", "100", "seen", seen(p.get(gift)), "decision", "record")
	a := p.get(gift + "/edit").hides(`name="amount"`).sees("undo the refund first.")
	p.post(gift, "amount", "40", "seen", seen(a)).is(422).sees("undo the refund first.")
}

func TestGiftsAreFilteredByTheAddress(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	p.get("gifts").sees("No gifts yet", "Record your first gift")
	gala := s.fund(p.account, "Gala", "USD")
	zoe, ben := s.contact(p, "Zoë", "Okafor"), s.contact(p, "Ben", "Ek")
	p.give(zoe, "10", "2024-12-31", "method", "cash")
	p.give(zoe, "200", "2025-01-01", "campaign_id", gala)
	p.give(ben, "35.50", "2025-06-15", "status", "pending")
	p.give(ben, "1,000", "2025-12-31")
	for query, want := range map[string]string{
		"page=1":                        "$1,210 from 3 gifts, 1 excluded: failed, refunded or pledged",
		"from=2025-01-01&to=2025-12-31": "$1,200 from 2 gifts, 1 excluded: failed, refunded or pledged",
		"to=2024-12-31":                 "$10 from 1 gift",
		"campaign=" + gala:              "$200 from 1 gift",
		"method=cash":                   "$10 from 1 gift",
		"status=pending":                "1 gift excluded: failed, refunded or pledged",
		"min=200&max=1%2C000":           "$1,200 from 2 gifts",
		"plan=any":                      "No gifts found",
		"contact=" + idIn(zoe):          "$210 from 2 gifts",
	} {
		p.get("gifts?" + query).is(200).sees(want)
	}
	for _, query := range []string{"from=31.1.2026", "from=2025-02-01&to=2025-01-01", "min=ten", "max=5&min=6",
		"method=barter",
		"status=lost", "campaign=gala", "plan=x"} {
		p.get("gifts?" + query).is(422).sees("Please fix one filter.").lacks("Ben Ek")
	}
	p.get("gifts?from=2025-01-01&to=&min=&method=").leads(p.org("/gifts?from=2025-01-01"))
	p.get("gifts?method=cash").has(`gifts?from=2026-01-01&amp;method=cash&amp;to=2026-12-31"`,
		`gifts?from=2025-01-01&amp;method=cash&amp;to=2025-12-31"`)
}

// A contact's page shows the latest gifts, what was given in each year, and the way to the others; the form for a gift
// is open where a link asks for it.
func TestAContactShowsTheLatestGifts(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	contact := s.contact(p, "Zoë", "Okafor")
	for i := range 12 {
		p.give(contact, fmt.Sprint(100+i), fmt.Sprintf("2025-%02d-01", i+1))
	}
	const open = `id="new-gift" open>`
	p.get(contact).sees("All 12 gifts", "2025: $1,266", "2024: $0", "$111 from").lacks("$101 from").hides(open)
	p.get(contact + "?gift=new").has(open)
	p.post(contact+"/gifts", "amount", "x").has(open)
}

func TestPlansAreMadeChangedAndOverdue(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	gala := s.fund(p.account, "Gala", "USD")
	contact, ben := s.contact(p, "Zoë", "Okafor"), s.contact(p, "Ben", "Ek")
	p.post(contact+"/plans", "amount", "nothing", "frequency", "hourly", "method", "card", "start_at", "").is(422).
		sees("Amount must be more than 0", "Frequency must be one of")
	a := p.follow(contact+"/plans", "amount", "$20", "frequency", "monthly", "method", "card", "campaign_id", gala,
		"start_at", "2026-11-04", "next_bill_date", "").sees("$20 monthly", "12 days overdue", "Record this gift")
	plan := a.link(t, "View recurring gift")
	code := idIn(plan)
	record := contact + "?plan=" + code
	p.get("plans").sees("1 recurring gift is overdue.", "Zoë Okafor", "Gala", "12 days overdue").
		has(`href="` + record + `#f-amount"`)
	p.get(record).has(`name="amount" type="text" value="20"`, `<option value="`+code+`" selected>$20 monthly</option>`,
		`<option value="`+gala+`" selected>`, `<option value="card" selected>`)
	gift := p.give(contact, "20", today, "plan_id", code, "campaign_id", gala)
	p.post(gift, "contact_id", idIn(ben), "plan_id", code, "seen", seen(p.get(gift+"/edit"))).is(422).
		sees("Contact must be the donor of the recurring gift.")
	p.get("plans").lacks("overdue")
	p.get("gifts?plan=any").sees("$20 from 1 gift", "Recurring")
	p.get("gifts?plan=" + code).sees("$20 from 1 gift")
	p.get(plan).sees("Latest gifts", "$20", "Active")
	p.follow(plan, "amount", "25", "frequency", "yearly", "method", "check", "campaign_id", "", "seen",
		seen(p.get(plan+"/edit"))).
		sees("$25 yearly from Zoë Okafor", "Check")
	a = p.post(plan, "amount", "26", "seen", "another state").is(422).sees("Someone else changed this recurring gift")
	p.post(plan, "amount", "", "seen", seen(a)).sees("Amount is required.")
	due := regexp.MustCompile(`Next gift \w+ \d+, \d{4}`).FindString(p.get(plan).words())
	undo := regexp.MustCompile(`action="([^"]*/resume[^"]*)"`).FindStringSubmatch(p.follow(plan + "/end").body)
	p.follow(strings.ReplaceAll(undo[1], "&amp;", "&")).sees(due)
	for _, step := range [][2]string{{"/pause", "was paused."}, {"/resume", "was resumed."}, {"/end", "was ended."}} {
		p.follow(plan + step[0]).sees(step[1])
	}
	p.get(plan).hides("Record this gift").sees("Resume gifts")
}

// A gift is recorded without leaving the page of gifts: the donor is searched for, without a script too, or no one
// knows who gave.
func TestAGiftIsRecordedForADonorThatIsSearchedFor(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	peter := s.contact(p, "Peter", "Carter", reachable("peter@example.org", "212-555-0100"))
	other := s.contact(p, "Peter", "Carter", reachable("pc@example.org", "212-555-0101"))
	zoe := s.contact(p, "Zoë", "Okafor")
	record := func(fields ...string) answer {
		return p.post("gifts", append(fields, "amount", "15", "method", "cash", "transacted_at", today)...)
	}
	record("donor", "").is(422).sees("Donor is required.")
	record("donor", "Nobody Known").sees("Donor matches no active contact.")
	// the only one of that name
	p.get(record("donor", "Zoe Okafor").is(303).location()).sees("Recorded $15 from Zoë Okafor.")

	a := record("donor", "Peter Carter").is(422).sees("Donor matches 2 contacts. Choose one.", "peter@example.org",
		"pc@example.org")
	p.post("gifts", append(a.fields(), "donor_choice", idIn(other))...).is(303)
	record("donor", "Peter Carter", "contact_id", idIn(peter)).is(303) // as the script does
	for _, one := range []string{peter, other} {
		p.get(one).sees("$15", "1 gift")
	}
	// what was typed since is not that contact
	record("donor", "Peter", "contact_id", idIn(peter)).sees("Which contact?")

	next := p.get(record("donor", "", "anonymous", "yes", "another", "yes").is(303).location()).
		// it begins with the same method
		sees("Recorded $15 from Anonymous Donor.").has(`<option value="cash" selected>`)
	gift := next.link(t, "View gift")
	record("anonymous", "yes", "amount", "7")
	equal(t, len(s.contacts(p.account)), 4, "two anonymous gifts have left")
	form := append([]string{"donor", "zoë okafor"}, p.get(gift+"/edit").fields()...) // it was Zoë, as it turns out
	p.get(p.post(gift, form...).is(303).location()).sees("changed contact from Anonymous Donor to Zoë Okafor.")
	p.get(zoe).sees("$30", "2 gifts")
}

// Suggestions are contacts and campaigns, those first whose name was typed, and none of another organization.
func TestSuggestionsWhileTyping(t *testing.T) {
	s, p := signedIn(t, access.Viewer)
	s.contact(p, "Ana", "Diaz", func(in *crm.ContactInput) { in.Addresses = &[]crm.Address{{City: "Carterville"}} })
	s.contact(p, "Peter", "Carter", reachable("peter@example.org", "212-555-0100"))
	s.contact(s.member(s.organization("Others"), access.Editor), "Carla", "Cart")
	s.fund(p.account, "Carter Fund", "USD")
	option := regexp.MustCompile(`<li role="option"[^>]*><span>([^<]*)</span>`)
	for query, want := range map[string]string{
		"q=cart":      "|Peter Carter|Ana Diaz|Carter Fund|See all results for “cart”",
		"q=ca":        "|Peter Carter|Carter Fund|See all results for “ca”",
		"pick&q=cart": "|Peter Carter|Ana Diaz", "q=c": "", "pick&q=nobody": "",
		"q=peter%40exa": "|Peter Carter|See all results for “peter@exa”",
		"q=nobody":      "|No matches. Search for “nobody” and similar names",
	} {
		got := ""
		for _, found := range option.FindAllStringSubmatch(p.get("search/suggestions?"+query).is(200).body, -1) {
			got += "|" + found[1]
		}
		equal(t, got, want, "%s", query)
	}
}

// A person is asked why a gift is voided, the list has it only where someone asks for what was voided, and the undo
// brings it back.
func TestAGiftThatWasTypedTwiceIsVoided(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	contact := s.contact(p, "Zoë", "Okafor")
	gift := p.give(contact, "50", "2026-01-31")
	asked := p.get(gift+"/void").sees("Void $50 from Zoë Okafor?", "You can undo this.")
	p.post(gift+"/void", "reason", " ", "seen", seen(asked)).sees("Reason is required")
	voided := p.follow(gift+"/void", "reason", "Typed twice", "seen", seen(asked)).
		sees("Typed twice", "counts nowhere", "from Received to Voided", "Status Voided").
		lacks("Thank donor", "Edit gift", "Refund gift")
	p.get("gifts").lacks("Zoë")
	p.get(contact).sees("voided a gift of $50")
	p.get("gifts?status=voided").sees("1 gift voided", "Zoë Okafor")
	p.follow(gift+"/void/undo", "seen", seen(voided)).sees("Void gift", "Status Received")
	p.get("gifts?status=succeeded").sees("$50 from 1 gift")
}
