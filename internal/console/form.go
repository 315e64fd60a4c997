package console

import (
	"context"
	"encoding/json"
	"errors"
	"html/template"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store"
	"donorbook/internal/web"
)

// form is what a form shows: the values that are stored or were typed, and what is wrong with them.
type form struct {
	path   string // that it was sent to; "" for one that was not sent
	values url.Values
	Faults []doc.Fault
	first  map[string]doc.Fault // of each field; made when a page asks for it
}

const (
	maxValues     = 3_000 // of a form; the largest contact that the rules take has half as many
	maxComplaints = 20    // at the head of a refused form

	seenField = "seen" // the version of what a form was opened with
)

func newForm() *form { return &form{values: url.Values{}} }

// receiveForm reads a form that is being sent, up to a size.
func receiveForm(w http.ResponseWriter, r *http.Request, limit int64) (*form, error) {
	f := newForm()
	f.path, r.PostForm = r.URL.Path, f.values
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" {
		return f, nil // files are read where they are wanted (receivePictures, filePart); nothing of ours sends another kind
	}
	body, err := web.ReadBody(w, r, limit)
	if status, _ := web.StatusOf(err); err != nil && status == http.StatusRequestEntityTooLarge {
		return nil, &web.Error{Status: status, Message: "The form is larger than " + web.Size(limit) + ". Nothing was changed.", Err: err}
	}
	if err != nil {
		return nil, err
	}
	if r.PostForm, err = url.ParseQuery(string(body)); err != nil {
		return nil, &web.Error{Status: http.StatusBadRequest, Message: "The form couldn’t be read. Go back and submit it again.", Err: err}
	}
	n := 0
	for _, values := range r.PostForm {
		if n += len(values); n > maxValues {
			return nil, &web.Error{Status: http.StatusRequestEntityTooLarge, Message: "The form has more than 3,000 fields. Nothing was changed."}
		}
		for i, value := range values {
			if values[i], err = typed(value); err != nil {
				return nil, err
			}
		}
	}
	f.values = r.PostForm
	return f, nil
}

// typed is a value as a person typed it.
func typed(value string) (string, error) {
	if !utf8.ValidString(value) {
		return "", &web.Error{Status: http.StatusBadRequest, Message: "The form contains text that can’t be read. Go back and type it again."}
	}
	return strings.ReplaceAll(value, "\r\n", "\n"), nil // browsers send line ends so
}

// sentTo tells whether the form was sent to a path that ends so. A page with several forms shows faults at the one that has them.
func (f *form) sentTo(end string) bool { return strings.HasSuffix(f.path, end) }

// ifSentTo is the form where it was sent there, and an empty one otherwise.
func (f *form) ifSentTo(end string) *form {
	if f.sentTo(end) {
		return f
	}
	return newForm()
}

// Value is a field without the spaces around it.
func (f *form) Value(name string) string { return strings.TrimSpace(f.values.Get(name)) }

// Values are all values of a field that appears more than once.
func (f *form) Values(name string) []string { return f.values[name] }

// Has tells whether a box with that value is ticked.
func (f *form) Has(name, value string) bool { return slices.Contains(f.values[name], value) }

// secret is a field as it was typed. It is taken out of the form, so that no page shows it again.
func (f *form) secret(name string) string {
	value := f.values.Get(name)
	f.values.Del(name)
	return value
}

func (f *form) set(name, value string) { f.values.Set(name, value) }

// setUnsent fills in a field of a form that a person has just opened.
func (f *form) setUnsent(name, value string) {
	if f.path == "" {
		f.set(name, value)
	}
}

// fail notes that a field is wrong; "" is the form as a whole.
func (f *form) fail(field, message string) {
	f.Faults, f.first = append(f.Faults, doc.Fault{Field: field, Rule: doc.Rule(message)}), nil
}

