package organization

import (
	"strings"

	"donorbook/internal/console/page"
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

func FieldsPage(r *page.Request) error {
	fields, err := r.Store.CustomFields(r.Context(), r.Account())
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
	return r.Render("custom_fields", page.View{Title: "Custom fields", Section: "settings", Form: r.Form, Data: view})
}

// fieldFormView is the form of a custom field, new or not.
type fieldFormView struct {
	Form           *page.Form
	Title, Action  string
	Save           string // what the button says
	Field          *custom.Field
	Types          []page.Option
	ChoosesOptions bool
	Hint           string // about options
}

func NewFieldPage(r *page.Request) error {
	view := fieldFormView{Form: r.Form, Title: "New custom field", Action: r.Path("/settings/fields"), Save: "Add field", ChoosesOptions: true,
		Hint: "For the type “One of a list”. One option per line."}
	for _, t := range custom.FieldTypes {
		view.Types = append(view.Types, page.Option{Value: string(t), Label: t.Label()})
	}
	return r.Render("custom_field_form", page.View{Title: view.Title, Section: "settings", Form: r.Form, Data: view})
}

// readField understands the form of a custom field. There is one option in each line.
func readField(f *page.Form) custom.FieldInput {
	return custom.FieldInput{
		Title: f.Value("title"), Description: f.Value("description"), Type: custom.FieldType(f.Value("type")),
		Options: strings.Split(f.Value("options"), "\n"),
	}
}

func CreateField(r *page.Request) error {
	field, err := r.Store.DefineField(r.Once(r.Always("/settings/fields", "The field was added.")), r.Account(), readField(r.Form))
	return r.Done(err, r.Path("/settings/fields"), page.Notice{Text: "Field “" + field.Title + "” added. It now appears on the contact form."})
}

// FieldOf is the custom field in the path.
func FieldOf(r *page.Request) (custom.Field, error) {
	fields, err := r.Store.CustomFields(r.Context(), r.Account())
	if err != nil {
		return custom.Field{}, err
	}
	return page.Pick(fields.All, nil, func(f custom.Field) bool { return f.ID == r.ID })
}

func EditFieldPage(r *page.Request, field custom.Field) error {
	r.Form.SetUnsent("title", field.Title)
	r.Form.SetUnsent("description", field.Description)
	r.Form.SetUnsent("options", strings.Join(field.Options, "\n"))
	view := fieldFormView{
		Form: r.Form, Title: "Edit " + field.Title, Action: r.Path(page.FieldPath(field.ID)), Save: "Save changes", Field: &field,
		ChoosesOptions: field.Type == custom.SelectField, Hint: "One option per line. Contacts keep a value you remove here until someone changes it.",
	}
	return r.Render("custom_field_form", page.View{Title: view.Title, Section: "settings", Form: r.Form, Data: view})
}

func SaveField(r *page.Request) error {
	err := r.Store.ReviseField(r.Context(), r.Account(), r.ID, readField(r.Form))
	return r.Done(err, r.Path("/settings/fields"), page.Notice{Text: "Changes saved."})
}

func RaiseField(r *page.Request) error {
	return moveField(r, -1)
}

func LowerField(r *page.Request) error {
	return moveField(r, 1)
}

func moveField(r *page.Request, by int) error {
	err := r.Store.MoveField(r.Context(), r.Account(), r.ID, by)
	return r.Done(err, r.Path("/settings/fields"))
}

func EndField(r *page.Request, field custom.Field) error {
	if err := r.Store.EndField(r.Context(), r.Account(), r.ID); err != nil {
		return err
	}
	said := page.Notice{Text: "Field “" + field.Title + "” archived. It’s hidden, but contacts keep their values.", Undo: r.Path(page.FieldPath(r.ID)) + "/resume"}
	return r.Redirect(r.Path("/settings/fields"), said)
}

func ResumeField(r *page.Request, field custom.Field) error {
	err := r.Store.ResumeField(r.Context(), r.Account(), r.ID)
	return r.Done(err, r.Path("/settings/fields"), page.Notice{Text: "Field “" + field.Title + "” restored, with its values."})
}
