package console

import (
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/web"
)

// sessionCookie holds the token of a session. Its prefix makes browsers refuse it from anywhere but this very host over
// HTTPS.
const (
	sessionCookie = "__Host-session"
	sessionTime   = 30 * 24 * time.Hour
)

func (c *Console) sessionOf(r *http.Request) (crm.Session, error) {
	cookie, err := r.Cookie(sessionCookie)
	if err != nil {
		return crm.Session{}, crm.ErrUnauthenticated
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

// device says where a request comes from, as far as a person recognises it.
func (c *Console) device(r *http.Request) crm.Device {
	agent := strings.ToValidUTF8(r.UserAgent(), "")
	return crm.Device{Address: c.options.Proxies.Client(r).String(), Agent: agent[:min(len(agent), 255)]}
}

// begin signs a user in with this browser. A session that it had before ends.
func (c *Console) begin(w http.ResponseWriter, r *http.Request, token string) {
	c.endOld(r)
	setCookie(w, sessionCookie, token, sessionTime)
}

func (c *Console) endOld(r *http.Request) {
	if old, err := c.sessionOf(r); err == nil {
		// A session that cannot be ended now ends by itself: nobody holds its cookie any more.
		_ = c.store.EndSession(r.Context(), old.User.ID, old.ID)
	}
}

// toSignIn remembers where somebody wanted to go.
func (c *Console) toSignIn(w http.ResponseWriter, r *http.Request) error {
	to := root + "/signin"
	if r.Method == http.MethodGet && r.URL.Path != root {
		to += "?next=" + url.QueryEscape(r.URL.RequestURI())
	}
	if r.Header.Get("HX-Request") != "" { // a part of a page: the whole page must change
		w.Header().Set("HX-Redirect", root+"/signin")
		return nil
	}
	return redirect(w, r, to)
}

// afterSignIn is where to go on: a page of the console and nothing else.
func afterSignIn(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Host != "" || u.Scheme != "" || strings.Contains(next, "\\") || path.Clean(u.Path) != u.Path || !strings.HasPrefix(next, root+"/") {
		return root
	}
	return u.RequestURI()
}

func (c *Console) signInPage(w http.ResponseWriter, r *http.Request) error {
	if _, err := c.sessionOf(r); err == nil {
		return redirect(w, r, afterSignIn(r.URL.Query().Get("next")))
	}
	f := newForm()
	f.set("next", r.URL.Query().Get("next"))
	return c.render(w, r, visit{}, http.StatusOK, "signin", page{Title: "Sign in", Data: f})
}

func (c *Console) signIn(w http.ResponseWriter, r *http.Request) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	email := f.Value("email")
	if wait, ok := c.guesses.take(crm.Login(email), c.client(r), c.now()); !ok {
		return tooManyGuesses(wait)
	}
	token, _, err := c.store.SignIn(r.Context(), email, f.secret("password"), c.device(r))
	if errors.Is(err, crm.ErrUnauthenticated) {
		f.fail("", "The email or the password is wrong.")
		return c.render(w, r, visit{}, http.StatusUnprocessableEntity, "signin", page{Title: "Sign in", Data: f})
	}
	if err != nil {
		return err
	}
	c.begin(w, r, token)
	return redirect(w, r, afterSignIn(f.Value("next")))
}

func (c *Console) signOut(w http.ResponseWriter, r *http.Request, v visit) error {
	err := c.store.EndSession(r.Context(), v.session.User.ID, v.session.ID)
	if err != nil && !errors.Is(err, crm.ErrNotFound) { // it may have ended in between
		return err
	}
	dropCookie(w, sessionCookie)
	return redirect(w, r, root+"/signin")
}

// guesses slows down whoever tries passwords: one address for one user, one address for many users, many addresses for
// one user. The last limit is wide, so that nobody can lock somebody else out cheaply.
type guesses struct {
	pairs  *web.Limiter[guess]
	places *web.Limiter[netip.Addr]
	logins *web.Limiter[string]
}

type guess struct {
	login string
	place netip.Addr
}

const guessWindow = 15 * time.Minute

func newGuesses() *guesses {
	return &guesses{
		pairs:  web.NewWindowLimiter[guess](10, guessWindow),
		places: web.NewWindowLimiter[netip.Addr](60, guessWindow),
		logins: web.NewWindowLimiter[string](200, guessWindow),
	}
}

// take counts an attempt, right or wrong: to tell them apart would take the time that is to be saved.
func (g *guesses) take(login string, place netip.Addr, now time.Time) (wait time.Duration, ok bool) {
	if _, wait, ok = g.places.Take(place, now); !ok {
		return wait, false
	}
	if _, wait, ok = g.pairs.Take(guess{login, place}, now); !ok {
		return wait, false
	}
	_, wait, ok = g.logins.Take(login, now)
	return wait, ok
}

func tooManyGuesses(wait time.Duration) error {
	err := web.TooManyRequests(wait)
	var own *web.Error
	if errors.As(err, &own) {
		own.Message = "There were too many attempts to sign in. Wait a quarter of an hour, then try again; whoever runs this server can set a new password with donorbook user reset-password."
	}
	return err
}
