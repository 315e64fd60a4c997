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
	"donorbook/internal/store/gifts"
)

// gifts are all gifts of an account, the latest first.
func (s *site) gifts(account access.Account) []gifts.GiftRecord {
	s.t.Helper()
	gifts, _ := must2(s.store.GiftPage(s.t.Context(), account.Number, giving.GiftFilter{}, crm.PageRequest{Page: 1, PerPage: 100}))(s.t)
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
	p.get(contact).sees("No gifts yet.", "Record a gift", "No campaign Gala", "No recurring gifts or pledges yet").has(`name="transacted_at" type="date" value="`+today+`"`, `<option value="check" selected>Check</option>`, `<details class="drawer" id="new-gift">`)
	p.follow(contact+"/gifts", "amount", " $1,500.50 ", "transacted_at", today, "method", "cash", "campaign_id", gala, "status", "",
		"note", "In an envelope.", "fee", "2", "dedication.type", "in_honor_of", "dedication.name", "Ida", "external_id", "row-7").sees("Recorded $1,500.50 from", "View gift", "Total $1,500.50 1 gift", "This year $1,500.50 $1,500.50 more than last year", "Largest gift $1,500.50", "Gala").has(`<option value="cash" selected>Cash</option>`)
	gifts := s.gifts(p.account)
	if len(gifts) != 1 {
		t.Fatalf("%d gifts", len(gifts))
	}
	g := gifts[0]
	if g.Net() != 150_050 || g.Method != "cash" || fmt.Sprint(g.Campaign) != gala || g.Note != "In an envelope." || g.Payment().Fee != 200 ||
		g.Dedication == nil || g.Dedication.Name != "Ida" || g.ExternalID != "row-7" || g.Status != giving.Succeeded {
		t.Errorf("recorded is %+v", g.Gift)
	}
	p.get("gifts/"+g.Code).sees("$1,500.50 from Zoë Okafor", "Fee $2 ($1,498.50 net)", "In honor of Ida", "In an envelope.", "row-7", "0000000001")
	p.get("campaigns/"+gala).sees("Latest gifts", "All gifts to this campaign", "Zoë Okafor", "$1,500.50")
	viewer := s.member(p.account, access.Viewer)
	viewer.get(contact).hides("Record a gift").has("$1,500.50")
	p.follow(contact + "/archive")
	p.get(contact).hides("Record a gift").has("$1,500.50")

}

func TestAWrongGiftIsToldAndKeepsWhatWasTyped(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	other := s.member(s.organization("Other"), access.Owner)
	foreign := s.fund(other.account, "Theirs", "USD")
	euros := s.fund(p.account, "Lisbon", "EUR")
	contact := s.contact(p, "Zoë", "Okafor")
	future := "2026-11-19"
	for _, wrong := range []struct{ field, value, fault string }{
		{"amount", "", "Amount is required."},
		{"amount", "0", "Amount must be more than 0 and less than 1 billion, such as 50 or 1,500.50."},
		{"amount", "-5", "Amount must be more than 0"},
		{"amount", "fifty", "Amount must be more than 0"},
		{"amount", "1.500,50", "Amount must be more than 0"},
		{"amount", "€50", "Amount must be more than 0"},
		{"amount", "5.001", "Amount can’t have more than 2 decimals in USD."},
		{"amount", "1,000,000,000", "Amount must be more than 0"},
		{"transacted_at", "", "Date is required."},
		{"transacted_at", future, "Date must not be in the future."},
		{"transacted_at", "1899-12-31", "Date must not be before 1900."},
		{"transacted_at", "31.1.2026", "Date must be a date, such as 2026-01-31."},
		{"method", "barter", "Method must be one of"},
		{"campaign_id", foreign, "Campaign must be one of your campaigns."},
		{"campaign_id", "x", "Campaign must be an ID."},
		{"plan_id", "abcdefghij000001", "Plan must be one of your plans."},
		{"fee", "60", "Fee must not be more than the amount."},
		{"dedication.name", "Ida", "Dedication type is required."},
		{"external_id", "stripe:ch_1", `External ID must not begin with "stripe:"`},
	} {
		form := map[string]string{"amount": "50", "transacted_at": "2026-01-31", "method": "check", "note": "Kept note", "dedication.type": ""}
		form[wrong.field] = wrong.value
		var pairs []string
		for name, value := range form {
			pairs = append(pairs, name, value)
		}
		a := p.post(contact+"/gifts", pairs...)
		a.is(422).sees(wrong.fault, "Nothing was saved.", "Kept note")
		if wrong.value != "" && wrong.field == "amount" && !strings.Contains(a.body, `value="`+wrong.value+`"`) {
			t.Errorf("%s is not in the form any more", wrong.value)
		}
		if strings.Count(a.body, `aria-invalid="true"`) == 0 && wrong.field != "plan_id" {
			t.Errorf("%s %q is not told beside the field", wrong.field, wrong.value)
		}
	}
	if n := len(s.gifts(p.account)); n != 0 {
		t.Errorf("%d gifts were recorded", n)
	}
	p.get(contact).sees("Lisbon (EUR)")
	p.follow(contact+"/gifts", "amount", "€1,000", "transacted_at", "2026-01-31", "method", "check", "campaign_id", euros).sees("Recorded €1,000 from", "0 gifts, and €1,000 in other currencies")
	if a := p.follow(contact + "/archive"); a.status != 200 {
		t.Fatal(a.status)
	}
	p.follow(contact+"/gifts", "amount", "5", "transacted_at", "2026-01-31", "method", "check").sees("Zoë Okafor is archived, so nothing was changed.")

}

