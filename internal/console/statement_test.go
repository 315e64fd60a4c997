package console_test

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/store"
)

// generous is an organization with its settings, and a contact with an address.
func (s *site) generous() (p *person, contact int64) {
	account := s.organization("Harbor <Light>")
	address, id := "1 Quay\nBoston, MA 02110", "04-1234567"
	yes := true
	succeed(s.t, s.store.SetAccountSettings(s.t.Context(), account.Number,
		access.AccountSettingsInput{Address: &address, TaxID: &id, NoReturn: &yes}))
	first, last := "Amelia", "Okafor"
	in := crm.ContactInput{FirstName: &first, LastName: &last,
		Addresses: &[]crm.Address{{Line1: "12 Harbor Street", City: "Boston", State: "MA", Zipcode: "02110",
			Country: "USA"}}}
	succeed(s.t, in.Validate(nil, true, "US", now))
	made := must(s.store.CreateContact(s.t.Context(), account.Number, in, crm.Force))(s.t)
	return s.member(account, access.Viewer), made.ID
}

func TestAStatementListsWhatWasPaid(t *testing.T) {
	s := anySite(t)
	p, contact := s.generous()
	gala := s.campaign(p.account, `{"title": "Gala <b>"}`)
	s.donation(p.account, contact,
		`"amount":103,"fee":4,"fee_covered":3,"method":"card","transacted_at":"2025-03-09","campaign_id":%d`, gala.ID)
	part := s.donation(p.account, contact, `"amount":50,"method":"check","transacted_at":"2025-12-31"`)
	s.refund(p.account, part, 200_000)
	gone := s.donation(p.account, contact, `"amount":77,"method":"card","transacted_at":"2025-04-01"`)
	s.refund(p.account, gone, 770_000)
	s.donation(p.account, contact, `"amount":66,"method":"card","transacted_at":"2025-05-01","status":"pending"`)
	s.donation(p.account, contact, `"amount":400,"method":"in_kind","transacted_at":"2025-06-01"`)
	s.donation(p.account, contact, `"amount":12.5,"currency":"EUR","method":"cash","transacted_at":"2025-07-01"`)
	s.donation(p.account, contact, `"amount":99,"method":"cash","transacted_at":"2026-01-01"`)
	s.donation(p.account, contact, `"amount":88,"method":"cash","transacted_at":"2024-12-31"`)

	a := p.get(fmt.Sprintf("contacts/%d/statement?year=2025", contact))
	a.is(200).sees("Harbor <Light> 1 Quay Boston, MA 02110 Tax ID: 04-1234567",
		"Amelia Okafor 12 Harbor Street Boston, MA 02110 Giving statement", "Giving statement for 2025",
		"Mar 9, 2025 Gala <b>", "$103.00", "$30.00 $50.00 less $20.00 refunded", "Jul 1, 2025 General", "€12.50",
		"Non-cash", "Total $133.00 and €12.50",
		"In 2025 you gave $133.00 and €12.50 to Harbor <Light>.",
		"No goods or services were provided in exchange for these gifts.",
		"Gifts of stock and in-kind gifts are listed without an amount",
		"Only gifts we received are listed; pledges are not. Refunds are subtracted. $3.00 of the total covered "+
			"processing fees. Each currency has its own total.")
	for _, not := range []string{"$77", "$66", "$400", "$99", "$88", "2026-01", "<Light>"} {
		if text := a.body; strings.Contains(text, not) {
			t.Errorf("the statement says %q", not)
		}
	}
	equal(t, strings.Count(a.body, "<tr>"), 6, "the statement")
	p.get(fmt.Sprintf("contacts/%d/statement?year=2020", contact)).sees("No gifts in 2020.")
	// last year, which people ask for
	p.get(fmt.Sprintf("contacts/%d/statement", contact)).sees("Giving statement for 2025")
	p.get(fmt.Sprintf("contacts/%d/statement?year=20xx", contact)).is(422).sees("Year must be between 1900 and 2026.")
	contains(t, p.get(fmt.Sprintf("contacts/%d", contact)).body,
		fmt.Sprintf(`href="%s"`, p.org(fmt.Sprintf("/contacts/%d/statement",
			contact))), "the contact's page does not lead to the statement")
}

