package console_test

import (
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
	s, p := signedIn(t, access.Owner)
	p.get("settings/people").has(`<option value="viewer" selected>Viewer: can view`)
	sent := p.post("settings/people/invite", "email", "bo@example.org", "role", "viewer")
	sent.is(303)
	made := p.get(sent.location())
	made.sees("Invitation link", "Send this link to bo@example.org", "joins as a viewer", "Open invitations")
	link := shownLink.FindStringSubmatch(made.body)[1]
	s.visitor().get(link).is(200)
	again, list := p.get(sent.location()), p.get("settings/people")
	again.sees("The invitation link was shown once", "Open invitations")
	list.sees("bo@example.org", p.user.Name)
	if strings.Contains(again.body+list.body+sent.location(), link[len("/console/invite/"):]) {
		t.Error("the link is shown again")
	}
	invitations, err := s.store.Invitations(t.Context(), p.account.Number)
	if err != nil || len(invitations) != 1 {
		t.Fatalf("%v: %+v", err, invitations)
	}
	back := p.org("/settings/people/invitations/" + invitations[0].ID + "/revoke")
	p.follow(back).sees("Invitation canceled")
	s.visitor().get(link).is(410)
	p.post(back).is(404)

	p.post("settings/people/invite", "email", "bo", "role", "viewer").is(422).sees("Email must be a valid email address")
	p.post("settings/people/invite", "role", "boss").is(422)

}

func TestAnOwnerChangesRolesAndRemovesPeople(t *testing.T) {
	s, ana := signedIn(t, access.Owner)
	bo := s.member(ana.account, access.Viewer)
	ana.follow(ana.about(bo, "role"), "role", "editor").sees(bo.user.Name + "’s role is now editor")
	if bo.role() != access.Editor {
		t.Errorf("the role is %s", bo.role())
	}
	ana.post(ana.about(bo, "role"), "role", "boss").is(422).sees("must be one of owner, editor, viewer")
	ana.follow(ana.about(bo, "remove")).sees(bo.user.Name + " removed.")
	bo.get("").is(404)
	ana.post(ana.about(bo, "remove")).is(404)
	ana.post(ana.about(bo, "role"), "role", "owner").is(404)
	for _, nobody := range []string{"0", "x", "-1"} {
		ana.post("settings/people/" + nobody + "/remove").is(404)
	}

}

func TestTheOnlyOwnerIsToldWhyTheyStay(t *testing.T) {
	s, ana := signedIn(t, access.Owner)
	s.member(ana.account, access.Editor)
	ana.get("settings/people").sees("Only owner")
	for _, a := range []answer{ana.post(ana.about(ana, "role"), "role", "viewer"), ana.post(ana.about(ana, "remove"))} {
		a.is(422).sees("An organization needs at least one owner. Make someone else an owner first.")
	}
	if ana.role() != access.Owner {
		t.Errorf("the role is %s", ana.role())
	}
}

func TestAnybodyMayLeave(t *testing.T) {
	s, ana := signedIn(t, access.Owner)
	bo := s.member(ana.account, access.Viewer)
	bo.get("settings/people").sees(ana.user.Name, "Leave").hides("/role", "/invite", "Remove")
	bo.follow(bo.about(bo, "remove")).sees("You left Harbor.", "You aren’t a member of any organization")
	if bo.role() != 0 {
		t.Errorf("the role is %s", bo.role())
	}
}
