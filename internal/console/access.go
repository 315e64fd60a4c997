package console

import (
	"errors"
	"net/http"
	"strconv"

	"donorbook/internal/console/page"
	"donorbook/internal/console/users"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/history"
	"donorbook/internal/store"
	"donorbook/internal/web"
)

// identify finds out who sends a request, and counts it. The body is not touched: what costs more comes after.
func (c *Console) identify(w http.ResponseWriter, r *http.Request) (access.Session, error) {
	session, err := c.site.SessionOf(r)
	switch {
	case err == nil:
		web.NoteUser(w, session.User.ID)
		if err = page.CountRequest(w, c.users, session.User.ID, c.site.Now()); err == nil {
			err = web.InTurn(w, r)
		}
	case errors.Is(err, crm.ErrUnauthenticated):
		if limited := c.site.CountStranger(w, r); limited != nil {
			err = limited
		}
	}
	return session, err
}

// authorize lets in those whom the route is for, and reads their form. The session is looked at before the form is read, so that a
// stranger's form is not read at all, and once more after it, because a slow sender may have been signed out by then. The role is
// looked at after the form only.
func (c *Console) authorize(route route) web.HandlerFunc {
	return func(w http.ResponseWriter, sent *http.Request) (err error) {
		r := &page.Request{Site: c.site, Request: sent, W: w, Form: page.NewForm()}
		if err := c.site.CheckOrigin(sent); err != nil {
			return err
		}
		r.Session, err = c.identify(w, sent)
		open := route.role == stranger && errors.Is(err, crm.ErrUnauthenticated)
		if r.Method == http.MethodPost && (err == nil || open) {
			if r.Form, err = page.ReceiveForm(w, sent, route.formLimit(sent)); err != nil {
				return err
			}
			r.Session, err = c.site.SessionOf(sent)
		}
		if errors.Is(err, crm.ErrUnauthenticated) {
			if route.role != stranger {
				return users.ToSignIn(r, route.page != nil)
			}
			err = nil
		}
		if err != nil {
			return err
		}
		return enter(r, route)
	}
}

// enter has the route answer, once it is known who asks and what they sent.
func enter(r *page.Request, route route) error {
	if route.role > user {
		return asMember(r, route)
	}
	if r.Session.User.ID != 0 {
		r.Request = r.WithContext(store.By(r.Context(), history.ConsoleChannel, r.Session.User.Email))
	}
	return answer(r, route)
}

func (route route) formLimit(r *http.Request) int64 {
	switch {
	case route.role == access.Editor: // editors change contacts and campaigns
		return page.RecordForm
	case route.role != stranger:
		return page.OwnForm
	case users.MayKeepForm(r):
		return page.SignInForm
	}
	return page.StrangersForm
}

// asMember lets in members of the organization in the path who have the role. To anyone else the organization does not exist.
func asMember(r *page.Request, route route) (err error) {
	if r.Membership, err = r.Store.Membership(r.Context(), r.Session.User.ID, r.PathValue("org")); err != nil {
		return err
	}
	web.Note(r.W, r.Account(), 0)
	if r.Membership.Role < route.role {
		return page.Forbidden(r.Membership, route.role)
	}
	if id := r.PathValue("id"); id != "" {
		if r.ID, err = strconv.ParseInt(id, 10, 64); err != nil || strconv.FormatInt(r.ID, 10) != id {
			return crm.ErrNotFound
		}
	}
	acting := store.Acting(r.Context(), r.Session.User.ID, r.Account(), route.role)
	r.Request = r.WithContext(store.By(acting, history.ConsoleChannel, r.Session.User.Email))
	return answer(r, route)
}

// answer has the handler answer. A form that it refuses is answered by the page that the form came from.
func answer(r *page.Request, route route) error {
	err := r.Repeated()
	if err == nil {
		err = route.handle(r)
	}
	if first := new(store.Replayed); errors.As(err, &first) { // before, or both at once
		return r.SentBefore(first)
	}
	if err == nil || route.page == nil {
		return err
	}
	if err := r.Form.Refuse(err); err != nil {
		return err
	}
	return route.page(r)
}

// keptPage shows a form of the route that a person had typed when the session ended, on its page.
func (c *Console) keptPage(route route) web.HandlerFunc {
	show := route.page
	route.page, route.handle = nil, func(r *page.Request) error {
		r.Form.Fail("", "You were signed out before this was saved. Check the form, then submit it again.")
		return show(r)
	}
	return func(w http.ResponseWriter, sent *http.Request) (err error) {
		r := &page.Request{Site: c.site, Request: sent, W: w, Form: page.SentForm(sent.URL.Path, sent.PostForm)}
		if r.Session, err = c.site.SessionOf(sent); err != nil {
			return err
		}
		return enter(r, route)
	}
}