func TestStatementsOfAYearAreThoseOfAllGivers(t *testing.T) {
	s := anySite(t)
	account, gifts := s.benefactors()
	p := s.member(account, access.Viewer)
	a := p.get("statements?year=2026")
	want := map[int64]map[string]int64{}
	for i := range gifts {
		if g := &gifts[i]; g.Net() > 0 && giving.Year(g.At) == 2026 {
			if want[g.Contact] == nil {
				want[g.Contact] = map[string]int64{}
			}
			want[g.Contact][g.Currency] += g.Left()
		}
	}
	a.sees(fmt.Sprintf("%d donors gave in 2026.", len(want)))
	equal(t, strings.Count(a.body, "<article"), len(want))
	for id, sums := range want {
		contact := must(s.store.ContactRecord(t.Context(), account.Number, id))(t)
		_, statement, _ := strings.Cut(a.words(), contact.FirstName+" "+contact.LastName+" Giving statement for 2026")
		statement, _, _ = strings.Cut(statement, "Thank you.")
		for currency, sum := range sums {
			if !strings.Contains(statement, "Total ") ||
				!strings.Contains(statement[strings.Index(statement, "Total "):], text.MoneyExact(sum, currency)) {
				t.Errorf("the statement of %s does not sum up to %s: %s", contact.LastName, text.Money(sum, currency),
					statement)
			}
		}
	}
	p.get("statements?year=2019").sees("No contacts gave in 2019.")
	a.sees("Statements show your address and tax ID. At least one is missing. Ask an owner")
}

// The statements of a list are those of its donors, and of no one else.
func TestStatementsAreThoseOfTheList(t *testing.T) {
	s := anySite(t)
	p, amelia := s.generous()
	s.donation(p.account, amelia, `"amount":10,"method":"cash","transacted_at":"2024-05-01"`)
	s.donation(p.account, amelia, `"amount":20,"method":"cash","transacted_at":"2025-05-01"`)
	s.donation(p.account, s.newcomer(p.account, "Nora", "New").ID,
		`"amount":30,"method":"cash","transacted_at":"2025-06-01"`)
	s.donation(p.account, s.newcomer(p.account, "Emil", "Euro").ID,
		`"amount":40,"currency":"EUR","method":"cash","transacted_at":"2025-06-01"`)
	for kind, want := range map[string]string{"": "Amelia Nora Emil", "new": "Nora Emil", "returning": "Amelia"} {
		list := p.get("donors?year=2025&" + kind + "=1")
		if kind != "" && !strings.Contains(list.body, fmt.Sprintf(`<input type="hidden" name="%s" value="1">`, kind)) {
			t.Errorf("the button does not lead to %s donors", kind)
		}
		a := p.get("statements?year=2025&" + kind + "=1")
		for _, name := range []string{"Amelia", "Nora", "Emil"} {
			equal(t, strings.Contains(a.words(), name), strings.Contains(want, name),
				"statements of %q donors: %s is wrong", kind, name)
		}
	}
}

// That nothing was given in return is only said where the organization says so, and never of an event.
func TestAStatementPromisesNothingUntrue(t *testing.T) {
	s := anySite(t)
	p, contact := s.generous()
	const said = "No goods or services were provided"
	page := p.org(fmt.Sprintf("/contacts/%d/statement?year=2025", contact))
	says := func() bool { return strings.Contains(p.get(page).body, said) }
	s.donation(p.account, contact, `"amount":20,"method":"cash","transacted_at":"2025-05-01"`)
	if !says() {
		t.Error("the statement does not say that nothing was given in return")
	}
	gala := s.campaign(p.account, `{"title": "Gala", "type": "event"}`)
	s.donation(p.account, contact, `"amount":500,"method":"card","transacted_at":"2025-03-09","campaign_id":%d`,
		gala.ID)
	if says() {
		t.Error("the statement says that nothing was given in return for a gift for an event")
	}
	other := s.newcomer(p.account, "Nora", "New").ID
	s.donation(p.account, other, `"amount":20,"method":"cash","transacted_at":"2025-05-01"`)
	no := false
	succeed(t, s.store.SetAccountSettings(t.Context(), p.account.Number, access.AccountSettingsInput{NoReturn: &no}))
	if page = p.org(fmt.Sprintf("/contacts/%d/statement?year=2025", other)); says() {
		t.Error("the statement says more than the organization does")
	}
}

