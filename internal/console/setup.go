package console

import (
	"errors"
	"net/http"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/text"
	"donorbook/internal/web"
)

// setupView is the page behind the setup link.
type setupView struct {
	Accounts []option // organizations that exist and have no contacts
	Withheld bool     // there are others, with contacts
}

// newAccount is the choice that makes a new organization.
const newAccount = "new"

func (r *request) setupPage() error {
	offer, err := r.store.SetupOffer(r.Context(), r.PathValue("token"))
	if err != nil {
		return usedLink(err, "The server prints a new link each time it starts; only the newest one works. If someone has already set up this server, ask them for an invitation.")
	}
	view := setupView{Withheld: offer.Withheld}
	for _, a := range offer.Accounts {
		view.Accounts = append(view.Accounts, option{Value: a.ID, Label: a.Name})
	}
	if len(offer.Accounts) > 0 {
		view.Accounts = append(view.Accounts, option{Value: newAccount, Label: "A new organization"})
	}
	return r.asStranger().render("setup", page{Title: "Setup", Form: r.form, Data: view})
}

func (r *request) setup() error {
	in := access.SetupInput{UserInput: readUser(r.form), Organization: r.form.Value("organization"), Account: r.form.Value("account"), Timezone: r.form.Value("timezone")}
	if in.Account == newAccount {
		in.Account = ""
	}
	user, account, err := r.store.Setup(r.Context(), r.PathValue("token"), in)
	if err != nil {
		return usedLink(err, "Someone else has already set up this server. Sign in, or ask them for an invitation.")
	}
	return r.welcome(user, account)
}

// usedLink says of a link that leads nowhere what became of it, and what to do now.
func usedLink(err error, advice string) error {
	if !errors.Is(err, crm.ErrNotFound) {
		return err
	}
	return &web.Error{Status: http.StatusGone, Message: "It was already used, canceled or replaced, or it has expired. " + advice}
}

// readUser takes the password out of the form: no page shows it again.
func readUser(f *form) access.UserInput {
	return access.UserInput{Name: f.Value("name"), Email: f.Value("email"), Password: f.secret("password")}
}

// welcome signs a new user in.
func (r *request) welcome(user access.User, account access.Account) error {
	token, err := r.store.StartSession(r.Context(), user.ID, r.device())
	if err != nil {
		return err
	}
	r.begin(user.ID, token)
	return r.redirect(orgPath(account, ""), notice{Text: "Welcome to " + account.Name + ", " + user.Name + "."})
}

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
	access.Owner:  "you can see and change everything, including people, API keys, chapters and settings.",
	access.Editor: "you can see everything and change contacts, gifts and campaigns.",
	access.Viewer: "you can see everything, but not change it.",
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
