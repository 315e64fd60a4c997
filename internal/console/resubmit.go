package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// A form that came without a session travels through the sign-in page, to be submitted again: where it was going, and its
// fields under names of their own.
const (
	resubmitTo     = "again"
	resubmitPrefix = "again."
)

// mayResubmit reports whether the form of a stranger is worth keeping: a browser that was signed in sends it from a page of
// ours. Any client can pretend that: the memory for the large bodies and pages of all strangers is bounded together.
func mayResubmit(r *http.Request) bool { return cookieValue(r, sessionCookie) != "" && fromOurPage(r) }

// fromOurPage goes by what browsers tell. That the origin is ours, if it is told, was checked before.
func fromOurPage(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "same-origin" || site == "" && r.Header.Get("Origin") != ""
}

// formToResubmit is the form for the sign-in page that holds the one that is being sent, or was. A form that is too large is
// dropped: no one types so much. So is one with a password, which is typed again.
func formToResubmit(w http.ResponseWriter, r *http.Request) (*form, error) {
	f := newForm()
	if !mayResubmit(r) || r.ContentLength > resubmitForm || r.ContentLength < 0 { // browsers tell how long a form is
		return f, nil
	}
	if r.PostForm == nil {
		if _, err := receiveForm(w, r, resubmitForm); err != nil {
			return nil, err
		}
	}
	kept := url.Values{resubmitTo: {afterSignIn(r.URL.Path)}}
	for name, values := range r.PostForm {
		if strings.Contains(name, "password") {
			return f, nil
		}
		kept[resubmitPrefix+name] = values
	}
	f.values = kept
	return f, nil
}

// keptField is a field of a form that is to be submitted again, or where the form was going.
type keptField struct {
	Name, Sent string // on the sign-in page, and in the form
	IsField    bool
	Value      string
}

// Kept are the fields that the sign-in page holds and the page after it sends.
func (f *form) Kept() (all []keptField) {
	for name, values := range f.values {
		sent, isField := strings.CutPrefix(name, resubmitPrefix)
		for _, value := range values {
			if isField || name == resubmitTo {
				all = append(all, keptField{name, sent, isField, value})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b keptField) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// ResubmitTo is where the form was going: a page of the console and nothing else.
func (f *form) ResubmitTo() string { return afterSignIn(f.Value(resubmitTo)) }
