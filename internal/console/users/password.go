package users

import (
	"net/http"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/web"
)

// forgotView is the page for people who forgot their password.
type forgotView struct {
	Mails, Sent, Demo bool
}

func ForgotPage(r *page.Request) error {
	view := forgotView{Mails: r.Store.Mails(), Sent: r.Method == http.MethodGet && r.URL.Query().Has("sent")}
	_, view.Demo = r.Store.Shelved()
	return r.AsStranger().Render("forgot", page.View{Title: "Forgot your password?", Form: r.Form, Data: view})
}

// Forgot asks for a mail with a link. It does the same for every address, so that no one learns who is a user.
func Forgot(r *page.Request) error {
	if err := page.CountRequest(r.W, r.Forgotten, r.Options.Proxies.Client(r.Request), r.Now()); err != nil {
		return err
	}
	if r.Store.Mails() {
		if err := r.Store.AskForReset(r.Context(), r.Form.Value("email")); err != nil {
			return err
		}
	}
	return r.Redirect(page.Root + "/forgot?sent")
}

const askForLink = "Ask for a new one on the sign-in page."

func ResetPage(r *page.Request) error {
	user, err := r.Store.ResetUser(r.Context(), r.PathValue("token"))
	if err != nil {
		return usedLink(err, askForLink)
	}
	return r.AsStranger().Render("reset", page.View{Title: "Set a new password", Form: r.Form, Data: user})
}

// Reset sets a new password, and signs the person in with this browser alone.
func Reset(r *page.Request) error {
	user, err := r.Store.ResetByLink(r.Context(), r.PathValue("token"), r.Form.Secret("password"))
	if err != nil {
		return usedLink(err, askForLink)
	}
	token, err := r.Store.StartSession(r.Context(), user.ID, device(r))
	if err != nil {
		return err
	}
	begin(r, user.ID, token)
	return r.Redirect(page.Root, page.Notice{Text: "Password changed. You were signed out everywhere else."})
}

// ShelfPage shows the mails of a demo, which are not sent. It is for people on the machine of the demo, since a link in a mail lets anyone in who has it.
func ShelfPage(r *page.Request) error {
	letters, demo := r.Store.Shelved()
	if !demo {
		return crm.ErrNotFound
	}
	if r.Session.ID == "" && !web.FromThisMachine(r.Request) {
		return r.Redirect(signInAddress(r.URL.RequestURI()))
	}
	return r.AsStranger().Render("mails", page.View{Title: "Mails of the demo", Form: r.Form, Data: letters})
}
