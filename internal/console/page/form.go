package page

import (
	"context"
	"encoding/json"
	"errors"
	"html/template"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store"
	"donorbook/internal/web"
)

// PreviewsStory tells whether the form was only sent to show how the story looks.
func (f *Form) PreviewsStory() bool { return f.Value("do") == "preview" }

// RowName names the parts of a row: emails.0.value. A row of one part is named by its number alone.
func RowName(list string, index int) func(part string) string {
	return func(part string) string {
		return strings.TrimSuffix(list+"."+strconv.Itoa(index)+"."+part, ".")
	}
}

// Rows numbers the rows of a list anew without the empty ones, so that the rules and the form count alike. It returns how
// many there are. A row in which only a type was chosen is empty.
func (f *Form) Rows(list string, parts []string) (n int) {
	var rows []int
	for name := range f.Fields {
		number, _, _ := strings.Cut(strings.TrimPrefix(name, list+"."), ".")
		if i, err := strconv.Atoi(number); err == nil && i >= 0 && strings.HasPrefix(name, list+".") {
			rows = append(rows, i)
		}
	}
	slices.Sort(rows)
	for _, i := range slices.Compact(rows) {
		from, to := RowName(list, i), RowName(list, n)
		if !slices.ContainsFunc(parts, func(part string) bool { return part != "type" && f.Value(from(part)) != "" }) {
			continue
		}
		for _, part := range parts {
			f.Set(to(part), f.Value(from(part)))
		}
		n++
	}
	for _, i := range rows {
		for _, part := range parts {
			if i >= n {
				f.Fields.Del(RowName(list, i)(part))
			}
		}
	}
	return n
}

// Form is what a form shows: the values that are stored or were typed, and what is wrong with them.
type Form struct {
	Path   string // that it was sent to; "" for one that was not sent
	Fields url.Values
	Faults []doc.Fault
	first  map[string]doc.Fault // of each field; made when a page asks for it
}

const (
	MaxValues     = 3_000 // of a form; the largest contact that the rules take has half as many
	maxComplaints = 20    // at the head of a refused form

	SeenField = "seen" // the version of what a form was opened with
)

func NewForm() *Form { return &Form{Fields: url.Values{}} }

// SentForm is a form that was sent before.
func SentForm(path string, values url.Values) *Form { return &Form{Path: path, Fields: values} }

// ReceiveForm reads a form that is being sent, up to a size.
func ReceiveForm(w http.ResponseWriter, r *http.Request, limit int64) (*Form, error) {
	f := NewForm()
	f.Path, r.PostForm = r.URL.Path, f.Fields
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" {
		return f, nil // files are read where they are wanted (ReceivePictures here, and imports); nothing of ours sends another kind
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
		if n += len(values); n > MaxValues {
			return nil, &web.Error{Status: http.StatusRequestEntityTooLarge, Message: "The form has more than 3,000 fields. Nothing was changed."}
		}
		for i, value := range values {
			if values[i], err = typed(value); err != nil {
				return nil, err
			}
		}
	}
	f.Fields = r.PostForm
	return f, nil
}

// typed is a value as a person typed it.
func typed(value string) (string, error) {
	if !utf8.ValidString(value) {
		return "", &web.Error{Status: http.StatusBadRequest, Message: "The form contains text that can’t be read. Go back and type it again."}
	}
	return strings.ReplaceAll(value, "\r\n", "\n"), nil // browsers send line ends so
}

// SentTo tells whether the form was sent to a path that ends so. A page with several forms shows faults at the one that has them.
func (f *Form) SentTo(end string) bool { return strings.HasSuffix(f.Path, end) }

// IfSentTo is the form where it was sent there, and an empty one otherwise.
func (f *Form) IfSentTo(end string) *Form {
	if f.SentTo(end) {
		return f
	}
	return NewForm()
}

// Value is a field without the spaces around it.
func (f *Form) Value(name string) string { return strings.TrimSpace(f.Fields.Get(name)) }

