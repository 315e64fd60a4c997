package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// A form that came without a session travels through the sign-in page: where it was going, and its fields under names of
// their own.
const (
	carriedTo    = "again"
	carriedField = "again."
)

// carry takes over a form that is being sent, or was. One that is too large is dropped: no one types so much. Passwords
// are typed again.
func (f *form) carry(w http.ResponseWriter, r *http.Request) error {
	if r.ContentLength > carriedForm || r.ContentLength < 0 { // browsers tell how long a form is
		return nil
	}
	if r.PostForm == nil {
		if _, err := receiveForm(w, r, carriedForm); err != nil {
			return err
		}
	}
	carried := url.Values{carriedTo: {afterSignIn(r.URL.Path)}}
	for name, values := range r.PostForm {
		if strings.Contains(name, "password") {
			return nil
		}
		carried[carriedField+name] = values
	}
	f.values = carried
	return nil
}

// carried is one field of a form that is carried.
type carried struct{ Name, Value string }

// Carried are the fields as the sign-in page holds them; Sent are the same under the names that they were sent with.
func (f *form) Carried() (all []carried) {
	for name, values := range f.values {
		if name != carriedTo && !strings.HasPrefix(name, carriedField) {
			continue
		}
		for _, value := range values {
			all = append(all, carried{name, value})
		}
	}
	slices.SortStableFunc(all, func(a, b carried) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func (f *form) Sent() (all []carried) {
	for _, c := range f.Carried() {
		if name, ok := strings.CutPrefix(c.Name, carriedField); ok {
			all = append(all, carried{name, c.Value})
		}
	}
	return all
}

// Again is where the form was going: a page of the console and nothing else.
func (f *form) Again() string { return afterSignIn(f.Value(carriedTo)) }
