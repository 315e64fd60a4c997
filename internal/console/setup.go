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

func (c *Console) setupPage(w http.ResponseWriter, r *http.Request, _ visit, f *form) error {
	offer, err := c.store.SetupOffer(r.Context(), r.PathValue("token"))
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
	return c.render(w, r, visit{}, "setup", page{Title: "Setup", Form: f, Data: view})
}

func (c *Console) setup(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	in := access.SetupInput{UserInput: readUser(f), Organization: f.Value("organization"), Account: f.Value("account"), Timezone: f.Value("timezone")}
	if in.Account == newAccount {
		in.Account = ""
	}
	user, account, err := c.store.Setup(r.Context(), r.PathValue("token"), in)
	if err != nil {
		return usedLink(err, "Someone else has already set up this server. Sign in, or ask them for an invitation.")
	}
	return c.welcome(w, r, v, user, account)
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
func (c *Console) welcome(w http.ResponseWriter, r *http.Request, v visit, user access.User, account access.Account) error {
	token, err := c.store.StartSession(r.Context(), user.ID, c.device(r))
	if err != nil {
		return err
	}
	c.begin(w, r, v, user.ID, token)
	return redirect(w, r, orgPath(account, ""), notice{Text: "Welcome to " + account.Name + ", " + user.Name + "."})
}
