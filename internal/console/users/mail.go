package users

import (
	"donorbook/internal/console/page"
	"donorbook/internal/crm"
)

// ShelfPage shows the mails of a demo, which are not sent. It is for people on the machine of the demo, since a link in a mail lets anyone in who has it.
func ShelfPage(r *page.Request) error {
	letters, demo := r.Store.Shelved()
	if !demo {
		return crm.ErrNotFound
	}
	if r.Session.ID == "" && !r.Options.Proxies.Client(r.Request).IsLoopback() {
		return r.Redirect(signInAddress(r.URL.RequestURI()))
	}
	return r.AsStranger().Render("mails", page.View{Title: "Mails of the demo", Form: r.Form, Data: letters})
}