// Values are all values of a field that appears more than once.
func (f *Form) Values(name string) []string { return f.Fields[name] }

// Has tells whether a box with that value is ticked.
func (f *Form) Has(name, value string) bool { return slices.Contains(f.Fields[name], value) }

// The fields of the form that connects a payment provider.
const (
	KeyField  = "key"
	HookField = "hook"
)

// IsSecret tells whether a field holds what no page may show again.
func IsSecret(name string) bool {
	return strings.Contains(name, "password") || name == KeyField || name == HookField
}

// Secret is a field as it was typed. It is taken out of the form, so that no page shows it again.
func (f *Form) Secret(name string) string {
	value := f.Fields.Get(name)
	f.Fields.Del(name)
	return value
}

func (f *Form) Set(name, value string) { f.Fields.Set(name, value) }

// SetUnsent fills in a field of a form that a person has just opened.
func (f *Form) SetUnsent(name, value string) {
	if f.Path == "" {
		f.Set(name, value)
	}
}

// Fail notes that a field is wrong; "" is the form as a whole.
func (f *Form) Fail(field, message string) {
	f.addFaults(doc.Fault{Field: field, Rule: doc.Rule(message)})
}

// FailAs notes that a field with a label of its own is wrong.
func (f *Form) FailAs(field, label, message string) {
	f.addFaults(doc.Fault{Field: field, Label: label, Rule: doc.Rule(message)})
}

// addFaults notes what is wrong.
func (f *Form) addFaults(faults ...doc.Fault) { f.Faults, f.first = append(f.Faults, faults...), nil }

// FailFirst notes what is told before everything else.
func (f *Form) FailFirst(message string) {
	f.Faults, f.first = slices.Insert(f.Faults, 0, doc.Fault{Rule: doc.Rule(message)}), nil
}

// Blame has the faults of a field shown at another one, which people call by a label.
func (f *Form) Blame(field, other, label string) {
	for i := range f.Faults {
		if f.Faults[i].Field == field {
			f.Faults[i].Field, f.Faults[i].Label, f.first = other, label, nil
		}
	}
}

// FailSeen notes that someone else has changed what the form is about, which is of this version now. Sent again, the form
// is about that one.
func (f *Form) FailSeen(what, version string) {
	f.Fail("", "Someone else changed this "+what+" after you opened the form. Open the "+what+" in another tab to see what changed, then save again to keep your version.")
	f.Set(SeenField, version)
}

// ErrRefused is what a handler returns that has noted the faults of a form itself.
var ErrRefused = errors.New("the form is refused")

// Refuse takes over the faults of a refused input, and what a payment provider did not do. Any other error is returned.
func (f *Form) Refuse(err error) error {
	var invalid *doc.Invalid
	switch said := Refusal(err); {
	case errors.Is(err, ErrRefused):
	case errors.As(err, &invalid):
		f.addFaults(invalid.Faults...)
	case said != "":
		f.Fail("", said)
	default:
		return err
	}
	return nil
}

// HasFault tells whether an input was refused for one of its fields.
func HasFault(err error, field string) bool {
	var invalid *doc.Invalid
	return errors.As(err, &invalid) && slices.ContainsFunc(invalid.Faults, func(f doc.Fault) bool { return f.Field == field })
}

// Field is one labeled control of a form, as the template "field" draws it.
type Field struct {
	Name, Label, Value, Fault, Hint, Type string
	Attributes                            map[string]string
	Required                              bool
	RequiredOf                            string // the type of contact that needs it
	Options                               []Option
}

type Option struct {
	Value, Label string
	Chosen       bool
}

// ID is how the label, the hint and the fault find the control.
func (f Field) ID() string { return "f-" + strings.ReplaceAll(f.Name, ".", "-") }

