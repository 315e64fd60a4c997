package console_test

import (
	"net/http"
	"strings"
	"testing"

	"donorbook/internal/crm/access"
)

func TestSettingsLeadOn(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Owner)
		p.makeKey("name", "K", "permission", "contacts:read", "expires", "never")
		p.post(p.org("/settings/people/invite"), "role", "viewer")
		s.member(p.account, access.Viewer)
		page := p.get(p.org("/settings"))
		p.sees(page, "API keys 1 active", "API reference", "People and invitations 2 members, 1 invited", p.account.ID)
		for _, address := range []string{p.org("/settings/integrations/api-keys"), p.org("/settings/people"), "/docs", "/console/profile"} {
			if !strings.Contains(page.body, `href="`+address+`"`) {
				t.Errorf("nothing leads to %s", address)
			}
		}
	})
}

// Each section of the settings is saved as a whole: all of it, or nothing.
func TestAnOrganizationIsRenamed(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Owner)
	save := p.org("/settings/organization")
	p.sees(p.follow(save, "name", " Harbor Light ", "timezone", "Europe/Lisbon"), "Organization saved.", "Harbor Light")
	wrong := p.post(save, "name", "", "timezone", "UTC")
	p.wantStatus(wrong, http.StatusUnprocessableEntity)
	p.sees(wrong, "Name is required")
	if wrong = p.post(save, "name", "Other", "timezone", "Mars/Olympus"); !strings.Contains(wrong.body, `value="Other"`) {
		t.Error("the refused form has lost the name")
	}
	if account, err := s.store.Account(t.Context(), p.account.ID); err != nil || account.Name != "Harbor Light" {
		t.Errorf("%v: the name is %q", err, account.Name)
	}
	p.wantSettings(access.AccountSettings{Currency: "USD", Timezone: "Europe/Lisbon"})
	p.sees(p.get(p.org("/settings/history")), "name from “Harbor” to “Harbor Light”", "from “UTC” to “Europe/Lisbon”")
	if n := strings.Count(p.get(p.org("/settings")).body, ">Save "); n != 4 {
		t.Errorf("%d buttons save, want one for each section", n)
	}
}

func TestAViewerSeesSettingsButChangesNothing(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Viewer)
	page := p.get(p.org("/settings"))
	p.sees(page, "API keys Managed by owners", "Thank-you texts Managed by editors", "Receipts Managed by owners", "Your role Viewer")
	if strings.Contains(page.body, "/settings/organization") || strings.Contains(page.body, "/settings/integrations/api-keys") || strings.Contains(page.body, "/settings/receipts") {
		t.Error("a viewer is offered what only owners may do")
	}
}

func TestOwnersSetWhatStatementsShow(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Owner)
		path := p.org("/settings/giving")
		p.sees(p.follow(path, "currency", "eur", "address", "1 Quay\r\n4000 Porto", "tax_id", "PT 123"), "Giving settings saved.", "1 Quay 4000 Porto")
		want := access.AccountSettings{Timezone: "UTC", Currency: "EUR", Address: "1 Quay\n4000 Porto", TaxID: "PT 123"}
		wrong := p.post(path, "currency", "XXY", "address", strings.Repeat("line\n", 9), "tax_id", "kept")
		p.wantStatus(wrong, http.StatusUnprocessableEntity)
		p.sees(wrong, "Currency must be a three-letter code, such as USD or EUR.", "Postal address must not have more than 8 lines.")
		for _, typed := range []string{`value="XXY"`, `value="kept"`, `value="Harbor"`} {
			if !strings.Contains(wrong.body, typed) {
				t.Errorf("the refused form has lost %s", typed)
			}
		}
		p.wantSettings(want)

		// The currency of an organization with gifts is not offered, and a form that was opened before the first gift is refused.
		s.donation(p.account, s.newcomer(p.account, "Ada", "Berg").ID, `"amount":25,"method":"cash","transacted_at":"2026-01-15"`)
		want.HasGifts = true
		page := p.get(p.org("/settings"))
		p.sees(page, "EUR Can’t be changed after the first gift")
		if strings.Contains(page.body, `name="currency"`) {
			t.Error("the currency of gifts can be typed")
		}
		late := p.post(path, "currency", "USD", "address", "", "tax_id", "")
		p.wantStatus(late, http.StatusUnprocessableEntity)
		p.sees(late, "Currency must stay EUR")
		p.wantSettings(want)
		p.follow(path, "address", "", "tax_id", "PT 123")
		want.Address = ""
		p.wantSettings(want)

		viewer := s.member(p.account, access.Viewer)
		page = viewer.get(viewer.org("/settings"))
		viewer.sees(page, "Currency EUR", "Postal address Not set", "Tax ID PT 123")
		if strings.Contains(page.body, "/settings/giving") {
			t.Error("a viewer is offered the form")
		}
	})
}

func (p *person) wantSettings(want access.AccountSettings) {
	p.site.t.Helper()
	if got, err := p.site.store.AccountSettings(p.site.t.Context(), p.account.Number); err != nil || got != want {
		p.site.t.Errorf("%v: %+v, want %+v", err, got, want)
	}
}
