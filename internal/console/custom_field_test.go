package console_test

import (
	"fmt"
	"strings"
	"testing"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/custom"
)

// field adds a custom field without the pages.
func (s *site) field(p *person, title string, kind custom.FieldType, options ...string) custom.Field {
	s.t.Helper()
	f := must(s.store.DefineField(s.t.Context(), p.account.Number, custom.FieldInput{Title: title, Type: kind, Options: options}))(s.t)
	return f
}

func TestOwnersManageCustomFields(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	path := p.org("/settings/fields")
	p.get("settings").sees("Custom fields None yet")
	p.get(path).sees("No custom fields yet", "Add field")
	p.get(path+"/new").sees("New custom field", "Long text", "Yes or no", "One of a list")
	p.follow(path, "title", " Shirt size ", "description", "For the run", "type", "select", "options", "S\r\n\r\nM\r\nS").sees("Field “Shirt size” added.", "Shirt size For the run One of a list 2 options")
	p.follow(path, "title", "Age", "type", "number", "options", "ignored")
	p.get("settings").sees("Custom fields 2 in use")
	p.post(path, "title", "shirt SIZE", "type", "select", "options", "\n").is(422).sees("Title is taken: choose another one.", "Enter at least one option.").has(`value="shirt SIZE"`)
	fields, err := s.store.CustomFields(t.Context(), p.account.Number)
	if err != nil || len(fields.Active()) != 2 {
		t.Fatalf("%v: %+v", err, fields)
	}
	shirt, age := fields.Active()[0], fields.Active()[1]
	one := func(f *custom.Field) string { return fmt.Sprint(path, "/", f.ID) }
	p.get(one(shirt)).sees("Edit Shirt size", "Can’t be changed", "Contacts keep a value you remove here").has(">S\nM</textarea>")
	p.follow(one(shirt), "title", "T-shirt", "options", "S\nXL").sees("Changes saved.", "T-shirt")
	p.follow(one(age)+"/up").sees("Age Number", "T-shirt One of a list 2 options")
	if page := p.get(path).words(); strings.Index(page, "Age Number") > strings.Index(page, "T-shirt") {
		t.Error("the field has not moved up")
	}
	p.follow(one(shirt)+"/end").sees("Field “T-shirt” archived. It’s hidden, but contacts keep their values.", "Archived fields", "Restore field T-shirt")
	p.post(path, "title", "t-shirt", "type", "text").sees("Title belongs to an archived custom field: restore that field, or choose another title.")
	p.follow(one(shirt) + "/resume").sees("Field “T-shirt” restored, with its values.")
	p.get("settings/history").sees("restored the custom field", "archived the custom field", "Changed title from “Shirt size” to “T-shirt”.", "created the custom field “Age”")
	p.get(path + "/999").is(404)
	p.post(path+"/999", "title", "x").is(404)

}

func TestCustomFieldsAreFilledIn(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	shirt, age := s.field(p, "Shirt size", custom.SelectField, "S", "M"), s.field(p, "Age", custom.NumberField)
	since, member, about := s.field(p, "Since", custom.DateField), s.field(p, "Member", custom.BooleanField), s.field(p, "About", custom.LongTextField)
	name := func(f custom.Field) string { return "custom_fields." + f.Key() }
	p.get("contacts/new").sees("Custom fields", "Shirt size Not set S M", "Member Not set Yes No")
	shown := []string{"custom_fields.shown", strings.Join([]string{shirt.Key(), age.Key(), since.Key(), member.Key(), about.Key()}, " ")}
	form := func(more ...string) []string {
		return append(append([]string{"first_name", "Zoë", "last_name", "Okafor"}, shown...), more...)
	}
	p.post("contacts", form(name(age), "forty", name(since), "someday", name(shirt), "XXL", name(about), "kept")...).is(422).sees("Age must be a number with at most 15 digits.", "Since must be a date.", "kept").has(`href="#f-custom_fields-` + age.Key() + `"`)
	p.post("contacts", form(name(shirt), "XXL")...).sees("Shirt size must be one of S, M.")
	p.follow("contacts", form(name(shirt), "M", name(age), "1,041.5", name(since), "2020-01-31", name(member), "Yes", name(about), "Line one\r\nline two")...).sees("Zoë Okafor was added.", "Custom fields Shirt size M Age 1041.5 Since Jan 31, 2020 Member Yes About Line one line two")
	contact := s.contacts(p.account)[0]
	path := p.org(fmt.Sprint("/contacts/", contact.ID))
	p.get(path+"/edit").has(`value="1041.5"`, `value="2020-01-31"`, `<option value="M" selected>`, `<option value="Yes" selected>`, ">Line one\nline two</textarea>")
	seen := func() string { c := s.contacts(p.account)[0]; return c.Version() }
	// A form that does not show a field leaves it alone; an option that is gone stays until it is changed.
	succeed(t, s.store.ReviseField(t.Context(), p.account.Number, shirt.ID, custom.FieldInput{Title: "Shirt size", Options: []string{"S"}}))
	p.get(path + "/edit").has(`<option value="M" selected>`)
	p.follow(path, "seen", seen(), "first_name", "Zoë", "last_name", "Okafor", "custom_fields.shown", shirt.Key()+" "+age.Key(), name(shirt), "M", name(age), "").sees("Changes saved.", "Custom fields Shirt size M Since Jan 31, 2020 Member Yes")
	// Another person has changed it since.
	old := seen()
	p.follow(path, "seen", old, "first_name", "Zoë", "last_name", "Okafor", "custom_fields.shown", age.Key(), name(age), "7")
	p.post(path, "seen", old, "first_name", "Zoë", "last_name", "Okafor", "custom_fields.shown", age.Key(), name(age), "8").sees("What saving will change", "Age 7 8")
	// An owner has ended a field meanwhile.
	succeed(t, s.store.EndField(t.Context(), p.account.Number, member.ID))
	p.post(path, append([]string{"seen", seen()}, form(name(member), "No")...)...).sees("Custom fields have changed: an owner archived one. Check the form, then save again.")
	if page := p.get(path).words(); strings.Contains(page, "Member Yes") {
		t.Error("a field that has ended is shown")
	}
	p.get(path+"/history").sees("set “Age” to “7”", "removed “Age” “1041.5”")
	p.get("contacts?q=line+two").sees("Zoë Okafor")
	viewer := s.member(p.account, access.Viewer)
	viewer.get(path).sees("Custom fields Shirt size M")

}