func TestAGiftIsEditedAndItsHistoryIsTold(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	gala, drive := s.fund(p.account, "Gala", "USD"), s.fund(p.account, "Winter drive", "USD")
	contact, ben := s.contact(p, "Zoë", "Okafor"), s.contact(p, "Ben", "Ek")
	benID := idIn(ben)
	gift := p.give(contact, "50", "2026-01-31", "campaign_id", gala, "status", "pending")
	p.get(gift).sees("Pledged Overdue", "Due on Jan 31, 2026", "Not received yet", "Received on", "Mark as received")
	p.get(p.give(s.contact(p, "Ida", "Berg"), "7", "2026-01-31", "status", "failed", "fee", "1")).sees("Failed", "Fee $1", "Not received").lacks("arrived", "yet", "Net after refunds")
	p.get(gift+"/edit").sees("Edit gift", "Donor To move the gift, type another name, email or ID.", "Due on", "Pledged Failed Canceled")
	form := func(change ...string) []string {
		return append(change, "seen", seen(p.get(gift+"/edit")), "transacted_at", "2026-01-31", "dedication.type", "", "dedication.name", "")
	}
	p.follow(gift, form("campaign_id", drive, "contact_id", benID, "note", "Thank by phone", "check_number", "77", "check_deposited_at", "2026-02-01", "fee", "1.25", "status", "succeeded")...).sees("Changes saved.", "$50 from Ben Ek", "Winter drive", "Changed campaign from “Gala” to “Winter drive”.", "Changed contact from Zoë Okafor to Ben Ek.",
		"Set note to “Thank by phone”.", "Set check number to “77”.", "Set check deposited to Feb 1, 2026.", "Set fee to $1.25.", "Changed status from Pledged to Received.", p.user.Name)
	p.follow(gift, form("campaign_id", "", "contact_id", benID, "note", "")...).sees("Removed campaign “Winter drive”.", "Removed note “Thank by phone”.")
	p.get(ben).sees("Total $50 1 gift")
	p.get(contact).sees("No gifts yet.")
	g := s.gifts(p.account)[0]
	if g.At.Hour() != 12 {
		t.Errorf("the time of the day became %v", g.At)
	}
	for _, wrong := range []struct{ field, value, fault string }{
		{"contact_id", "999", "Contact must be one of your contacts."}, {"contact_id", "", "Contact must not be empty."}, {"transacted_at", "", "Date must not be empty."},
		{"status", "failed", "Status can’t be changed: only a pledge can change its status."}, {"fee", "60", "Fee must not be more than the amount."}, {"amount", "", "Amount is required."}, {"amount", "x", "Amount must be more than 0"}, {"method", "barter", "Method must be one of"},
	} {
		p.post(gift, wrong.field, wrong.value, "seen", seen(p.get(gift+"/edit"))).is(422).sees(wrong.fault)
	}
	a := p.post(gift, "note", "mine", "seen", "another state")
	a.is(422).sees("Someone else changed this gift after you opened the form.", "mine")
	p.follow(gift, "note", "mine", "seen", seen(a))

}

