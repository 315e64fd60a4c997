package console

import (
	"net/http"
	"net/url"
	"time"

	"donorbook/internal/crm/doc"
)

// designPage shows every part that pages are made of, for people who build pages and for the tests. docs/design.md says when to use which.
func (r *request) designPage() error {
	sample := &form{values: url.Values{"mail": {"ada@example"}, "name": {"Ada Lund"}}, Faults: []doc.Fault{{Field: "mail", Rule: "must be an email address"}}}
	data := map[string]any{"Icons": icons, "Sample": sample, "At": time.Date(2026, time.March, 9, 16, 5, 0, 0, time.UTC)}
	return r.render("design", page{Title: "Design", Section: "design", Status: http.StatusOK, Data: data})
}