func TestDonorsOfACampaignAndPages(t *testing.T) {
	s := anySite(t)
	p, _ := s.generous()
	gala := s.campaign(p.account, `{"title": "Gala"}`)
	for i := range 53 {
		s.donation(p.account, s.newcomer(p.account, "Ada", fmt.Sprint("Number", i)).ID,
			`"amount":%d,"method":"cash","transacted_at":"2025-01-15","campaign_id":%d`, i+1, gala.ID)
	}
	first := p.get(fmt.Sprintf("donors?campaign=%d", gala.ID))
	first.sees("Donors of Gala", "53 donors.", "Ada Number0 ada.number0@example.org 1 $1", "Ada Number49", "Next")
	statements := p.get("statements?year=2025") // which come in pages, too, and each donor is on one of them
	rest := p.get(statements.link(t, "Next"))
	if n, more := strings.Count(statements.body, "<article"), strings.Count(rest.body, "<article"); n != 50 ||
		more != 3 {
		t.Errorf("%d statements, and %d on the next page", n, more)
	}
	next := first.link(t, "Next")
	second := p.get(next)
	second.sees("53 donors.", "Ada Number50", "Ada Number52", "Previous").hides("Number49<")
	equal(t, p.get(second.link(t, "Previous")).words(), first.words(), "the way back leads")
	p.get("donors?year=2026&lapsed=1").sees("53 donors gave in 2025 and not in 2026.")
	// whatever year is chosen, the question makes sense
	p.get("donors?year=2025&lapsed=1").sees("0 donors gave in 2024 and not in 2025.")
	p.get("donors").sees("Donors of 2026", "0 donors gave in 2026.", "No donors here")
	for _, wrong := range []string{"year=x", "year=1", "year=2027", "new=yes", "new=1&lapsed=1", "campaign=x"} {
		p.get("donors?" + wrong).is(422).sees("Please fix one filter.")
	}
	foreign := s.campaign(s.organization("Theirs"), `{"title": "Secret"}`)
	p.get(fmt.Sprintf("donors?campaign=%d", foreign.ID)).is(404)
}

// What a receipt lacks is told as a sentence, where the wording is chosen and where a gift is thanked for. A receipt
// leads to its list and to its gift.
func TestWhatAReceiptLacksIsTold(t *testing.T) {
	s, owner := signedIn(t, access.Owner)
	contact := s.newcomer(owner.account, "Amelia", "Okafor").ID
	gift := s.donation(owner.account, contact, `"amount":10,"method":"cash","transacted_at":"2026-11-15"`)
	const lacks = "No receipt can be made for this gift. An official Canadian receipt needs the postal address of " +
		"your organization, under Settings"
	owner.follow("settings/receipts", "receipt_form", "ca").
		sees("Receipts saved.", lacks, "the postal address of the donor.").lacks("donor..", "The receipt field")
	owner.get("gifts/" + gift.Code + "/thank").sees(lacks)
	owner.follow("settings/receipts", "receipt_form", "")
	owner.follow("gifts/"+gift.Code+"/receipt").sees(fmt.Sprintf("Receipt %d-00001 is ready", now.Year()), "View gift").
		has(fmt.Sprintf("/receipts?year=%d", now.Year())).lacks("VOID")
	s.refund(owner.account, gift, 40_000)
	owner.get(fmt.Sprintf("receipts/%d-00001", now.Year())).
		sees("This receipt has been void since", fmt.Sprintf("VOID: replaced by receipt %d-00002 Receipt for your gift",
			now.Year()))
	covered := s.donation(owner.account, contact,
		`"amount":10.30,"fee_covered":0.30,"method":"card","transacted_at":"2026-11-15"`)
	owner.get("gifts/"+covered.Code+"/thank").sees("For $10.30 on Nov 15, 2026, of which $0.30 covered the fee.",
		"Thank you for your gift of $10.30")
}

