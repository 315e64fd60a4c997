package console

import (
	"errors"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/text"
)

// sessionCookie holds the token of a session, userCookie who had the last one, so that a form which was typed before it ended is
// shown to no one else, and deviceCookie the tokens of users who have signed in with the browser before. Their prefix makes browsers refuse them from anywhere but this very host over HTTPS.
const (
	sessionCookie = "__Host-session"
	sessionTime   = 30 * 24 * time.Hour
	userCookie    = "__Host-user"
	userTime      = sessionTime + 24*time.Hour // it outlives the session
	deviceCookie  = "__Host-device"
	deviceTime    = 400 * 24 * time.Hour // browsers keep no cookie longer
)

func (c *Console) sessionOf(r *http.Request) (access.Session, error) {
	cookie, err := r.Cookie(sessionCookie)
	if err != nil {
		return access.Session{}, crm.ErrUnauthenticated
	}
	return c.store.Session(r.Context(), cookie.Value)
}

func setCookie(w http.ResponseWriter, name, value string, age time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: int(age.Seconds()),
		Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

func dropCookie(w http.ResponseWriter, name string) { setCookie(w, name, "", -time.Second) }

// device says where a request comes from, as far as a person recognizes it.
func (r *request) device() access.Device {
	agent := strings.ToValidUTF8(r.UserAgent(), "")
	return access.Device{Address: r.options.Proxies.Client(r.Request).String(), Agent: agent[:min(len(agent), 255)]}
}

// begin signs a user in with this browser. A session that it had before ends.
func (r *request) begin(user int64, token string) {
	if r.session.ID != "" {
		// A session that cannot be ended now ends by itself: no browser holds its cookie any more.
		_ = r.store.EndSession(r.Context(), r.session.User.ID, r.session.ID)
	}
	setCookie(r.w, sessionCookie, token, sessionTime)
	setCookie(r.w, userCookie, strconv.FormatInt(user, 10), userTime)
	r.remember(user)
}

// remember notes in the browser that the user has signed in with it.
func (r *request) remember(user int64) {
	// A browser that cannot be remembered now is one more stranger the next time, and is signed in all the same.
	if tokens, err := r.store.RememberDevice(r.Context(), user, cookieValue(r.Request, deviceCookie)); err == nil {
		setCookie(r.w, deviceCookie, tokens, deviceTime)
	}
}

// knownBrowser is the id of a browser that the user with this email has signed in with before, "" for any other.
func (r *request) knownBrowser(email string) (id string, err error) {
	if tokens := cookieValue(r.Request, deviceCookie); tokens != "" {
		return r.store.KnownDevice(r.Context(), email, tokens)
	}
	return "", nil
}

func cookieValue(r *http.Request, name string) string {
	cookie, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return cookie.Value
}

// toSignIn remembers where the person wanted to go. A form that was sent after the session had ended is not lost: the sign-in
// page keeps it, and it is shown again.
func (r *request) toSignIn(route route) error {
	if r.Method == http.MethodPost {
		f, err := keepForm(r.w, r.Request, route)
		if err != nil {
			return err
		}
		r.form = f
		return r.showSignIn(http.StatusUnauthorized)
	}
	if r.Header.Get("HX-Target") == "tag-options" { // suggestions for a field: what is typed on the page stays there
		return crm.ErrUnauthenticated
	}
	if r.isPart() { // the whole page must change, to what it shows now
		shown, err := url.Parse(r.Header.Get("HX-Current-URL"))
		if err != nil {
			shown = new(url.URL)
		}
		r.w.Header().Set("HX-Redirect", signInAddress(shown.RequestURI()))
		return nil
	}
	return r.redirect(signInAddress(r.URL.RequestURI()))
}

func signInAddress(next string) string {
	if next = afterSignIn(next); next == root {
		return root + "/signin"
	}
	return root + "/signin?next=" + url.QueryEscape(next)
}

// afterSignIn is where to go on: a page of the console and nothing else.
func afterSignIn(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Host != "" || u.Scheme != "" || strings.Contains(next, "\\") || path.Clean(u.Path) != u.Path || !strings.HasPrefix(next, root+"/") {
		return root
	}
	return u.RequestURI()
}

func (r *request) signInPage() error {
	next := r.URL.Query().Get("next")
	if r.Method != http.MethodPost && r.session.ID != "" {
		return r.redirect(afterSignIn(next))
	}
	r.form.setUnsent("next", next)
	return r.showSignIn(0)
}

// signInView is the page for signing in. A server without users tells where its setup link is; any other says nothing about how it is run.
type signInView struct{ New, Mails bool }

func (r *request) showSignIn(status int) error {
	users, err := r.store.HasUsers(r.Context())
	if err != nil {
		return err
	}
	return r.asStranger().render("signin", page{Title: "Sign in", Form: r.form, Status: status, Data: signInView{New: !users, Mails: r.store.Mails()}})
}

func (r *request) signIn() error {
	token, user, err := r.checkPassword(r.form.Value("email"), r.form.secret("password"))
	if outcome, ok := outcomeOf(err); ok {
		r.options.SignIn(outcome)
	}
	if errors.Is(err, crm.ErrUnauthenticated) {
		r.form.fail("", "Wrong email or password.")
		return errRefused
	}
	if err != nil {
		return err
	}
	r.begin(user.ID, token)
	if r.form.Value(keptTo) != "" {
		return r.showKept(user, token)
	}
	return r.redirect(afterSignIn(r.form.Value("next")))
}

// checkPassword starts a session for a user who knows the password and is not throttled.
func (r *request) checkPassword(email, password string) (token string, user access.User, err error) {
	a := attempt{login: text.Login(email), client: r.options.Proxies.Client(r.Request)}
	if a.browser, err = r.knownBrowser(email); err != nil {
		return "", access.User{}, err
	}
	err = r.throttle.try(r.Context(), a, func() (wrong bool, err error) {
		device := r.device()
		device.New = a.browser == ""
		token, user, err = r.store.SignIn(r.Context(), email, password, device)
		return errors.Is(err, crm.ErrUnauthenticated), err
	})
	return token, user, err
}

func (r *request) signOut() error {
	err := r.store.EndSession(r.Context(), r.session.User.ID, r.session.ID)
	if err != nil && !errors.Is(err, crm.ErrNotFound) { // it may have ended in between
		return err
	}
	return r.signedOut()
}

// signedOut leads a browser away whose session has ended.
func (r *request) signedOut() error {
	dropCookie(r.w, sessionCookie)
	return r.redirect(root + "/signin")
}
