package console

import (
	"errors"
	"net/http"
	"net/netip"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/web"
)

// How large a form may be depends on who sends it: a stranger's must cost next to nothing.
const (
	strangersForm = 16 << 10 // a name, an email address, a password
	ownForm       = 64 << 10 // most forms of people who have signed in
	recordForm    = 1 << 20  // a contact or a campaign, with all that the rules take
	carriedForm   = 64 << 10 // a form that is carried through the sign-in page
	signInForm    = 96 << 10 // signing in with a carried form, whose fields have longer names there
)

// rates counts the requests of each user, and of strangers by their address.
type rates struct {
	users     *web.Limiter[int64]
	strangers *web.Limiter[netip.Addr]
}

func newRates(limit int) rates {
	return rates{users: web.NewLimiter[int64](limit), strangers: web.NewLimiter[netip.Addr](limit)}
}

// identify finds out who sends a request, and counts it. The body is not touched: what costs more comes after.
func (c *Console) identify(w http.ResponseWriter, r *http.Request) (crm.Session, error) {
	session, err := c.sessionOf(r)
	var wait time.Duration
	var remaining int
	var ok bool
	switch {
	case err == nil:
		web.NoteUser(w, session.User.ID)
		remaining, wait, ok = c.rates.users.Take(session.User.ID, c.now())
		c.rates.users.SetHeaders(w, remaining)
	case errors.Is(err, crm.ErrUnauthenticated):
		remaining, wait, ok = c.rates.strangers.Take(web.LimitAddr(c.options.Proxies.Client(r)), c.now())
		c.rates.strangers.SetHeaders(w, remaining)
	default:
		return session, err
	}
	if !ok {
		return session, tooManyRequests(wait)
	}
	return session, err
}

func tooManyRequests(wait time.Duration) error {
	err := web.TooManyRequests(wait)
	var own *web.Error
	if errors.As(err, &own) {
		own.Message = "This is more than the server answers in a minute. Nothing was changed. Wait a moment, then try again."
	}
	return err
}

// signedIn admits users who have a session, and leads others to the sign-in page. The session is looked at before the form
// is read, so that a stranger's form is not read at all, and once more after it, because a slow sender may have been signed
// out by then. The role is looked at after the form only.
func (c *Console) signedIn(limit int64, next handler) web.HandlerFunc {
	return c.sameOrigin(func(w http.ResponseWriter, r *http.Request) error {
		session, err := c.identify(w, r)
		if err == nil && r.Method == http.MethodPost {
			if err := receiveForm(w, r, limit); err != nil {
				return err
			}
			session, err = c.sessionOf(r)
		}
		if errors.Is(err, crm.ErrUnauthenticated) {
			return c.toSignIn(w, r)
		}
		if err != nil {
			return err
		}
		return next(c, w, r, visit{session: session})
	})
}

// open admits strangers too.
func (c *Console) open(next func(*Console, http.ResponseWriter, *http.Request) error) web.HandlerFunc {
	return c.sameOrigin(func(w http.ResponseWriter, r *http.Request) error {
		if _, err := c.identify(w, r); err != nil && !errors.Is(err, crm.ErrUnauthenticated) {
			return err
		}
		if r.Method == http.MethodPost {
			limit := int64(strangersForm)
			if mayCarry(r) {
				limit = signInForm
			}
			if err := receiveForm(w, r, limit); err != nil {
				return err
			}
		}
		return next(c, w, r)
	})
}

// sameOrigin refuses what another site makes a browser send, before anything else looks at it.
func (c *Console) sameOrigin(next web.HandlerFunc) web.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := c.origin.Check(r); err != nil {
			return &web.Error{Status: http.StatusForbidden, Message: "This request came from another site, so it was refused. Nothing was changed.", Err: err}
		}
		return next(w, r)
	}
}

// mayCarry reports whether the form of a stranger is worth keeping: a browser that was signed in sends it from a page of
// ours. Any client can pretend that: the memory for the large bodies and pages of all strangers is bounded together.
func mayCarry(r *http.Request) bool {
	_, err := r.Cookie(sessionCookie)
	return err == nil && fromOurPage(r)
}

// fromOurPage goes by what browsers tell. That the origin is ours, if it is told, was checked before.
func fromOurPage(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "same-origin" || site == "" && r.Header.Get("Origin") != ""
}