// Someone prints for a list, is told before who is left out and why, mails statements, and thanks for all gifts at
// once.
func TestPrintingAndThankingMany(t *testing.T) {
	s := anySite(t)
	viewer, amelia := s.generous()
	p := s.member(viewer.account, access.Editor)
	yes, name, email := true, "Gone", "gone@example.org"
	in := crm.ContactInput{FirstName: &name, LastName: &name, Emails: &[]crm.Email{{Value: email}}, Deceased: &yes}
	succeed(t, in.Validate(nil, true, "US", now))
	gone := must(s.store.CreateContact(t.Context(), p.account.Number, in, crm.Force))(t)
	for _, contact := range []int64{amelia, gone.ID} {
		s.donation(p.account, contact, `"amount":25,"method":"check","transacted_at":"%s"`, now.Format("2006-01-02"))
	}
	a := p.get("contacts/print")
	a.sees("Print for 2 contacts", "1 contact in one PDF file", "1 contact is deceased.", "Letter to Amelia Okafor",
		"Dear Amelia,").has(`href="` + p.org("/contacts") + `?deceased=true"`)
	p.get("contacts?deceased=true").sees("Gone Gone", "1 of 2 contacts")
	for _, what := range []string{"letters", "5160", "l7160", "3474"} {
		a = p.get("contacts/print/file?what=" + what)
		a.is(200).with("Content-Type", "application/pdf")
		if !strings.HasPrefix(a.body, "%PDF-") || !strings.Contains(a.header.Get("Content-Disposition"), ".pdf") {
			t.Errorf("%s: %v %.20q", what, a.header, a.body)
		}
	}
	p.get("contacts/print?what=nothing").is(404)
	year := now.Year()
	p.get(fmt.Sprintf("contacts/print?what=statements&year=%d", year)).
		sees("1 contact in one PDF file", "isn’t set up to send email")
	p.follow("contacts/bulk", "action", "print", "id", fmt.Sprint(amelia)).sees("Print for 1 contact")

	s.store.UseRelay(new(store.Shelf))
	// Who was marked by hand gets a letter, until the email works again.
	mail := "amelia@example.org"
	change := crm.ContactInput{Emails: &[]crm.Email{{Value: mail}}}
	succeed(t, change.Validate(nil, false, "US", now))
	must(s.store.UpdateContact(t.Context(), p.account.Number, amelia, change))(t)
	path := p.org(fmt.Sprintf("/contacts/%d", amelia))
	p.follow(path+"/bounced", "email", mail).sees("No more mail goes to "+mail, "Bounced",
		"came back, so no mail is sent there")
	p.get("contacts?bounced=true").has("Amelia Okafor").hides("Gone Gone")
	p.get("contacts/print?what=statements&year="+fmt.Sprint(now.Year())).sees("Email statements", "0 emails")
	p.get("contacts/print?what=statements&year=20").sees("Year must be between 1900 and "+fmt.Sprint(now.Year())+".",
		"Show preview").lacks("Download PDF")
	p.get("gifts/thank").sees("Thank for 2 gifts", "0 emails to send", "1 letter to print", "1 contact is deceased.",
		"Prepare 1 letter")
	p.follow(path + "/bounced").sees("Mail goes to this contact again.")
	p.get("gifts?thanks=waiting").sees("Thank for all", "Thank selected")
	p.get("gifts/thank").sees("1 email to send", "All gifts awaiting thanks", "To Amelia Okafor", "Send 1 email")
	viewer.post(p.org("/gifts/thank")).is(403)
	p.follow("gifts/thank", "seen", "3").sees("Nothing was sent yet: the list now has 2 gifts.", "Send 1 email")
	a = p.post("gifts/thank", "seen", "2")
	a.is(303)
	p.done(a.location(), "Done").sees("Thank for 2 gifts", "1 mail written.", "1 contact is deceased.",
		"If one is refused, its gift is To thank again.")
	p.get(path).sees("Last thanked", "by mail ("+p.user.Name+")")

	statements := p.org(fmt.Sprintf("/contacts/%d/statement?year=%d", amelia, year))
	p.get(statements).sees("Download PDF", "Send by mail")
	a = p.post("contacts/print/send", "what", "statements", "year", fmt.Sprint(year), "scope", "picked", "id",
		fmt.Sprint(amelia))
	a.is(303)
	p.done(a.location(), "Done").sees(fmt.Sprintf("Giving statements %d for 1 contact", year), "1 mail written.",
		"Mails usually leave within a minute.")
	p.get(statements).sees("Waiting")
}

