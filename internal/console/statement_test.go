package console_test

import (
	"fmt"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
)

// generous is an organization with its settings, and a contact with an address.
func (s *site) generous() (p *person, contact int64) {
	account := s.organization("Harbor <Light>")
	address, id := "1 Quay\nBoston, MA 02110", "04-1234567"
	yes := true
	succeed(s.t, s.store.SetAccountSettings(s.t.Context(), account.Number, access.AccountSettingsInput{Address: &address, TaxID: &id, NoReturn: &yes}))
	first, last := "Amelia", "Okafor"
	in := crm.ContactInput{FirstName: &first, LastName: &last, Addresses: &[]crm.Address{{Line1: "12 Harbor Street", City: "Boston", State: "MA", Zipcode: "02110", Country: "USA"}}}
	succeed(s.t, in.Validate(nil, true, "US", now))
	made := must(s.store.CreateContact(s.t.Context(), account.Number, in, crm.Force))(s.t)
	return s.member(account, access.Viewer), made.ID
}

func TestAStatementListsWhatWasPaid(t *testing.T) {
	s := anySite(t)

	p, contact := s.generous()
	gala := s.campaign(p.account, `{"title": "Gala <b>"}`)
	s.donation(p.account, contact, `"amount":103,"fee":4,"fee_covered":3,"method":"card","transacted_at":"2025-03-09","campaign_id":%d`, gala.ID)
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
	a.is(200).sees("Harbor <Light> 1 Quay Boston, MA 02110 Tax ID: 04-1234567", "Amelia Okafor 12 Harbor Street Boston, MA 02110 Giving statement", "Giving statement for 2025",
		"Mar 9, 2025 Gala <b>", "$103.00", "$30.00 $50.00 less $20.00 refunded", "Jul 1, 2025 General", "€12.50", "Non-cash", "Total $133.00 and €12.50",
		"In 2025 you gave $133.00 and €12.50 to Harbor <Light>.", "No goods or services were provided in exchange for these gifts.", "Gifts of stock and in-kind gifts are listed without an amount",
		"Only gifts we received are listed; pledges are not. Refunds are subtracted. $3.00 of the total covered processing fees. Each currency has its own total.")
	for _, not := range []string{"$77", "$66", "$400", "$99", "$88", "2026-01", "<Light>"} {
		if text := a.body; strings.Contains(text, not) {
			t.Errorf("the statement says %q", not)
		}
	}
	if strings.Count(a.body, "<tr>") != 6 {
		t.Errorf("the statement has %d rows with its head and foot, want 6", strings.Count(a.body, "<tr>"))
	}
	p.get(fmt.Sprintf("contacts/%d/statement?year=2020", contact)).sees("No gifts in 2020.")
	p.get(fmt.Sprintf("contacts/%d/statement", contact)).sees("Giving statement for 2025") // last year, which people ask for
	p.get(fmt.Sprintf("contacts/%d/statement?year=20xx", contact)).is(422).sees("Year must be between 1900 and 2026.")
	if link := fmt.Sprintf(`href="%s"`, p.org(fmt.Sprintf("/contacts/%d/statement", contact))); !strings.Contains(p.get(fmt.Sprintf("contacts/%d", contact)).body, link) {
		t.Error("the contact's page does not lead to the statement")
	}

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
	if n := strings.Count(a.body, "<article"); n != len(want) {
		t.Errorf("%d statements, want %d", n, len(want))
	}
	for id, sums := range want {
		contact := must(s.store.ContactRecord(t.Context(), account.Number, id))(t)
		_, statement, _ := strings.Cut(a.words(), contact.FirstName+" "+contact.LastName+" Giving statement for 2026")
		statement, _, _ = strings.Cut(statement, "Thank you.")
		for currency, sum := range sums {
			if !strings.Contains(statement, "Total ") || !strings.Contains(statement[strings.Index(statement, "Total "):], text.MoneyExact(sum, currency)) {
				t.Errorf("the statement of %s does not sum up to %s: %s", contact.LastName, text.Money(sum, currency), statement)
			}
		}
	}
	p.get("statements?year=2019").sees("No contacts gave in 2019.")
	a.sees("Statements show your address and tax ID. At least one is missing. Ask an owner")

}

// No request makes more than a page of statements, and each donor is on one page.
func TestManyStatementsComeInPages(t *testing.T) {
	s := anySite(t)
	p, _ := s.generous()
	for i := range 60 {
		gift := `"amount":%d,"method":"cash","transacted_at":"2025-01-15"`
		if i%7 == 0 {
			gift += `,"currency":"EUR"`
		}
		s.donation(p.account, s.newcomer(p.account, "Ada", fmt.Sprint("Number", i)).ID, gift, i+1)
	}
	first := p.get("statements?year=2025")
	first.sees("60 donors gave in 2025.", "Showing up to 50 at a time. Print each batch separately.", "Ada Number0 ", "Ada Number49 ")
	second := p.get(first.link(t, "Next"))
	second.sees("Ada Number50 ", "Ada Number59 ")
	for page, want := range map[*answer]int{&first: 50, &second: 10} {
		if n := strings.Count(page.body, "<article"); n != want {
			t.Errorf("%d statements, want %d", n, want)
		}
	}
	if back := p.get(second.link(t, "Previous")); back.words() != first.words() {
		t.Errorf("the way back leads to %s", back.words())
	}
}

