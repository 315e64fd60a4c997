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

// A form that came without a session travels through the sign-in page, and is shown again after it: where it was going, who has
// typed it, and its fields under names of their own.
const (
	resubmitTo     = "again"
	resubmitBy     = "again_by"
	resubmitPrefix = "again."
)

// mayResubmit reports whether the form of a stranger is worth keeping: a browser that was signed in sends it from a page of
// ours. Any client can pretend that: the memory for the large bodies and pages of all strangers is bounded together.
func mayResubmit(r *http.Request) bool { return cookieValue(r, userCookie) != "" && fromOurPage(r) }

// fromOurPage goes by what browsers tell. That the origin is ours, if it is told, was checked before.
func fromOurPage(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "same-origin" || site == "" && r.Header.Get("Origin") != ""
}

// formToResubmit is the form for the sign-in page that holds the one that is being sent, or was, and says what became of it. Files are
// chosen again and passwords typed again, and no one types as much as is too large.
func formToResubmit(w http.ResponseWriter, r *http.Request) (*form, error) {
	f := newForm()
	if from, err := url.Parse(r.Referer()); err == nil && fromOurPage(r) {
		f.set("next", from.RequestURI()) // the page of the form, where it is not kept
	}
	parts := strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/")
	switch {
	case parts && (!mayResubmit(r) || r.ContentLength < 0 || r.ContentLength > resubmitForm):
		f.fail("", "You are not signed in, so nothing was saved. Sign in, then choose the file again.")
		return f, nil
	case mayResubmit(r) && r.ContentLength > resubmitForm:
		f.fail("", "You are not signed in, so nothing was saved. Sign in, then fill in the form again. It was too large to be kept.")
		return f, nil
	case !mayResubmit(r) || r.ContentLength < 0: // browsers tell how long a form is
		f.fail("", "You are not signed in, so nothing was saved. Sign in, then fill in the form again.")
		return f, nil
	}
	if r.PostForm == nil {
		if _, err := receiveForm(w, r, resubmitForm); err != nil {
			return nil, err
		}
	}
	said := "You were signed out, so nothing was saved. Sign in to get back to the form, with what you typed."
	if parts {
		sent := newForm()
		err := sent.eachPart(r.Body, r.Header.Get("Content-Type"), resubmitForm, func(*multipart.Part) error {
			said = "You were signed out, so nothing was saved. Sign in to get back to the form, then choose the file again."
			return nil
		})
		if err != nil {
			return nil, err
		}
		r.PostForm = sent.values
	}
	kept := url.Values{resubmitTo: {afterSignIn(r.URL.RequestURI())}, resubmitBy: {cookieValue(r, userCookie)}}
	for name, values := range r.PostForm {
		if strings.Contains(name, "password") {
			f.fail("", "You are not signed in, so nothing was saved. Sign in, then fill in the form again.")
			return f, nil
		}
		kept[resubmitPrefix+name] = values
	}
	f.values = kept
	f.fail("", said)
	return f, nil
}

// resubmit answers the sign-in form with the page of the form that it kept. The form of someone else is dropped.
func (r *request) resubmit(user access.User, token string) error {
	if r.form.Value(resubmitBy) != strconv.FormatInt(user.ID, 10) {
		return r.redirect(root, notice{Text: "You are signed in. The form that was kept here was filled in by someone else, so it was discarded."})
	}
	to, err := url.Parse(afterSignIn(r.form.Value(resubmitTo)))
	if err != nil {
		return err
	}
	fields := url.Values{resubmitTo: {to.Path}}
	for name, values := range r.form.values {
		if sent, isField := strings.CutPrefix(name, resubmitPrefix); isField {
			fields[sent] = values
		}
	}
	again := web.WithBody(r.Request, []byte(fields.Encode())).Clone(r.Context())
	again.URL, again.PostForm = to, nil
	again.Header.Set("Cookie", sessionCookie+"="+token)
	return r.mux.Serve(r.w, again)
}

// showAgain answers with the form that a person had typed when the session ended: on its page, or alone where it is only a button.
func (r *request) showAgain(route route) error {
	if route.page == nil {
		r.form.path = r.URL.RequestURI()
		return r.render("resubmit", page{Title: "Not completed", Form: r.form})
	}
	r.form.fail("", "You were signed out before this was saved. Check the form, then submit it again.")
	return route.page(r)
}

// keptField is a field of a form that is to be submitted again, or where the form was going.
type keptField struct{ Name, Value string }

// Kept are the fields that the sign-in page holds.
func (f *form) Kept() (all []keptField) {
	for name, values := range f.values {
		for _, value := range values {
			if strings.HasPrefix(name, resubmitTo) {
				all = append(all, keptField{name, value})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b keptField) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// SentTo is the address that the form is sent to again.
func (f *form) SentTo() string { return f.path }