// A promise can be due later, counts nowhere, and counts on the day on which it is received, which is today unless another day is chosen.
func TestAPromiseIsDueLaterAndCountsWhenItIsReceived(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	contact := s.contact(p, "Zoë", "Okafor")
	p.get(contact).sees("For a pledge, the date is when it is due.")
	due := now.AddDate(0, 2, 0)
	gift := p.give(contact, "333", due.Format(time.DateOnly), "status", "pending")
	open := p.get(gift)
	open.sees("Due on "+due.Format("Jan 2, 2006"), "Pledged").lacks("Overdue").has(`name="transacted_at" type="date" value="` + today + `"`)
	p.get(contact).sees("Total $0 0 gifts")
	p.post(gift+"/receive", "transacted_at", due.Format(time.DateOnly), "seen", seen(open)).is(422).sees("must not be in the future.", "Mark as received")
	p.post(gift+"/receive", "transacted_at", today, "seen", "another state").is(422).sees("Someone else changed this gift after you opened the form.")
	p.follow(gift+"/receive", "transacted_at", today, "seen", seen(open)).sees("$333 from Zoë Okafor was received.")
	if g := s.gifts(p.account)[0]; g.Status != giving.Succeeded || g.At.Format(time.DateOnly) != today {
		t.Errorf("the gift is %s, of %s", g.Status, g.At)
	}
	p.get(contact).sees("Total $333 1 gift")
	late := p.give(contact, "20", "2024-12-20", "status", "pending")
	p.get("gifts").sees("Pledged Overdue")
	p.follow(late+"/receive", "transacted_at", "2025-03-01", "seen", seen(p.get(late)))
	p.get(late).sees("Date Mar 1, 2025", "Payment Mar 1, 2025")

}

// A person is asked before a refund is recorded, and the same form refunds once.
func TestARefundIsAskedAboutAndMadeOnce(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	contact := s.contact(p, "Zoë", "Okafor")
	gift := p.give(contact, "50", "2026-01-31")
	open := p.get(gift)
	open.sees("You can refund up to $50.").has(`name="amount" type="text" value="50"`)
	for value, fault := range map[string]string{"": "Amount is required.", "60": "Amount must not be more than what is left of the gift: 50.", "0": "Amount must be more than 0", "x": "Amount must be more than 0"} {
		p.post(gift+"/refund", "amount", value, "seen", seen(open)).is(422).sees(fault)
	}
	asked := p.post(gift+"/refund", "amount", "$20", "seen", seen(open))
	asked.is(200).sees("Refund $20 to Zoë Okafor?", "Nothing was recorded yet.", "$20 will be subtracted from the totals for Jan 31, 2026. That leaves $30 of this gift.", "Record refund Don’t refund")
	if g := s.gifts(p.account)[0]; g.Refunded() != 0 {
		t.Errorf("the question has refunded %d", g.Refunded())
	}
	answer := []string{"amount", "$20", "seen", seen(asked), "decision", "record"}
	p.follow(gift+"/refund", answer...).sees("$20 was refunded.", "$20 refunded", "Refund", "-$20", "Net after refunds $30")
	for _, version := range []string{seen(open), ""} { // the same form again, and one that does not come from a page
		for _, decision := range []string{"", "record"} {
			p.post(gift+"/refund", "amount", "20", "seen", version, "decision", decision).is(422).sees("This gift changed after you opened the page, so nothing was recorded.", "Net after refunds $30")
		}
	}
	p.get(contact).sees("Total $30 1 gift")
	p.get("gifts").sees("$30 from 1 gift", "$20 refunded Check $30 from") // the row shows what is left, like the total
	p.follow(gift+"/refund", "amount", "30", "seen", seen(p.get(gift)), "decision", "record").sees("$30 was refunded.", "Refunded", "Net after refunds $0").hides("Refund gift")
	p.get(contact).sees("Total $0 0 gifts")
	p.post(gift+"/refund", "amount", "1", "seen", seen(p.get(gift+"/edit"))).sees("the whole gift was already refunded")

}

