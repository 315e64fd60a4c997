package console

import (
	"donorbook/internal/crm/access"
)

// peopleView is the members of the organization and its open invitations.
type peopleView struct {
	Form        *form // of an invitation
	Problem     *form // with what was refused about a member
	Members     rows[access.Member]
	Invitations rows[invitationRow]
	Roles       []option
	Owners      int
	Back        string // the page numbers, for forms that lead back here
	Link        string // of an invitation that was just made, this once
	Invited     access.Invitation
	Shown       bool // the link was shown before
	Mails       bool // mail can be sent
}

var roleOptions = newOptions("viewer=Viewer: can view", "editor=Editor: can view and edit",
	"owner=Owner: can manage everything")

func (r *request) peoplePage() error {
	return r.showPeople(peopleView{})
}

// invitedPage is the page of people with the link of an invitation that was just made.
func (r *request) invitedPage() error {
	token := r.takeSecret()
	if token == "" {
		return r.showPeople(peopleView{Shown: true})
	}
	invitation, err := r.store.Invitation(r.Context(), token)
	if err != nil {
		return err
	}
	link := r.options.Proxies.BaseURL(r.Request) + root + "/invite/" + token
	return r.showPeople(peopleView{Link: link, Invited: invitation})
}

// showPeople fills in what the page shows besides what the request was about.
func (r *request) showPeople(view peopleView) error {
	view.Form, view.Problem = r.form.ifSentTo("/invite"), newForm()
	view.Form.setUnsent("role", access.Viewer.String())
	if !r.form.sentTo("/invite") { // it was about a member, who has no field on the page
		for _, fault := range r.form.Faults {
			view.Problem.fail("", labeled(fault))
		}
	}
	path := r.path("/settings/people")
	view.Roles, view.Back, view.Mails = roleOptions, r.samePage(""), r.store.Mails()
	members, err := r.store.Members(r.Context(), r.account())
	if err != nil {
		return err
	}
	for _, m := range members {
		if m.Role == access.Owner {
			view.Owners++
		}
	}
	view.Members = paged(r, members, path, pageParameter)
	view.Members.Pager.Label = "Pages of members"
	if r.membership.Role >= access.Owner {
		invitations, err := r.store.Invitations(r.Context(), r.account())
		if err != nil {
			return err
		}
		mailed, err := r.invitationRows(invitations)
		if err != nil {
			return err
		}
		view.Invitations = paged(r, mailed, path, invitedParameter)
		view.Invitations.Pager.Label = "Pages of invitations"
	}
	return r.render("people", page{Title: "People", Section: "settings", Form: r.form, Data: view})
}

func (r *request) toPeople(said string) error {
	return r.redirect(r.samePage(r.path("/settings/people")), notice{Text: said})
}

// invite makes a link, which the next page shows once.
func (r *request) invite() error {
	role, err := access.ParseRole(r.form.Value("role"))
	if err != nil {
		return err
	}
	ctx := r.once(r.always("/settings/people", "The invitation was created, but its link can’t be shown again. If you didn’t copy it, cancel the invitation and create a new one."))
	_, token, err := r.store.Invite(ctx, r.membership.Account, r.session.User, role, r.form.Value("email"))
	if err != nil {
		return err
	}
	path := r.path("/settings/people/invited")
	leaveSecret(r.w, path, token)
	return r.redirect(path)
}

func (r *request) revokeInvitation() error {
	if err := r.store.RevokeInvitation(r.Context(), r.account(), r.PathValue("invitation")); err != nil {
		return err
	}
	return r.toPeople("Invitation canceled. Its link no longer works.")
}

func (r *request) setRole(member access.Member) (err error) {
	role, err := access.ParseRole(r.form.Value("role"))
	if err != nil {
		return err
	}
	if err := r.store.SetRole(r.Context(), r.account(), r.id, role); err != nil {
		return err
	}
	return r.toPeople(member.User.Name + "’s role is now " + role.String() + ".")
}

// removeMember lets owners remove any member, and every member leave.
func (r *request) removeMember() error {
	self := r.id == r.session.User.ID
	if !self && r.membership.Role < access.Owner {
		return forbidden(r.membership, access.Owner)
	}
	member, err := r.memberOf()
	if err != nil {
		return err
	}
	if err := r.store.RemoveMember(r.Context(), r.account(), r.id); err != nil {
		return err
	}
	if self {
		return r.toProfile("You left " + r.membership.Account.Name + ".")
	}
	return r.toPeople(member.User.Name + " removed. The invitations they sent no longer work.")
}

// memberOf is the member in the path.
func (r *request) memberOf() (access.Member, error) {
	members, err := r.store.Members(r.Context(), r.account())
	return pick(members, err, func(m access.Member) bool { return m.User.ID == r.id })
}
