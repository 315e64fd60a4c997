package console_test

import (
	"net/http"
	"strings"
	"testing"

	"donorbook/internal/crm"
)

func TestSettingsLeadOn(t *testing.T) {
	eachSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), crm.Owner)
		p.makeKey("name", "K", "permission", "contacts:read", "expires", "never")
		p.post(p.org("/settings/people/invite"), "role", "viewer")
		s.member(p.account, crm.Viewer)
		page := p.get(p.org("/settings"))
		p.sees(page, "Integrations", "API keys 1 active", "API reference", "People and invitations 2 members, 1 invited", p.account.ID)
		for _, address := range []string{p.org("/settings/keys"), p.org("/settings/people"), "/docs", "/console/profile"} {
			if !strings.Contains(page.body, `href="`+address+`"`) {
				t.Errorf("nothing leads to %s", address)
			}
		}
	})
}

func TestAnOrganizationIsRenamed(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), crm.Owner)
	p.sees(p.follow(p.org("/settings/name"), "name", " Harbor Light "), "The name is now Harbor Light.")
	wrong := p.post(p.org("/settings/name"), "name", "")
	p.wantStatus(wrong, http.StatusUnprocessableEntity)
	p.sees(wrong, "Name is required")
	if account, err := s.store.Account(t.Context(), p.account.ID); err != nil || account.Name != "Harbor Light" {
		t.Errorf("%v: the name is %q", err, account.Name)
	}
}

func TestAViewerSeesSettingsButChangesNothing(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), crm.Viewer)
	page := p.get(p.org("/settings"))
	p.sees(page, "Only owners can create and revoke keys.", "Your role Viewer")
	if strings.Contains(page.body, "/settings/name") || strings.Contains(page.body, "/settings/keys") {
		t.Error("a viewer is offered what only owners may do")
	}
}
