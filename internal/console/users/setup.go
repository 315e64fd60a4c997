package users

import (
	"errors"
	"net/http"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/text"
	"donorbook/internal/web"
)

// setupView is the page behind the setup link.
type setupView struct {
	Accounts []page.Option // organizations that exist and have no contacts
	Withheld bool          // there are others, with contacts
}

// newAccount is the choice that makes a new organization.
const newAccount = "new"

func SetupPage(r *page.Request) error {
	offer, err := r.Store.SetupOffer(r.Context(), r.PathValue("token"))
	if err != nil {
		return usedLink(err, "The server prints a new link each time it starts; only the newest one works. If someone has already set up this server, ask them for an invitation.")
	}
	view := setupView{Withheld: offer.Withheld}
	for _, a := range offer.Accounts {
		view.Accounts = append(view.Accounts, page.Option{Value: a.ID, Label: a.Name})
	}
	if len(offer.Accounts) > 0 {
		view.Accounts = append(view.Accounts, page.Option{Value: newAccount, Label: "A new organization"})
	}
	return r.AsStranger().Render("setup", page.View{Title: "Setup", Form: r.Form, Data: view})
}

func Setup(r *page.Request) error {
	in := access.SetupInput{
		UserInput: readUser(r.Form), Organization: r.Form.Value("organization"), Account: r.Form.Value("account"),
		Timezone: r.Form.Value("timezone"), NoReturn: r.Form.Value("no_return") == "yes",
	}
	if in.Account == newAccount {
		in.Account = ""
	}
	user, account, err := r.Store.Setup(r.Context(), r.PathValue("token"), in)
	if err != nil {
		return usedLink(err, "Someone else has already set up this server. Sign in, or ask them for an invitation.")
	}
	return welcome(r, user, account)
}

// usedLink says of a link that leads nowhere what became of it, and what to do now.
func usedLink(err error, advice string) error {
	if !errors.Is(err, crm.ErrNotFound) {
		return err
	}
	return &web.Error{Status: http.StatusGone, Message: "It was already used, canceled or replaced, or it has expired. " + advice}
}

// readUser takes the password out of the form: no page shows it again.
func readUser(f *page.Form) access.UserInput {
	return access.UserInput{Name: f.Value("name"), Email: f.Value("email"), Password: f.Secret("password")}
}

// welcome signs a new user in.
func welcome(r *page.Request, user access.User, account access.Account) error {
	token, err := r.Store.StartSession(r.Context(), user.ID, device(r))
	if err != nil {
		return err
	}
	begin(r, user.ID, token)
	return r.Redirect(page.OrgPath(account, ""), page.Notice{Text: "Welcome to " + account.Name + ", " + user.Name + "."})
}

// invitationView is the page behind an invitation's link.
type invitationView struct {
	Invitation access.Invitation
	Rights     string
	Path       string
	SignedIn   access.User
}

// SignIn is the page on which a person signs in and comes back.
func (v *invitationView) SignIn() string { return signInAddress(v.Path) }

const askAgain = "If you have already joined, sign in. Otherwise, ask the person who invited you for a new link."

// rights says what a role may do.
var rights = map[access.Role]string{
	access.Owner:  "you can see and change everything, including people, API keys, chapters and settings.",
	access.Editor: "you can see everything and change contacts, gifts and campaigns.",
	access.Viewer: "you can see everything, but not change it.",
}

func InvitationPage(r *page.Request) error {
	token := r.PathValue("token")
	invitation, err := r.Store.Invitation(r.Context(), token)
	if err != nil {
		return usedLink(err, askAgain)
	}
	r.Form.SetUnsent("email", invitation.Email)
	view := &invitationView{Invitation: invitation, Rights: rights[invitation.Role], Path: page.Root + "/invite/" + token, SignedIn: r.Session.User}
	return r.AsStranger().Render("invite", page.View{Title: "Invitation", Form: r.Form, Data: view})
}

// Join makes a new user of the person who holds the link.
func Join(r *page.Request) error {
	in := readUser(r.Form)
	var user access.User
	var account access.Account
	a := page.Attempt{Login: text.Login(in.Email), Client: r.Options.Proxies.Client(r.Request)}
	err := r.Throttle.Try(r.Context(), a, func() (wrong bool, err error) {
		user, account, err = r.Store.JoinByInvitation(r.Context(), r.PathValue("token"), in)
		return page.HasFault(err, "email"), err // it tells who is a user
	})
	if err != nil {
		return usedLink(err, askAgain)
	}
	return welcome(r, user, account)
}

// Accept lets a user who has signed in join.
func Accept(r *page.Request) error {
	account, err := r.Store.AcceptInvitation(r.Context(), r.PathValue("token"), r.Session.User.ID)
	if err != nil {
		return usedLink(err, askAgain)
	}
	return r.Redirect(page.OrgPath(account, ""), page.Notice{Text: "You have joined " + account.Name + "."})
}
