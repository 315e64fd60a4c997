package console

import (
	"net/http"

	"donorbook/internal/crm/access"
)

// peopleView is the members of the organization and its open invitations.
type peopleView struct {
	Form        *form // of an invitation
	Problem     *form // with what was refused about a member
	Members     rows[access.Member]
	Invitations rows[access.Invitation]
	Roles       []option
	Owners      int
	Back        string // the page numbers, for forms that lead back here
	Link        string // of an invitation that was just made, this once
	Invited     access.Invitation
	Shown       bool // the link was shown before
}

var roleOptions = newOptions("viewer=Viewer: can view", "editor=Editor: can view and edit",
	"owner=Owner: can manage everything")

func (c *Console) peoplePage(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	return c.showPeople(w, r, v, f, peopleView{})
}

// invitedPage is the page of people with the link of an invitation that was just made.
func (c *Console) invitedPage(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	token := takeSecret(w, r)
	if token == "" {
		return c.showPeople(w, r, v, f, peopleView{Shown: true})
	}
	invitation, err := c.store.Invitation(r.Context(), token)
	if err != nil {
		return err
	}
	link := c.options.Proxies.BaseURL(r) + root + "/invite/" + token
	return c.showPeople(w, r, v, f, peopleView{Link: link, Invited: invitation})
}

// showPeople fills in what the page shows besides what the request was about.
func (c *Console) showPeople(w http.ResponseWriter, r *http.Request, v visit, f *form, view peopleView) error {
	view.Form, view.Problem = f.ifSentTo("/invite"), newForm()
	view.Form.setUnsent("role", access.Editor.String())
	if !f.sentTo("/invite") { // it was about a member, who has no field on the page
		for _, fault := range f.Faults {
			view.Problem.fail("", labeled(fault))
		}
	}
	path := v.path("/settings/people")
	view.Roles, view.Back = roleOptions, samePage("", r)
	members, err := c.store.Members(r.Context(), v.account())
	if err != nil {
		return err
	}
	for _, m := range members {
		if m.Role == access.Owner {
			view.Owners++
		}
	}
	view.Members = paged(members, r, path, pageParameter)
	view.Members.Pager.Label = "Pages of members"
	if v.membership.Role >= access.Owner {
		invitations, err := c.store.Invitations(r.Context(), v.account())
		if err != nil {
			return err
		}
		view.Invitations = paged(invitations, r, path, invitedParameter)
		view.Invitations.Pager.Label = "Pages of invitations"
	}
	return c.render(w, r, v, "people", page{Title: "People", Section: "settings", Form: f, Data: view})
}

func toPeople(w http.ResponseWriter, r *http.Request, v visit, said string) error {
	return redirect(w, r, samePage(v.path("/settings/people"), r), notice{Text: said})
}

// invite makes a link, which the next page shows once.
func (c *Console) invite(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	role, err := access.ParseRole(f.Value("role"))
	if err != nil {
		return err
	}
	_, token, err := c.store.Invite(r.Context(), v.membership.Account, v.session.User, role, f.Value("email"))
	if err != nil {
		return err
	}
	path := v.path("/settings/people/invited")
	leaveSecret(w, path, token)
	return redirect(w, r, path)
}

func (c *Console) revokeInvitation(w http.ResponseWriter, r *http.Request, v visit, _ *form) error {
	if err := c.store.RevokeInvitation(r.Context(), v.account(), r.PathValue("invitation")); err != nil {
		return err
	}
	return toPeople(w, r, v, "The invitation was canceled. Its link no longer works.")
}

func (c *Console) setRole(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	member, err := c.memberOf(r, v)
	if err != nil {
		return err
	}
	role, err := access.ParseRole(f.Value("role"))
	if err != nil {
		return err
	}
	if err := c.store.SetRole(r.Context(), v.account(), v.id, role); err != nil {
		return err
	}
	return toPeople(w, r, v, member.User.Name+"’s role is now "+role.String()+".")
}

// removeMember lets owners remove any member, and every member leave.
func (c *Console) removeMember(w http.ResponseWriter, r *http.Request, v visit, _ *form) error {
	self := v.id == v.session.User.ID
	if !self && v.membership.Role < access.Owner {
		return forbidden(v.membership, access.Owner)
	}
	member, err := c.memberOf(r, v)
	if err != nil {
		return err
	}
	if err := c.store.RemoveMember(r.Context(), v.account(), v.id); err != nil {
		return err
	}
	if self {
		return toProfile(w, r, "You left "+v.membership.Account.Name+".")
	}
	return toPeople(w, r, v, member.User.Name+" was removed. Their open invitations no longer work.")
}

// memberOf is the member in the path.
func (c *Console) memberOf(r *http.Request, v visit) (access.Member, error) {
	members, err := c.store.Members(r.Context(), v.account())
	return pick(members, err, func(m access.Member) bool { return m.User.ID == v.id })
}
