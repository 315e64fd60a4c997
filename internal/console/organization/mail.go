package organization

import (
	"donorbook/internal/console/page"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/mail"
	"donorbook/internal/store"
)

// mailView is what owners see of the mail of their organization.
type mailView struct {
	Mails bool // mail can be sent
	Demo  bool // it is shown instead
	Rows  []mail.Mail
}

const recentMails = 50

func MailPage(r *page.Request) (err error) {
	view := mailView{Mails: r.Store.Mails()}
	_, view.Demo = r.Store.Shelved()
	if view.Rows, err = r.Store.RecentMails(r.Context(), r.Account(), recentMails); err != nil {
		return err
	}
	return r.Render("mail", page.View{Title: "Mail", Section: "settings", Form: r.Form, Data: view})
}

// TestMail sends a mail to the owner who asks for it, and to no one else.
func TestMail(r *page.Request) error {
	if !r.Store.Mails() {
		return r.Redirect(r.Path("/settings/mail"))
	}
	err := r.Store.SendTest(r.Context(), r.Account(), r.Membership.Account.Name, r.Session.User.Email)
	return r.Done(err, r.Path("/settings/mail"), page.Notice{Text: "A test mail to " + r.Session.User.Email + " is on its way. Reload this page to see what became of it."})
}

// invitationRow is an open invitation, and what became of its mail.
type invitationRow struct {
	access.Invitation
	Mail *mail.Mail // nil where none was sent
}

func invitationRows(r *page.Request, invitations []access.Invitation) (list []invitationRow, err error) {
	mails, err := r.Store.MailsAbout(r.Context(), r.Account(), store.Collect(invitations, func(i access.Invitation) string { return i.ID }))
	for _, i := range invitations {
		row := invitationRow{Invitation: i}
		if m, found := mails[i.ID]; found {
			row.Mail = &m
		}
		list = append(list, row)
	}
	return list, err
}
