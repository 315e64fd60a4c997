package console

import (
	"net/http"

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

func (c *Console) invitationPage(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	token := r.PathValue("token")
	invitation, err := c.store.Invitation(r.Context(), token)
	if err != nil {
		return usedLink(err, askAgain)
	}
	f.setUnsent("email", invitation.Email)
	view := invitationView{Invitation: invitation, Rights: rights[invitation.Role], Path: root + "/invite/" + token, SignedIn: v.session.User}
	return c.render(w, r, visit{}, "invite", page{Title: "Invitation", Form: f, Data: view})
}

// join makes a new user of the person who holds the link.
func (c *Console) join(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	in := readUser(f)
	var user access.User
	var account access.Account
	a := attempt{login: text.Login(in.Email), client: c.options.Proxies.Client(r)}
	err := c.throttle.try(r.Context(), a, func() (wrong bool, err error) {
		user, account, err = c.store.JoinByInvitation(r.Context(), r.PathValue("token"), in)
		return hasFault(err, "email"), err // it tells who is a user
	})
	if err != nil {
		return usedLink(err, askAgain)
	}
	return c.welcome(w, r, v, user, account)
}

// accept lets a user who has signed in join.
func (c *Console) accept(w http.ResponseWriter, r *http.Request, v visit, _ *form) error {
	account, err := c.store.AcceptInvitation(r.Context(), r.PathValue("token"), v.session.User.ID)
	if err != nil {
		return usedLink(err, askAgain)
	}
	return redirect(w, r, orgPath(account, ""), notice{Text: "You have joined " + account.Name + "."})
}
