package users

import (
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"donorbook/internal/console/page"
	"donorbook/internal/crm/access"
)

// MayKeepForm reports whether the form of a stranger is worth keeping: a browser that was signed in sends it from a page of
// ours. Any client can pretend that: the memory for the large bodies and pages of all strangers is bounded together.
func MayKeepForm(r *http.Request) bool {
	return page.CookieValue(r, page.UserCookie) != "" && fromOurPage(r)
}

// fromOurPage goes by what browsers tell. That the origin is ours, if it is told, was checked before.
func fromOurPage(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "same-origin" || site == "" && r.Header.Get("Origin") != ""
}

// keepForm is the form for the sign-in page that keeps the one that is being sent, or was, and says what became of it. Files are
// chosen again and secrets typed again, and no one types as much as is too large. A form without a page of its own is only a
// button: signing in leads to the page that has it.
func keepForm(w http.ResponseWriter, r *http.Request, hasPage bool) (*page.Form, error) {
	f := page.NewForm()
	if from, err := url.Parse(r.Referer()); err == nil && fromOurPage(r) {
		f.Set("next", from.RequestURI()) // the page of the form, where it is not kept
	}
	parts := strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/")
	switch {
	case !hasPage:
		f.Fail("", "You are not signed in, so nothing was saved. Sign in, then try again.")
		return f, nil
	case parts && (!MayKeepForm(r) || r.ContentLength < 0 || r.ContentLength > page.KeptForm):
		f.Fail("", "You are not signed in, so nothing was saved. Sign in, then choose the file again.")
		return f, nil
	case MayKeepForm(r) && r.ContentLength > page.KeptForm:
		f.Fail("", "You are not signed in, so nothing was saved. Sign in, then fill in the form again. It was too large to be kept.")
		return f, nil
	case !MayKeepForm(r) || r.ContentLength < 0: // browsers tell how long a form is
		f.Fail("", "You are not signed in, so nothing was saved. Sign in, then fill in the form again.")
		return f, nil
	}
	if r.PostForm == nil {
		if _, err := page.ReceiveForm(w, r, page.KeptForm); err != nil {
			return nil, err
		}
	}
	said := "You were signed out, so nothing was saved. Sign in to get back to the form, with what you typed."
	if parts {
		sent := page.NewForm()
		err := sent.EachPart(r.Body, r.Header.Get("Content-Type"), page.KeptForm, func(*multipart.Part) error {
			said = "You were signed out, so nothing was saved. Sign in to get back to the form, then choose the file again."
			return nil
		})
		if err != nil {
			return nil, err
		}
		r.PostForm = sent.Fields
	}
	kept := url.Values{page.KeptTo: {afterSignIn(r.URL.RequestURI())}, page.KeptBy: {page.CookieValue(r, page.UserCookie)}}
	for name, values := range r.PostForm {
		if page.IsSecret(name) {
			f.Fail("", "You are not signed in, so nothing was saved. Sign in, then fill in the form again.")
			return f, nil
		}
		kept[page.KeptPrefix+name] = values
	}
	f.Fields = kept
	f.Fail("", said)
	return f, nil
}

// showKept answers the sign-in form with the page of the form that it kept. The form of someone else is dropped. What a form does is
// not reached from here: the mux of kept forms has only their pages.
func showKept(r *page.Request, user access.User, token string) error {
	if r.Form.Value(page.KeptBy) != strconv.FormatInt(user.ID, 10) {
		return r.Redirect(page.Root, page.Notice{Text: "You are signed in. The form that was kept here was filled in by someone else, so it was discarded."})
	}
	to, err := url.Parse(afterSignIn(r.Form.Value(page.KeptTo)))
	if err != nil {
		return err
	}
	shown := r.Clone(r.Context())
	shown.URL, shown.PostForm = to, url.Values{}
	for name, values := range r.Form.Fields {
		if field, isField := strings.CutPrefix(name, page.KeptPrefix); isField {
			shown.PostForm[field] = values
		}
	}
	shown.Header.Set("Cookie", page.SessionCookie+"="+token)
	return r.Kept.Serve(r.W, shown)
}
