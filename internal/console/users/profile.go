package users

import (
	"donorbook/internal/console/page"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/text"
)

// profileView is what users decide about themselves.
type profileView struct {
	Name, Password *page.Form
	Organizations  page.Part[access.Membership]
	Sessions       []sessionRow
	Unreached      *mail.Mail // the last mail to the user, where it did not leave
}

// sessionRow is a browser that the user is signed in with.
type sessionRow struct {
	access.Session
	Browser string
	Current bool
}

func ProfilePage(r *page.Request) error {
	view := profileView{Name: r.Form.IfSentTo("/name"), Password: r.Form.IfSentTo("/password")}
	view.Name.SetUnsent("name", r.Session.User.Name)
	all, err := r.Store.Memberships(r.Context(), r.Session.User.ID)
	if err != nil {
		return err
	}
	view.Organizations = page.Paged(r, all, page.Root+"/profile", page.PageParameter)
	sessions, err := r.Store.Sessions(r.Context(), r.Session.User.ID)
	if err != nil {
		return err
	}
	for _, s := range sessions {
		view.Sessions = append(view.Sessions, sessionRow{Session: s, Browser: s.Device.Browser(), Current: s.ID == r.Session.ID})
	}
	last, err := r.Store.MailToUser(r.Context(), r.Session.User.ID)
	if err != nil {
		return err
	}
	if last != nil && last.Error != "" {
		view.Unreached = last
	}
	return r.Render("profile", page.View{Title: "Your profile", Section: "profile", Form: r.Form, Data: view})
}

// toProfile leads back to the profile after a change, unless that was refused.
func toProfile(r *page.Request, err error, said string) error {
	return r.Done(err, page.Root+"/profile", page.Notice{Text: said})
}

func RenameUser(r *page.Request) error {
	err := r.Store.RenameUser(r.Context(), r.Session.User.ID, r.Form.Value("name"))
	return toProfile(r, err, "Your name is now "+r.Form.Value("name")+".")
}

// ChangePassword is throttled like signing in: a browser that was left open must not be good for guessing.
func ChangePassword(r *page.Request) error {
	current, password := r.Form.Secret("current_password"), r.Form.Secret("password")
	err := r.Throttle.Try(r.Context(), page.Attempt{Login: text.Login(r.Session.User.Email), Browser: r.Session.ID}, func() (wrong bool, err error) {
		err = r.Store.ChangePassword(r.Context(), r.Session, current, password)
		return page.HasFault(err, "current_password"), err
	})
	if err != nil {
		return err
	}
	remember(r, r.Session.User.ID)
	return toProfile(r, nil, "Password changed. You were signed out everywhere else.")
}

func EndSession(r *page.Request) error {
	id := r.PathValue("session")
	err := r.Store.EndSession(r.Context(), r.Session.User.ID, id)
	if err == nil && id == r.Session.ID {
		return signedOut(r)
	}
	return toProfile(r, err, "Browser signed out.")
}

// EndSessions signs out everywhere, or everywhere else.
func EndSessions(r *page.Request) error {
	kept := ""
	if r.Form.Value("which") == "others" {
		kept = r.Session.ID
	}
	err := r.Store.EndSessions(r.Context(), r.Session.User.ID, kept)
	if err == nil && kept == "" {
		return signedOut(r)
	}
	return toProfile(r, err, "You were signed out everywhere else.")
}
