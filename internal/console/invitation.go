package console

import (
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/text"
)

// invitationView is the page behind an invitation's link.
type invitationView struct {
	Invitation access.Invitation
	Rights     string
	Path       string
	SignedIn   access.User
}

const askAgain = "If you have already joined, sign in. Otherwise, ask the person who invited you for a new link."

// rights says what a role may do.
var rights = map[access.Role]string{
	access.Owner:  "you can see and change everything, including people, keys and chapters.",
	access.Editor: "you can see everything and change contacts and campaigns.",
	access.Viewer: "you can see contacts, campaigns and chapters, but not change them.",
}

func (r *request) invitationPage() error {
	token := r.PathValue("token")
	invitation, err := r.store.Invitation(r.Context(), token)
	if err != nil {
		return usedLink(err, askAgain)
	}
	r.form.setUnsent("email", invitation.Email)
	view := invitationView{Invitation: invitation, Rights: rights[invitation.Role], Path: root + "/invite/" + token, SignedIn: r.session.User}
	return r.asStranger().render("invite", page{Title: "Invitation", Form: r.form, Data: view})
}

// join makes a new user of the person who holds the link.
func (r *request) join() error {
	in := readUser(r.form)
	var user access.User
	var account access.Account
	a := attempt{login: text.Login(in.Email), client: r.options.Proxies.Client(r.Request)}
	err := r.throttle.try(r.Context(), a, func() (wrong bool, err error) {
		user, account, err = r.store.JoinByInvitation(r.Context(), r.PathValue("token"), in)
		return hasFault(err, "email"), err // it tells who is a user
	})
	if err != nil {
		return usedLink(err, askAgain)
	}
	return r.welcome(user, account)
}

// accept lets a user who has signed in join.
func (r *request) accept() error {
	account, err := r.store.AcceptInvitation(r.Context(), r.PathValue("token"), r.session.User.ID)
	if err != nil {
		return usedLink(err, askAgain)
	}
	return r.redirect(orgPath(account, ""), notice{Text: "You have joined " + account.Name + "."})
}
