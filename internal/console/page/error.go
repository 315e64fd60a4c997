package page

import (
	"cmp"
	"net/http"

	"donorbook/internal/web"
)

// Problem is what an error page says.
type Problem struct {
	Status  int
	Heading string
	Message string
	Public  bool // a visitor of campaigns may look at it, for whom the console is not
}

// ErrorPage shows a failure to a person: what happened, what to do next, and the number under which the log has it.
func (s *Site) ErrorPage(w http.ResponseWriter, r *http.Request, err error) {
	shown := NewProblem(w.Header(), err)
	looks := &Request{Site: s, Request: r, W: w}
	if shown.Status != http.StatusTooManyRequests { // a client that asks too often must not cost the database anything
		looks.recognize()
	}
	if looks.Render("error", View{Title: shown.Heading, Status: shown.Status, Data: shown}) != nil {
		_ = s.WriteProblem(w, shown) // not even the page around it can be made, as when the database is away
	}
}

// WriteProblem shows a failure without anything that the database would have to tell.
func (s *Site) WriteProblem(w http.ResponseWriter, shown Problem) error {
	return s.Show(w, "error", "layout", View{Title: shown.Heading, Status: shown.Status, Data: shown, RequestID: web.RequestID(w)})
}

// NewProblem puts an error into words, and sets the headers that belong to it.
func NewProblem(h http.Header, err error) Problem {
	status, message := web.ErrorHeaders(h, err)
	h.Del("WWW-Authenticate")
	shown := problems[status]
	return Problem{Status: status, Heading: cmp.Or(shown.Heading, http.StatusText(status)), Message: cmp.Or(shown.Message, message)}
}

// recognize finds out who looks at an error page, as far as that is possible.
func (r *Request) recognize() {
	if session, err := r.SessionOf(r.Request); err == nil {
		r.Session = session
		r.Membership, _ = r.Store.Membership(r.Context(), session.User.ID, r.PathValue("org"))
	}
}

// problems are what error pages say. Where one has no message, the page shows that of the error.
var problems = map[int]Problem{
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
