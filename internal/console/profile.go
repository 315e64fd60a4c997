package console

import (
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/text"
)

// profileView is what users decide about themselves.
type profileView struct {
	Name, Password *form
	Organizations  rows[access.Membership]
	Sessions       []sessionRow
	Unreached      *mail.Mail // the last mail to the user, where it did not leave
}

// sessionRow is a browser that the user is signed in with.
type sessionRow struct {
	access.Session
	Browser string
	Current bool
}

func (r *request) profilePage() error {
	view := profileView{Name: r.form.ifSentTo("/name"), Password: r.form.ifSentTo("/password")}
	view.Name.setUnsent("name", r.session.User.Name)
	all, err := r.store.Memberships(r.Context(), r.session.User.ID)
	if err != nil {
		return err
	}
	view.Organizations = paged(r, all, root+"/profile", pageParameter)
	sessions, err := r.store.Sessions(r.Context(), r.session.User.ID)
	if err != nil {
		return err
	}
	for _, s := range sessions {
		view.Sessions = append(view.Sessions, sessionRow{Session: s, Browser: s.Device.Browser(), Current: s.ID == r.session.ID})
	}
	last, err := r.store.MailToUser(r.Context(), r.session.User.ID)
	if err != nil {
		return err
	}
	if last != nil && last.Error != "" {
		view.Unreached = last
	}
	return r.render("profile", page{Title: "Your profile", Section: "profile", Form: r.form, Data: view})
}

func (r *request) toProfile(said string) error {
	return r.redirect(root+"/profile", notice{Text: said})
}

func (r *request) renameUser() error {
	if err := r.store.RenameUser(r.Context(), r.session.User.ID, r.form.Value("name")); err != nil {
		return err
	}
	return r.toProfile("Your name is now " + r.form.Value("name") + ".")
}

// changePassword is throttled like signing in: a browser that was left open must not be good for guessing.
func (r *request) changePassword() error {
	current, password := r.form.secret("current_password"), r.form.secret("password")
	err := r.throttle.try(r.Context(), attempt{login: text.Login(r.session.User.Email), browser: r.session.ID}, func() (wrong bool, err error) {
		err = r.store.ChangePassword(r.Context(), r.session, current, password)
		return hasFault(err, "current_password"), err
	})
	if err != nil {
		return err
	}
	r.remember(r.session.User.ID)
	return r.toProfile("Password changed. You were signed out everywhere else.")
}

func (r *request) endSession() error {
	id := r.PathValue("session")
	if err := r.store.EndSession(r.Context(), r.session.User.ID, id); err != nil {
		return err
	}
	if id == r.session.ID {
		return r.signedOut()
	}
	return r.toProfile("Browser signed out.")
}

// endSessions signs out everywhere, or everywhere else.
func (r *request) endSessions() error {
	kept := ""
	if r.form.Value("which") == "others" {
		kept = r.session.ID
	}
	if err := r.store.EndSessions(r.Context(), r.session.User.ID, kept); err != nil {
		return err
	}
	if kept == "" {
		return r.signedOut()
	}
	return r.toProfile("You were signed out everywhere else.")
}