// A mistaken refund is undone next to it, once, after a question; the list of payments and the histories tell of both.
func TestARefundIsUndone(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	contact := s.contact(p, "Zoë", "Okafor")
	gift := p.give(contact, "50", "2026-01-31")
	for _, amount := range []string{"5", "20"} {
		p.follow(gift+"/refund", "amount", amount, "seen", seen(p.get(gift)), "decision", "record")
	}
	open := p.get(gift)
	open.sees("Undo refund of -$5", "Undo refund of -$20", "Net after refunds $25")
	s.member(p.account, access.Viewer).get(gift).hides("Undo refund")
	asked := p.post(gift+"/refund/undo", "amount", "20", "seen", seen(open))
	asked.is(200).sees("Undo the refund of $20 to Zoë Okafor?", "Nothing was recorded yet.", "That leaves $45 of this gift.", "Undo refund Keep refund")
	p.get(gift).sees("Net after refunds $25")
	p.follow(gift+"/refund/undo", "amount", "20", "seen", seen(asked), "decision", "record").sees("$20 refund undone.", "Refund undone", "Net after refunds $45", "$5 refunded", "undid the refund of $20.").lacks("Undo refund of -$20").sees("Undo refund of -$5")
	a := p.post(gift+"/refund/undo", "amount", "20", "seen", seen(asked), "decision", "record") // the button was clicked twice
	a.is(422).sees("This gift changed after you opened the page, so nothing was recorded.", "Net after refunds $45")
	p.post(gift+"/refund/undo", "amount", "6", "seen", seen(p.get(gift))).is(422).sees("must not be more than the amount refunded: 5.")
	p.get(contact).sees("Total $45 1 gift", "undid a refund of $20.", "recorded a refund of $20.")
	p.follow(gift+"/refund", "amount", "45", "seen", seen(p.get(gift)), "decision", "record")
	p.get(contact).sees("Total $0 0 gifts")

}

// A mistyped amount or method is corrected in the form of the gift, which counts once, and is told as one correction.
func TestAMistypedGiftIsCorrected(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	gala := s.fund(p.account, "Gala", "USD")
	contact := s.contact(p, "Zoë", "Okafor")
	gift := p.give(contact, "50", "2026-01-31", "campaign_id", gala)
	p.get(gift + "/edit").sees("If the amount or the method is wrong, correct it here.").has(`name="amount" type="text" value="50"`)
	correct := func(amount, method string) answer {
		return p.follow(gift, "amount", amount, "method", method, "fee", "", "fee_covered", "", "seen", seen(p.get(gift+"/edit")))
	}
	correct("500", "cash").sees("Changes saved.", "$500 from Zoë Okafor", "Payment Jan 31, 2026 $50 Correction", "$450", "Total $500", "Changed amount from $50 to $500.", "Changed method from Check to Cash.").lacks("-$50", "refunded")
	p.get(contact).sees("Total $500 1 gift", "corrected the amount of a gift from $50 to $500.")
	p.get("gifts").sees("$500 from 1 gift", "Cash $500 from")
	p.get("campaigns/" + gala).sees("$500")
	s.member(p.account, access.Owner).get(p.org("/settings/history")).lacks("ayout", "onated").sees("Changed method from Check to Cash.", "Changed amount from $50 to $500.").lacks("corrected")
	correct("500", "check").sees("changed method from Cash to Check.", "Total $500")
	p.get(contact).sees("corrected a gift of $500.")
	entries := len(s.gifts(p.account)[0].Entries)
	correct("500", "check")
	if n := len(s.gifts(p.account)[0].Entries); n != entries || entries != 5 {
		t.Errorf("%d entries became %d by a form that changes nothing", entries, n)
	}
	p.follow(gift+"/refund", "amount", "100", "seen", seen(p.get(gift)), "decision", "record")
	a := p.get(gift + "/edit")
	a.hides(`name="amount"`).sees("To correct the amount or the method, undo the refund first.")
	p.post(gift, "amount", "40", "seen", seen(a)).is(422).sees("Amount cannot be corrected while part of the gift is refunded: undo the refund first.")

}

