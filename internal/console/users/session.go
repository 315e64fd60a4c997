package users

import (
	"errors"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/text"
	"donorbook/internal/web"
)

// Entrance leads to the organization that was open last, or to any.
func Entrance(r *page.Request) error {
	all, err := r.Store.Memberships(r.Context(), r.Session.User.ID)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return r.Redirect(page.Root + "/profile")
	}
	open := all[0].Account
	for _, m := range all {
		if m.Account.Number == r.Session.Account {
			open = m.Account
		}
	}
	return r.Redirect(page.OrgPath(open, ""))
}

// device says where a request comes from, as far as a person recognizes it.
func device(r *page.Request) access.Device {
	agent := strings.ToValidUTF8(r.UserAgent(), "")
	return access.Device{Address: r.Options.Proxies.Client(r.Request).String(), Agent: agent[:min(len(agent), 255)]}
}

// begin signs a user in with this browser. A session that it had before ends.
func begin(r *page.Request, user int64, token string) {
	if r.Session.ID != "" {
		// A session that cannot be ended now ends by itself: no browser holds its cookie any more.
		_ = r.Store.EndSession(r.Context(), r.Session.User.ID, r.Session.ID)
	}
	page.SetCookie(r.W, page.SessionCookie, token, page.SessionTime)
	page.SetCookie(r.W, page.UserCookie, strconv.FormatInt(user, 10), page.UserTime)
	remember(r, user)
}

// remember notes in the browser that the user has signed in with it.
func remember(r *page.Request, user int64) {
	// A browser that cannot be remembered now is one more stranger the next time, and is signed in all the same.
	if tokens, err := r.Store.RememberDevice(r.Context(), user, page.CookieValue(r.Request, page.DeviceCookie)); err == nil {
		page.SetCookie(r.W, page.DeviceCookie, tokens, page.DeviceTime)
	}
}

// knownBrowser is the id of a browser that the user with this email has signed in with before, "" for any other.
func knownBrowser(r *page.Request, email string) (id string, err error) {
	if tokens := page.CookieValue(r.Request, page.DeviceCookie); tokens != "" {
		return r.Store.KnownDevice(r.Context(), email, tokens)
	}
	return "", nil
}

// ToSignIn remembers where the person wanted to go. A form that was sent after the session had ended is not lost: the sign-in
// page keeps it, and it is shown again, if it has a page of its own.
func ToSignIn(r *page.Request, hasPage bool) error {
	if r.Method == http.MethodPost {
		f, err := keepForm(r.W, r.Request, hasPage)
		if err != nil {
			return err
		}
		r.Form = f
		return showSignIn(r, http.StatusUnauthorized)
	}
	if r.Header.Get("HX-Target") == "tag-options" { // suggestions for a field: what is typed on the page stays there
		return crm.ErrUnauthenticated
	}
	if r.IsPart() { // the whole page must change, to what it shows now
		shown, err := url.Parse(r.Header.Get("HX-Current-URL"))
		if err != nil {
			shown = new(url.URL)
		}
		r.W.Header().Set("HX-Redirect", signInAddress(shown.RequestURI()))
		return nil
	}
	return r.Redirect(signInAddress(r.URL.RequestURI()))
}

func signInAddress(next string) string {
	if next = afterSignIn(next); next == page.Root {
		return page.Root + "/signin"
	}
	return page.Root + "/signin?next=" + url.QueryEscape(next)
}

// afterSignIn is where to go on: a page of the console and nothing else.
func afterSignIn(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Host != "" || u.Scheme != "" || strings.Contains(next, "\\") || path.Clean(u.Path) != u.Path || !strings.HasPrefix(next, page.Root+"/") {
		return page.Root
	}
	return u.RequestURI()
}

func SignInPage(r *page.Request) error {
	next := r.URL.Query().Get("next")
	if r.Method != http.MethodPost && r.Session.ID != "" {
		return r.Redirect(afterSignIn(next))
	}
	r.Form.SetUnsent("next", next)
	return showSignIn(r, 0)
}

// signInView is the page for signing in. A server without users tells where its setup link is; any other says nothing about how it is run.
type signInView struct{ New, Mails bool }

func showSignIn(r *page.Request, status int) error {
	users, err := r.Store.HasUsers(r.Context())
	if err != nil {
		return err
	}
	return r.AsStranger().Render("signin", page.View{Title: "Sign in", Form: r.Form, Status: status, Data: signInView{New: !users, Mails: r.Store.Mails()}})
}

func SignIn(r *page.Request) error {
	token, user, err := checkPassword(r, r.Form.Value("email"), r.Form.Secret("password"))
	if outcome, ok := page.OutcomeOf(err); ok {
		r.Options.SignIn(outcome)
		if limited := new(web.Error); outcome == page.Throttled && r.Store.Mails() && errors.As(err, &limited) {
			limited.Message += " Or go back and choose “Forgot your password?”: the link in that email works at once."
		}
	}
	if errors.Is(err, crm.ErrUnauthenticated) {
		r.Form.Fail("", "Wrong email or password.")
		return page.ErrRefused
	}
	if err != nil {
		return err
	}
	begin(r, user.ID, token)
	if r.Form.Value(page.KeptTo) != "" {
		return showKept(r, user, token)
	}
	return r.Redirect(afterSignIn(r.Form.Value("next")))
}

// checkPassword starts a session for a user who knows the password and is not throttled.
func checkPassword(r *page.Request, email, password string) (token string, user access.User, err error) {
	a := page.Attempt{Login: text.Login(email), Client: r.Options.Proxies.Client(r.Request)}
	if a.Browser, err = knownBrowser(r, email); err != nil {
		return "", access.User{}, err
	}
	err = r.Throttle.Try(r.Context(), a, func() (wrong bool, err error) {
		device := device(r)
		device.New = a.Browser == ""
		token, user, err = r.Store.SignIn(r.Context(), email, password, device)
		return errors.Is(err, crm.ErrUnauthenticated), err
	})
	return token, user, err
}

func SignOut(r *page.Request) error {
	err := r.Store.EndSession(r.Context(), r.Session.User.ID, r.Session.ID)
	if err != nil && !errors.Is(err, crm.ErrNotFound) { // it may have ended in between
		return err
	}
	return signedOut(r)
}

// signedOut leads a browser away whose session has ended.
func signedOut(r *page.Request) error {
	page.DropCookie(r.W, page.SessionCookie)
	return r.Redirect(page.Root + "/signin")
}
