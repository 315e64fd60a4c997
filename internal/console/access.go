package console

import (
	"errors"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/history"
	"donorbook/internal/store"
	"donorbook/internal/web"
)

// How large a form may be depends on who sends it: a stranger's must cost next to nothing.
const (
	strangersForm = 16 << 10 // a name, an email address, a password
	ownForm       = 64 << 10 // most forms of people who have signed in
	recordForm    = 1 << 20  // a contact or a campaign, with all that the rules take
	keptForm      = 64 << 10 // a form that the sign-in page keeps
	signInForm    = 96 << 10 // signing in with such a form, whose fields have longer names there
)

// rates counts the requests of each user, and of strangers by their address.
type rates struct {
	users     *web.Limiter[int64]
	strangers *web.Limiter[netip.Addr]
	forgotten *web.Limiter[netip.Addr] // forms of people who forgot their password, by their address
}

const forgottenRate = 5 // a minute

func newRates(limit int) rates {
	return rates{users: web.NewLimiter[int64](limit), strangers: web.NewLimiter[netip.Addr](limit), forgotten: web.NewLimiter[netip.Addr](forgottenRate)}
}

// identify finds out who sends a request, and counts it. The body is not touched: what costs more comes after.
func (c *Console) identify(w http.ResponseWriter, r *http.Request) (access.Session, error) {
	session, err := c.sessionOf(r)
	switch {
	case err == nil:
		web.NoteUser(w, session.User.ID)
		err = countRequest(w, c.rates.users, session.User.ID, c.now())
	case errors.Is(err, crm.ErrUnauthenticated):
		if limited := countRequest(w, c.rates.strangers, web.LimitAddr(c.options.Proxies.Client(r)), c.now()); limited != nil {
			err = limited
		}
	}
	return session, err
}

func countRequest[K comparable](w http.ResponseWriter, rates *web.Limiter[K], caller K, now time.Time) error {
	remaining, wait, ok := rates.Take(caller, now)
	rates.SetHeaders(w, remaining)
	if ok {
		return nil
	}
	return tooManyRequests(wait, "Too many requests at once. Nothing was changed. Wait a moment, then try again.")
}

// tooManyRequests says in words of the console what to wait for.
func tooManyRequests(wait time.Duration, message string) error {
	err := web.TooManyRequests(wait)
	var own *web.Error
	if errors.As(err, &own) {
		own.Message = message
	}
	return err
}

// authorize lets in those whom the route is for, and reads their form. The session is looked at before the form is read, so that a
// stranger's form is not read at all, and once more after it, because a slow sender may have been signed out by then. The role is
// looked at after the form only.
func (c *Console) authorize(route route) web.HandlerFunc {
	return func(w http.ResponseWriter, sent *http.Request) (err error) {
		r := &request{Console: c, Request: sent, w: w, form: newForm()}
		if err := c.checkOrigin(sent); err != nil {
			return &web.Error{Status: http.StatusForbidden, Message: "This request came from another site and was refused. Nothing was changed.", Err: err}
		}
		r.session, err = c.identify(w, sent)
		open := route.role == stranger && errors.Is(err, crm.ErrUnauthenticated)
		if r.Method == http.MethodPost && (err == nil || open) {
			if r.form, err = receiveForm(w, sent, route.formLimit(sent)); err != nil {
				return err
			}
			r.session, err = c.sessionOf(sent)
		}
		if errors.Is(err, crm.ErrUnauthenticated) {
			if route.role != stranger {
				return r.toSignIn(route)
			}
			err = nil
		}
		if err != nil {
			return err
		}
		return r.enter(route)
	}
}

// enter has the route answer, once it is known who asks and what they sent.
func (r *request) enter(route route) error {
	if route.role > user {
		return r.asMember(route)
	}
	if r.session.User.ID != 0 {
		r.Request = r.WithContext(store.By(r.Context(), history.ConsoleChannel, r.session.User.Email))
	}
	return r.answer(route)
}

var errPlainOrigin = errors.New("a page that came over plain HTTP sent it")

// checkOrigin refuses what another site sent. Of an older browser, which says no more than the origin, the standard library compares the host alone; but
// a machine on the way can serve a page over plain HTTP in the name of this host.
func (c *Console) checkOrigin(r *http.Request) error {
	if err := c.origin.Check(r); err != nil {
		return err
	}
	origin, _, _ := strings.Cut(r.Header.Get("Origin"), ":")
	if r.Method == http.MethodPost && r.Header.Get("Sec-Fetch-Site") == "" && strings.EqualFold(origin, "http") && c.options.Proxies.Scheme(r) == "https" {
		return errPlainOrigin
	}
	return nil
}

func (route route) formLimit(r *http.Request) int64 {
	switch {
	case route.role == access.Editor: // editors change contacts and campaigns
		return recordForm
	case route.role != stranger:
		return ownForm
	case mayKeepForm(r):
		return signInForm
	}
	return strangersForm
}

// asMember lets in members of the organization in the path who have the role. To anyone else the organization does not exist.
func (r *request) asMember(route route) (err error) {
	if r.membership, err = r.store.Membership(r.Context(), r.session.User.ID, r.PathValue("org")); err != nil {
		return err
	}
	web.Note(r.w, r.account(), 0)
	if r.membership.Role < route.role {
		return forbidden(r.membership, route.role)
	}
	if id := r.PathValue("id") + r.PathValue("user"); id != "" { // no path has both
		if r.id, err = strconv.ParseInt(id, 10, 64); err != nil || strconv.FormatInt(r.id, 10) != id {
			return crm.ErrNotFound
		}
	}
	acting := store.Acting(r.Context(), r.session.User.ID, r.account(), route.role)
	r.Request = r.WithContext(store.By(acting, history.ConsoleChannel, r.session.User.Email))
	return r.answer(route)
}

func forbidden(m access.Membership, needed access.Role) error {
	return &web.Error{Status: http.StatusForbidden,
		Message: "Your role at " + m.Account.Name + " is " + m.Role.String() + ", but this needs the role " + needed.String() + ". Ask an owner to change your role."}
}

// answer has the handler answer. A form that it refuses is answered by the page that the form came from.
func (r *request) answer(route route) error {
	if key := r.attemptKey(); key != "" && r.account() != 0 {
		first, err := r.store.AnswerBefore(r.Context(), r.account(), key)
		if err != nil {
			return err
		}
		if first != nil {
			return r.sentBefore(first)
		}
	}
	err := route.handle(r)
	if first := new(store.Replayed); errors.As(err, &first) { // both were sent at once
		return r.sentBefore(first)
	}
	if err == nil || route.page == nil {
		return err
	}
	if err := r.form.refuse(err); err != nil {
		return err
	}
	return route.page(r)
}