// The file has no font for a name: the person who prints is told before, and can print the page instead.
func TestALetterThatNoFontHasIsToldBefore(t *testing.T) {
	s := anySite(t)
	viewer, amelia := s.generous()
	p := s.member(viewer.account, access.Editor)
	first, last := "ᏣᎳᎩ", "Smith"
	in := crm.ContactInput{FirstName: &first, LastName: &last,
		Addresses: &[]crm.Address{{Line1: "12 Harbor Street", City: "Boston", State: "MA", Zipcode: "02110",
			Country: "USA"}}}
	succeed(t, in.Validate(nil, true, "US", now))
	made := must(s.store.CreateContact(t.Context(), p.account.Number, in, crm.Force))(t)
	p.get("contacts/print").sees("2 contacts in one PDF file",
		"shows boxes for some letters in the name or address of 1 contact: ᏣᎳᎩ Smith")
	for contact, boxes := range map[int64]bool{amelia: false, made.ID: true} {
		gift := p.org("/gifts/" + s.donation(p.account, contact, `"amount":25,"method":"check","transacted_at":"%s"`,
			now.Format("2006-01-02")).Code)
		for _, page := range []answer{p.get(fmt.Sprintf("contacts/%d/statement?year=%d", contact, now.Year())),
			p.get(gift + "/thank"), p.follow(gift + "/receipt")} {
			page.is(200)
			equal(t, strings.Contains(page.words(), "The PDF file shows boxes"), boxes,
				"it is wrong that the page tells of boxes: %v", !boxes)
		}
	}
}

// What a contact has given is exact in currencies without decimals and with three: in the list, in its order, in a
// file and in filters.
func TestTotalsAreExactInEveryCurrency(t *testing.T) {
	s := anySite(t)
	for _, test := range []struct {
		currency, one, two string // two gifts
		shown, file        string // their sum on pages and in files
		more               string // the least that is more
		other              string // what someone else gave, who comes first by the total
	}{
		{"JPY", "5510", "7", "¥5,517", "5517", "5518", "5520"},
		{"KWD", "12.345", "0.001", "12.346 KWD", "12.346", "12.347", "12.35"},
		{"USD", "5510.50", "0.05", "$5,510.55", "5510.55", "5510.56", "5510.6"},
	} {
		t.Run(test.currency, func(t *testing.T) {
			p := s.member(s.organization("Harbor "+test.currency), access.Editor)
			succeed(t, s.store.SetAccountSettings(t.Context(), p.account.Number,
				access.AccountSettingsInput{Currency: &test.currency}))
			ada, bo := s.newcomer(p.account, "Ada", "Lund").ID, s.newcomer(p.account, "Bo", "Ek").ID
			for contact, amounts := range map[int64][]string{ada: {test.one, test.two}, bo: {test.other}} {
				for _, amount := range amounts {
					s.donation(p.account, contact, `"amount":%s,"method":"check","transacted_at":"2025-12-30"`, amount)
				}
			}
			p.get("contacts").sees(test.shown)
			p.get(fmt.Sprintf("contacts/%d", ada)).sees("Total " + test.shown + " 2 gifts")
			rows := p.csvOf("/contacts/export?sort=-total_contributions",
				"harbor-"+strings.ToLower(test.currency)+"-contacts-")
			column := slices.Index(rows[0], "Total given")
			if column < 0 || len(rows) != 3 || rows[1][1] != "Bo" || rows[2][column] != test.file {
				t.Errorf("the file is %q, want Bo and then %s", rows, test.file)
			}
			for query, want := range map[string]string{"max": "Ada", "min": "Ada Bo", "least": "Bo"} {
				filter := map[string]string{"max": "total_contributions_max=" + test.file,
					"min": "total_contributions_min=" + test.file, "least": "total_contributions_min=" +
						test.more}[query]
				var names []string
				for _, row := range p.csvOf("/contacts/export?"+filter, "harbor-")[1:] {
					names = append(names, row[1])
				}
				equal(t, strings.Join(names, " "), want, "%s finds", filter)
			}
		})
	}
}

// A company's plan is called by the name of the company, on its page and in the list.
func TestThePlanOfACompanyHasItsName(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	company := s.contact(p, "", "", func(in *crm.ContactInput) {
		in.FirstName, in.LastName, in.Company, in.IsCompany = nil, nil, new("Blue Heron Books"), new(true)
	})
	var id int64
	must(fmt.Sscan(idIn(company), &id))(t)
	code := s.plan(p.account, id, "monthly")
	p.get("plans/"+code).sees("$7.50 monthly from Blue Heron Books", "Contact Blue Heron Books")
	p.get("plans").sees("Blue Heron Books")
	p.get("plans/export?format=csv").has(",company\n", ",Blue Heron Books\n")
}

