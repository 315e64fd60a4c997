package console_test

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"donorbook/internal/crm/access"
)

var shownLink = regexp.MustCompile(`<code id="link">https://[^/]+(/console/invite/[\w-]+)</code>`)

func (p *person) about(other *person, what string) string {
	return p.org("/settings/people/" + strconv.FormatInt(other.user.ID, 10) + "/" + what)
}

func (p *person) role() access.Role {
	p.site.t.Helper()
	m, _ := p.site.store.Membership(p.site.t.Context(), p.user.ID, p.account.ID)
	return m.Role
}

func TestAnInvitationLinkIsShownOnceAndCanBeTakenBack(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Owner)
		if form := p.get(p.org("/settings/people")); !strings.Contains(form.body, `<option value="viewer" selected>Viewer: can view`) {
			t.Error("the form does not propose a viewer")
		}
		sent := p.post(p.org("/settings/people/invite"), "email", "bo@example.org", "role", "viewer")
		p.wantStatus(sent, http.StatusSeeOther)
		made := p.get(sent.location())
		p.sees(made, "Invitation link", "Send this link to bo@example.org", "joins as a viewer", "Open invitations")
		link := shownLink.FindStringSubmatch(made.body)[1]
		s.visitor().wantStatus(s.visitor().get(link), http.StatusOK)
		again, list := p.get(sent.location()), p.get(p.org("/settings/people"))
		p.sees(again, "The invitation link was shown once", "Open invitations")
		p.sees(list, "bo@example.org", p.user.Name)
		if strings.Contains(again.body+list.body+sent.location(), link[len("/console/invite/"):]) {
			t.Error("the link is shown again")
		}
		invitations, err := s.store.Invitations(t.Context(), p.account.Number)
		if err != nil || len(invitations) != 1 {
			t.Fatalf("%v: %+v", err, invitations)
		}
		back := p.org("/settings/people/invitations/" + invitations[0].ID + "/revoke")
		p.sees(p.follow(back), "Invitation canceled")
		s.visitor().wantStatus(s.visitor().get(link), http.StatusGone)
		p.wantStatus(p.post(back), http.StatusNotFound)

		wrong := p.post(p.org("/settings/people/invite"), "email", "bo", "role", "viewer")
		p.wantStatus(wrong, http.StatusUnprocessableEntity)
		p.sees(wrong, "Email must be a valid email address")
		p.wantStatus(p.post(p.org("/settings/people/invite"), "role", "boss"), http.StatusUnprocessableEntity)
	})
}

func TestAnOwnerChangesRolesAndRemovesPeople(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		ana := s.member(s.organization("Harbor"), access.Owner)
		bo := s.member(ana.account, access.Viewer)
		ana.sees(ana.follow(ana.about(bo, "role"), "role", "editor"), bo.user.Name+"’s role is now editor")
		if bo.role() != access.Editor {
			t.Errorf("the role is %s", bo.role())
		}
		wrong := ana.post(ana.about(bo, "role"), "role", "boss")
		ana.wantStatus(wrong, http.StatusUnprocessableEntity)
		ana.sees(wrong, "must be one of owner, editor, viewer")
		ana.sees(ana.follow(ana.about(bo, "remove")), bo.user.Name+" removed.")
		bo.wantStatus(bo.get(bo.org("")), http.StatusNotFound)
		ana.wantStatus(ana.post(ana.about(bo, "remove")), http.StatusNotFound)
		ana.wantStatus(ana.post(ana.about(bo, "role"), "role", "owner"), http.StatusNotFound)
		for _, nobody := range []string{"0", "x", "-1"} {
			ana.wantStatus(ana.post(ana.org("/settings/people/"+nobody+"/remove")), http.StatusNotFound)
		}
	})
}

func TestTheOnlyOwnerIsToldWhyTheyStay(t *testing.T) {
	s := anySite(t)
	ana := s.member(s.organization("Harbor"), access.Owner)
	s.member(ana.account, access.Editor)
	ana.sees(ana.get(ana.org("/settings/people")), "Only owner")
	for _, a := range []answer{ana.post(ana.about(ana, "role"), "role", "viewer"), ana.post(ana.about(ana, "remove"))} {
		ana.wantStatus(a, http.StatusUnprocessableEntity)
		ana.sees(a, "An organization needs at least one owner. Make someone else an owner first.")
	}
	if ana.role() != access.Owner {
		t.Errorf("the role is %s", ana.role())
	}
}

func TestAnybodyMayLeave(t *testing.T) {
	s := anySite(t)
	ana := s.member(s.organization("Harbor"), access.Owner)
	bo := s.member(ana.account, access.Viewer)
	page := bo.get(bo.org("/settings/people"))
	bo.sees(page, ana.user.Name, "Leave")
	for _, control := range []string{"/role", "/invite", "Remove"} {
		if strings.Contains(page.body, control) {
			t.Errorf("a viewer is offered %s", control)
		}
	}
	bo.sees(bo.follow(bo.about(bo, "remove")), "You left Harbor.", "You aren’t a member of any organization")
	if bo.role() != 0 {
		t.Errorf("the role is %s", bo.role())
	}
}