func TestGiftsAreFilteredByTheAddress(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	if a := p.get("gifts"); a.status != 200 {
		t.Fatal(a.status)
	}
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
		"campaign=9":                    "No gifts found",
	} {
		p.get("gifts?" + query).is(200).sees(want)
	}
	for query, fault := range map[string]string{
		"from=31.1.2026":                "From must be a date from 1900 on, such as 2026-01-31.",
		"from=2025-02-01&to=2025-01-01": "To can’t be before", "min=ten": "Smallest amount must be more than 0", "max=5&min=6": "Largest amount must not be less than the smallest amount.",
		"method=barter": "Method must be one of", "status=lost": "Status must be one of", "campaign=gala": "Campaign must be an ID.", "plan=x": "Recurring must be an ID of 16 letters and digits.",
	} {
		p.get("gifts?"+query).is(422).sees(fault, "Please fix one filter.").lacks("Ben Ek")
	}
	p.get("gifts?from=2025-01-01&to=&min=&method=").leads(p.org("/gifts?from=2025-01-01"))
	year := 2026
	a := p.get("gifts?method=cash")
	for _, q := range []url.Values{
		{"method": {"cash"}, "from": {fmt.Sprintf("%d-01-01", year)}, "to": {fmt.Sprintf("%d-12-31", year)}},
		{"method": {"cash"}, "from": {fmt.Sprintf("%d-01-01", year-1)}, "to": {fmt.Sprintf("%d-12-31", year-1)}},
	} {
		if link := strings.ReplaceAll(p.org("/gifts?"+q.Encode()), "&", "&amp;"); !strings.Contains(a.body, `href="`+link+`"`) {
			t.Errorf("there is no link to %s", link)
		}
	}

}

// A contact's page shows the latest gifts, what was given in each year, and the way to the others; the form for a gift is open where a link asks for it.
func TestAContactShowsTheLatestGifts(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	contact := s.contact(p, "Zoë", "Okafor")
	for i := range 12 {
		p.give(contact, fmt.Sprint(100+i), fmt.Sprintf("2025-%02d-01", i+1))
	}
	p.get(contact).sees("All 12 gifts", "2025: $1,266", "2024: $0").sees("$111 from").lacks("$101 from")
	for address, open := range map[string]bool{contact: false, contact + "?gift=new": true} {
		if found := strings.Contains(p.get(address).body, `id="new-gift" open>`); found != open {
			t.Errorf("%s: the form is open: %v", address, found)
		}
	}
	p.post(contact+"/gifts", "amount", "x").has(`id="new-gift" open>`)
}

