package console

import (
	"cmp"
	"net/http"

	"donorbook/internal/web"
)

// problem is what an error page says.
type problem struct {
	Status  int
	Heading string
	Message string
	Public  bool // a visitor of campaigns may look at it, for whom the console is not
}

// errorPage shows a failure to a person: what happened, what to do next, and the number under which the log has it.
func (s *site) errorPage(w http.ResponseWriter, r *http.Request, err error) {
	shown := newProblem(w.Header(), err)
	looks := &request{site: s, Request: r, w: w}
	if shown.Status != http.StatusTooManyRequests { // a client that asks too often must not cost the database anything
		looks.recognize()
	}
	if looks.render("error", page{Title: shown.Heading, Status: shown.Status, Data: shown}) != nil {
		_ = s.writeProblem(w, shown) // not even the page around it can be made, as when the database is away
	}
}

// writeProblem shows a failure without anything that the database would have to tell.
func (s *site) writeProblem(w http.ResponseWriter, shown problem) error {
	return s.write(w, "error", "layout", page{Title: shown.Heading, Status: shown.Status, Data: shown, RequestID: web.RequestID(w)})
}

// newProblem puts an error into words, and sets the headers that belong to it.
func newProblem(h http.Header, err error) problem {
	status, message := web.ErrorHeaders(h, err)
	h.Del("WWW-Authenticate")
	shown := problems[status]
	return problem{Status: status, Heading: cmp.Or(shown.Heading, http.StatusText(status)), Message: cmp.Or(shown.Message, message)}
}

// recognize finds out who looks at an error page, as far as that is possible.
func (r *request) recognize() {
	if session, err := r.sessionOf(r.Request); err == nil {
		r.session = session
		r.membership, _ = r.store.Membership(r.Context(), session.User.ID, r.PathValue("org"))
	}
}

// problems are what error pages say. Where one has no message, the page shows that of the error.
var problems = map[int]problem{
	http.StatusBadRequest:            {Heading: "Invalid request"},
	http.StatusForbidden:             {Heading: "Permission denied"},
	http.StatusNotFound:              {Heading: "Page not found", Message: "This page doesn’t exist, or you don’t have access to it. Check the address, or ask a colleague for a new link."},
	http.StatusGone:                  {Heading: "This link no longer works"},
	http.StatusMethodNotAllowed:      {Heading: "Form not submitted", Message: "Go back and submit the form again."},
	http.StatusConflict:              {Heading: "Someone else changed this"},
	http.StatusRequestEntityTooLarge: {Heading: "Too much data"},
	http.StatusUnprocessableEntity:   {Heading: "Please check your input"},
	http.StatusTooManyRequests:       {Heading: "Too many requests"},
	http.StatusInternalServerError:   {Heading: "Something went wrong on our end", Message: "Please try again in a moment."},
	http.StatusServiceUnavailable:    {Heading: "The service is temporarily unavailable"},
}
