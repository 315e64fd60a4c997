package organization

import (
	"donorbook/internal/console/page"
	"donorbook/internal/crm/access"
)

// peopleView is the members of the organization and its open invitations.
type peopleView struct {
	Form        *page.Form // of an invitation
	Problem     *page.Form // with what was refused about a member
	Members     page.Part[access.Member]
	Invitations page.Part[invitationRow]
	Roles       []page.Option
	Owners      int
	Back        string // the page numbers, for forms that lead back here
	Link        string // of an invitation that was just made, this once
	Invited     access.Invitation
	Shown       bool // the link was shown before
	Mails       bool // mail can be sent
}

var roleOptions = page.NewOptions("viewer=Viewer: can view", "editor=Editor: can view and edit",
	"owner=Owner: can manage everything")

func PeoplePage(r *page.Request) error {
	return showPeople(r, peopleView{})
}

// InvitedPage is the page of people with the link of an invitation that was just made.
func InvitedPage(r *page.Request) error {
	token := r.TakeSecret()
	if token == "" {
		return showPeople(r, peopleView{Shown: true})
	}
	invitation, err := r.Store.Invitation(r.Context(), token)
	if err != nil {
		return err
	}
	link := r.Options.Proxies.BaseURL(r.Request) + page.Root + "/invite/" + token
	return showPeople(r, peopleView{Link: link, Invited: invitation})
}

// showPeople fills in what the page shows besides what the request was about.
func showPeople(r *page.Request, view peopleView) error {
	view.Form, view.Problem = r.Form.IfSentTo("/invite"), page.NewForm()
	view.Form.SetUnsent("role", access.Viewer.String())
	if !r.Form.SentTo("/invite") { // it was about a member, who has no field on the page
		for _, fault := range r.Form.Faults {
			view.Problem.Fail("", page.LabeledFault(fault))
		}
	}
	path := r.Path("/settings/people")
	view.Roles, view.Back, view.Mails = roleOptions, r.SamePage(""), r.Store.Mails()
	members, err := r.Store.Members(r.Context(), r.Account())
	if err != nil {
		return err
	}
	for _, m := range members {
		if m.Role == access.Owner {
			view.Owners++
		}
	}
	view.Members = page.Paged(r, members, path, page.PageParameter)
	view.Members.Pager.Label = "Pages of members"
	if r.Membership.Role >= access.Owner {
		invitations, err := r.Store.Invitations(r.Context(), r.Account())
		if err != nil {
			return err
		}
		mailed, err := invitationRows(r, invitations)
		if err != nil {
			return err
		}
		view.Invitations = page.Paged(r, mailed, path, page.InvitedParameter)
		view.Invitations.Pager.Label = "Pages of invitations"
	}
	return r.Render("people", page.View{Title: "People", Section: "settings", Form: r.Form, Data: view})
}

// toPeople leads back to the members after a change, unless that was refused.
func toPeople(r *page.Request, err error, said string) error {
	return r.Done(err, r.SamePage(r.Path("/settings/people")), page.Notice{Text: said})
}

// Invite makes a link, which the next page shows once.
func Invite(r *page.Request) error {
	role, err := access.ParseRole(r.Form.Value("role"))
	if err != nil {
		return err
	}
	ctx := r.Once(r.Always("/settings/people", "The invitation was created, but its link can’t be shown again. If you didn’t copy it, cancel the invitation and create a new one."))
	_, token, err := r.Store.Invite(ctx, r.Membership.Account, r.Session.User, role, r.Form.Value("email"))
	if err != nil {
		return err
	}
	path := r.Path("/settings/people/invited")
	page.LeaveSecret(r.W, path, token)
	return r.Redirect(path)
}

func RevokeInvitation(r *page.Request) error {
	err := r.Store.RevokeInvitation(r.Context(), r.Account(), r.PathValue("invitation"))
	return toPeople(r, err, "Invitation canceled. Its link no longer works.")
}

func SetRole(r *page.Request, member access.Member) (err error) {
	role, err := access.ParseRole(r.Form.Value("role"))
	if err == nil {
		err = r.Store.SetRole(r.Context(), r.Account(), r.ID, role)
	}
	return toPeople(r, err, member.User.Name+"’s role is now "+role.String()+".")
}

// RemoveMember lets owners remove any member, and every member leave.
func RemoveMember(r *page.Request) error {
	self := r.ID == r.Session.User.ID
	if !self && r.Membership.Role < access.Owner {
		return page.Forbidden(r.Membership, access.Owner)
	}
	member, err := MemberOf(r)
	if err != nil {
		return err
	}
	err = r.Store.RemoveMember(r.Context(), r.Account(), r.ID)
	if self {
		return r.Done(err, page.Root+"/profile", page.Notice{Text: "You left " + r.Membership.Account.Name + "."})
	}
	return toPeople(r, err, member.User.Name+" removed. The invitations they sent no longer work.")
}

// MemberOf is the member in the path.
func MemberOf(r *page.Request) (access.Member, error) {
	members, err := r.Store.Members(r.Context(), r.Account())
	return page.Pick(members, err, func(m access.Member) bool { return m.User.ID == r.ID })
}