func TestPlansAreMadeChangedAndOverdue(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	p.get("plans").sees("No recurring gifts yet")
	gala := s.fund(p.account, "Gala", "USD")
	contact := s.contact(p, "Zoë", "Okafor")
	p.get(contact+"/plans/new").sees("Set up recurring gift", "Zoë Okafor", "Weekly Monthly Quarterly Yearly")
	p.post(contact+"/plans", "amount", "nothing", "frequency", "hourly", "method", "card", "start_at", "").is(422).sees("Amount must be more than 0", "Frequency must be one of")
	start := "2026-11-04"
	a := p.follow(contact+"/plans", "amount", "$20", "frequency", "monthly", "method", "card", "campaign_id", gala, "start_at", start, "next_bill_date", "")
	a.sees("Recurring gift set up: $20 monthly. View recurring gift", "12 days overdue", "Record this gift")
	plan := regexp.MustCompile(`<a href="([^"]+)">View recurring gift</a>`).FindStringSubmatch(a.body)[1]
	code := idIn(plan)
	a = p.get("plans")
	a.sees("1 recurring gift is overdue.", "$20 monthly", "Zoë Okafor", "Gala", "12 days overdue")
	record := contact + "?plan=" + code
	a.has(`href="` + record + `#f-amount"`)
	p.get(record).has(`name="amount" type="text" value="20"`, `<option value="`+code+`" selected>$20 monthly</option>`, `<option value="`+gala+`" selected>`, `<option value="card" selected>`)
	gift := p.give(contact, "20", today, "plan_id", code, "campaign_id", gala)
	ben := s.contact(p, "Ben", "Ek")
	p.post(gift, "contact_id", idIn(ben), "plan_id", code, "seen", seen(p.get(gift+"/edit"))).is(422).sees("Contact must be the donor of the recurring gift. To move this gift, choose “Not recurring” as well.")
	p.get("plans").lacks("overdue")
	p.get("gifts?plan=any").sees("$20 from 1 gift", "Recurring")
	p.get("gifts?plan=" + code).sees("$20 from 1 gift")
	p.get(plan).sees("Latest gifts", "$20", "Active")
	p.get(plan + "/edit").sees("Edit recurring gift")
	p.follow(plan, "amount", "25", "frequency", "yearly", "method", "check", "campaign_id", "", "seen", seen(p.get(plan+"/edit"))).sees("Changes saved.", "$25 yearly from Zoë Okafor", "Check")
	a = p.post(plan, "amount", "26", "seen", "another state")
	a.is(422).sees("Someone else changed this recurring gift")
	p.post(plan, "amount", "", "seen", seen(a)).sees("Amount is required.")
	due := regexp.MustCompile(`Next gift \w+ \d+, \d{4}`).FindString(p.get(plan).words())
	undo := regexp.MustCompile(`action="([^"]*/resume[^"]*)"`).FindStringSubmatch(p.follow(plan + "/end").body)
	if a := p.follow(strings.ReplaceAll(undo[1], "&amp;", "&")); due == "" || !strings.Contains(a.words(), due) {
		t.Errorf("the plan was due: %q, and after it was ended and taken back: %s", due, a.words())
	}
	for _, step := range [][2]string{{"/pause", "was paused."}, {"/resume", "was resumed."}, {"/end", "was ended."}} {
		p.follow(plan + step[0]).sees(step[1])
	}
	p.get(plan).hides("Record this gift").sees("Resume gifts")

}

// A gift is recorded without leaving the page of gifts: the donor is searched for, without a script too, or no one knows who gave.
func TestAGiftIsRecordedForADonorThatIsSearchedFor(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	peter, other := s.contact(p, "Peter", "Carter", reachable("peter@example.org", "212-555-0100")), s.contact(p, "Peter", "Carter", reachable("pc@example.org", "212-555-0101"))
	zoe := s.contact(p, "Zoë", "Okafor")
	record := func(fields ...string) answer {
		return p.post("gifts", append(fields, "amount", "15", "method", "cash", "transacted_at", today)...)
	}
	p.get("gifts/new").sees("Record a gift", "Donor", "Anonymous", "Amount required")
	record("donor", "").is(422).sees("Donor is required.")
	record("donor", "Nobody Known").sees("Donor matches no active contact.")
	a := record("donor", "Zoe Okafor") // the only one of that name
	a.is(303)
	p.get(a.location()).sees("Recorded $15 from Zoë Okafor. Record another gift")

	a = record("donor", "Peter Carter")
	a.is(422).sees("Donor matches 2 contacts. Choose one.", "Which contact?", "peter@example.org", "pc@example.org")
	p.post("gifts", append(a.fields(), "donor_choice", idIn(other))...).is(303)
	p.get(other).sees("$15", "1 gift")
	picked := record("donor", "Peter Carter", "contact_id", idIn(peter)) // as the script does
	picked.is(303)
	p.get(peter).sees("$15", "1 gift")
	record("donor", "Peter", "contact_id", idIn(peter)).sees("Which contact?") // what was typed since is not that contact

	a = record("donor", "", "anonymous", "yes", "another", "yes")
	a.is(303)
	next := p.get(a.location())
	next.sees("Recorded $15 from Anonymous Donor. View gift", "Record a gift").has(`<option value="cash" selected>`)
	p.get(next.link(t, "View gift")).sees("Anonymous Donor")
	record("anonymous", "yes", "amount", "7")
	if n := len(s.contacts(p.account)); n != 4 {
		t.Errorf("two anonymous gifts have left %d contacts", n)
	}
	p.get("contacts?q=anonymous").sees("1 of 4 contacts", "Anonymous Donor")

	edit := next.link(t, "View gift") + "/edit" // it was Zoë, as it turns out
	form := p.get(edit)
	form.sees("Donor")
	moved := p.post(strings.TrimSuffix(edit, "/edit"), append([]string{"donor", "zoë okafor"}, form.fields()...)...)
	moved.is(303)
	p.get(moved.location()).sees("$15 from Zoë Okafor", "changed contact from Anonymous Donor to Zoë Okafor.")
	p.get(zoe).sees("$30", "2 gifts")
	viewer := s.member(p.account, access.Viewer)
	viewer.get(p.org("/gifts/new")).is(403)
	viewer.get(p.org("/gifts")).lacks("Record gift")

}