// A refund of a gift with a covered fee is split between the two, and every column of the gift's page adds up.
func TestTheColumnsOfARefundAddUp(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	contact := s.contact(p, "Zoë", "Okafor")
	gift := p.give(contact, "514.80", "2026-01-31", "fee", "14.80", "fee_covered", "14.80")
	p.get(gift).sees("Entry Date Gift Covered fee Paid Payment Jan 31, 2026 $500 $14.80 $514.80 Total $500 $14.80 " +
		"$514.80")
	asked := p.post(gift+"/refund", "amount", "10", "seen", seen(p.get(gift)))
	asked.sees("$9.71 will be subtracted from the totals for Jan 31, 2026. The other $0.29 is a part of the covered " +
		"fee, which totals do not count.")
	p.follow(gift+"/refund", "amount", "10", "seen", seen(asked), "decision", "record").
		sees("-$9.71 -$0.29 -$10 Net after refunds $490.29 $14.51 $504.80",
			"Totals count the gift, not the covered fee.")
	p.get(contact).sees("Total $504.80 1 gift $14.51 of it covered fees", "This year $504.80", "Largest gift $504.80")
	p.get("gifts").sees("$490.29 from 1 gift (covered fees not counted)", "$504.80 from Zoë Okafor")
	p.get(contact+"/statement?year=2026").sees("Total $504.80", "$14.51 of the total covered processing fees.")
	p.get("donors?year=2026").sees("1 donor gave in 2026. Covered fees are not counted.", "Zoë Okafor 1 $490.29")
	p.get("donors?year=2024").lacks("Covered fees")
}

// A segment that was saved with an order is exported in that order.
func TestASegmentIsExportedInItsOrder(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	for _, last := range []string{"Moss", "Abel", "Zorn", "Kerr"} {
		s.newcomer(p.account, "Ada", last, "vip")
	}
	p.follow("segments", "name", "VIPs", "query", "tag=vip&sort=-last_name")
	all, err := s.store.Segments(t.Context(), p.account.Number)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	var names []string
	for _, row := range p.csvOf("/contacts/export?"+all[0].Query, "harbor-contacts-")[1:] {
		names = append(names, row[3])
	}
	equal(t, strings.Join(names, " "), "Zorn Moss Kerr Abel", "the file")
}

// TestListsAreExportedAsTheyAreShown: the file has what the list shows on all its pages, a viewer may have it, and a
// person of another organization may not.
func TestListsAreExportedAsTheyAreShown(t *testing.T) {
	s := anySite(t)
	p, contact := s.generous()
	for i := range 60 {
		s.contact(p, fmt.Sprint("Many", i), "=1+1", tagged("many"))
	}
	s.campaign(p.account, `{"title": "Gala"}`)
	for _, gift := range []string{`"amount":50,"method":"check"`, `"amount":60,"method":"cash"`} {
		s.donation(p.account, contact, gift+`,"transacted_at":"2025-12-31"`)
	}
	other := s.newcomer(p.account, "Bo", "Ek").ID
	s.donation(p.account, other, `"amount":7.50,"method":"cash","transacted_at":"2026-01-02","plan_id":%q`,
		s.plan(p.account, other, "monthly"))
	// a donor, too
	s.donation(p.account, other, `"amount":9.50,"currency":"EUR","method":"cash","transacted_at":"2025-01-02"`)
	s.plan(p.account, contact, "yearly")
	rows := func(list, query string) [][]string {
		t.Helper()
		return p.csvOf("/"+list+"/export?"+query, "harbor-light-"+list+"-")
	}
	if rows := rows("contacts", "tag=many&format=csv"); len(rows) != 61 || rows[0][1] != "First name" ||
		rows[1][1] != "Many0" || rows[1][3] != "'=1+1" {
		t.Errorf("%d rows: %q and so on", len(rows), rows[:min(2, len(rows))])
	}
	if rows := rows("gifts", "method=cash&from=2025-02-01&to=2025-12-31"); len(rows) != 2 || rows[1][3] != "60" {
		t.Errorf("the gifts are %q", rows)
	}
	if rows := rows("campaigns", ""); len(rows) != 2 || rows[1][1] != "Gala" {
		t.Errorf("the campaigns are %q", rows)
	}
	if rows := rows("plans", "frequency=monthly"); len(rows) != 2 || rows[1][2] != "Bo" || rows[1][10] != "7.5" ||
		rows[1][12] != "2025-01-31" {
		t.Errorf("the plans are %q", rows)
	}
	for query, want := range map[string]string{"year=2025": "Amelia 2 110 USD |Bo 1 0 USD 9.5 EUR|",
		"year=2026&new=1":    "",
		"year=2026&lapsed=1": "Amelia 2 110 USD |", "year=2026&returning=1": "Bo 1 7.5 USD |"} {
		got := ""
		for _, row := range rows("donors", query)[1:] {
			got += strings.Join(append(row[1:2], row[len(row)-4:]...), " ") + "|"
		}
		equal(t, got, want, "the donors of %s", query)
	}
	p.get("donors/export?year=x").leads(p.org("/donors?year=x"))
	p.get("plans/export?status=gone").leads(p.org("/plans?status=gone"))
	lines := p.get("contacts/export?format=jsonl&q=amelia").with("Content-Type", "application/jsonl")
	if strings.Count(lines.body, "\n") != 1 || !strings.HasPrefix(lines.body,
		fmt.Sprintf(`{"id":%d,"first_name":"Amelia",`, contact)) {
		t.Error(lines.body)
	}
	if book := p.get("contacts/export?format=xlsx"); !strings.HasPrefix(book.body, "PK") {
		t.Errorf("a workbook begins with %.10q", book.body)
	}
}

