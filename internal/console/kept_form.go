package console

import (
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"donorbook/internal/crm/access"
	"donorbook/internal/web"
)

// A form that came without a session is kept by the sign-in page, and shown again after it, for the person to send: where it was
// going, who has typed it, and its fields under names of their own.
const (
	keptTo     = "kept"
	keptBy     = "kept_by"
	keptPrefix = "kept."
)

// mayKeepForm reports whether the form of a stranger is worth keeping: a browser that was signed in sends it from a page of
// ours. Any client can pretend that: the memory for the large bodies and pages of all strangers is bounded together.
func mayKeepForm(r *http.Request) bool { return cookieValue(r, userCookie) != "" && fromOurPage(r) }

// fromOurPage goes by what browsers tell. That the origin is ours, if it is told, was checked before.
func fromOurPage(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "same-origin" || site == "" && r.Header.Get("Origin") != ""
}

// keepForm is the form for the sign-in page that keeps the one that is being sent, or was, and says what became of it. Files are
// chosen again and passwords typed again, and no one types as much as is too large. A form without a page of its own is only a
// button: signing in leads to the page that has it.
func keepForm(w http.ResponseWriter, r *http.Request, hasPage bool) (*form, error) {
	f := newForm()
	if from, err := url.Parse(r.Referer()); err == nil && fromOurPage(r) {
		f.set("next", from.RequestURI()) // the page of the form, where it is not kept
	}
	parts := strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/")
	switch {
	case !hasPage:
		f.fail("", "You are not signed in, so nothing was saved. Sign in, then try again.")
		return f, nil
	case parts && (!mayKeepForm(r) || r.ContentLength < 0 || r.ContentLength > keptForm):
		f.fail("", "You are not signed in, so nothing was saved. Sign in, then choose the file again.")
		return f, nil
	case mayKeepForm(r) && r.ContentLength > keptForm:
		f.fail("", "You are not signed in, so nothing was saved. Sign in, then fill in the form again. It was too large to be kept.")
		return f, nil
	case !mayKeepForm(r) || r.ContentLength < 0: // browsers tell how long a form is
		f.fail("", "You are not signed in, so nothing was saved. Sign in, then fill in the form again.")
		return f, nil
	}
	if r.PostForm == nil {
		if _, err := receiveForm(w, r, keptForm); err != nil {
			return nil, err
		}
	}
	said := "You were signed out, so nothing was saved. Sign in to get back to the form, with what you typed."
	if parts {
		sent := newForm()
		err := sent.eachPart(r.Body, r.Header.Get("Content-Type"), keptForm, func(*multipart.Part) error {
			said = "You were signed out, so nothing was saved. Sign in to get back to the form, then choose the file again."
			return nil
		})
		if err != nil {
			return nil, err
		}
		r.PostForm = sent.values
	}
	kept := url.Values{keptTo: {afterSignIn(r.URL.RequestURI())}, keptBy: {cookieValue(r, userCookie)}}
	for name, values := range r.PostForm {
		if strings.Contains(name, "password") {
			f.fail("", "You are not signed in, so nothing was saved. Sign in, then fill in the form again.")
			return f, nil
		}
		kept[keptPrefix+name] = values
	}
	f.values = kept
	f.fail("", said)
	return f, nil
}

// showKept answers the sign-in form with the page of the form that it kept. The form of someone else is dropped. What a form does is
// not reached from here: the mux of kept forms has only their pages.
func (r *request) showKept(user access.User, token string) error {
	if r.form.Value(keptBy) != strconv.FormatInt(user.ID, 10) {
		return r.redirect(root, notice{Text: "You are signed in. The form that was kept here was filled in by someone else, so it was discarded."})
	}
	to, err := url.Parse(afterSignIn(r.form.Value(keptTo)))
	if err != nil {
		return err
	}
	shown := r.Clone(r.Context())
	shown.URL, shown.PostForm = to, url.Values{}
	for name, values := range r.form.values {
		if field, isField := strings.CutPrefix(name, keptPrefix); isField {
			shown.PostForm[field] = values
		}
	}
	shown.Header.Set("Cookie", sessionCookie+"="+token)
	return r.kept.Serve(r.w, shown)
}

// keptPage shows a form of the route that a person had typed when the session ended, on its page.
func (c *Console) keptPage(route route) web.HandlerFunc {
	show := route.page
	route.page, route.handle = nil, func(r *request) error {
		r.form.fail("", "You were signed out before this was saved. Check the form, then submit it again.")
		return show(r)
	}
	return func(w http.ResponseWriter, sent *http.Request) (err error) {
		r := &request{site: c.site, Request: sent, w: w, form: sentForm(sent.URL.Path, sent.PostForm)}
		if r.session, err = c.site.sessionOf(sent); err != nil {
			return err
		}
		return r.enter(route)
	}
}

// keptField is a field of a kept form, or where the form was going.
type keptField struct{ Name, Value string }

// Kept are the fields that the sign-in page keeps.
func (f *form) Kept() (all []keptField) {
	for name, values := range f.values {
		for _, value := range values {
			if strings.HasPrefix(name, keptTo) {
				all = append(all, keptField{name, value})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b keptField) int { return strings.Compare(a.Name, b.Name) })
	return all
}