// DescribedBy names what a screen reader says after the label.
func (f Field) DescribedBy() string {
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

// NewField makes a field for a template: {{template "field" (field .Form "email" "Email" "type=email" "required" "hint=...")}}
// Every other option becomes an attribute.
func NewField(f *Form, name, label string, options ...string) Field {
	out := Field{Name: name, Label: label, Value: f.Fields.Get(name), Fault: f.Fault(name, label), Type: "text", Attributes: map[string]string{}}
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

// NewSelect makes a field with choices, written as "value=label".
func NewSelect(f *Form, name, label string, choices []Option, options ...string) Field {
	out := NewField(f, name, label, options...)
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
func (r *Request) attemptKey() string {
	if r.attempt == "" && r.Form.Value(attemptField) != "" {
		r.attempt = "form:" + access.HashToken(r.URL.Path+"\n"+r.Form.Fields.Encode())
	}
	return r.attempt
}

// Next is where a form leads that has created something, and what is said there. It names no one: it is kept for a day.
type Next struct {
	To     string
	Notice Notice
}

// Once is a context in which a form creates one thing, however often it is sent as it is: the next one leads where the first one led.
func (r *Request) Once(show func(store.Result) Next) context.Context {
	key := r.attemptKey()
	if key == "" {
		return r.Context()
	}
	return store.Attempting(r.Context(), &store.Attempt{Key: key, Fingerprint: []byte(key), Answer: func(made store.Result) store.Answer {
		body, _ := json.Marshal(show(made)) // texts
		return store.Answer{Body: body}
	}})
}

// Always is what does not depend on what was made.
func (r *Request) Always(to, said string) func(store.Result) Next {
	return func(store.Result) Next { return Next{r.Path(to), Notice{Text: said}} }
}

// Repeated is the answer that a form got when it was sent before, as an error; nil where this is the first time.
func (r *Request) Repeated() error {
	key := r.attemptKey()
	if key == "" || r.Account() == 0 {
		return nil
	}
	first, err := r.Store.AnswerBefore(r.Context(), r.Account(), key)
	if err == nil && first != nil {
		return first
	}
	return err
}

// SentBefore answers a form that was sent before as that one was.
func (r *Request) SentBefore(first *store.Replayed) error {
	var to Next
	if err := json.Unmarshal(first.Body, &to); err != nil {
		return err
	}
	return r.Redirect(to.To, to.Notice)
}

// Sends tells whether a form has a field at all, or a part of it.
func (f *Form) Sends(name string) bool {
	for sent := range f.Fields {
		if sent == name || strings.HasPrefix(sent, name+".") {
			return true
		}
	}
	return false
}

// A form that came without a session is kept by the sign-in page, and shown again after it, for the person to send: where it was
// going, who has typed it, and its fields under names of their own.
const (
	KeptTo     = "kept"
	KeptBy     = "kept_by"
	KeptPrefix = "kept."
)

// keptField is a field of a kept form, or where the form was going.
type keptField struct{ Name, Value string }

// Kept are the fields that the sign-in page keeps.
func (f *Form) Kept() (all []keptField) {
	for name, values := range f.Fields {
		for _, value := range values {
			if strings.HasPrefix(name, KeptTo) {
				all = append(all, keptField{name, value})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b keptField) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// A form with an email or a phone of another contact is asked about before it is saved. The question carries the whole form,
// which contact the person saw, and what they decide.
const (
	MatchField    = "match"
	DecisionField = "decision"
	SimilarField  = "similar" // the contact that the question was about, where it has another email and phone
	ApartField    = "apart"   // such contacts that the person has kept apart

	KeepDecision  = "keep"
	MergeDecision = "merge"
	backDecision  = "back"
)

// Typed is everything that the person has typed.
func (f *Form) Typed() url.Values {
	typed := url.Values{}
	for name, values := range f.Fields {
		if name != MatchField && name != DecisionField && name != SimilarField {
			typed[name] = values
		}
	}
	return typed
}

// Unsaved tells whether leaving the form would lose what it was sent with.
func (f *Form) Unsaved() bool { return len(f.Faults) > 0 || f.GoesBack() || f.PreviewsStory() }

// GoesBack tells whether the person wants to change the form instead of answering the question.
func (f *Form) GoesBack() bool { return f.Value(DecisionField) == backDecision }