// plan makes a plan of $7.50 and is its public id.
func (s *site) plan(account access.Account, contact int64, frequency string) string {
	s.t.Helper()
	in, faults, err := giving.DecodePlan(doc.NewBody(fmt.Appendf(nil,
		`{"contact_id":%d,"amount":7.50,"method":"card","frequency":%q,"start_at":"2025-01-31"}`, contact, frequency)))
	if err == nil {
		err = in.Validate(faults, true, "US", now)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	made := must(s.store.CreatePlan(s.t.Context(), account.Number, in))(s.t)
	return made.Code
}

// csvOf downloads a file.
func (p *person) csvOf(path, name string) [][]string {
	p.site.t.Helper()
	a := p.get(p.org(path))
	a.is(200)
	if got := a.header.Get("Content-Disposition"); !strings.HasPrefix(got, `attachment; filename="`+name) ||
		!strings.HasSuffix(got, `.csv"`) {
		p.site.t.Errorf("%s is called %q", path, got)
	}
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(a.body, "\ufeff"))).ReadAll()
	if err != nil {
		p.site.t.Fatalf("%s: %v", path, err)
	}
	return rows
}

// TestOnlyAnOwnerErases: it takes the role and the name.
func TestOnlyAnOwnerErases(t *testing.T) {
	s := anySite(t)
	viewer, contact := s.generous()
	s.donation(viewer.account, contact, `"amount":50,"method":"check","transacted_at":"2025-12-31"`)
	owner := s.member(viewer.account, access.Owner)
	path := owner.org(fmt.Sprint("/contacts/", contact))
	viewer.get(path+"/data").is(200).has(fmt.Sprintf(`{"contact":{"id":%d,"first_name":"Amelia"`, contact),
		`"transactions":[{"id":"`)
	viewer.get(path).has(path + "/data")
	owner.get(path+"/erase").sees("Erase Amelia Okafor?", "Existing backups keep the data until they are deleted.")
	owner.post(path+"/erase", "name", "Amelia").is(422).sees("Nothing was erased.")
	owner.get(path).sees("Amelia Okafor")
	owner.follow(path+"/erase", "name", " amelia  okafor ").sees("The contact was erased.", "View progress")
	owner.get("jobs/1").sees("Erase 1 contact", "In progress").hides("Stop this change")
	owner.done("jobs/1", "Done", "Their details were removed from gifts, history and imports.")
	owner.get(path).sees("Erased contact", "$50").hides("Amelia", "Okafor", "Harbor Street", "/restore", path+"/erase",
		"/statement")
	owner.get("gifts").hides("Okafor")
	owner.get(path + "/statement?year=2025").is(404)
	owner.get("statements?year=2025").sees("One donor on this page was erased and has no statement.").hides("<article")
}
