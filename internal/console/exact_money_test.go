package console_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
)

// What a contact has given is exact in currencies without decimals and with three: in the list, in its order, in a file and in filters.
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
			succeed(t, s.store.SetAccountSettings(t.Context(), p.account.Number, access.AccountSettingsInput{Currency: &test.currency}))
			ada, bo := s.newcomer(p.account, "Ada", "Lund").ID, s.newcomer(p.account, "Bo", "Ek").ID
			for contact, amounts := range map[int64][]string{ada: {test.one, test.two}, bo: {test.other}} {
				for _, amount := range amounts {
					s.donation(p.account, contact, `"amount":%s,"method":"check","transacted_at":"2025-12-30"`, amount)
				}
			}
			p.get("contacts").sees(test.shown)
			p.get(fmt.Sprintf("contacts/%d", ada)).sees("Total " + test.shown + " 2 gifts")
			rows := p.csvOf("/contacts/export?sort=-total_contributions", "harbor-"+strings.ToLower(test.currency)+"-contacts-")
			column := slices.Index(rows[0], "Total given")
			if column < 0 || len(rows) != 3 || rows[1][1] != "Bo" || rows[2][column] != test.file {
				t.Errorf("the file is %q, want Bo and then %s", rows, test.file)
			}
			for query, want := range map[string]string{"max": "Ada", "min": "Ada Bo", "least": "Bo"} {
				filter := map[string]string{"max": "total_contributions_max=" + test.file, "min": "total_contributions_min=" + test.file, "least": "total_contributions_min=" + test.more}[query]
				var names []string
				for _, row := range p.csvOf("/contacts/export?"+filter, "harbor-")[1:] {
					names = append(names, row[1])
				}
				if got := strings.Join(names, " "); got != want {
					t.Errorf("%s finds %q, want %q", filter, got, want)
				}
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
	p.get(gift).sees("Entry Date Gift Covered fee Paid Payment Jan 31, 2026 $500 $14.80 $514.80 Total $500 $14.80 $514.80")
	asked := p.post(gift+"/refund", "amount", "10", "seen", seen(p.get(gift)))
	asked.sees("$9.71 will be subtracted from the totals for Jan 31, 2026. The other $0.29 is a part of the covered fee, which totals do not count.")
	p.follow(gift+"/refund", "amount", "10", "seen", seen(asked), "decision", "record").sees("-$9.71 -$0.29 -$10 Net after refunds $490.29 $14.51 $504.80",
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
	if got := strings.Join(names, " "); got != "Zorn Moss Kerr Abel" {
		t.Errorf("the file has %s", got)
	}

}