// The statements of a list are those of its donors, and of no one else.
func TestStatementsAreThoseOfTheList(t *testing.T) {
	s := anySite(t)

	p, amelia := s.generous()
	s.donation(p.account, amelia, `"amount":10,"method":"cash","transacted_at":"2024-05-01"`)
	s.donation(p.account, amelia, `"amount":20,"method":"cash","transacted_at":"2025-05-01"`)
	s.donation(p.account, s.newcomer(p.account, "Nora", "New").ID, `"amount":30,"method":"cash","transacted_at":"2025-06-01"`)
	s.donation(p.account, s.newcomer(p.account, "Emil", "Euro").ID, `"amount":40,"currency":"EUR","method":"cash","transacted_at":"2025-06-01"`)
	for kind, want := range map[string]string{"": "Amelia Nora Emil", "new": "Nora Emil", "returning": "Amelia"} {
		list := p.get("donors?year=2025&" + kind + "=1")
		if kind != "" && !strings.Contains(list.body, fmt.Sprintf(`<input type="hidden" name="%s" value="1">`, kind)) {
			t.Errorf("the button does not lead to %s donors", kind)
		}
		a := p.get("statements?year=2025&" + kind + "=1")
		for _, name := range []string{"Amelia", "Nora", "Emil"} {
			if strings.Contains(a.words(), name) != strings.Contains(want, name) {
				t.Errorf("statements of %q donors: %s is wrong", kind, name)
			}
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
	s.donation(p.account, contact, `"amount":500,"method":"card","transacted_at":"2025-03-09","campaign_id":%d`, gala.ID)
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

func TestErasedPeopleHaveNoStatement(t *testing.T) {
	s := anySite(t)

	p, contact := s.generous()
	s.donation(p.account, contact, `"amount":20,"method":"cash","transacted_at":"2025-05-01"`)
	s.donation(p.account, s.newcomer(p.account, "Nora", "New").ID, `"amount":20,"method":"cash","transacted_at":"2025-05-01"`)
	succeed(t, s.store.ArchiveContact(t.Context(), p.account.Number, contact))
	must(s.store.EraseContact(t.Context(), p.account.Number, contact))(t)
	path := p.org(fmt.Sprintf("/contacts/%d", contact))
	p.get(path + "/statement?year=2025").is(404)
	p.get(path).hides("/statement")
	a := p.get("statements?year=2025")
	a.sees("Nora New", "One donor on this page was erased and has no statement.")
	if n := strings.Count(a.body, "<article"); n != 1 {
		t.Errorf("%d statements, want 1", n)
	}

}

func TestDonorsOfACampaignAndPages(t *testing.T) {
	s := anySite(t)

	p, _ := s.generous()
	gala := s.campaign(p.account, `{"title": "Gala"}`)
	for i := range 53 {
		s.donation(p.account, s.newcomer(p.account, "Ada", fmt.Sprint("Number", i)).ID, `"amount":%d,"method":"cash","transacted_at":"2025-01-15","campaign_id":%d`, i+1, gala.ID)
	}
	first := p.get(fmt.Sprintf("donors?campaign=%d", gala.ID))
	first.sees("Donors of Gala", "53 donors.", "Ada Number0 ada.number0@example.org 1 $1", "Ada Number49", "Next")
	next := first.link(t, "Next")
	second := p.get(next)
	second.sees("53 donors.", "Ada Number50", "Ada Number52", "Previous").hides("Number49<")
	if back := p.get(second.link(t, "Previous")); back.words() != first.words() {
		t.Errorf("the way back leads to %s", back.words())
	}
	p.get("donors?year=2026&lapsed=1").sees("53 donors gave in 2025 and not in 2026.")
	p.get("donors?year=2025&lapsed=1").sees("0 donors gave in 2024 and not in 2025.") // whatever year is chosen, the question makes sense
	p.get("donors").sees("Donors of 2026", "0 donors gave in 2026.", "No donors here")
	for _, wrong := range []string{"year=x", "year=1", "year=2027", "new=yes", "new=1&lapsed=1", "campaign=x"} {
		p.get("donors?" + wrong).is(422).sees("Please fix one filter.")
	}
	foreign := s.campaign(s.organization("Theirs"), `{"title": "Secret"}`)
	p.get(fmt.Sprintf("donors?campaign=%d", foreign.ID)).is(404)

}
