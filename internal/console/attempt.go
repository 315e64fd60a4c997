package console

import (
	"context"
	"encoding/json"
	"html/template"

	"donorbook/internal/crm/access"
	"donorbook/internal/store"
)

// attemptField is a random text in every form that creates something. It tells a form that is sent twice, by two clicks without scripts, from
// the next one.
const attemptField = "attempt"

// newAttempt is the field, for templates: {{attempt}}.
func newAttempt() template.HTML {
	token, _ := access.NewToken()
	return template.HTML(`<input type="hidden" name="` + attemptField + `" value="` + token + `">`)
}

// attemptKey names a form with all that was sent, "" for one without an attempt. One that was changed is another attempt. It is asked for before
// the form is worked on, or after its parts were read.
func (r *request) attemptKey() string {
	if r.attempt == "" && r.form.Value(attemptField) != "" {
		r.attempt = "form:" + access.HashToken(r.URL.Path+"\n"+r.form.values.Encode())
	}
	return r.attempt
}

// shown is where a form leads that has created something, and what is said there. It names no one: it is kept for a day.
type shown struct {
	To     string
	Notice notice
}

// once is a context in which a form creates one thing, however often it is sent as it is: the next one leads where the first one led.
func (r *request) once(show func(store.Made) shown) context.Context {
	key := r.attemptKey()
	if key == "" {
		return r.Context()
	}
	return store.Attempting(r.Context(), &store.Attempt{Key: key, Fingerprint: []byte(key), Answer: func(made store.Made) store.Answer {
		body, _ := json.Marshal(show(made)) // texts
		return store.Answer{Body: body}
	}})
}

// always is what does not depend on what was made.
func (r *request) always(to, said string) func(store.Made) shown {
	return func(store.Made) shown { return shown{r.path(to), notice{Text: said}} }
}

// sentBefore answers a form that was sent before as that one was.
func (r *request) sentBefore(first *store.Replayed) error {
	var to shown
	if err := json.Unmarshal(first.Body, &to); err != nil {
		return err
	}
	return r.redirect(to.To, to.Notice)
}
