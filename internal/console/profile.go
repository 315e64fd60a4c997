package console

import (
	"net/http"
	"strings"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/text"
)

// profileView is what users decide about themselves.
type profileView struct {
	Name, Password *form
	Organizations  rows[access.Membership]
	Sessions       []sessionRow
}

// sessionRow is a browser that the user is signed in with.
type sessionRow struct {
	access.Session
	Browser string
	Current bool
}

func (c *Console) profilePage(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	view := profileView{Name: f.ifSentTo("/name"), Password: f.ifSentTo("/password")}
	view.Name.setUnsent("name", v.session.User.Name)
	all, err := c.store.Memberships(r.Context(), v.session.User.ID)
	if err != nil {
		return err
	}
	view.Organizations = paged(all, r, root+"/profile", pageParameter)
	sessions, err := c.store.Sessions(r.Context(), v.session.User.ID)
	if err != nil {
		return err
	}
	for _, s := range sessions {
		view.Sessions = append(view.Sessions, sessionRow{Session: s, Browser: browserName(s.Device.Agent), Current: s.ID == v.session.ID})
	}
	return c.render(w, r, v, "profile", page{Title: "Your profile", Section: "profile", Form: f, Data: view})
}

func toProfile(w http.ResponseWriter, r *http.Request, said string) error {
	return redirect(w, r, root+"/profile", notice{Text: said})
}

func (c *Console) renameUser(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	if err := c.store.RenameUser(r.Context(), v.session.User.ID, f.Value("name")); err != nil {
		return err
	}
	return toProfile(w, r, "Your name is now "+f.Value("name")+".")
}

// changePassword is throttled like signing in: a browser that was left open must not be good for guessing.
func (c *Console) changePassword(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	current, password := f.secret("current_password"), f.secret("password")
	err := c.throttle.try(r.Context(), attempt{login: text.Login(v.session.User.Email), browser: v.session.ID}, func() (wrong bool, err error) {
		err = c.store.ChangePassword(r.Context(), v.session, current, password)
		return hasFault(err, "current_password"), err
	})
	if err != nil {
		return err
	}
	c.remember(w, r, v.session.User.ID)
	return toProfile(w, r, "Your password was changed. You were signed out everywhere else.")
}

func (c *Console) endSession(w http.ResponseWriter, r *http.Request, v visit, _ *form) error {
	id := r.PathValue("session")
	if err := c.store.EndSession(r.Context(), v.session.User.ID, id); err != nil {
		return err
	}
	if id == v.session.ID {
		return signedOut(w, r)
	}
	return toProfile(w, r, "The browser was signed out.")
}

// endSessions signs out everywhere, or everywhere else.
func (c *Console) endSessions(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	kept := ""
	if f.Value("which") == "others" {
		kept = v.session.ID
	}
	if err := c.store.EndSessions(r.Context(), v.session.User.ID, kept); err != nil {
		return err
	}
	if kept == "" {
		return signedOut(w, r)
	}
	return toProfile(w, r, "You were signed out everywhere else.")
}

// The first sign that fits says what a browser, or the machine below it, is called: most pretend to be others as well.
var (
	browserSigns = newOptions("Edg=Edge", "OPR/=Opera", "Firefox/=Firefox", "FxiOS/=Firefox", "CriOS/=Chrome", "Chrome/=Chrome", "Safari/=Safari", "curl/=curl")
	machineSigns = newOptions("iPhone=iPhone", "iPad=iPad", "Android=Android", "Windows=Windows", "CrOS=ChromeOS", "Mac OS X=Mac", "Linux=Linux")
)

// browserName is a browser as its owner would call it.
func browserName(agent string) string {
	browser, machine := firstSign(agent, browserSigns), firstSign(agent, machineSigns)
	switch {
	case browser != "" && machine != "":
		return browser + " on " + machine
	case browser != "" || machine != "":
		return browser + machine
	case agent != "":
		return shortened(agent, noticeValue, 0)
	}
	return "Unknown browser"
}

func firstSign(agent string, signs []option) string {
	for _, sign := range signs {
		if strings.Contains(agent, sign.Value) {
			return sign.Label
		}
	}
	return ""
}
