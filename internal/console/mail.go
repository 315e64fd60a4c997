package console

import (
	"net/http"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/mail"
	"donorbook/internal/store"
	"donorbook/internal/web"
)

// mailView is what owners see of the mail of their organization.
type mailView struct {
	Mails bool // mail can be sent
	Demo  bool // it is shown instead
	Rows  []mail.Mail
}

const recentMails = 50

func (r *request) mailPage() (err error) {
	view := mailView{Mails: r.store.Mails()}
	_, view.Demo = r.store.Shelved()
	if view.Rows, err = r.store.RecentMails(r.Context(), r.account(), recentMails); err != nil {
		return err
	}
	return r.render("mail", page{Title: "Mail", Section: "settings", Form: r.form, Data: view})
}

// testMail sends a mail to the owner who asks for it, and to no one else.
func (r *request) testMail() error {
	if !r.store.Mails() {
		return r.redirect(r.path("/settings/mail"))
	}
	if err := r.store.SendTest(r.Context(), r.account(), r.membership.Account.Name, r.session.User.Email); err != nil {
		return err
	}
	return r.redirect(r.path("/settings/mail"), notice{Text: "A test mail to " + r.session.User.Email + " is on its way. Reload this page to see what became of it."})
}

// mailState says how far a mail is.
func mailState(m mail.Mail) string {
	return [...]string{mail.Waiting: "Waiting", mail.Delayed: "Trying again", mail.Sent: "Sent", mail.Failed: "Not sent"}[m.State()]
}

// mailKind says what a mail is for.
func mailKind(m mail.Mail) string {
	switch m.Kind {
	case mail.Invitation:
		return "Invitation"
	case mail.Test:
		return "Test"
	case mail.Thanks:
		return "Thank-you"
	}
	return string(m.Kind)
}

// shelfPage shows the mails of a demo, which are not sent. It is for people on the machine of the demo, since a link in a mail lets anyone in who has it.
func (r *request) shelfPage() error {
	letters, demo := r.store.Shelved()
	if !demo {
		return crm.ErrNotFound
	}
	if r.session.ID == "" && !r.options.Proxies.Client(r.Request).IsLoopback() {
		return r.redirect(signInAddress(r.URL.RequestURI()))
	}
	return r.asStranger().render("mails", page{Title: "Mails of the demo", Form: r.form, Data: letters})
}

// forgotView is the page for people who forgot their password.
type forgotView struct {
	Mails, Sent, Demo bool
}

func (r *request) forgotPage() error {
	view := forgotView{Mails: r.store.Mails(), Sent: r.Method == http.MethodGet && r.URL.Query().Has("sent")}
	_, view.Demo = r.store.Shelved()
	return r.asStranger().render("forgot", page{Title: "Forgot your password?", Form: r.form, Data: view})
}

// forgot asks for a mail with a link. It does the same for every address, so that no one learns who is a user.
func (r *request) forgot() error {
	if err := countRequest(r.w, r.rates.forgotten, web.LimitAddr(r.options.Proxies.Client(r.Request)), r.now()); err != nil {
		return err
	}
	if r.store.Mails() {
		if err := r.store.AskForReset(r.Context(), r.form.Value("email")); err != nil {
			return err
		}
	}
	return r.redirect(root + "/forgot?sent")
}

const askForLink = "Ask for a new one on the sign-in page."

func (r *request) resetPage() error {
	user, err := r.store.ResetUser(r.Context(), r.PathValue("token"))
	if err != nil {
		return usedLink(err, askForLink)
	}
	return r.asStranger().render("reset", page{Title: "Set a new password", Form: r.form, Data: user})
}

// reset sets a new password, and signs the person in with this browser alone.
func (r *request) reset() error {
	user, err := r.store.ResetByLink(r.Context(), r.PathValue("token"), r.form.secret("password"))
	if err != nil {
		return usedLink(err, askForLink)
	}
	token, err := r.store.StartSession(r.Context(), user.ID, r.device())
	if err != nil {
		return err
	}
	r.begin(user.ID, token)
	return r.redirect(root, notice{Text: "Password changed. You were signed out everywhere else."})
}

// invitationRow is an open invitation, and what became of its mail.
type invitationRow struct {
	access.Invitation
	Mail *mail.Mail // nil where none was sent
}

func (r *request) invitationRows(invitations []access.Invitation) (list []invitationRow, err error) {
	mails, err := r.store.MailsAbout(r.Context(), r.account(), store.Collect(invitations, func(i access.Invitation) string { return i.ID }))
	for _, i := range invitations {
		row := invitationRow{Invitation: i}
		if m, found := mails[i.ID]; found {
			row.Mail = &m
		}
		list = append(list, row)
	}
	return list, err
}
