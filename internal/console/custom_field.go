package console

import (
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/custom"
)

// fieldsView lists the custom fields.
type fieldsView struct {
	Active []fieldRow
	Ended  []custom.Field
}

// fieldRow is a custom field that is in use.
type fieldRow struct {
	*custom.Field
	First, Last bool
}

func (r *request) fieldsPage() error {
	fields, err := r.store.CustomFields(r.Context(), r.account())
	if err != nil {
		return err
	}
	var view fieldsView
	for i, field := range fields.Active() {
		view.Active = append(view.Active, fieldRow{field, i == 0, i == len(fields.Active())-1})
	}
	for _, field := range fields.All {
		if field.Ended() {
			view.Ended = append(view.Ended, field)
		}
	}
	return r.render("custom_fields", page{Title: "Custom fields", Section: "settings", Form: r.form, Data: view})
}

// fieldFormView is the form of a custom field, new or not.
type fieldFormView struct {
	Form           *form
	Title, Action  string
	Save           string // what the button says
	Field          *custom.Field
	Types          []option
	ChoosesOptions bool
	Hint           string // about options
}

func (r *request) newFieldPage() error {
	view := fieldFormView{Form: r.form, Title: "New custom field", Action: r.path("/settings/fields"), Save: "Add field", ChoosesOptions: true,
		Hint: "For the type “One of a list”. One option per line."}
	for _, t := range custom.FieldTypes {
		view.Types = append(view.Types, option{Value: string(t), Label: t.Label()})
	}
	return r.render("custom_field_form", page{Title: view.Title, Section: "settings", Form: r.form, Data: view})
}

// readField understands the form of a custom field. There is one option in each line.
func readField(f *form) custom.FieldInput {
	return custom.FieldInput{
		Title: f.Value("title"), Description: f.Value("description"), Type: custom.FieldType(f.Value("type")),
		Options: strings.Split(f.Value("options"), "\n"),
	}
}

func (r *request) createField() error {
	field, err := r.store.DefineField(r.once(r.always("/settings/fields", "The field was added.")), r.account(), readField(r.form))
	if err != nil {
		return err
	}
	return r.redirect(r.path("/settings/fields"), notice{Text: "Field “" + field.Title + "” added. It now appears on the contact form."})
}

// fieldOf is the custom field in the path.
func (r *request) fieldOf() (custom.Field, error) {
	fields, err := r.store.CustomFields(r.Context(), r.account())
	if err != nil {
		return custom.Field{}, err
	}
	return pick(fields.All, nil, func(f custom.Field) bool { return f.ID == r.id })
}

func fieldPath(id int64) string { return "/settings/fields/" + strconv.FormatInt(id, 10) }

func (r *request) editFieldPage(field custom.Field) error {
	r.form.setUnsent("title", field.Title)
	r.form.setUnsent("description", field.Description)
	r.form.setUnsent("options", strings.Join(field.Options, "\n"))
	view := fieldFormView{
		Form: r.form, Title: "Edit " + field.Title, Action: r.path(fieldPath(field.ID)), Save: "Save changes", Field: &field,
		ChoosesOptions: field.Type == custom.SelectField, Hint: "One option per line. Contacts keep a value you remove here until someone changes it.",
	}
	return r.render("custom_field_form", page{Title: view.Title, Section: "settings", Form: r.form, Data: view})
}

func (r *request) saveField() error {
	if err := r.store.ReviseField(r.Context(), r.account(), r.id, readField(r.form)); err != nil {
		return err
	}
	return r.redirect(r.path("/settings/fields"), notice{Text: "Changes saved."})
}

func (r *request) raiseField() error {
	return r.moveField(-1)
}

func (r *request) lowerField() error {
	return r.moveField(1)
}

func (r *request) moveField(by int) error {
	if err := r.store.MoveField(r.Context(), r.account(), r.id, by); err != nil {
		return err
	}
	return r.redirect(r.path("/settings/fields"))
}

func (r *request) endField(field custom.Field) error {
	if err := r.store.EndField(r.Context(), r.account(), r.id); err != nil {
		return err
	}
	said := notice{Text: "Field “" + field.Title + "” archived. It’s hidden, but contacts keep their values.", Undo: r.path(fieldPath(r.id)) + "/resume"}
	return r.redirect(r.path("/settings/fields"), said)
}

func (r *request) resumeField(field custom.Field) error {
	if err := r.store.ResumeField(r.Context(), r.account(), r.id); err != nil {
		return err
	}
	return r.redirect(r.path("/settings/fields"), notice{Text: "Field “" + field.Title + "” restored, with its values."})
}

// customView is the custom fields in the form of a contact.
type customView struct {
	Shown  string // the keys of the fields
	Fields []field
}

// customForm are the controls for the custom fields of a contact, which may have a value that is no option any more.
func customForm(fields *custom.Fields, f *form, old *crm.Contact) (view customView) {
	var keys []string
	for _, custom := range fields.Active() {
		keys = append(keys, custom.Key())
		view.Fields = append(view.Fields, customControl(f, custom, old.CustomValue(custom.ID).Text()))
	}
	view.Shown = strings.Join(keys, " ")
	return view
}

func customControl(f *form, definition *custom.Field, old string) field {
	name, hint := "custom_fields."+definition.Key(), "hint="+definition.Description
	switch definition.Type {
	case custom.LongTextField:
		return newField(f, name, definition.Title, "type=textarea", "rows=3", "maxlength=10000", hint)
	case custom.NumberField:
		return newField(f, name, definition.Title, "inputmode=decimal", "maxlength=40", "autocomplete=off", hint)
	case custom.DateField:
		return newField(f, name, definition.Title, "type=date", "autocomplete=off", hint)
	case custom.BooleanField:
		return newSelect(f, name, definition.Title, []option{{Label: "Not set"}, {Value: "Yes", Label: "Yes"}, {Value: "No", Label: "No"}}, hint)
	case custom.SelectField:
		choices := []option{{Label: "Not set"}}
		for _, text := range definition.Options {
			choices = append(choices, option{Value: text, Label: text})
			if text == old {
				old = ""
			}
		}
		if old != "" {
			choices = append(choices, option{Value: old, Label: old})
		}
		return newSelect(f, name, definition.Title, choices, hint)
	}
	return newField(f, name, definition.Title, "maxlength=255", "autocomplete=off", hint)
}

// customFact is a value on the page of a contact.
type customFact struct{ Title, Text string }

// customFacts are the values of a contact in fields that are in use.
func customFacts(fields *custom.Fields, contact *crm.Contact) (facts []customFact) {
	for _, f := range fields.Active() {
		value := contact.CustomValue(f.ID)
		if value.Value == "" {
			continue
		}
		text := value.Text()
		if day, err := time.Parse(time.DateOnly, text); err == nil && f.Type == custom.DateField {
			text = shownDay(day)
		}
		facts = append(facts, customFact{f.Title, text})
	}
	return facts
}
