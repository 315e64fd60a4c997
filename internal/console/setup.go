package console

import (
	"errors"
	"net/http"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
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
		return usedLink(err, "The server prints a new link each time it starts, and only the newest one works. If someone has already set up this server, ask them for an invitation.")
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
	return &web.Error{Status: http.StatusGone, Message: "It was already used, it was canceled or replaced, or it has expired. " + advice}
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
