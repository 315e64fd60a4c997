package console_test

import (
	"strings"
	"testing"

	"donorbook/internal/crm/access"
)

// Each section of the settings is saved as a whole: all of it, or nothing.
func TestAnOrganizationIsRenamed(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	save := p.org("/settings/organization")
	p.follow(save, "name", " Harbor Light ", "timezone", "Europe/Lisbon").sees("Organization saved.", "Harbor Light")
	p.post(save, "name", "", "timezone", "UTC").is(422).sees("Name is required")
	p.post(save, "name", "Other", "timezone", "Mars/Olympus").has(`value="Other"`)
	if account, err := s.store.Account(t.Context(), p.account.ID); err != nil || account.Name != "Harbor Light" {
		t.Errorf("%v: the name is %q", err, account.Name)
	}
	p.wantSettings(access.AccountSettings{Currency: "USD", Timezone: "Europe/Lisbon"})
	p.get("settings/history").sees("name from “Harbor” to “Harbor Light”", "from “UTC” to “Europe/Lisbon”")
	if n := strings.Count(p.get("settings").body, ">Save "); n != 4 {
		t.Errorf("%d buttons save, want one for each section", n)
	}
}

func TestOwnersSetWhatStatementsShow(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	path := p.org("/settings/giving")
	p.follow(path, "currency", "eur", "address", "1 Quay\r\n4000 Porto", "tax_id", "PT 123").sees("Giving settings saved.", "1 Quay 4000 Porto")
	want := access.AccountSettings{Timezone: "UTC", Currency: "EUR", Address: "1 Quay\n4000 Porto", TaxID: "PT 123"}
	p.post(path, "currency", "XXY", "address", strings.Repeat("line\n", 9), "tax_id", "kept").is(422).sees("Currency must be a three-letter code, such as USD or EUR.", "Postal address must not have more than 8 lines.").has(`value="XXY"`, `value="kept"`, `value="Harbor"`)
	p.wantSettings(want)

	// The currency of an organization with gifts is not offered, and a form that was opened before the first gift is refused.
	s.donation(p.account, s.newcomer(p.account, "Ada", "Berg").ID, `"amount":25,"method":"cash","transacted_at":"2026-01-15"`)
	want.HasGifts = true
	p.get("settings").sees("EUR Can’t be changed after the first gift").hides(`name="currency"`)
	p.post(path, "currency", "USD", "address", "", "tax_id", "").is(422).sees("Currency must stay EUR")
	p.wantSettings(want)
	p.follow(path, "address", "", "tax_id", "PT 123")
	want.Address = ""
	p.wantSettings(want)

	viewer := s.member(p.account, access.Viewer)
	viewer.get("settings").sees("Currency EUR", "Postal address Not set", "Tax ID PT 123").hides("/settings/giving")

}

func (p *person) wantSettings(want access.AccountSettings) {
	p.site.t.Helper()
	if got, err := p.site.store.AccountSettings(p.site.t.Context(), p.account.Number); err != nil || got != want {
		p.site.t.Errorf("%v: %+v, want %+v", err, got, want)
	}
}