// Suggestions are contacts and campaigns, those first whose name was typed, and none of another organization.
func TestSuggestionsWhileTyping(t *testing.T) {
	s := anySite(t)

	p, stranger := s.member(s.organization("Harbor"), access.Viewer), s.member(s.organization("Others"), access.Editor)
	s.contact(p, "Ana", "Diaz", func(in *crm.ContactInput) { in.Addresses = &[]crm.Address{{City: "Carterville"}} })
	s.contact(p, "Peter", "Carter", reachable("peter@example.org", "212-555-0100"))
	s.contact(stranger, "Carla", "Cart")
	s.fund(p.account, "Carter Fund", "USD")
	options := func(query string) (names []string) {
		a := p.get("search/suggestions?" + query)
		a.is(200)
		for _, found := range regexp.MustCompile(`<li role="option"[^>]*><span>([^<]*)</span>`).FindAllStringSubmatch(a.body, -1) {
			names = append(names, found[1])
		}
		return names
	}
	for query, want := range map[string]string{
		"q=cart": "Peter Carter|Ana Diaz|Carter Fund|See all results for “cart”", "q=ca": "Peter Carter|Carter Fund|See all results for “ca”", "q=peter+ca": "Peter Carter|See all results for “peter ca”",
		"q=peter%40exa": "Peter Carter|See all results for “peter@exa”", "pick&q=cart": "Peter Carter|Ana Diaz", "q=c": "", "pick&q=nobody": "", "q=nobody": "No matches. Search for “nobody” and similar names",
	} {
		if got := strings.Join(options(query), "|"); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}

}

// TestAGiftThatWasTypedTwiceIsVoided: a person is asked why, the list has it only where someone asks for what was voided, and
// the undo brings it back.
func TestAGiftThatWasTypedTwiceIsVoided(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	contact := s.contact(p, "Zoë", "Okafor")
	gift := p.give(contact, "50", "2026-01-31")
	p.get(gift).sees("Void gift")
	asked := p.get(gift + "/void")
	asked.sees("Void $50 from Zoë Okafor?", "It leaves every total, list and statement", "You can undo this.")
	p.post(gift+"/void", "reason", " ", "seen", seen(asked)).sees("Reason is required")
	voided := p.follow(gift+"/void", "reason", "Typed twice", "seen", seen(asked))
	voided.sees("$50 from Zoë Okafor was voided.", "Voided on", "Typed twice", "counts nowhere", "Undo void", "from Received to Voided", "Status Voided").lacks("Thank donor", "Edit gift", "Refund gift")
	p.get("gifts").lacks("Zoë")
	p.get(contact).sees("voided a gift of $50")
	p.get("gifts?status=voided").sees("1 gift voided", "Voided", "Zoë Okafor")
	p.follow(gift+"/void/undo", "seen", seen(voided)).sees("Void undone. This gift counts again.", "Void gift", "Status Received")
	p.get("gifts?status=succeeded").sees("$50 from 1 gift")

}
