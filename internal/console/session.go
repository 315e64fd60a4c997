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
func (c *Console) device(r *http.Request) access.Device {
	agent := strings.ToValidUTF8(r.UserAgent(), "")
	return access.Device{Address: c.options.Proxies.Client(r).String(), Agent: agent[:min(len(agent), 255)]}
}

// begin signs a user in with this browser. A session that it had before ends.
func (c *Console) begin(w http.ResponseWriter, r *http.Request, v visit, user int64, token string) {
	if v.session.ID != "" {
		// A session that cannot be ended now ends by itself: no browser holds its cookie any more.
		_ = c.store.EndSession(r.Context(), v.session.User.ID, v.session.ID)
	}
	setCookie(w, sessionCookie, token, sessionTime)
	setCookie(w, userCookie, strconv.FormatInt(user, 10), userTime)
	c.remember(w, r, user)
}

// remember notes in the browser that the user has signed in with it.
func (c *Console) remember(w http.ResponseWriter, r *http.Request, user int64) {
	// A browser that cannot be remembered now is one more stranger the next time, and is signed in all the same.
	if tokens, err := c.store.RememberDevice(r.Context(), user, cookieValue(r, deviceCookie)); err == nil {
		setCookie(w, deviceCookie, tokens, deviceTime)
	}
}

// knownBrowser is the id of a browser that the user with this email has signed in with before, "" for any other.
func (c *Console) knownBrowser(r *http.Request, email string) (id string, err error) {
	if tokens := cookieValue(r, deviceCookie); tokens != "" {
		return c.store.KnownDevice(r.Context(), email, tokens)
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
func (c *Console) toSignIn(w http.ResponseWriter, r *http.Request) error {
	if r.Method == http.MethodPost {
		f, err := formToResubmit(w, r)
		if err != nil {
			return err
		}
		return c.showSignIn(w, r, http.StatusUnauthorized, f)
	}
	if r.Header.Get("HX-Target") == "tag-options" { // suggestions for a field: what is typed on the page stays there
		return crm.ErrUnauthenticated
	}
	if isPart(r) { // the whole page must change, to what it shows now
		shown, err := url.Parse(r.Header.Get("HX-Current-URL"))
		if err != nil {
			shown = new(url.URL)
		}
		w.Header().Set("HX-Redirect", signInAddress(shown.RequestURI()))
		return nil
	}
	return redirect(w, r, signInAddress(r.URL.RequestURI()))
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

func (c *Console) signInPage(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	next := r.URL.Query().Get("next")
	if r.Method != http.MethodPost && v.session.ID != "" {
		return redirect(w, r, afterSignIn(next))
	}
	f.setUnsent("next", next)
	return c.showSignIn(w, r, 0, f)
}

func (c *Console) showSignIn(w http.ResponseWriter, r *http.Request, status int, f *form) error {
	return c.render(w, r, visit{}, "signin", page{Title: "Sign in", Form: f, Status: status})
}

func (c *Console) signIn(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	token, user, err := c.checkPassword(r, f.Value("email"), f.secret("password"))
	if outcome, ok := outcomeOf(err); ok {
		c.options.SignIn(outcome)
	}
	if errors.Is(err, crm.ErrUnauthenticated) {
		f.fail("", "Wrong email or password.")
		return errRefused
	}
	if err != nil {
		return err
	}
	c.begin(w, r, v, user.ID, token)
	if f.Value(resubmitTo) != "" {
		return c.resubmit(w, r, f, user, token)
	}
	return redirect(w, r, afterSignIn(f.Value("next")))
}

// checkPassword starts a session for a user who knows the password and is not throttled.
func (c *Console) checkPassword(r *http.Request, email, password string) (token string, user access.User, err error) {
	a := attempt{login: text.Login(email), client: c.options.Proxies.Client(r)}
	if a.browser, err = c.knownBrowser(r, email); err != nil {
		return "", access.User{}, err
	}
	err = c.throttle.try(r.Context(), a, func() (wrong bool, err error) {
		token, user, err = c.store.SignIn(r.Context(), email, password, c.device(r))
		return errors.Is(err, crm.ErrUnauthenticated), err
	})
	return token, user, err
}

func (c *Console) signOut(w http.ResponseWriter, r *http.Request, v visit, _ *form) error {
	err := c.store.EndSession(r.Context(), v.session.User.ID, v.session.ID)
	if err != nil && !errors.Is(err, crm.ErrNotFound) { // it may have ended in between
		return err
	}
	return signedOut(w, r)
}

// signedOut leads a browser away whose session has ended.
func signedOut(w http.ResponseWriter, r *http.Request) error {
	dropCookie(w, sessionCookie)
	return redirect(w, r, root+"/signin")
}
