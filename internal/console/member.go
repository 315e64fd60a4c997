package console

import (
	"errors"
	"net/http"
	"strconv"

	"donorbook/internal/crm"
)

// peopleView is everybody who belongs to the organization, or is invited.
type peopleView struct {
	Form        *form // of an invitation
	Problem     *form // with what was refused about a member
	Members     []crm.Member
	Invitations []crm.Invitation
	Roles       []option
	Owners      int

	MemberPager, InvitationPager pager
	Back                         string // the page numbers, for forms that lead back here

	Link    string // of an invitation that was just made, this once
	Invited crm.Invitation
	Shown   bool // the link was shown before
}

var roleOptions = newOptions("viewer=Viewer: sees contacts, campaigns and chapters", "editor=Editor: also changes contacts and campaigns",
	"owner=Owner: also decides about people, keys and chapters")

func (c *Console) peoplePage(w http.ResponseWriter, r *http.Request, v visit) error {
	return c.showPeople(w, r, v, http.StatusOK, peopleView{})
}

// invitedPage is the page of people with the link of an invitation that was just made.
func (c *Console) invitedPage(w http.ResponseWriter, r *http.Request, v visit) error {
	token := takeSecret(w, r)
	if token == "" {
		return c.showPeople(w, r, v, http.StatusOK, peopleView{Shown: true})
	}
	invitation, err := c.store.Invitation(r.Context(), token)
	if err != nil {
		return err
	}
	link := c.options.Proxies.BaseURL(r) + root + "/invite/" + token
	return c.showPeople(w, r, v, http.StatusOK, peopleView{Link: link, Invited: invitation})
}

// showPeople fills in what the page shows besides what the request was about.
func (c *Console) showPeople(w http.ResponseWriter, r *http.Request, v visit, status int, view peopleView) error {
	if view.Form == nil {
		view.Form = newForm()
		view.Form.set("role", crm.Editor.String())
	}
	if view.Problem == nil {
		view.Problem = newForm()
	}
	view.Roles = roleOptions
	path, query := v.path("/settings/people"), r.URL.Query()
	view.Back = samePage("", query)
	members, err := c.store.Members(r.Context(), v.account())
	if err != nil {
		return err
	}
	for _, m := range members {
		if m.Role == crm.Owner {
			view.Owners++
		}
	}
	view.Members, view.MemberPager = paged(members, path, query, pageParameter)
	view.MemberPager.Label = "Pages of members"
	if v.membership.Role >= crm.Owner {
		invitations, err := c.store.Invitations(r.Context(), v.account())
		if err != nil {
			return err
		}
		view.Invitations, view.InvitationPager = paged(invitations, path, query, invitedParameter)
		view.InvitationPager.Label = "Pages of invitations"
	}
	return c.render(w, r, v, status, "people", page{Title: "People", Section: "settings", Data: view})
}

// invite makes a link, which the next page shows once.
func (c *Console) invite(w http.ResponseWriter, r *http.Request, v visit) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	role, err := crm.ParseRole(f.Value("role"))
	var token string
	if err == nil {
		_, token, err = c.store.Invite(r.Context(), v.membership.Account, v.session.User, role, f.Value("email"))
	}
	if err != nil {
		if err := f.refuse(err); err != nil {
			return err
		}
		return c.showPeople(w, r, v, http.StatusUnprocessableEntity, peopleView{Form: f})
	}
	path := v.path("/settings/people/invited")
	leaveSecret(w, path, token)
	return redirect(w, r, path)
}

func (c *Console) revokeInvitation(w http.ResponseWriter, r *http.Request, v visit) error {
	if err := c.store.RevokeInvitation(r.Context(), v.account(), r.PathValue("invitation")); err != nil {
		return err
	}
	leaveNotice(w, notice{Text: "The invitation is taken back. Its link works no longer."})
	return redirect(w, r, samePage(v.path("/settings/people"), r.URL.Query()))
}

func (c *Console) setRole(w http.ResponseWriter, r *http.Request, v visit) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	member, err := c.memberOf(r, v)
	if err != nil {
		return err
	}
	role, err := crm.ParseRole(f.Value("role"))
	if err == nil {
		err = c.store.SetRole(r.Context(), v.account(), member.User.ID, role)
	}
	if err != nil {
		return c.refuseMember(w, r, v, err)
	}
	leaveNotice(w, notice{Text: member.User.Name + " now has the role " + role.String() + "."})
	return redirect(w, r, samePage(v.path("/settings/people"), r.URL.Query()))
}

// removeMember lets owners send anybody away, and everybody leave.
func (c *Console) removeMember(w http.ResponseWriter, r *http.Request, v visit) error {
	self := r.PathValue("user") == strconv.FormatInt(v.session.User.ID, 10)
	if !self && v.membership.Role < crm.Owner {
		return forbidden(v.membership, crm.Owner)
	}
	member, err := c.memberOf(r, v)
	if err == nil {
		err = c.store.RemoveMember(r.Context(), v.account(), member.User.ID)
	}
	if err != nil {
		return c.refuseMember(w, r, v, err)
	}
	if self {
		leaveNotice(w, notice{Text: "You have left " + v.membership.Account.Name + "."})
		return redirect(w, r, root+"/profile")
	}
	leaveNotice(w, notice{Text: member.User.Name + " is no longer a member. The links they invited people with work no longer."})
	return redirect(w, r, samePage(v.path("/settings/people"), r.URL.Query()))
}

// refuseMember says on the page why somebody stays what they are.
func (c *Console) refuseMember(w http.ResponseWriter, r *http.Request, v visit, err error) error {
	var invalid *crm.Invalid
	if !errors.As(err, &invalid) {
		return err
	}
	problem := newForm()
	for _, fault := range invalid.Faults {
		problem.fail("", labeled(fault))
	}
	return c.showPeople(w, r, v, http.StatusUnprocessableEntity, peopleView{Problem: problem})
}

// memberOf is the member in the path.
func (c *Console) memberOf(r *http.Request, v visit) (crm.Member, error) {
	members, err := c.store.Members(r.Context(), v.account())
	if err != nil {
		return crm.Member{}, err
	}
	for _, m := range members {
		if strconv.FormatInt(m.User.ID, 10) == r.PathValue("user") {
			return m, nil
		}
	}
	return crm.Member{}, crm.ErrNotFound
}