// failSeen notes that someone else has changed what the form is about, which is of this version now. Sent again, the form
// is about that one.
func (f *form) failSeen(what, version string) {
	f.fail("", "Someone else changed this "+what+" after you opened the form. Open the "+what+" in another tab to see what changed, then save again to keep your version.")
	f.set(seenField, version)
}

// errRefused is what a handler returns that has noted the faults of a form itself.
var errRefused = errors.New("the form is refused")

// refuse takes over the faults of a refused input. Any other error is returned.
func (f *form) refuse(err error) error {
	if errors.Is(err, errRefused) {
		return nil
	}
	var invalid *doc.Invalid
	if !errors.As(err, &invalid) {
		return err
	}
	f.Faults, f.first = append(f.Faults, invalid.Faults...), nil
	return nil
}

// hasFault tells whether an input was refused for one of its fields.
func hasFault(err error, field string) bool {
	var invalid *doc.Invalid
	return errors.As(err, &invalid) && slices.ContainsFunc(invalid.Faults, func(f doc.Fault) bool { return f.Field == field })
}

// field is one labeled control of a form, as the template "field" draws it.
type field struct {
	Name, Label, Value, Fault, Hint, Type string
	Attributes                            map[string]string
	Required                              bool
	RequiredOf                            string // the type of contact that needs it
	Options                               []option
}

type option struct {
	Value, Label string
	Chosen       bool
}

// ID is how the label, the hint and the fault find the control.
func (f field) ID() string { return "f-" + strings.ReplaceAll(f.Name, ".", "-") }

// DescribedBy names what a screen reader says after the label.
func (f field) DescribedBy() string {
	var parts []string
	if f.Hint != "" {
		parts = append(parts, f.ID()+"-hint")
	}
	if f.Fault != "" {
		parts = append(parts, f.ID()+"-fault")
	}
	return strings.Join(parts, " ")
}

// attribute is an attribute of a control that a template names. The names are ours, never a person's input.
func attribute(key, value string) template.HTMLAttr {
	if value == "" {
		return template.HTMLAttr(key)
	}
	return template.HTMLAttr(key + `="` + template.HTMLEscapeString(value) + `"`)
}

// newField makes a field for a template: {{template "field" (field .Form "email" "Email" "type=email" "required" "hint=...")}}
// Every other option becomes an attribute.
func newField(f *form, name, label string, options ...string) field {
	out := field{Name: name, Label: label, Value: f.values.Get(name), Fault: f.fault(name, label), Type: "text", Attributes: map[string]string{}}
	for _, option := range options {
		switch key, value, _ := strings.Cut(option, "="); key {
		case "type":
			out.Type = value
		case "hint":
			out.Hint = value
		case "value":
			out.Value = value
		case "required":
			out.Required = true
		case "required-of":
			out.RequiredOf = value
		default:
			out.Attributes[key] = value
		}
	}
	return out
}

// newSelect makes a field with choices, written as "value=label".
func newSelect(f *form, name, label string, choices []option, options ...string) field {
	out := newField(f, name, label, options...)
	out.Type = "select"
	for _, choice := range choices {
		choice.Chosen = choice.Value == out.Value
		out.Options = append(out.Options, choice)
	}
	return out
}

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
func (r *request) once(show func(store.Result) shown) context.Context {
	key := r.attemptKey()
	if key == "" {
		return r.Context()
	}
	return store.Attempting(r.Context(), &store.Attempt{Key: key, Fingerprint: []byte(key), Answer: func(made store.Result) store.Answer {
		body, _ := json.Marshal(show(made)) // texts
		return store.Answer{Body: body}
	}})
}

// always is what does not depend on what was made.
func (r *request) always(to, said string) func(store.Result) shown {
	return func(store.Result) shown { return shown{r.path(to), notice{Text: said}} }
}

// sentBefore answers a form that was sent before as that one was.
func (r *request) sentBefore(first *store.Replayed) error {
	var to shown
	if err := json.Unmarshal(first.Body, &to); err != nil {
		return err
	}
	return r.redirect(to.To, to.Notice)
}
