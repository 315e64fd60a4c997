package console

import (
	"net/http"

	"donorbook/internal/crm"
)

// invitationView is the page behind an invitation's link.
type invitationView struct {
	Form       *form
	Invitation crm.Invitation
	Rights     string
	Token      string
	Here       string
	SignedIn   crm.User
}

const askAgain = "If you have joined already, sign in. Otherwise ask whoever invited you for a new link."

// rights says what a role may do.
func rights(role crm.Role) string {
	switch role {
	case crm.Owner:
		return "you will see and change everything, and decide about people, keys and chapters."
	case crm.Editor:
		return "you will see everything, and change contacts and campaigns."
	}
	return "you will see contacts, campaigns and chapters, and change nothing."
}

func (c *Console) invitationPage(w http.ResponseWriter, r *http.Request) error {
	invitation, err := c.store.Invitation(r.Context(), r.PathValue("token"))
	if err != nil {
		return usedLink(err, askAgain)
	}
	f := newForm()
	f.set("email", invitation.Email)
	return c.showInvitation(w, r, http.StatusOK, f, invitation)
}

func (c *Console) showInvitation(w http.ResponseWriter, r *http.Request, status int, f *form, invitation crm.Invitation) error {
	token := r.PathValue("token")
	view := invitationView{Form: f, Invitation: invitation, Rights: rights(invitation.Role), Token: token, Here: root + "/invite/" + token}
	if session, err := c.sessionOf(r); err == nil {
		view.SignedIn = session.User
	}
	return c.render(w, r, visit{}, status, "invite", page{Title: "Invitation", Data: view})
}

// join makes a new user of whoever holds the link.
func (c *Console) join(w http.ResponseWriter, r *http.Request) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	token, in := r.PathValue("token"), readUser(f)
	var user crm.User
	var account crm.Account
	a := attempt{login: crm.Login(in.Email), client: c.options.Proxies.Client(r)}
	err = c.throttle.try(r.Context(), a, func() (wrong bool, err error) {
		user, account, err = c.store.JoinByInvitation(r.Context(), token, in)
		return hasFault(err, "email"), err // it tells who is a user
	})
	if err == nil {
		return c.welcome(w, r, user, account)
	}
	if err := f.refuse(err); err != nil {
		return usedLink(err, askAgain)
	}
	invitation, err := c.store.Invitation(r.Context(), token)
	if err != nil {
		return usedLink(err, askAgain)
	}
	return c.showInvitation(w, r, http.StatusUnprocessableEntity, f, invitation)
}

// accept lets a user who has signed in join.
func (c *Console) accept(w http.ResponseWriter, r *http.Request, v visit) error {
	account, err := c.store.AcceptInvitation(r.Context(), r.PathValue("token"), v.session.User.ID)
	if err != nil {
		return usedLink(err, askAgain)
	}
	leaveNotice(w, notice{Text: "You have joined " + account.Name + "."})
	return redirect(w, r, orgPath(account, ""))
}
