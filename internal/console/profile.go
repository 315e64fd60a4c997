package console

import (
	"net/http"
	"strings"

	"donorbook/internal/crm"
)

// profileView is what somebody decides about themselves.
type profileView struct {
	Name, Password *form
	Organizations  []crm.Membership
	Pager          pager
	Sessions       []sessionRow
}

// sessionRow is a browser that somebody is signed in with.
type sessionRow struct {
	crm.Session
	Browser string
	Current bool
}

func (c *Console) profilePage(w http.ResponseWriter, r *http.Request, v visit) error {
	return c.showProfile(w, r, v, http.StatusOK, profileView{})
}

func (c *Console) showProfile(w http.ResponseWriter, r *http.Request, v visit, status int, view profileView) error {
	if view.Name == nil {
		view.Name = newForm()
		view.Name.set("name", v.session.User.Name)
	}
	if view.Password == nil {
		view.Password = newForm()
	}
	all, err := c.store.Memberships(r.Context(), v.session.User.ID)
	if err != nil {
		return err
	}
	view.Organizations, view.Pager = paged(all, root+"/profile", r.URL.Query(), pageParameter)
	sessions, err := c.store.Sessions(r.Context(), v.session.User.ID)
	if err != nil {
		return err
	}
	for _, s := range sessions {
		view.Sessions = append(view.Sessions, sessionRow{Session: s, Browser: browserName(s.Device.Agent), Current: s.ID == v.session.ID})
	}
	return c.render(w, r, v, status, "profile", page{Title: "Your profile", Section: "profile", Data: view})
}

func (c *Console) renameUser(w http.ResponseWriter, r *http.Request, v visit) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	if err := c.store.RenameUser(r.Context(), v.session.User.ID, f.Value("name")); err != nil {
		if err := f.refuse(err); err != nil {
			return err
		}
		return c.showProfile(w, r, v, http.StatusUnprocessableEntity, profileView{Name: f})
	}
	leaveNotice(w, notice{Text: "You are now called " + f.Value("name") + "."})
	return redirect(w, r, root+"/profile")
}

// changePassword is throttled like signing in: a browser that was left open must not be good for guessing.
func (c *Console) changePassword(w http.ResponseWriter, r *http.Request, v visit) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	current, password := f.secret("current_password"), f.secret("password")
	err = c.throttle.try(r.Context(), attempt{login: crm.Login(v.session.User.Email), browser: v.session.ID}, func() (wrong bool, err error) {
		err = c.store.ChangePassword(r.Context(), v.session, current, password)
		return hasFault(err, "current_password"), err
	})
	if err != nil {
		if err := f.refuse(err); err != nil {
			return err
		}
		return c.showProfile(w, r, v, http.StatusUnprocessableEntity, profileView{Password: f})
	}
	c.remember(w, r, v.session.User.ID)
	leaveNotice(w, notice{Text: "Your password is changed. Everywhere else you are signed out."})
	return redirect(w, r, root+"/profile")
}

func (c *Console) endSession(w http.ResponseWriter, r *http.Request, v visit) error {
	id := r.PathValue("session")
	if err := c.store.EndSession(r.Context(), v.session.User.ID, id); err != nil {
		return err
	}
	if id == v.session.ID {
		return leave(w, r)
	}
	leaveNotice(w, notice{Text: "That browser is signed out."})
	return redirect(w, r, root+"/profile")
}

// endSessions signs out everywhere, or everywhere else.
func (c *Console) endSessions(w http.ResponseWriter, r *http.Request, v visit) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	if f.Value("which") != "others" {
		if err := c.store.EndSessions(r.Context(), v.session.User.ID, ""); err != nil {
			return err
		}
		return leave(w, r)
	}
	if err := c.store.EndSessions(r.Context(), v.session.User.ID, v.session.ID); err != nil {
		return err
	}
	leaveNotice(w, notice{Text: "Everywhere else you are signed out."})
	return redirect(w, r, root+"/profile")
}

// leave sends a browser away whose session has ended.
func leave(w http.ResponseWriter, r *http.Request) error {
	dropCookie(w, sessionCookie)
	return redirect(w, r, root+"/signin")
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
		return shortened(agent)
	}
	return "A browser without a name"
}

func firstSign(agent string, signs []option) string {
	for _, sign := range signs {
		if strings.Contains(agent, sign.Value) {
			return sign.Label
		}
	}
	return ""
}
